"""The sentence encoder of Hessel 2019: word vectors, GRU, its last state, length 1.

Optionally a second GRU reads the last states of a document's sentences in order (footnote 19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.embed.gru import final_states


class WordEncoder(nn.Module):
    """From word ids of sentences to unit vectors (Hessel 2019 §3.1).

    Args:
        words: Size of the vocabulary.
        word_dim: Length of a word vector.
        dim: Dimensions of the joint space, the size of the GRU.
        dropout: Dropout in training.
        dropout_at: ``output`` or ``input``, see ``GRUSettings``.
        sentence_gru: Whether a second GRU of this size reads the last states of a document's sentences.
    """

    def __init__(
        self,
        words: int,
        *,
        word_dim: int,
        dim: int,
        dropout: float,
        dropout_at: Literal["output", "input"],
        sentence_gru: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)
        self.gru = nn.GRU(word_dim, dim, batch_first=True)
        self.sentence_gru = nn.GRU(dim, dim, batch_first=True) if sentence_gru else None
        self.dropout = dropout
        self.dropout_at = dropout_at

    def forward(self, ids: Tensor, lengths: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """Encode sentences.

        Args:
            ids: (T,) word ids, one sentence after the other.
            lengths: (N,) number of words of each sentence, at least 1.
            counts: (D,) number of sentences of each document, one after the other; None if sentences are on their own.

        Returns:
            (N, dim) unit vectors.
        """
        return self.vectors(self.states(ids, lengths), counts)

    def states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(N, dim) float32, the last state of the GRU over the words of each sentence."""
        drop = self.dropout if self.training else 0.0
        if drop and self.dropout_at == "input":
            # Dropout differs between sentences, so each place needs its own vector.
            kept = functional.dropout(torch.ones(len(lengths), self.embedding.embedding_dim, device=ids.device), drop)
            words = functional.embedding(ids, self.embedding.weight) * kept.repeat_interleave(lengths, 0)
            rows = torch.arange(len(ids), device=ids.device)
        else:
            distinct, rows = torch.unique(ids, return_inverse=True)
            words = functional.embedding(distinct, self.embedding.weight)
        return final_states(words, rows, lengths, self.gru)  # float32, under autocast too

    def vectors(self, states: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """(N, dim) unit vectors, from the last states of sentences; see ``forward``."""
        if self.sentence_gru is not None and len(states):
            documents = list(torch.split(states, [1] * len(states) if counts is None else list(counts)))
            read, _ = self.sentence_gru(nn.utils.rnn.pack_sequence(documents, enforce_sorted=False))
            states = torch.cat(nn.utils.rnn.unpack_sequence(read)).float()
        if self.dropout_at == "output":
            states = functional.dropout(states, self.dropout, self.training)
        return functional.normalize(states, dim=-1)

    def in_place(self, states: Tensor, document: Tensor, places: Sequence[int]) -> Tensor:
        """(n, dim) vectors of sentences by their states, each in the place of a sentence of an unchanged document.

        Raises:
            ValueError: The model has no GRU over sentences.
        """
        if self.sentence_gru is None:
            raise ValueError("the encoder reads each sentence alone")
        read, _ = self.sentence_gru(document[None])
        before = functional.pad(read[0], (0, 0, 1, 0))[list(places)]  # states before each place
        return functional.normalize(self.sentence_gru(states[:, None], before[None])[0][:, 0], dim=-1)
