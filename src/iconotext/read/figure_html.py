"""A figure as HTML, for readers whose formats become HTML first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

from iconotext.read.address import MADE_BY_CODE

ENDINGS = ("svg", "png", "gif", "jpeg", "jpg", "webp", "avif")
"""What ``plan.*`` may end with, in the order in which Sphinx prefers them for a page."""


def figure(images: Iterable[str], caption: str = "", *, names: Sequence[str] = ()) -> str:
    """HTML of a figure.

    Args:
        images: HTML of its pictures.
        caption: HTML of its caption, "" where it has none.
        names: Identifiers by which the document may point at it; empty ones do not count.
    """
    names = [name for name in names if name]
    marks = "".join(f'<span id="{escape(name)}"></span>' for name in names[1:])
    first = f' id="{escape(names[0])}"' if names else ""
    below = f"<figcaption>{caption}</figcaption>" if caption.strip() else ""
    return f"<figure{first}>{marks}{''.join(images)}{below}</figure>"


def picture(address: str, alt: str | None = None) -> str:
    """HTML of a picture; of ``plan.*`` the file is meant that is there."""
    return _img(picture_attributes(address, alt))


def picture_attributes(address: str, alt: str | None = None) -> dict[str, str]:
    """Attributes of an ``<img>``."""
    stem = address.removesuffix(".*")
    shown = {"src": address} if stem == address else _first_of([f"{stem}.{ending}" for ending in ENDINGS])
    return shown | ({"alt": alt} if alt else {})


def made_by_code(name: str, alt: str | None = None, *, files: Sequence[str] = ()) -> str:
    """HTML of a picture that code makes when the document is rendered.

    Args:
        name: Of the picture, or of the code.
        files: Where it lies once the document was rendered, if it was.
    """
    own = f"{MADE_BY_CODE}:{name}"
    return _img(_first_of([own, *files]) | ({"alt": alt} if alt else {}))


def _img(attributes: dict[str, str]) -> str:
    return "<img" + "".join(f' {name}="{escape(value)}"' for name, value in attributes.items()) + ">"


def _first_of(addresses: Sequence[str]) -> dict[str, str]:
    """Attributes that name several files, of which the first that is there counts."""
    sized = (f"{quote(a, safe='/:.%~')} {len(addresses) - n}w" for n, a in enumerate(addresses))
    return {"srcset": ", ".join(sized)}
