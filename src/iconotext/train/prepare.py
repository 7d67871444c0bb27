"""Corpora → features of every sentence and image, in arrays on disk, once."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError, FeatureError
from iconotext.recipe import Recipe
from iconotext.train.arrays import ArrayWriter
from iconotext.train.prepared import META, SPLITS, Prepared, open_prepared
from iconotext.types import Document, Image
from iconotext.write import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone, TextBackbone
    from iconotext.features.vocabulary import Vocabulary

AT_ONCE = 256
"""Documents that are in memory at a time."""

Report = Callable[[str, int], None]
"""Told what is being done and how many documents are done."""


def prepare(recipe: Recipe, corpora: Sequence[Path], folder: Path, *, report: Report | None = None) -> Prepared:
    """Encode every sentence and image of some corpora, or open what an earlier run left.

    Images that cannot be used are left out, and documents without a sentence or an image; ``Prepared.meta`` counts
    them. Documents without a split are divided by ``training.validation``, the same way for the same seed.

    Args:
        recipe: Says which features; what else it says does not matter here, apart from seed and validation share.
        corpora: Corpus files.
        folder: Where the arrays go; made if need be. Arrays of other corpora or features are replaced.
        report: Called now and then.

    Raises:
        CorpusError: A corpus breaks its format, or has nothing to train on or nothing to validate on.
        FeatureError: A backbone or a table of features is missing or does not fit.
    """
    key = _key(recipe, corpora)
    if (folder / META).is_file() and json.loads((folder / META).read_text(encoding="utf-8")).get("key") == key:
        return open_prepared(folder)
    work = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    told = report or (lambda what, done: None)
    vocabulary = None
    if recipe.features.text == "words":
        vocabulary = _vocabulary(recipe, corpora, told)
        vocabulary.save(work / "vocabulary.txt")
    meta = _write(recipe, corpora, work, vocabulary, told)
    write_text(work / META, json.dumps({"key": key, **meta}, indent=1), force=True)
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)
    return open_prepared(folder)


def _key(recipe: Recipe, corpora: Sequence[Path]) -> str:
    """Equal for equal arrays: the settings they depend on, and which files in which state."""
    files = []
    for path in corpora:
        if not path.exists():
            raise CorpusError(f"{path}: there is no such corpus")
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            state = file.stat()
            files.append([str(file.resolve()), state.st_size, state.st_mtime_ns])
    words = [recipe.text.max_words, recipe.text.max_tokens] if recipe.features.text == "words" else None
    settings = [recipe.features.text, recipe.features.image, words, recipe.seed, recipe.training.validation]
    return hashlib.sha256(json.dumps([files, settings]).encode()).hexdigest()


def _vocabulary(recipe: Recipe, corpora: Sequence[Path], told: Report) -> Vocabulary:
    from iconotext.features.vocabulary import build_vocabulary

    def texts() -> Iterator[str]:
        for done, document in enumerate(chain.from_iterable(map(read_corpus, corpora))):
            if done % AT_ONCE == 0:
                told("counting words", done)
            if document.split in ("train", None):
                yield from (sentence.text for sentence in document.sentences)

    return build_vocabulary(texts(), max_words=recipe.text.max_words)


@dataclass(slots=True)
class _Counts:
    """What was seen and left out."""

    documents: int = 0
    skipped: int = 0
    images_left_out: int = 0
    splits: list[int] = field(default_factory=list)
    undivided: list[tuple[bytes, int]] = field(default_factory=list)


def _write(
    recipe: Recipe, corpora: Sequence[Path], work: Path, vocabulary: Vocabulary | None, told: Report
) -> dict[str, Any]:
    counts = _Counts()
    with ExitStack() as stack:

        def writer(name: str, dtype: str, row: tuple[int, ...] = ()) -> ArrayWriter:
            return stack.enter_context(ArrayWriter(work / name, dtype, row))

        images = _Images(recipe, corpora, work, stack)
        sentences = _Sentences(recipe, work, vocabulary, stack)
        offsets = {name: writer(name, "<i8") for name in ("sentence_offsets", "image_offsets", "link_offsets")}
        for each in offsets.values():
            each.append(np.zeros(1, np.int64))
        image_rows, links = writer("image_rows", "<i8"), writer("links", "<i4", (2,))
        linked, owners = writer("linked", "?"), writer("corpora", "<u2")
        ids = stack.enter_context((work / "ids.jsonl").open("w", encoding="utf-8"))
        for number, path in enumerate(corpora):
            for chunk in _chunks(read_corpus(path), AT_ONCE):
                told("encoding", counts.documents)
                rows = images.rows(path, chunk)
                kept = []
                for document, row in zip(chunk, rows, strict=True):
                    counts.images_left_out += int((row < 0).sum())
                    if not document.sentences or not (row >= 0).any():
                        counts.skipped += 1
                        continue
                    kept.append(document)
                    ids.write(json.dumps(document.id) + "\n")
                    image_rows.append(row[row >= 0])
                    offsets["image_offsets"].append(np.array([image_rows.rows]))
                    links.append(_links(document, row))
                    offsets["link_offsets"].append(np.array([links.rows]))
                    linked.append(np.array([document.links is not None]))
                    owners.append(np.array([number]))
                    _split(document, number, recipe.seed, counts)
                    counts.documents += 1
                sentences.append(kept)
                lengths = np.array([len(document.sentences) for document in kept], np.int64)
                offsets["sentence_offsets"].append(_ends(sentences.count - int(lengths.sum()), lengths))
        _divide(counts, recipe.training.validation)
        writer("splits", "u1").append(np.array(counts.splits, np.uint8))
    if not counts.documents or 0 not in counts.splits or 1 not in counts.splits:
        raise CorpusError(
            f"{', '.join(map(str, corpora))}: training needs documents with sentences and readable images to train on "
            f"and others to validate on; there are {counts.splits.count(0)} and {counts.splits.count(1)} "
            f"({counts.skipped} without either were left out); `iconotext corpus check` says what is wrong with them"
        )
    return {
        "arrays": [*images.arrays, *sentences.arrays],
        "documents": counts.documents,
        "skipped": counts.skipped,
        "images_left_out": counts.images_left_out,
        "text_features": sentences.dim,
        "image_features": images.dim,
        "backbones": {"text": sentences.name, "image": images.name},
    }


def _ends(first: int, lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of some pieces ends, the first of which begins at ``first``."""
    return first + np.cumsum(lengths, dtype=np.int64)


