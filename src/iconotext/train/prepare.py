"""Encodes every sentence and image of corpora in files into arrays on disk, once for all epochs."""

from __future__ import annotations

import hashlib
import json
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.convert import region_path, table_path
from iconotext.corpus.split import Shares, at_least_two
from iconotext.corpus.store import read_corpus
from iconotext.encoders.stored_model import VOCABULARY
from iconotext.errors import CorpusError, TrainingError
from iconotext.features.model_folder import name_and_precision
from iconotext.features.region_files import files_beside
from iconotext.recipe import Recipe
from iconotext.system.files import locked, write_error, write_text
from iconotext.system.strict_json import parse_json
from iconotext.train.arrays import offsets_of
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
    UNDIVIDED,
    Prepared,
    open_prepared,
    save_documents,
)
from iconotext.train.start import check_concepts, start_vocabulary
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.features.backbone import TextBackbone
    from iconotext.features.word_vectors import Vocabulary


class _Ragged:
    """Lists of integers, one list for each document, eight bytes an integer."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.ends = array("q", [0])

    def append(self, numbers: Iterable[int]) -> None:
        self.numbers.extend(numbers)
        self.ends.append(len(self.numbers))

    def arrays(self, dtype: str, width: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return (documents + 1,) offsets, where the rows of each document begin, and (rows, width) all rows."""
        numbers = np.array(self.numbers, dtype)
        return np.array(self.ends, np.int64) // width, numbers if width == 1 else numbers.reshape(-1, width)


def split_rank(seed: int, corpus: int, name: str) -> int:
    """Return the pseudo-random rank of a document without a split; the lowest ranks become validation documents."""
    return int.from_bytes(hashlib.sha256(f"{seed} {corpus} {name}".encode()).digest()[:8], "big")


class DocumentTable:
    """A table of documents, in the order in which they are appended.

    Args:
        seed: Seed of ``split_rank``, which divides documents without a split.

    Attributes:
        relations: Numbers, by name, of the coherence relations that people judged, in order of appearance.
        drawn: ``split_rank`` of each document without a split, by the document's number.
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
        """Add a document; ``rows``: (images,) row of each image's features, -1 if the image cannot be used."""
        if document.split is None:
            self.drawn[len(self)] = split_rank(self._seed, corpus, document.id)
        self._ids.append(document.id)
        self._splits.append(UNDIVIDED if document.split is None else SPLITS.index(document.split))
        self._corpora.append(corpus)
        self._sentences.append(len(document.sentences))
        self._images.append(rows[rows >= 0].tolist())
        self._linked.append(document.links is not None)
        places = (np.cumsum(rows >= 0) - 1).tolist()  # numbers of images without those left out
        pairs = [(sentence, places[image]) for sentence, image in document.links or () if rows[image] >= 0]
        self._links.append(chain.from_iterable(pairs))
        judged = [(name, holds) for name, holds in (document.meta.get("relations") or {}).items() if holds is not None]
        numbered = [(self.relations.setdefault(name, len(self.relations)), int(holds)) for name, holds in judged]
        self._judged.append(chain.from_iterable(numbered))

    def save(self, folder: Path, share: float | None) -> NDArray[np.uint8]:
        """Write all documents, and return their (D,) splits; without ``share``, some documents stay ``UNDIVIDED``."""
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
        save_documents(folder, self._ids, arrays)
        return splits

    def _divided(self, share: float) -> NDArray[np.uint8]:
        """Return (D,) splits; ``share`` of the documents without one are for validation, see ``at_least_two``."""
        splits = np.array(self._splits, np.uint8)
        splits[splits == UNDIVIDED] = SPLITS.index("train")
        undivided = np.array(list(self.drawn), np.int64)
        chances = np.array(list(self.drawn.values()), np.uint64)
        images = int(np.diff(np.array(self._images.ends, np.int64))[undivided].sum())
        count = at_least_two(Shares(share, 0), len(undivided), images).counts(len(undivided))["validation"]
        splits[undivided[np.argsort(chances, kind="stable")[:count]]] = SPLITS.index("validation")
        return splits


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
    return arrays_in(folder, recipe, key, lambda work: _prepare(recipe, corpora, work, key, report))


def arrays_in(folder: Path, recipe: Recipe, key: str, write: Callable[[Path], None]) -> Prepared:
    """Open the arrays in a folder if they are complete and have this key; else let ``write`` make them, atomically."""
    busy = "another process prepares a corpus here; wait for it, or end it"
    with locked(lock_of(folder), busy, TrainingError, wait=WAIT):
        if _key_of(folder, recipe) == key:
            return open_prepared(folder)
        work = folder.with_name(f"{folder.name}.part")
        try:
            if _key_of(work, recipe) != key:  # with this key, an earlier run was killed just before the end
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
                write(work)
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
    names = concept_names(recipe, source)
    numbers = (start_vocabulary(recipe) or WordNumbers()) if recipe.words else None
    table = DocumentTable(recipe.seed)
    left_out = {"skipped": 0, "images_left_out": 0}

    def note(document: Document, rows: Sequence[int | str], used: bool) -> None:
        left_out["skipped"] += not used
        left_out["images_left_out"] += sum(isinstance(row, str) for row in rows)

    def chunks() -> Iterator[tuple[int, list[Document]]]:
        for number, path in enumerate(corpora):
            for chunk in chunked(read_corpus(path), CHUNK):
                report("encoding", len(table))
                yield number, chunk

    feature_meta = write_documents(recipe, chunks(), table, work, source, caption_backbone(recipe), numbers, note=note)
    splits = table.save(work, recipe.training.validation)
    train, validation = (int((splits == SPLITS.index(name)).sum()) for name in ("train", "validation"))
    check_enough_documents(corpora, train, validation, skipped=left_out["skipped"])
    drawn = drawing(recipe) if table.drawn else None
    meta = {"concepts": names, **feature_meta, "documents": len(table), "drawn": drawn, **left_out}
    write_text(work / META, json.dumps(meta, indent=1), force=True)  # for ``open_prepared`` in the next lines
    if isinstance(numbers, WordNumbers):
        numbers = _vocabulary(recipe, open_prepared(work), list(numbers.numbers), names)
    if numbers is not None:
        numbers.save(work / VOCABULARY)
    # The key comes last: arrays without it are not complete.
    write_text(work / META, json.dumps({"key": key, **meta}, indent=1), force=True)


