from __future__ import annotations

import json

import pytest

from iconotext.encoders.stored_model import load_model
from iconotext.recipe import load_recipe
from iconotext.train.run import train
from iconotext_papers.analyses.examples import attention_of
from tests.support.program import printed as run
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
    [found] = json.loads(run("papers", "analyze", "attention", models / "cmca", "Once upon a zebra, thing3!", "--json"))
    words = found["words"]
    assert [word["word"] for word in words] == ["once", "upon", "a", "zebra", ",", "thing3", "!"]
    assert [word["word"] for word in words if not word["known"]] == ["zebra", ",", "!"]
    assert sum(word["weight"] for word in words) == pytest.approx(1, abs=1e-5)
    stored = load_model(models / "cmca")
    assert stored.vocabulary is not None
    shown = run("papers", "analyze", "attention", models / "cmca", "Once upon a zebra", "here is").splitlines()
    assert [line.split()[0] for line in shown if line] == ["once", "upon", "a", "(zebra)", "here", "is"]
    assert any(line.endswith("█" * 30) for line in shown)
    words_of = attention_of(str(models / "cmca"))
    assert words_of is not None
    assert [each.word for each in words_of("here is")] == ["here", "is"]
    assert attention_of(str(models / "base")) is None


@pytest.mark.parametrize("model", ["base", "default"])
def test_a_model_without_attention_is_refused(models, model):
    name = models / model if model == "base" else model
    said = run("papers", "analyze", "attention", name, "A sentence.", status=1)
    assert "has no attention over words" in said
