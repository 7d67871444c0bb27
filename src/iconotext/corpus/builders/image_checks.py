"""What was found out about image files, remembered on disk: a build that was stopped need not decode them again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from iconotext.errors import ImageError
from iconotext.images import decode
from iconotext.strict_json import dump_json, parse_json

FILE = "images.jsonl"
"""In the folder of a build: a line ``[key, result]`` for each image that was looked at."""

MISSING = "not found"

Looked = TypeVar("Looked")


class Check(NamedTuple):
    """An image file that is sent to a worker, and what came back.

    Attributes:
        path: The file; None where there is none.
        key: Another one where the file is another; None where nothing is to be remembered.
        known: Whether the result is known already.
        result: What was found out.
    """

    path: str | None
    key: int | None
    known: bool = False
    result: Any = None


class ImageChecks:
    """Results by file, its size and its time; memory holds some hundred bytes for each."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._results: dict[int, Any] = {}

    def __enter__(self) -> ImageChecks:
        self._file = self._path.open("a+b")
        self._file.seek(0)
        for line in self._file:
            try:
                key, result = parse_json(line.decode())
            except ValueError:  # a line that a kill cut off
                continue
            self._results[key] = result
        self._file.write(b"\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def item(self, file: Path | None) -> Check:
        """A file, with what is known of it."""
        if file is None:
            return Check(None, None)
        path = str(file)
        try:
            status = file.stat()
        except OSError:
            return Check(path, None)
        key = _digest(f"{file.absolute()} {status.st_size} {status.st_mtime_ns}")
        return Check(path, key, key in self._results, self._results.get(key))

    @staticmethod
    def look(look: Callable[[str | None], Any], check: Check) -> Check:
        """Find out what is not known; in a worker."""
        return check if check.known else check._replace(result=look(check.path))

    def keep(self, check: Check) -> Any:
        """The result, which is remembered from now on."""
        if check.key is not None and not check.known:
            self._file.write(f"{dump_json([check.key, check.result])}\n".encode())
            self._file.flush()
        return check.result


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest())


def image_problem(path: str | None) -> str | None:
    """Why an image cannot be used: it is missing, is none, or cannot be decoded to its last line.

    Returns:
        None for a good one; else what is wrong, without the path.
    """
    if path is None:
        return MISSING
    try:
        decode(Path(path), at_least=1)
    except ImageError as error:
        return str(error).removeprefix(f"{path}: ")
    return None
