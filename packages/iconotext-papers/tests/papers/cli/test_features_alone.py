"""Corpora of which only the features of the pictures are at hand, as the released data of Hessel 2019."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch

from iconotext.encoders.joint_model import JointModel
from iconotext.encoders.stored_model import save_model
from iconotext.features import load_text_backbone
from iconotext.recipe import load_recipe
from iconotext.recipe.encoders import Inputs
from iconotext.train import train
from tests.support import program
from tests.support.feature_tables import write_feature_table
from tests.support.program import printed as run
from tests.support.training import DIM, regional_recipe, small_recipe, write_regional, write_synthetic


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus with a table of features beside it, in another folder than where commands run; a model; its results."""
    folder = tmp_path_factory.mktemp("alone")
    corpus = write_synthetic(folder / "data", 60)
    train(small_recipe(training={"epochs": 2}), [corpus], folder / "model")
    run("evaluate", folder / "model", corpus, "--split", "test", "--results", folder / "model.parquet")
    return folder


def test_evaluate_finds_the_features_beside_the_corpus(folder):
    found = json.loads(run("evaluate", folder / "model", folder / "data/corpus.jsonl", "--split", "test", "--json"))
    trained = json.loads((folder / "model/metrics.json").read_text())["test"]
    assert found["documents"] == 12
    for metric in ("auc", "p@1", "p@5"):
        assert found[metric] == pytest.approx(trained[metric], abs=1e-6)


def test_what_looks_at_pictures_names_what_does_not(folder):
    corpus = folder / "data/corpus.jsonl"
    said = run("evaluate", "no-training", corpus, status=1)
    assert "trained on the features" in said.splitlines()[-1]


def test_spread(folder):
    """The features beside the corpus say how far pictures lie apart; there is nothing to detect objects in."""
    page, corpus = folder / "spread.html", folder / "data/corpus.jsonl"
    said = program.run(
        "papers", "analyze", "spread", folder / "model", corpus, "-o", page, "--force", env={"COLUMNS": "300"}
    )
    assert "without object detection: " in said.stderr
    assert f"{folder / 'data/features.npy'} stands for the pictures, of which corpus.jsonl has no files" in said.stderr
    shown = re.findall(r"(High|Middle|Low) spread \(images ([\d.]+), text ([\d.]+)\)", page.read_text())
    assert list(dict.fromkeys(level for level, *_ in shown)) == ["High", "Middle", "Low"]
    table, rows = np.load(folder / "data/features.npy"), json.loads((folder / "data/id2row.json").read_text())
    expected = set()
    for document in map(json.loads, corpus.read_text().splitlines()):
        # The mean squared distance of the unit vectors to their centroid (Hessel 2019, section 4.1).
        own = np.stack([table[rows[each]] for each in document["images"]]).astype(np.float64)
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        expected.add(f"{((own - own.mean(axis=0)) ** 2).sum(axis=1).mean():.2f}")
    assert {image for _, image, _ in shown} <= expected


def test_bias(folder):
    corpus = folder / "data/corpus.jsonl"
    asked = run("papers", "analyze", "bias", corpus, "--json", "--image", folder / "data/features.npy")
    assert run("papers", "analyze", "bias", corpus, "--json") == asked
    arguments = ["papers", "analyze", "bias", str(corpus), "--json"]
    said = program.run(*arguments, env={"COLUMNS": "300"}).stderr
    assert f"{folder / 'data/features.npy'} stands for the pictures, of which corpus.jsonl has no files" in said


def test_a_page_shows_the_names_of_pictures_and_says_so(folder):
    page = folder / "examples.html"
    run("papers", "analyze", "examples", folder / "model", folder / "data/corpus.jsonl", "--output", page, "--force")
    html = page.read_text()
    assert "No picture of these documents is at hand: their names stand for them." in html
    names = re.findall(r'<span class="name"[^>]*>(\d+-\d)</span>', html)
    assert len(names) == 12  # three pictures in each of four documents
    assert "<img" not in html


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Pairs of a text and the features of its picture, and a coherence-aware model that looks them up."""
    folder = tmp_path_factory.mktemp("pairs")
    names = [f"p{n}" for n in range(8)]
    rows = np.random.default_rng(0).normal(size=(8, DIM)).astype(np.float32)
    write_feature_table(folder / "features.npy", names, [rows], dim=DIM)
    lines = [
        {"id": name, "split": "validation", "sentences": [f"Story {name}."], "images": [name],
         "relations": {"Story": n % 2 == 0}}
        for n, name in enumerate(names)
    ]  # fmt: skip
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    kinds = ["init=none", "features.text=minilm", "features.image=features.npy", "text.kind=projection"]
    recipe = load_recipe("coherence", [*kinds, "dim=16", "text.hidden=0", "image.hidden=0", "linking.bridge=0"])
    inputs = Inputs(words=0, text_features=384, image_features=DIM, relations=1)
    torch.manual_seed(0)
    backbones = {"text": load_text_backbone().name, "image": "features.npy"}
    weights = JointModel(recipe, inputs).state_dict()
    save_model(folder / "model", recipe, inputs, weights, vocabulary=None, backbones=backbones, relations=("Story",))
    return folder


def test_retrieval_and_its_refinement(pairs):
    found = json.loads(run("evaluate", pairs / "model", pairs / "pairs.jsonl", "--pool", 5, "--json"))
    assert (found["pairs"], found["images"], found["left_out"]) == (8, 8, [])
    tuned = json.loads(
        run("papers", "analyze", "refinement", pairs / "model", pairs / "pairs.jsonl", "--pool", 5, "--json")
    )
    assert tuned["pairs"] == 8


@pytest.mark.training
def test_regions_alone(tmp_path):
    corpus = write_regional(tmp_path / "data", 40)
    train(regional_recipe(tmp_path / "data", training={"epochs": 1}), [corpus], tmp_path / "model")
    found = json.loads(run("evaluate", tmp_path / "model", corpus, "--split", "test", "--json"))
    trained = json.loads((tmp_path / "model/metrics.json").read_text())["test"]
    assert found["auc"] == pytest.approx(trained["auc"], abs=1e-6)
    run(
        "papers",
        "analyze",
        "examples",
        tmp_path / "model",
        corpus,
        "--document",
        "d0",
        "--output",
        tmp_path / "page.html",
    )
    page = (tmp_path / "page.html").read_text()
    assert page.count("<figcaption>") == 2
    assert re.findall(r"here is a <i>(thing\d+)</i>", page)
    biased = json.loads(run("papers", "analyze", "bias", corpus, "--json", "--image", tmp_path / "data/regions.tsv"))
    assert biased["documents"] == 40
