"""Every recipe that ships: it loads, says what it follows, and trains."""

from __future__ import annotations

import csv
import json
import tomllib

import pytest
import torch

from iconotext.encoders import stored_model as model_folder
from iconotext.encoders.load import load_encoder
from iconotext.encoders.stored_model import load_model
from iconotext.errors import FeatureError
from iconotext.features.resnet import load_resnet
from iconotext.networks.image_network import ImageNetwork
from iconotext.recipe import dump_recipe, load_recipe, make_recipe, shipped_recipes
from iconotext.recipe.toml import is_relation_recipe
from iconotext.train import train

RECIPES = {name: path for name, path in shipped_recipes().items() if not is_relation_recipe(name)}
PAPER = ("dense", "top-k", "top-k-half", "assignment", "assignment-half", "nostruct")

# Two steps of one epoch on six documents, whatever else the recipe says.
TINY = [
    "training.epochs=1",
    "training.batch=2",
    "training.warmup=0",
    "training.warmup_steps=0",
    "training.average=1",
    "objective.b=none",
    "dim=64",
]


# A dual encoder comes from the hub; the one of the tests has five dimensions.
DUAL = "features.text={0} features.image={0} dim=5"


@pytest.fixture
def corpus(tmp_path, picture):
    """Four documents to train on, two to validate on, one to test."""
    for number in range(12):
        picture(f"{number}.png", seed=number, size=(40, 40))
    rows = [
        {
            "id": f"d{number}",
            "split": ("train", "train", "train", "train", "validation", "validation", "test")[number],
            "sentences": ["A dog runs.", f"Number {number} of them.", "Taxes rise."],
            "images": [f"{number}.png", f"{number + 5}.png"],
            "links": [[0, 0]],
        }
        for number in range(7)
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def pairs(corpus):
    """The same with one sentence and one image each, and relations."""
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["sentences"], row["images"], row["links"] = row["sentences"][1:2], row["images"][:1], [[0, 0]]
        row["relations"] = {"Visible": number % 2 == 0, "Story": None if number == 1 else number % 2 == 1}
    path = corpus.with_name("pairs.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_loads_and_resolves(name):
    recipe = load_recipe(name)
    assert recipe == load_recipe(RECIPES[name])
    assert recipe.follows
    assert make_recipe(tomllib.loads(dump_recipe(recipe)), source=name) == recipe
    stem = name.replace("/", "-")
    assert recipe.name == stem, "so that a model's name says which recipe it has"


@pytest.mark.training
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_two_steps(name, corpus, pairs, models, tmp_path, monkeypatch):
    torch.set_num_threads(1)
    tiny = [*TINY, *DUAL.format(models / "clip").split()] if "dual" in name else TINY
    recipe = load_recipe(name, tiny)
    corpus = pairs if recipe.objective.coherence or recipe.training.choose == "median-rank" else corpus
    if recipe.init is not None:
        start = tmp_path / "start"
        train(load_recipe("default", [*TINY, "objective.mean_epochs=0"]), [corpus], start)
        monkeypatch.setattr(model_folder, "shipped_folder", lambda name: start)
    folder = train(recipe, [corpus], tmp_path / "model")
    log = list(csv.DictReader((folder / "log.csv").read_text().splitlines()))
    assert [row["step"] for row in log] == ["2"]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert (metrics["epochs"], metrics["test"]["pairs" if corpus == pairs else "documents"]) == (1, 1)
    assert load_model(folder).name == recipe.name


@pytest.mark.parametrize("name", PAPER)
def test_what_the_papers_recipes_have_in_common(name):
    dense, other = (load_recipe(f"hessel2019/{each}").model_dump() for each in ("dense", name))
    for key in ("name", "follows", "similarity"):
        del dense[key], other[key]
    if name == "nostruct":
        assert other["objective"].pop("negatives") == "mean"
        assert dense["objective"].pop("negatives") == "hardest"
    assert other == dense


@pytest.mark.training
def test_a_resnet_is_trained_along_with_its_batch_norms(pairs, models, tmp_path):
    network = models / "resnet-without-head"
    own = load_recipe("alikhani2021/cmca-fine-tuned", [*TINY, f"image.network={network}", "text.word_dim=8"])
    train(own, [pairs], tmp_path / "model")
    stored = load_model(tmp_path / "model")
    before = load_resnet(str(network), network)[0].state_dict()
    after = stored.model.image.network.resnet.state_dict()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert any(name.endswith("convolution.weight") for name in changed)
    assert any(name.endswith("running_mean") for name in changed)
    assert load_encoder(str(tmp_path / "model"), cache=False).encode_images([pairs.with_name("0.png")]).vectors.any()


def test_a_network_to_train_that_is_no_resnet_is_refused(models):
    with pytest.raises(FeatureError, match=r"clip: is clip, not a ResNet"):
        ImageNetwork(dim=4, dropout=0.0, network=str(models / "clip"))
