"""An encoder made of functions, for tests that need vectors they know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iconotext.embed.backbone_encoder import EncodedImages
from iconotext.embed.image_source import ImageSource
from iconotext.features.backbone import ImageFeatures
from iconotext.types import Image


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

    @property
    def image_source(self) -> ImageSource:
        return ImageSource(self.sees, lambda _: ImageFeatures(np.zeros((0, 1), np.float32)), lambda _: None)

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
