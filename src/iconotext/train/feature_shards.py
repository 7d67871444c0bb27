"""Training on shards of features, each a prepared corpus in one file, where one for all would be too large."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.corpus.shard_results import SETUP, Manifest, differences
from iconotext.corpus.shards import MANIFESTS
from iconotext.corpus.split import Shares, at_least_two
from iconotext.encoders.stored_model import VOCABULARY
from iconotext.errors import CorpusError, SettingError
from iconotext.features.region_files import is_region_file
from iconotext.features.word_vectors import most_frequent
from iconotext.recipe import Recipe
from iconotext.system.files import write_text
from iconotext.system.object_store import entries, joined, local_files, read_bytes
from iconotext.system.strict_json import parse_json
from iconotext.system.threads import in_threads
from iconotext.train.arrays import ArrayWriter, damaged, files_in, span_counts
from iconotext.train.feature_writers import count_words
from iconotext.train.joined import extracted, joined_parts
from iconotext.train.prepare import (
    Report,
    arrays_in,
    check_enough_documents,
    drawing,
    feature_settings,
    no_report,
    split_rank,
)
from iconotext.train.prepared import (
    DOCUMENT_ARRAYS,
    META,
    SPLITS,
    UNDIVIDED,
    Prepared,
    open_prepared,
    save_documents,
)
from iconotext.train.start import start_vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.word_vectors import Vocabulary

SHARD_WORDS = "words_of_shard.json"
"""File in a shard whose sentences are words: the words, in the order of their numbers in this shard."""


def check_recipe(recipe: Recipe) -> None:
    """Check that a recipe needs no more of a corpus than feature shards have."""
    file = Path(recipe.features.image)
    reason = None
    if recipe.towers or recipe.features.image == "pixels":
        reason = "it looks at the pictures themselves in every step"
    elif (file.suffix == ".npy" or is_region_file(file)) and not file.is_absolute():
        reason = f"give {file}, which is for all shards, with its whole path"
    elif recipe.objective.coherence:
        reason = "objective.coherence needs the rates of relations in the whole corpus"
    elif recipe.similarity.kind == "labelled-pairs":
        reason = 'similarity.kind = "labelled-pairs" draws its documents from the whole corpus'
    elif recipe.words is not None and recipe.words.word_vectors == "word2vec":
        reason = 'text.word_vectors = "word2vec" is trained on the whole corpus; name a file, or minilm'
    if reason is not None:
        raise SettingError(f"the recipe {recipe.name} cannot be trained on shards of features: {reason}")


HELD_OUT = 2_000
"""Largest number of documents for validation, and for testing: those of the lowest ranks. This is enough for their
figures, and the copies must not grow with the corpus."""

SHARDS_AT_ONCE = 32
"""Number of manifests that are read at the same time."""

TRAIN, VALIDATION, TEST = range(len(SPLITS))


class FeatureShard(NamedTuple):
    """A shard of features."""

    address: str
    corpus: int
    sha256: str


class RankedDocument(NamedTuple):
    """A document with its rank, see ``split_rank``; the documents of the lowest ranks are held out."""

    rank: int
    shard: int
    document: int


def is_feature_folder(corpus: Path | str) -> bool:
    """Tell whether a corpus is a folder of feature shards."""
    data = read_bytes(joined(str(corpus), SETUP))
    try:
        setup = {} if data is None else parse_json(data)
    except ValueError:
        return False
    return isinstance(setup, dict) and {"features", "from"} <= setup.keys()


def feature_shards(recipe: Recipe, folders: Sequence[str]) -> tuple[list[FeatureShard], Counter[str]]:
    """Return the shards in folders, in the order of folders and names, and the sum of their manifests' counts."""
    check_recipe(recipe)
    shards: list[FeatureShard] = []
    counted = Counter[str]()
    sources: dict[str, str] = {}
    for number, folder in enumerate(folders):
        data = read_bytes(joined(folder, SETUP)) or b""
        setup = parse_json(data)
        other = list(differences(setup["features"], feature_settings(recipe)))
        if other:
            raise SettingError(
                f"{folder}: its features are not those of the recipe {recipe.name}: {'; '.join(other)}; make others "
                "with `iconotext scale features`"
            )
        sources[json.dumps(setup["from"])] = folder
        # ``begin`` writes the setup with a newline at its end, which is not in the digest of the manifests.
        digest = hashlib.sha256(data.removesuffix(b"\n")).hexdigest()
        addresses = [file.address for file in entries(joined(folder, MANIFESTS))]
        before = len(shards)
        for text in in_threads(read_bytes, addresses, threads=SHARDS_AT_ONCE):
            manifest = Manifest.model_validate_json(text or b"")
            if manifest.setup != digest:
                continue
            counted.update(manifest.documents)
            counted["images"] += manifest.images.get("read", 0) - manifest.images.get("usable", 0)
            if manifest.documents.get("written"):
                shards.append(FeatureShard(joined(folder, manifest.output), number, manifest.sha256))
        if len(shards) == before:
            raise CorpusError(f"{folder}: no finished shard of features with a document is there")
    if len(sources) > 1:
        raise SettingError(f"{', '.join(sources.values())}: their features are not from the same networks")
    return shards, counted


