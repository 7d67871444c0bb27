"""Captioned photographs on disk: millions of them, of which only those that a document needs are ever in memory.

A folder with ``photos.jsonl``, a line ``[image, caption, caption, ...]`` for each, and ``starts.npy``, where each line
begins. Workers open it by its path.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from iconotext.corpus.builders.captioned.photos import Photo
from iconotext.corpus.row import SPLITS, Split

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORDS = "photos.jsonl"
STARTS = "starts.npy"

SPLIT_OF_CODE: tuple[Split | None, ...] = (None, *SPLITS)


@dataclass(frozen=True, slots=True)
class Stored:
    """What there is to know of photographs on disk without reading them.

    Attributes:
        folder: Where they lie.
        digest: Another one where anything in them is another.
        splits: (photographs,) places in ``SPLIT_OF_CODE``.
        captions: (photographs,) how many captions each has.
        repeats: (photographs,) whether an earlier one has the same image.
    """

    folder: Path
    digest: str
    splits: NDArray[np.uint8]
    captions: NDArray[np.int32]
    repeats: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.splits)


def store_photos(photos: Iterable[Photo], folder: Path) -> Stored:
    """Write photographs to a folder in their order; in memory are some 25 bytes for each.

    Args:
        photos: Read once.
        folder: Is made if need be; what lies there under our names is replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts, splits, captions, images = array("q", [0]), bytearray(), array("i"), array("q")
    digest = hashlib.blake2b(digest_size=16)
    code_of = {split: code for code, split in enumerate(SPLIT_OF_CODE)}
    with (folder / RECORDS).open("wb") as file:
        for photo in photos:
            line = f"{json.dumps([photo.image, *photo.captions], ensure_ascii=False)}\n".encode()
            file.write(line)
            digest.update(line)
            starts.append(starts[-1] + len(line))
            splits.append(code_of[photo.split])
            captions.append(len(photo.captions))
            name = hashlib.blake2b(photo.image.encode(), digest_size=8).digest()
            images.append(int.from_bytes(name, "little", signed=True))
    digest.update(splits)
    np.save(folder / STARTS, np.frombuffer(starts, np.int64))
    return Stored(
        folder,
        digest.hexdigest(),
        np.frombuffer(bytes(splits), np.uint8),
        np.asarray(captions, np.int32),
        _repeats(np.asarray(images, np.int64)),
    )


def _repeats(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether a value stood earlier already."""
    repeats = np.zeros(len(values), np.bool_)
    order = np.argsort(values, kind="stable")
    repeats[order[1:]] = values[order[1:]] == values[order[:-1]]
    return repeats


class PhotoStore(Sequence[Photo]):
    """The photographs of a folder that ``store_photos`` wrote, read one by one; their splits are left out.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        starts = np.load(folder / STARTS, mmap_mode="r", allow_pickle=False)
        self._starts: NDArray[np.int64] = np.asarray(starts)  # a view, quicker
        self._file = (folder / RECORDS).open("rb", buffering=0)
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> Photo: ...

    @overload
    def __getitem__(self, index: slice) -> list[Photo]: ...

    def __getitem__(self, index: int | slice) -> Photo | list[Photo]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        image, *captions = self._record(index)
        return Photo(image, tuple(captions))

    def caption(self, index: int, number: int) -> str:
        """One caption of one photograph."""
        return self._record(index)[1 + number]

    def images(self) -> Iterator[str]:
        """The image of each, in their order."""
        with (self.folder / RECORDS).open("rb") as lines:
            for line in lines:
                yield json.loads(line)[0]

    def _record(self, index: int) -> list[str]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start = int(self._starts[index])
        self._file.seek(start)
        record: list[str] = json.loads(self._file.read(int(self._starts[index + 1]) - start))
        return record


class StoredCaptions(Sequence[str]):
    """All captions of some of the photographs of a store, in their order.

    Args:
        store: The photographs.
        members: (m,) their numbers.
        ends: (m,) number of captions up to and with each.
    """

    def __init__(self, store: PhotoStore, members: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        self._store = store
        self._members = members
        self._ends = ends

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        place = int(self._ends.searchsorted(index, side="right"))
        return self._store.caption(int(self._members[place]), index - (int(self._ends[place - 1]) if place else 0))
