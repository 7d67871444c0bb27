"""An example article to try linking with; ``pictures/SOURCES.md`` says where its pictures are from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from iconotext.write import write_bytes


def write_demo(folder: Path, *, force: bool = False) -> Path:
    """Write the example article and its pictures: ten photographs, and a card of which only the words tell anything.

    Args:
        folder: Gets ``article.md`` and a folder ``pictures``; made if need be.
        force: Replace files that are there.

    Returns:
        The article.

    Raises:
        OutputError: A file exists or cannot be written.
    """
    ours, article = resources.files("iconotext.demo"), folder / "article.md"
    for picture in sorted((ours / "pictures").iterdir(), key=lambda file: file.name):
        if not picture.name.endswith(".md"):
            write_bytes(folder / "pictures" / picture.name, picture.read_bytes(), force=force)
    write_bytes(article, (ours / "article.md").read_bytes(), force=force)  # last: where it is, the rest is too
    return article
