"""A GRU over sentences of different lengths, computing only what there is: no padding, and few large matrix products.

On a CPU the time of training is nearly all in here. PyTorch's own GRU, given packed sentences, adds a (3H, H) gradient
of the recurrent weights for every word position; here it is one product at the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def final_states(words: Tensor, rows: Tensor, lengths: Tensor, gru: nn.GRU) -> Tensor:
    """The state of the GRU after the last word of each sentence (Cho et al. 2014, as torch.nn.GRU computes it).

    Args:
        words: (U, E) word vectors; a word that stands in several places needs to be there once.
        rows: (T,) the row of ``words`` at each place, sentence after sentence.
        lengths: (N,) words of each sentence, from 1; they sum to T.
        gru: One layer, one direction; H its hidden size.

    Returns:
        (N, H), in the order of the sentences.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    longest = int(lengths.max())
    sorted_lengths = lengths[order]
    steps = torch.arange(longest, device=lengths.device)
    active = (sorted_lengths[None, :] > steps[:, None]).sum(1).tolist()  # sentences that have a word at each position
    starts = (lengths.cumsum(0) - lengths)[order]
    packed = torch.cat([rows[starts[:count] + step] for step, count in enumerate(active)])
    if words.is_cuda:  # cuDNN's is the fastest there
        sequence = nn.utils.rnn.PackedSequence(words[packed], torch.tensor(active))
        last: Tensor = gru(sequence)[1][0]
    else:
        last = _FinalStates.apply(  # type: ignore[no-untyped-call]
            words, packed, active, gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0
        )
    return last[torch.argsort(order)]


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
        kind = words.device.type
        product = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else words.dtype
        with torch.autocast(kind, enabled=False):
            h = w_hidden.shape[1]
            w_hidden_cast, words_cast = w_hidden.to(product), words.to(product)
            projected = (words_cast @ w_input.to(product).t()).to(words.dtype) + b_input  # (U, 3H)
            inputs = projected[packed]  # (T, 3H)
            inputs[:, : 2 * h] += b_hidden[: 2 * h]
            b_new = b_hidden[2 * h :]
            gates = torch.empty_like(inputs)  # r, z, n
            recurrent_new = inputs.new_empty(len(inputs), h)  # W_hn h + b_hn
            before = inputs.new_empty(len(inputs), h)  # the state that each word finds
            state = inputs.new_zeros(active[0], h)
            at = 0
            for step, count in enumerate(active):
                here = slice(at, at + count)
                at += count
                own = state[:count]
                before[here] = own
                rz, new = gates[here, : 2 * h], gates[here, 2 * h :]
                if step:
                    recurrent = (own.to(product) @ w_hidden_cast.t()).to(words.dtype)
                    torch.add(inputs[here, : 2 * h], recurrent[:, : 2 * h], out=rz)
                    torch.add(recurrent[:, 2 * h :], b_new, out=recurrent_new[here])
                else:  # the first state is zero
                    rz.copy_(inputs[here, : 2 * h])
                    recurrent_new[here] = b_new
                rz.sigmoid_()
                torch.addcmul(inputs[here, 2 * h :], rz[:, :h], recurrent_new[here], out=new)
                new.tanh_()
                torch.lerp(new, own, rz[:, h:], out=own)  # (1 - z) n + z h
        ctx.save_for_backward(words, packed, w_input, w_hidden, gates, recurrent_new, before)
        ctx.active, ctx.product = active, product
        return state

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        words, packed, w_input, w_hidden, gates, recurrent_new, before = ctx.saved_tensors
        product, active = ctx.product, ctx.active
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
            torch.mul(d * (1 - z), 1 - n * n, out=d_new)
            torch.mul(d * (before[here] - n), z * (1 - z), out=d_inputs[here, h : 2 * h])
            torch.mul(d_new * recurrent_new[here], r * (1 - r), out=d_inputs[here, :h])
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
