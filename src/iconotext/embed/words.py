"""The sentence encoder of Hessel 2019: word vectors → GRU → its last state, length 1."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.embed.gru import final_states


class WordEncoder(nn.Module):
    """Sentences as word ids → unit vectors (Hessel 2019 §3.1).

    Args:
        words: Size of the vocabulary.
        word_dim: Length of a word vector.
        dim: Dimensions of the joint space, the size of the GRU.
        dropout: Share that is dropped in training.
        dropout_at: ``output`` or ``input``, see ``TextEncoderSettings``.
    """

    def __init__(
        self, words: int, *, word_dim: int, dim: int, dropout: float, dropout_at: Literal["output", "input"]
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)
        self.gru = nn.GRU(word_dim, dim, batch_first=True)
        self.dropout = dropout
        self.dropout_at = dropout_at

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode sentences.

        Args:
            ids: (T,) word ids, sentence after sentence.
            lengths: (N,) words of each, from 1.

        Returns:
            (N, dim), rows of length 1.
        """
        drop = self.dropout if self.training else 0.0
        if drop and self.dropout_at == "input":
            # Every sentence loses dimensions of its own, so each place needs its own vector.
            kept = functional.dropout(torch.ones(len(lengths), self.embedding.embedding_dim, device=ids.device), drop)
            words = functional.embedding(ids, self.embedding.weight) * kept.repeat_interleave(lengths, 0)
            rows = torch.arange(len(ids), device=ids.device)
        else:
            distinct, rows = torch.unique(ids, return_inverse=True)
            words = functional.embedding(distinct, self.embedding.weight)
        states = final_states(words, rows, lengths, self.gru)  # float32, under autocast too
        if drop and self.dropout_at == "output":
            states = functional.dropout(states, drop)
        return functional.normalize(states, dim=-1)
