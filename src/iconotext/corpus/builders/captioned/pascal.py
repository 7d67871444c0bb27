"""Captions of the Pascal sentences (Rashtchian 2010): as the page they were published on, or as a tree of text files.

The page has, for each image, ``<img src="aeroplane/2008_000716.jpg">`` and a table of five sentences. Programs that
fetch it write ``sentence/aeroplane/2008_000716.txt``, a sentence a line, beside ``dataset/aeroplane/2008_000716.jpg``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from iconotext.corpus.builders.captioned.annotations import Captioned, found_photos
from iconotext.corpus.builders.captioned.photos import BAD_CAPTIONS, Photo, clean
from iconotext.corpus.builders.find_images import ImageFolders
from iconotext.corpus.builders.run import Build
from iconotext.errors import CorpusError

NAME = re.compile(r"\d{4}_\d{6}")
"""What images of Pascal VOC are called."""

IMAGE = re.compile(r"""<img\b[^>]*\bsrc\s*=\s*["']?[^"'>]*\d{4}_\d{6}\.jpe?g""", re.IGNORECASE)

SUFFIXES = (".jpg", ".jpeg", ".png")

BEGINNING = 1 << 20
"""Characters of a page that are looked at to see whether it is the one."""


def pascal_photos(build: Build, source: Path, images: ImageFolders) -> Iterator[Photo]:
    """Photographs of the page or the tree of text files; those without sentences or image are dropped and reported.

    Args:
        source: The page, or a folder with it or with the text files.
    """
    page = source if source.is_file() else pascal_page(source)
    described = _of_page(page) if page is not None else _of_texts(source)
    watched = build.watch(described, label="Reading sentences")
    yield from found_photos(build, (_captioned(build, *each) for each in watched), images, _names)


def _captioned(build: Build, name: str, texts: list[str]) -> Captioned:
    """An image with the texts that have words; others are reported."""
    captions = []
    for number, text in enumerate(texts):
        if (caption := clean(text)) is not None:
            captions.append(caption)
        elif text.strip():
            build.report.drop(BAD_CAPTIONS, f"{name}, sentence {number}")
    return Captioned(name, name, None, tuple(captions))


def _names(each: Captioned) -> list[str]:
    """Names of the file of an image."""
    stem = each.name.rpartition(".")[0] if each.name.endswith(SUFFIXES) else each.name
    return [each.name, *(stem + suffix for suffix in SUFFIXES)]


def pascal_page(folder: Path) -> Path | None:
    """The page in a folder, if it is there."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in (".html", ".htm") and path.is_file():
            with path.open(encoding="utf-8", errors="replace") as page:
                if IMAGE.search(page.read(BEGINNING)):
                    return path
    return None


def pascal_texts(folder: Path) -> Iterator[Path]:
    """The text files in a folder and the folders in it that are called like images of Pascal VOC, sorted."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            stem, suffix = os.path.splitext(name)
            if suffix.lower() == ".txt" and NAME.fullmatch(stem):
                yield Path(place, name)


def _of_texts(folder: Path) -> Iterator[tuple[str, list[str]]]:
    found = False
    for path in pascal_texts(folder):
        found = True
        yield f"{path.parent.name}/{path.stem}", path.read_text("utf-8-sig", errors="replace").splitlines()
    if not found:
        raise CorpusError(
            f"{folder}: no Pascal sentences: neither the page that was published (index.html) nor text files such as "
            "sentence/aeroplane/2008_000716.txt"
        )


def _of_page(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Each image with the texts of the cells that follow it."""
    from lxml import html

    described: dict[str, list[str]] = {}
    texts: list[str] | None = None
    tree = html.document_fromstring(page.read_text("utf-8-sig", errors="replace") or "<p>")
    for element in tree.iter("img", "td"):
        if element.tag == "img" and NAME.search(source := element.get("src", "")):
            texts = described.setdefault("/".join(source.split("/")[-2:]), [])
        elif element.tag == "td" and texts is not None and not element.xpath(".//td | .//img"):
            texts += [text for text in ["".join(map(str, element.itertext()))] if text.strip()]
    if not described:
        raise CorpusError(f'{page}: not the page of the Pascal sentences: no <img src="aeroplane/2008_000716.jpg">')
    yield from described.items()
