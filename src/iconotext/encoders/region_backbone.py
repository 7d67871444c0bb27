"""The image side of a model that reads regions: the features of an image are its vector in the joint space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, Row, blank_features, filled
from iconotext.features.regions import Regions, strongest
from iconotext.networks.transformer import RegionBatch
from iconotext.types import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.folder import StoredModel
    from iconotext.encoders.model import JointModel
    from iconotext.features.cache import FeatureCache
    from iconotext.features.regions import RegionSource
    from iconotext.types import FloatMatrix
from iconotext.encoders.image_source import ImageParts, ImageSource, looking_with

AT_ONCE = 64
"""Images whose regions are in memory at a time."""


def looking_at_regions(
    stored: StoredModel, source: RegionSource, name: str, *, in_file: bool, cache: FeatureCache | None
) -> ImageSource:
    """Make a source that encodes images with a model that reads regions.

    Args:
        stored: The model.
        source: The source of regions.
        name: A name that is unique to the weights.
        in_file: Whether the regions are in a file, by the ``source`` of an image, so that no picture is needed.
        cache: The cache for vectors of images whose regions are not in a file; None for no cache.
    """
    at_most = stored.recipe.regions.max_regions if stored.recipe.regions else None
    dim = stored.recipe.dim

    def look(images: Sequence[Image]) -> list[Regions | str]:
        found = source.regions(images)
        return [regions if isinstance(regions, str) else strongest(regions, at_most) for regions in found]

    def rows(images: Sequence[Image]) -> Iterator[Row | str]:
        for at in range(0, len(images), AT_ONCE):
            found = look(images[at : at + AT_ONCE])
            vectors = iter(_vectors(stored.model, [regions for regions in found if not isinstance(regions, str)]))
            yield from (regions if isinstance(regions, str) else {"pooled": next(vectors)} for regions in found)

    def encode(images: Sequence[Image]) -> ImageFeatures:
        return filled(blank_features(len(images), dim), rows(images))

    def encode_files(files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        return encode([Image("", file) for file in files])

    def parts(image: Image) -> ImageParts | None:
        (regions,) = look([image])
        return None if isinstance(regions, str) else _parts(stored.model, regions)

    if in_file:
        return ImageSource(name, encode, parts, looks_up=True)
    return replace(looking_with(ImageBackbone(name, dim, encode_files), cache), parts=parts)


def _vectors(model: JointModel, images: Sequence[Regions]) -> FloatMatrix:
    """Return (n, dim) vectors of n images in the joint space."""
    import torch

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
        trials = np.array_split(~left_out, -(-len(left_out) // AT_ONCE))
        vectors = [_vectors(model, [regions[kept] for kept in some]) for some in trials]
        return ImageFeatures(np.concatenate(vectors), problems=(None,) * len(left_out))

    return ImageParts(regions.boxes, without)
