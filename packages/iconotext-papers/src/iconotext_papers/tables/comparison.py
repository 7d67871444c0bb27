"""A reproduced table: the state of its folder, its runs (``Run``), the comparison, and its report.

``Comparison`` holds the requested rows and their outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from iconotext.encoders.stored_model import METRICS, read_metrics
from iconotext.errors import OutputError, SettingError
from iconotext.recipe import Recipe
from iconotext.report.tables import Footnote, Section, report_page
from iconotext.system.files import write_text
from iconotext.system.strict_json import parse_json
from iconotext_papers.published import PublishedTable
from iconotext_papers.tables.rows import Row, differing, line, of_data

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared


STATE = "reproduce.json"
"""File with the origin of a folder."""

TABLE, PAGE, CURVES, RESULTS = "table.md", "table.html", "curves.svg", "results.json"

VALIDATION_K = "object-detection-validation"
"""Key of object detection with the K that is best on the validation documents."""


def check_state(folder: Path, state: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded state of the folder; empty if it is new."""
    path = folder / STATE
    if not path.is_file():
        existing = [name for name in (TABLE, PAGE, CURVES, RESULTS) if (folder / name).exists()]
        if existing:
            raise OutputError(f"{folder}: holds a {existing[0]} that is not ours; name another folder")
        return {}
    try:
        old: dict[str, Any] = dict(parse_json(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise SettingError(f"{path}: damaged ({error}); name another folder, or remove this one") from error
    for name, value in state.items():
        if old.get(name) != value:
            raise SettingError(
                f"{folder}: was made {_made(name, old.get(name))}, not {_made(name, value)}; name another folder, "
                "or remove this one"
            )
    return old


def claim(folder: Path, state: dict[str, Any]) -> None:
    """Record the state of the folder; ``SettingError`` if the corpus has changed since."""
    # All but the prepared corpus, whose difference has a message of its own.
    old = check_state(folder, {name: value for name, value in state.items() if name != "prepared"})
    if old and old["prepared"] != state["prepared"]:
        raise SettingError(
            f"{folder}: the corpus {state['corpus']} has changed since; name another folder, or remove this one"
        )
    write_text(folder / STATE, json.dumps(state, indent=1), force=True)


def _made(name: str, value: Any) -> str:
    """What a folder was made with: ``with table 2``, ``without --set``."""
    if name not in ("set", "from"):
        return f"with {name} {' '.join(value) if isinstance(value, list) else value}"
    given = value if isinstance(value, list) else [value] if value else []
    return " ".join(["with", *(f"--{name} {each}" for each in given)]) if given else f"without --{name}"


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
    recipe = row.recipe
    runs = [Run(row, row.key, recipe.seed, recipe)]
    for seed in range(recipe.seed + 1, recipe.seed + seeds):
        key = f"{row.key}-seed{seed}"
        runs.append(Run(row, key, seed, recipe.model_copy(update={"seed": seed, "name": key})))
    return tuple(runs)


Notify = Callable[[str], None]
"""A function that is called with a description of the current task."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The request for a reproduced table, and its state.

    Attributes:
        rows: All rows in the folder.
        requested: Keys of the requested rows.
        prepared: The prepared corpus of the first row that is trained on it.
        overrides: ``key=value`` for all rows, or with the row before it.
        dataset: Data set of the paper to set beside ours; None for all.
        seeds: Number of seeds of each row that is trained.
        source: Corpus file that a transferred row is trained on.
        failed: Reasons of failed runs, by key.
        collapsed: Entries in ``metrics.json`` of runs whose training collapsed, by key: whether it had ``learned``
            before, so that its model is of an earlier epoch, the ``epoch`` in which it died, None if it ran to its end,
            and ``why``.
        problems: Further remarks for a reader.
    """

    table: PublishedTable
    rows: Sequence[Row]
    corpus: Path
    prepared: Prepared
    folder: Path
    overrides: Sequence[str] = ()
    dataset: str | None = None
    seeds: int = 1
    source: Path | None = None
    requested: frozenset[str] = frozenset()
    failed: Mapping[str, str] = field(default_factory=dict)
    collapsed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: Sequence[str] = ()
    notify: Notify = print

    @property
    def reference(self) -> str:
        """Name of the row that the others are compared with: the paper's own model, else the first that is trained."""
        trained = [row for row in self.rows if row.recipe is not None]
        return next((row for row in trained if row.key == self.table.reference), trained[0]).name

    @property
    def label(self) -> str:
        """Name of the corpus in a table of several: the data set that it stands for, else its own name."""
        return self.dataset or self.corpus.stem

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows of our table: the requested ones, and others that were measured before."""
        kind = self.table.kind
        return tuple(
            row
            for row in self.rows
            if not self.requested
            or row.key in self.requested
            or any(results_path(self.folder, key, kind).is_file() for key in self._keys(row))
        )

    def _keys(self, row: Row) -> list[str]:
        return [run.key for run in runs_of(row, self.seeds)] or [row.key]

    def counts(self, key: str) -> bool:
        """Tell whether a run has valid figures: it did not fail, nor die before it had learned anything."""
        collapse = self.collapsed.get(key)
        return key not in self.failed and (collapse is None or collapse["learned"] or collapse["epoch"] is None)

    def never_left_start(self, key: str) -> bool:
        """Tell whether no epoch of a run was better than a model to which everything is alike."""
        return key in self.collapsed and not self.collapsed[key]["learned"]

    def differing(self, *, many_corpora: bool = False) -> dict[str, list[str]]:
        """Differences from the paper, by the name of the row; ``many_corpora``: name the corpora by their data sets."""
        sample = next(row.recipe for row in self.rows if row.recipe is not None)
        width = None if self.prepared.images is None else self.prepared.images.shape[-1]
        corpus_name = f"{self.label} ({self.corpus.name})" if many_corpora else self.corpus.name
        data = of_data(corpus_name, self.prepared, self.table, self.dataset)
        by_row = {row.name: differing(row, self.table, sample, width=width, seeds=self.seeds) for row in self.shown}
        for row in self.shown:
            if row.transferred and self.source and row.transferred.casefold() not in self.source.name.casefold():
                by_row[row.name].append(f"learned from {self.source.name} ({row.transferred})")
            by_row[row.name] += [data] if data else []
        return by_row


def footnotes(comparisons: Sequence[Comparison]) -> list[Footnote]:
    """Make a fidelity line for the rows of a table, one for those that differ alike, and one for each failed run."""
    rows_by_texts: dict[tuple[str, ...], list[str]] = {}
    many_corpora = len(comparisons) > 1
    differences = [c.differing(many_corpora=many_corpora) for c in comparisons]
    for name in dict.fromkeys(row.name for c in comparisons for row in c.shown):
        texts = tuple(dict.fromkeys(text for of_rows in differences for text in of_rows.get(name, ())))
        rows_by_texts.setdefault(texts, []).append(name)
    lines = [Footnote(line(", ".join(rows), texts), rows) for texts, rows in rows_by_texts.items()]
    return lines + [note for c in comparisons for note in _failures(c, f" on {c.label}" if many_corpora else "")]


def _failures(comparison: Comparison, where: str) -> Iterator[Footnote]:
    """Yield the reasons why runs failed or collapsed; ``where`` names the corpus if there are several."""
    for run in (run for row in comparison.shown for run in runs_of(row, comparison.seeds)):
        name = run_title(run.row, run.seed, comparison.seeds) + where
        if run.key in comparison.failed:
            yield Footnote(f"{name} failed: {comparison.failed[run.key]}", [run.row.name], grave=True)
        elif run.key in comparison.collapsed:
            suffix = "" if comparison.counts(run.key) else " and has no figures here"
            collapse = comparison.collapsed[run.key]
            what = "collapsed" if collapse["learned"] or collapse["epoch"] is not None else "learned nothing"
            text = f"{name} {what}{suffix}: {collapse['why']}"
            yield Footnote(text, [run.row.name], grave=True)


def run_title(row: Row, seed: int, seeds: int) -> str:
    """Return the name of a run for people."""
    return row.name if seeds == 1 else f"{row.name}, seed {seed}"


def write_pages(folder: Path, title: str, sections: Sequence[Section]) -> None:
    """Write a report as ``table.md`` and ``table.html``; without sections, no file is written."""
    if sections:
        write_text(folder / TABLE, "\n".join(section.markdown() for section in sections), force=True)
        write_text(folder / PAGE, report_page(title, sections), force=True)


def write_report(
    comparison: Comparison, title: str, sections: Sequence[Section], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Write table, page and ``results.json``, and return the contents of the last."""
    folder = comparison.folder
    write_pages(folder, title, sections)
    everything = {
        "table": comparison.table.name,
        "corpus": str(comparison.corpus),
        "dataset": comparison.dataset,
        "set": list(comparison.overrides),
        **facts,
        "differs": comparison.differing(),
        "failed": comparison.failed,
        "collapsed": comparison.collapsed,
        "notes": list(comparison.problems),
    }
    text = json.dumps(everything, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / RESULTS, text + "\n", force=True)
    results: dict[str, Any] = parse_json(text)  # with the lists that a reader of the file gets
    return results
