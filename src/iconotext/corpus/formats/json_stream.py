"""Large JSON objects of arrays, as data sets are published, read with one element in memory at a time.

``source_entries`` reads the lists of a file, ``lists`` those of an open stream.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

from iconotext.errors import CorpusError

PIECE = 1 << 16
"""Number of characters of the first read; doubled until an element fits."""

LONGEST_TOKEN = 16
"""Maximum length of a number or word, in characters: one that ends closer to the end of the buffer may be
incomplete.
"""


@contextmanager
def open_json(path: Path, about: str) -> Iterator[TextIO]:
    """Open a JSON file, to read it with ``lists`` in the block.

    Raises:
        CorpusError: The file cannot be read, is not UTF-8, or not the expected JSON.
    """
    try:
        with path.open(encoding="utf-8-sig") as stream:
            yield stream
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}; it should be {about}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 text; it should be {about}") from error
    except ValueError as error:
        raise CorpusError(
            f"{path}: cut off, or not the JSON that is expected: {error}; it should be {about}"
        ) from error


def lists(stream: TextIO, *, others: bool = False) -> Iterator[tuple[str, Iterator[Any]]]:
    """Keys and values of ``{"key": [value, value, ...], ...}``; read the values of a key before the next key.

    Args:
        others: Whether values that are not arrays are allowed; they are skipped.

    Raises:
        ValueError: Not such an object; the message gives the position in characters.
    """
    text = _Text(stream)
    for _ in text.items("{", "}"):
        key = text.value()
        if not isinstance(key, str):
            text.fail("a key in quotation marks is needed")
        text.take(":")
        if others and text.peek() != "[":
            text.value()
        else:
            yield key, (text.value() for _ in text.items("[", "]"))
    if text.peek():
        text.fail("nothing may follow the object")


class _Text:
    """The part of a file from the current position, read as far as necessary."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = json.JSONDecoder(parse_constant=_not_a_number)
        self._text = ""
        self._at = 0
        self._before = 0  # characters before the buffer
        self._ended = False

    def items(self, first: str, last: str) -> Iterator[None]:
        """Yield before each item between two brackets; the caller then reads the item."""
        self.take(first)
        while self.peek() != last:
            yield
            if self.peek() != last:
                self.take(",")
                if self.peek() == last:
                    self.fail(f"{last!r} may not follow a comma")
        self.take(last)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(PIECE):
                return ""

    def take(self, character: str) -> None:
        found = self.peek()
        if found != character:
            self.fail(f"{character!r} is needed" + (f", not {found!r}" if found else "; the file ends here"))
        self._at += 1

    def value(self) -> Any:
        self.peek()
        size = PIECE
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut_off = error.msg.startswith("Unterminated string") or len(self._text) - error.pos < LONGEST_TOKEN
                if cut_off and self._more(size):
                    size *= 2
                    continue
                self._at = error.pos
                self.fail(error.msg)
            except RecursionError:
                self.fail("nested too deeply")
            except ValueError as error:  # NaN, Infinity, an integer of thousands of digits
                self.fail(str(error))
            is_number = isinstance(value, int | float)
            if is_number and len(self._text) - end < LONGEST_TOKEN and self._more(size):  # 1 may become 1.5
                continue
            self._at = end
            return value

    def fail(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (after {self._before + self._at} characters)")

    def _more(self, size: int) -> bool:
        """Read more, and drop what is before the current position; False at the end of the file."""
        if self._ended:
            return False
        piece = self._stream.read(size)
        if not piece:  # the buffer has not moved, so positions in it are still valid
            self._ended = True
            return False
        self._before += self._at
        self._text, self._at = self._text[self._at :] + piece, 0
        return True


def _not_a_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def source_entries(path: Path, keys: Collection[str], about: str) -> Iterator[tuple[str, int, Any]]:
    """Key, index (from 0) and value of every element of some lists in a file.

    Args:
        keys: Keys of the lists; others are skipped. The first one must exist, even if empty.
        about: Description of the file and its source, for the error.

    Raises:
        CorpusError: The file cannot be read, is not such an object, or ends too early.
    """
    needed, seen = next(iter(keys)), False
    with open_json(path, about) as stream:
        for key, values in lists(stream, others=True):
            seen = seen or key == needed
            for index, value in enumerate(values):
                if key in keys:
                    yield key, index, value
    if not seen:
        raise CorpusError(f'{path}: has no list "{needed}"; it should be {about}')


def source_file(folder: Path, names: Collection[str], about: str) -> Path:
    """A file in a folder or its subfolders: the nearest one, then the first of ``names``.

    Raises:
        CorpusError: It does not exist; the message describes the file and its source.
    """
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder; name the one that has {next(iter(names))}: {about}")
    found = [
        (len(path.parts), rank, path)
        for rank, name in enumerate(names)
        for path in (folder.glob(name) if (folder / name).is_file() else folder.rglob(name))
        if path.is_file()
    ]
    if not found:
        raise CorpusError(f"{folder}: {next(iter(names))} is neither in it nor in a folder in it: {about}")
    return min(found)[2]
