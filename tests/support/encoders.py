"""An encoder made of functions, for tests that need vectors they know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iconotext.encoders.encoder import EncodedImages
from iconotext.encoders.image_source import ImageSource
from iconotext.features.backbone import ImageBackbone, ImageFeatures, TextBackbone
from iconotext.types import Image


def text_backbone(made_up: Any) -> TextBackbone:
    """A text backbone of something with a name, a dim and a method ``encode``."""
    return TextBackbone(made_up.name, made_up.dim, lambda texts: made_up.encode(texts))


def image_backbone(made_up: Any) -> ImageBackbone:
    """An image backbone of something with a name, a dim, a method ``encode`` and classes."""
    return ImageBackbone(
        made_up.name, made_up.dim, lambda *files, **how: made_up.encode(*files, **how), made_up.classes
    )


@dataclass
class MadeUpEncoder:
    """An ``Encoder`` of what is given: texts to vectors, and files to vectors and problems, or vectors and features."""

    fingerprint: str
    dim: int
    texts: Callable[[Sequence[str]], Any]
    pictures: Callable[[Sequence[Any]], Any]
    coherence: Any = None
    sees: str = "made-up"
    name: str = "made-up"
    text_backbone: Any = None
    language: Any = None

    @property
    def image_source(self) -> ImageSource:
        return ImageSource(self.sees, lambda _: ImageFeatures(np.zeros((0, 1), np.float32)), lambda _: None)

    @property
    def reader(self) -> Any:
        return self.text_backbone

    def encode_sentences(self, texts: Sequence[str]) -> Any:
        return self.texts(texts)

    def encode_images(self, images: Sequence[Any]) -> EncodedImages:
        vectors, found = self.pictures([image.file if isinstance(image, Image) else image for image in images])
        features = found if isinstance(found, ImageFeatures) else ImageFeatures(vectors, problems=found)
        return EncodedImages(vectors, features.problems, features)

    def similarity(self, document: Any) -> Any:
        raise NotImplementedError

    def read(self, document: Any) -> Any:
        raise NotImplementedError

    def read_all(self, documents: Any) -> Any:
        raise NotImplementedError
