"""What is trained: a sentence encoder and an image encoder that end in one space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from iconotext.embed.projection import Projection
from iconotext.embed.words import WordEncoder
from iconotext.errors import SettingError
from iconotext.recipe import ImageEncoderSettings, Recipe, TextEncoderSettings


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the encoders read, as far as the recipe leaves it open.

    Attributes:
        words: Size of the vocabulary, 0 where sentences come as vectors.
        text_features: Length of a sentence vector, 0 where sentences come as words.
        image_features: Length of an image's features, 0 where images come as pixels.
    """

    words: int
    text_features: int
    image_features: int


class JointModel(nn.Module):
    """The two encoders, and the scale and bias of objectives that have them.

    Attributes:
        text: Word ids and lengths, or (N, features) → (N, dim) unit rows.
        image: (N, features), or pixels → (N, dim) unit rows.
        log_scale: Logarithm of the objective's scale; learned where the recipe says so.
        bias: The objective's bias; learned with the scale.
    """

    def __init__(self, recipe: Recipe, inputs: Inputs) -> None:
        super().__init__()
        text, image = recipe.text, recipe.image
        self.text: nn.Module
        self.image: nn.Module
        if text.kind == "gru":
            self.text = WordEncoder(
                inputs.words,
                word_dim=text.word_dim,
                dim=recipe.dim,
                dropout=text.dropout,
                dropout_at=text.dropout_at,
            )
        else:
            self.text = _projection(inputs.text_features, recipe.dim, text)
        if image.kind == "network":
            from iconotext.embed.image_network import ImageNetwork

            self.image = ImageNetwork(dim=recipe.dim, dropout=image.dropout)
        else:
            self.image = _projection(inputs.image_features, recipe.dim, image)
        learned = recipe.objective.learn_scale
        self.log_scale = nn.Parameter(torch.tensor(math.log(recipe.objective.scale)), requires_grad=learned)
        with_bias = learned and recipe.objective.kind == "logistic"
        self.bias = nn.Parameter(torch.tensor(float(recipe.objective.bias)), requires_grad=with_bias)

    def forward(
        self, images: Tensor, *, sentences: Tensor | None, words: Tensor | None, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Encode some sentences and some images.

        Args:
            images: (M, features), or (M, 224, 224, 3) pixels.
            sentences: (N, features), or None where sentences come as words.
            words: (T,) word ids, or None.
            lengths: (N,) words of each sentence, or None.

        Returns:
            (N, dim) and (M, dim) unit rows, the objective's scale and its bias.
        """
        encoded = self.text(sentences) if words is None else self.text(words, lengths)
        return encoded.float(), self.image(images).float(), self.log_scale.exp(), self.bias

    def set_word_vectors(self, vectors: Tensor) -> None:
        """Start from other's word vectors: (V, word_dim); rows of zeros keep their random start.

        Raises:
            SettingError: The text encoder reads no words.
        """
        if not isinstance(self.text, WordEncoder):
            raise SettingError("text.word_vectors needs text.kind = gru")
        known = vectors.abs().sum(1) > 0
        with torch.no_grad():
            self.text.embedding.weight[known] = vectors[known]


def _projection(features: int, dim: int, settings: TextEncoderSettings | ImageEncoderSettings) -> Projection:
    return Projection(
        features,
        dim=dim,
        hidden=settings.hidden,
        dropout=settings.dropout,
        dropout_at=settings.dropout_at,
        rescale=settings.rescale,
    )
