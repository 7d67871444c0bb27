"""A folder of models in every state, and a corpus to measure them on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from iconotext.embed.folder import METRICS, RECIPE, shipped_folder
from iconotext.train.log import COLUMNS, LOG
from tests.serve.conftest import png

COLOURS = {"red": (200, 20, 20), "green": (20, 160, 40), "blue": (30, 60, 200), "yellow": (230, 210, 30)}

BROKEN = 'bad "<i onclick=alert(1)>&?#%'
"""A name that does harm where it is taken for markup, or for an address."""

WHY = "training never left its start: neither on its documents nor in validation was the loss 1 % below 0.4"


def write_models(folder: Path) -> Path:
    """``captions`` and ``photographs`` are trained, ``dead`` collapsed; ``growing`` is in training, ``BROKEN`` damaged."""
    for name, shipped in (("captions", "default"), ("photographs", "photographs"), ("dead", "default")):
        shutil.copytree(shipped_folder(shipped), folder / name)
    metrics = json.loads((folder / "dead" / METRICS).read_text())
    metrics["collapse"] = {"epoch": None, "learned": False, "why": WHY}
    (folder / "dead" / METRICS).write_text(json.dumps(metrics))
    (folder / "growing").mkdir()
    shutil.copy(folder / "captions" / RECIPE, folder / "growing" / RECIPE)
    write_epochs(folder / "growing", 2)
    shutil.copytree(folder / "captions", folder / BROKEN)
    (folder / BROKEN / RECIPE).write_text("name = ")
    (folder / "notes").mkdir()
    return folder


def write_epochs(folder: Path, epochs: int) -> None:
    """A log as training writes it."""
    values = {"learning_rate": 0.001, "no_information": 2.0, "positive": 0.5, "still": 0.0, "seconds": 1.0}
    rows = [
        {
            **values,
            "epoch": n,
            "step": n,
            "train_loss": 2 / n,
            "validation_loss": 2.1 / n,
            "validation_auc": 1 - 0.4 / n,
        }
        for n in range(1, epochs + 1)
    ]
    lines = [",".join(COLUMNS), *(",".join(str(row.get(column, "")) for column in COLUMNS) for row in rows)]
    (folder / LOG).write_text("\n".join(lines) + "\n")


def write_corpus(folder: Path) -> Path:
    """Six documents of three coloured pictures, each with its sentence; the last has no gold links."""
    folder.mkdir()
    for name, colour in COLOURS.items():
        (folder / f"{name}.png").write_bytes(png(colour, folder))
    (folder / "one.png").unlink()
    names = list(COLOURS)
    rows = []
    for n in range(6):
        chosen = [names[(n + i * (1 + n % 2)) % 4] for i in range(3)]
        rows.append(
            {
                "id": f"walk-{n}",
                "sentences": [*(f"A {name} door at the end of street {n}." for name in chosen), "Then it rained."],
                "images": [f"{name}.png" for name in chosen],
                "links": [[i, i] for i in range(3)] if n < 5 else [],
                "meta": {"title": f"Walk {n} <b>"},
            }
        )
    (folder / "walks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "walks.jsonl"