def prepare_shards(recipe: Recipe, folders: Sequence[str], folder: Path, *, report: Report = no_report) -> Prepared:
    """Write the data that training needs besides the shards, or open the data that an earlier run wrote.

    Returns:
        The held-out documents; ``meta`` has the shards, and the number of training documents in each.

    Raises:
        SettingError: The features differ from the recipe's, or the recipe cannot be trained on shards.
        CorpusError: A shard is damaged, or there are no documents for training or none for validation.
        OutputError: The disk is full, or the folder cannot be written.
    """
    start = start_vocabulary(recipe)
    shards, counted = feature_shards(recipe, folders)
    words = [recipe.words.max_words if recipe.words else None, None if start is None else start.words]
    state = json.dumps([[[shard.corpus, shard.address, shard.sha256] for shard in shards], words])
    key = hashlib.sha256(state.encode()).hexdigest()

    def write(work: Path) -> None:
        meta = _prepare(recipe, shards, counted, work, start, report)
        write_text(work / META, json.dumps({"key": key, **meta}, indent=1), force=True)

    return arrays_in(folder, recipe, key, write)


def _prepare(
    recipe: Recipe,
    shards: Sequence[FeatureShard],
    counted: Counter[str],
    work: Path,
    start: Vocabulary | None,
    report: Report,
) -> dict[str, Any]:
    """Write the held-out documents and the vocabulary, and return ``Prepared.meta``."""
    survey = _Survey(recipe, shards, count_words=recipe.words is not None and start is None, report=report)
    total = int(survey.undivided.sum())
    share = at_least_two(Shares(recipe.training.validation, 0), total, survey.undivided_images)
    drawn = survey.lowest[UNDIVIDED][: share.counts(total)["validation"]]
    train = survey.train + survey.undivided - np.bincount([ranked.shard for ranked in drawn], minlength=len(shards))
    validation = sorted([*survey.lowest[VALIDATION], *drawn])
    skipped = sum(n for name, n in counted.items() if name.startswith("without "))
    check_enough_documents([shard.address for shard in shards[:1]], int(train.sum()), len(validation), skipped=skipped)
    vocabulary = None
    if recipe.words is not None:
        most = recipe.words.max_words
        vocabulary = start or most_frequent(survey.words_without(drawn), max_words=most, besides=survey.concepts)
        vocabulary.save(work / VOCABULARY)
    chosen = {VALIDATION: validation, TEST: survey.lowest[TEST]}
    return {
        **_write_held_out(work, shards, chosen, vocabulary),
        "documents": counted["written"],
        "skipped": skipped,
        "images_left_out": counted["images"],
        "lacking": survey.lacking,
        "drawn": drawing(recipe) if total else None,
        "shards": [[shard.address, shard.corpus, int(n)] for shard, n in zip(shards, train, strict=True)],
        "last_drawn": list(drawn[-1]) if drawn else None,
    }


class _Survey:
    """The counts of documents and (``count_words``) words in N shards, and the held-out documents of lowest ranks."""

    def __init__(self, recipe: Recipe, shards: Sequence[FeatureShard], *, count_words: bool, report: Report) -> None:
        self.train, self.undivided = np.zeros((2, len(shards)), np.int64)  # documents for training, without a split
        self.undivided_images = 0  # in documents without a split
        self.lacking = 0  # documents without some of their images
        self.concepts: list[str] = []  # names of the concepts in regions
        self.lowest: dict[int, list[RankedDocument]] = {VALIDATION: [], TEST: [], UNDIVIDED: []}
        self._words = Counter[str]()  # in the documents for training and those without a split
        self._words_of: dict[RankedDocument, Counter[str]] = {}  # in each of ``lowest`` without a split
        for number, shard in enumerate(shards):
            report("looking at shards", int(self.train.sum() + self.undivided.sum()))
            with local_files(shard.address) as (path,):
                part, words = open_prepared(path), _shard_words(path) if count_words else []
            self._add(recipe, number, shard, part)
            if words:
                self._count_words(number, part, words)

    def _add(self, recipe: Recipe, number: int, shard: FeatureShard, part: Prepared) -> None:
        undivided = np.flatnonzero(part.splits == UNDIVIDED)
        self.train[number], self.undivided[number] = (part.splits == TRAIN).sum(), len(undivided)
        self.undivided_images += int(span_counts(part.image_offsets, undivided).sum())
        self.lacking += part.meta["lacking"]
        self.concepts = part.meta["concepts"]
        for split, lowest in self.lowest.items():
            more = ranked_documents(recipe, part, shard.corpus, number, np.flatnonzero(part.splits == split))
            self.lowest[split] = heapq.nsmallest(HELD_OUT, [*lowest, *more])

    def _count_words(self, number: int, part: Prepared, words: Sequence[str]) -> None:
        self._words.update(count_words(part, np.flatnonzero(np.isin(part.splits, (TRAIN, UNDIVIDED))), words))
        new = [ranked for ranked in self.lowest[UNDIVIDED] if ranked.shard == number]
        self._words_of |= {ranked: count_words(part, np.array([ranked.document]), words) for ranked in new}
        self._words_of = {ranked: self._words_of[ranked] for ranked in self.lowest[UNDIVIDED]}

    def words_without(self, drawn: Sequence[RankedDocument]) -> Counter[str]:
        """Return the words of the documents that train: all that were counted, minus those of ``drawn``."""
        words = self._words.copy()
        for ranked in drawn:
            words.subtract(self._words_of[ranked])
        return +words  # the plus drops words that only ``drawn`` have


