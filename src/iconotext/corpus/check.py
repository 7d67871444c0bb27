"""Everything that is wrong with a corpus, not only the first thing.

``check_columns`` makes columns of it. NumPy groups them: ids that come twice, the first place of each image, images in
two splits.
"""

from __future__ import annotations

import heapq
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.check_columns import CODES, Columns, summarise
from iconotext.corpus.image_files import ImageFiles, Whereabouts
from iconotext.corpus.image_keys import content_key
from iconotext.corpus.in_order import in_order
from iconotext.corpus.row import Problem
from iconotext.corpus.store import FORMATS, Format, FormatName, corpus_folder, format_of, repeated_id
from iconotext.corpus.watch import Watch, unwatched
from iconotext.errors import CorpusError, ImageError
from iconotext.features.cores import in_threads
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE, FeatureTable, load_feature_table
from iconotext.images import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

LISTED = 100_000
"""Problems that are listed; more are only counted, since a list of millions helps nobody and fills the memory."""

FEW = 8
"""So many parts are read in this process."""

SPLIT_NAMES = {code: split for split, code in CODES.items() if split is not None}

Found = tuple[tuple[int, int, int], Problem]
"""A problem behind what it is sorted by: document, kind of problem, number among those of the document."""


@dataclass(frozen=True, slots=True)
class CheckedCorpus:
    """What came out of a check.

    Attributes:
        path: The corpus.
        format: How it is kept.
        documents: Number of documents, bad ones included.
        problems: In the order of the file; an image or a leak only where it occurs first. ``LISTED`` at most.
        notes: What is no error and may still be a mistake.
        unlisted: Number of further problems.
    """

    path: Path
    format: FormatName
    documents: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    unlisted: int = 0


def check_corpus(
    path: Path,
    *,
    decode_images: bool = True,
    workers: int = 1,
    watch: Watch = unwatched,
) -> CheckedCorpus:
    """Check rows, images, features and splits.

    Rows: types, lengths, ranges, ids. Images: each file is decoded once. Features beside the corpus: there is a
    finite row for each image without a file. Splits: no image is in two of them, by its bytes or, without a file,
    its id. Two things are notes and no problems: images that are named by an address and are not at hand, and images
    in two splits whose documents all have relations, since the published splits of such pairs are random by pair.

    Args:
        path: The corpus.
        decode_images: False: only look whether the files are there.
        workers: Processes that read a large corpus. A script that has several must have its own beginning under
            ``if __name__ == "__main__"``.
        watch: Shows how far it is.

    Raises:
        CorpusError: Nothing of it can be read.
    """
    name, folder = format_of(path), corpus_folder(path)
    there = (folder / TABLE_FILE).is_file() or (folder / ROWS_FILE).is_file()
    table = load_feature_table(folder / TABLE_FILE) if there else None
    broken: list[Problem] = []
    with TemporaryDirectory(prefix="iconotext-", ignore_cleanup_errors=True) as tables:
        columns = Columns(Path(tables), keep=LISTED)
        try:
            for _ in watch(_read(path, FORMATS[name], workers, columns), total=0, label="Checking"):
                pass
        except CorpusError as error:
            if not columns.documents:
                raise
            broken = [Problem("what follows", None, str(error))]
        columns.complete()
        images = _Images(columns, folder, FORMATS[name], table)
        images.look(decode_images, watch)
        leaks, shared = _leaks(columns, images.keys)
        rows = (((number, 0, i), problem) for i, (number, problem) in enumerate(columns.problems))
        again = _repeated(columns) if FORMATS[name].has_ids else []
        found = heapq.merge(rows, _repeated_problems(columns, again), images.problems(), _leak_problems(columns, leaks))
        total = columns.problem_count + len(again) + images.bad_count + len(leaks) + len(broken)
        problems = tuple(problem for _, problem in islice(found, LISTED)) + tuple(broken)
    problems = problems[:LISTED]
    notes = tuple(_notes(columns, images.elsewhere, shared, table is None and not FORMATS[name].files))
    return CheckedCorpus(path, name, columns.documents, problems, notes, total - len(problems))


def _read(path: Path, format_: Format, workers: int, columns: Columns) -> Iterator[None]:
    """Fill the columns; something for each document."""
    work = partial(summarise, corpus_folder(path), format_.files, secrets.token_hex(8))
    for _, summary in in_order(format_.parts(path), work, workers, few=FEW):
        columns.add(summary)
        yield from [None] * summary.documents
        if summary.broken is not None:
            raise CorpusError(summary.broken)


def _notes(columns: Columns, elsewhere: int, shared: int, no_features: bool) -> Iterator[str]:
    for number, what in ((columns.no_images, "images"), (columns.no_sentences, "sentences")):
        if number:
            yield f"{number} documents without {what}: they take no part in training"
    if elsewhere:
        yield f"{elsewhere} images are named by an address and are not at hand"
    if shared:
        yield (
            f"{shared} pictures of pairs with relations are in two splits, as in the published splits; "
            "`iconotext corpus split`, or building with group=True, keeps them together"
        )
    if no_features:
        yield f"no {TABLE_FILE} and {ROWS_FILE} beside it: the images are ids without features"


