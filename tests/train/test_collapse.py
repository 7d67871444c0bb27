"""A run that dies is stopped and told; what never left its start is marked."""

from __future__ import annotations

import pytest
import torch

from iconotext.errors import CollapseError
from iconotext.recipe import load_recipe
from iconotext.train import loop, train
from iconotext.train.batches import epoch_batches, planned_reads, read_ahead
from iconotext.train.checkpoint import Progress
from iconotext.train.collapse import collapse_of, has_ended, wants_remedy
from iconotext.train.loss import batch_loss, no_information_losses
from iconotext.train.prepare import prepare
from iconotext.train.run import finished
from tests.support.training import Stop, StopAt, log_of, metrics_of, small_recipe, weights_of


def row(loss, nothing=0.4, still=0.0, positive=0.5, train=0.45, step=5000):
    losses = {"train_loss": train, "validation_loss": loss, "no_information": nothing}
    return losses | {"step": step, "no_gradient": still, "positive_cosines": positive}


def after(*rows):
    return Progress(epoch=len(rows), history=list(rows))


AP = load_recipe("hessel2019/assignment", ["similarity.links=at-most"])
REMEDY = load_recipe("hessel2019/assignment", ["objective.remedy_epochs=4", "training.epochs=3"])


@pytest.mark.parametrize(
    ("rows", "dead"),
    [
        ([row(0.4, still=0.6)], True),
        ([row(0.4, still=0.5)], False),  # may come back
        ([row(0.4)], False),  # hard negatives stay there long before they learn
        ([row(0.4004, still=0.6)], False),
        ([row(0.0, still=1.0)], False),  # all is learned
        ([row(0.4, still=0.6), row(0.39)], False),
        ([row(3.0, nothing=None, still=1.0)], False),  # nothing is compared
    ],
)
def test_a_dead_run_has_both_signs(rows, dead):
    assert has_ended(after(*rows), 50) == dead
    assert has_ended(after(*rows), len(rows))


def test_what_is_said_of_a_run():
    assert collapse_of(after(row(0.41), row(0.3)), AP) is None
    dead = collapse_of(after(row(0.41), row(0.4, still=0.7, positive=0.0)), AP)
    assert (dead["epoch"], dead["learned"]) == (2, False)
    assert dead["why"] == (
        "training collapsed in epoch 2: the validation loss is 0.4, that of a model to which everything is alike, no "
        "cosine is positive, 70 % of the steps have no gradient. In another folder may help: similarity.links = "
        '"exactly", which always has a gradient; objective.remedy_epochs = 5, which begins such a run again with the '
        "mean of the negatives"
    )
    late = collapse_of(after(row(0.3), row(0.4, still=0.7)), AP)
    assert (late["epoch"], late["learned"]) == (2, True)
    assert "; the model is that of an earlier epoch" in late["why"]
    assert collapse_of(after(row(0.3), row(0.41)), AP)["why"].startswith("training fell back: no loss")
    flat = collapse_of(after(row(0.41), row(0.399)), AP)
    assert (flat["epoch"], flat["learned"]) == (None, False)
    assert "neither on its documents nor in validation was the loss 1 % below 0.4, that of" in flat["why"]
    short = collapse_of(after(row(0.41, step=16)), AP)
    assert short["why"].startswith("16 steps are too few: neither on its documents nor in validation was the loss")
    # Against the mean of the negatives, or by heart, more is learned than the hardest negatives of validation show.
    assert collapse_of(after(row(0.55, train=0.3), row(0.44, train=0.2)), AP) is None
    assert collapse_of(after(row(3.0, nothing=None)), AP) is None


def test_the_remedy_is_tried_once_where_the_recipe_has_one_and_nothing_was_learned():
    dead, flat = after(row(0.4, still=0.7)), after(row(0.41), row(0.41), row(0.41))
    assert [wants_remedy(each, REMEDY) for each in (dead, flat)] == [True, True]
    assert [wants_remedy(each, AP) for each in (dead, flat)] == [False, False]
    assert not wants_remedy(after(row(0.3), row(0.4, still=0.7)), REMEDY)
    assert not wants_remedy(after(row(0.41)), REMEDY)
    dead.collapsed = 1
    assert not wants_remedy(dead, REMEDY)


