"""A small corpus that can be learned: every image shows one of a few things, every sentence names one."""

import json
from pathlib import Path

import numpy as np

from iconotext.corpus.feature_table import write_feature_table
from iconotext.recipe import Recipe, make_recipe

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
    values = {
        "name": "small",
        "dim": 16,
        "features": {"image": "features.npy"},
        "text": {"word_dim": 8, "dropout": 0.1},
        "image": {"dropout": 0.1},
        "training": {"epochs": 3, "learning_rate": 0.01, "batch": 8},
    }
    for name, value in tables.items():
        values[name] = values.get(name, {}) | value if isinstance(value, dict) else value
    return make_recipe(values, source="test")
