"""Collects ids, splits, counts, gold links and relations of documents, in memory until all are read."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.split import Shares, at_least_two
from iconotext.train.prepared import DOCUMENTS, IDS, SPLITS, UNDIVIDED, offsets_of
from iconotext.types import Document
from iconotext.write import open_atomic, write_text


class _Ragged:
    """Lists of integers, one list for each document, eight bytes an integer."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.ends = array("q", [0])

    def append(self, numbers: Iterable[int]) -> None:
        self.numbers.extend(numbers)
        self.ends.append(len(self.numbers))

    def arrays(self, dtype: str, width: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """(documents + 1,) offsets, where the rows of each document begin, and (rows, width) all rows."""
        numbers = np.array(self.numbers, dtype)
        return np.array(self.ends, np.int64) // width, numbers if width == 1 else numbers.reshape(-1, width)


def chance_of(seed: int, corpus: int, name: str) -> int:
    """Pseudo-random rank of a document without a split; the lowest ranks become validation documents."""
    return int.from_bytes(hashlib.sha256(f"{seed} {corpus} {name}".encode()).digest()[:8], "big")


class DocumentTable:
    """A table of documents, in the order in which they are appended.

    Args:
        seed: Of ``chance_of``, which divides documents without a split.

    Attributes:
        relations: Name to number of the coherence relations that people judged, in order of appearance.
        drawn: Number of each document without a split to its ``chance_of``.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.relations: dict[str, int] = {}
        self.drawn: dict[int, int] = {}
        self._ids: list[str] = []
        self._splits, self._linked = bytearray(), bytearray()
        self._corpora, self._sentences = array("H"), array("q")
        self._images, self._links, self._judged = _Ragged(), _Ragged(), _Ragged()

    def __len__(self) -> int:
        return len(self._ids)

    def append(self, document: Document, corpus: int, rows: NDArray[np.int64]) -> None:
        """Add a document; ``rows`` is (images,) the row of each image's features, -1 if the image cannot be used."""
        if document.split is None:
            self.drawn[len(self)] = chance_of(self._seed, corpus, document.id)
        self._ids.append(document.id)
        self._splits.append(UNDIVIDED if document.split is None else SPLITS.index(document.split))
        self._corpora.append(corpus)
        self._sentences.append(len(document.sentences))
        self._images.append(rows[rows >= 0].tolist())
        self._linked.append(document.links is not None)
        places = (np.cumsum(rows >= 0) - 1).tolist()  # numbers of images without those left out
        used = [(sentence, places[image]) for sentence, image in document.links or () if rows[image] >= 0]
        self._links.append(chain.from_iterable(used))
        judged = [(name, holds) for name, holds in (document.meta.get("relations") or {}).items() if holds is not None]
        numbered = [(self.relations.setdefault(name, len(self.relations)), int(holds)) for name, holds in judged]
        self._judged.append(chain.from_iterable(numbered))

    def save(self, folder: Path, share: float | None) -> NDArray[np.uint8]:
        """Write all documents, and return their (D,) splits.

        ``share`` of the documents without a split become validation documents; None leaves them ``UNDIVIDED``.
        """
        splits = self._divided(share) if share is not None else np.array(self._splits, np.uint8)
        arrays: dict[str, NDArray[Any]] = {
            "splits": splits,
            "corpora": np.array(self._corpora, np.uint16),
            "sentence_offsets": offsets_of(self._sentences),
            "linked": np.array(self._linked, np.bool_),
        }
        arrays["image_offsets"], arrays["image_rows"] = self._images.arrays("int64", 1)
        arrays["link_offsets"], arrays["links"] = self._links.arrays("int32", 2)
        arrays["relation_offsets"], arrays["relations"] = self._judged.arrays("int32", 2)
        write_text(folder / IDS, json.dumps(self._ids), force=True)
        with open_atomic(folder / DOCUMENTS, force=True) as file:
            np.savez(file, allow_pickle=False, **arrays)
        return splits

    def _divided(self, share: float) -> NDArray[np.uint8]:
        """(D,) splits; ``share`` of the documents without one become validation documents, see ``at_least_two``."""
        splits = np.array(self._splits, np.uint8)
        splits[splits == UNDIVIDED] = SPLITS.index("train")
        undivided = np.array(list(self.drawn), np.int64)
        chances = np.array(list(self.drawn.values()), np.uint64)
        images = int(np.diff(np.array(self._images.ends, np.int64))[undivided].sum())
        wanted = at_least_two(Shares(share, 0), len(undivided), images).counts(len(undivided))["validation"]
        splits[undivided[np.argsort(chances, kind="stable")[:wanted]]] = SPLITS.index("validation")
        return splits
