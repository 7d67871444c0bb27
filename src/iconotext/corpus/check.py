"""Everything that is wrong with a corpus, not only the first thing.

A worker reads a part of the corpus and makes numbers of it (``check_part``); here the numbers of all parts come
together in their order, and what has been seen before is remembered in tables of digests, 21 to 43 bytes an id and a
picture. A text that a message needs is looked up by reading its part again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.check_part import CODES, PartSummary, summarise
from iconotext.corpus.digest_table import DigestTable
from iconotext.corpus.document_row import Pictures, Whereabouts
from iconotext.corpus.image_keys import content_key
from iconotext.corpus.in_order import in_order
from iconotext.corpus.row import Part, Problem, Record, Row
from iconotext.corpus.store import FORMATS, FormatName, corpus_folder, format_of, repeated_id
from iconotext.errors import CorpusError, ImageError
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE, FeatureTable, load_feature_table
from iconotext.images import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Digests = NDArray[np.uint64]

LISTED = 100_000
"""Problems that are listed; more are only counted, since a list of millions helps nobody and fills the memory."""

TOGETHER = 1000
"""Documents of a part where the format has none of its own."""

FEW = 8
"""So many parts are read in this process."""

SPLIT_NAMES = {code: split for split, code in CODES.items() if split is not None}

# What is remembered of the first document of a split that has a picture, as one number of 64 bits: from below its
# split, whether it is a pair, for which other splits that was told, whether it was counted as shared, and its place.
SPLIT, PAIR, TOLD, SHARED, WORDS, PLACE = 0, 2, 3, 6, 7, 16


@dataclass(frozen=True, slots=True)
class CheckedCorpus:
    """What came out of a check.

    Attributes:
        path: The corpus.
        format: How it is kept.
        documents: Number of documents, bad ones included.
        problems: In the order of the file; a picture or a leak only where it occurs first. ``LISTED`` at most.
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
    watch: Callable[[Iterable[PartSummary]], Iterable[PartSummary]] | None = None,
) -> CheckedCorpus:
    """Check rows, pictures, features and splits.

    Rows: types, lengths, ranges, ids. Pictures: each file is decoded once. Features beside the corpus: there is a
    finite row for each image without a file. Splits: no picture is in two of them, by its bytes or, without a file,
    its id. Two things are notes and no problems: images that are named by an address and are not at hand, and pictures
    in two splits whose documents all have relations, since the published splits of such pairs are random by pair.

    Args:
        path: The corpus.
        decode_images: False: only look whether the files are there.
        workers: Processes that read a large corpus. A script that has several must have its own beginning under
            ``if __name__ == "__main__"``.
        watch: Passes on what it gets, a number of documents each time, and shows somebody that it comes.

    Raises:
        CorpusError: Nothing of it can be read.
    """
    check = _Check(path, decode_images)
    summaries = check.summaries(workers)
    try:
        for summary in summaries if watch is None else watch(summaries):
            check.finish(summary)
    except CorpusError as error:
        if not check.documents:
            raise
        check.add([Problem("what follows", None, str(error))])
    finally:
        check.close()
    return check.result()


