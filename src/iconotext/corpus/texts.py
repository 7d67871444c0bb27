"""Very many texts: a digest of each in memory, the texts themselves on disk."""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from dataclasses import dataclass, field
from itertools import accumulate


def digest_of(text: str) -> int:
    """A digest of 64 bits, the same in every process; half surrogate pairs are taken as they are.

    Of ten million texts, two have the same with a probability of 3 in a million.
    """
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


@dataclass(slots=True)
class Texts:
    """Some texts, in a form that is quickly sent to another process.

    Attributes:
        data: One behind the other.
        lengths: Bytes of each.
        digests: Of each, or nothing where they are not needed.
    """

    data: bytearray = field(default_factory=bytearray)
    lengths: array[int] = field(default_factory=lambda: array("q"))
    digests: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, text: str, digest: int | None = None) -> None:
        """One more."""
        data = text.encode("utf-8", "surrogatepass")
        self.data += data
        self.lengths.append(len(data))
        if digest is not None:
            self.digests.append(digest)


class TextFile:
    """Texts by number, on disk. In memory is where each ends, and its digest: 16 bytes.

    Attributes:
        digests: Of each.
    """

    def __init__(self) -> None:
        self.digests = array("Q")
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this object
        self._ends = array("q", [0])

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def extend(self, texts: Texts) -> None:
        """More of them; after the first look none may come."""
        self._file.write(texts.data)
        self.digests.extend(texts.digests)
        self._ends.extend(accumulate(texts.lengths, initial=self._ends.pop()))

    def __getitem__(self, number: int) -> str:
        start, end = self._ends[number], self._ends[number + 1]
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8", "surrogatepass")
