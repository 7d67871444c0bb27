"""Captions on disk, to draw from those that were written about other pictures."""

from __future__ import annotations

import hashlib
import mmap
import random
from array import array
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from iconotext.errors import CorpusError, OutputError

TRIES = 20
"""For each caption that is wanted; nearly always enough, and never slow however large the pool is."""


class CaptionPool:
    """Captions and the pictures they are about; memory holds 16 bytes of each."""

    def __init__(self, texts: mmap.mmap | bytes, ends: array[int], owners: array[int]) -> None:
        self._texts = texts
        self._ends = ends
        self._owners = owners  # digests of the pictures' names

    def __len__(self) -> int:
        return len(self._ends)

    def draw(self, rng: random.Random, count: int, without: Collection[str], name: str) -> list[str]:
        """Different captions, uniformly at random; two of them may have the same words.

        Args:
            rng: Chance.
            count: How many.
            without: Pictures that none of them may be about.
            name: Of the document, for the error.

        Raises:
            CorpusError: There are not so many.
        """
        banned = {_digest(image) for image in without}
        chosen: dict[int, None] = {}
        for _ in range(TRIES * count if len(self) else 0):
            if len(chosen) == count:
                break
            caption = rng.randrange(len(self))
            if self._owners[caption] not in banned:
                chosen[caption] = None
        if len(chosen) < count:
            left = [i for i, owner in enumerate(self._owners) if owner not in banned and i not in chosen]
            if len(chosen) + len(left) < count:
                raise CorpusError(
                    f"{name}: {count} captions about other pictures of its split are needed, and there are "
                    f"{len(chosen) + len(left)}: ask for fewer with distractors={len(chosen) + len(left)}"
                )
            chosen |= dict.fromkeys(rng.sample(left, count - len(chosen)))
        return [self._text(caption) for caption in chosen]

    def _text(self, caption: int) -> str:
        start = self._ends[caption - 1] if caption else 0
        return self._texts[start : self._ends[caption]].decode()


@contextmanager
def caption_pool(captions: Iterator[tuple[str, str]], path: Path) -> Iterator[CaptionPool]:
    """Write captions to a file, and read from it while this is open.

    Args:
        captions: Texts and the names of the pictures they are about.
        path: The file; replaced.

    Raises:
        OutputError: It cannot be written.
    """
    ends, owners = array("Q"), array("Q")
    end = 0
    try:
        with path.open("wb") as file:
            for text, image in captions:
                data = text.encode()
                file.write(data)
                end += len(data)
                ends.append(end)
                owners.append(_digest(image))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    if not end:
        yield CaptionPool(b"", ends, owners)
        return
    with path.open("rb") as written, mmap.mmap(written.fileno(), 0, access=mmap.ACCESS_READ) as texts:
        yield CaptionPool(texts, ends, owners)


def _digest(image: str) -> int:
    return int.from_bytes(hashlib.blake2b(image.encode(), digest_size=8).digest())
