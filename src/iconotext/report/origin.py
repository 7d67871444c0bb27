"""What a page was made from: while this is unchanged, the page need not be made again."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from iconotext.report.flow import title
from iconotext.types import Document

GONE = "gone"
"""Used instead of the digest of a file that cannot be read."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a page was made from.

    Attributes:
        source: The document's file, as an address relative to the folder of pages.
        part: Which document of the file it is; "" if the file is a single document.
        number: Its position among the documents of the file, from 0.
        parts: Number of documents in the file.
        setup: Digest of the settings, the model and the version of the program.
        content: Digest of the document as it was read, with its images.
        files: Address to digest, for the document's file and the image files; the document is unchanged while these
            are. None if an image was missing, since it may exist later.
    """

    source: str
    part: str
    number: int
    parts: int
    setup: str
    content: str
    files: dict[str, str] | None


class Places:
    """Converts files to addresses relative to a folder, so that both can be moved together."""

    def __init__(self, folder: Path) -> None:
        self._home = os.path.realpath(folder)

    def address(self, file: Path | str) -> str:
        """The address of a file."""
        try:
            relative = os.path.relpath(os.path.abspath(file), self._home)
        except ValueError:  # on another drive
            relative = os.path.abspath(file)
        return quote(os.fsencode(relative.replace(os.sep, "/")))

    def file(self, address: str) -> Path:
        """The file at an address."""
        return Path(os.path.normpath(os.path.join(self._home, os.fsdecode(unquote_to_bytes(address)))))

    def are_unchanged(self, digests: dict[str, str]) -> bool:
        """Whether all files still have their digests."""
        return all(_file_digest(self.file(address)) == digest for address, digest in digests.items())


def origin_of(
    document: Document, file: Path, part: str, *, number: int, parts: int, setup: str, places: Places
) -> Origin:
    """The origin of a document's page; arguments as the attributes of ``Origin``."""
    source = places.address(os.path.realpath(file))
    files: dict[str, str] = {source: _file_digest(file)}
    digests: list[str | None] = []
    for image in document.images:
        if isinstance(image.file, Path):
            files[places.address(image.file)] = digest = _file_digest(image.file)
            digests.append(digest)
        else:
            digests.append(None if image.file is None else hashlib.sha256(image.file).hexdigest())
    shown = [replace(image, file=None) for image in document.images]
    content = repr((title(document), document.language, document.sentences, shown, digests))
    content = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return Origin(source, part, number, parts, setup, content, None if None in digests else files)


def _file_digest(file: Path) -> str:
    try:
        if not file.is_file():  # reading a pipe would block
            return GONE
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return GONE
