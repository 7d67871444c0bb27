"""A trained image network as an image backbone, so that its pictures are decoded and cached as those of any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.image_network import WHOLE, middle
from iconotext.errors import FeatureError
from iconotext.features.backbone import ImageFeatures, Picture, blank_features
from iconotext.features.decoding import encode_on_cores
from iconotext.features.efficientnet import BATCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.folder import StoredModel


class NetworkBackbone:
    """The image side of a model whose image network was trained along: its vectors are those of the joint space.

    Args:
        stored: The model.
        name: A name that no other weights have.
    """

    def __init__(self, stored: StoredModel, name: str) -> None:
        self._network = stored.model.image
        self.name = self.space = name
        self.dim = stored.recipe.dim

    @property
    def classes(self) -> None:
        """It has no classifier."""
        return

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Look at pictures; see ``ImageBackbone``."""
        import torch

        if regions:
            raise FeatureError(f"{self.name} has no regions")
        blank = blank_features(len(files), self.dim)
        if not files:
            return blank

        def forward(pixels: list[NDArray[np.uint8]]) -> dict[str, NDArray[Any]]:
            with torch.inference_mode():
                return {"pooled": self._network(torch.from_numpy(np.stack(pixels))).numpy()}

        return encode_on_cores(blank, files, middle, forward, at_least=WHOLE, batch_size=BATCH)
