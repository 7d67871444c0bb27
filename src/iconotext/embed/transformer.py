"""A Transformer over sequences of any lengths, packed: one token after the other, none of them padding."""

from __future__ import annotations

from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional

FEED_FORWARD = 4
"""Width of the feed-forward part of a layer, in dimensions of the model (Vaswani 2017)."""


class Transformer(nn.Module):
    """Layers of self-attention and feed-forward as Vaswani 2017 has them, the norm behind each part.

    Sequences of one length are attended together; all else works on the tokens of all sequences at once. So no time
    goes into padding, and the encoding of a sequence does not depend on which others are with it.

    Args:
        dim: Dimensions of a token.
        layers: Number of layers.
        heads: Of each layer; they divide ``dim``.
        dropout: Share that is dropped in training: of what goes in, and of what each part of a layer adds.
    """

    def __init__(self, dim: int, *, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(dim, heads, dropout) for _ in range(layers))
        self.dropout = dropout

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Encode sequences.

        Args:
            tokens: (T, dim), sequence after sequence.
            lengths: (N,) tokens of each, from 1, T together, ascending: see ``by_length``.

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
        """(T, 3 dim) queries, keys and values to (T, dim), for (length, sequences) one after the other."""
        found = []
        for part, (length, count) in zip(torch.split(projected, [n * c for n, c in spans]), spans, strict=True):
            # (3, count, heads, length, dim / heads)
            split = part.view(count, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(split[0], split[1], split[2])
            found.append(seen.transpose(1, 2).reshape(count * length, -1))
        return torch.cat(found)


def by_length(lengths: Tensor, tokens: int) -> tuple[Tensor, Tensor]:
    """The order of sequences by length, and the order of their tokens that goes with it.

    Args:
        lengths: (N,) tokens of each sequence.
        tokens: T, their sum; not to wait for a GPU that knows it already.

    Returns:
        (N,) and (T,): ``values[order]`` and ``tokens[places]`` are packed with ascending lengths.
    """
    order = torch.argsort(lengths, stable=True)
    starts = lengths.cumsum(0) - lengths
    sorted_lengths = lengths[order]
    ends = sorted_lengths.cumsum(0)
    offset = torch.repeat_interleave(starts[order] - (ends - sorted_lengths), sorted_lengths, output_size=tokens)
    return order, offset + torch.arange(tokens, device=lengths.device)


def mean_of_sequences(tokens: Tensor, lengths: Tensor) -> Tensor:
    """(T, dim) packed tokens to (N, dim) means, in float32 or better; a sequence without tokens gives 0."""
    owner = torch.repeat_interleave(torch.arange(len(lengths), device=tokens.device), lengths, output_size=len(tokens))
    tokens = tokens.to(torch.promote_types(tokens.dtype, torch.float32))
    total = tokens.new_zeros(len(lengths), tokens.shape[1]).index_add(0, owner, tokens)
    return total / lengths.clamp(min=1)[:, None]
