"""Builds the encoders that a recipe describes."""

from __future__ import annotations

from typing import Any

from torch import nn

from iconotext.embed.inputs import Inputs, check_dim
from iconotext.embed.lstm import WordLSTM
from iconotext.embed.projection import Identity, Projection
from iconotext.embed.regions import RegionEncoder
from iconotext.embed.word_transformer import WordTransformer
from iconotext.embed.words import WordEncoder
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import (
    EncoderSettings,
    GRUSettings,
    IdentitySettings,
    LSTMSettings,
    NetworkSettings,
    ProjectionSettings,
    RegionSettings,
    TowerSettings,
    TransformerSettings,
)

OF_VOCABULARY = ("word_vectors", "max_words", "max_tokens")
"""Settings of encoders of words that describe the vocabulary, not the encoder."""


def _own(settings: EncoderSettings, *others: str) -> dict[str, Any]:
    """The arguments of an encoder: the settings of its kind, without those in ``others``."""
    return settings.model_dump(exclude={"kind", *others})


def text_encoder(recipe: Recipe, inputs: Inputs) -> nn.Module:
    """The sentence encoder of a recipe, with random weights."""
    dim, words, own = recipe.dim, inputs.words, recipe.text
    match own:
        case GRUSettings():
            return WordEncoder(words, dim=dim, **_own(own, *OF_VOCABULARY))
        case LSTMSettings():
            return WordLSTM(words, dim=dim, **_own(own, *OF_VOCABULARY))
        case TransformerSettings():
            return WordTransformer(words, dim=dim, **_own(own, "word_vectors", "max_words"))
        case ProjectionSettings():
            return _projection("text", inputs.text_features, dim, own)
        case IdentitySettings():
            return _identity("text", inputs.text_features, dim)
        case TowerSettings():
            from iconotext.embed.tower import TextTower

            return TextTower(recipe.features.text, dim)


def image_encoder(recipe: Recipe, inputs: Inputs) -> nn.Module:
    """The image encoder of a recipe, with random weights; concepts have the length of their names' vectors."""
    dim, own = recipe.dim, recipe.image
    match own:
        case ProjectionSettings():
            return _projection("image", inputs.image_features, dim, own)
        case IdentitySettings():
            return _identity("image", inputs.image_features, dim)
        case TowerSettings():
            from iconotext.embed.tower import ImageTower

            return ImageTower(recipe.features.image, dim)
        case NetworkSettings():
            from iconotext.embed.image_network import ImageNetwork

            return ImageNetwork(dim=dim, **_own(own))
        case RegionSettings():
            names = recipe.words.word_dim if recipe.words else inputs.text_features
            concepts = names if own.concepts else 0
            return RegionEncoder(inputs.image_features, concepts, dim=dim, **_own(own, "concepts", "max_regions"))


def _projection(side: str, features: int, dim: int, settings: ProjectionSettings) -> Projection:
    if settings.residual:
        check_dim(side, "residual = true", features, dim)
    return Projection(features, dim=dim, **_own(settings))


def _identity(side: str, features: int, dim: int) -> Identity:
    check_dim(side, 'kind = "identity"', features, dim)
    return Identity()
