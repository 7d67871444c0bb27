"""Sentence encoders that read words one after the other: GRU and LSTM.

On a CPU nearly all of the training time is spent in the GRU, so ``final_states`` computes it without padding and with
few large matrix products. PyTorch's GRU, given packed sentences, adds a (3H, H) gradient of the recurrent weights for
every word position; here the gradient is one product at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

BATCH = 1024
"""Sentences per batch without gradients; bounds memory."""


def final_states(words: Tensor, rows: Tensor, lengths: Tensor, gru: nn.GRU) -> Tensor:
    """Compute the state of a GRU after the last word of each sentence.

    The GRU is that of torch.nn.GRU: unlike that of Cho et al. 2014, its reset gate acts behind the matrix product.

    Args:
        words: (U, E) word vectors; a word that occurs several times may be given once.
        rows: (T,) the row of ``words`` at each word position, one sentence after the other.
        lengths: (N,) number of words of each sentence, at least 1, with sum T.
        gru: A GRU with one layer and one direction, of hidden size H.

    Returns:
        (N, H), in the order of the sentences, with the type of ``words``.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    starts = (lengths.cumsum(0) - lengths)[order]
    # Types are ignored here and at ``apply``: torch declares weights as Tensor | Module, and ``apply`` without types.
    w_input: Tensor = gru.weight_ih_l0  # type: ignore[assignment]
    w_hidden: Tensor = gru.weight_hh_l0  # type: ignore[assignment]
    b_input: Tensor = gru.bias_ih_l0  # type: ignore[assignment]
    b_hidden: Tensor = gru.bias_hh_l0  # type: ignore[assignment]
    if words.is_cuda:  # cuDNN's GRU is the fastest on a GPU
        packed, active = _packed(rows, starts, lengths[order])
        sequence = nn.utils.rnn.PackedSequence(words[packed], torch.tensor(active))
        last: Tensor = gru(sequence)[1][0].to(words.dtype)
    elif torch.is_grad_enabled():
        last = _FinalStates.apply(  # type: ignore[no-untyped-call]
            words, *_packed(rows, starts, lengths[order]), w_input, w_hidden, b_input, b_hidden
        )
    else:
        product = _product_type(words)
        with torch.autocast(words.device.type, enabled=False):
            projected = _projected(words, w_input, b_input, b_hidden, product)
            batches = zip(torch.split(starts, BATCH), torch.split(lengths[order], BATCH), strict=True)
            parts = [_last(projected, *_packed(rows, *batch), w_hidden, b_hidden, product) for batch in batches]
            last = torch.cat(parts)
    return last[torch.argsort(order)]  # back from longest first to the order of the sentences


def _packed(rows: Tensor, starts: Tensor, lengths: Tensor) -> tuple[Tensor, list[int]]:
    """Return the rows of all first words, then of all second ones, ..., longest sentence first; and their numbers."""
    steps = torch.arange(int(lengths[0]), device=lengths.device)
    active: list[int] = (lengths[None, :] > steps[:, None]).sum(1).tolist()
    return torch.cat([rows[starts[:count] + step] for step, count in enumerate(active)]), active


def _product_type(words: Tensor) -> torch.dtype:
    """Return the type for matrix products: that of autocast if it is on."""
    kind = words.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else words.dtype


def _projected(words: Tensor, w_input: Tensor, b_input: Tensor, b_hidden: Tensor, product: torch.dtype) -> Tensor:
    """Return (U, 3H), the term of each word in the gates, with all biases except that of n's recurrent part."""
    rz = len(b_input) * 2 // 3
    bias = b_input.clone()
    bias[:rz] += b_hidden[:rz]
    if product == words.dtype:
        return torch.addmm(bias, words, w_input.t())
    return (words.to(product) @ w_input.to(product).t()).to(words.dtype) + bias


def _step(gates: Tensor, recurrent_new: Tensor, state: Tensor, recurrent: Tensor | None, b_new: Tensor) -> None:
    """Read one word of each of n sentences, in place.

    Args:
        gates: (n, 3H) terms of the words; overwritten with r, z, n.
        recurrent_new: (n, H), overwritten with W_hn h + b_hn.
        state: (n, H) h; overwritten with the next state.
        recurrent: (n, 3H) W_h h; None for the first words, where h is 0.
        b_new: (H,) b_hn.
    """
    h = state.shape[1]
    rz, new = gates[:, : 2 * h], gates[:, 2 * h :]
    if recurrent is None:
        recurrent_new.copy_(b_new.expand_as(recurrent_new))
    else:
        rz += recurrent[:, : 2 * h]
        torch.add(recurrent[:, 2 * h :], b_new, out=recurrent_new)
    rz.sigmoid_()
    new.addcmul_(rz[:, :h], recurrent_new).tanh_()
    torch.lerp(new, state, rz[:, h:], out=state)  # (1 - z) n + z h


