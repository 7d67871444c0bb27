"""Features of shards for training, each shard's a prepared corpus in one file: ``write_features``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext import __version__
from iconotext.corpus.shard_results import digest_of_setup
from iconotext.corpus.shards import Counts, ShardSettings
from iconotext.extras import require
from iconotext.features import check_backbones
from iconotext.recipe import Recipe
from iconotext.scale.engine import EngineSettings
from iconotext.scale.run import digest_of_table, run_shards
from iconotext.scale.stage import Stage
from iconotext.system.files import write_text
from iconotext.system.processes import Watch, unwatched
from iconotext.train.arrays import ArrayWriter, files_in, open_array, pack
from iconotext.train.feature_shards import SHARD_WORDS, check_recipe
from iconotext.train.feature_writers import (
    ImageSource,
    WordNumbers,
    caption_backbone,
    image_source,
)
from iconotext.train.prepare import (
    CHUNK,
    DocumentTable,
    chunked,
    concept_names,
    feature_settings,
    write_documents,
)
from iconotext.train.prepared import META
from iconotext.train.start import with_init

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import TextBackbone
    from iconotext.types import Document

IMAGE_KEYS = "image_keys"
"""Array of the digests of images."""


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

    Arguments and result are those of ``link_shards``. Recipes that need the same features can share them.

    Raises:
        SettingError: The recipe cannot be trained on shards.
        FeatureError: A backbone cannot be loaded.
        MissingPackageError: A package for training is not installed.
        IconotextError: As for ``link_shards``.
    """
    require("train", "torch", purpose="features for training")
    settings, recipe = settings or ShardSettings(), with_init(recipe)
    check_recipe(recipe)
    check_backbones(recipe.features.text, recipe.features.image)
    setup, engine = _setup(recipe, settings), engine or EngineSettings()
    stage = Features(output, digest_of_setup(setup), settings=settings, recipe=recipe)
    return run_shards(addresses, stage, setup, engine=engine, watch=watch, label="Computing features")[1]


def _setup(recipe: Recipe, settings: ShardSettings) -> dict[str, Any]:
    """Return all settings and names that decide a shard of features, except the input shard."""
    text, images = caption_backbone(recipe), image_source(recipe, [Path()])
    names = [source.name for source in (text, images.backbone) if source is not None]
    names += [*(source.name for source in images.regions), *(table.fingerprint for table in images.tables)]
    return {
        "iconotext": __version__,
        "features": feature_settings(recipe),
        "from": names,
        "shards": settings.model_dump(mode="json", exclude={"to", "unlinked"}),
        "without": None if settings.without is None else digest_of_table(settings.without),
    }


@dataclass
class Features(Stage):
    """Stage that writes the features of a shard's documents; see ``Stage``."""

    recipe: Recipe = field(kw_only=True)

    @property
    def suffix(self) -> str:
        """See ``Stage``."""
        return "features"

    @cached_property
    def sources(self) -> tuple[TextBackbone | None, ImageSource]:
        """The sources of features, loaded when first used, once in each process."""
        return caption_backbone(self.recipe), image_source(self.recipe, [Path()])

    def load(self) -> None:
        """See ``Stage``."""
        _ = self.pictures
        text, images = self.sources
        if text is not None:  # networks are loaded when the first text or image is encoded
            text.encode(["a"])
        if images.backbone is not None:
            images.backbone.encode([])

    def make(self, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """See ``Stage``."""
        text, images = self.sources
        table, words = DocumentTable(self.recipe.seed), WordNumbers()
        chunks = ((0, chunk) for chunk in chunked(documents, CHUNK))
        with TemporaryDirectory(prefix="iconotext-") as folder:
            work = Path(folder)
            note = partial(_note, counts)
            meta = write_documents(self.recipe, chunks, table, work, images, text, words, note=note)
            table.save(work, None)
            with ArrayWriter(work / IMAGE_KEYS, "<u8") as keys:
                keys.append(_image_keys(work, meta["arrays"]))
            meta = {"concepts": concept_names(self.recipe, images), **meta, "arrays": [*meta["arrays"], IMAGE_KEYS]}
            write_text(work / META, json.dumps(meta, indent=1), force=True)
            if self.recipe.words is not None:
                vocabulary = json.dumps({"words": list(words.numbers)}, ensure_ascii=False)
                write_text(work / SHARD_WORDS, vocabulary, force=True)
            pack(work, path)


def _note(counts: Counts, document: Document, rows: Sequence[int | str], used: bool) -> None:
    """Count a document and its images by whether they are used, and why not."""
    for image, row in zip(document.images, rows, strict=True):
        counts.picture(document.id, image, row if isinstance(row, str) else None)
    if used:
        counts.documents["written"] += 1
        counts.links += len(document.links or ())
        return
    lacks = "without a picture that can be used" if document.sentences else "without a sentence"
    counts.documents[lacks] += 1
    counts.note(f"document: {lacks}", document.id)


def _image_keys(work: Path, arrays: Sequence[str]) -> NDArray[np.uint64]:
    """Return the (U,) digest of the features of each image, to recognise equal images in other shards."""
    files = files_in(work)
    name = "images" if "images" in arrays else "regions"
    features = open_array(files, name)
    ends = open_array(files, "region_offsets") if name == "regions" else np.arange(len(features) + 1)
    digests = (
        hashlib.blake2b(features[begin:end].tobytes(), digest_size=8).digest()
        for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    )
    return np.frombuffer(b"".join(digests), "<u8")
