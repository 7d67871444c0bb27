"""The model that is trained: ``JointModel``, a sentence encoder and an image encoder with a joint space.

``text_encoder`` and ``image_encoder`` make the encoder that a recipe names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.encoders.backbone_encoder import Inputs
from iconotext.errors import SettingError
from iconotext.features.backbone import check_dim
from iconotext.networks.projection import Identity, Projection
from iconotext.networks.recurrent import WordEncoder, WordLSTM
from iconotext.networks.transformer import RegionBatch, RegionEncoder, WordTransformer, mean_of_sequences
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


class JointModel(nn.Module):
    """The two encoders, with the scale and bias of the objective.

    Attributes:
        text: Turns word ids and lengths, or (N, features), into (N, dim) unit vectors.
        image: Turns (N, features), pixels, or regions and concept vectors, into (N, dim) unit vectors.
        log_scale: Logarithm of the objective's scale; learned if the recipe says so.
        bias: The objective's bias; learned together with the scale if the objective is logistic.
        coherence: Turns (N, 2 dim), a text's unit vector followed by an image's, into (N, R) log-odds of the relations
            (Alikhani 2021, the Coherence Aware Module); None without relations.
        concept_words: (W,) word ids of the concepts' names, one name after the other; None if names are vectors.
        concept_lengths: (C,) number of words of each name; None if names are vectors.
        concept_vectors: (C, features) vectors of the names; None if names are words.
    """

    concept_words: Tensor | None
    concept_lengths: Tensor | None
    concept_vectors: Tensor | None

    def __init__(self, recipe: Recipe, inputs: Inputs) -> None:
        super().__init__()
        self.text = text_encoder(recipe, inputs)
        self.image = image_encoder(recipe, inputs)
        self._blank_concepts(inputs)
        learned = recipe.objective.learn_scale
        self.log_scale = nn.Parameter(torch.tensor(math.log(recipe.objective.scale)), requires_grad=learned)
        with_bias = learned and recipe.objective.kind == "logistic"
        self.bias = nn.Parameter(torch.tensor(float(recipe.objective.bias)), requires_grad=with_bias)
        self.coherence = nn.Linear(2 * recipe.dim, inputs.relations) if inputs.relations else None

    def forward(
        self,
        images: Tensor | RegionBatch,
        *,
        sentences: Tensor | None,
        words: Tensor | None,
        lengths: Tensor | None,
        counts: Sequence[int] | None = None,
        pairs: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
        """Encode sentences and images.

        Args:
            images: (M, features), (M, 224, 224, 3) pixels, or regions.
            sentences: (N, features); None if sentences are words.
            words: (T,) word ids; None if sentences are vectors.
            lengths: (N,) number of words of each sentence; None if sentences are vectors.
            counts: (D,) number of sentences of each document; None if each sentence is encoded alone.
            pairs: (P,) rows of sentences and (P,) rows of images whose relations are to be predicted.

        Returns:
            (N, dim) and (M, dim) unit vectors, the objective's scale and bias, and the (P, R) log-odds of the
            relations, None without pairs.
        """
        context = (counts,) if isinstance(self.text, WordEncoder) else ()
        encoded = (self.text(sentences) if words is None else self.text(words, lengths, *context)).float()
        seen = self.encode_images(images).float()
        relations = None
        if pairs is not None and self.coherence is not None:
            relations = self.coherence(torch.cat([encoded[pairs[0]], seen[pairs[1]]], 1)).float()
        return encoded, seen, self.log_scale.exp(), self.bias, relations

    def encode_images(self, images: Tensor | RegionBatch) -> Tensor:
        """Turn images, given as for ``forward``, into (M, dim) unit vectors."""
        regions = isinstance(images, RegionBatch)
        encoded: Tensor = self.image(images, self.concept_names()) if regions else self.image(images)
        return encoded

    def concept_names(self) -> Tensor | None:
        """Return (C, names) vectors of the concepts' names; None if the model reads no concepts.

        If names are words, a vector is the mean of the words' vectors in the sentence encoder, so that both encoders
        share the learned word vectors.
        """
        if self.concept_words is None or self.concept_lengths is None:
            return self.concept_vectors
        vectors = functional.embedding(self.concept_words, self.embedding.weight)
        return mean_of_sequences(vectors, self.concept_lengths)

    @property
    def embedding(self) -> nn.Embedding:
        """The word vectors."""
        if not isinstance(self.text, (WordEncoder, WordTransformer, WordLSTM)):
            raise SettingError('text.word_vectors needs text.kind = "gru", "transformer" or "lstm"')
        return self.text.embedding

    def set_word_vectors(self, vectors: Tensor) -> None:
        """Start from pretrained word vectors, (V, word_dim); words whose row is zero keep their random vector."""
        known = vectors.abs().sum(1) > 0
        with torch.no_grad():
            self.embedding.weight[known] = vectors[known]

    def set_concepts(self, names: Sequence[Sequence[int]] | Tensor) -> None:
        """Set the names of the concepts.

        Args:
            names: Word ids of each name, at least one a name; or (C, features) vectors if sentences are vectors.
        """
        if isinstance(names, Tensor):
            given = {"concept_vectors": names}
        else:
            words, lengths = [word for name in names for word in name], [len(name) for name in names]
            given = {"concept_words": torch.tensor(words), "concept_lengths": torch.tensor(lengths)}
        with torch.no_grad():
            for buffer, values in given.items():
                self.get_buffer(buffer).copy_(values)

    def _blank_concepts(self, inputs: Inputs) -> None:
        """Allocate the buffers of the concepts' names, which are saved with the weights."""
        read = inputs.concepts > 0
        words = read and not inputs.text_features
        self.register_buffer("concept_words", torch.zeros(inputs.concept_words, dtype=torch.long) if words else None)
        self.register_buffer("concept_lengths", torch.zeros(inputs.concepts, dtype=torch.long) if words else None)
        vectors = torch.zeros(inputs.concepts, inputs.text_features) if read and not words else None
        self.register_buffer("concept_vectors", vectors)


OF_VOCABULARY = ("word_vectors", "max_words", "max_tokens")
"""Settings of sentence encoders that describe the vocabulary, not the network."""


def _own(settings: EncoderSettings, *others: str) -> dict[str, Any]:
    """Return the arguments of an encoder: the settings of its kind, without the settings in ``others``."""
    return settings.model_dump(exclude={"kind", *others})


def text_encoder(recipe: Recipe, inputs: Inputs) -> nn.Module:
    """Make the sentence encoder of a recipe, with random weights."""
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
            from iconotext.networks.dual_encoder import TextTower

            return TextTower(recipe.features.text, dim)


def image_encoder(recipe: Recipe, inputs: Inputs) -> nn.Module:
    """Make the image encoder of a recipe, with random weights; a concept has the length of its name's vector."""
    dim, own = recipe.dim, recipe.image
    match own:
        case ProjectionSettings():
            return _projection("image", inputs.image_features, dim, own)
        case IdentitySettings():
            return _identity("image", inputs.image_features, dim)
        case TowerSettings():
            from iconotext.networks.dual_encoder import ImageTower

            return ImageTower(recipe.features.image, dim)
        case NetworkSettings():
            from iconotext.networks.image_network import ImageNetwork

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