def _last(
    projected: Tensor, packed: Tensor, active: list[int], w_hidden: Tensor, b_hidden: Tensor, product: torch.dtype
) -> Tensor:
    """Compute only the last states, without the intermediate results that a gradient needs."""
    h = w_hidden.shape[1]
    w_hidden_cast = w_hidden.to(product)
    state = projected.new_zeros(active[0], h)
    at = 0
    for step, count in enumerate(active):
        hidden = state[:count]
        gates = projected[packed[at : at + count]]
        at += count
        recurrent = (hidden.to(product) @ w_hidden_cast.t()).to(hidden.dtype) if step else None
        _step(gates, hidden.new_empty(count, h), hidden, recurrent, b_hidden[2 * h :])
    return state


class _FinalStates(torch.autograd.Function):
    """The GRU with its gradient written out; gates stand side by side in the order r, z, n, as in torch.nn.GRU.

    Under autocast the matrix products are computed in its type, everything else in float32.
    """

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        packed: Tensor,
        active: list[int],
        w_input: Tensor,
        w_hidden: Tensor,
        b_input: Tensor,
        b_hidden: Tensor,
    ) -> Tensor:
        product = _product_type(words)
        with torch.autocast(words.device.type, enabled=False):
            h = w_hidden.shape[1]
            w_hidden_cast = w_hidden.to(product)
            gates = _projected(words, w_input, b_input, b_hidden, product)[packed]  # (T, 3H): r, z, n
            recurrent_new = gates.new_empty(len(gates), h)  # W_hn h + b_hn
            before = gates.new_empty(len(gates), h)  # the state before each word
            state = gates.new_zeros(active[0], h)
            at = 0
            for step, count in enumerate(active):
                rows = slice(at, at + count)
                at += count
                hidden = state[:count]
                before[rows] = hidden
                recurrent = (hidden.to(product) @ w_hidden_cast.t()).to(hidden.dtype) if step else None
                _step(gates[rows], recurrent_new[rows], hidden, recurrent, b_hidden[2 * h :])
        ctx.save_for_backward(words, packed, w_input, w_hidden, gates, recurrent_new, before)
        ctx.active, ctx.product = active, product
        return state

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        words, packed, w_input, w_hidden, gates, recurrent_new, before = ctx.saved_tensors
        product, active = ctx.product, ctx.active
        of_sigmoid, of_tanh = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
        h = w_hidden.shape[1]
        w_hidden_cast = w_hidden.to(product)
        d_state = gradients[0].clone()  # (N, H); longest sentence first, so rows from ``count`` on end before ``step``
        d_inputs = torch.empty_like(gates)
        d_recurrent_new = torch.empty_like(recurrent_new)
        at = len(gates)
        for step in reversed(range(len(active))):
            count = active[step]
            at -= count
            rows = slice(at, at + count)
            r, z, n = gates[rows, :h], gates[rows, h : 2 * h], gates[rows, 2 * h :]
            d = d_state[:count]
            d_new = d_inputs[rows, 2 * h :]
            of_tanh.grad_input(torch.addcmul(d, d, z, value=-1), n, grad_input=d_new)  # d (1 - z) (1 - n²)
            of_sigmoid.grad_input((before[rows] - n).mul_(d), z, grad_input=d_inputs[rows, h : 2 * h])
            of_sigmoid.grad_input(d_new * recurrent_new[rows], r, grad_input=d_inputs[rows, :h])
            torch.mul(d_new, r, out=d_recurrent_new[rows])
            if step:
                d_hidden = torch.cat([d_inputs[rows, : 2 * h], d_recurrent_new[rows]], 1).to(product)
                torch.addcmul((d_hidden @ w_hidden_cast).to(d.dtype), d, z, out=d)
        d_projected = d_inputs.new_zeros(len(words), 3 * h).index_add_(0, packed, d_inputs)  # (U, 3H)
        d_projected_cast = d_projected.to(product)
        d_words = (d_projected_cast @ w_input.to(product)).to(words.dtype) if ctx.needs_input_grad[0] else None
        d_w_input = (d_projected_cast.t() @ words.to(product)).to(w_input.dtype)
        d_b_input = d_projected.sum(0)
        # Positions after the first; there the state was zero.
        later = slice(active[0], None)
        old = before[later].to(product)
        d_w_hidden = torch.empty_like(w_hidden)
        d_w_hidden[: 2 * h] = d_inputs[later, : 2 * h].to(product).t() @ old
        d_w_hidden[2 * h :] = d_recurrent_new[later].to(product).t() @ old
        d_b_hidden = torch.cat([d_b_input[: 2 * h], d_recurrent_new.sum(0)])
        return d_words, None, None, d_w_input, d_w_hidden, d_b_input, d_b_hidden


