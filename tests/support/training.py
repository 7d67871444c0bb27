"""Small corpora that can be learned, recipes for them, and runs that are compared, stopped and killed.

In a synthetic corpus every image shows one of a few things, and every sentence names one.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from iconotext.recipe import Recipe, make_recipe
from iconotext.train import train
from iconotext.train.prepared import Prepared, Words
from tests.support.counted import calls
from tests.support.detected_regions import Regional, lxmert, write_tsv
from tests.support.feature_tables import write_feature_table

THINGS = 12
DIM = 16


def write_synthetic(
    folder: Path, documents: int = 60, *, seed: int = 0, splits: bool = True, links: bool = True, shown: int = 3
) -> Path:
    """Documents of ``shown`` images and one sentence more, with a table of features beside them."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    looks = np.random.default_rng(7).normal(size=(THINGS, DIM))
    sources: list[str] = []
    rows, lines = [], []
    for number in range(documents):
        things = rng.permutation(THINGS)[: shown + 1]
        own = [f"{number}-{place}" for place in range(shown)]
        sources += own
        rows.append(looks[things[:shown]] + 0.1 * rng.normal(size=(shown, DIM)))
        order = rng.permutation(shown + 1)
        line: dict[str, object] = {
            "id": f"d{number}",
            "sentences": [f"a thing{things[place]} and word{rng.integers(5)} here" for place in order],
            "images": own,
        }
        if splits:
            line["split"] = ("train", "train", "train", "validation", "test")[number % 5]
        if links:
            line["links"] = [[int(np.flatnonzero(order == place)[0]), place] for place in range(shown)]
        lines.append(json.dumps(line) + "\n")
    write_feature_table(folder / "features.npy", sources, [np.concatenate(rows).astype(np.float32)], dim=DIM)
    (folder / "corpus.jsonl").write_text("".join(lines))
    return folder / "corpus.jsonl"


def small_recipe(**tables) -> Recipe:
    """A recipe for it; keyword arguments change tables, or plain settings."""
    values: dict[str, Any] = {
        "name": "small",
        "dim": 16,
        "features": {"image": "features.npy"},
        "text": {"word_dim": 8, "dropout": 0.1},
        "image": {"dropout": 0.1},
        "training": {"epochs": 3, "learning_rate": 0.01, "batch": 8},
    }
    if tables.get("text", {}).get("kind") == "projection":
        del values["text"]["word_dim"]
    for name, value in tables.items():
        values[name] = values.get(name, {}) | value if isinstance(value, dict) else value
    return make_recipe(values, source="test")


def write_regional(folder: Path, documents: int = 40, *, seed: int = 0) -> Path:
    """Documents of two images and two sentences; what an image shows is in one of its regions, and named there."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    looks = np.random.default_rng(7).normal(size=(THINGS, DIM))
    rows, lines = [], []
    for number in range(documents):
        things = rng.permutation(THINGS)[:2]
        order = rng.permutation(2)
        for place, thing in enumerate(things):
            count = int(rng.integers(1, 5))
            seen = Regional(int(rng.integers(2**31)), count, DIM)
            shown = int(rng.integers(count))
            seen.features[:] = 0.3 * rng.normal(size=(count, DIM))
            seen.features[shown] = looks[thing]
            seen.objects[:] = THINGS  # the last name, which says nothing
            seen.objects[shown] = thing
            rows.append(lxmert(f"{number}-{place}", seen))
        lines.append(
            {
                "id": f"d{number}",
                "split": ("train", "train", "train", "validation", "test")[number % 5],
                "sentences": [f"here is a thing{things[place]}" for place in order],
                "images": [f"{number}-{place}.jpg" for place in range(2)],
                "links": [[int(np.flatnonzero(order == place)[0]), place] for place in range(2)],
            }
        )
    write_tsv(folder / "regions.tsv", rows)
    (folder / "regions.concepts.txt").write_text("".join(f"thing{n}\n" for n in range(THINGS)) + "some thing\n")
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "corpus.jsonl"


def regional_recipe(folder: Path, **tables) -> Recipe:
    """A recipe for these: Transformers over words and over regions."""
    values = {
        "features": {"image": str(folder / "regions.tsv")},
        "text": {"kind": "transformer", "layers": 1, "heads": 2},
        "image": {"kind": "regions", "layers": 1, "heads": 2},
        "similarity": {"kind": "top-k", "directions": "mean"},
        "objective": {"negatives": "mean"},
        "training": {"epochs": 22, "learning_rate": 0.005, "batch": 8},
    }
    for name, table in tables.items():
        values[name] = values.get(name, {}) | table
    return small_recipe(**values)


def write_pairs(folder: Path, pairs: int = 160, *, seed: int = 0, splits: bool = True, labels: bool = True) -> Path:
    """One sentence and one image each: the sentence names what the image shows, and may tell a story about it.

    Visible holds where no story is told; Story where one is; Action is a property of the image alone; of Meta nobody
    answered every third time.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    looks = np.random.default_rng(7).normal(size=(THINGS, DIM))
    moving = np.random.default_rng(8).normal(size=DIM)
    rows, lines, sources = [], [], []
    for number in range(pairs):
        thing, story, action, meta = int(rng.integers(8)), *(bool(rng.integers(2)) for _ in range(3))
        rows.append(looks[thing] + action * moving + 0.1 * rng.normal(size=DIM))
        sources.append(f"i{number}")
        words = ["once upon a time" if story else "here is", f"thing{thing}", "today" if meta else "", f"w{number % 5}"]
        line: dict[str, object] = {
            "id": f"p{number}",
            "sentences": [" ".join(filter(None, words))],
            "images": [f"i{number}"],
        }
        if splits:
            line["split"] = ("train", "train", "train", "validation", "test")[number % 5]
        if labels:
            answers = {
                "Visible": not story,
                "Story": story,
                "Action": action,
                "Meta": None if number % 3 == 0 else meta,
            }
            line["relations"] = answers
        lines.append(json.dumps(line) + "\n")
    write_feature_table(folder / "features.npy", sources, [np.array(rows, np.float32)], dim=DIM)
    (folder / "pairs.jsonl").write_text("".join(lines))
    return folder / "pairs.jsonl"


