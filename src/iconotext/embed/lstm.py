"""The sentence encoder of Alikhani 2021: word vectors, bidirectional LSTM, attention, batch norm, affine, length 1."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class WordLSTM(nn.Module):
    """From word ids of sentences to unit vectors (Alikhani 2021, "Network Details").

    The paper leaves two things open. Here each direction of the LSTM has the size of a word vector, and the weight of a
    word is the softmax, over the words of the sentence, of vᵀ tanh(W h + b).

    Args:
        words: Size of the vocabulary.
        word_dim: Length of a word vector, and size of the LSTM in each direction.
        dim: Dimensions of the joint space.
        attention: Whether all words are used, or only the last state of each direction.
        dropout: Dropout of the input of the last layer.
    """

    def __init__(self, words: int, *, word_dim: int, dim: int, attention: bool, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)
        self.lstm = nn.LSTM(word_dim, word_dim, bidirectional=True, batch_first=True)
        wide = 2 * word_dim
        self.attention = nn.Sequential(nn.Linear(wide, wide), nn.Tanh(), nn.Linear(wide, 1)) if attention else None
        self.norm = nn.BatchNorm1d(wide)
        self.out = nn.Linear(wide, dim)
        self.dropout = dropout

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(N, dim) unit vectors, from (T,) word ids, sentence after sentence, and (N,) number of words, at least 1."""
        states, ends, there = self._states(ids, lengths)
        read = ends
        if self.attention is not None:
            read = (_weights(self.attention, states, there)[:, :, None] * states).sum(1)
        x = functional.dropout(self.norm(read), self.dropout, self.training)
        return functional.normalize(self.out(x).float(), dim=-1)

    def attention_weights(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(T,) weight of each word (Fig. 7), with sum 1 in a sentence; ``ValueError`` without attention."""
        if self.attention is None:
            raise ValueError("the encoder has no attention")
        states, _, there = self._states(ids, lengths)
        return _weights(self.attention, states, there)[there]

    def _states(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The LSTM's states at every word, its last state in each direction, and a mask of words.

        Returns:
            (N, L, 2 word_dim), (N, 2 word_dim), and (N, L) bool, with L words in the longest sentence.
        """
        sequences = self.embedding(ids).split(lengths.tolist())
        packed, (ends, _) = self.lstm(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
        states, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        there = torch.arange(states.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]
        return states.float(), torch.cat([ends[0], ends[1]], 1).float(), there


def _weights(attention: nn.Module, states: Tensor, there: Tensor) -> Tensor:
    """(N, L) weights, 0 for padding."""
    scores: Tensor = attention(states)[:, :, 0].float()
    return scores.masked_fill(~there, -torch.inf).softmax(1)