def _first_places(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """(n,) for each of n keys, the number of the first that is equal; itself, if none is before it."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first[group]


Pairs = list[tuple[int, int]]
"""Something that is wrong, and the row of an earlier document without which it would not be."""


def _repeated(columns: Columns) -> Pairs:
    """Rows with the id of an earlier one."""
    first = _first_places(columns.id_digests)
    again = np.flatnonzero(first != np.arange(len(first)))
    return list(zip(again.tolist(), first[again].tolist(), strict=True))


def _repeated_problems(columns: Columns, again: Pairs) -> Iterator[Found]:
    for row, earlier in again:
        problem = repeated_id(columns.place(row), columns.id(row), columns.place(earlier))
        yield (int(columns.numbers[row]), 1, 0), problem


class _Images:
    """The different images of a corpus, each at its first place; an image is a number among those of all documents.

    Attributes:
        keys: (images,) uint64, equal for images with equal bytes, or where there is no file with equal names.
        elsewhere: Number of those that are named by an address.
        bad_count: Number of those that are not there, or broken.
    """

    def __init__(self, columns: Columns, folder: Path, format_: Format, table: FeatureTable | None) -> None:
        self._columns, self._folder, self._table = columns, folder, table
        self._files = ImageFiles(folder, files=format_.files)
        self._first = _first_places(columns.source_digests)
        self._different = np.flatnonzero(self._first == np.arange(len(self._first)))
        self._where = columns.whereabouts[self._different]
        self._lost = self._different[self._where == Whereabouts.LOST]
        self._bad: dict[int, str] = {}
        self.keys = columns.source_digests
        self.elsewhere = int((self._where == Whereabouts.WEB).sum())
        self.bad_count = len(self._lost)

    def look(self, decode_images: bool, watch: Watch) -> None:
        """Open files and rows of features, each once."""
        open_files = decode_images or bool(self._columns.splits.any())
        wanted = (self._where == Whereabouts.FILE) & open_files
        if self._table is not None:
            wanted |= self._where == Whereabouts.NOWHERE
        images = self._different[wanted].tolist()
        keys = self._columns.source_digests.copy()

        def each() -> Iterator[None]:
            sources = (self._columns.source(image) for image in images)
            results = in_threads(partial(self._seen, decode_images), sources)
            for image, (content, problem) in zip(images, results, strict=True):
                keys[image] = content or keys[image]
                if problem is not None:
                    self.bad_count += 1
                    if len(self._bad) < LISTED:
                        self._bad[image] = problem
                yield

        for _ in watch(each(), total=len(images), label="Looking at images"):
            pass
        self.keys = keys[self._first]

    def _seen(self, decode_images: bool, source: str) -> tuple[int, str | None]:
        """Digest of the bytes of an image, 0 for none, and what is wrong with it."""
        file, content = self._folder / source, 0
        try:
            if self._files.whereabouts(source) == Whereabouts.FILE:
                content = int.from_bytes((content_key(file) or b"")[:8], "little")
                if decode_images:
                    decode(file, at_least=1)
            elif self._table is not None:
                self._table.rows([source])
        except (CorpusError, ImageError) as error:
            return content, str(error)
        return content, None

    def problems(self) -> Iterator[Found]:
        """Images that are not there, or broken."""
        for image in heapq.merge(self._lost.tolist(), self._bad):
            row, number = self._columns.place_of_image(image)
            message = self._bad.get(image) or self._files.not_found(self._columns.source(image))
            problem = Problem(self._columns.place(row), f"images.{number}", message)
            yield (int(self._columns.numbers[row]), 2, number), problem


def _leaks(columns: Columns, keys: NDArray[np.uint64]) -> tuple[Pairs, int]:
    """Images in two splits, once for each further split; and how many are in two only among pairs with relations."""
    images = np.flatnonzero(columns.splits[columns.owner])
    first = _first_places(keys[images])
    owner = columns.owner[images]
    splits, pairs = columns.splits[owner], columns.pairs[owner]
    differs = splits != splits[first]
    both_pairs = pairs & pairs[first]
    shared = len(np.unique(first[differs & both_pairs]))
    leaking = np.flatnonzero(differs & ~both_pairs)
    _, once = np.unique(first[leaking] * len(CODES) + splits[leaking], return_index=True)
    leaking = np.sort(leaking[once])
    return list(zip(images[leaking].tolist(), owner[first[leaking]].tolist(), strict=True)), shared


def _leak_problems(columns: Columns, leaks: Pairs) -> Iterator[Found]:
    for image, earlier in leaks:
        row, number = columns.place_of_image(image)
        here, there = (SPLIT_NAMES[int(columns.splits[each])] for each in (row, earlier))
        message = f"{columns.source(image)} is in {here} here and in {there} at {columns.place(earlier)}"
        yield (int(columns.numbers[row]), 3, number), Problem(columns.place(row), f"images.{number}", message)
