"""What a detector's own image processor does before the network, from its settings: resize, scale, normalise.

The processors of transformers are not used: some need torchvision, and all but those pad pictures of a batch to one
size, so that what is found in a picture would depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError, ImageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

LARGEST = 16_000_000
"""Pixels that a picture may have after resizing; only one of extreme shape comes near."""

LONGEST_EDGE = 1333
"""Of DETR, where the settings name the shorter edge alone (as the first ones did)."""

_NOT_DONE = ("do_center_crop", "pad_size", "size_divisor")


@dataclass(frozen=True, slots=True, eq=False)
class DetectorPixels:
    """From a picture to pixels.

    Attributes:
        size: ``height`` and ``width``; ``shortest_edge`` and ``longest_edge``; or ``max_height`` and ``max_width``.
            None leaves pictures as they are.
        multiple: Of which sides are made multiples, by leaving out what is over.
        filter: Number of Pillow's filter for resizing.
        factor: With which pixels of 0 to 255 are multiplied.
        mean: (3, 1, 1) then subtracted.
        spread: (3, 1, 1) by which is then divided.
    """

    size: Mapping[str, int] | None
    multiple: int
    filter: int
    factor: float
    mean: NDArray[np.float32]
    spread: NDArray[np.float32]

    @property
    def at_least(self) -> int:
        """Shorter side that a picture must keep when it is decoded."""
        return 1 << 20 if self.size is None else max(self.size.values())

    def sides(self, width: int, height: int) -> tuple[int, int]:
        """Width and height after resizing."""
        if self.size is None:
            return width, height
        if "width" in self.size:
            return self.size["width"], self.size["height"]
        if "max_width" in self.size:
            scale = min(self.size["max_height"] / height, self.size["max_width"] / width)
            return max(1, int(width * scale)), max(1, int(height * scale))
        low, high = min(width, height), max(width, height)
        exact: float = self.size["shortest_edge"]
        if high / low * exact > self.size["longest_edge"]:
            exact = self.size["longest_edge"] * low / high
        short, long = round(exact), int(exact * high / low)
        short, long = (max(side - side % self.multiple, self.multiple) for side in (short, long))
        return (short, long) if width < height else (long, short)

    def pixels(self, image: Pillow.Image) -> NDArray[np.float32]:
        """(3, height, width).

        Raises:
            ImageError: Its shape is so extreme that it would become too large.
        """
        sides = self.sides(*image.size)
        if sides[0] * sides[1] > LARGEST:
            raise ImageError(f"{image.width} × {image.height}: too long and thin for the detector")
        if sides != image.size:
            image = image.resize(sides, self.filter)
        values = np.asarray(image, np.float32).transpose(2, 0, 1)
        return np.ascontiguousarray((values * np.float32(self.factor) - self.mean) / self.spread)


def detector_pixels(settings: Mapping[str, Any], where: str) -> DetectorPixels:
    """What ``preprocessor_config.json`` asks for.

    Args:
        settings: What it holds.
        where: Its model, for messages.

    Raises:
        FeatureError: It asks for something that is not done here, or does not say what is needed.
    """
    if not_done := [name for name in _NOT_DONE if settings.get(name)]:
        raise FeatureError(f"{where}: preprocessor_config.json asks for {', '.join(not_done)}, which is not done here")
    try:
        normal = settings.get("do_normalize", "image_mean" in settings)
        mean, spread = (settings["image_mean"], settings["image_std"]) if normal else (0, 1)
        return DetectorPixels(
            _size(settings) if settings.get("do_resize", True) else None,
            multiple=16 if str(settings.get("image_processor_type", "")).startswith("Yolos") else 1,
            filter=int(settings.get("resample", 2)),  # bilinear
            factor=float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale", True) else 1.0,
            mean=np.broadcast_to(np.array(mean, np.float32), 3).reshape(3, 1, 1),
            spread=np.broadcast_to(np.array(spread, np.float32), 3).reshape(3, 1, 1),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FeatureError(f"{where}: preprocessor_config.json is incomplete or damaged ({error!r})") from error


def _size(settings: Mapping[str, Any]) -> dict[str, int]:
    size = settings["size"]
    known = {"shortest_edge": size} if isinstance(size, int) else {k: v for k, v in size.items() if v is not None}
    if "shortest_edge" in known:
        known.setdefault("longest_edge", settings.get("max_size") or LONGEST_EDGE)
    for names in (("shortest_edge", "longest_edge"), ("max_height", "max_width"), ("height", "width")):
        if all(name in known for name in names):
            chosen = {name: int(known[name]) for name in names}
            if min(chosen.values()) < 1:
                raise ValueError(size)
            return chosen
    raise ValueError(size)
