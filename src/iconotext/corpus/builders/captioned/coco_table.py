"""Images and captions that stand in different places of their sources, brought together on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import TracebackType

from iconotext.corpus.row import Split

Key = int | str
"""What a source calls an image: a number that 64 bits can hold, or a text."""

WAITING = 20_000
"""Rows that are written together."""


@dataclass(frozen=True, slots=True)
class Captioned:
    """An image of a table, and what is written about it.

    Attributes:
        key: What the source calls it.
        name: Of its file.
        split: None where the source does not say.
        captions: In the order of their numbers, those without one last; may be none.
    """

    key: Key
    name: str
    split: Split | None
    captions: tuple[str, ...]


class CaptionTable:
    """Takes images and captions in any order, and gives them back by image, in the order of their keys.

    An image that comes again, and a caption of the same number of the same image, counts once: the first.

    Args:
        path: A file for them, which is made anew and removed in the end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.repeated_captions = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._database = sqlite3.connect(path)
        for statement in (
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "PRAGMA cache_size = -65536",
            "CREATE TABLE images (key PRIMARY KEY, name TEXT, split TEXT, source INTEGER) WITHOUT ROWID",
            "CREATE TABLE captions (image, number INTEGER, text TEXT)",
        ):
            self._database.execute(statement)
        self._images: list[tuple[Key, str, Split | None, int]] = []
        self._captions: list[tuple[Key, int | None, str]] = []

    def __enter__(self) -> CaptionTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._database.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def add_image(self, key: Key, name: str, split: Split | None = None, *, source: int = 0) -> None:
        """An image; ``source`` is the number of the file that lists it."""
        self._images.append((key, name, split, source))
        if len(self._images) >= WAITING:
            self._write()

    def add_caption(self, key: Key, number: int | None, text: str) -> None:
        """A caption of an image; ``number`` says which, None where nobody knows."""
        self._captions.append((key, number, text))
        if len(self._captions) >= WAITING:
            self._write()

    def count_images(self, *, source: int | None = None) -> int:
        """Number of images; with ``source`` those that this file lists and none before it."""
        self._write()
        where = ("", ()) if source is None else ("WHERE source = ?", (source,))
        (count,) = self._database.execute(f"SELECT COUNT(*) FROM images {where[0]}", where[1]).fetchone()
        return int(count)

    def unlisted(self) -> Iterator[tuple[Key, int | None]]:
        """Image and number of the captions whose image is not there."""
        self._write()
        yield from self._database.execute(
            "SELECT image, number FROM captions WHERE image NOT IN (SELECT key FROM images) ORDER BY rowid"
        )

    def captioned(self, *, source: int | None = None) -> Iterator[Captioned]:
        """Images with their captions, by rising key, numbers before texts; with ``source`` only those of this file."""
        self._write()
        self._database.execute("CREATE INDEX IF NOT EXISTS by_image ON captions (image, number IS NULL, number)")
        where = ("", ()) if source is None else ("WHERE source = ?", (source,))
        rows = self._database.execute(
            f"""SELECT key, name, split, number, text FROM images LEFT JOIN captions ON image = key {where[0]}
            ORDER BY key, number IS NULL, number, captions.rowid""",
            where[1],
        )
        for (key, name, split), same in groupby(rows, key=lambda row: row[:3]):
            captions: list[str] = []
            last: int | None = None
            for *_, number, text in same:
                if text is None:
                    continue
                if number is not None and number == last:
                    self.repeated_captions += 1
                    continue
                last = number
                captions.append(text)
            yield Captioned(key, name, split, tuple(captions))

    def _write(self) -> None:
        """Put what waits into the file."""
        self._database.executemany("INSERT OR IGNORE INTO images VALUES (?, ?, ?, ?)", self._images)
        self._database.executemany("INSERT INTO captions VALUES (?, ?, ?)", self._captions)
        self._images.clear()
        self._captions.clear()
