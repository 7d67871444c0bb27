from __future__ import annotations

import pytest

from iconotext.recipe import load_recipe
from iconotext.train.run import train
from iconotext_papers.analyses.examples import attention_of
from tests.support.training import write_pairs

SMALL = ["features.image=features.npy", "dim=8", "text.word_dim=6", "training.epochs=1", "training.batch=24"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention")
    corpus = write_pairs(folder)
    for name in ("base", "cmca"):
        train(load_recipe(f"alikhani2021/{name}", SMALL), [corpus], folder / name)
    return folder


@pytest.mark.slow
def test_the_words_and_their_weights_and_what_the_model_does_not_know(models):
    words_of = attention_of(str(models / "cmca"))
    assert words_of is not None
    words = words_of("Once upon a zebra, thing3!")
    assert [each.word for each in words] == ["once", "upon", "a", "zebra", ",", "thing3", "!"]
    assert [each.word for each in words if not each.known] == ["zebra", ",", "!"]
    assert sum(each.weight for each in words) == pytest.approx(1, abs=1e-5)
    assert attention_of(str(models / "base")) is None
