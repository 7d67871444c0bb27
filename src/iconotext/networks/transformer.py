"""Transformers for words and for regions of images, as in Li 2021, which read sequences without padding."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional

FEED_FORWARD = 4
"""Width of the feed-forward part of a layer, in dimensions of the model (Vaswani 2017)."""


class Transformer(nn.Module):
    """Layers of self-attention and feed-forward as in Vaswani 2017, with the norm after each part.

    Attention is computed together for sequences of equal length, everything else for all tokens at once. So padding
    costs no time, and the encoding of a sequence does not depend on the other sequences. ``nn.TransformerEncoder``
    pads, or has no training path for nested tensors.
    """

    def __init__(self, dim: int, *, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(dim, heads, dropout) for _ in range(layers))
        self.dropout = dropout

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Encode sequences.

        Args:
            tokens: (T, dim), one sequence after the other.
            lengths: (N,) number of tokens of each, at least 1, ascending, with sum T: see ``by_length``.

        Returns:
            (T, dim).
        """
        spans = [(length, len(list(same))) for length, same in groupby(lengths.tolist())]
        tokens = functional.dropout(tokens, self.dropout, self.training)
        for layer in self.layers:
            tokens = layer(tokens, spans)
        return tokens


class _Layer(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.inward = nn.Linear(dim, 3 * dim)
        self.outward = nn.Linear(dim, dim)
        self.attended = nn.LayerNorm(dim)
        self.wide = nn.Linear(dim, FEED_FORWARD * dim)
        self.narrow = nn.Linear(FEED_FORWARD * dim, dim)
        self.fed = nn.LayerNorm(dim)
        for matrix in (self.inward, self.outward, self.wide, self.narrow):
            nn.init.xavier_uniform_(matrix.weight)
            nn.init.zeros_(matrix.bias)

    def forward(self, tokens: Tensor, spans: list[tuple[int, int]]) -> Tensor:
        drop = self.dropout if self.training else 0.0
        added = self.outward(self._attention(self.inward(tokens), spans))
        tokens = self.attended(tokens + functional.dropout(added, drop))
        added = self.narrow(functional.gelu(self.wide(tokens)))
        fed: Tensor = self.fed(tokens + functional.dropout(added, drop))
        return fed

    def _attention(self, projected: Tensor, spans: list[tuple[int, int]]) -> Tensor:
        """Turn (T, 3 dim) queries, keys and values into (T, dim); spans are (length, number of sequences), in order."""
        outputs = []
        for part, (length, count) in zip(torch.split(projected, [n * c for n, c in spans]), spans, strict=True):
            # (3, count, heads, length, dim / heads)
            split = part.view(count, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(split[0], split[1], split[2])
            outputs.append(attended.transpose(1, 2).reshape(count * length, -1))
        return torch.cat(outputs)


def by_length(lengths: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """Return the order of (N,) sequences by length, and the matching order of their T ``tokens``.

    T is an argument, since the sum of the lengths would have to be fetched from a GPU.

    Returns:
        (N,) and (T,): ``values[order]`` and ``tokens[places]`` are packed by ascending length.
    """
    order = torch.argsort(lengths, stable=True)
    starts = lengths.cumsum(0) - lengths
    sorted_lengths = lengths[order]
    ends = sorted_lengths.cumsum(0)
    offset = torch.repeat_interleave(starts[order] - (ends - sorted_lengths), sorted_lengths, output_size=tokens)
    return order, offset + torch.arange(tokens, device=lengths.device)


def mean_of_sequences(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Average (T, dim) packed tokens to (N, dim), at least in float32; a sequence without tokens has zeros."""
    owner = torch.repeat_interleave(torch.arange(len(lengths), device=tokens.device), lengths, output_size=len(tokens))
    tokens = tokens.to(torch.promote_types(tokens.dtype, torch.float32))
    total = tokens.new_zeros(len(lengths), tokens.shape[1]).index_add(0, owner, tokens)
    return total / lengths.clamp(min=1)[:, None]


class WordTransformer(nn.Module):
    """Turns the word ids of sentences into unit vectors with a Transformer (Li 2021, Eq. 6-7).

    Without layers it has no Transformer, but a softmax pooling with learned weights, as ``RegionEncoder``.
    """

    def __init__(
        self, words: int, *, word_dim: int, max_tokens: int, dim: int, layers: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)
        self.position = nn.Embedding(max_tokens, word_dim)
        nn.init.uniform_(self.position.weight, -0.02, 0.02)
        self.norm = nn.LayerNorm(word_dim)
        self.inward = nn.Linear(word_dim, dim)
        self.transformer = Transformer(dim, layers=layers, heads=heads, dropout=dropout) if layers else None
        self.weight = nn.Identity() if layers else nn.Linear(dim, 1)
        self.dropout = dropout

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode N sentences.

        Args:
            ids: (T,) word ids, one sentence after the other.
            lengths: (N,) number of words of each sentence, 1 to ``max_tokens``.

        Returns:
            (N, dim) unit vectors.
        """
        order, places = by_length(lengths, len(ids))
        lengths = lengths[order]
        ends = lengths.cumsum(0)
        place = torch.arange(len(ids), device=ids.device) - torch.repeat_interleave(
            ends - lengths, lengths, output_size=len(ids)
        )
        words = functional.embedding(ids[places], self.embedding.weight) + self.position(place)
        pooled = _pooled(self, self.inward(self.norm(words)), lengths)
        return functional.normalize(torch.empty_like(pooled).index_copy(0, order, pooled), dim=-1)


@dataclass(slots=True, eq=False)  # not frozen: Lightning copies such arguments of a model and sets their fields
class RegionBatch:
    """R regions of M images, one image after the other.

    Attributes:
        features: (R, features) float.
        counts: (M,) int64, number of regions of each image, 1 or more.
        concepts: (R,) int64, number of the concept of each region; -1 if unknown.
    """

    features: Tensor
    counts: Tensor
    concepts: Tensor

    def __len__(self) -> int:
        return len(self.counts)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> RegionBatch:
        """Return the batch on another device."""
        moved = (tensor.to(device, non_blocking=non_blocking) for tensor in (self.features, self.counts, self.concepts))
        return RegionBatch(*moved)


class RegionEncoder(nn.Module):
    """Turns the regions of images, with their concepts, into unit vectors (Li 2021, Eq. 8-10).

    A concept is represented by its name: by the mean vector of its words in the sentence encoder or, if that encoder
    takes frozen sentence vectors, by the vector of the name. The projection that follows (W_T and b_T of Eq. 9) is that
    of the sentence encoder, since Eq. 7 has the same symbols, or belongs to the image encoder. Arguments that are not
    listed are those of ``recipe.encoders.RegionSettings``.

    Args:
        features: Length of a region's features.
        names: Length of a concept's vector; 0 for an encoder without concepts.
        dim: Dimensions of the joint space.
        shared_projection: Whether ``forward`` gets vectors of concepts that the sentence encoder has projected.
    """

    def __init__(
        self,
        features: int,
        names: int,
        *,
        dim: int,
        layers: int,
        heads: int,
        dropout: float,
        shared_projection: bool = False,
    ) -> None:
        super().__init__()
        self.region = nn.Linear(features, dim)
        self.region_norm = nn.LayerNorm(dim)
        self.concept = nn.Linear(names, dim) if names and not shared_projection else nn.Identity()
        self.concept_norm = nn.LayerNorm(dim) if names else nn.Identity()
        self.segment = nn.Embedding(2, dim)
        self.segment_norm = nn.LayerNorm(dim)
        nn.init.uniform_(self.segment.weight, -0.02, 0.02)
        self.transformer = Transformer(dim, layers=layers, heads=heads, dropout=dropout) if layers else None
        self.weight = nn.Identity() if layers else nn.Linear(dim, 1)
        self.dropout = dropout

    def forward(self, images: RegionBatch, names: Tensor | None) -> Tensor:
        """Encode M images.

        Args:
            images: The regions of the images.
            names: (C, names) vectors of the concepts, (C, dim) if they are projected; None without concepts.

        Returns:
            (M, dim) unit vectors.
        """
        order, places = by_length(images.counts, len(images.features))
        images = RegionBatch(images.features[places], images.counts[order], images.concepts[places])
        segments = self.segment_norm(self.segment.weight)
        tokens = (self.region_norm(self.region(images.features)) + segments[0]) / 2
        counts = images.counts
        if names is not None:
            tokens, counts = _interleaved(tokens, self._concept_tokens(images.concepts, names, segments[1]), images)
        pooled = _pooled(self, tokens, counts)
        return functional.normalize(torch.empty_like(pooled).index_copy(0, order, pooled), dim=-1)

    def _concept_tokens(self, concepts: Tensor, names: Tensor, segment: Tensor) -> Tensor:
        """Return (R, dim) tokens of concepts (Eq. 9); each different concept is projected once.

        The token of an unknown concept consists only of the segment vector.
        """
        extended = torch.cat([names, names.new_zeros(1, names.shape[1])])  # the last row serves for -1, unknown
        different, rows = torch.unique(concepts, return_inverse=True)
        projected = self.concept_norm(self.concept(extended[different]))
        projected = torch.where((different >= 0)[:, None], projected, 0.0)
        return (projected[rows] + segment) / 2


def _interleaved(regions: Tensor, concepts: Tensor, images: RegionBatch) -> tuple[Tensor, Tensor]:
    """Put each image's concepts behind its regions: (2R, dim) tokens, and the (M,) number of tokens of each image."""
    counts = images.counts
    before = torch.repeat_interleave(counts.cumsum(0) - counts, counts, output_size=len(regions))
    index = torch.arange(len(regions), device=regions.device)
    after = torch.repeat_interleave(counts, counts, output_size=len(regions))
    places = torch.cat([index + before, index + before + after])
    joined = torch.cat([regions, concepts])
    return torch.empty_like(joined).index_copy(0, places, joined), 2 * counts


def _pooled(encoder: WordTransformer | RegionEncoder, tokens: Tensor, counts: Tensor) -> Tensor:
    """Pool (T, dim) tokens to (N, dim): the mean behind a Transformer, or without one softmax pooling."""
    if encoder.transformer is not None:
        return mean_of_sequences(encoder.transformer(tokens, counts), counts)
    tokens = functional.dropout(tokens, encoder.dropout, encoder.training)
    return _softmax_pooled(tokens, encoder.weight(tokens)[:, 0], counts)


def _softmax_pooled(tokens: Tensor, scores: Tensor, counts: Tensor) -> Tensor:
    """Average each image's tokens, weighted by the softmax of their scores: (M, dim), at least float32."""
    owner = torch.repeat_interleave(torch.arange(len(counts), device=tokens.device), counts, output_size=len(tokens))
    precise = torch.promote_types(tokens.dtype, torch.float32)
    scores, tokens = scores.to(precise), tokens.to(precise)
    # Minus the largest score of an image: exp cannot overflow, and the weights stay the same, so no gradient is needed.
    most = scores.new_full((len(counts),), -torch.inf).scatter_reduce(0, owner, scores.detach(), "amax")
    weights = (scores - most[owner]).exp()
    total = weights.new_zeros(len(counts)).index_add(0, owner, weights)
    weighted = tokens * (weights / total[owner])[:, None]
    return weighted.new_zeros(len(counts), tokens.shape[1]).index_add(0, owner, weighted)
