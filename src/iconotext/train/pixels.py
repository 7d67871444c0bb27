"""Pictures as an image network that is trained along sees them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from iconotext.embed.image_network import WHOLE, augmented, middle
from iconotext.features.cores import usable_cores
from iconotext.images import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray


def load_pixels(files: Sequence[str], rng: np.random.Generator | None) -> Tensor:
    """Decode pictures on all cores.

    Args:
        rng: For the variations of training; None takes the middle of each as it is.

    Returns:
        (n, 224, 224, 3) uint8.

    Raises:
        ImageError: A picture cannot be decoded any more.
    """
    # Seeds are drawn here, so that which thread is first makes no difference.
    seeds = [None] * len(files) if rng is None else [int(seed) for seed in rng.integers(2**62, size=len(files))]

    def look(file: str, seed: int | None) -> NDArray[np.uint8]:
        image = decode(Path(file), at_least=WHOLE)
        return middle(image) if seed is None else augmented(image, np.random.default_rng(seed))

    with ThreadPoolExecutor(usable_cores()) as pool:
        return torch.from_numpy(np.stack(list(pool.map(look, files, seeds))))
