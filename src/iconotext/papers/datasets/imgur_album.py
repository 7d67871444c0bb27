"""Albums of imgur as their pages were until 2019: an element for each picture, with the caption its author gave it.

    <div id="Ab3dE7f" class="post-image-container" itemscope itemtype="http://schema.org/ImageObject">
      <div class="post-image"><a href="//i.imgur.com/Ab3dE7f.jpg"><img src="..." itemprop="contentURL"></a></div>
      <div class="post-image-meta"><p class="post-image-description" itemprop="description">The old door.</p></div>
    </div>

Pages of today are drawn by a script and have none of it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from iconotext.errors import DocumentError, ImageError
from iconotext.images import decode
from iconotext.images.near_duplicates import perceptual_hash
from iconotext.read.html import parse_html
from iconotext.read.text_file import decode_text

Element = Any  # lxml has no types of its own that mypy could check

ALBUM = re.compile(r"https?://(?:[a-z]+\.)?imgur\.com/a/(?:[^/?#]*-)?([A-Za-z0-9]+)", re.IGNORECASE)
IMAGE = re.compile(
    r"(?:https?:)?//(?:[a-z]+\.)?imgur\.com/([A-Za-z0-9]{5,})(?:\.([a-z0-9]+))?(?=[?#]|$)", re.IGNORECASE
)
IDENTIFIER = re.compile(r"[A-Za-z0-9]+")

MOVING = frozenset(("gif", "gifv", "mp4", "webm"))
"""Suffixes of addresses of what moves; imgur shows a GIF as a film."""

CONTAINER = "post-image-container"
DESCRIPTION = "post-image-description"

PLACEHOLDER = (503, "d835884373f4d6c8f24742ceabe74946")
"""Bytes and MD5 of the picture that imgur sends for one that was deleted."""

MISSING = "picture missing"
FILM = "GIF or film"


class AlbumImage(NamedTuple):
    """A picture of an album.

    Attributes:
        id: Imgur's name for it; capitals and small letters differ.
        caption: None where its author gave none.
        moving: Whether the page shows a GIF or a film.
    """

    id: str
    caption: str | None
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Album:
    """An album whose page shows pictures.

    Attributes:
        post: What pushshift says of the post.
        images: In the order of the page.
        first: Number of its first picture among those of all albums.
    """

    post: dict[str, Any]
    images: list[AlbumImage]
    first: int

    @property
    def id(self) -> str:
        """Imgur's name of the album."""
        return str(self.post["album"])

    @property
    def captions(self) -> list[tuple[int, str]]:
        """Number of the picture and caption of those that have one, also where the picture cannot be used."""
        return [(self.first + i, caption) for i, (_, caption, _) in enumerate(self.images) if caption]

    @property
    def numbers(self) -> range:
        """Of its pictures."""
        return range(self.first, self.first + len(self.images))

    def name(self, number: int) -> str:
        """Imgur's name of one of its pictures."""
        return self.images[number - self.first][0]


def album_id(address: str) -> str | None:
    """The album that an address leads to; None where it leads to none.

    >>> album_id("https://m.imgur.com/a/Ab3dE#12")
    'Ab3dE'
    >>> album_id("https://i.imgur.com/Ab3dE7f.jpg") is None
    True
    """
    match = ALBUM.match(unescape(address.strip()))
    return match[1] if match else None


def read_album(path: Path) -> list[AlbumImage]:
    """The pictures of a saved page in its order, each once; ``DocumentError`` where it cannot be read."""
    try:
        tree = parse_html(decode_text(path, html=True))
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from error
    found: dict[str, AlbumImage] = {}
    for element in tree.iter("div"):
        if CONTAINER in _classes(element):
            image = _image(element)
            if image is not None:
                found.setdefault(image.id, image)
    return list(found.values())


def _image(element: Element) -> AlbumImage | None:
    names = [match for address in _addresses(element) if (match := IMAGE.match(address))]
    name = (element.get("id") or "").strip()
    if not IDENTIFIER.fullmatch(name):
        if not names:
            return None
        name = names[0][1]
    moving = any((match[2] or "").lower() in MOVING for match in names) or next(element.iter("video"), None) is not None
    captions = (_text(part) for part in element.iter("p", "div", "span") if _describes(part))
    return AlbumImage(name, next((text for text in captions if text), None), moving)


def _addresses(element: Element) -> Iterator[str]:
    """Where its picture is, the likeliest address first."""
    for part in element.iter("meta", "img", "a", "source"):
        if part.tag == "a" and _inside_description(part, element):
            continue  # a link that the author put into the caption
        for name in ("content", "src", "href"):
            if part.get(name):
                yield part.get(name).strip()


def _inside_description(part: Element, element: Element) -> bool:
    for above in part.iterancestors():
        if above is element:
            return False
        if _describes(above):
            return True
    return False


def _describes(part: Element) -> bool:
    return DESCRIPTION in _classes(part) or (part.get("itemprop") == "description" and part.tag != "meta")


def _classes(element: Element) -> list[str]:
    return (element.get("class") or "").split()


def _text(part: Element) -> str:
    """Its text on one line; where a line ends there is a space."""
    pieces: list[str] = []
    for piece in part.iter():
        if isinstance(piece.tag, str):
            pieces += [" "] if piece.tag in ("br", "p", "div", "li") else []
            pieces += [piece.text or ""]
        if piece is not part:
            pieces += [" "] if piece.tag in ("p", "div", "li") else []
            pieces += [piece.tail or ""]
    return " ".join("".join(pieces).split())


def saved_albums(folder: Path) -> dict[str, str]:
    """Pages in a folder and the folders in it, by the album's name: ``Ab3dE.html``, or ``albums/Ab3dE``."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = PurePosixPath(name)
            page = path.suffix.lower() in (".html", ".htm") or (not path.suffix and os.path.basename(place) == "albums")
            if page and not name.startswith("."):
                found.setdefault(path.stem, os.path.join(place, name))
    return found


def album_page(path: str | None) -> list[AlbumImage] | str | None:
    """The pictures of a saved page, if there is one; or why it cannot be read."""
    if path is None:
        return None
    try:
        return read_album(Path(path))
    except DocumentError as error:
        return str(error).removeprefix(f"{path}: ")


def image_hash(path: str | None) -> dict[str, str]:
    """The perceptual hash of a picture file as 16 hexadecimal digits, or the rule and reason for leaving it out."""
    if path is None:
        return {"rule": MISSING, "reason": ""}
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        return {"rule": MISSING, "reason": error.strerror or str(error)}
    if data.startswith(b"GIF8"):
        return {"rule": FILM, "reason": ""}
    if (len(data), hashlib.md5(data, usedforsecurity=False).hexdigest()) == PLACEHOLDER:
        return {"rule": MISSING, "reason": "deleted from imgur, which sent a placeholder"}
    try:
        return {"hash": f"{perceptual_hash(decode(data)):016x}"}
    except ImageError as error:
        return {"rule": "picture that cannot be decoded", "reason": str(error)}
