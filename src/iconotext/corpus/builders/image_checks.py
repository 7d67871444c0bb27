"""Checks of image files, each file once: the results are stored on disk until a build ends."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from iconotext.errors import ImageError
from iconotext.images import decode
from iconotext.system.strict_json import parse_json

MISSING = "not found"


class Check(NamedTuple):
    """An image file for a worker, and the result; ``stored`` says that it is of an earlier run.

    ``key`` is None if the result is not to be stored.
    """

    path: str | None
    key: int | None
    stored: bool = False
    result: Any = None


def stored_checks(file: IO[bytes]) -> dict[int, Any]:
    """Return the results by key in a file that is open for reading and appending: a line ``[key, result]`` for each."""
    file.seek(0)
    results: dict[int, Any] = {}
    for line in file:
        with suppress(ValueError):  # a line that a kill cut off
            key, result = parse_json(line.decode())
            results[key] = result
    file.write(b"\n")  # ends a line that a kill cut off
    return results


def check_of(file: Path | None, stored: Mapping[int, Any]) -> Check:
    """Return an image file, with its stored result."""
    if file is None:
        return Check(None, None)
    path = str(file)
    try:
        status = file.stat()
    except OSError:
        return Check(path, None)
    # With size and time, so that a file that has changed since is decoded again.
    identity = f"{file.absolute()} {status.st_size} {status.st_mtime_ns}".encode("utf-8", "surrogateescape")
    key = int.from_bytes(hashlib.blake2b(identity, digest_size=8).digest())
    return Check(path, key, key in stored, stored.get(key))


def look_at(look: Callable[[str | None], Any], check: Check) -> Check:
    """Compute the result of a check, unless it is stored; runs in a worker."""
    return check if check.stored else check._replace(result=look(check.path))


def image_problem(path: str | None) -> str | None:
    """Return why an image cannot be used: it is missing, is not a picture, or cannot be decoded to its last line."""
    if path is None:
        return MISSING
    try:
        decode(Path(path), at_least=1)
    except ImageError as error:
        return str(error).removeprefix(f"{path}: ")
    return None