@pytest.mark.parametrize(
    "objective",
    [
        {"b": 3},
        {"intra_document": 0.5, "sub_document": 2.0, "margin": 0.3},
        {"kind": "softmax", "b": 4},
        {"kind": "logistic", "scale": 1.0, "bias": -2.0},
    ],
)
@pytest.mark.parametrize("kind", ["top-k", "assignment"])
def test_a_model_to_which_everything_is_alike_has_just_that_loss(corpus, tmp_path, kind, objective):
    recipe = small_recipe(similarity={"kind": kind}, objective=objective)
    prepared = prepare(recipe, [corpus], tmp_path / "prepared")
    planned = epoch_batches(prepared, recipe, "validation", 0)
    batch = next(read_ahead(planned_reads(prepared, recipe, planned, training=False, epoch=0)))
    bias = -torch.tensor(float(len(batch.negative_mask) - 1)).log()  # where the logistic objective is least

    def same(images, **_):
        zeros = torch.zeros(sum(batch.sentence_counts), 4), torch.zeros(len(images), 4)
        return *zeros, torch.tensor(1.0), bias, None

    found = batch_loss(same, batch, recipe, epoch=9, generator=torch.Generator().manual_seed(0))[0]
    torch.testing.assert_close(no_information_losses(batch, recipe).float(), found)


# Whole runs


DYING = {
    "similarity": {"kind": "assignment", "links": "at-most"},
    "text": {"dropout": 0.0},
    "image": {"dropout": 0.0},
    "training": {"epochs": 12, "learning_rate": 0.01, "batch": 12},
}


def test_a_run_that_dies_is_stopped_told_and_never_counts_as_a_success(large, tmp_path):
    recipe = small_recipe(seed=2, **DYING)
    for _ in range(2):  # the second time it is there already
        with pytest.raises(CollapseError, match=r"collapsed in epoch \d+: .*no gradient.*links = .exactly."):
            train(recipe, [large], tmp_path / "model", prepared=large.parent / "prepared")
    metrics = metrics_of(tmp_path / "model")
    assert finished(tmp_path / "model")
    assert metrics["epochs"] == metrics["collapse"]["epoch"] < 12
    assert metrics["no_information"] == pytest.approx(0.4)
    assert "- training collapsed" in (tmp_path / "model/README.md").read_text()
    last = log_of(tmp_path / "model")[-1]
    assert float(last["validation_loss"]) == pytest.approx(float(last["no_information"]))
    assert float(last["no_gradient"]) > 0.5
    assert float(last["positive_cosines"]) == 0


@pytest.mark.training
def test_the_remedy_is_a_new_run_with_the_mean_and_is_the_same_after_an_interruption(large, tmp_path, monkeypatch):
    def first_epoch_learned_nothing(progress, recipe):  # when a run dies by itself depends on the processor
        return recipe.objective.remedy_epochs > 0 and progress.collapsed is None and progress.epoch == 1

    monkeypatch.setattr(loop, "wants_remedy", first_epoch_learned_nothing)
    arrays, training = large.parent / "prepared", {"epochs": 3, "batch": 12}
    remedied = small_recipe(objective={"remedy_epochs": 3}, training=training)
    train(remedied, [large], tmp_path / "whole", prepared=arrays)
    metrics = metrics_of(tmp_path / "whole")
    assert (metrics["began_again_after"], metrics["epochs"]) == (1, 3)
    assert "- nothing was learned in " in (tmp_path / "whole/README.md").read_text()
    mean = small_recipe(objective={"mean_epochs": 3}, training=training)
    train(mean, [large], tmp_path / "mean", prepared=arrays)
    assert weights_of(tmp_path / "whole") == weights_of(tmp_path / "mean")
    with pytest.raises(Stop):
        train(remedied, [large], tmp_path / "stopped", prepared=arrays, watcher=StopAt(3, 2))
    train(remedied, [large], tmp_path / "stopped", prepared=arrays)
    assert weights_of(tmp_path / "whole") == weights_of(tmp_path / "stopped")