class _Check:
    """What is remembered from part to part."""

    def __init__(self, path: Path, decode_images: bool) -> None:
        self._path = path
        self._name = format_of(path)
        self._format = FORMATS[self._name]
        self._folder = corpus_folder(path)
        self._images = Pictures(self._folder, files=self._format.files)
        there = (self._folder / TABLE_FILE).is_file() or (self._folder / ROWS_FILE).is_file()
        self._table: FeatureTable | None = load_feature_table(self._folder / TABLE_FILE) if there else None
        self._decode = decode_images
        self._pool = ThreadPoolExecutor(thread_name_prefix="iconotext-check")
        self._part: _Part | None = None
        self._words: dict[str, int] = {}  # beginnings of places, by their number in the tables
        self._ids = DigestTable()  # with the place of the first
        self._sources = DigestTable()  # of files the digest of their bytes, of others what is said above PAIR
        self._contents = DigestTable()  # of files by their bytes: the same
        self.documents = self._no_images = self._no_sentences = self._elsewhere = self._shared = 0
        self._problems: list[Problem] = []
        self._unlisted = 0

    def summaries(self, workers: int) -> Iterator[PartSummary]:
        """The numbers of each part, in order; each must be finished before the next."""
        work = partial(summarise, self._folder, self._format.files, secrets.token_hex(8))
        if self._format.parts is None:
            parts, workers = _in_parts(self._format.read(self._path)), 1
        else:
            parts = self._format.parts(self._path)
        for part, summary in in_order(parts, work, workers, few=FEW):
            self._part = _Part(part, summary)
            yield summary
            if summary.broken is not None:
                raise CorpusError(summary.broken)

    def close(self) -> None:
        self._pool.shutdown()

    def result(self) -> CheckedCorpus:
        notes = [
            f"{number} documents without {what}: they take no part in training"
            for number, what in ((self._no_images, "images"), (self._no_sentences, "sentences"))
            if number
        ]
        if self._elsewhere:
            notes.append(f"{self._elsewhere} images are named by an address and are not at hand")
        if self._shared:
            notes.append(
                f"{self._shared} pictures of pairs with relations are in two splits, as in the published splits; "
                "`iconotext corpus split`, or building with group=True, keeps them together"
            )
        if self._table is None and not self._format.files:
            notes.append(f"no {TABLE_FILE} and {ROWS_FILE} beside it: the images are ids without features")
        problems = tuple(self._problems)
        return CheckedCorpus(self._path, self._name, self.documents, problems, tuple(notes), self._unlisted)

    def add(self, problems: list[Problem]) -> None:
        """List problems, or count them where there are too many."""
        room = max(LISTED - len(self._problems), 0)
        self._problems += problems[:room]
        self._unlisted += max(len(problems) - room, 0)

    def finish(self, summary: PartSummary) -> None:
        """Put the numbers of a part beside those of all before it."""
        part = self._part
        if part is None or part.summary is not summary:
            raise ValueError("a part is finished before the next one comes")
        self.documents += summary.documents
        self._no_images += summary.no_images
        self._no_sentences += summary.no_sentences
        found: list[tuple[int, int, int, Problem]] = []  # document, kind, image: the order in which they are told
        found += [(number, 0, i, problem) for i, (number, problem) in enumerate(summary.problems)]
        places = part.places(self._words)
        if self._format.has_ids:
            found += self._repeated(part, places)
        slots, new = self._sources.put(part.sources)
        found += self._new_images(part, new)
        found += self._leaks(part, slots, places)
        self.add([problem for *_, problem in sorted(found, key=lambda each: each[:3])])

    @property
    def _full(self) -> bool:
        """Whether further problems are only counted."""
        return len(self._problems) >= LISTED

    def _repeated(self, part: _Part, places: Digests) -> Iterator[tuple[int, int, int, Problem]]:
        """Documents with the id of an earlier one."""
        slots, new = self._ids.put(np.frombuffer(part.summary.ids, np.uint64))
        self._ids.values[slots[new]] = places[new]
        again = np.flatnonzero(~new)
        if self._full:
            self._unlisted += len(again)
            return
        for i in again.tolist():
            row, place = part.row(i)
            first = self._place(int(self._ids.values[slots[i]]))
            yield int(part.documents[i]), 1, 0, repeated_id(place, row.id, first)

    def _new_images(self, part: _Part, new: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, Problem]]:
        """Pictures that come for the first time and have something wrong with them."""
        where = part.sources & np.uint64(3)
        self._elsewhere += int((new & (where == Whereabouts.WEB)).sum())
        lost = np.flatnonzero(new & (where == Whereabouts.LOST))
        if self._full:
            self._unlisted += len(lost)
            lost = lost[:0]
        looked = [Whereabouts.FILE] if self._decode else []
        looked += [Whereabouts.NOWHERE] if self._table is not None else []
        seen = np.flatnonzero(new & np.isin(where, looked)).tolist()
        problems = self._pool.map(self._problem, [(part.source(i), int(where[i])) for i in seen])
        for i, problem in zip(seen, problems, strict=True):
            if problem is not None:
                yield part.told(i, 2, problem)
        for i in lost.tolist():
            yield part.told(i, 2, self._images.find(part.source(i))[1] or "not found")

    def _problem(self, image: tuple[str, int]) -> str | None:
        """What is wrong with a picture or its features."""
        source, where = image
        try:
            if where == Whereabouts.FILE:
                decode(self._folder / source, at_least=1)
            elif self._table is not None:
                self._table.rows([source])
        except (CorpusError, ImageError) as error:
            return str(error)
        return None

    def _leaks(self, part: _Part, slots: Numbers, places: Digests) -> Iterator[tuple[int, int, int, Problem]]:
        """Pictures of another split than the one where they were seen first."""
        splits = np.frombuffer(part.summary.splits, np.uint8).astype(np.uint64)
        pairs = np.frombuffer(part.summary.pairs, np.uint8).astype(np.uint64)
        sights = ((places << np.uint64(WORDS)) | (pairs << np.uint64(PAIR)) | splits)[part.owner]
        counts = (splits > 0)[part.owner]
        is_file = (part.sources & np.uint64(3)) == Whereabouts.FILE
        files = np.flatnonzero(counts & is_file)
        keys = self._content_keys(part, files, slots)
        others = np.flatnonzero(counts & ~is_file)
        file_slots, _ = self._contents.put(keys)
        found = []
        for table, some, at in ((self._contents, files, file_slots), (self._sources, others, slots[others])):
            differ = _differing(table, at, sights[some])
            found += [(int(i), table, int(slot)) for i, slot in zip(some[differ], at[differ], strict=True)]
        for i, table, slot in sorted(found, key=lambda each: each[0]):
            message = self._leak(table, slot, int(sights[i]), partial(part.source, i))
            if message is not None:
                yield part.told(i, 3, message)

    def _leak(self, table: DigestTable, slot: int, sight: int, source: Callable[[], str]) -> str | None:
        """Remember that a picture is in a second split; what is to be told, if it was not told before."""
        first = int(table.values[slot])
        split = sight & 3
        if sight & first & 1 << PAIR:
            self._shared += not first >> SHARED & 1
            table.values[slot] = first | 1 << SHARED
            return None
        told = 1 << TOLD + split - 1
        if first & told:
            return None
        table.values[slot] = first | told
        if self._full:
            self._unlisted += 1
            return None
        there = f"{SPLIT_NAMES[first & 3]} at {self._place(first >> WORDS)}"
        return f"{source()} is in {SPLIT_NAMES[split]} here and in {there}"

    def _content_keys(self, part: _Part, files: Numbers, slots: Numbers) -> Digests:
        """Digests of the bytes of pictures; each file is read once."""
        keys = self._sources.values[slots[files]]
        unread, first = np.unique(slots[files][keys == 0], return_index=True)
        if len(unread):
            images = files[keys == 0][first]
            names = [(part.source(i), int(part.sources[i])) for i in images.tolist()]
            self._sources.values[unread] = np.fromiter(self._pool.map(self._content, names), np.uint64, len(names))
            keys = self._sources.values[slots[files]]
        return keys

    def _content(self, image: tuple[str, int]) -> int:
        source, digest = image
        key = content_key(self._folder / source)
        return max(int.from_bytes(key[:8], "little"), 1) if key is not None else digest

    def _place(self, code: int) -> str:
        """The place that is kept as a number."""
        words = list(self._words)[code & (1 << PLACE - WORDS) - 1]
        return f"{words} {code >> PLACE - WORDS}"


