"""What a folder of pages remembers of them: where each comes from, what it was made from, what it shows."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from iconotext.errors import OutputError
from iconotext.report.as_table import Counts
from iconotext.report.embedded import Embedded
from iconotext.write import write_bytes, write_error

NAME = ".iconotext-pages.jsonl"

MAX_BYTES = 2**30
"""A million pages take about half of it."""

_BEGIN = b'{"page":'
_INLINE = re.compile(r"data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/=]*")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # not on Windows


def _inline(picture: Embedded | None) -> Embedded | None:
    """The picture, if it is in the record itself: an index shows nothing from elsewhere."""
    if picture is not None and picture.uri is not None and not _INLINE.fullmatch(picture.uri):
        raise ValueError("not a picture within the record")
    return picture


@dataclass(frozen=True, slots=True)
class Origin:
    """What a page was made from.

    Attributes:
        source: The document's file as an address relative to the folder of pages; "" for a document that has none.
        part: Which document of the file it is; "" where the file is one document.
        number: Its place among the documents of the file, from 0.
        parts: How many those are.
        setup: Digest of the settings, the model and the version of the program.
        content: Digest of the document as it was read, with its pictures.
        files: The file and the pictures that lie in files, as addresses, each with the digest of its bytes. As long as
            they are the same, so is the document. None where a picture could not be had: it may be there another time.
    """

    source: str
    part: str
    number: int
    parts: int
    setup: str
    content: str
    files: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class Record:
    """One page.

    Attributes:
        page: Its file name.
        origin: What it was made from.
        counts: Its line in the table.
        language: ISO 639-1 code.
        picture: The picture with the strongest link, small; None without links.
    """

    page: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]+\.html$")]
    origin: Origin
    counts: Counts
    language: str
    picture: Annotated[Embedded | None, AfterValidator(_inline)]


class Manifest:
    """The records of a folder, on disk as lines of JSON; a line is added as soon as its page is written.

    A line that is cut off, since the program was killed or the disk was full, costs only that its page is made anew. A
    link, a pipe or anybody else's file under the name is not touched.

    Raises:
        OutputError: Such a thing has the name, or the file cannot be read.

    Attributes:
        records: By the name of the page.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.records: dict[str, Record] = {}
        lines = self._lines()
        for line in lines:
            try:
                record = _adapter().validate_json(line)
            except ValidationError:
                continue
            self.records[record.page] = record
        if len(self.records) < len(lines):
            self.rewrite(self.records.values())

    def add(self, record: Record) -> None:
        """Remember a page that was written.

        Raises:
            OutputError: The line cannot be written.
        """
        self.records[record.page] = record
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOW
            with open(os.open(self._path, flags, 0o666), "ab") as file:
                file.write(_adapter().dump_json(record) + b"\n")
        except OSError as error:
            raise write_error(self._path, error) from error

    def rewrite(self, records: Iterable[Record]) -> None:
        """Remember these pages and no others.

        Raises:
            OutputError: The file cannot be written.
        """
        self.records = {record.page: record for record in records}
        lines = (_adapter().dump_json(record) + b"\n" for record in self.records.values())
        write_bytes(self._path, lines, force=True)

    def _lines(self) -> list[bytes]:
        try:
            found = self._path.lstat()
            ours = stat.S_ISREG(found.st_mode) and found.st_size <= MAX_BYTES
            data = self._path.read_bytes() if ours else b""
        except FileNotFoundError:
            return []
        except OSError as error:
            raise write_error(self._path, error) from error
        if not ours or not data.startswith(_BEGIN[: len(data)]):
            raise OutputError(f"{self._path} exists already, and iconotext did not write it; move it away")
        return data.splitlines()


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)
