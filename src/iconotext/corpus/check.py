"""Everything that is wrong with a corpus, not only the first thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from iconotext.corpus.document_row import Pictures, named_by_address
from iconotext.corpus.feature_table import ROWS_FILE, TABLE_FILE, FeatureTable, load_feature_table
from iconotext.corpus.picture_keys import PictureKeys
from iconotext.corpus.row import Problem, Record, Row
from iconotext.corpus.store import FORMATS, FormatName, corpus_folder, format_of, read_records
from iconotext.errors import CorpusError, PictureError
from iconotext.read.images import decode
from iconotext.types import Image


@dataclass(frozen=True, slots=True)
class CheckedCorpus:
    """What came out of a check.

    Attributes:
        path: The corpus.
        format: How it is kept.
        documents: Number of documents, bad ones included.
        problems: In the order of the file; a picture or a leak only where it occurs first.
        notes: What is no error and may still be a mistake.
    """

    path: Path
    format: FormatName
    documents: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def check_corpus(path: Path, records: Iterable[Record] | None = None, *, decode_pictures: bool = True) -> CheckedCorpus:
    """Check rows, pictures, features and splits.

    Rows: types, lengths, ranges, ids. Pictures: each file is decoded once. Features beside the corpus: there is a
    finite row for each image without a file. Splits: no picture is in two of them, by its bytes or, without a file,
    its id. Two things are notes and no problems: images that are named by an address and are not at hand, and pictures
    in two splits whose documents all have relations, since the published splits of such pairs are random by pair.

    Args:
        path: The corpus.
        records: What ``read_records(path)`` gives, where the caller wants to watch them pass.
        decode_pictures: False: only look whether the files are there.

    Raises:
        CorpusError: Nothing of it can be read.
    """
    check = _Check(path, decode_pictures)
    documents, empty_images, empty_sentences = 0, 0, 0
    problems: list[Problem] = []
    try:
        for record in read_records(path) if records is None else records:
            documents += 1
            problems += record.problems
            if record.row is not None:
                problems += check.row(record.row, record.place)
                empty_images += not record.row.images
                empty_sentences += not record.row.sentences
    except CorpusError as error:
        if not documents:
            raise
        problems.append(Problem("what follows", None, str(error)))
    finally:
        check.close()
    notes = [
        f"{number} documents without {what}: they take no part in training"
        for number, what in ((empty_images, "images"), (empty_sentences, "sentences"))
        if number
    ]
    if check.elsewhere:
        notes.append(f"{check.elsewhere} images are named by an address and are not at hand")
    if check.shared:
        notes.append(
            f"{len(check.shared)} pictures of pairs with relations are in two splits, as in the published splits; "
            "`corpus split` or building with --group keeps them together"
        )
    if check.table is None and not FORMATS[check.format].files:
        notes.append(f"no {TABLE_FILE} and {ROWS_FILE} beside it: the images are ids without features")
    return CheckedCorpus(path, check.format, documents, tuple(problems), tuple(notes))


class _Check:
    """What is remembered from document to document."""

    def __init__(self, path: Path, decode_pictures: bool) -> None:
        self.format = format_of(path)
        folder = corpus_folder(path)
        self.pictures = Pictures(folder, files=FORMATS[self.format].files)
        there = (folder / TABLE_FILE).is_file() or (folder / ROWS_FILE).is_file()
        self.table: FeatureTable | None = load_feature_table(folder / TABLE_FILE) if there else None
        self.elsewhere = 0
        self.shared: set[bytes] = set()
        self._decode = decode_pictures
        self._keys = PictureKeys()
        self._seen: set[str] = set()  # sources that were looked at
        self._split_of: dict[bytes, tuple[str, str, bool]] = {}
        self._leaks: set[tuple[bytes, str]] = set()
        self._pool = ThreadPoolExecutor(thread_name_prefix="iconotext-check")

    def close(self) -> None:
        self._pool.shutdown()

    def row(self, row: Row, place: str) -> Iterator[Problem]:
        images = [self._image(source) for source in row.images]
        new: dict[str, int] = {}
        for i, image in enumerate(images):
            if image.source not in self._seen:
                self._seen.add(image.source)
                if image.problem is not None and named_by_address(image.source):
                    self.elsewhere += 1
                else:
                    new[image.source] = i
        found = self._pool.map(self._problem, [images[i] for i in new.values()])
        for i, message in zip(new.values(), found, strict=True):
            if message is not None:
                yield Problem(place, f"images.{i}", message)
        if row.split is not None:
            yield from self._leaking(images, row.split, place, pair=row.relations is not None)

    def _image(self, source: str) -> Image:
        file, problem = self.pictures.find(source)
        return Image(source, file, problem=problem)

    def _problem(self, image: Image) -> str | None:
        """What is wrong with a picture or its features."""
        if image.problem is not None:
            return image.problem
        if image.file is None:
            if self.table is None:
                return None
            try:
                self.table.rows([image.source])
            except CorpusError as error:
                return str(error)
        elif self._decode:
            try:
                decode(image.file, at_least=1)
            except PictureError as error:
                return str(error)
        return None

    def _leaking(self, images: list[Image], split: str, place: str, *, pair: bool) -> Iterator[Problem]:
        for i, image in enumerate(images):
            key = self._keys.of(image)
            first_split, first_place, first_pair = self._split_of.setdefault(key, (split, place, pair))
            if first_split == split:
                continue
            if pair and first_pair:
                self.shared.add(key)
            elif (key, split) not in self._leaks:
                self._leaks.add((key, split))
                message = f"{image.source} is in {split} here and in {first_split} at {first_place}"
                yield Problem(place, f"images.{i}", message)
