"""``iconotext models``, and the commands that take encoders of others as ONNX graphs."""

from __future__ import annotations

import json
import shutil

import pytest

from iconotext.features import load_dual_encoder, load_text_backbone
from iconotext.features.catalogue import HUB_MODELS
from tests.support.graph_models import write_dual_graphs, write_sentence_graphs
from tests.support.images import noise
from tests.support.program import printed as run


@pytest.fixture
def graphs(tmp_path, monkeypatch):
    """The working folder, with a dual encoder, a sentence encoder, pictures and an article."""
    monkeypatch.chdir(tmp_path)
    write_dual_graphs(tmp_path / "clip")
    write_dual_graphs(tmp_path / "clip", precision="quantized")
    write_sentence_graphs(tmp_path / "sentences")
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(noise(number))
    (tmp_path / "a.md").write_text(
        "A cat on the mat.\n\n![A photo of the cat](0.png)\n\nThe dog of a photo.\n\n![The dog](1.png)\n"
    )
    return tmp_path


def test_what_ships_what_was_fetched_and_what_lies_here(small_hub, graphs):
    commit = small_hub.add("org/clip", graphs / "clip")
    run("models", "org/clip:quantized", "--download")
    said = run("models")
    assert "  default: the trained model in the package" in said
    assert "  minilm: all-MiniLM-L6-v2" in said
    assert "  org/clip: quantized, " in said
    assert f"commit {commit[:12]}\n" in said
    assert "  clip\n" in said
    assert all(f"  {row.name}: {row.megabytes} MB, {row.licence}\n" in said for row in HUB_MODELS)
    found = json.loads(run("models", "--json"))
    assert {"default", "photographs", "no-training", "minilm", "efficientnet-lite0"} <= set(found["shipped"])
    (fetched,) = found["fetched"]
    assert (fetched["name"], fetched["revision"], fetched["precisions"]) == ("org/clip", commit, ["quantized"])
    assert found["folders"] == ["clip", "sentences"]
    assert [row["name"] for row in found["catalogue"]] == [row.name for row in HUB_MODELS]


def test_a_known_model_that_is_here_is_marked(small_hub, graphs):
    name = HUB_MODELS[1].name
    write_dual_graphs(graphs / "small", precision="fp16")
    small_hub.add(name.partition(":")[0], graphs / "small")
    run("models", name, "--download")
    assert f"{name}: {HUB_MODELS[1].megabytes} MB, {HUB_MODELS[1].licence}, is here\n" in run("models")


def test_a_model_is_fetched_checked_and_moved_to_another_commit(small_hub, graphs):
    first = small_hub.add("org/clip", graphs / "clip")
    shutil.copytree(graphs / "clip", graphs / "newer")
    assert "no such model" in run("models", "org/clip", status=1)
    assert f"(commit {first}, 6 files as fetched)" in run("models", "org/clip", "--download")
    newest = small_hub.add("org/clip", graphs / "newer")
    assert f"(commit {first}, " in run("models", "org/clip", "--download")
    assert f"(commit {newest}, " in run("models", "org/clip", "--download", "--revision", "main")
    (found,) = json.loads(run("models", "org/clip", "--json"))
    assert (found["revision"], found["checked"]) == (newest, 6)
    assert found["folder"].endswith(f"/snapshots/{newest}")


def test_a_revision_needs_a_name_and_permission(small_hub, graphs):
    for arguments in (["--revision", "main"], ["org/clip", "--revision", "main"], ["--revision", "main", "--download"]):
        assert "--revision needs the name of a model and --download" in run("models", *arguments, status=1)
    assert small_hub.requests == []


@pytest.mark.slow
def test_link(graphs, small_hub):
    small_hub.add("org/clip", graphs / "clip")
    best_pictures = ("link", "a.md", "--to", "json", "--evidence", "picture", "--k", "1")
    (document,) = json.loads(run(*best_pictures, "--model", "clip"))
    both = load_dual_encoder("clip")
    cosines = (
        both.text.encode([each["text"] for each in document["sentences"]])
        @ both.image.encode([graphs / "0.png", graphs / "1.png"]).pooled.T
    )
    shown = {(link["sentence"], link["image"]): link["score"] for link in document["links"]}
    assert shown
    for (sentence, image), score in shown.items():
        assert score == pytest.approx(float(cosines[sentence, image]), abs=1e-3)
    fetched = json.loads(run(*best_pictures, "--model", "org/clip:fp32", "--download"))
    assert [link["score"] for link in fetched[0]["links"]] == [link["score"] for link in document["links"]]
    for more in (["--model", "clip:quantized", "--text", "sentences"], ["--text", "sentences"]):
        (document,) = json.loads(run("link", "a.md", "--to", "json", *more))
        assert {link["image"] for link in document["links"]} <= {0, 1}


@pytest.mark.training
def test_a_recipe_trains_on_graphs(graphs):
    rows = [
        {
            "id": f"d{n}",
            "split": ("train", "train", "validation", "test")[n % 4],
            "sentences": ["A cat on the mat.", "The dog of a photo."],
            "images": ["0.png", f"{1 + n % 2}.png"],
            "links": [[0, 0]],
        }
        for n in range(16)
    ]
    (graphs / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = [
        "features.text=sentences",
        "features.image=clip:fp32",
        "dim=8",
        "training.epochs=1",
        "training.average=1",
        "training.warmup=0",
        "linking.bridge=0",
        "training.batch=4",
    ]
    run("train", "default", "-c", "corpus.jsonl", "-o", "model", *(f"--set={each}" for each in settings))
    metrics = json.loads(run("evaluate", "model", "corpus.jsonl", "--split", "test", "--json"))
    assert metrics["documents"] == 4
    assert load_text_backbone("sentences").name in (graphs / "model/weights.safetensors").read_bytes().decode("latin-1")
