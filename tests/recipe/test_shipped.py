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
from iconotext.features.hub_models import load_resnet
from iconotext.networks.image_network import ImageNetwork
from iconotext.recipe import dump_recipe, load_recipe, make_recipe, shipped_recipes
from iconotext.recipe.relations import is_relation_recipe
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
    "training.devices=1",
    "objective.b=none",
    "dim=64",
]


# A dual encoder comes from the hub; the one of the tests has twelve dimensions.
DUAL = "features.text={0} features.image={0} dim=12"


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


# Li 2021: encoder of sentences, of images, its layers, whether it reads concepts; weights of C, I, D.
TRANSFORMERS = ("transformer", "regions", 3, True)
LI_2021 = {
    "transformer": (*TRANSFORMERS, 1, 1, 1),
    "without-concepts": ("transformer", "regions", 3, False, 1, 1, 1),
    "without-transformer": ("transformer", "regions", 0, True, 1, 1, 1),
    "without-both": ("transformer", "regions", 0, False, 1, 1, 1),
    "gru-cnn": ("gru", "projection", None, None, 1, 1, 1),
    "cross-intra": (*TRANSFORMERS, 1, 1, 0),
    "cross-sub": (*TRANSFORMERS, 1, 0, 1),
    "intra-sub": (*TRANSFORMERS, 0, 1, 1),
    "cross": (*TRANSFORMERS, 1, 0, 0),
    "mullink": ("gru", "projection", None, None, 1, 0, 0),
    "nostruct": ("gru", "projection", None, None, 1, 0, 0),
    "supervised": ("gru", "projection", None, None, 1, 0, 0),
    "supervised-transformer": (*TRANSFORMERS, 1, 0, 0),
}
KINDS = {"nostruct": "single-pair", "supervised": "labelled-pairs", "supervised-transformer": "labelled-pairs"}


@pytest.mark.parametrize("name", LI_2021)
def test_recipes_of_li_2021_are_the_rows_of_its_tables_in_its_protocol(name):
    recipe = load_recipe(f"li2021/{name}")
    objective, training, similarity = recipe.objective, recipe.training, recipe.similarity
    weights = (objective.cross_document, objective.intra_document, objective.sub_document)
    layers, concepts = (recipe.regions.layers, recipe.regions.concepts) if recipe.regions else (None, None)
    assert (recipe.text.kind, recipe.image.kind, layers, concepts, *weights) == LI_2021[name]
    assert recipe.dim == 1024
    if recipe.text.kind == "transformer":
        assert (recipe.text.layers, recipe.text.heads, recipe.image.heads) == (3, 8, 8)
    negatives = "mean" if name in ("nostruct", "supervised") else "hardest"
    assert (objective.kind, objective.margin, objective.negatives, objective.p_sub) == ("hinge", 0.2, negatives, 0.6)
    assert similarity.kind == KINDS.get(name, "top-k")
    if name in ("nostruct", "mullink"):  # in the protocol of Hessel 2019: see the tests of the tables
        return
    rates = (1e-5, 3000) if name == "supervised-transformer" else (5e-5, 4000)  # it learns on MSCOCO
    assert (training.batch, training.learning_rate, training.warmup_steps) == (11, *rates)
    assert (training.schedule, training.patience, training.factor) == (
        "plateau",
        load_recipe("hessel2019/dense").training.patience,
        5,
    )
    assert (similarity.k, similarity.directions) == ("min", "sum" if name in KINDS else "mean")


def test_recipes_of_the_papers_are_there():
    assert {name.removeprefix("li2021/") for name in RECIPES if name.startswith("li2021/")} == set(LI_2021)
    names = {*PAPER, "released-code", "fine-tune"}
    assert {name.removeprefix("hessel2019/") for name in RECIPES if name.startswith("hessel2019/")} == names


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


def test_the_released_codes_recipe():
    recipe = load_recipe("hessel2019/released-code")
    assert (recipe.training.learning_rate, recipe.training.epochs) == (2e-4, 60)
    assert (recipe.text.dropout, recipe.text.dropout_at, recipe.image.dropout, recipe.image.dropout_at) == (
        0.5, "input", 0.5, "input",
    )  # fmt: skip
    assert (recipe.similarity.kind, recipe.similarity.links, recipe.similarity.k) == ("assignment", "exactly", "min")
    assert (recipe.objective.b, recipe.training.batch) == (None, 11)


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
    with pytest.raises(FeatureError, match=r"is a vit; image\.network is a ResNet"):
        ImageNetwork(dim=4, dropout=0.0, network=str(models / "vit"))


def test_the_recipe_that_trains_the_image_network_along():
    recipe = load_recipe("hessel2019/fine-tune")
    assert (recipe.features.image, recipe.image.kind) == ("pixels", "network")
    assert (recipe.training.max_sentences, recipe.training.max_images) == (10, 10)
    assert (recipe.text.max_tokens, recipe.objective.b, recipe.training.batch) == (20, 10, 11)
