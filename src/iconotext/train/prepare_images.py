"""The images of a corpus → features, or regions, in arrays on disk, or files for a network that is trained along."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.feature_files import region_path, table_path
from iconotext.errors import FeatureError, ImageError
from iconotext.features.model_folder import folder_of_model, revised_name
from iconotext.features.regions import RegionSource, strongest
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import TowerSettings
from iconotext.train.arrays import ArrayWriter
from iconotext.train.prepared import FILES
from iconotext.types import Document, Image
from iconotext.write import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.feature_table import FeatureTable

IMAGES = 256
"""Images whose regions are in memory together."""

VIEWS_AT_ONCE = 64
"""Views in memory, as encoded pictures."""


class ImageWriter(ABC):
    """Writes images.

    Attributes:
        arrays: Names of what it writes.
        dim: Length of a row, 0 for pixels.
        name: Of the image backbone or the source of regions, ``pixels``, or the fingerprint of a table.
    """

    arrays: tuple[str, ...]
    dim: int
    name: str

    def key(self, corpus: int, image: Image) -> str:
        """Equal for images of which one is enough: those of one file, or where there is none, of one address."""
        return str(image.file.absolute()) if isinstance(image.file, Path) else f"{corpus}\n{image.source}"

    @abstractmethod
    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[bool]:
        """Write images by their keys; which of them can be used, and so have the next row."""


def image_writer(
    recipe: Recipe, corpora: Sequence[Path], work: Path, stack: ExitStack, regions: Sequence[RegionSource] = ()
) -> ImageWriter:
    """What writes the images as the recipe reads them.

    Args:
        corpora: Corpus files; beside them may lie tables of features.
        regions: For each corpus where its regions come from; none where no regions are read.
    """
    source = recipe.features.image
    if source == "pixels":
        return FileWriter("pixels", work, stack)
    if isinstance(recipe.image, TowerSettings):
        return FileWriter(revised_name(source, folder_of_model(source)), work, stack)
    if regions:
        most = recipe.regions.max_regions if recipe.regions else None
        return RegionWriter(regions, most, work, stack)
    if source.endswith(".npy"):
        return TableWriter(_tables(source, corpora), work, stack)
    return BackboneWriter(recipe, work, stack)


class ImageRows:
    """Gives each different image a row, the first time that it is seen.

    Which rows there are stands in a database on disk, so that memory does not grow with the images.
    """

    def __init__(self, writer: ImageWriter, stack: ExitStack) -> None:
        self._writer = writer
        self._known = stack.enter_context(closing(sqlite3.connect("")))
        self._known.execute("CREATE TABLE images (key TEXT PRIMARY KEY, row INTEGER) WITHOUT ROWID")
        self._count = 0

    def of(self, corpus: int, documents: Sequence[Document]) -> list[NDArray[np.int64]]:
        """For each document of a corpus the (images,) rows; -1 for an image that cannot be used."""
        keys = [[self._writer.key(corpus, image) for image in document.images] for document in documents]
        new: dict[str, Image] = {}
        for document, own in zip(documents, keys, strict=True):
            for image, key in zip(document.images, own, strict=True):
                if key not in new and self._find(key) is None:
                    new[key] = image
        good = self._writer.add(corpus, new)
        rows = np.where(good, self._count + np.cumsum(good) - 1, -1)
        self._known.executemany("INSERT INTO images VALUES (?, ?)", zip(new, rows.tolist(), strict=True))
        self._count += sum(good)
        return [np.array([self._find(key) for key in own], np.int64) for own in keys]

    def _find(self, key: str) -> int | None:
        found = self._known.execute("SELECT row FROM images WHERE key = ?", (key,)).fetchone()
        return None if found is None else int(found[0])


class FileWriter(ImageWriter):
    """Writes where pictures are that can be decoded; see ``ImageWriter``."""

    arrays: tuple[str, ...] = ()
    dim = 0

    def __init__(self, name: str, work: Path, stack: ExitStack) -> None:
        self.name = name
        self._files: list[str] = []
        stack.callback(lambda: write_text(work / FILES, json.dumps(self._files), force=True))

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[bool]:
        """See ``ImageWriter``."""
        good = [not image.problem and _decodes(image.file) for image in images.values()]
        self._files += [key for key, fine in zip(images, good, strict=True) if fine]
        return good


class TableWriter(ImageWriter):
    """Writes what tables of features have; see ``ImageWriter``."""

    arrays: tuple[str, ...] = ("images",)

    def __init__(self, tables: Sequence[FeatureTable], work: Path, stack: ExitStack) -> None:
        self._tables = tables
        self.dim = tables[0].dim
        self.name = "+".join(dict.fromkeys(table.fingerprint for table in tables))
        self._vectors = stack.enter_context(ArrayWriter(work / "images", "<f2", (self.dim,)))

    def key(self, corpus: int, image: Image) -> str:
        """See ``ImageWriter``."""
        return f"{self._tables[corpus].path}\n{image.source}"

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[bool]:
        """See ``ImageWriter``."""
        self._vectors.append(self._tables[corpus].rows([image.source for image in images.values()]))
        return [True] * len(images)


class RegionWriter(ImageWriter):
    """Writes the strongest regions of images; see ``ImageWriter``."""

    arrays: tuple[str, ...] = ("regions", "region_concepts", "region_offsets")

    def __init__(self, sources: Sequence[RegionSource], most: int | None, work: Path, stack: ExitStack) -> None:
        self._sources, self._most = sources, most
        self.dim = sources[0].dim
        self.name = "+".join(dict.fromkeys(source.name for source in sources))
        self._vectors = stack.enter_context(ArrayWriter(work / "regions", "<f2", (self.dim,)))
        self._concepts = stack.enter_context(ArrayWriter(work / "region_concepts", "<i4"))
        self._offsets = stack.enter_context(ArrayWriter(work / "region_offsets", "<i8"))
        self._offsets.append(np.zeros(1, np.int64))

    def key(self, corpus: int, image: Image) -> str:
        """See ``ImageWriter``."""
        one = len(set(map(id, self._sources))) == 1
        return super().key(corpus, image) if one else f"{corpus}\n{image.source}"

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[bool]:
        """See ``ImageWriter``."""
        every = list(images.values())
        good: list[bool] = []
        for at in range(0, len(every), IMAGES):
            for found in self._sources[corpus].regions(every[at : at + IMAGES]):
                good.append(not isinstance(found, str))
                if not isinstance(found, str):
                    regions = strongest(found, self._most)
                    self._vectors.append(regions.features)
                    self._concepts.append(regions.concepts)
                    self._offsets.append(np.array([self._vectors.rows]))
        return good


class BackboneWriter(ImageWriter):
    """Writes the features of an image backbone, and those of further views; see ``ImageWriter``."""

    def __init__(self, recipe: Recipe, work: Path, stack: ExitStack) -> None:
        from iconotext.features import FeatureCache, cached_image, load_dual_encoder, load_image_backbone

        name = recipe.features.image
        backbone = load_dual_encoder(name).image if recipe.dual_encoder else load_image_backbone(name)
        self._backbone = cached_image(backbone, FeatureCache())
        self.dim, self.name = backbone.dim, backbone.name
        self._vectors = stack.enter_context(ArrayWriter(work / "images", "<f2", (self.dim,)))
        self._count = recipe.features.views
        self.arrays: tuple[str, ...] = ("images", "views") if self._count else ("images",)
        if self._count:
            self._views = stack.enter_context(ArrayWriter(work / "views", "<f2", (self._count, self.dim)))

    def add(self, corpus: int, images: Mapping[str, Image]) -> Sequence[bool]:
        """See ``ImageWriter``."""
        usable = {key: image.file for key, image in images.items() if image.file and not image.problem}
        features = self._backbone.encode(list(usable.values()))
        seen = [problem is None for problem in features.problems]
        self._vectors.append(features.pooled[seen])
        if self._count:
            self._views.append(self._encoded_views([f for f, fine in zip(usable.values(), seen, strict=True) if fine]))
        fine = dict(zip(usable, seen, strict=True))
        return [fine.get(key, False) for key in images]

    def _encoded_views(self, files: Sequence[Path | bytes]) -> NDArray[np.float32]:
        """(files, views, features) of pictures that can be read."""
        from iconotext.train.views import view

        encoded = np.zeros((len(files), self._count, self.dim), np.float32)
        for number in range(self._count):
            for at in range(0, len(files), VIEWS_AT_ONCE):
                some = [view(file, number) for file in files[at : at + VIEWS_AT_ONCE]]
                encoded[at : at + len(some), number] = self._backbone.encode(some).pooled
        return encoded


def _decodes(file: Path | bytes | None) -> bool:
    from iconotext.images import decode

    if not isinstance(file, Path):
        return False
    try:
        decode(file)
    except ImageError:
        return False
    return True


def region_sources(recipe: Recipe, corpora: Sequence[Path]) -> list[RegionSource]:
    """For each corpus where its regions come from, which may be the same; none where no regions are read.

    Raises:
        FeatureError: One cannot be loaded, or they have features of different lengths, or name different concepts.
    """
    from iconotext.features import FeatureCache, load_regions

    if recipe.regions is None:
        return []
    names = [str(region_path(recipe.features.image, corpus) or recipe.features.image) for corpus in corpora]
    cache = FeatureCache()
    loaded = {name: load_regions(name, cache=cache) for name in dict.fromkeys(names)}
    if len({(source.dim, source.concepts) for source in loaded.values()}) > 1:
        raise FeatureError(f"{', '.join(loaded)}: features of different lengths, or different names of concepts")
    return [loaded[name] for name in names]


def _tables(name: str, corpora: Sequence[Path]) -> list[FeatureTable]:
    """The table of each corpus; ``FeatureError`` where one is missing, or they have rows of different lengths."""
    from iconotext.features.feature_table import load_feature_table

    paths = [table_path(name, corpus) for corpus in corpora]
    loaded = {path: load_feature_table(path) for path in dict.fromkeys(paths)}
    dims = {table.dim for table in loaded.values()}
    if len(dims) > 1:
        raise FeatureError(f"{', '.join(map(str, loaded))}: rows of different lengths, {', '.join(map(str, dims))}")
    return [loaded[path] for path in paths]
