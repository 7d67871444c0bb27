"""A small corpus that can be learned: every image shows one of a few things, every sentence names one."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from iconotext.features.feature_table import write_feature_table
from iconotext.recipe import Recipe, make_recipe
from tests.support.detected_regions import Regional, lxmert, write_tsv

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
    if tables.get("text", {}).get("kind") in ("projection", "identity"):
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
