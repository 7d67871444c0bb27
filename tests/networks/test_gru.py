from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from iconotext.networks import recurrent as module
from iconotext.networks.projection import Projection
from iconotext.networks.recurrent import WordEncoder, final_states

LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=8)


def one_by_one(vectors, lengths, gru):
    """PyTorch's GRU, a sentence at a time."""
    return torch.stack([gru(sentence[None])[1][0, 0] for sentence in vectors.split(lengths)])


def problem(lengths, words=5, width=3, hidden=4, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    gru = nn.GRU(width, hidden, batch_first=True, dtype=dtype)
    table = torch.randn(words, width, dtype=dtype, requires_grad=True)
    rows = torch.randint(words, (sum(lengths),))
    return gru, table, rows, torch.tensor(lengths)


@settings(deadline=None, max_examples=40)
@given(LENGTHS, st.integers(0, 1000))
def test_states_and_gradients_are_those_of_torch_sentence_by_sentence(lengths, seed):
    gru, table, rows, counts = problem(lengths, seed=seed)
    ours = final_states(table, rows, counts, gru)
    theirs = one_by_one(table[rows], lengths, gru)
    assert torch.allclose(ours, theirs, atol=1e-12)
    weight = torch.randn_like(ours)
    wanted = [table, *gru.parameters()]
    for mine, other in zip(
        torch.autograd.grad((ours * weight).sum(), wanted),
        torch.autograd.grad((theirs * weight).sum(), wanted),
        strict=True,
    ):
        assert torch.allclose(mine, other, atol=1e-12)


@pytest.mark.parametrize("at_once", [1, 3, 1024])
def test_without_gradients_the_states_are_the_same(monkeypatch, at_once):
    monkeypatch.setattr(module, "BATCH", at_once)
    gru, table, rows, counts = problem([3, 1, 6, 6, 2, 1, 4])
    with torch.inference_mode():
        quick = final_states(table, rows, counts, gru)
    assert torch.allclose(quick, final_states(table, rows, counts, gru).detach(), atol=1e-13)


def test_gradient_is_that_of_finite_differences():
    gru, table, rows, counts = problem([2, 4, 1], words=3, width=2, hidden=2)
    parameters = tuple(gru.parameters())

    def states(words, w_input, w_hidden, b_input, b_hidden):
        return module._FinalStates.apply(
            words, *module._packed(rows, torch.tensor([2, 0, 6]), torch.tensor([4, 2, 1])), w_input, w_hidden, b_input,
            b_hidden,
        )  # fmt: skip

    assert counts.tolist() == [2, 4, 1]
    assert torch.autograd.gradcheck(states, (table, *parameters))


def test_word_vectors_that_need_no_gradient():
    gru, table, rows, counts = problem([2, 3])
    final_states(table.detach(), rows, counts, gru).sum().backward()
    assert gru.weight_ih_l0.grad is not None


@pytest.mark.parametrize("gradients", [True, False])
def test_bf16_is_close(gradients):
    gru, table, rows, counts = problem([5, 20, 11], width=32, hidden=64, dtype=torch.float32)
    exact = final_states(table, rows, counts, gru)
    with torch.set_grad_enabled(gradients), torch.autocast("cpu", torch.bfloat16):
        close = final_states(table, rows, counts, gru)
    assert close.dtype == torch.float32
    assert torch.allclose(exact, close, atol=0.03)
    assert not torch.equal(exact, close)
    if gradients:
        for one, other in zip(
            torch.autograd.grad(exact.sum(), list(gru.parameters())),
            torch.autograd.grad(close.sum(), list(gru.parameters())),
            strict=True,
        ):
            assert functional.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.999


# The encoders


def encoder(**changes):
    torch.manual_seed(0)
    return WordEncoder(9, **{"word_dim": 6, "dim": 50, "dropout": 0.5, "dropout_at": "output"} | changes)


IDS, COUNTS = torch.tensor([1, 2, 3, 1, 2, 8, 8]), torch.tensor([3, 3, 1])


def test_sentences_have_length_one_and_do_not_depend_on_their_neighbours():
    model = encoder().eval()
    whole = model(IDS, COUNTS)
    assert torch.allclose(whole.norm(dim=1), torch.ones(3))
    assert torch.allclose(whole[2:], model(IDS[6:], COUNTS[2:]), atol=1e-6)
    assert torch.allclose(whole[:1], model(IDS[:3], COUNTS[:1]), atol=1e-6)


def test_dropout_on_the_output_takes_numbers_of_each_sentence_before_its_length_is_one():
    model = encoder()
    torch.manual_seed(3)
    dropped = model(IDS, COUNTS)
    whole = model.eval()(IDS, COUNTS)
    gone = dropped == 0
    assert 0.3 < gone.float().mean() < 0.7
    assert not torch.equal(gone[0], gone[1])
    assert torch.allclose(dropped.norm(dim=1), torch.ones(3))
    left = functional.normalize(torch.where(gone, 0.0, whole), dim=1)
    assert torch.allclose(dropped, left, atol=1e-6)


def test_dropout_on_the_input_takes_dimensions_of_all_words_of_a_sentence():
    model = encoder(dropout_at="input")
    torch.manual_seed(3)
    dropped = model(IDS, COUNTS)
    torch.manual_seed(3)
    kept = functional.dropout(torch.ones(3, 6), 0.5)
    vectors = model.embedding.weight[IDS] * kept.repeat_interleave(COUNTS, 0)
    wanted = functional.normalize(one_by_one(vectors, COUNTS.tolist(), model.gru), dim=1)
    assert torch.allclose(dropped, wanted, atol=1e-6)
    assert (dropped != 0).all()


@pytest.mark.parametrize(("hidden", "at"), [(0, "output"), (0, "input"), (7, "output"), (7, "input")])
def test_projection_drops_where_it_says(hidden, at):
    torch.manual_seed(0)
    model = Projection(20, dim=40, hidden=hidden, dropout=0.5, dropout_at=at)
    features = torch.randn(3, 20)
    torch.manual_seed(1)
    found = model(features)
    torch.manual_seed(1)
    x = functional.dropout(features, 0.5) if at == "input" else features
    if hidden:
        x = functional.gelu(model.hidden.forward(x))
        x = model.out(functional.dropout(x, 0.5) if at == "output" else x)
    else:
        x = model.out(x)
        x = functional.dropout(x, 0.5) if at == "output" else x
    assert torch.allclose(found, functional.normalize(x, dim=1))
    model.eval()
    assert torch.equal(model(features), model(features))
    assert torch.allclose(model(features).norm(dim=1), torch.ones(3))


def test_rescaled_features_have_one_length():
    torch.manual_seed(0)
    model = Projection(4, dim=3, hidden=0, dropout=0, dropout_at="output", rescale=True)
    features = torch.tensor([[3.0, 0, 4, 0]])
    wanted = functional.normalize(model.out(torch.tensor([[1.2, 0, 1.6, 0]])), dim=1)  # length √4
    assert torch.allclose(model(features), wanted)
    assert torch.allclose(model(1000 * features), wanted)
