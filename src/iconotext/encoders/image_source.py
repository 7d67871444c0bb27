"""Sources of image features: a backbone, a table of features, or a file of regions.

``image_source`` makes the source with a given name, and ``region_source`` the source of a model that reads regions.
``ImageSource.features_of`` encodes images; ``ImageSource.parts`` gives an image whose regions can be left out, to
explain a similarity.
"""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as Pillow

from iconotext.features import cached_image
from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, Row, blank_features, filled
from iconotext.features.regions import Regions, grid_boxes, strongest
from iconotext.images import decode
from iconotext.types import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.joint_model import JointModel
    from iconotext.encoders.stored_model import StoredModel
    from iconotext.features.cache import FeatureCache
    from iconotext.features.feature_table import FeatureTable
    from iconotext.features.regions import RegionSource
    from iconotext.types import FloatMatrix

SHORTER, LONGER = 448, 1024
"""Largest shorter and longer side, in pixels, of the copy whose cells are covered; image encoders hardly use more."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageParts:
    """An image with R regions that can be left out.

    Attributes:
        boxes: (R, 4) float: left, top, right, bottom, as shares of width and height from the top left.
        without: A function from (n, R) bool, the regions to leave out, to the features of the remaining image, n rows.
    """

    boxes: FloatMatrix
    without: Callable[[NDArray[np.bool_]], ImageFeatures]


def covered_cells(file: Picture, encode: Callable[[Sequence[Picture]], ImageFeatures]) -> ImageParts:
    """Make a picture whose cells can be covered with its mean colour.

    Args:
        encode: A function from n encoded pictures to their features. It should not cache them, since they are not the
            document's pictures.
    """
    pixels = _small(file)
    mean = np.round(pixels.mean(axis=(0, 1))).astype(np.uint8)
    boxes = grid_boxes()
    height, width, _ = pixels.shape
    edges = np.round(boxes * [width, height, width, height]).astype(int)

    def without(covered: NDArray[np.bool_]) -> ImageFeatures:
        pictures = []
        for mask in covered:
            changed = pixels.copy()
            for left, top, right, bottom in edges[mask]:
                changed[top:bottom, left:right] = mean
            stream = io.BytesIO()
            Pillow.fromarray(changed).save(stream, "BMP")  # lossless and fast
            pictures.append(stream.getvalue())
        return encode(pictures)

    return ImageParts(boxes, without)


def _small(file: Picture) -> NDArray[np.uint8]:
    image = decode(file, at_least=SHORTER)
    shrink = min(1.0, SHORTER / min(image.size), LONGER / max(image.size))
    size = (max(1, round(image.width * shrink)), max(1, round(image.height * shrink)))
    return np.asarray(image.resize(size, reducing_gap=2.0) if shrink < 1 else image)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedFeatures:
    """The features of the images of a document that have any, and the numbers of these images.

    Attributes:
        numbers: Numbers of these images in the document.
        features: A row for each of them.
        problems: For each image of the document its problem; None for a good image, and for one without a file.
    """

    numbers: list[int]
    features: ImageFeatures
    problems: list[str | None]


@dataclass(frozen=True, slots=True, eq=False)
class ImageSource:
    """A source of image features.

    Attributes:
        name: A name that identifies weights and processing, like ``ImageBackbone.name``.
        encode: Computes features in the order of the images, with a problem for an image without features.
        parts: Makes an image whose regions can be left out; None if the source does not read pictures.
        classes: Names of the classes in the order of the probabilities; None without a classifier.
        from_file: Whether features come from a file, by the ``source`` of an image, so that no picture is needed.
    """

    name: str
    encode: Callable[[Sequence[Image]], ImageFeatures]
    parts: Callable[[Image], ImageParts | None]
    classes: tuple[str, ...] | None = None
    from_file: bool = False

    def features_of(self, images: Sequence[Image]) -> NumberedFeatures:
        """Encode the images that can be encoded."""
        numbers = [n for n, image in enumerate(images) if self.from_file or (image.file and not image.problem)]
        features = self.encode([images[n] for n in numbers])
        problems = [image.problem for image in images]
        for n, problem in zip(numbers, features.problems, strict=True):
            problems[n] = problem
        if self.from_file:  # an image that the file lacks counts as one without features; a bad picture keeps its row
            rows = [row for row, problem in enumerate(features.problems) if problem is None]
            numbers = [numbers[row] for row in rows]
            features = ImageFeatures(features.pooled[rows], problems=(None,) * len(rows))
        return NumberedFeatures(numbers, features, problems)

    def features_by_document(self, documents: Sequence[Sequence[Image]]) -> list[NumberedFeatures]:
        """Encode the images of several documents in one batch."""
        batch = self.features_of([image for images in documents for image in images])
        by_document, end = [], 0
        for images in documents:
            start, end = end, end + len(images)
            # The numbers ascend, so those of one document are together.
            rows = slice(bisect_left(batch.numbers, start), bisect_left(batch.numbers, end))
            arrays: dict[str, Any] = {name: array[rows] for name, array in batch.features.arrays().items()}
            features = replace(batch.features, **arrays, problems=batch.features.problems[rows])
            by_document.append(
                NumberedFeatures([n - start for n in batch.numbers[rows]], features, batch.problems[start:end])
            )
        return by_document


def picture_source(backbone: ImageBackbone, cache: FeatureCache | None = None) -> ImageSource:
    """Make a source that encodes pictures with a backbone.

    Args:
        cache: The cache for features; it is not used for pictures that are changed for an explanation.
    """
    cached = backbone if cache is None else cached_image(backbone, cache)
    return ImageSource(
        backbone.name,
        lambda images: cached.encode([image.file or b"" for image in images]),
        lambda image: covered_cells(image.file or b"", backbone.encode),
        backbone.classes,
    )


def table_source(table: FeatureTable) -> ImageSource:
    """Make a source that reads features from a table, by the ``source`` of an image."""

    def encode(images: Sequence[Image]) -> ImageFeatures:
        pooled, problems = table.look_up([image.source for image in images])
        return ImageFeatures(pooled, problems=problems)

    return ImageSource(table.path.name, encode, lambda _: None, from_file=True)


def averaging(source: RegionSource) -> ImageSource:
    """Make a source that averages the features of an image's regions, which come from a file."""

    def encode(images: Sequence[Image]) -> ImageFeatures:
        regions = source.regions(images)
        means = (r if isinstance(r, str) else {"pooled": r.features.mean(0, np.float32)} for r in regions)
        return filled(blank_features(len(images), source.dim), means)

    return ImageSource(f"{source.name}/mean", encode, lambda _: None, from_file=True)