class _Part:
    """A part, its numbers as arrays, and the texts that a message needs."""

    def __init__(self, part: Part, summary: PartSummary) -> None:
        self._read = part
        self.summary = summary
        self.documents: Numbers = np.frombuffer(summary.rows, np.int64)
        self.sources: Digests = np.frombuffer(summary.sources, np.uint64)
        images: Numbers = np.frombuffer(summary.images, np.int64)
        self.owner: Numbers = np.repeat(np.arange(len(images)), images)
        self._first: Numbers = np.cumsum(images) - images

    @cached_property
    def _rows(self) -> list[tuple[Row, str]]:
        found: list[tuple[Row, str]] = []
        with suppress(CorpusError):  # what comes before it is enough
            found.extend((record.row, record.place) for record in self._read() if record.row is not None)
        return found

    def row(self, i: int) -> tuple[Row, str]:
        """A row that could be read, and its place."""
        return self._rows[i]

    def source(self, i: int) -> str:
        """What the corpus calls an image."""
        owner = int(self.owner[i])
        return self._rows[owner][0].images[i - int(self._first[owner])]

    def told(self, i: int, kind: int, message: str) -> tuple[int, int, int, Problem]:
        """A problem with an image, behind what it is sorted by."""
        owner = int(self.owner[i])
        number = i - int(self._first[owner])
        return int(self.documents[owner]), kind, number, Problem(self._rows[owner][1], f"images.{number}", message)

    def places(self, words: dict[str, int]) -> Digests:
        """The place of each document as a number; ``words`` numbers what places begin with."""
        known = [words.setdefault(each, len(words)) for each in self.summary.before]
        first = np.array(known, np.uint64)[np.frombuffer(self.summary.places[0], np.int64)]
        numbers = np.frombuffer(self.summary.places[1], np.int64).astype(np.uint64)
        return (numbers << np.uint64(PLACE - WORDS)) | first


def _in_parts(records: Iterator[Record]) -> Iterator[Part]:
    """Rows that are there only once, some at a time."""
    error: Exception | None = None
    while error is None:
        some: list[Record] = []
        try:
            some.extend(islice(records, TOGETHER))
        except CorpusError as failed:
            error = failed
        if some:
            yield partial(iter, some)
        elif error is None:
            return
    raise error


def _differing(table: DigestTable, slots: Numbers, sights: Digests) -> NDArray[np.bool_]:
    """Which sights are of another split than the first one of the same picture, which is remembered if it is new."""
    wanted, first = np.unique(slots, return_index=True)
    unseen = (table.values[wanted] & np.uint64(3)) == 0
    table.values[wanted[unseen]] = sights[first[unseen]]
    differ: NDArray[np.bool_] = ((table.values[slots] ^ sights) & np.uint64(3)) != 0
    return differ
