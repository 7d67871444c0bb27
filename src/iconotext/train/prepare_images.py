"""The images of a corpus → features, or regions, in arrays on disk, or files for a network that is trained along."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.regions import strongest
from iconotext.features.regions.files import is_region_file
from iconotext.recipe import Recipe
from iconotext.train.arrays import ArrayWriter
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone, Picture
    from iconotext.features.feature_table import FeatureTable
    from iconotext.features.regions import RegionSource


class ImageWriter:
    """Writes each different image once, and says which row it has.

    Args:
        recipe: Names the features.
        corpora: Corpus files; beside them may lie tables of features.
        work: Folder of the arrays.
        stack: Closes what is open.

    Attributes:
        arrays: Names of what it writes.
        dim: Length of a row, 0 for pixels.
        name: Of the image backbone or the source of regions, ``pixels``, or the fingerprint of a table.
    """

    def __init__(
        self,
        recipe: Recipe,
        corpora: Sequence[Path],
        work: Path,
        stack: ExitStack,
        regions: Sequence[RegionSource] = (),
    ) -> None:
        self._count = 0
        self._known = stack.enter_context(closing(sqlite3.connect("")))  # on disk, so that memory does not grow
        self._known.execute("CREATE TABLE images (key TEXT PRIMARY KEY, row INTEGER) WITHOUT ROWID")
        self._tables: list[FeatureTable] = []
        self._backbone: ImageBackbone | None = None
        self._regions, self._max_regions = regions, recipe.regions.max_regions if recipe.regions else None
        self._corpora = corpora
        name = recipe.features.image
        if name == "pixels":
            self.dim, self.name, self.arrays = 0, "pixels", list[str]()
            self._files = stack.enter_context((work / "images.json").open("w", encoding="utf-8"))
            self._files.write("[")
            stack.callback(self._files.write, "]")
            return
        if regions:
            self.dim = regions[0].dim
            self.name = "+".join(dict.fromkeys(source.name for source in regions))
            self.arrays = ["regions", "region_concepts", "region_offsets"]
            self._vectors = stack.enter_context(ArrayWriter(work / "regions", "<f2", (self.dim,)))
            self._concepts = stack.enter_context(ArrayWriter(work / "region_concepts", "<i4"))
            self._offsets = stack.enter_context(ArrayWriter(work / "region_offsets", "<i8"))
            self._offsets.append(np.zeros(1, np.int64))
            return
        if name.endswith(".npy"):
            self._tables = _tables(name, corpora)
            self.dim = self._tables[0].dim
            self.name = "+".join(dict.fromkeys(table.fingerprint for table in self._tables))
        else:
            self._backbone = _backbone(recipe)
            self.dim, self.name = self._backbone.dim, self._backbone.name
        self.arrays = ["images"]
        self._vectors = stack.enter_context(ArrayWriter(work / "images", "<f2", (self.dim,)))
        self._views = recipe.features.views
        if self._views:
            self.arrays.append("views")
            self._view_vectors = stack.enter_context(ArrayWriter(work / "views", "<f2", (self._views, self.dim)))

    def rows(self, corpus: int, documents: Sequence[Document]) -> list[NDArray[np.int64]]:
        """For each document of a corpus the (images,) rows; -1 for an image that cannot be used."""
        keys = [[self._key(corpus, image) for image in document.images] for document in documents]
        new: dict[str, Image] = {}
        for document, own in zip(documents, keys, strict=True):
            for image, key in zip(document.images, own, strict=True):
                if key not in new and self._find(key) is None:
                    new[key] = image
        self._add(corpus, new)
        return [np.array([self._find(key) for key in own], np.int64) for own in keys]

    def _key(self, corpus: int, image: Image) -> str:
        if self._tables:
            return f"{self._tables[corpus].path}\n{image.source}"
        if self._regions and len(set(map(id, self._regions))) > 1:
            return f"{corpus}\n{image.source}"
        return str(image.file.absolute()) if isinstance(image.file, Path) else f"{corpus}\n{image.source}"

    def _find(self, key: str) -> int | None:
        found = self._known.execute("SELECT row FROM images WHERE key = ?", (key,)).fetchone()
        return None if found is None else int(found[0])

    def _add(self, corpus: int, new: dict[str, Image]) -> None:
        good = [True] * len(new)
        if self._tables:
            self._vectors.append(self._tables[corpus].rows([image.source for image in new.values()]))
        elif self._regions:
            images = list(new.values())
            good = [
                some
                for at in range(0, len(images), IMAGES)
                for some in self._add_regions(corpus, images[at : at + IMAGES])
            ]
        elif self._backbone is not None:
            usable = {key: image.file for key, image in new.items() if image.file and not image.problem}
            features = self._backbone.encode(list(usable.values()))
            seen = [problem is None for problem in features.problems]
            fine = dict(zip(usable, seen, strict=True))
            good = [fine.get(key, False) for key in new]
            self._vectors.append(features.pooled[seen])
            if self._views:
                self._add_views([file for file, good_one in zip(usable.values(), seen, strict=True) if good_one])
        else:
            good = [not image.problem and _decodes(image.file) for image in new.values()]
            for key, usable_one in zip(new, good, strict=True):
                if usable_one:
                    self._files.write((",\n" if self._files.tell() > 1 else "") + json.dumps(key))
        rows = np.where(good, self._count + np.cumsum(good) - 1, -1)
        self._known.executemany("INSERT INTO images VALUES (?, ?)", zip(new, rows.tolist(), strict=True))
        self._count += sum(good)

    def _add_regions(self, corpus: int, images: Sequence[Image]) -> list[bool]:
        """Write the regions of some images; which of them have any."""
        found = strongest(self._regions[corpus].regions(images), self._max_regions)
        good = [problem is None and count > 0 for problem, count in zip(found.problems, found.counts, strict=True)]
        self._offsets.append(self._vectors.rows + np.cumsum(found.counts[good]))
        self._vectors.append(found.features)
        self._concepts.append(found.concepts)
        return good

    def _add_views(self, files: Sequence[Picture]) -> None:
        """Encode the further views of pictures that can be read."""
        from iconotext.train.views import view

        assert self._backbone is not None
        encoded = np.zeros((len(files), self._views, self.dim), np.float32)
        for number in range(self._views):
            for at in range(0, len(files), VIEWS_AT_ONCE):
                some = [view(file, number) for file in files[at : at + VIEWS_AT_ONCE]]
                encoded[at : at + len(some), number] = self._backbone.encode(some).pooled
        self._view_vectors.append(encoded)


IMAGES = 256
"""Images whose regions are in memory together."""

VIEWS_AT_ONCE = 64
"""Views in memory, as encoded pictures."""


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


def region_path(name: str, corpus: Path) -> Path | None:
    """The file of regions that a recipe names: as named, else beside the corpus; None if it names no file."""
    return next((place for place in _places(name, corpus) if is_region_file(place) and place.exists()), None)


def _places(name: str, corpus: Path) -> tuple[Path, Path]:
    return Path(name), (corpus if corpus.is_dir() else corpus.parent) / name


def table_path(name: str, corpus: Path) -> Path:
    """Where a recipe's table of image features lies: as named, else beside the corpus.

    Raises:
        FeatureError: It lies nowhere there.
    """
    for place in _places(name, corpus):
        if place.is_file():
            return place
    raise FeatureError(f"{name}: the recipe's table of image features is neither here nor beside {corpus}")


def _tables(name: str, corpora: Sequence[Path]) -> list[FeatureTable]:
    """The table of each corpus, which may be the same.

    Raises:
        FeatureError: One is missing, or they have rows of different lengths.
    """
    from iconotext.features.feature_table import load_feature_table

    paths = [table_path(name, corpus) for corpus in corpora]
    loaded = {path: load_feature_table(path) for path in dict.fromkeys(paths)}
    dims = {table.dim for table in loaded.values()}
    if len(dims) > 1:
        raise FeatureError(f"{', '.join(map(str, loaded))}: rows of different lengths, {', '.join(map(str, dims))}")
    return [loaded[path] for path in paths]


def _decodes(file: Path | bytes | None) -> bool:
    from iconotext.errors import ImageError
    from iconotext.images import decode

    if not isinstance(file, Path):
        return False
    try:
        decode(file)
    except ImageError:
        return False
    return True


def _backbone(recipe: Recipe) -> ImageBackbone:
    from iconotext.features import FeatureCache, cached_image, load_dual_encoder, load_image_backbone

    name, dual = recipe.features.image, recipe.dual_encoder
    return cached_image(load_dual_encoder(name).image if dual else load_image_backbone(name), FeatureCache())
