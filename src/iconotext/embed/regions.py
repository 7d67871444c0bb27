"""The image encoder of Li 2021: regions and their concepts, Transformer, mean, length 1."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.embed.transformer import Transformer, by_length, mean_of_sequences


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
        """The batch on a device."""
        moved = (each.to(device, non_blocking=non_blocking) for each in (self.features, self.counts, self.concepts))
        return RegionBatch(*moved)

    def ascending(self) -> tuple[RegionBatch, Tensor]:
        """The images sorted by their number of regions, and (M,) their former numbers."""
        order, places = by_length(self.counts, len(self.features))
        return RegionBatch(self.features[places], self.counts[order], self.concepts[places]), order


class RegionEncoder(nn.Module):
    """From regions and concepts to unit vectors (Li 2021, Eq. 8-10).

    A concept is read as its name: the mean vector of its words in the sentence encoder or, if that reads frozen
    vectors, the vector of the name. The projection that follows is the image encoder's own. In the paper's formulas it
    is that of the sentence encoder, but its text says that only the word embedding is shared.

    Args:
        features: Length of a region's features.
        names: Length of a concept's vector; 0 for an encoder without concepts.
        dim: Dimensions of the joint space.
        layers: N_C; 0 for softmax pooling with learned weights instead of Transformer and mean.
        heads: Of each layer.
        dropout: Dropout in training.
    """

    def __init__(self, features: int, names: int, *, dim: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.region = nn.Linear(features, dim)
        self.region_norm = nn.LayerNorm(dim)
        self.concept = nn.Linear(names, dim) if names else nn.Identity()
        self.concept_norm = nn.LayerNorm(dim) if names else nn.Identity()
        self.segment = nn.Embedding(2, dim)
        self.segment_norm = nn.LayerNorm(dim)
        nn.init.uniform_(self.segment.weight, -0.02, 0.02)
        self.transformer = Transformer(dim, layers=layers, heads=heads, dropout=dropout) if layers else None
        self.weight = nn.Identity() if layers else nn.Linear(dim, 1)
        self.dropout = dropout

    def forward(self, images: RegionBatch, names: Tensor | None) -> Tensor:
        """(M, dim) unit vectors; names: (C, names) vectors of the concepts, None without concepts."""
        images, order = images.ascending()
        segments = self.segment_norm(self.segment.weight)
        tokens = (self.region_norm(self.region(images.features)) + segments[0]) / 2
        counts = images.counts
        if names is not None:
            tokens, counts = _interleaved(tokens, self._concept_tokens(images.concepts, names, segments[1]), images)
        if self.transformer is not None:
            pooled = mean_of_sequences(self.transformer(tokens, counts), counts)
        else:
            tokens = functional.dropout(tokens, self.dropout, self.training)
            pooled = _softmax_pooled(tokens, self.weight(tokens)[:, 0], counts)
        return functional.normalize(torch.empty_like(pooled).index_copy(0, order, pooled), dim=-1)

    def _concept_tokens(self, concepts: Tensor, names: Tensor, segment: Tensor) -> Tensor:
        """(R, dim), Eq. 9; each different concept is projected once. An unknown one is only the segment vector."""
        known = torch.cat([names, names.new_zeros(1, names.shape[1])])  # -1 is the last row
        different, rows = torch.unique(concepts, return_inverse=True)
        projected = self.concept_norm(self.concept(known[different]))
        projected = torch.where((different >= 0)[:, None], projected, 0.0)
        return (projected[rows] + segment) / 2


def _interleaved(regions: Tensor, concepts: Tensor, images: RegionBatch) -> tuple[Tensor, Tensor]:
    """Each image's regions followed by its concepts: (2R, dim), and (M,) number of both together."""
    counts = images.counts
    before = torch.repeat_interleave(counts.cumsum(0) - counts, counts, output_size=len(regions))
    own = torch.arange(len(regions), device=regions.device)
    after = torch.repeat_interleave(counts, counts, output_size=len(regions))
    places = torch.cat([own + before, own + before + after])
    both = torch.cat([regions, concepts])
    return torch.empty_like(both).index_copy(0, places, both), 2 * counts


def _softmax_pooled(tokens: Tensor, scores: Tensor, counts: Tensor) -> Tensor:
    """The mean of each image's tokens, weighted by the softmax of their scores: (M, dim), at least float32."""
    owner = torch.repeat_interleave(torch.arange(len(counts), device=tokens.device), counts, output_size=len(tokens))
    precise = torch.promote_types(tokens.dtype, torch.float32)
    scores, tokens = scores.to(precise), tokens.to(precise)
    most = scores.new_full((len(counts),), -torch.inf).scatter_reduce(0, owner, scores.detach(), "amax")
    weights = (scores - most[owner]).exp()
    total = weights.new_zeros(len(counts)).index_add(0, owner, weights)
    weighted = tokens * (weights / total[owner])[:, None]
    return weighted.new_zeros(len(counts), tokens.shape[1]).index_add(0, owner, weighted)
