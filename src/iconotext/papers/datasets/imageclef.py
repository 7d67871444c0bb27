"""The Wikipedia collection of ImageCLEF 2010 and 2011: pictures, what is known of each, and the articles they are in.

metadata/9/82531.xml     of each picture: its file, its name in Wikipedia, and captions with the article they are from
text/en/1/1234.xml       an article, in the markup of Wikipedia
images/9/82531.jpg       a picture
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from iconotext.errors import CorpusError, DocumentError
from iconotext.papers.datasets.wikitext import image_name, named_images
from iconotext.read.archive import parse_xml
from iconotext.read.text_file import decode_bytes

WHERE = "https://www.imageclef.org/wikidata"
DEPTH = 4
"""Folders between the source and what is looked for: people unpack each archive into one of its own."""

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
XML = re.compile(
    rb"\s*<(?:\?xml|!DOCTYPE|/?(?:article|page|mediawiki|document|doc|text|wikipedia|add)\b)", re.IGNORECASE
)
"""How a file of XML begins; one that begins otherwise, even with ``<ref>``, is markup of Wikipedia."""


def part_of(source: Path, name: str, archive: str) -> Path:
    """The folder of a part of the collection: ``metadata``, ``text/en`` or ``images``, somewhere in the source.

    Args:
        archive: Where it comes from; for the error.

    Raises:
        CorpusError: It is not there.
    """
    wanted = PurePosixPath(name).parts
    level = [source]
    for _ in range(DEPTH + 1):
        for folder in level:
            if folder.resolve().parts[-len(wanted) :] == wanted and folder.is_dir():
                return folder
        level = [inner for folder in level for inner in _folders(folder)]
    raise CorpusError(
        f"{source}: no folder {name} in it: unpack {archive} of the Wikipedia collection of ImageCLEF 2010/2011 there "
        f"({WHERE})"
    )


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            inner = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(inner) if not name.isdigit()]  # 1, 2, ... hold thousands of files each


def files_in(folder: Path) -> Iterator[str]:
    """Paths from a folder to the files in it and the folders in it, with ``/``; numbers in their order."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted((name for name in folders if not name.startswith(".")), key=_natural)
        inner = Path(place).relative_to(folder)
        for name in sorted(files, key=_natural):
            if not name.startswith("."):
                yield (inner / name).as_posix()


def _natural(name: str) -> tuple[int, str]:
    digits = re.match(r"\d{1,18}", name)
    return (int(digits[0]) if digits else -1, name)


def read_image(path: str, *, folder: str) -> dict[str, Any] | str:
    """What is known of a picture, by the path from the folder to its file.

    Returns:
        ``file`` (``9/82531.jpg``), ``name`` (as ``image_name`` gives it) and ``articles``, the English ones
        that have it (``1/1234``); or why it cannot be read.
    """
    try:
        root = parse_xml(Path(folder, path).read_bytes(), path)
    except (DocumentError, OSError) as error:
        return _one_line(error)
    image = root if root.tag == "image" else next(root.iter("image"), None)
    if image is None:
        return "there is no element <image> in it"
    file = _below((image.get("file") or "").strip(), "images") or f"{PurePosixPath(path).with_suffix('.jpg')}"
    articles = []
    for text in image.iter("text"):
        if (text.get(LANGUAGE) or text.get("lang") or "").lower() == "en":
            found = (_below((caption.get("article") or "").strip(), "en") for caption in text.iter("caption"))
            articles += [article_key(article) for article in found if article]
    name = image_name(image.findtext("name") or "")
    return {"file": file, "name": name, "articles": list(dict.fromkeys(articles))}


def image_place(file: str, folder: Path) -> str | None:
    """The path from the folder of the pictures to one; None where it is not there.

    Args:
        file: As the metadata have it below ``images``: ``9/82531.jpg``.
        folder: Some unpack the archives so that it has no folders in it.
    """
    return next((place for place in (file, PurePosixPath(file).name) if (folder / place).is_file()), None)


def article_key(path: str) -> str:
    """How articles are known: the path of one without its suffix, ``1/1234``."""
    return path.removesuffix(".xml").removesuffix(".txt")


def article_images(path: str, *, folder: str) -> list[str] | str:
    """Names of pictures in an article, in its order; or why it cannot be read."""
    try:
        return named_images(article_markup(Path(folder, path))[1])
    except DocumentError as error:
        return str(error)


def article_markup(path: Path) -> tuple[str | None, str]:
    """Title, if any, and text of an article in Wikipedia's markup; ``DocumentError`` for one that is broken."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(_one_line(error)) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not XML.match(data):
        return None, decode_bytes(data, path.name)
    try:
        root = parse_xml(data, path.name)
    except DocumentError as error:
        raise DocumentError(_one_line(error)) from error
    title = next((part for tag in ("title", "name") for part in root.iter(f"{{*}}{tag}")), None)
    texts = ["".join(part.itertext()) for part in root.iter("{*}text")]
    if not any(text.strip() for text in texts):
        texts = ["".join(part.itertext()) for part in root if part is not title] if len(root) else [root.text or ""]
    heading = (
        " ".join("".join(title.itertext()).split()) if title is not None else root.get("title") or root.get("name")
    )
    return heading or None, "\n\n".join(texts)


def _below(path: str, folder: str) -> str | None:
    """What of a path lies below a folder; None for one that leads elsewhere.

    >>> _below("images/9/82531.jpg", "images")
    '9/82531.jpg'
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or folder not in parts:
        return None
    rest = parts[parts.index(folder) + 1 :]
    return "/".join(rest) or None


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return " ".join(str(error).split())
