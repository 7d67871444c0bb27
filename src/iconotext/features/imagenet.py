"""The 1000 classes of ImageNet, by which most image classifiers name what they see."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def imagenet_classes() -> tuple[str, ...]:
    """A different name each, in the order of the usual classifiers."""
    text = files("iconotext.features").joinpath("imagenet_classes.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())