def concept_names(recipe: Recipe, source: ImageSource) -> list[str]:
    """Return the names of the concepts in regions."""
    names = list(source.regions[0].concepts or ()) if source.regions else []
    check_concepts(recipe, names)
    return names


def _key_of(folder: Path, recipe: Recipe) -> str | None:
    """Return the key of complete arrays; None also if splits were drawn in another way than the recipe's."""
    try:
        meta = parse_json((folder / META).read_text(encoding="utf-8"))
        return str(meta["key"]) if meta["drawn"] in (None, drawing(recipe)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def drawing(recipe: Recipe) -> list[float]:
    """Return the settings that decide the splits of documents without one."""
    return [recipe.seed, recipe.training.validation]


def prepared_key(recipe: Recipe, corpora: Sequence[Path]) -> str:
    """Return a key that is equal for recipes that can share the arrays of a folder.

    It depends on the settings of features, on files and their state, and on the vocabulary that is given by the model
    to start from. Splits that are drawn at random are not part of the key, see ``Prepared.meta``.
    """
    for path in corpora:
        if not path.exists():
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
    settings = [feature_settings(recipe), recipe.words.max_words if recipe.words else None]
    start = start_vocabulary(recipe)
    words = None if start is None else start.words
    return hashlib.sha256(json.dumps([list(map(_state, files)), settings, words]).encode()).hexdigest()


def feature_settings(recipe: Recipe) -> dict[str, Any]:
    """Return the part of a recipe that decides features, without the vocabulary."""
    return {
        "text": recipe.features.text,
        "image": recipe.features.image,
        "dual_encoder": recipe.dual_encoder,
        "towers": [recipe.text.kind == "tower", recipe.image.kind == "tower"],
        "augmentations": recipe.features.augmentations,
        "max_regions": [recipe.regions.max_regions] if recipe.regions else None,
        "max_tokens": recipe.words.max_tokens if recipe.words else None,
        "posterior": bool(recipe.objective.posterior),
    }


def _state(path: Path) -> list[Any]:
    """Return a value that changes when a file, or a file in a folder, changes."""
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


def check_enough_documents(corpora: Sequence[Path | str], train: int, validation: int, *, skipped: int) -> None:
    """Check that there are enough documents: each is compared with another one."""
    if train < 2 or validation < 2:
        raise CorpusError(
            f"{', '.join(map(str, corpora))}: training needs two or more documents with sentences and readable images "
            f"to train on and as many to validate on; there are {train} and {validation} ({skipped} without "
            "either were left out); `iconotext corpus check` says what is wrong with documents, `iconotext corpus "
            "split` divides them anew"
        )


def write_documents(
    recipe: Recipe,
    chunks: Iterable[tuple[int, Sequence[Document]]],
    table: DocumentTable,
    work: Path,
    source: ImageSource,
    backbone: TextBackbone | None,
    numbers: Numbers | None,
    *,
    note: Callable[[Document, Sequence[int | str], bool], None],
) -> dict[str, Any]:
    """Write the features of documents as arrays, and return the entries of ``Prepared.meta`` about features.

    Args:
        chunks: Pairs of the number of a corpus and a list of its documents.
        table: Gets the documents with at least one sentence and one usable image.
        backbone: See ``caption_backbone``.
        numbers: Numbers of words, if sentences are words.
        note: Called for each document with the rows of its images (or the reason why one is unusable), and whether the
            document is used.
    """
    lacking = 0
    with ExitStack() as stack:
        images = image_writer(recipe, work, stack, source)
        sentences = sentence_writer(recipe, work, numbers, stack, backbone)
        posteriors = PosteriorWriter(recipe, work, stack, backbone)
        rows = ImageRows(images, stack)
        for number, chunk in chunks:
            texts: list[str] = []
            for document, document_rows in zip(chunk, rows.of(number, chunk), strict=True):
                own_rows = np.array([-1 if isinstance(row, str) else row for row in document_rows], np.int64)
                used = bool(document.sentences) and bool((own_rows >= 0).any())
                note(document, document_rows, used)
                if used:
                    lacking += bool((own_rows < 0).any())
                    table.append(document, number, own_rows)
                    posteriors.append(document, own_rows)
                    texts += [sentence.text for sentence in document.sentences]
            if texts:
                sentences.append(texts)
    return {
        "arrays": [*images.arrays, *sentences.arrays, *posteriors.arrays],
        "text_features": sentences.dim,
        "image_features": images.dim,
        "backbones": {"text": sentences.name, "image": images.name},
        "relations": list(table.relations),
        "lacking": lacking,  # documents without some of their images
    }


def chunked(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """Yield lists of ``size`` documents; the last one may be shorter."""
    remaining = iter(documents)
    while chunk := list(islice(remaining, size)):
        yield chunk
