"""Pictures for training: random parts of pictures (``augmentation``), and pixels for a network (``load_pixels``)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL.Image import Image, Resampling, Transpose
from torch import Tensor

from iconotext.images import decode
from iconotext.networks.image_network import WHOLE, augmented, middle, resized
from iconotext.system.threads import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import Picture


SMALLEST = 0.75
"""Smallest side of an augmentation's part, as a share of the picture's side."""

SIDE = 256
"""Width and height of an augmentation in pixels; proportions are lost, as in the image backbone."""


def augmentation(file: Picture, number: int) -> bytes:
    """Cut a random part out of a picture, mirrored for every second number, and encode it.

    It depends only on the pixels and the number.
    """
    image = decode(file, at_least=SIDE)
    rng = np.random.default_rng([number, *image.size, *image.resize((4, 4)).tobytes()[:16]])
    part = image.resize((SIDE, SIDE), Resampling.BICUBIC, _random_box(image, rng))
    if number % 2 == 0:
        part = part.transpose(Transpose.FLIP_LEFT_RIGHT)
    encoded = io.BytesIO()
    part.save(encoded, "BMP")  # fast and lossless
    return encoded.getvalue()


def _random_box(image: Image, rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a random part of a picture."""
    across, down = (max(1, round(side * rng.uniform(SMALLEST, 1))) for side in image.size)
    left, top = int(rng.integers(image.width - across + 1)), int(rng.integers(image.height - down + 1))
    return left, top, left + across, top + down


def load_pixels(files: Sequence[str], rng: np.random.Generator | None, *, whole: bool = False) -> Tensor:
    """Decode pictures on all cores: (n, 224, 224, 3) uint8.

    Args:
        rng: Random numbers for augmentations in training; None for pictures as in linking.
        whole: Whether the network sees all of a picture, resized, in training too.
    """
    # Seeds are drawn here, so that the order of the threads does not matter.
    seeds = [None] * len(files) if rng is None else [int(seed) for seed in rng.integers(2**62, size=len(files))]

    def pixels(item: tuple[str, int | None]) -> NDArray[Any]:
        file, seed = item
        image = decode(Path(file), at_least=WHOLE)
        if whole:
            return resized(image)
        return middle(image) if seed is None else augmented(image, np.random.default_rng(seed))

    return torch.from_numpy(np.stack(list(in_threads(pixels, zip(files, seeds, strict=True)))))
