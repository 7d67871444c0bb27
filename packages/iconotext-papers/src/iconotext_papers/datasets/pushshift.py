"""Reads Reddit submissions from the files of pushshift.io: a compressed file of JSON lines for each month.

``subreddit_posts`` reads one file. A month has up to twenty million lines, of which few belong to one subreddit.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from iconotext.errors import CorpusError
from iconotext.system.strict_json import parse_json
from iconotext_papers import need

PLAIN = frozenset(("", ".jsonl", ".ndjson", ".json", ".txt"))
OPENERS: Mapping[str, Callable[[IO[bytes]], Any]] = {".bz2": bz2.open, ".xz": lzma.open, ".gz": gzip.open}
PACKED = frozenset((".zst", *OPENERS))

MONTHLY = re.compile(r"RS_(?:v2_)?(\d{4}-\d{2})(?!\d)")
"""Names of the monthly files; before June 2011 they contain ``v2``."""

ONE_SUBREDDIT = re.compile(r"_submissions(?![a-z])")
"""Names of files with one subreddit, which were extracted from the monthly ones: ``DIY_submissions.zst``."""

WINDOW = 1 << 31
"""Largest window of the decompressor in bytes: the monthly files were compressed with ``zstd --long=31``."""

PIECE = 1 << 14
"""Compressed bytes of zstd that are decompressed at once; even a malicious file yields less than 1 GB from them."""

BLOCK = 1 << 22
"""Bytes of other files that are read or decompressed at once."""

MAX_LINE = 1 << 26
"""Largest length of a line in bytes; a submission has at most a few hundred thousand."""


def submission_files(folder: Path, first: str, last: str) -> list[Path]:
    """Find files of submissions in a folder and the folders in it, in the order of their names.

    Files of months before ``first`` or after ``last``, such as ``2013-01``, are skipped.
    """
    paths: list[Path] = []
    other_count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if Path(name).suffix.lower() not in PLAIN | PACKED and not MONTHLY.fullmatch(name):
                continue
            month = MONTHLY.match(name)
            if month and not first <= month[1] <= last:
                other_count += 1
            elif month or ONE_SUBREDDIT.search(name):
                paths.append(Path(place, name))
    if not paths:
        also = f" ({other_count} files of other months are there)" if other_count else ""
        raise CorpusError(
            f"{folder}: no submissions of {first} to {last}{also}: RS_{first}.zst and so on, from pushshift.io "
            "(files.pushshift.io/reddit/submissions, today as torrents on academictorrents.com)"
        )
    return sorted(paths, key=lambda path: (path.name, str(path)))


def subreddit_posts(path: str, *, subreddit: str) -> dict[str, Any]:
    """Read all submissions to one subreddit in a file, in its order.

    Returns:
        ``posts``: id, title, score, url and created (seconds since 1970) of each, None for a missing or invalid value.
        ``broken``: number and problem of each line that cannot be parsed.
    """
    posts: list[dict[str, Any]] = []
    broken: list[tuple[int, str]] = []
    quoted = f'"{subreddit}"'.encode()
    for number, line in enumerate(_lines(_unpacked(Path(path)), path), 1):
        if quoted not in line:  # parsing every line would take several times as long as decompressing it
            continue
        try:
            value = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except ValueError as error:  # UnicodeDecodeError is one
            broken.append((number, str(error)))
            continue
        if not isinstance(value, dict):
            broken.append((number, "not a JSON object"))
        elif value.get("subreddit") == subreddit:
            posts.append(_post(value))
    return {"posts": posts, "broken": broken}


def month_of(created: int | None) -> str | None:
    """The month of a time, ``2013-01``, in Greenwich.

    >>> month_of(1356998400)
    '2013-01'
    """
    return None if created is None else f"{datetime.fromtimestamp(created, UTC):%Y-%m}"


def _post(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": _text(value.get("id")),
        "title": _text(value.get("title")),
        "score": _number(value.get("score")),
        "url": _text(value.get("url")),
        "created": _number(value.get("created_utc")),
    }


def _text(value: object) -> str | None:
    """Return a text that can be encoded as UTF-8: half of a surrogate pair becomes a question mark."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _number(value: object) -> int | None:
    """Return a number, which is a text in the files of some years."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(float(value))
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1 << 33 else None  # a time in seconds until the year 2242; dates end at 9999


def _lines(blocks: Iterator[bytes], path: str) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > MAX_LINE:
            raise CorpusError(f"{path}: has a line of more than {MAX_LINE >> 20} MiB; submissions are JSON lines")
        yield from lines
    yield rest


def _unpacked(path: Path) -> Iterator[bytes]:
    """Yield the decompressed file, some megabytes at a time."""
    suffix = path.suffix.lower()
    with _read_errors(path), path.open("rb") as file:
        if suffix == ".zst":
            yield from _unpacked_zstd(file)
            return
        with OPENERS[suffix](file) if suffix in OPENERS else file as unpacked:
            while block := unpacked.read(BLOCK):
                yield block


def _unpacked_zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Yield all frames of a file, and check that the last one is complete, unlike ``zstandard``'s own reader."""
    need("zstandard")
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    frame = None
    try:
        while piece := file.read(PIECE):
            while piece:
                frame = frame or unpacker.decompressobj()
                yield frame.decompress(piece)
                piece = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from error
    if frame is not None:
        raise EOFError("it ends in the middle of a frame")


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
        raise CorpusError(f"{path}: cut off or damaged ({error}): download it again") from error
