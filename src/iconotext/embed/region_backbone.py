"""The image side of a model that reads regions, as an image backbone: its vectors are those of the joint space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.occlusion import ImageParts
from iconotext.embed.regions import RegionBatch
from iconotext.errors import FeatureError
from iconotext.features.backbone import ImageFeatures, Picture
from iconotext.features.regions import Regions, strongest
from iconotext.types import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.folder import StoredModel
    from iconotext.features.regions import RegionSource
    from iconotext.types import FloatMatrix

AT_ONCE = 64
"""Images whose regions are in memory together."""


class RegionBackbone:
    """Looks at pictures, or looks them up in a file, region by region.

    Args:
        stored: The model.
        source: The regions it was trained on.
        name: A name that no other weights have.

    Attributes:
        source: See above.
    """

    def __init__(self, stored: StoredModel, source: RegionSource, name: str) -> None:
        self._model = stored.model
        self._at_most = stored.recipe.regions.max_regions if stored.recipe.regions else None
        self.source = source
        self.name = self.space = name
        self.dim = stored.recipe.dim

    @property
    def classes(self) -> None:
        """It has no classifier of whole pictures."""
        return

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Look at pictures; see ``ImageBackbone``."""
        if regions:
            raise FeatureError(f"{self.name} gives whole pictures; ask the source of its regions")
        return self.encode_images([Image(source="", file=file) for file in files])

    def encode_images(self, images: Sequence[Image]) -> ImageFeatures:
        """Images by file, or where the regions are in a file, by source."""
        vectors = np.zeros((len(images), self.dim), np.float32)
        problems: list[str | None] = []
        for at in range(0, len(images), AT_ONCE):
            found = self.look(images[at : at + AT_ONCE])
            seen = np.flatnonzero(found.counts > 0)
            vectors[at + seen] = self.encode_regions(found)
            problems += found.problems
        return ImageFeatures(vectors, problems=tuple(problems))

    def look(self, images: Sequence[Image]) -> Regions:
        """The regions of images that the model reads."""
        found = strongest(self.source.regions(images), self._at_most)
        problems = tuple(
            problem or (None if count else "nothing is detected in it")
            for problem, count in zip(found.problems, found.counts, strict=True)
        )
        return replace(found, problems=problems)

    def encode_regions(self, regions: Regions) -> FloatMatrix:
        """(n, dim) vectors of the pictures that have regions, which are n."""
        import torch

        if not len(regions.features):
            return np.zeros((0, self.dim), np.float32)
        batch = RegionBatch(
            torch.from_numpy(regions.features.astype(np.float32)),
            torch.from_numpy(regions.counts[regions.counts > 0]),
            torch.from_numpy(regions.concepts.astype(np.int64)),
        )
        with torch.inference_mode():
            encoded: FloatMatrix = self._model.encode_images(batch).numpy()
        return encoded

    def parts(self, image: Image) -> ImageParts:
        """An image of which regions, and the concepts seen there, can be left out; never all of them."""
        regions = self.look([image])
        return ImageParts(regions.boxes, partial(self._encode_without, regions))

    def _encode_without(self, regions: Regions, left_out: NDArray[np.bool_]) -> ImageFeatures:
        """One picture of R regions with some of them left out, n times: (n, R) bool to n rows."""
        parts = []
        for some in np.array_split(left_out, -(-len(left_out) // AT_ONCE)):
            trial, region = np.nonzero(~some)
            parts.append(
                self.encode_regions(
                    Regions(
                        np.bincount(trial, minlength=len(some)),
                        regions.features[region],
                        regions.boxes[region],
                        regions.concepts[region],
                        regions.scores[region],
                        (None,) * len(some),
                    )
                )
            )
        return ImageFeatures(np.concatenate(parts), problems=(None,) * len(left_out))
