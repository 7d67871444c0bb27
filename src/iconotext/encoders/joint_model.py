"""The model that is trained: ``JointModel``, a sentence encoder and an image encoder with a joint space.

``make_encoder`` makes an encoder that a recipe names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.errors import SettingError
from iconotext.features.backbone import check_dim
from iconotext.networks.recurrent import WordEncoder, WordLSTM
from iconotext.networks.transformer import RegionBatch, WordTransformer, mean_of_sequences
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import (
    IMAGE_ENCODERS,
    TEXT_ENCODERS,
    EncoderSettings,
    Inputs,
    ProjectionSettings,
    RegionSettings,
    WordSettings,
)

ENCODERS = {"text": TEXT_ENCODERS, "image": IMAGE_ENCODERS}


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
        self.text = make_encoder("text", recipe, inputs)
        self.image = make_encoder("image", recipe, inputs)
        self._blank_concepts(inputs)
        learned = recipe.objective.learn_scale
        self.log_scale = nn.Parameter(torch.tensor(math.log(recipe.objective.scale)), requires_grad=learned)
        with_bias = learned and recipe.objective.kind == "logistic"
        self.bias = nn.Parameter(torch.tensor(float(recipe.objective.bias)), requires_grad=with_bias)
        self.coherence = (
            coherence_module(recipe.dim, inputs.relations, recipe.objective.relation_layers)
            if inputs.relations
            else None
        )
        self._shared_projection = recipe.regions is not None and recipe.regions.shared_projection

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
        documents = (counts,) if isinstance(self.text, WordEncoder) else ()  # others read each sentence alone
        encoded = (self.text(sentences) if words is None else self.text(words, lengths, *documents)).float()
        image_vectors = self.encode_images(images).float()
        relations = None
        if pairs is not None and self.coherence is not None:
            relations = self.coherence(torch.cat([encoded[pairs[0]], image_vectors[pairs[1]]], 1)).float()
        return encoded, image_vectors, self.log_scale.exp(), self.bias, relations

    def encode_images(self, images: Tensor | RegionBatch) -> Tensor:
        """Turn images, given as for ``forward``, into (M, dim) unit vectors."""
        if not isinstance(images, RegionBatch):
            encoded: Tensor = self.image(images)
            return encoded
        names = self.concept_names()
        if names is not None and self._shared_projection:
            names = self.text.inward(names)  # type: ignore[operator]  # a WordTransformer; W_T and b_T of Eq. 7 and 9
        encoded = self.image(images, names)
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
        nonzero = vectors.abs().sum(1) > 0
        with torch.no_grad():
            self.embedding.weight[nonzero] = vectors[nonzero]

    def set_concepts(self, names: Sequence[Sequence[int]] | Tensor) -> None:
        """Set the names of the concepts.

        Args:
            names: Word ids of each name, at least one a name; or (C, features) vectors if sentences are vectors.
        """
        if isinstance(names, Tensor):
            buffers = {"concept_vectors": names}
        else:
            words, lengths = [word for name in names for word in name], [len(name) for name in names]
            buffers = {"concept_words": torch.tensor(words), "concept_lengths": torch.tensor(lengths)}
        with torch.no_grad():
            for buffer, values in buffers.items():
                self.get_buffer(buffer).copy_(values)

    def _blank_concepts(self, inputs: Inputs) -> None:
        """Allocate the buffers of the concepts' names, which are saved with the weights."""
        read = inputs.concepts > 0
        words = read and not inputs.text_features
        self.register_buffer("concept_words", torch.zeros(inputs.concept_words, dtype=torch.long) if words else None)
        self.register_buffer("concept_lengths", torch.zeros(inputs.concepts, dtype=torch.long) if words else None)
        vectors = torch.zeros(inputs.concepts, inputs.text_features) if read and not words else None
        self.register_buffer("concept_vectors", vectors)


def coherence_module(dim: int, relations: int, layers: int) -> nn.Linear | nn.Sequential:
    """Make the Coherence Aware Module (Alikhani 2021): from two vectors of the joint space to log-odds of relations.

    Layers before the last one have ``dim`` outputs and a ReLU; the paper has one layer, and does not say how large its
    other trials were.
    """
    last = nn.Linear(2 * dim if layers == 1 else dim, relations)
    if layers == 1:
        return last
    hidden = [nn.Linear(2 * dim if number == 0 else dim, dim) for number in range(layers - 1)]
    return nn.Sequential(*(part for layer in hidden for part in (layer, nn.ReLU())), last)


def make_encoder(side: Literal["text", "image"], recipe: Recipe, inputs: Inputs) -> nn.Module:
    """Make the encoder of a side that a recipe names, with random weights."""
    dim = recipe.dim
    settings: EncoderSettings = getattr(recipe, side)
    features: int = getattr(inputs, f"{side}_features")
    network: Callable[..., nn.Module] = resolve_name(ENCODERS[side][settings.kind].module)
    options = settings.model_dump(exclude=set(settings.not_passed_on))
    match settings:
        case WordSettings():
            return network(inputs.words, dim=dim, **options)
        case ProjectionSettings():
            if settings.residual:
                check_dim(side, "residual = true", features, dim)
            return network(features, dim=dim, **options)
        case RegionSettings():
            name_dim = recipe.words.word_dim if recipe.words else inputs.text_features
            name_dim = dim if settings.shared_projection else name_dim
            return network(features, name_dim if settings.concepts else 0, dim=dim, **options)
        case _:
            return network(dim=dim, **options)
