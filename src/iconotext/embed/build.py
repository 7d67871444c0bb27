"""Encoders as a recipe describes them: one builder for each kind."""

from __future__ import annotations

from torch import nn

from iconotext.embed.inputs import Inputs, check_dim
from iconotext.embed.lstm import WordLSTM
from iconotext.embed.projection import Identity, Projection
from iconotext.embed.regions import RegionEncoder
from iconotext.embed.word_transformer import WordTransformer
from iconotext.embed.words import WordEncoder
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import (
    GRUSettings,
    IdentitySettings,
    LSTMSettings,
    NetworkSettings,
    ProjectionSettings,
    RegionSettings,
    TowerSettings,
    TransformerSettings,
)


def text_encoder(recipe: Recipe, inputs: Inputs) -> nn.Module:
    """The sentence encoder of a recipe, with random weights."""
    dim, words = recipe.dim, inputs.words
    match recipe.text:
        case GRUSettings() as gru:
            return WordEncoder(
                words,
                word_dim=gru.word_dim,
                dim=dim,
                dropout=gru.dropout,
                dropout_at=gru.dropout_at,
                sentence_gru=gru.sentence_gru,
            )
        case LSTMSettings() as lstm:
            return WordLSTM(words, word_dim=lstm.word_dim, dim=dim, attention=lstm.attention, dropout=lstm.dropout)
        case TransformerSettings() as layered:
            return WordTransformer(
                words,
                word_dim=layered.word_dim,
                max_tokens=layered.max_tokens,
                dim=dim,
                layers=layered.layers,
                heads=layered.heads,
                dropout=layered.dropout,
            )
        case ProjectionSettings() as projection:
            return _projection("text", inputs.text_features, dim, projection)
        case IdentitySettings():
            return _identity("text", inputs.text_features, dim)
        case TowerSettings():
            from iconotext.embed.tower import TextTower

            return TextTower(recipe.features.text, dim)


def image_encoder(recipe: Recipe, inputs: Inputs) -> nn.Module:
    """The image encoder of a recipe, with random weights; concepts have as many numbers as the names they are given."""
    dim = recipe.dim
    match recipe.image:
        case ProjectionSettings() as projection:
            return _projection("image", inputs.image_features, dim, projection)
        case IdentitySettings():
            return _identity("image", inputs.image_features, dim)
        case TowerSettings():
            from iconotext.embed.tower import ImageTower

            return ImageTower(recipe.features.image, dim)
        case NetworkSettings() as network:
            from iconotext.embed.image_network import ImageNetwork

            return ImageNetwork(dim=dim, dropout=network.dropout, network=network.network)
        case RegionSettings() as regions:
            names = recipe.words.word_dim if recipe.words else inputs.text_features
            return RegionEncoder(
                inputs.image_features,
                names if regions.concepts else 0,
                dim=dim,
                layers=regions.layers,
                heads=regions.heads,
                dropout=regions.dropout,
            )


def _projection(side: str, features: int, dim: int, settings: ProjectionSettings) -> Projection:
    if settings.residual:
        check_dim(side, "residual = true", features, dim)
    return Projection(
        features,
        dim=dim,
        hidden=settings.hidden,
        dropout=settings.dropout,
        dropout_at=settings.dropout_at,
        rescale=settings.rescale,
        batch_norm=settings.batch_norm,
        residual=settings.residual,
    )


def _identity(side: str, features: int, dim: int) -> Identity:
    check_dim(side, 'kind = "identity"', features, dim)
    return Identity()
