"""Encodes every sentence and image of corpora in files into arrays on disk, once for all epochs."""

from __future__ import annotations

import hashlib
import json
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.convert import region_path, table_path
from iconotext.corpus.shards import corpus_files, documents_of, find_shards
from iconotext.corpus.split import Shares, at_least_two
from iconotext.encoders.stored_model import VOCABULARY
from iconotext.errors import CorpusError, TrainingError
from iconotext.features.model_folder import name_and_precision
from iconotext.features.region_files import files_beside
from iconotext.recipe import Recipe
from iconotext.system.files import locked, write_error, write_text
from iconotext.system.object_store import address_of, is_remote
from iconotext.system.strict_json import parse_json
from iconotext.train.arrays import ArrayWriter, OffsetWriter, SpanWriter
from iconotext.train.feature_writers import (
    ImageRows,
    ImageSource,
    Numbers,
    PosteriorWriter,
    WordNumbers,
    caption_backbone,
    count_words,
    image_source,
    image_writer,
    sentence_writer,
)
from iconotext.train.prepared import (
    META,
    SPLITS,
    Prepared,
    open_prepared,
)
from iconotext.train.start import check_concepts, start_vocabulary
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.features.word_vectors import Vocabulary


UNDIVIDED = len(SPLITS)
"""Number of the split of documents that get one only when all of them are known."""


class DocumentWriter:
    """Writes the structure of documents as ``DOCUMENT_ARRAYS``; keeps 9 bytes of each in memory.

    Attributes:
        relations: Numbers, by name, of the coherence relations that people judged, in order of appearance.
    """

    def __init__(self, seed: int, work: Path, stack: ExitStack) -> None:
        self.relations: dict[str, int] = {}
        self._seed, self._work = seed, work
        self._splits, self._ranks = bytearray(), array("Q")  # ranks of the documents without a split
        self._undivided_images = 0
        self._corpora = stack.enter_context(ArrayWriter(work / "corpora", "<u2"))
        self._linked = stack.enter_context(ArrayWriter(work / "linked", "?"))
        self._sentences = stack.enter_context(OffsetWriter(work / "sentence_offsets"))
        self._ids = SpanWriter(work, ("ids", "id_offsets"), "u1", stack)
        self._images = SpanWriter(work, ("image_rows", "image_offsets"), "<i8", stack)
        self._links = SpanWriter(work, ("links", "link_offsets"), "<i4", stack, row=(2,))
        self._judged = SpanWriter(work, ("relations", "relation_offsets"), "<i4", stack, row=(2,))

    def __len__(self) -> int:
        return len(self._splits)

    def append(self, corpus: int, documents: Sequence[tuple[Document, NDArray[np.int64]]]) -> None:
        """Add documents of a corpus, each with the row of each image's features, -1 if the image cannot be used."""
        for document, rows in documents:
            self._splits.append(UNDIVIDED if document.split is None else SPLITS.index(document.split))
            if document.split is None:
                digest = hashlib.sha256(f"{self._seed} {corpus} {document.id}".encode()).digest()
                self._ranks.append(int.from_bytes(digest[:8], "big"))
                self._undivided_images += int((rows >= 0).sum())
        self._corpora.append(np.full(len(documents), corpus))
        self._linked.append(np.array([document.links is not None for document, _ in documents], np.bool_))
        self._sentences.append_spans([len(document.sentences) for document, _ in documents])
        self._ids.append([document.id.encode("utf-8", "surrogatepass") for document, _ in documents])
        self._images.append([rows[rows >= 0].tolist() for _, rows in documents])
        self._links.append([_links(document, rows) for document, rows in documents])
        self._judged.append([self._judgements(document) for document, _ in documents])

    def _judgements(self, document: Document) -> list[tuple[int, int]]:
        judged = [(name, holds) for name, holds in (document.meta.get("relations") or {}).items() if holds is not None]
        return [(self.relations.setdefault(name, len(self.relations)), int(holds)) for name, holds in judged]

    def divide(self, share: float) -> tuple[NDArray[np.uint8], bool]:
        """Write the (D,) splits, with ``share`` of the documents without one for validation, see ``at_least_two``.

        Returns:
            The splits, and whether there are documents without one: those of the lowest ranks validate.
        """
        splits = np.array(self._splits, np.uint8)
        undivided = np.flatnonzero(splits == UNDIVIDED)
        splits[undivided] = SPLITS.index("train")
        count = at_least_two(Shares(share, 0), len(undivided), self._undivided_images).counts(len(undivided))
        order = np.argsort(np.array(self._ranks, np.uint64), kind="stable")
        splits[undivided[order[: count["validation"]]]] = SPLITS.index("validation")
        with ArrayWriter(self._work / "splits", "u1") as writer:
            writer.append(splits)
        return splits, bool(len(undivided))


