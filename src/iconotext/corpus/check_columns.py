"""A corpus as two tables, of its documents and of their images: workers make them of its parts.

Texts stay on disk; what is grouped and compared are numbers and digests, in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.corpus.image_files import ImageFiles
from iconotext.corpus.row import SPLITS, Part, Problem
from iconotext.errors import CorpusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

KNOWN = 200_000
"""Images whose whereabouts a worker remembers, about 30 MB."""

CODES: dict[str | None, int] = {None: 0, **{split: number for number, split in enumerate(SPLITS, start=1)}}
"""Numbers of the splits."""

ROWS = {
    "number": "int64",  # of the document in the part, then in the corpus
    "id": "binary",
    "digest": "uint64",  # of the id
    "place": "string",  # where it stands in the file
    "split": "uint8",  # see CODES
    "pair": "bool",  # whether it has relations
    "images": "int32",  # how many
}
"""Columns of the documents that could be read."""

IMAGES = {
    "source": "binary",  # what the corpus calls it
    "digest": "uint64",
    "whereabouts": "uint8",  # see Whereabouts
}
"""Columns of their images."""


def digest_of(text: str) -> int:
    """A digest of 64 bits, the same in every process; half surrogate pairs are taken as they are.

    Of ten million texts, two have the same with a probability of 3 in a million.
    """
    return int.from_bytes(hashlib.blake2b(_bytes(text), digest_size=8).digest(), "little")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class PartSummary:
    """What can be said of a part without the others.

    Attributes:
        documents: Number of them, bad ones included.
        problems: Number of the document in the part, and what is wrong with it alone.
        rows: Table of the documents that could be read, see ``ROWS``.
        images: Table of their images, see ``IMAGES``.
        no_images: Documents without images.
        no_sentences: Documents without sentences.
        broken: Why nothing after the part can be read; None where all is well.
    """

    rows: Any = None
    images: Any = None
    documents: int = 0
    problems: list[tuple[int, Problem]] = field(default_factory=list)
    no_images: int = 0
    no_sentences: int = 0
    broken: str | None = None


def summarise(folder: Path, files: bool, run: str, part: Part) -> PartSummary:
    """Read a part and look where its images are.

    Args:
        folder: That paths of images start from.
        files: Whether images are files at all.
        run: Name of the check; what one saw of the images does not count for the next.
        part: Of the corpus.
    """
    found, look = PartSummary(), _look(folder, files, run)
    rows: list[tuple[Any, ...]] = []
    images: list[tuple[Any, ...]] = []
    try:
        for record in part():
            number, found.documents = found.documents, found.documents + 1
            found.problems += [(number, problem) for problem in record.problems]
            if (row := record.row) is None:
                continue
            ids, pair = (_bytes(row.id), digest_of(row.id)), row.relations is not None
            rows.append((number, *ids, record.place, CODES[row.split], pair, len(row.images)))
            images += [(_bytes(source), *look(source)) for source in row.images]
            found.no_images += not row.images
            found.no_sentences += not row.sentences
    except CorpusError as error:
        found.broken = str(error)
    found.rows, found.images = _table(rows, ROWS), _table(images, IMAGES)
    return found


def _table(rows: Sequence[tuple[Any, ...]], types: dict[str, str]) -> Any:
    import pyarrow as pa

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in types.items()])
    return pa.table([*zip(*rows, strict=True)] if rows else [()] * len(types), schema=schema)


@lru_cache(maxsize=1)
def _look(folder: Path, files: bool, run: str) -> Callable[[str], tuple[int, int]]:
    """Digest and whereabouts of an image, as far as this worker has seen them in this run."""
    images = ImageFiles(folder, files=files)
    return lru_cache(KNOWN)(lambda source: (digest_of(source), int(images.whereabouts(source))))


class Columns:
    """The columns of a whole corpus, put together from those of its parts. A row is a document that could be read.

    Args:
        folder: Where to keep the tables.
        keep: Problems that are kept; more are only counted.

    Attributes:
        documents: Number of them, bad ones included.
        problems: Number of the document in the corpus, and what is wrong with it alone.
        problem_count: Of these, and of those that were not kept.
        no_images: Documents without images.
        no_sentences: Documents without sentences.
        numbers: (rows,) number of the document in the corpus. This and the next ones after ``complete``.
        splits: (rows,) see ``CODES``.
        pairs: (rows,) bool, whether it has relations.
        id_digests: (rows,) uint64.
        source_digests: (images,) uint64.
        whereabouts: (images,) see ``Whereabouts``.
        owner: (images,) row of each image.
    """

    numbers: NDArray[np.int64]
    splits: NDArray[np.uint8]
    pairs: NDArray[np.bool_]
    id_digests: NDArray[np.uint64]
    source_digests: NDArray[np.uint64]
    whereabouts: NDArray[np.uint8]
    owner: NDArray[np.int64]

    def __init__(self, folder: Path, *, keep: int) -> None:
        import pyarrow as pa

        self._keep = keep
        self.documents = self.problem_count = self.no_images = self.no_sentences = 0
        self.problems: list[tuple[int, Problem]] = []
        self._files = [str(folder / name) for name in ("rows", "images")]
        types = zip(self._files, (ROWS, IMAGES), strict=True)
        self._writers = [pa.ipc.new_file(file, _table([], kinds).schema) for file, kinds in types]

    def add(self, part: PartSummary) -> None:
        """The next part."""
        import pyarrow.compute as pc

        room = max(self._keep - len(self.problems), 0)
        self.problems += [(self.documents + number, problem) for number, problem in part.problems[:room]]
        self.problem_count += len(part.problems)
        self.no_images += part.no_images
        self.no_sentences += part.no_sentences
        rows = part.rows.set_column(0, part.rows.schema.field(0), pc.add(part.rows["number"], self.documents))
        for writer, table in zip(self._writers, (rows, part.images), strict=True):
            writer.write_table(table)
        self.documents += part.documents

    def complete(self) -> None:
        """All parts were added."""
        import pyarrow as pa

        for writer in self._writers:
            writer.close()
        self._rows, self._images = (pa.ipc.open_file(pa.memory_map(file)).read_all() for file in self._files)
        self.numbers = self._rows["number"].to_numpy()
        self.splits = self._rows["split"].to_numpy()
        self.pairs = self._rows["pair"].to_numpy()
        self.id_digests = self._rows["digest"].to_numpy()
        self.source_digests = self._images["digest"].to_numpy()
        self.whereabouts = self._images["whereabouts"].to_numpy()
        counts = self._rows["images"].to_numpy().astype(np.int64)
        self.owner = np.repeat(np.arange(len(counts)), counts)
        self._first = np.cumsum(counts) - counts

    def id(self, row: int) -> str:
        """The id of a document."""
        return _text(self._rows["id"][row])

    def place(self, row: int) -> str:
        """Where a document stands in the file."""
        return str(self._rows["place"][row])

    def source(self, image: int) -> str:
        """What the corpus calls an image."""
        return _text(self._images["source"][image])

    def place_of_image(self, image: int) -> tuple[int, int]:
        """The row of an image, and its number there."""
        row = int(self.owner[image])
        return row, image - int(self._first[row])


def _text(value: Any) -> str:
    found: bytes = value.as_py()
    return found.decode("utf-8", "surrogatepass")
