"""The pictures of albums, looked at: which can be used, and which look the same as another one."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.builders.frame.build import Build
from iconotext.errors import CorpusError, ImageError
from iconotext.images import decode
from iconotext.papers.datasets.reddit.albums import Albums, ImageFiles
from iconotext.papers.datasets.reddit.near_duplicates import near_duplicates
from iconotext.papers.datasets.reddit.perceptual_hash import perceptual_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLACEHOLDER = (503, "d835884373f4d6c8f24742ceabe74946")
"""Bytes and MD5 of the picture that imgur sends for one that was deleted."""


def image_hash(path: str) -> dict[str, str]:
    """The perceptual hash of a picture file as 16 hexadecimal digits, or the rule and reason for leaving it out."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        return {"rule": "picture missing", "reason": error.strerror or str(error)}
    if data.startswith(b"GIF8"):
        return {"rule": "GIF or film", "reason": ""}
    if (len(data), hashlib.md5(data, usedforsecurity=False).hexdigest()) == PLACEHOLDER:
        return {"rule": "picture missing", "reason": "deleted from imgur, which sent a placeholder"}
    try:
        return {"hash": f"{perceptual_hash(decode(data)):016x}"}
    except ImageError as error:
        return {"rule": "picture that cannot be decoded", "reason": str(error)}


def file_and_hash(path: str | None) -> tuple[str | None, dict[str, str]]:
    """Which file was looked at, None where there is none, and its ``image_hash``."""
    return path, {"rule": "picture missing", "reason": ""} if path is None else image_hash(path)


def look_at_images(build: Build, albums: Albums, files: ImageFiles, problems: dict[str, str]) -> None:
    """Fill in hashes, and tell which pictures cannot be used."""
    waiting: deque[str | None] = deque()  # files until their result is there

    def paths() -> Iterator[str | None]:
        for _, name, moving in albums.names():
            file = None if moving else files.of(name)
            waiting.append(None if file is None else str(file))
            yield waiting[-1]

    results = build.mapped("pictures", paths(), file_and_hash, total=albums.pictures, label="Looking at pictures")
    for (album, name, moving), (earlier, looked_at) in zip(albums.names(), results, strict=True):
        path = waiting.popleft()
        if earlier != path:  # it came, went or moved after a run that was killed had looked at it
            looked_at = file_and_hash(path)[1]
        good = "hash" in looked_at
        albums.hashes.append(int(looked_at["hash"], 16) if good else 0)
        albums.usable.append(good)
        if moving:
            build.report.drop("GIF or film", f"{album.id}/{name}")
        elif not good:
            build.report.drop(looked_at["rule"], f"{album.id}/{name}", looked_at["reason"] or problems.get(name, ""))
    valid = albums.usable.count(1)
    build.report.count("valid pictures", valid, 295_000, rounding=1000)
    if not valid:
        raise CorpusError(
            "no picture of the albums is there: put them into a folder named images in the source, or name their "
            "folder with images=..., as Ab3dE7f.jpg and so on, or give fetch=True"
        )


def lookalikes(albums: Albums, *, distance: int) -> NDArray[np.int64]:
    """(pictures,) for each the number of one that looks the same, -1 where there is none.

    Args:
        albums: Their pictures were looked at.
        distance: Bits of 64 in which the hashes of two that look the same may differ.
    """
    import numpy as np

    usable = np.flatnonzero(np.frombuffer(albums.usable, np.uint8))
    other = near_duplicates(np.frombuffer(albums.hashes, np.uint64)[usable], distance)
    found = np.full(albums.pictures, -1, np.int64)
    found[usable] = np.where(other < 0, -1, usable[other])
    return found
