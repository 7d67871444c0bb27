"""What is written about a reproduced table: Markdown, a page, training curves, and all figures as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import METRICS
from iconotext.evaluate.published import PUBLISHED
from iconotext.evaluate.results import Evaluation, read_results
from iconotext.train.log import LOG
from iconotext.train.reproduce_folder import CURVES, PAGE, RESULTS, TABLE, VALIDATION_K, model_folder, results_path
from iconotext.train.reproduce_rows import DETECTION, Row
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.evaluate.table import ResultsTable
    from iconotext.train.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Told:
    """What was asked for.

    Attributes:
        table: Number of the table.
        rows: All of its rows.
        corpus: The corpus file.
        overrides: ``key=value`` for all rows.
        dataset: Data set of the paper to set beside ours; None for all.
    """

    table: str
    rows: Sequence[Row]
    corpus: Path
    overrides: Sequence[str]
    dataset: str | None


def write_tables(
    told: Told, folder: Path, prepared: Prepared, *, failed: dict[str, str], problems: Sequence[str]
) -> dict[str, Any]:
    """Read all results that are there, and write tables, curves and figures.

    Args:
        told: What was asked for.
        folder: Where everything lies.
        prepared: The corpus.
        failed: For each key of a row that failed, why.
        problems: What else a reader must know.

    Returns:
        What ``results.json`` holds.
    """
    from iconotext.evaluate.curves import read_curve, write_curves
    from iconotext.evaluate.table import html, markdown, results_table

    published = {
        name: {each: figures for each, figures in cells.items() if told.dataset in (None, each)}
        for name, cells in PUBLISHED[told.table].items()
    }
    found: dict[str, dict[str, Any]] = {}
    evaluations: dict[str, Evaluation] = {}
    for name, key in _lines(told.rows):
        path = results_path(folder, key)
        if path.is_file() and key not in failed:
            read = read_results(path)
            evaluations[name] = read.evaluation
            found[name] = {"row": name, **read.evaluation.as_dict(model=key, corpus=str(told.corpus), split="test")}
            found[name] |= {"k": read.about["k"]} if "k" in read.about else {}
            found[name] |= _training(model_folder(folder, key))
            if name in published:
                found[name]["published"] = {each: list(figures) for each, figures in published[name].items()}
    column = told.corpus.stem
    in_order = {
        name: published.get(name, {}) for name, _ in _lines(told.rows) if name in published or name in evaluations
    }
    shown = results_table(
        {name: {column: evaluation} for name, evaluation in evaluations.items()},
        in_order,
        title=f"Table {told.table} of Hessel et al. 2019, and {told.corpus.name}",
        notes=[*_notes(evaluations, found, told.overrides, prepared), *problems, *_failures(told.rows, failed)],
    )
    write_text(folder / TABLE, markdown(shown), force=True)
    curves = [
        replace(read_curve(model_folder(folder, row.key)), name=row.name)
        for row in told.rows
        if row.recipe is not None and (model_folder(folder, row.key) / LOG).is_file()
    ]
    if curves:
        write_curves(curves, folder / CURVES, force=True)
    write_text(folder / PAGE, _page(shown, html(shown), with_curves=bool(curves)), force=True)
    results = {
        "table": told.table,
        "corpus": str(told.corpus),
        "dataset": told.dataset,
        "set": list(told.overrides),
        "rows": list(found.values()),
        "failed": failed,
        "notes": list(problems),
    }
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / RESULTS, text + "\n", force=True)
    return results


def _lines(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Name and key of each line of our table: a published row, and after object detection the other choice of K."""
    lines = []
    for row in rows:
        lines.append((row.name, row.key))
        if row.key == DETECTION:
            lines.append(("Object detection, K by validation", VALIDATION_K))
    return lines


def _training(model: Path) -> dict[str, Any]:
    """Best epoch, epochs and seconds of a model that was trained."""
    import csv

    if not (model / METRICS).is_file():
        return {}
    metrics = json.loads((model / METRICS).read_text(encoding="utf-8"))
    with (model / LOG).open(encoding="utf-8", newline="") as file:
        seconds = sum(float(row["seconds"]) for row in csv.DictReader(file))
    return {name: metrics[name] for name in ("best_epoch", "epochs", "validation_loss")} | {"seconds": seconds}


def _notes(
    evaluations: dict[str, Evaluation], found: dict[str, dict[str, Any]], overrides: Sequence[str], prepared: Prepared
) -> list[str]:
    """What a reader of the table must know."""
    notes = []
    if evaluations:
        some = next(iter(evaluations.values()))
        notes.append(
            f"In percent. Ours: means over {len(some.defined):,} test documents, in brackets 95 % bootstrap intervals "
            "over them; bold is within one point of the best of its column."
        )
        if some.undefined:
            notes.append(f"{len(some.undefined):,} more test documents have no defined AUC and do not count.")
    ks = [(row["model"], row["k"]) for row in found.values() if "k" in row]
    if ks:
        told = {DETECTION: "is best on the test documents, which flatters it, as in the paper", VALIDATION_K: "is best "
                "on the validation documents"}  # fmt: skip
        notes.append("Object detection: " + "; ".join(f"K = {k} {told[key]}" for key, k in ks) + ".")
    if overrides:
        notes.append(f"Other settings than the paper's, in all rows: {', '.join(overrides)}.")
    if prepared.meta["images_left_out"]:
        notes.append(
            f"{prepared.meta['images_left_out']:,} pictures that cannot be read are left out, except for object "
            "detection, where they count with the score 0."
        )
    return notes


def _failures(rows: Sequence[Row], failed: dict[str, str]) -> list[str]:
    return [f"{row.name} failed: {failed[row.key]}" for row in rows if row.key in failed]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; display: block; overflow-x: auto }}
caption {{ text-align: left; font-weight: 600; padding-bottom: .6rem }}
th, td {{ padding: .25rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884 }}
th[scope=row] {{ text-align: left; font-weight: 500 }}
th[scope=colgroup] {{ text-align: center }}
img {{ max-width: 100%; background: #fff }}
</style></head><body>
{table}{curves}</body></html>
"""


def _page(table: ResultsTable, fragment: str, *, with_curves: bool) -> str:
    """The table as a page of its own."""
    from html import escape

    image = f'<p><img src="{CURVES}" alt="Objective and AUC on the validation documents by epoch"></p>\n'
    return _PAGE.format(title=escape(table.title), table=fragment, curves=image if with_curves else "")
