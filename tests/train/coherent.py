"""A small corpus of text-image pairs with relations that can be learned."""

import json
from pathlib import Path

import numpy as np

from iconotext.features.feature_table import write_feature_table

THINGS, DIM = 8, 16


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
        thing, story, action, meta = int(rng.integers(THINGS)), *(bool(rng.integers(2)) for _ in range(3))
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
