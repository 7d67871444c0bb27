from __future__ import annotations

import json
from contextlib import closing
from functools import partial

import pytest

from iconotext.cli.train import Bars, _Watcher
from iconotext.recipe import dump_recipe, load_recipe, shipped_recipes
from iconotext.train import train as train_model
from tests.support import program
from tests.support.training import small_recipe, write_synthetic

run = partial(program.run, "train")


@pytest.fixture
def corpus(tmp_path):
    return write_synthetic(tmp_path / "corpus", 20)


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(dump_recipe(small_recipe(name="mine")))
    return path


def test_train_prints_epochs_and_figures_and_is_not_done_twice(tmp_path, corpus, recipe, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(recipe, "--corpus", corpus, "--set", "training.epochs=2")
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["epoch 1", "epoch 2"]
    assert "(shown only; it chooses nothing)" in result.stderr
    assert result.stdout.startswith("models/mine: best epoch ")
    assert "of 2, validation loss 0." in result.stdout
    assert "test: AUC " in result.stdout
    assert "(4 documents with gold links)" in result.stdout
    assert json.loads((tmp_path / "models/mine/metrics.json").read_text())["epochs"] == 2
    again = run(recipe, "--corpus", corpus, "--set", "training.epochs=2")
    assert "models/mine is trained already" in again.stderr
    assert again.stdout == result.stdout
    other = run(recipe, "--corpus", corpus, "--set", "training.epochs=3", status=1)
    assert "differs in training.epochs; name another folder" in other.stderr


def test_an_interrupted_training_goes_on(tmp_path, corpus, recipe):

    class Stop:
        def step(self, epoch, *_):
            if epoch == 2:
                raise KeyboardInterrupt

        def epoch(self, row):
            pass

    with pytest.raises(KeyboardInterrupt):
        train_model(small_recipe(name="mine"), [corpus], tmp_path / "model", watcher=Stop())
    result = run(recipe, "-c", corpus, "-o", tmp_path / "model")
    assert f"going on with the training that was interrupted in {tmp_path / 'model'}" in result.stderr
    assert [line.split(":")[0] for line in result.stderr.splitlines()[1:]] == ["epoch 2", "epoch 3"]


def test_a_model_to_start_from_is_enough(tmp_path, corpus, recipe):
    run(recipe, "--corpus", corpus, "--output", tmp_path / "first", "--set", "training.epochs=1")
    begun = run("--init", tmp_path / "first", "--corpus", corpus, "--output", tmp_path / "second", "--set", "training.epochs=1",
        "--set", "training.warmup=0")  # fmt: skip
    adapted = load_recipe(tmp_path / "second" / "recipe.toml")
    assert "note: 36 pictures to learn from, where training was seen to help from 200 on" in begun.stderr
    assert (adapted.name, adapted.init) == ("adapt", str(tmp_path / "first"))
    with_recipe = run(recipe, "-c", corpus, "-o", tmp_path / "third", "--init", tmp_path / "first")
    assert "best epoch" in with_recipe.stdout


def test_list_names_the_recipes_that_ship():
    lines = [line.split(maxsplit=1) for line in run("--list").stdout.splitlines()]
    assert [name for name, _ in lines] == list(shipped_recipes())
    assert dict(lines)["hessel2019/dense"].startswith("DC of Tables 2 and 3: every sentence has an image")
    for _, about in lines:
        assert about.rstrip()[-1] in ".)"  # all of it, and on one line
        assert len(about.rstrip()) < 115


def test_what_is_missing_is_wrong_usage(tmp_path, recipe):
    assert "train needs a recipe" in run(status=2).stderr
    assert "train needs a corpus: --corpus FILE" in run(recipe, status=2).stderr
    run("--nonsense", status=2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "training.nope=1"], "training.nope: no such key"),
        (["--set", "training.epochs"], "give key=value"),
        (["--init", "nowhere"], "nowhere: no such model"),
        ([], "no such file"),
    ],
)
def test_known_errors_are_one_line(tmp_path, recipe, more, message):
    result = run(recipe, "-c", tmp_path / "nowhere.jsonl", "-o", tmp_path / "model", *more, status=1)
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "model").exists()


def test_an_unknown_recipe(tmp_path):
    assert "no recipe of this name ships" in run("nowhere", "-c", tmp_path / "c.jsonl", status=1).stderr
    assert "; did you mean adapt? There are adapt," in run("adpt", "-c", tmp_path / "c.jsonl", status=1).stderr


def test_the_bar_of_a_terminal(tmp_path, corpus, capsys):
    with closing(Bars()) as bars:
        recipe = small_recipe(training={"epochs": 1})
        train_model(recipe, [corpus], tmp_path / "m", report=bars.report, watcher=_Watcher(bars))
    assert "epoch 1: training loss" in capsys.readouterr().err
