"""Names of models: what is found, what is not, and that neither goes to the network unasked."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from iconotext.errors import FeatureError
from iconotext.features import downloads, find_model, load_dual_encoder, load_image_backbone
from iconotext.features.model_folder import MODELS
from iconotext.linker import Linker, LinkSettings
from tests.support.images import noise

MISTYPED = {
    "link a.md --model defualt": "did you mean default? There are default, photographs, no-training",
    "link a.md --text minlm": "did you mean minilm?",
    "link a.md --relations defalt": "did you mean default? There are default, none",
    "link a.md --model mine/modl": "did you mean mine/model?",
    "link a.md --model openai/clip": "openai/clip: no such model.",
    "library add lib a.png --model no-trainin": "did you mean no-training?",
    "library add lib a.png --text minlm": "did you mean minilm?",
    "evaluate randm corpus.jsonl": "did you mean random?",
    "evaluate defalt corpus.jsonl --pool 5": "did you mean default?",
    "evaluate random corpus.jsonl --compare defalt": "did you mean default?",
    "papers analyze examples defualt corpus.jsonl": "did you mean default?",
    "train --init defualt -c corpus.jsonl": "did you mean default?",
    "train default -c corpus.jsonl --set features.text=minlm": "did you mean minilm?",
    "train adapt --init mine/modl -c corpus.jsonl": "did you mean mine/model?",
    "papers reproduce 2 -c corpus.jsonl --set features.image=eficientnet-lite0": "did you mean efficientnet-lite0?",
    "corpus build captions -s corpus.jsonl -o o.jsonl --backbone eficientnet-lite0": "did you mean efficientnet-lite0?",
}

RUN = """
import socket, sys, warnings
def refuse(*given, **named):
    print("NETWORK", given, file=sys.__stderr__); raise socket.gaierror(-2, "Name or service not known")
socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse
from typer.testing import CliRunner
from iconotext.cli.app import app
for command in sys.argv[1:]:
    result = CliRunner().invoke(app, command.split())
    heavy = [m for m in ("torch", "transformers", "sentence_transformers", "httpx") if m in sys.modules]
    print(f"{result.exit_code} {heavy} {result.output!r}")
"""


def run(folder, *commands):
    """Exit status, heavy modules loaded so far, and output of commands that run without a network, and its stderr."""
    env = os.environ | {"HF_HOME": str(folder / "hub"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *commands], capture_output=True, text=True, cwd=folder, env=env, check=True
    )
    return done.stdout.splitlines(), done.stderr


@pytest.mark.slow
def test_every_mistyped_name_fails_at_once_with_the_nearest_ones(tmp_path, picture):
    picture("a.png")
    (tmp_path / "a.md").write_text("A dog.\n\n![](a.png)\n")
    (tmp_path / "corpus.jsonl").write_text(
        '{"id": "a", "sentences": ["A dog."], "images": ["a.png"], "links": [[0, 0]]}'
    )
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "mine" / "model" / "recipe.toml").touch()
    before = sorted(tmp_path.iterdir())
    lines, network = run(tmp_path, *MISTYPED)
    assert network == ""
    for (command, wanted), line in zip(MISTYPED.items(), lines, strict=True):
        assert line.startswith("1 [] "), command
        assert wanted in line, command
        assert line.count("\\n") == 1, command
    assert sorted(tmp_path.iterdir()) == before  # nothing was begun


@pytest.mark.slow
def test_without_a_network_download_is_one_line(tmp_path, picture):
    (tmp_path / "a.md").write_text("A dog.\n\n![](a.png)\n")
    picture("a.png")
    (line,), network = run(tmp_path, "link a.md --model openai/clip --download")
    assert "NETWORK" in network
    assert line.startswith("1 ")
    assert "openai/clip: cannot be fetched from the Hugging Face hub" in line
    assert "with a network the same command goes on" in line
    assert line.count("\\n") == 1


@pytest.fixture
def cut(monkeypatch):
    """Every attempt to use the network fails, and is listed."""
    tried = []

    def refuse(*given, **named):
        tried.append(given)
        raise socket.gaierror(-2, "no network in this test")

    for owner, name in ((socket, "getaddrinfo"), (socket, "create_connection"), (socket.socket, "connect")):
        monkeypatch.setattr(owner, name, refuse)
    return tried


def test_what_is_here_is_loaded_without_the_network(models, tmp_path, cut):
    for name in ("resnet", "clip"):
        load_image_backbone(str(models / name)).encode([noise(0)])
    load_dual_encoder(str(models / "siglip"))
    Linker.load(str(models / "clip"), LinkSettings(cache=False))
    assert cut == []


@pytest.fixture
def hub(models, tmp_path, monkeypatch):
    """A cache of the hub that has one model."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "hub" / "models--org--clip"
    shutil.copytree(models / "clip", folder / "snapshots" / "abc123")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc123")
    return folder


def test_what_the_hubs_cache_has_is_found_there_and_named_by_its_revision(hub, cut):
    assert find_model("org/clip") == hub / "snapshots" / "abc123"
    assert Linker.load("org/clip", LinkSettings(cache=False)).encoder.image_source.name == "org/clip@abc123/onnx-fp32"
    for broken in ("", "gone"):
        (hub / "refs" / "main").write_text(broken)
        with pytest.raises(FeatureError, match="org/clip: no such model"):
            find_model("org/clip")
    assert cut == []


def test_what_is_fetched_has_no_code_and_is_then_loaded(small_hub, models, tmp_path):
    shutil.copytree(models / "clip", tmp_path / "clip")
    code = ("model.py", "pytorch_model.bin", "model.pt", "model.pkl", "model.ckpt", "model.msgpack", "model.h5")
    for name in code:
        (tmp_path / "clip" / name).write_text("import os")
    small_hub.add("org/other", tmp_path / "clip")
    with pytest.raises(FeatureError, match="download=True"):
        Linker.load("org/other")
    assert small_hub.requests == []
    assert Linker.load("org/other", LinkSettings(cache=False), download=True).encoder.name == "org/other"
    come = {path.name for path in find_model("org/other").rglob("*")}
    assert {"text_model.onnx", "config.json", "tokenizer.json"} <= come
    assert not come & set(code)
    before = len(small_hub.requests)
    with pytest.raises(FeatureError, match="download=True"):  # the permission ended with the call
        Linker.load("org/third")
    assert len(small_hub.requests) == before


def test_what_the_hub_says_is_one_line(hub, monkeypatch):
    from huggingface_hub import errors

    def answer(kind):
        response = type("Response", (), {"headers": {}, "request": None, "status_code": 404})()

        def model_info(*_, **__):
            raise kind("nothing\nhere", response=response)

        monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)

    with downloads():
        answer(errors.RepositoryNotFoundError)
        with pytest.raises(FeatureError, match=r"^no-trainin: no such model, nor is it on .* did you mean no-training"):
            find_model("no-trainin", MODELS)
        answer(errors.GatedRepoError)
        with pytest.raises(FeatureError, match=r"^org/gated: its makers give it only"):
            find_model("org/gated")
        monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: 1 / 0)
        with pytest.raises(FeatureError, match=r"^org/new: cannot be fetched .* \(division by zero\)"):
            find_model("org/new")
        assert find_model("org/clip") == hub / "snapshots" / "abc123"  # the network is away, the model is not


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "model.bin").touch()
    with pytest.raises(FeatureError, match="is a file, and a model is a folder"):
        find_model(str(tmp_path / "model.bin"))