def _links(document: Document, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """(L, 2) gold links, images counted without those left out."""
    places = np.cumsum(rows >= 0) - 1
    found = [(sentence, places[image]) for sentence, image in document.links or () if rows[image] >= 0]
    return np.array(found, np.int32).reshape(-1, 2)


def _split(document: Document, corpus: int, seed: int, counts: _Counts) -> None:
    if document.split is None:
        chance = hashlib.sha256(f"{seed} {corpus} {document.id}".encode()).digest()[:8]
        counts.undivided.append((chance, len(counts.splits)))
    counts.splits.append(SPLITS.index(document.split or "train"))


def _divide(counts: _Counts, share: float) -> None:
    """Of the documents without a split, a share validates: at least one, if there are two."""
    undivided = sorted(counts.undivided)
    wanted = min(max(round(share * len(undivided)), 1), len(undivided) - 1)
    for _, number in undivided[:wanted] if len(undivided) > 1 else ():
        counts.splits[number] = SPLITS.index("validation")


def _chunks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    chunk: list[Document] = []
    for document in documents:
        chunk.append(document)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Sentences:
    """Writes the sentences of documents, as words or as vectors."""

    def __init__(self, recipe: Recipe, work: Path, vocabulary: Vocabulary | None, stack: ExitStack) -> None:
        self.count = 0
        self.vocabulary = vocabulary
        self.max_tokens = recipe.text.max_tokens
        if vocabulary is not None:
            self.dim, self.name = 0, "words"
            self.arrays = ["words", "word_offsets"]
            self.words = stack.enter_context(ArrayWriter(work / "words", "<i4"))
            self.offsets = stack.enter_context(ArrayWriter(work / "word_offsets", "<i8"))
            self.offsets.append(np.zeros(1, np.int64))
            return
        self.backbone = _text_backbone(recipe)
        self.dim, self.name = self.backbone.dim, self.backbone.name
        self.arrays = ["sentences"]
        self.vectors = stack.enter_context(ArrayWriter(work / "sentences", "<f2", (self.dim,)))

    def append(self, documents: Sequence[Document]) -> None:
        texts = [sentence.text for document in documents for sentence in document.sentences]
        self.count += len(texts)
        if not texts:
            return
        if self.vocabulary is None:
            self.vectors.append(self.backbone.encode(texts))
            return
        ids = [self.vocabulary.ids(text, max_tokens=self.max_tokens) for text in texts]
        self.offsets.append(_ends(self.words.rows, [len(each) for each in ids]))
        self.words.append(np.array(list(chain.from_iterable(ids)), np.int32))


class _Images:
    """Writes each different image once, and says which row it has; -1 for one that cannot be used."""

    def __init__(self, recipe: Recipe, corpora: Sequence[Path], work: Path, stack: ExitStack) -> None:
        self.count = 0
        self.work = work
        self.known = stack.enter_context(closing(sqlite3.connect("")))  # on disk, so that memory does not grow
        self.known.execute("CREATE TABLE images (key TEXT PRIMARY KEY, row INTEGER) WITHOUT ROWID")
        name = recipe.features.image
        self.pixels = name == "pixels"
        self.table = self.backbone = None
        self.arrays: list[str] = [] if self.pixels else ["images"]
        if self.pixels:
            self.dim, self.name = 0, "pixels"
            self.files = stack.enter_context((work / "images.json").open("w", encoding="utf-8"))
            self.files.write("[")
            stack.callback(self.files.write, "]")
            return
        if name.endswith(".npy"):
            from iconotext.corpus.feature_table import load_feature_table

            self.table = load_feature_table(table_path(name, corpora))
            self.dim, self.name = self.table.dim, self.table.fingerprint
        else:
            self.backbone = _image_backbone(recipe)
            self.dim, self.name = self.backbone.dim, self.backbone.name
        self.vectors = stack.enter_context(ArrayWriter(work / "images", "<f2", (self.dim,)))

    def rows(self, corpus: Path, documents: Sequence[Document]) -> list[NDArray[np.int64]]:
        """For each document the (images,) rows."""
        keys = [[self._key(corpus, image) for image in document.images] for document in documents]
        new: dict[str, Image] = {}
        for document, own in zip(documents, keys, strict=True):
            for image, key in zip(document.images, own, strict=True):
                if key not in new and self._find(key) is None:
                    new[key] = image
        self._add(new)
        return [np.array([self._find(key) for key in own], np.int64) for own in keys]

    def _key(self, corpus: Path, image: Image) -> str:
        if self.table is not None:
            return str(image.source)
        return str(image.file) if isinstance(image.file, Path) else f"{corpus}\n{image.source}"

    def _find(self, key: str) -> int | None:
        found = self.known.execute("SELECT row FROM images WHERE key = ?", (key,)).fetchone()
        return None if found is None else int(found[0])

    def _add(self, new: dict[str, Image]) -> None:
        keys = list(new)
        if self.table is not None:
            good = [True] * len(keys)
            self.vectors.append(self.table.rows(keys))
        elif self.backbone is not None:
            usable = {key: file for key in keys if (file := new[key].file) is not None and new[key].problem is None}
            features = self.backbone.encode(list(usable.values()))
            fine = dict(zip(usable, (problem is None for problem in features.problems), strict=True))
            good = [fine.get(key, False) for key in keys]
            self.vectors.append(features.pooled[[problem is None for problem in features.problems]])
        else:
            good = [_decodes(new[key].file) for key in keys]
            for key, fine_one in zip(keys, good, strict=True):
                if fine_one:
                    self.files.write((",\n" if self.files.tell() > 1 else "") + json.dumps(key))
        rows = np.where(good, self.count + np.cumsum(good) - 1, -1)
        self.known.executemany("INSERT INTO images VALUES (?, ?)", zip(keys, rows.tolist(), strict=True))
        self.count += sum(good)


def table_path(name: str, corpora: Sequence[Path]) -> Path:
    """Where a recipe's table of image features lies: as named, else beside the first corpus that has it.

    Raises:
        FeatureError: It lies nowhere there.
    """
    places = [Path(name), *((path if path.is_dir() else path.parent) / name for path in corpora)]
    for place in places:
        if place.is_file():
            return place
    raise FeatureError(f"{name}: the recipe's table of image features is neither here nor beside a corpus")


def _decodes(file: Path | bytes | None) -> bool:
    from iconotext.errors import PictureError
    from iconotext.read.images import decode

    if not isinstance(file, Path):
        return False
    try:
        decode(file)
    except PictureError:
        return False
    return True


def _text_backbone(recipe: Recipe) -> TextBackbone:
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    return cached_text(load_text_backbone(recipe.features.text), FeatureCache())


def _image_backbone(recipe: Recipe) -> ImageBackbone:
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    return cached_image(load_image_backbone(recipe.features.image), FeatureCache())