def ranked_documents(
    recipe: Recipe, part: Prepared, corpus: int, shard: int, documents: NDArray[np.int64]
) -> Iterator[RankedDocument]:
    """Yield the places, with ranks, of the given documents of a shard."""
    for document in documents.tolist():
        yield RankedDocument(split_rank(recipe.seed, corpus, part.ids[document]), shard, document)


def open_shard(address: str, vocabulary: Vocabulary | None) -> Prepared:
    """Open the documents of a shard; a shard in a store is downloaded, and stays on disk while it is in use."""
    with local_files(address) as (path,):
        part = open_prepared(path)
        if part.words is None or vocabulary is None:
            return part
        words = _shard_words(path)
    numbers = np.array(vocabulary.numbers(words), np.int32)
    return replace(part, words=part.words._replace(ids=numbers[part.words.ids]))


def _shard_words(path: Path) -> list[str]:
    with damaged(path):
        words: list[str] = parse_json(files_in(path)(SHARD_WORDS).tobytes())["words"]
        return words


def _write_held_out(
    work: Path, shards: Sequence[FeatureShard], chosen: dict[int, list[RankedDocument]], vocabulary: Vocabulary | None
) -> dict[str, Any]:
    """Copy the held-out documents, and return their part of ``Prepared.meta``.

    Features go to disk shard by shard, since regions of thousands of images would fill the memory.
    """
    split_of = {(shard, document): split for split, documents in chosen.items() for _, shard, document in documents}
    of_shard: dict[int, list[int]] = {}
    for number, document in sorted(split_of):
        of_shard.setdefault(number, []).append(document)
    small: list[Prepared] = []
    splits: list[NDArray[np.uint8]] = []
    writers: dict[str, ArrayWriter] = {}
    with ExitStack() as stack:
        for number, documents in of_shard.items():
            part = extracted(open_shard(shards[number].address, vocabulary), np.array(documents))
            for name, rows in _arrays(part).items():
                if name not in writers:
                    writers[name] = stack.enter_context(ArrayWriter(work / name, rows.dtype.str, rows.shape[1:]))
                writers[name].append(rows)
            small.append(_without_features(part))
            splits.append(np.array([split_of[number, document] for document in documents], np.uint8))
        joint = joined_parts(small, splits=splits, corpora=[shards[number].corpus for number in of_shard])
        for name, spans in (("word_offsets", joint.words), ("region_offsets", joint.regions)):
            if spans is not None:
                writers[name] = stack.enter_context(ArrayWriter(work / name, "<i8"))
                writers[name].append(spans.offsets)
    save_documents(work, joint.ids, {name: getattr(joint, name) for name in DOCUMENT_ARRAYS})
    return {**joint.meta, "arrays": list(writers)}


def _arrays(part: Prepared) -> dict[str, NDArray[Any]]:
    """Return the features of a part, by the names of their arrays."""
    arrays = {name: getattr(part, name) for name in ("sentences", "images", "augmentations", "posteriors")}
    if part.words is not None:
        arrays["words"] = part.words.ids
    if part.regions is not None:
        arrays |= {"regions": part.regions.features, "region_concepts": part.regions.concepts}
    return {name: rows for name, rows in arrays.items() if rows is not None}


def _without_features(part: Prepared) -> Prepared:
    """Return the documents of a part alone; copies of nothing, since views would keep all features in memory."""
    words, regions = part.words, part.regions
    if words is not None:
        words = words._replace(ids=words.ids[:0].copy())
    if regions is not None:
        regions = regions._replace(features=regions.features[:0].copy(), concepts=regions.concepts[:0].copy())
    return replace(part, sentences=None, images=None, augmentations=None, posteriors=None, words=words, regions=regions)
