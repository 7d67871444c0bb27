"""What a folder of pages remembers of them: where each comes from, what it was made from, what it shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from iconotext.report.as_table import Counts
from iconotext.report.embedded import Embedded
from iconotext.write import unwritten, write_bytes

NAME = ".iconotext-pages.jsonl"


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

    page: Annotated[str, Field(pattern=r"^[^/\\]+\.html$")]
    origin: Origin
    counts: Counts
    language: str
    picture: Embedded | None


class Manifest:
    """The records of a folder, on disk as lines of JSON; a line is added as soon as its page is written.

    A line that is cut off, since the program was killed or the disk was full, costs only that its page is made anew.

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
            with self._path.open("ab") as file:
                file.write(_adapter().dump_json(record) + b"\n")
        except OSError as error:
            raise unwritten(self._path, error) from error

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
            return self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unwritten(self._path, error) from error


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)
