"""Documents as callers give them: a document, or the name of its file, which is read."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import IconotextError
from iconotext.read import Failure, read
from iconotext.read.format import suffix_format
from iconotext.read.web.page import is_address
from iconotext.types import Document


def given_document(given: Document | Path | str) -> Document:
    """Return the document itself, or read it from its file.

    Raises:
        DocumentError: The file cannot be read.
        TypeError: It is neither a document nor the name of a file.
    """
    if isinstance(given, Document):
        return given
    if given == "":
        raise TypeError("link takes a Document or the name of a file, not an empty text")
    if isinstance(given, Path) or (isinstance(given, str) and (is_address(given) or _names_file(given))):
        return read(given)
    if isinstance(given, str):
        raise TypeError(
            f"no file is called {given[:60]!r}: give link the name of a file, or for text of your own "
            'Document("name", sentences=[...], images=[...])'
        )
    raise TypeError(f"link takes a Document or the name of a file, not {_kind(given)}")


def _kind(given: object) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def _names_file(text: str) -> bool:
    """Return whether a text is, or looks like, the name of a file; reading then reports a missing file."""
    try:
        return Path(text).exists() or suffix_format(Path(text)) is not None
    except (OSError, ValueError):  # too long for a name, or with characters that none has
        return False


def given_or_failure(given: Document | Path | str | Failure) -> Document | Failure:
    """Return the document, or a ``Failure``; arguments of a wrong type raise as in ``given_document``."""
    try:
        return given if isinstance(given, Failure) else given_document(given)
    except IconotextError as error:
        return Failure(Path(str(given)), error)
