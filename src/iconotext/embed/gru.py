"""A GRU over sentences of different lengths, computing only what there is: no padding, and few large matrix products.

On a CPU the time of training is nearly all in here. PyTorch's own GRU, given packed sentences, adds a (3H, H) gradient
of the recurrent weights for every word position; here it is one product at the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

AT_ONCE = 1024
"""Sentences that are worked on at once where no gradient is wanted; bounds memory."""


def final_states(words: Tensor, rows: Tensor, lengths: Tensor, gru: nn.GRU) -> Tensor:
    """The state of the GRU after the last word of each sentence (Cho et al. 2014, as torch.nn.GRU computes it).

    Args:
        words: (U, E) word vectors; a word that stands in several places needs to be there once.
        rows: (T,) the row of ``words`` at each place, sentence after sentence.
        lengths: (N,) words of each sentence, from 1; they sum to T.
        gru: One layer, one direction; H its hidden size.

    Returns:
        (N, H), in the order of the sentences, with the type of ``words``.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    starts = (lengths.cumsum(0) - lengths)[order]
    # torch declares the weights of layers as Tensor | Module, and autograd.Function.apply not at all.
    w_input: Tensor = gru.weight_ih_l0  # type: ignore[assignment]
    w_hidden: Tensor = gru.weight_hh_l0  # type: ignore[assignment]
    b_input: Tensor = gru.bias_ih_l0  # type: ignore[assignment]
    b_hidden: Tensor = gru.bias_hh_l0  # type: ignore[assignment]
    if words.is_cuda:  # cuDNN's is the fastest there
        packed, active = _packed(rows, starts, lengths[order])
        sequence = nn.utils.rnn.PackedSequence(words[packed], torch.tensor(active))
        last: Tensor = gru(sequence)[1][0].to(words.dtype)
    elif torch.is_grad_enabled():
        last = _FinalStates.apply(  # type: ignore[no-untyped-call]  # as said above
            words, *_packed(rows, starts, lengths[order]), w_input, w_hidden, b_input, b_hidden
        )
    else:
        product = _product_type(words)
        with torch.autocast(words.device.type, enabled=False):
            projected = _projected(words, w_input, b_input, b_hidden, product)
            pieces = zip(torch.split(starts, AT_ONCE), torch.split(lengths[order], AT_ONCE), strict=True)
            parts = [_last(projected, *_packed(rows, *piece), w_hidden, b_hidden, product) for piece in pieces]
            last = torch.cat(parts)
    return last[torch.argsort(order)]


def _packed(rows: Tensor, starts: Tensor, lengths: Tensor) -> tuple[Tensor, list[int]]:
    """The rows of all first words, then of all second ones, ..., longest sentence first; and how many of each."""
    steps = torch.arange(int(lengths[0]), device=lengths.device)
    active: list[int] = (lengths[None, :] > steps[:, None]).sum(1).tolist()
    return torch.cat([rows[starts[:count] + step] for step, count in enumerate(active)]), active


def _product_type(words: Tensor) -> torch.dtype:
    """The type that matrix products are computed in: that of autocast, where it is on."""
    kind = words.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else words.dtype


def _projected(words: Tensor, w_input: Tensor, b_input: Tensor, b_hidden: Tensor, product: torch.dtype) -> Tensor:
    """(U, 3H) what each word adds to the gates, with all biases but that of n's recurrent part."""
    rz = len(b_input) * 2 // 3
    bias = b_input.clone()
    bias[:rz] += b_hidden[:rz]
    if product == words.dtype:
        return torch.addmm(bias, words, w_input.t())
    return (words.to(product) @ w_input.to(product).t()).to(words.dtype) + bias


def _step(gates: Tensor, recurrent_new: Tensor, state: Tensor, recurrent: Tensor | None, b_new: Tensor) -> None:
    """One word of each sentence, in place.

    Args:
        gates: (n, 3H) what the words add; becomes r, z, n.
        recurrent_new: (n, H) becomes W_hn h + b_hn.
        state: (n, H) becomes the next state.
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
    """The last states alone: nothing is kept that only the gradient needs."""
    h = w_hidden.shape[1]
    w_hidden_cast = w_hidden.to(product)
    state = projected.new_zeros(active[0], h)
    at = 0
    for step, count in enumerate(active):
        own = state[:count]
        gates = projected[packed[at : at + count]]
        at += count
        recurrent = (own.to(product) @ w_hidden_cast.t()).to(own.dtype) if step else None
        _step(gates, own.new_empty(count, h), own, recurrent, b_hidden[2 * h :])
    return state


class _FinalStates(torch.autograd.Function):
    """Forward and backward by hand; gates r, z, n stand side by side in this order, as in torch.nn.GRU.

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
            before = gates.new_empty(len(gates), h)  # the state that each word finds
            state = gates.new_zeros(active[0], h)
            at = 0
            for step, count in enumerate(active):
                here = slice(at, at + count)
                at += count
                own = state[:count]
                before[here] = own
                recurrent = (own.to(product) @ w_hidden_cast.t()).to(own.dtype) if step else None
                _step(gates[here], recurrent_new[here], own, recurrent, b_hidden[2 * h :])
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
        d_state = gradients[0].clone()  # (N, H); rows beyond those active belong to shorter sentences
        d_inputs = torch.empty_like(gates)
        d_recurrent_new = torch.empty_like(recurrent_new)
        at = len(gates)
        for step in reversed(range(len(active))):
            count = active[step]
            at -= count
            here = slice(at, at + count)
            r, z, n = gates[here, :h], gates[here, h : 2 * h], gates[here, 2 * h :]
            d = d_state[:count]
            d_new = d_inputs[here, 2 * h :]
            of_tanh.grad_input(torch.addcmul(d, d, z, value=-1), n, grad_input=d_new)  # d (1 - z) (1 - n²)
            of_sigmoid.grad_input((before[here] - n).mul_(d), z, grad_input=d_inputs[here, h : 2 * h])
            of_sigmoid.grad_input(d_new * recurrent_new[here], r, grad_input=d_inputs[here, :h])
            torch.mul(d_new, r, out=d_recurrent_new[here])
            if step:
                d_hidden = torch.cat([d_inputs[here, : 2 * h], d_recurrent_new[here]], 1).to(product)
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
