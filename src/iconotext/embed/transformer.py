"""A Transformer for packed sequences of different lengths, without padding."""

from __future__ import annotations

from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional

FEED_FORWARD = 4
"""Width of the feed-forward part of a layer, in dimensions of the model (Vaswani 2017)."""


class Transformer(nn.Module):
    """Layers of self-attention and feed-forward as in Vaswani 2017, with the norm after each part.

    Attention is computed for sequences of equal length together; everything else for all tokens at once. So padding
    costs no time, and the encoding of a sequence does not depend on the other sequences.

    Args:
        dim: Dimensions of a token.
        layers: Number of layers.
        heads: Of each layer; they divide ``dim``.
        dropout: Dropout in training: of the input, and of the output of each part of a layer.
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
        """(T, 3 dim) queries, keys and values to (T, dim); spans: (length, number of sequences) in order."""
        found = []
        for part, (length, count) in zip(torch.split(projected, [n * c for n, c in spans]), spans, strict=True):
            # (3, count, heads, length, dim / heads)
            split = part.view(count, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(split[0], split[1], split[2])
            found.append(seen.transpose(1, 2).reshape(count * length, -1))
        return torch.cat(found)


def by_length(lengths: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """The order of sequences by length, and the matching order of their tokens.

    Args:
        lengths: (N,) number of tokens of each sequence.
        tokens: T, their sum, so that it need not be fetched from a GPU.

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
    """(T, dim) packed tokens to (N, dim) means, at least float32; 0 for a sequence without tokens."""
    owner = torch.repeat_interleave(torch.arange(len(lengths), device=tokens.device), lengths, output_size=len(tokens))
    tokens = tokens.to(torch.promote_types(tokens.dtype, torch.float32))
    total = tokens.new_zeros(len(lengths), tokens.shape[1]).index_add(0, owner, tokens)
    return total / lengths.clamp(min=1)[:, None]
