"""The record of a folder of pages: for each page what it was made from and what its card shows, as JSON lines."""

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
from iconotext.report.origin import Origin
from iconotext.write import write_bytes, write_error

NAME = ".iconotext-pages.jsonl"

MAX_BYTES = 2**30
"""Maximum size; a million pages take about half of it."""

_BEGIN = b'{"page":'
_INLINE = re.compile(r"data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/=]*")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # not on Windows


def _inline(image: Embedded | None) -> Embedded | None:
    """The image if it is embedded in the record; an index must not load anything else."""
    if image is not None and image.uri is not None and not _INLINE.fullmatch(image.uri):
        raise ValueError("not an image within the record")
    return image


@dataclass(frozen=True, slots=True)
class Record:
    """A page.

    Attributes:
        language: ISO 639-1 code.
        picture: The image with the strongest link, reduced; None without links.
    """

    page: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]+\.html$")]
    origin: Origin
    counts: Counts
    language: str
    picture: Annotated[Embedded | None, AfterValidator(_inline)]


class Manifest:
    """The records of a folder by page, on disk as JSON lines; a line is added as soon as its page is written.

    A line may be cut off if the program was killed or the disk was full: only its page is made again. Symbolic links,
    pipes and other programs' files under the same name are not touched.

    Raises:
        OutputError: Such a file exists, or the file cannot be read.
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
        """Record a page that was written; ``OutputError`` if the line cannot be written."""
        self.records[record.page] = record
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOW
            with open(os.open(self._path, flags, 0o666), "ab") as file:
                file.write(_adapter().dump_json(record) + b"\n")
        except OSError as error:
            raise write_error(self._path, error) from error

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace all records; ``OutputError`` if the file cannot be written."""
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
