"""Write the example article: our text, and photographs that come with scikit-image."""

from __future__ import annotations

import io
from importlib import resources
from pathlib import Path

from iconotext.errors import IconotextError
from iconotext.write import write_bytes

PHOTOGRAPHS = {
    "cat.jpg": "chelsea",
    "coffee.jpg": "coffee",
    "deep-field.jpg": "hubble_deep_field",
    "eye.jpg": "retina",
    "launch.jpg": "rocket",
    "lawn.png": "grass",
    "path.png": "brick",
    "portrait.jpg": "astronaut",
    "smear.png": "clock",
    "tripod.png": "camera",
}
"""File name to the name in ``skimage.data``: such as are in the public domain or CC0 by scikit-image's documentation,
and lie in its wheel, so that nothing is downloaded."""


def write_demo(folder: Path, *, force: bool = False) -> Path:
    """Write the example article and its photographs.

    Args:
        folder: Gets ``article.md`` and a folder ``pictures``; made if need be.
        force: Replace files that are there.

    Returns:
        The article.

    Raises:
        IconotextError: scikit-image is not installed; ``OutputError`` where a file exists or cannot be written.
    """
    article = folder / "article.md"
    text = (resources.files("iconotext.demo") / "article.md").read_bytes()
    for name, photograph in PHOTOGRAPHS.items():
        write_bytes(folder / "pictures" / name, _encoded(photograph, Path(name).suffix), force=force)
    write_bytes(article, text, force=force)  # last: where it is, the rest is too
    return article


def _encoded(photograph: str, suffix: str) -> bytes:
    from PIL import Image

    try:
        import skimage.data

        # What does not lie in the wheel, scikit-image would fetch with pooch, which is another optional package.
        pixels = getattr(skimage.data, photograph)()
    except ModuleNotFoundError as error:
        raise IconotextError(
            "the example needs the photographs of scikit-image: pip install 'iconotext[demo]'"
        ) from error
    file = io.BytesIO()
    if suffix == ".jpg":
        Image.fromarray(pixels).save(file, "JPEG", quality=88, optimize=True)
    else:
        Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()
