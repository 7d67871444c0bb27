from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from iconotext.networks.transformer import Transformer, WordTransformer, by_length, mean_of_sequences
from tests.support.equations import affine, norm, pooled, weights_of

LENGTHS = torch.tensor([3, 1, 7, 3, 2])


def packed(lengths: Tensor, dim: int, seed: int = 0) -> Tensor:
    return torch.randn(int(lengths.sum()), dim, generator=torch.Generator().manual_seed(seed))


def pytorchs_own(ours: Transformer, dim: int, heads: int) -> nn.TransformerEncoder:
    """PyTorch's encoder with our weights: padded, masked, written by others."""
    layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0, activation="gelu", batch_first=True)
    theirs = nn.TransformerEncoder(layer, len(ours.layers), enable_nested_tensor=False)
    for to, own in zip(theirs.layers, ours.layers, strict=True):
        names = {
            "self_attn.in_proj_weight": "inward.weight",
            "self_attn.in_proj_bias": "inward.bias",
            "self_attn.out_proj.weight": "outward.weight",
            "self_attn.out_proj.bias": "outward.bias",
            "linear1.weight": "wide.weight",
            "linear1.bias": "wide.bias",
            "linear2.weight": "narrow.weight",
            "linear2.bias": "narrow.bias",
            "norm1.weight": "attended.weight",
            "norm1.bias": "attended.bias",
            "norm2.weight": "fed.weight",
            "norm2.bias": "fed.bias",
        }
        state = own.state_dict()
        to.load_state_dict({theirs_name: state[name] for theirs_name, name in names.items()})
    return theirs


def test_packed_sequences_are_encoded_as_padded_ones_are() -> None:
    torch.manual_seed(0)
    model = Transformer(16, layers=2, heads=4, dropout=0.3).eval()
    for parameter in model.parameters():  # biases and norms too
        nn.init.normal_(parameter, 0.1, 0.3)
    tokens = packed(LENGTHS, 16).requires_grad_()
    order, places = by_length(LENGTHS, 16)
    ours = model(tokens[places], LENGTHS[order])
    padded = nn.utils.rnn.pad_sequence(list(tokens.split(LENGTHS.tolist())), batch_first=True)
    mask = torch.arange(7) >= LENGTHS[:, None]
    theirs = pytorchs_own(model, 16, 4)(padded, src_key_padding_mask=mask)[~mask]
    torch.testing.assert_close(ours, theirs[places], atol=2e-5, rtol=1e-4)
    weights = torch.randn(ours.shape)
    (gradient,) = torch.autograd.grad((ours * weights).sum(), tokens, retain_graph=True)
    (expected,) = torch.autograd.grad((theirs[places] * weights).sum(), tokens)
    torch.testing.assert_close(gradient, expected, atol=1e-4, rtol=1e-3)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=9))
def test_the_order_by_length_keeps_sequences_whole(lengths: list[int]) -> None:
    order, places = by_length(torch.tensor(lengths), sum(lengths))
    assert order.tolist() == sorted(range(len(lengths)), key=lambda i: lengths[i])
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    assert places.tolist() == [starts[i] + j for i in order.tolist() for j in range(lengths[i])]


def test_means_of_sequences_by_hand() -> None:
    tokens = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    means = mean_of_sequences(tokens, torch.tensor([2, 0, 1]))
    torch.testing.assert_close(means, torch.tensor([[2.0, 3.0], [0.0, 0.0], [5.0, 6.0]]))


def word_transformer(dropout: float = 0.0, layers: int = 2) -> WordTransformer:
    torch.manual_seed(1)
    return WordTransformer(20, word_dim=6, max_tokens=7, dim=8, layers=layers, heads=2, dropout=dropout)


@pytest.mark.parametrize("layers", [2, 0])
def test_sentences_are_encoded_as_equations_6_and_7_say(layers: int) -> None:
    model = word_transformer(layers=layers)
    for parameter in model.parameters():
        nn.init.normal_(parameter, 0.1, 0.5)
    weights, ids = weights_of(model), torch.arange(16)
    found = model(ids, LENGTHS).detach().numpy()
    for sentence, vector in zip(ids.split(LENGTHS.tolist()), found, strict=True):  # the equations see one alone
        words = [
            weights["embedding.weight"][n] + weights["position.weight"][k] for k, n in enumerate(sentence.tolist())
        ]
        tokens = [affine(norm(word, weights, "norm"), weights, "inward") for word in words]
        assert vector == pytest.approx(pooled(tokens, weights, layers, heads=2), abs=1e-5)


def test_what_is_dropped_is_dropped_only_in_training() -> None:
    model = word_transformer(dropout=0.5)
    ids, lengths = torch.arange(16), LENGTHS
    assert not torch.equal(model(ids, lengths), model(ids, lengths))
    model.eval()
    assert torch.equal(model(ids, lengths), model(ids, lengths))