class WordEncoder(nn.Module):
    """Turns the word ids of sentences into unit vectors with a GRU (Hessel 2019 §3.1)."""

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
            counts: (D,) number of sentences of each document, one document after the other; None if each sentence is
                read alone.

        Returns:
            (N, dim) unit vectors.
        """
        return self.vectors(self.states(ids, lengths), counts)

    def states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Compute (N, dim) float32, the last state of the GRU over the words of each sentence."""
        drop = self.dropout if self.training else 0.0
        if drop and self.dropout_at == "input":
            # Dropout differs between sentences, so each word position needs its own vector.
            mask = functional.dropout(torch.ones(len(lengths), self.embedding.embedding_dim, device=ids.device), drop)
            words = functional.embedding(ids, self.embedding.weight) * mask.repeat_interleave(lengths, 0)
            rows = torch.arange(len(ids), device=ids.device)
        else:
            distinct, rows = torch.unique(ids, return_inverse=True)
            words = functional.embedding(distinct, self.embedding.weight)
        return final_states(words, rows, lengths, self.gru)  # float32, under autocast too

    def vectors(self, states: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """Turn (N, dim) last states of sentences into (N, dim) unit vectors; ``counts`` is as in ``forward``."""
        if self.sentence_gru is not None and len(states):
            documents = list(torch.split(states, [1] * len(states) if counts is None else list(counts)))
            read, _ = self.sentence_gru(nn.utils.rnn.pack_sequence(documents, enforce_sorted=False))
            states = torch.cat(nn.utils.rnn.unpack_sequence(read)).float()
        if self.dropout_at == "output":
            states = functional.dropout(states, self.dropout, self.training)
        return functional.normalize(states, dim=-1)

    def in_place(self, states: Tensor, document: Tensor, places: Sequence[int]) -> Tensor:
        """Encode n sentences, each as the replacement of a sentence in an otherwise unchanged document.

        Args:
            states: (n, dim) last states of the sentences.
            document: (S, dim) last states of all sentences of the document.
            places: (n,) number of the sentence that each of them replaces.

        Returns:
            (n, dim) unit vectors.
        """
        if self.sentence_gru is None:
            raise ValueError("the encoder reads each sentence alone")
        read, _ = self.sentence_gru(document[None])
        before = functional.pad(read[0], (0, 0, 1, 0))[list(places)]  # states before each place
        return functional.normalize(self.sentence_gru(states[:, None], before[None])[0][:, 0], dim=-1)


class WordLSTM(nn.Module):
    """Turns the word ids of sentences into unit vectors with a two-way LSTM (Alikhani 2021, "Network Details").

    The paper leaves two points open. Here each direction of the LSTM has the size of a word vector, and the query of
    the attention is made of the LSTM's last states.

    Args:
        attention: ``dot-product``: a word's weight is the softmax, over the words of the sentence, of qᵀk / √d (Vaswani
            2017, which the paper cites), with the query q = W_q e + b_q of the d last states e, and the key k = W_k h +
            b_k of the word's states h. ``additive``: of vᵀ tanh(W h + b). ``none``: only the last states are read.
    """

    def __init__(
        self,
        words: int,
        *,
        word_dim: int,
        dim: int,
        attention: Literal["none", "dot-product", "additive"],
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_dim)
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)
        self.lstm = nn.LSTM(word_dim, word_dim, bidirectional=True, batch_first=True)
        wide = 2 * word_dim
        self.attention: nn.Module | None = None
        if attention == "dot-product":
            self.attention = nn.ModuleDict({"query": nn.Linear(wide, wide), "key": nn.Linear(wide, wide)})
        elif attention == "additive":
            self.attention = nn.Sequential(nn.Linear(wide, wide), nn.Tanh(), nn.Linear(wide, 1))
        self.norm = nn.BatchNorm1d(wide)
        self.out = nn.Linear(wide, dim)
        self.dropout = dropout

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode N sentences.

        Args:
            ids: (T,) word ids, one sentence after the other.
            lengths: (N,) number of words of each sentence, at least 1.

        Returns:
            (N, dim) unit vectors.
        """
        states, ends, mask = self._states(ids, lengths)
        read = ends
        if self.attention is not None:
            read = (_weights(self.attention, states, ends, mask)[:, :, None] * states).sum(1)
        x = functional.dropout(self.norm(read), self.dropout, self.training)
        return functional.normalize(self.out(x).float(), dim=-1)

    def attention_weights(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the (T,) weight of each word (Fig. 7); the weights of a sentence have the sum 1."""
        if self.attention is None:
            raise ValueError("the encoder has no attention")
        states, ends, mask = self._states(ids, lengths)
        return _weights(self.attention, states, ends, mask)[mask]

    def _states(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the LSTM's states at every word, its last state in each direction, and a mask of words.

        With L words in the longest sentence, they are (N, L, 2 word_dim), (N, 2 word_dim), and (N, L) bool.
        """
        sequences = self.embedding(ids).split(lengths.tolist())
        packed, (ends, _) = self.lstm(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
        states, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        mask = torch.arange(states.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]
        return states.float(), torch.cat([ends[0], ends[1]], 1).float(), mask


def _weights(attention: nn.Module, states: Tensor, ends: Tensor, mask: Tensor) -> Tensor:
    """Return (N, L) attention weights, 0 for padding."""
    if isinstance(attention, nn.ModuleDict):
        queries, keys = attention["query"](ends), attention["key"](states)  # (N, d) and (N, L, d)
        scores: Tensor = (keys @ queries[:, :, None])[:, :, 0].float() * queries.shape[1] ** -0.5
    else:
        scores = attention(states)[:, :, 0].float()
    return scores.masked_fill(~mask, -torch.inf).softmax(1)
