"""Turns shards of documents into shards of features for training, each a prepared corpus in one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext import __version__
from iconotext.corpus.in_order import Watch, unwatched
from iconotext.errors import SettingError
from iconotext.extras import require
from iconotext.features import check_backbones
from iconotext.features.regions.files import is_region_file
from iconotext.recipe import Recipe
from iconotext.scale.manifest import added_up, sha256_of
from iconotext.scale.run import run_shards
from iconotext.scale.settings import EngineSettings, ShardSettings
from iconotext.scale.stage import LEFT_OUT, Counts, Stage, reason_of
from iconotext.train.arrays import ArrayWriter, files_in, open_array, pack
from iconotext.train.init import with_init
from iconotext.train.prepare import AT_ONCE, chunked, concept_names, feature_settings, write_documents
from iconotext.train.prepare_documents import DocumentTable
from iconotext.train.prepare_images import ImageSource, image_source, image_writer
from iconotext.train.prepare_sentences import OwnWords, PosteriorWriter, caption_backbone, sentence_writer
from iconotext.train.prepared import META
from iconotext.write import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import TextBackbone
    from iconotext.types import Document

OWN_WORDS = "words_of_shard.json"
"""File in a shard whose sentences are words: the words, by their numbers in this shard."""

SUFFIX = "features"
"""Suffix of the files."""


def write_features(
    addresses: Sequence[str],
    output: str,
    recipe: Recipe,
    *,
    settings: ShardSettings | None = None,
    engine: EngineSettings | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Write the features that training by a recipe needs, for each shard; ``train`` takes the folder as a corpus.

    Called again, it makes only what is missing, like ``link_shards``.

    Args:
        addresses: As for ``link_shards``.
        output: Folder for the results, also in a store.
        recipe: Decides which features; recipes that need the same features can share them.
        settings: Folder of pictures, and the share of documents; how results are written is not used.

    Returns:
        As ``link_shards``.

    Raises:
        SettingError: The recipe cannot be trained on shards.
        FeatureError: A backbone cannot be loaded.
        MissingPackageError: What training needs is not installed.
        IconotextError: As for ``link_shards``.
    """
    require("train", "torch", purpose="features for training")
    settings, recipe = settings or ShardSettings(), with_init(recipe)
    check_recipe(recipe)
    check_backbones(recipe.features.text, recipe.features.image)
    manifests, done = run_shards(
        addresses,
        output,
        _setup(recipe, settings),
        lambda digest: Features(output, digest, settings=settings, recipe=recipe),
        engine=engine or EngineSettings(),
        watch=watch,
        label="Computing features",
    )
    return added_up(manifests) | done


def check_recipe(recipe: Recipe) -> None:
    """Raise ``SettingError`` for a recipe that needs more of a corpus than feature shards have."""
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


def _setup(recipe: Recipe, settings: ShardSettings) -> dict[str, Any]:
    """Everything that decides a shard of features, except the input shard."""
    text, images = _sources(recipe)
    names = [source.name for source in (text, images.backbone) if source is not None]
    names += [*(source.name for source in images.regions), *(table.fingerprint for table in images.tables)]
    return {
        "iconotext": __version__,
        "features": feature_settings(recipe),
        "from": names,
        "shards": settings.model_dump(mode="json", exclude={"to", "unlinked"}),
        "without": None if settings.without is None else sha256_of(settings.without),
    }


def _sources(recipe: Recipe) -> tuple[TextBackbone | None, ImageSource]:
    return caption_backbone(recipe), image_source(recipe, [Path()])


@dataclass
class Features(Stage):
    """Stage that writes the features of a shard's documents. See ``Stage``."""

    recipe: Recipe = field(kw_only=True)

    @property
    def suffix(self) -> str:
        """See ``Stage``."""
        return SUFFIX

    @cached_property
    def sources(self) -> tuple[TextBackbone | None, ImageSource]:
        """Loaded when first used, once in each process."""
        return _sources(self.recipe)

    def load(self) -> None:
        """See ``Stage``."""
        _ = self._found
        text, images = self.sources
        if text is not None:  # networks are loaded when the first text or image is encoded
            text.encode(["a"])
        if images.backbone is not None:
            images.backbone.encode([])

    def make(self, name: str, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """See ``Stage``."""
        text, images = self.sources
        table, words = DocumentTable(self.recipe.seed), OwnWords()

        def chunks() -> Iterator[tuple[int, list[Document]]]:
            for chunk in chunked(documents, AT_ONCE):
                yield 0, chunk

        with TemporaryDirectory(prefix="iconotext-") as folder:
            work = Path(folder)
            with ExitStack() as stack:
                meta = write_documents(
                    chunks(),
                    table,
                    image_writer(self.recipe, work, stack, images),
                    sentence_writer(self.recipe, work, words, stack, text),
                    PosteriorWriter(self.recipe, work, stack, text),
                    stack,
                    note=partial(_note, counts),
                )
            table.save(work, None)
            keys = "image_keys"
            with ArrayWriter(work / keys, "<u8") as written:
                written.append(_image_keys(work, meta["arrays"]))
            meta = {"concepts": concept_names(self.recipe, images), **meta, "arrays": [*meta["arrays"], keys]}
            write_text(work / META, json.dumps(meta, indent=1), force=True)
            if self.recipe.words is not None:
                said = json.dumps({"words": list(words.numbers)}, ensure_ascii=False)
                write_text(work / OWN_WORDS, said, force=True)
            pack(work, path)


def _note(counts: Counts, document: Document, places: Sequence[int | str], kept: bool) -> None:
    """Count a document and its images by what happens to them."""
    for image, place in zip(document.images, places, strict=True):
        counts.images["read"] += 1
        if not isinstance(place, str):
            counts.images["usable"] += 1
            continue
        left = "left out" if place == LEFT_OUT else "unreadable"
        counts.images["missing" if image.file is None else left] += 1
        counts.note(f"picture: {reason_of(place)}", f"{document.id}, {image.source}: {place}")
    if kept:
        counts.documents["written"] += 1
        counts.links += len(document.links or ())
        return
    lacks = "without a picture that can be used" if document.sentences else "without a sentence"
    counts.documents[lacks] += 1
    counts.note(f"document: {lacks}", document.id)


def _image_keys(work: Path, arrays: Sequence[str]) -> NDArray[np.uint64]:
    """(U,) digest of the features of each image, to recognise equal images in other shards."""
    files = files_in(work)
    name = "images" if "images" in arrays else "regions"
    features = open_array(files, name)
    ends = open_array(files, "region_offsets") if name == "regions" else np.arange(len(features) + 1)
    digests = (
        hashlib.blake2b(features[begin:end].tobytes(), digest_size=8).digest()
        for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    )
    return np.frombuffer(b"".join(digests), "<u8")