def made(documents, *, corpora=None, splits=None):
    """A prepared corpus in memory: for each document its number of sentences and its image rows."""
    rng = np.random.default_rng(0)
    sentences, images = [s for s, _ in documents], [rows for _, rows in documents]
    words = rng.integers(1, 5, sum(sentences))
    return Prepared(
        folder=None,
        meta={},
        ids=[f"d{number}" for number in range(len(documents))],
        splits=np.array(splits or [0] * len(documents), np.uint8),
        corpora=np.array(corpora or [0] * len(documents), np.uint16),
        sentence_offsets=np.cumsum([0, *sentences]),
        image_offsets=np.cumsum([0, *map(len, images)]),
        image_rows=np.array([row for rows in images for row in rows], np.int64),
        link_offsets=np.zeros(len(documents) + 1, np.int64),
        links=np.zeros((0, 2), np.int32),
        linked=np.zeros(len(documents), bool),
        relation_offsets=np.zeros(len(documents) + 1, np.int64),
        relations=np.zeros((0, 2), np.int32),
        images=np.arange(100, dtype=np.float16)[:, None],
        words=Words(np.arange(int(words.sum()), dtype=np.int32), np.cumsum([0, *words])),
    )


def tables(corpus: Path, **more) -> Recipe:
    return small_recipe(features={"image": str(corpus.with_name("features.npy"))}, **more)


def edited(corpus: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """Apply a change to the list of a corpus's rows, in its file."""
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    change(rows)
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return corpus


def log_of(folder):
    """Rows of the log without their seconds."""
    rows = list(csv.DictReader((folder / "log.csv").read_text().splitlines()))
    for row in rows:
        assert float(row.pop("seconds")) >= 0
    return rows


def weights_of(folder):
    return (folder / "weights.safetensors").read_bytes()


def metrics_of(folder):
    return json.loads((folder / "metrics.json").read_text())


class Stop(Exception):
    pass


class StopAt:
    """A watcher that stops the run at a step."""

    def __init__(self, epoch, step):
        self.at = (epoch, step)
        self.seen = []

    def step(self, epoch, step, steps, loss):
        self.seen.append((epoch, step))
        if (epoch, step) == self.at:
            raise Stop

    def epoch(self, row):
        pass


KILLED = """
    import json, os, random, signal, sys
    from pathlib import Path
    import torch, lap, pyarrow.parquet
    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))])  # the first one takes seconds
    import iconotext.train.loop as loop
    from iconotext.recipe import make_recipe
    from iconotext.train import train

    corpus, folder, recipe, calls = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
    loop.SAVE_EVERY = 0
    rng = random.Random(0)
    killed = 0

    def die_after(left):  # so many calls of functions, wherever the process is then
        def called(frame, event, argument):
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(called)

    while True:
        child = os.fork()
        if not child:
            if killed < 12:
                die_after(rng.randrange(calls // 20, calls // 3))
            train(make_recipe(recipe, source="test"), [corpus], folder)
            os._exit(0)
        rng.random()
        _, status = os.waitpid(child, 0)
        if status == 0:
            print(killed)
            break
        assert os.WIFSIGNALED(status), status
        killed += 1
"""


def ends_the_same_when_killed(recipe, corpus, tmp_path):
    """Train undisturbed, and killed up to twelve times; compare."""
    number = calls(train, recipe, [corpus], tmp_path / "whole")
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    values = recipe.model_dump(mode="json", exclude_none=True)
    command = [sys.executable, script, corpus, tmp_path / "killed", json.dumps(values), str(number)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) >= 2, (ended.stdout, "it was hardly ever killed")
    assert weights_of(tmp_path / "killed") == weights_of(tmp_path / "whole")
    assert metrics_of(tmp_path / "killed") == metrics_of(tmp_path / "whole")
    assert log_of(tmp_path / "killed") == log_of(tmp_path / "whole")
    assert len(metrics_of(tmp_path / "whole")["averaged_epochs"]) == 2
    left = {path.name for path in (tmp_path / "killed").iterdir() if not path.name.endswith(".tmp")}
    assert left == {path.name for path in (tmp_path / "whole").iterdir()}