def image_source(name: str, cache: FeatureCache | None = None) -> ImageSource:
    """Make a source of pooled features from an image backbone, a table of features, or a file of regions."""
    from iconotext.features import load_image_backbone, load_regions
    from iconotext.features.feature_table import load_feature_table
    from iconotext.features.region_files import is_region_file

    if name.endswith(".npy"):
        return table_source(load_feature_table(Path(name)))
    if is_region_file(Path(name)):
        return averaging(load_regions(name))
    return picture_source(load_image_backbone(name), cache)


BATCH_IMAGES = 64
"""Images whose regions are in memory at a time."""


def region_source(
    stored: StoredModel, source: RegionSource, name: str, *, in_file: bool, cache: FeatureCache | None
) -> ImageSource:
    """Make a source that encodes images with a model that reads regions.

    Args:
        in_file: Whether the regions are in a file, by the ``source`` of an image, so that no picture is needed.
        cache: The cache for vectors of images whose regions are not in a file; None for no cache.
    """
    max_regions = stored.recipe.regions.max_regions if stored.recipe.regions else None
    dim = stored.recipe.dim

    def regions_of(images: Sequence[Image]) -> list[Regions | str]:
        outcomes = source.regions(images)
        return [regions if isinstance(regions, str) else strongest(regions, max_regions) for regions in outcomes]

    def rows(images: Sequence[Image]) -> Iterator[Row | str]:
        for at in range(0, len(images), BATCH_IMAGES):
            outcomes = regions_of(images[at : at + BATCH_IMAGES])
            vectors = iter(_vectors(stored.model, [regions for regions in outcomes if not isinstance(regions, str)]))
            yield from (regions if isinstance(regions, str) else {"pooled": next(vectors)} for regions in outcomes)

    def encode(images: Sequence[Image]) -> ImageFeatures:
        return filled(blank_features(len(images), dim), rows(images))

    def encode_files(files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        return encode([Image("", file) for file in files])

    def parts(image: Image) -> ImageParts | None:
        (regions,) = regions_of([image])
        return None if isinstance(regions, str) else _parts(stored.model, regions)

    if in_file:
        return ImageSource(name, encode, parts, from_file=True)
    return replace(picture_source(ImageBackbone(name, dim, encode_files), cache), parts=parts)


def _vectors(model: JointModel, images: Sequence[Regions]) -> FloatMatrix:
    """Return (n, dim) vectors of n images in the joint space."""
    import torch

    from iconotext.networks.transformer import RegionBatch

    if not images:
        return np.zeros((0, 0), np.float32)
    batch = RegionBatch(
        torch.from_numpy(np.concatenate([regions.features for regions in images]).astype(np.float32)),
        torch.tensor([len(regions) for regions in images]),
        torch.from_numpy(np.concatenate([regions.concepts for regions in images]).astype(np.int64)),
    )
    with torch.inference_mode():
        encoded: FloatMatrix = model.encode_images(batch).numpy()
    return encoded


def _parts(model: JointModel, regions: Regions) -> ImageParts:
    """Make an image whose regions, with their concepts, can be left out; at least one must remain."""

    def without(left_out: NDArray[np.bool_]) -> ImageFeatures:
        trials = np.array_split(~left_out, -(-len(left_out) // BATCH_IMAGES))
        vectors = [_vectors(model, [regions[rows] for rows in trial]) for trial in trials]
        return ImageFeatures(np.concatenate(vectors), problems=(None,) * len(left_out))

    return ImageParts(regions.boxes, without)
