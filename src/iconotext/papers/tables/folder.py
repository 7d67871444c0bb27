"""The folder of a reproduced table: its state, and the paths of its models and results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from iconotext.encoders.stored_model import METRICS, read_metrics
from iconotext.errors import OutputError, SettingError
from iconotext.papers.tables.rows import Row
from iconotext.recipe import Recipe
from iconotext.system.files import write_text
from iconotext.system.strict_json import parse_json

STATE = "reproduce.json"
"""File with the origin of a folder."""

TABLE, PAGE, CURVES, RESULTS = "table.md", "table.html", "curves.svg", "results.json"

VALIDATION_K = "object-detection-validation"
"""Key of object detection with the K that is best on the validation documents."""


def check_state(folder: Path, state: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded state of the folder; empty if it is new."""
    path = folder / STATE
    if not path.is_file():
        there = [name for name in (TABLE, PAGE, CURVES, RESULTS) if (folder / name).exists()]
        if there:
            raise OutputError(f"{folder}: holds a {there[0]} that is not ours; name another folder")
        return {}
    try:
        old: dict[str, Any] = dict(parse_json(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise SettingError(f"{path}: damaged ({error}); name another folder, or remove this one") from error
    for name, value in state.items():
        if old.get(name) != value:
            raise SettingError(
                f"{folder}: was made with {name} {_shown(old.get(name))}, not {_shown(value)}; name another folder, "
                "or remove this one"
            )
    return old


def claim(folder: Path, state: dict[str, Any]) -> None:
    """Record the state of the folder; ``SettingError`` if the corpus has changed since."""
    old = check_state(folder, {name: value for name, value in state.items() if name != "prepared"})
    if old and old["prepared"] != state["prepared"]:
        raise SettingError(
            f"{folder}: the corpus {state['corpus']} has changed since; name another folder, or remove this one"
        )
    write_text(folder / STATE, json.dumps(state, indent=1), force=True)


def _shown(value: Any) -> str:
    return (" ".join(value) or "nothing") if isinstance(value, list) else str(value)


def results_path(folder: Path, key: str, kind: Literal["links", "retrieval"] = "links") -> Path:
    """Return the file of a row's results on the test documents."""
    return folder / "results" / f"{key}{'.parquet' if kind == 'links' else '.json'}"


def model_folder(folder: Path, key: str) -> Path:
    """The model of a row."""
    return folder / "models" / key


def collapse_of(folder: Path, key: str) -> dict[str, Any] | None:
    """Return the entry about the collapse of training in ``metrics.json`` of a model; None if it did not collapse."""
    model = model_folder(folder, key)
    return read_metrics(model).get("collapse") if (model / METRICS).is_file() else None


def about_results(corpus: Path, key: str) -> dict[str, Any]:
    """Return the facts that the file of a row's scores has about its origin."""
    return {"model": key, "corpus": corpus.name, "split": "test", "evidence": ["picture"]}


@dataclass(frozen=True, slots=True)
class Run:
    """A row trained with a seed, which is part of its key (for files) unless it is the row's own."""

    row: Row
    key: str
    seed: int
    recipe: Recipe


def runs_of(row: Row, seeds: int) -> tuple[Run, ...]:
    """Return the runs of a row: with the seed of its recipe, the next one, and so on; none without training."""
    if row.recipe is None:
        return ()
    own = row.recipe
    runs = [Run(row, row.key, own.seed, own)]
    for seed in range(own.seed + 1, own.seed + seeds):
        key = f"{row.key}-seed{seed}"
        runs.append(Run(row, key, seed, own.model_copy(update={"seed": seed, "name": key})))
    return tuple(runs)
