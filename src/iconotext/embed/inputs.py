"""The sizes of what the encoders of a model read."""

from __future__ import annotations

from dataclasses import dataclass

from iconotext.errors import SettingError


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the encoders read, as far as the recipe leaves it open.

    Attributes:
        words: Size of the vocabulary, 0 where sentences come as vectors.
        text_features: Length of a sentence vector, 0 where sentences come as words.
        image_features: Length of an image's features, or of a region's; 0 where images come as pixels.
        concepts: Concepts that may be seen in regions, 0 where none are read.
        concept_words: Words of all their names, 0 where sentences come as vectors.
        relations: Coherence relations that are told from a text and an image, 0 without the coherence objective.
    """

    words: int
    text_features: int
    image_features: int
    concepts: int = 0
    concept_words: int = 0
    relations: int = 0


def check_dim(side: str, setting: str, features: int, dim: int) -> None:
    """Raise ``SettingError`` where vectors keep their length and the joint space has another."""
    if features != dim:
        raise SettingError(f"{side}.{setting}: dim is {dim}, the {side} features have {features}; set dim to it")
