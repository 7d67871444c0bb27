"""The sentence encoder of Li 2021: words and positions, Transformer, mean of its tokens, length 1."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.embed.transformer import Transformer, by_length, mean_of_sequences


class WordTransformer(nn.Module):
    """From word ids of sentences to unit vectors (Li 2021, Eq. 6-7).

    Args:
        words: Size of the vocabulary.
        word_dim: Length of a word vector.
        max_tokens: Words of the longest sentence.
        dim: Dimensions of the joint space.
        layers: N_T.
        heads: Of each layer.
        dropout: Dropout in training.
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
        self.transformer = Transformer(dim, layers=layers, heads=heads, dropout=dropout)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(N, dim) unit vectors, from (T,) ids, one sentence after the other, and (N,) lengths, 1 to ``max_tokens``."""
        order, places = by_length(lengths, len(ids))
        lengths = lengths[order]
        ends = lengths.cumsum(0)
        place = torch.arange(len(ids), device=ids.device) - torch.repeat_interleave(
            ends - lengths, lengths, output_size=len(ids)
        )
        words = functional.embedding(ids[places], self.embedding.weight) + self.position(place)
        tokens = self.transformer(self.inward(self.norm(words)), lengths)
        pooled = mean_of_sequences(tokens, lengths)
        return functional.normalize(torch.empty_like(pooled).index_copy(0, order, pooled), dim=-1)
