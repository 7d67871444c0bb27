"""Tables of results: printed as Markdown, and written as records that the pages of results are made of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESAMPLINGS = 2000

R = TypeVar("R")
Figure = dict[str, Any]
"""``value`` and ``interval`` in percent, as records have them."""


class Table(NamedTuple):
    """A table of results.

    Attributes:
        name: That of its record.
        title: What it is about, with the numbers of texts and pictures.
        rows: Name of a row to column to figure.
        head: Head of the first column.
    """

    name: str
    title: str
    rows: Mapping[str, Mapping[str, Figure]]
    head: str = ""


def share(results: Sequence[R], measure: Callable[[R], tuple[int, int]]) -> Figure:
    """The share of what something holds for, of all that it could hold for, with its 95 % interval over the results."""
    counts = np.array([measure(result) for result in results], np.float64).reshape(-1, 2)
    rng = np.random.default_rng(0)
    drawn = counts[rng.integers(len(counts), size=(RESAMPLINGS, len(counts)))].sum(axis=1)
    low, high = np.nanquantile(drawn[:, 0] / np.maximum(drawn[:, 1], 1), [0.025, 0.975]).tolist()
    whole = counts.sum(axis=0)
    value = float(whole[0] / max(whole[1], 1))
    return {"value": round(100 * value, 2), "interval": [round(100 * low, 2), round(100 * high, 2)]}


def show(table: Table) -> None:
    columns = list(dict.fromkeys(column for row in table.rows.values() for column in row))
    print(f"\n**{table.title}**:\n\n| {' | '.join([table.head, *columns])} |\n| --- |{' ---: |' * len(columns)}")
    for name, figures in table.rows.items():
        print(f"| {' | '.join([name, *(_cell(figures[column]) for column in columns)])} |", flush=True)


def _cell(figure: Figure) -> str:
    low, high = figure["interval"]
    return f"{figure['value']:.1f} ({low:.1f}–{high:.1f})"


def program_version() -> str:
    """The version and the commit of the program, to be taken before a run begins."""
    records = _records()
    return f"{records.iconotext.__version__} ({records._commit()})"


def write_record(table: Table, command: str, version: str) -> None:
    """Write the record of a table into the folder of the repository's records."""
    records = _records()
    path = records.OTHERS / f"{table.name}.json"
    kept = records.read(table.name) if path.exists() else {}
    found = {
        "command": command,
        "table": None,
        "dataset": None,
        "set": [],
        "corpus": None,
        "seeds": None,
        "version": version,
        "machine": records.machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "encoders": {"minilm": records._encoder("minilm")},
        "recipe": {},
        "rows": [{"row": name, "key": None, "figures": dict(figures)} for name, figures in table.rows.items()],
        "head": table.head,
        "title": kept.get("title", table.title),
        "about": kept.get("about", []),
    }
    path.write_text(records.as_json(found), encoding="utf-8")


def _records() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    return import_module("records")
