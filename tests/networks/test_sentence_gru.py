"""A second GRU over the sentences of a document (Hessel 2019, footnote 19), against GRU cells by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from iconotext.errors import SettingError
from iconotext.networks.recurrent import WordEncoder
from iconotext.recipe import make_recipe

IDS, LENGTHS = torch.tensor([1, 2, 3, 1, 2, 8, 8, 4, 5]), torch.tensor([3, 2, 1, 1, 2])


def encoder(**changes) -> WordEncoder:
    torch.manual_seed(0)
    settings = {"word_dim": 6, "dim": 10, "dropout": 0.5, "dropout_at": "output", "sentence_gru": True}
    return WordEncoder(9, **settings | changes).eval()


def by_hand(model: WordEncoder, counts: list[int]) -> torch.Tensor:
    """Each document alone, sentence after sentence: no batch, no padding, no packing."""
    gru = model.sentence_gru
    cell = torch.nn.GRUCell(10, 10)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    cell.load_state_dict({name: getattr(gru, f"{name}_l0") for name in names})
    found = []
    for document in model.states(IDS, LENGTHS).split(counts):
        state = torch.zeros(1, 10)
        for sentence in document:
            state = cell(sentence[None], state)
            found.append(state)
    return functional.normalize(torch.cat(found), dim=1)


@pytest.mark.parametrize("counts", [[5], [1, 4], [2, 1, 2], [1, 1, 1, 1, 1]])
def test_sentences_are_read_in_the_order_of_their_document(counts):
    model = encoder()
    assert torch.allclose(model(IDS, LENGTHS, counts), by_hand(model, counts), atol=1e-6)


def test_without_counts_each_sentence_is_a_document():
    model = encoder()
    assert torch.equal(model(IDS, LENGTHS), model(IDS, LENGTHS, [1] * 5))
    assert model.vectors(torch.zeros(0, 10)).shape == (0, 10)


def test_a_replaced_sentence_stands_among_the_unchanged_rest():
    model = encoder()
    states = model.states(IDS, LENGTHS)
    others = torch.randn(3, 10)
    found = model.in_place(others, states, [0, 4, 2])
    for row, other, place in zip(found, others, (0, 4, 2), strict=True):
        changed = states.clone()
        changed[place] = other
        assert torch.allclose(row, model.vectors(changed, [5])[place], atol=1e-6)


def test_both_grus_learn_and_dropout_comes_after_them():
    model = encoder().train()
    torch.manual_seed(1)
    vectors = model(IDS, LENGTHS, [2, 3])
    assert 0.3 < (vectors == 0).float().mean() < 0.7
    (vectors * torch.randn(5, 10)).sum().backward()
    for gru in (model.gru, model.sentence_gru):
        assert all(weight.grad.abs().sum() > 0 for weight in gru.parameters())


def test_bf16_is_close():
    model = encoder()
    with torch.autocast("cpu", torch.bfloat16):
        half = model(IDS, LENGTHS, [2, 3])
    assert half.dtype == torch.float32
    np.testing.assert_allclose(half.detach(), model(IDS, LENGTHS, [2, 3]).detach(), atol=0.03)


@pytest.mark.parametrize("kind", ["single-pair", "labelled-pairs"])
def test_it_is_for_whole_documents(kind):
    values = {"name": "x", "text": {"sentence_gru": True}, "similarity": {"kind": kind}}
    with pytest.raises(SettingError, match=r"text\.sentence_gru reads whole documents"):
        make_recipe(values, source="test")
