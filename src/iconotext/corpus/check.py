"""A check of a corpus that reports all problems, not only the first: rows, images, features and splits.

``check_corpus`` does it. Workers read the parts of a corpus and determine where its images are. The main process takes
the parts in order, and finds repeated ids, broken images, and images in two splits. Ids and images are stored as
64-bit hashes; the probability that any two of ten million hashes are equal is 3 in a million.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from iconotext.corpus.image_files import ImageFiles, Whereabouts, content_key
from iconotext.corpus.row import Part, Problem, Split
from iconotext.corpus.store import FORMATS, FormatName, corpus_folder, format_of, images_of, repeated_id
from iconotext.errors import CorpusError, ImageError
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE, FeatureTable, load_feature_table
from iconotext.images import decode
from iconotext.plain_text import counted
from iconotext.system.processes import Watch, in_order, unwatched
from iconotext.system.threads import in_threads


@dataclass(slots=True)
class EarlierDocuments:
    """The documents of corpora that are checked together, such as shards; documents are numbered.

    Attributes:
        documents: For each document its place with the name of its shard, its split, and whether it is a pair.
        of_id: Hash of an id to the first document with it.
        of_picture: Key of an image to the first document with it that has a split.
        leaked: (image key, split) pairs that were reported already.
    """

    documents: list[tuple[str, Split | None, bool]] = field(default_factory=list)
    of_id: dict[int, int] = field(default_factory=dict)
    of_picture: dict[int, int] = field(default_factory=dict)
    leaked: set[tuple[int, Split]] = field(default_factory=set)


LISTED = 100_000  # largest number of problems in the list; more are only counted, to bound memory

FEW = 8
"""With at most this many parts no worker process is started."""

REMEMBERED = 200_000  # number of images whose place a worker remembers, about 30 MB


@dataclass(frozen=True, slots=True)
class CheckedCorpus:
    """The result of a check.

    Attributes:
        format: None if the corpus cannot be read at all.
        problems: In the order of the file, at most ``LISTED``; an image or a leak only at its first occurrence.
        notes: Findings that are not errors but may be mistakes.
        unlisted: Number of further problems.
    """

    path: Path
    format: FormatName | None
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
    earlier: EarlierDocuments | None = None,
) -> CheckedCorpus:
    """Check rows, images, features and splits.

    Rows: types, lengths, ranges, ids. Images: each file is decoded once. Features beside the corpus: each image without
    a file must have a finite row. Splits: no image may be in two of them, by its bytes or, without a file, its id. Two
    findings are notes: images with an address that are not available, and images in two splits whose documents all have
    relations, since the builders of such pairs divide them at random by pair.

    Args:
        decode_images: False only checks that the files exist.
        workers: Number of processes for a large corpus. A script with several must start under
            ``if __name__ == "__main__"``.
        earlier: The documents of shards that were checked before, whose ids and splits count too; it is updated. The
            pictures of a shard must be inside its folder.

    Raises:
        CorpusError: The corpus cannot be read at all.
    """
    name, folder, inside = format_of(path), corpus_folder(path), earlier is not None
    has_table = (folder / TABLE_FILE).is_file() or (folder / ROWS_FILE).is_file()
    table = load_feature_table(folder / TABLE_FILE) if has_table else None
    files, images = FORMATS[name].files, images_of(path, inside=inside)
    place = "" if earlier is None else f"{path.name}, "
    check = _Check(images, folder, table, decode_images, FORMATS[name].has_ids, earlier or EarlierDocuments(), place)
    if (tar := images.tar) is not None:
        wrong = [f"{counted(number, 'member')} refused: {reason}" for reason, number in tar.refused.items()]
        wrong += [tar.problem] if tar.path != path and tar.problem is not None else []
        for message in wrong:
            check.add(Problem(tar.path.name, None, message))
    read = partial(_read, path, inside, decode_images, secrets.token_hex(8))
    parts = (checked_part for _, checked_part in in_order(FORMATS[name].parts(path), read, workers, few=FEW))
    try:
        for _ in watch((None for part in parts for _ in check.part(*part)), total=0, label="Checking"):
            pass
    except CorpusError as error:
        if not check.documents:
            raise
        check.add(Problem("what follows", None, str(error)))
    notes = tuple(check.notes(no_features=table is None and not files))
    return CheckedCorpus(path, name, check.documents, tuple(check.problems), notes, check.unlisted)


def unreadable(path: Path, error: CorpusError) -> CheckedCorpus:
    """Return the result for a corpus that cannot be read at all."""
    return CheckedCorpus(path, None, 0, (Problem("all of it", None, str(error).removeprefix(f"{path}: ")),), ())


class Checked(NamedTuple):
    """The findings about one document on its own.

    Attributes:
        id: None if the document cannot be read.
        digests: For each image the digest of its bytes in the row, 0 if they are not in the row; () if none are.
    """

    place: str
    problems: tuple[Problem, ...]
    id: str | None = None
    split: Split | None = None
    pair: bool = False
    images: tuple[tuple[str, Whereabouts], ...] = ()
    sentences: int = 0
    digests: tuple[int, ...] = ()


def _read(corpus: Path, inside: bool, decode_images: bool, run: str, part: Part) -> tuple[list[Checked], str | None]:
    """Read a part, and determine where its images are; runs in a worker. ``run`` is as for ``_look``.

    Returns its documents, and the reason why the corpus cannot be read any further, None if it can.
    """
    look, documents = _look(corpus, inside, run), []
    try:
        for record in part():
            if (row := record.row) is None:
                documents.append(Checked(record.place, record.problems))
                continue
            files = record.files or (None,) * len(row.images)
            images = tuple(
                (source, look(source) if data is None else Whereabouts.ROW)
                for source, data in zip(row.images, files, strict=True)
            )
            digests = tuple(0 if data is None else _digest(data) for data in record.files)
            about = (row.id, row.split, row.relations is not None, images, len(row.sentences), digests)
            broken = tuple(_broken(record.place, record.files)) if decode_images else ()
            documents.append(Checked(record.place, (*record.problems, *broken), *about))
    except CorpusError as error:
        return documents, str(error)
    return documents, None


@lru_cache(maxsize=1)
def _look(corpus: Path, inside: bool, run: str) -> Callable[[str], Whereabouts]:
    """Return a function that determines where an image is, with a cache for this check.

    ``run`` is part of the key of ``lru_cache``: files may have come and gone since an earlier check in this process.
    """
    return lru_cache(REMEMBERED)(images_of(corpus, inside=inside).whereabouts)


def _digest(data: bytes) -> int:
    return _number(hashlib.sha256(data).digest())


def _number(digest: bytes) -> int:
    """Return the first 64 bits of a digest."""
    return int.from_bytes(digest[:8], "little")


def _broken(place: str, inside: Sequence[bytes | None]) -> Iterator[Problem]:
    for number, data in enumerate(inside):
        if data is not None:
            try:
                decode(data, at_least=1)
            except ImageError as error:
                yield Problem(place, f"images.{number}", str(error))


@dataclass(slots=True)
class _Check:
    files: ImageFiles
    folder: Path
    table: FeatureTable | None
    decode_images: bool
    has_ids: bool
    earlier: EarlierDocuments
    shard: str  # goes before the places of its documents
    documents: int = 0
    problems: list[Problem] = field(default_factory=list)
    unlisted: int = 0
    _no_images: int = 0
    _no_sentences: int = 0
    _elsewhere: int = 0
    _keys: dict[int, int] = field(default_factory=dict)  # by hash of an image's name; equal for images with equal bytes
    _looked_at: set[int] = field(default_factory=set)  # by hash of an image's name
    _shared: set[int] = field(default_factory=set)

    def add(self, problem: Problem) -> None:
        if len(self.problems) < LISTED:
            self.problems.append(problem)
        else:
            self.unlisted += 1

    def part(self, documents: list[Checked], broken: str | None) -> Iterator[None]:
        """Check the next part; yields once per document. ``CorpusError`` if the corpus cannot be read any further."""
        # The order is that in which ``_image`` takes the results below, since both ask ``_must_look``.
        inspections = in_threads(self._inspect, list(self._unseen(documents)))
        for document in documents:
            self.documents += 1
            for problem in document.problems:
                self.add(problem)
            if document.id is not None:
                self._document(document, document.id, inspections)
            yield
        if broken is not None:
            raise CorpusError(broken)

    def _document(self, document: Checked, name: str, inspections: Iterator[tuple[int, str | None]]) -> None:
        row = len(self.earlier.documents)
        self.earlier.documents.append((f"{self.shard}{document.place}", document.split, document.pair))
        self._no_images += not document.images
        self._no_sentences += not document.sentences
        if self.has_ids and (first := self.earlier.of_id.setdefault(hash(name), row)) != row:
            self.add(repeated_id(document.place, name, self.earlier.documents[first][0]))
        for number, (source, where) in enumerate(document.images):
            if document.digests and document.digests[number]:
                self._keys[hash(source)] = document.digests[number]
            elif (problem := self._image(source, where, document.split, inspections)) is not None:
                self.add(Problem(document.place, f"images.{number}", problem))
        if document.split is not None:
            for number, (source, _) in enumerate(document.images):
                if (problem := self._leak(source, document.split, row)) is not None:
                    self.add(Problem(document.place, f"images.{number}", problem))

    def _image(
        self, source: str, where: Whereabouts, split: Split | None, inspections: Iterator[tuple[int, str | None]]
    ) -> str | None:
        """Return the problem of an image, at its first occurrence."""
        name = hash(source)
        is_new = name not in self._keys
        content, problem = 0, None
        if self._must_look(name, where, split):
            content, problem = next(inspections)
            self._looked_at.add(name)
        self._keys[name] = content or self._keys.get(name, name)
        self._elsewhere += is_new and where == Whereabouts.WEB
        return self.files.not_found(source) if is_new and where == Whereabouts.LOST else problem

    def _must_look(self, name: int, where: Whereabouts, split: Split | None) -> bool:
        """Return whether to open an image, or read its features; without decoding, only to compare splits."""
        if name in self._looked_at or where not in (Whereabouts.FILE, Whereabouts.INSIDE, Whereabouts.NO_FILE):
            return False
        return self.table is not None if where == Whereabouts.NO_FILE else self.decode_images or split is not None

    def _unseen(self, documents: list[Checked]) -> Iterator[tuple[str, Whereabouts]]:
        """Yield the images that ``_image`` will need, in the same order."""
        names: set[int] = set()
        for document in documents:
            for source, where in document.images:
                name = hash(source)
                if name not in names and self._must_look(name, where, document.split):
                    names.add(name)
                    yield source, where

    def _inspect(self, image: tuple[str, Whereabouts]) -> tuple[int, str | None]:
        """Return a digest of the bytes of an image (0 if there are none), and its problem."""
        source, where = image
        content = 0
        try:
            if where == Whereabouts.NO_FILE:
                return content, None if self.table is None else self.table.look_up([source])[1][0]
            file = self.folder / source if where == Whereabouts.FILE else self.files.find(source)[0]
            if file is not None:
                content = _digest(file) if isinstance(file, bytes) else _number(content_key(file) or b"")
                if self.decode_images:
                    decode(file, at_least=1)
        except (CorpusError, ImageError) as error:
            return content, str(error)
        return content, None

    def _leak(self, source: str, split: Split, row: int) -> str | None:
        """Return a message if an image of a document is also in another split; once for each further split."""
        key = self._keys[hash(source)]
        earlier, leaked = self.earlier, self.earlier.leaked
        place, first, pair = earlier.documents[earlier.of_picture.setdefault(key, row)]
        if first == split:
            return None
        if pair and earlier.documents[row][2]:
            self._shared.add(key)
            return None
        if (key, split) in leaked:
            return None
        leaked.add((key, split))
        return f"{source} is in {split} here and in {first} at {place}"

    def notes(self, *, no_features: bool) -> Iterator[str]:
        """Yield findings that are not errors but may be mistakes."""
        for number, items in ((self._no_images, "images"), (self._no_sentences, "sentences")):
            if number:
                yield f"{number} documents without {items}: they take no part in training"
        if self._elsewhere:
            yield f"{self._elsewhere} images are named by an address and are not at hand"
        if self._shared:
            yield (
                f"{len(self._shared)} pictures of pairs with relations are in two splits, as where pairs are divided "
                "at random; `iconotext corpus split`, or building with group=True, keeps them together"
            )
        if no_features:
            yield f"no {TABLE_FILE} and {ROWS_FILE} beside it: the images are ids without features"
