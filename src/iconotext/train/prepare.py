"""Corpora → features of every sentence and image, in arrays on disk, once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.corpus.feature_files import region_path, table_path
from iconotext.corpus.store import read_corpus
from iconotext.embed.folder import VOCABULARY
from iconotext.errors import CorpusError, OutputError
from iconotext.features.regions.files import files_beside
from iconotext.recipe import Recipe
from iconotext.train.checks import check_concepts
from iconotext.train.folder import locked
from iconotext.train.init import start_vocabulary
from iconotext.train.prepare_documents import DocumentTable
from iconotext.train.prepare_images import ImageRows, image_writer, region_sources
from iconotext.train.prepare_sentences import PosteriorWriter, sentence_writer
from iconotext.train.prepared import META, Prepared, open_prepared
from iconotext.types import Document
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.features.regions import RegionSource
    from iconotext.features.vocabulary import Vocabulary

AT_ONCE = 256
"""Documents that are in memory at a time."""

WAIT = 24 * 3600.0
"""Seconds to wait for another process that prepares the same folder."""

Report = Callable[[str, int], None]
"""Called with what is being done and how many documents are done."""


def prepare(recipe: Recipe, corpora: Sequence[Path], folder: Path, *, report: Report | None = None) -> Prepared:
    """Encode every sentence and image of some corpora, or open what an earlier run left.

    Images that cannot be used are left out, and documents without a sentence or an image; ``Prepared.meta`` counts
    them. Documents without a split are divided by ``training.validation``, the same way for the same seed. Of several
    processes that prepare the same folder one does it, and the others wait.

    Args:
        recipe: Says which features; what else it says does not matter here, apart from seed and validation share.
        folder: Where the arrays go; made if need be. Arrays of other corpora or features are replaced.

    Raises:
        CorpusError: A corpus breaks its format, or has nothing to train on or nothing to validate on.
        FeatureError: A backbone or a table of features is missing or does not fit.
        OutputError: The disk is full, or the folder cannot be written.
    """
    given = start_vocabulary(recipe)
    key = _key(recipe, corpora, given)
    with locked(lock_of(folder), wait=WAIT, what="prepares a corpus"):
        if _key_of(folder, recipe) == key:
            return open_prepared(folder)
        work = folder.with_name(f"{folder.name}.part")
        try:
            if _key_of(work, recipe) != key:  # else an earlier run was stopped just before the end
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
                _prepare(recipe, corpora, work, key, given, report or (lambda what, done: None))
            shutil.rmtree(folder, ignore_errors=True)
            work.rename(folder)
        except OSError as error:
            raise OutputError(f"cannot write {error.filename or work}: {error.strerror or error}") from error
        return open_prepared(folder)


def lock_of(folder: Path) -> Path:
    """The file that a process holds while it prepares a folder."""
    return folder.with_name(f".{folder.name}.lock")


def _prepare(
    recipe: Recipe, corpora: Sequence[Path], work: Path, key: str, given: Vocabulary | None, report: Report
) -> None:
    vocabulary = None
    regions = region_sources(recipe, corpora)
    names = list(regions[0].concepts or ()) if regions else []
    check_concepts(recipe, names)
    if recipe.words:
        vocabulary = given or _vocabulary(recipe.words.max_words, corpora, names, report)
        vocabulary.save(work / VOCABULARY)
    meta = {"concepts": names, **_write(recipe, corpora, work, vocabulary, regions, report)}
    write_text(work / META, json.dumps({"key": key, **meta}, indent=1), force=True)


def prepared_key(recipe: Recipe, corpora: Sequence[Path]) -> str:
    """Equal for recipes that can share the arrays of a folder, unless splits are drawn (see ``Prepared.meta``).

    Raises:
        CorpusError: There is no such corpus.
        FeatureError: The model to start from cannot be read.
    """
    return _key(recipe, corpora, start_vocabulary(recipe))


def _key_of(folder: Path, recipe: Recipe) -> str | None:
    """The key of arrays that are complete; None too where splits were drawn otherwise than the recipe says."""
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        return str(meta["key"]) if meta["drawn"] in (None, _drawing(recipe)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _drawing(recipe: Recipe) -> list[float]:
    """What the splits of documents without one depend on."""
    return [recipe.seed, recipe.training.validation]


def _key(recipe: Recipe, corpora: Sequence[Path], given: Vocabulary | None) -> str:
    """Equal for equal arrays: the settings they depend on, and which files in which state."""
    for path in corpora:
        if not path.exists():
            raise CorpusError(f"{path}: no such file")
    files = list(corpora)
    if recipe.features.image.endswith(".npy"):
        tables = [table_path(recipe.features.image, path) for path in corpora]
        files += [file for table in tables for file in (table, table.with_name("id2row.json"))]
    files += [path for name in (recipe.features.text, recipe.features.image) if (path := Path(name)).is_dir()]
    if recipe.regions:
        named = [region_path(recipe.features.image, corpus) for corpus in corpora]
        files += [file for place in named if place for file in (place, *files_beside(place))]
    words = [recipe.words.max_words, recipe.words.max_tokens] if recipe.words else None
    settings = [
        recipe.features.text,
        recipe.features.image,
        recipe.dual_encoder,
        [recipe.text.kind == "tower", recipe.image.kind == "tower"],
        recipe.features.views,
        [recipe.regions.max_regions] if recipe.regions else None,
        words,
        bool(recipe.objective.posterior),
    ]
    known = None if given is None else given.words
    return hashlib.sha256(json.dumps([list(map(_state, files)), settings, known]).encode()).hexdigest()


def _state(path: Path) -> list[Any]:
    """Another one when a file, or a file in a folder, has changed."""
    inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in inside if file.exists()]


def _vocabulary(most: int, corpora: Sequence[Path], names: Sequence[str], report: Report) -> Vocabulary:
    from iconotext.features.vocabulary import build_vocabulary

    def texts() -> Iterator[str]:
        for done, document in enumerate(chain.from_iterable(map(read_corpus, corpora))):
            if done % AT_ONCE == 0:
                report("counting words", done)
            if document.split in ("train", None):
                yield from (sentence.text for sentence in document.sentences)

    return build_vocabulary(texts(), max_words=most, besides=names)


def _write(
    recipe: Recipe,
    corpora: Sequence[Path],
    work: Path,
    vocabulary: Vocabulary | None,
    regions: Sequence[RegionSource],
    report: Report,
) -> dict[str, Any]:
    """Write all arrays; what ``Prepared.meta`` says of them."""
    documents = DocumentTable(recipe.seed)
    skipped = images_left_out = 0
    with ExitStack() as stack:
        images = image_writer(recipe, corpora, work, stack, regions)
        sentences = sentence_writer(recipe, work, vocabulary, stack)
        rows, posteriors = ImageRows(images, stack), PosteriorWriter(recipe, work, stack)
        for number, path in enumerate(corpora):
            for chunk in _chunks(read_corpus(path), AT_ONCE):
                report("encoding", len(documents))
                texts: list[str] = []
                for document, own in zip(chunk, rows.of(number, chunk), strict=True):
                    images_left_out += int((own < 0).sum())
                    if not document.sentences or not (own >= 0).any():
                        skipped += 1
                        continue
                    documents.append(document, number, own)
                    posteriors.append(document, own)
                    texts += [sentence.text for sentence in document.sentences]
                if texts:
                    sentences.append(texts)
    splits = documents.save(work, recipe.training.validation)
    train, validation = (int((splits == number).sum()) for number in (0, 1))
    if train < 2 or validation < 2:  # a document needs another to be compared with
        raise CorpusError(
            f"{', '.join(map(str, corpora))}: training needs two or more documents with sentences and readable images "
            f"to train on and as many to validate on; there are {train} and {validation} ({skipped} without "
            "either were left out); `iconotext corpus check` says what is wrong with documents, `iconotext corpus "
            "split` divides them anew"
        )
    return {
        "arrays": [*images.arrays, *sentences.arrays, *posteriors.arrays],
        "documents": len(documents),
        "skipped": skipped,
        "drawn": _drawing(recipe) if documents.drawn else None,
        "images_left_out": images_left_out,
        "text_features": sentences.dim,
        "image_features": images.dim,
        "backbones": {"text": sentences.name, "image": images.name},
        "relations": list(documents.relations),
    }


def _chunks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    rest = iter(documents)
    while chunk := list(islice(rest, size)):
        yield chunk
