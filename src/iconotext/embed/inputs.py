"""The sizes of the inputs of a model's encoders."""

from __future__ import annotations

from dataclasses import dataclass

from iconotext.errors import SettingError


@dataclass(frozen=True, slots=True)
class Inputs:
    """Sizes of the encoders' inputs that the recipe leaves open.

    Attributes:
        words: Size of the vocabulary; 0 if sentences are vectors.
        text_features: Length of a sentence vector; 0 if sentences are words.
        image_features: Length of the features of an image or region; 0 if images are pixels.
        concepts: Number of concepts of regions; 0 if none are read.
        concept_words: Total number of words in their names; 0 if sentences are vectors.
        relations: Number of coherence relations to predict; 0 without the coherence objective.
    """

    words: int
    text_features: int
    image_features: int
    concepts: int = 0
    concept_words: int = 0
    relations: int = 0


def check_dim(side: str, setting: str, features: int, dim: int) -> None:
    """Raise ``SettingError`` if vectors are not projected and their length is not that of the joint space."""
    if features != dim:
        raise SettingError(f"{side}.{setting}: dim is {dim}, the {side} features have {features}; set dim to it")
