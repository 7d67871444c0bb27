"""The names of ImageNet's 1000 classes, which most image classifiers use."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Names, all different, in the order of the usual classifiers."""
    text = files("iconotext.features").joinpath("imagenet_classes.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())