def _links(document: Document, rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the gold links of a document, with the numbers of images without those left out."""
    places = (np.cumsum(rows >= 0) - 1).tolist()
    return [(sentence, places[image]) for sentence, image in document.links or () if rows[image] >= 0]


CHUNK, WORD_CHUNK = 256, 2**20
"""Documents that are in memory at a time, and words while they are renumbered."""

WAIT = 24 * 3600.0
"""Seconds to wait for another process that prepares the same folder."""

Report = Callable[[str, int], None]
"""A function that is called with the current task and the number of finished documents."""


def no_report(task: str, done: int) -> None:
    """Report nothing."""


def prepare(recipe: Recipe, corpora: Sequence[Path], folder: Path, *, report: Report = no_report) -> Prepared:
    """Encode every sentence and image of corpora, or open the arrays of an earlier run in the folder.

    Arrays of other corpora or features are replaced. Unusable images are left out, and documents without a sentence or
    an image; ``Prepared.meta`` counts them. Documents without a split are divided by ``training.validation``, in the
    same way for the same seed. If several processes prepare the same folder, one does it and the others wait.

    Raises:
        CorpusError: A corpus breaks its format, or there are no documents for training or none for validation.
        FeatureError: A backbone or a table of features is missing or does not fit.
        OutputError: The disk is full, or the folder cannot be written.
    """
    key = prepared_key(recipe, corpora)
    busy = "another process prepares a corpus here; wait for it, or end it"
    with locked(lock_of(folder), busy, TrainingError, wait=WAIT):
        if _key_of(folder, recipe) == key:
            return open_prepared(folder)
        work = folder.with_name(f"{folder.name}.part")
        try:
            if _key_of(work, recipe) != key:  # with this key, an earlier run was killed just before the end
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
                _prepare(recipe, corpora, work, key, report)
            shutil.rmtree(folder, ignore_errors=True)
            work.rename(folder)
        except OSError as error:
            raise write_error(error.filename or work, error) from error
        return open_prepared(folder)


def lock_of(folder: Path) -> Path:
    """Return the lock file that a process holds while it prepares a folder."""
    return folder.with_name(f".{folder.name}.lock")


def _prepare(recipe: Recipe, corpora: Sequence[Path], work: Path, key: str, report: Report) -> None:
    source = image_source(recipe, corpora)
    names = list(source.regions[0].concepts or ()) if source.regions else []
    check_concepts(recipe, names)
    numbers = (start_vocabulary(recipe) or WordNumbers()) if recipe.words else None
    meta = {"concepts": names, **_write_documents(recipe, corpora, work, source, numbers, report)}
    write_text(work / META, json.dumps(meta, indent=1), force=True)  # for ``open_prepared`` in the next lines
    if isinstance(numbers, WordNumbers):
        numbers = _vocabulary(recipe, open_prepared(work), list(numbers.numbers), names)
    if numbers is not None:
        numbers.save(work / VOCABULARY)
    # The key comes last: arrays without it are not complete.
    write_text(work / META, json.dumps({"key": key, **meta}, indent=1), force=True)


def _key_of(folder: Path, recipe: Recipe) -> str | None:
    """Return the key of complete arrays; None also if splits were drawn in another way than the recipe's."""
    try:
        meta = parse_json((folder / META).read_text(encoding="utf-8"))
        return str(meta["key"]) if meta["drawn"] in (None, _drawing(recipe)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _drawing(recipe: Recipe) -> list[float]:
    """Return the settings that decide the splits of documents without one."""
    return [recipe.seed, recipe.training.validation]


def prepared_key(recipe: Recipe, corpora: Sequence[Path]) -> str:
    """Return a key that is equal for recipes that can share the arrays of a folder.

    It depends on the settings of features, on files and their state, and on the vocabulary that is given by the model
    to start from. Splits that are drawn at random are not part of the key, see ``Prepared.meta``.
    """
    for path in corpora:
        if not is_remote(address_of(path)) and not path.exists():
            raise CorpusError(f"{path}: no such file")
    files = list(corpora)
    if recipe.features.image.endswith(".npy"):
        tables = [table_path(recipe.features.image, path) for path in corpora]
        files += [file for table in tables for file in (table, table.with_name("id2row.json"))]
    names = (recipe.features.text, recipe.features.image)
    files += [path for name in names if (path := Path(name_and_precision(name)[0])).is_dir()]
    if recipe.regions:
        paths = [region_path(recipe.features.image, corpus) for corpus in corpora]
        files += [file for place in paths if place for file in (place, *files_beside(place))]
    settings = [_feature_settings(recipe), recipe.words.max_words if recipe.words else None]
    start = start_vocabulary(recipe)
    words = None if start is None else start.words
    return hashlib.sha256(json.dumps([list(map(_state, files)), settings, words]).encode()).hexdigest()


def _feature_settings(recipe: Recipe) -> dict[str, Any]:
    """Return the part of a recipe that decides features, without the vocabulary."""
    return {
        "text": recipe.features.text,
        "image": recipe.features.image,
        "augmentations": recipe.features.augmentations,
        "max_regions": [recipe.regions.max_regions] if recipe.regions else None,
        "max_tokens": recipe.words.max_tokens if recipe.words else None,
        "posterior": bool(recipe.objective.posterior),
    }


def _state(path: Path) -> list[Any]:
    """Return a value that changes when a file, or a file in a folder or a store's folder, changes."""
    if is_remote(address := address_of(path)):
        entries = [entry for shard in find_shards([address]) for entry in (shard.file, *shard.beside)]
        return [[entry.address, entry.size, entry.version] for entry in entries]
    inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in inside if file.exists()]


def _vocabulary(recipe: Recipe, prepared: Prepared, words: Sequence[str], names: Sequence[str]) -> Vocabulary:
    """Make the vocabulary of the training documents, and replace the word numbers in the arrays by its numbers.

    ``words`` are in the order of their present numbers; words in ``names`` of concepts are always included.
    """
    from iconotext.features.word_vectors import most_frequent

    assert recipe.words is not None
    counts = count_words(prepared, prepared.documents("train"), words)
    vocabulary = most_frequent(counts, max_words=recipe.words.max_words, besides=names)
    numbers = np.array(vocabulary.numbers(words), np.int32)
    ids = np.memmap(prepared.folder / "words.bin", "<i4", "r+")
    for start in range(0, len(ids), WORD_CHUNK):
        ids[start : start + WORD_CHUNK] = numbers[ids[start : start + WORD_CHUNK]]
    ids.flush()
    return vocabulary


def _check_enough_documents(corpora: Sequence[Path], train: int, validation: int, *, skipped: int) -> None:
    """Check that there are enough documents: each is compared with another one."""
    if train < 2 or validation < 2:
        raise CorpusError(
            f"{', '.join(map(address_of, corpora))}: training needs two or more documents with sentences and readable "
            f"images to train on and as many to validate on; there are {train} and {validation} ({skipped} without "
            "either were left out); `iconotext corpus check` says what is wrong with documents, `iconotext corpus "
            "split` divides them anew"
        )


def _write_documents(
    recipe: Recipe, corpora: Sequence[Path], work: Path, source: ImageSource, numbers: Numbers | None, report: Report
) -> dict[str, Any]:
    """Write documents and their features as arrays, and return the entries of ``Prepared.meta`` about them.

    Args:
        numbers: Numbers of words, if sentences are words.
    """
    left_out = {"skipped": 0, "images_left_out": 0, "lacking": 0}  # lacking: documents without some of their images
    backbone = caption_backbone(recipe)
    with ExitStack() as stack:
        images = image_writer(recipe, work, stack, source)
        sentences = sentence_writer(recipe, work, numbers, stack, backbone)
        posteriors = PosteriorWriter(recipe, work, stack, backbone)
        written = DocumentWriter(recipe.seed, work, stack)
        rows_of_images = ImageRows(images, stack)
        for number, corpus in enumerate(corpora):
            for chunk in _chunked(documents_in(corpus), CHUNK):
                report("encoding", len(written))
                used = []
                for document, found in zip(chunk, rows_of_images.of(number, chunk), strict=True):
                    rows = np.array([-1 if isinstance(row, str) else row for row in found], np.int64)
                    left_out["images_left_out"] += int((rows < 0).sum())
                    if document.sentences and (rows >= 0).any():
                        used.append((document, rows))
                        left_out["lacking"] += bool((rows < 0).any())
                        posteriors.append(document, rows)
                    else:
                        left_out["skipped"] += 1
                written.append(number, used)
                if used:
                    sentences.append([document for document, _ in used])
    splits, drawn = written.divide(recipe.training.validation)
    train, validation = (int((splits == SPLITS.index(name)).sum()) for name in ("train", "validation"))
    _check_enough_documents(corpora, train, validation, skipped=left_out["skipped"])
    return {
        "arrays": [*images.arrays, *sentences.arrays, *posteriors.arrays],
        "text_features": sentences.dim,
        "image_features": images.dim,
        "backbones": {"text": sentences.name, "image": images.name},
        "relations": list(written.relations),
        "documents": len(written),
        "drawn": _drawing(recipe) if drawn else None,
        **left_out,
    }


def documents_in(corpus: Path) -> Iterator[Document]:
    """Yield the documents of a corpus, or of all shards of a folder, here or in a store."""
    files = corpus_files(corpus)
    for file in files:
        yield from documents_of(file, inside=files != (corpus,))


def _chunked(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """Yield lists of ``size`` documents; the last one may be shorter."""
    remaining = iter(documents)
    while chunk := list(islice(remaining, size)):
        yield chunk
