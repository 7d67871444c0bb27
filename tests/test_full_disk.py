"""A disk that is full while something is written: one line, what was there stays whole, the same command goes on."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from iconotext.corpus.builders import captions
from iconotext.corpus.builders.run import build_corpus
from iconotext.errors import CorpusError, OutputError
from iconotext.features import FeatureCache, cached_text
from iconotext.system.files import open_atomic, reporting_full_disk, write_bytes
from iconotext.train import train
from iconotext.train.checkpoint import CHECKPOINT, load_checkpoint
from tests.support.captions import write_album
from tests.support.encoders import text_backbone
from tests.support.full_disk import largest
from tests.support.program import run
from tests.support.shards import contents, link, make
from tests.support.training import small_recipe, write_synthetic


def save_bytes(path):
    write_bytes(path, bytes(200_000))


def save_torch(path):
    import torch

    with open_atomic(path) as file:
        torch.save({"a": torch.zeros(200_000)}, file)


def save_parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_atomic(path) as file:
        pq.write_table(pa.table({"a": np.random.default_rng(0).random(100_000)}), file)


def save_safetensors(path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(200_000)}, path)


def save_numpy(path):
    np.save(path, np.zeros(200_000))


def save_sqlite(path):
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA max_page_count = 20")
        connection.execute("CREATE TABLE t (a BLOB)")
        connection.execute("INSERT INTO t VALUES (?)", (bytes(200_000),))
    finally:
        connection.close()


@pytest.mark.parametrize("save", [save_bytes, save_torch, save_parquet, save_safetensors, save_numpy, save_sqlite])
def test_however_a_library_says_so_it_is_one_line(tmp_path, save):
    path = tmp_path / "file.npy"
    full = pytest.raises(
        OutputError, match=r"^cannot write .*; free some space there, then give the same command again$"
    )
    with full as error, largest(50_000), reporting_full_disk(path):
        save(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert not [left for left in tmp_path.iterdir() if left.name.endswith(".tmp")]


@pytest.mark.parametrize("error", [ValueError("no"), PermissionError(13, "denied"), CorpusError("broken")])
def test_other_errors_pass(tmp_path, error):
    with pytest.raises(type(error)) as raised, reporting_full_disk(tmp_path):
        raise error
    assert raised.value is error


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_synthetic(tmp_path_factory.mktemp("synthetic"))


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """What an undisturbed run leaves."""
    return files_of(train(recipe(), [corpus], tmp_path_factory.mktemp("whole") / "model"))


def recipe():
    return small_recipe(dim=512)  # a checkpoint of some 700 kB, which is more than any buffer


def files_of(folder):
    return {name: (folder / name).read_bytes() for name in ("weights.safetensors", "metrics.json", "README.md")}


@pytest.mark.training
def test_training_stops_with_a_line_wherever_the_disk_is_full_and_goes_on(corpus, whole, tmp_path):
    for size in (100, 3_000, 9_000, 20_000, 100_000, 300_000):
        with pytest.raises(OutputError, match=r"^cannot write "), largest(size):
            train(recipe(), [corpus], tmp_path / "model")
        assert not (tmp_path / "model" / CHECKPOINT).exists()
    assert files_of(train(recipe(), [corpus], tmp_path / "model")) == whole


@pytest.mark.training
@pytest.mark.slow
def test_adapting_stops_with_a_line_wherever_the_disk_is_full_and_goes_on(corpus, tmp_path):
    first = train(recipe(), [corpus], tmp_path / "first")
    given = ["train", "--init", first, "-c", corpus, "--set", "training.epochs=2", "--set", "training.warmup=0", "-o"]
    run(*given, tmp_path / "whole")
    for size in (0, 100, 3_000, 9_000, 20_000, 100_000, 300_000):
        with largest(size):
            said = run(*given, tmp_path / "full", status=1).stderr.splitlines()[-1]
        assert said.startswith("iconotext: cannot write ")
        assert said.endswith("; free some space there, then give the same command again")
        assert not list(tmp_path.rglob("*.tmp"))
    run(*given, tmp_path / "full")
    assert files_of(tmp_path / "full") == files_of(tmp_path / "whole")
    assert files_of(first) == files_of(train(recipe(), [corpus], first))


@pytest.mark.slow
def test_the_last_good_checkpoint_stays_whole(corpus, whole, tmp_path):
    folder, stack = tmp_path / "model", []

    class Full:
        def step(self, *_):
            pass

        def epoch(self, row):
            if row["epoch"] == 2:
                stack.append(largest(100_000))
                stack[0].__enter__()

    try:
        with pytest.raises(OutputError, match=r"checkpoint\.pt: .*the same command again"):
            train(recipe(), [corpus], folder, watcher=Full())
    finally:
        stack[0].__exit__(None, None, None)
    kept = load_checkpoint(folder)
    assert kept is not None
    assert kept.progress.epoch == 2
    assert files_of(train(recipe(), [corpus], folder)) == whole


def test_a_build_stops_with_a_line_wherever_the_disk_is_full_and_goes_on(tmp_path, picture, monkeypatch):
    settings = captions.Settings(source=write_album(tmp_path, picture), rule="dii")

    def look(build, photos, settings):
        return np.random.default_rng(0).random((len(photos), 300), np.float32)

    monkeypatch.setattr(captions, "_vectors", look)

    def build(name):
        output = tmp_path / name / "c.jsonl"
        build_corpus("captions", captions.documents, settings, output, workers=1)
        return [(file.name, file.read_bytes()) for file in sorted(output.parent.iterdir())]

    expected, stopped = build("whole"), 0
    for size in (0, 20, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600):
        try:
            with largest(size):
                finished = build("full")
            break
        except OutputError as error:
            stopped += 1
            assert "\n" not in str(error)
    else:
        finished = build("full")
    assert stopped > 5
    assert finished == expected


@pytest.mark.slow
def test_linking_shards_stops_with_a_line_wherever_the_disk_is_full_and_goes_on(tmp_path):
    pytest.importorskip("datatrove", reason="datatrove is not installed")
    shards = make(tmp_path / "in", shards=2, documents=20)
    link(shards, tmp_path / "whole")
    stopped = []
    for size in (0, 2_000, 6_000, 12_000, 25_000, 50_000):
        try:
            with largest(size):
                link(shards, tmp_path / "full")
        except OutputError as error:
            stopped.append(size)
            assert str(error).startswith("cannot write ")
            assert str(error).endswith("; free some space there, then give the same command again")
    assert stopped[:2] == [0, 2_000]
    link(shards, tmp_path / "full")
    assert contents(tmp_path / "full") == contents(tmp_path / "whole")


def test_a_cache_that_is_full_stops_nothing(tmp_path, caplog):
    class Text:
        name = "text"
        dim = 500

        def encode(self, texts):
            return np.array([np.full(self.dim, len(text)) for text in texts], np.float32)

    texts = [f"{'a' * i}" for i in range(300)]
    for size in (0, 5_000, 100_000):
        with largest(size), caplog.at_level(logging.WARNING):
            found = cached_text(text_backbone(Text()), FeatureCache(tmp_path / f"{size}.sqlite")).encode(texts)
        assert found[:, 0].tolist() == [float(i) for i in range(300)]
    assert len(caplog.messages) == 3


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--json"], []])
def test_output_that_cannot_be_printed_is_one_line(corpus, arguments):
    command = [sys.executable, "-m", "iconotext", "evaluate", "random", str(corpus), *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "iconotext: cannot write a temporary file, or what is printed: No space left on device"
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
