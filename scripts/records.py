"""Records of results: one small file for each table that was measured, of which the pages of results are made.

``python scripts/records.py NAME FOLDER`` writes ``docs/results/records/NAME.json`` of the package of the papers from a
finished folder of ``iconotext papers reproduce``, or from one of its folders for a corpus; without arguments it lists
the rows that are not of today's recipes. A page shows a record between ``<!-- record NAME -->`` and
``<!-- end of record -->``; ``python scripts/docs_tables.py`` fills these. ``<!-- record NAME | AUC − Ours | seeds -->``
shows the named columns alone.

A record holds the recipe of every trained row, and digests of the shipped encoders and of the corpus's documents. Where
today's recipe of the row, or an encoder, is another one, the row says that it was not run again since.

Figures of an older program whose runs are gone stand in a record that was written by hand: ``recipe`` is null, and a
cell may be a number, a text, or an object with ``value`` and optionally ``sd`` and ``interval``; ``head`` is the head
of the first column.

A table's rank correlations, regressions and bias stand in ``analyses``, as in ``results.json``; ``<!-- analysis
correlation NAME NAME -->`` and ``<!-- end of analysis -->`` hold one of them out of several records. With ``--again`` a
folder where the rows were run again is compared with the record instead of being written: a figure may differ by .01,
or by twice the standard deviation over seeds that the record states.

A record of a benchmark has no published table: ``table`` is null and ``recipe`` empty, and its script writes it.
``title`` and ``about``, paragraphs of what was measured and what is known of it, make a page of such a record on the
site (``make_site.py``).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import iconotext
from iconotext.corpus.store import read_rows
from iconotext.errors import IconotextError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.features.model_folder import folder_name
from iconotext.recipe import Recipe, load_recipe
from iconotext.train.checkpoint import flat
from iconotext.train.start import with_init
from iconotext_papers.published import published_facts, published_tables
from iconotext_papers.tables.comparison import RESULTS, STATE, VALIDATION_K, model_folder
from iconotext_papers.tables.results_grid import GRID_METRICS
from iconotext_papers.tables.rows import DETECTION, Row, chosen_rows, find_table, is_by_relation, table_rows

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "packages/iconotext-papers/docs/results/records"
"""The records of the papers' tables, where new ones are written; those of benchmarks lie in ``OTHERS``."""

OTHERS = ROOT / "docs/results/records"
MODELS = Path(iconotext.__file__).parent / "models"

READ = ("features.image", "features.text", "text.word_vectors", "image.network", "init")
"""Keys of recipes that name an encoder or a file."""

LEFT_OUT = ("name", "follows", "seed")
"""Keys of recipes that change no figure; the seeds stand in the record."""

MAIN = ("AUC", "p@1", "p@5", "−L", "validation MedR", "MedR", "R@1", "R@5", "R@10")
"""Columns of a table that names none, of those that the record has."""

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


# Making a record


def record(folder: Path, *, built: str = "", commit: str = "") -> dict[str, Any]:
    """Return the record of a folder of ``iconotext reproduce``.

    Args:
        built: The command that built the corpus.
        commit: Version of the program in the repository's history; empty for that of this working tree.
    """
    if not (folder / RESULTS).is_file():
        raise SystemExit(f"{folder}: has no {RESULTS}; wait until `iconotext reproduce` has ended there")
    results = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    if "corpora" in results:
        there = ", ".join(str(folder / name.casefold()) for name in results["corpora"])
        raise SystemExit(f"{folder}: holds several corpora; make a record of each: {there}")
    state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    corpus, overrides = Path(state["corpus"]), [_without_folder(each) for each in results["set"]]
    recipes = _trained(folder)
    rows = _rows_of(results["table"], overrides, results["dataset"], recipes)
    entries = list(_link_rows(results) if isinstance(results["rows"], list) else _retrieval_rows(results, rows, folder))
    common = _common([flat_recipe(recipes[each["key"]]) for each in entries if each["key"] in recipes])
    for each in entries:
        if each["key"] in recipes:
            own = flat_recipe(recipes[each["key"]])
            each["recipe"] = {key: value for key, value in own.items() if common.get(key, _ABSENT) != value}
    entries += _without_figures(results, rows, {each["row"] for each in entries})
    seeds = results.get("seeds", 1)
    analyses = {name: results[name] for name in ("correlation", "difficulty", "bias", "explained") if results.get(name)}
    return {
        "command": _command(results, overrides, corpus.name, seeds, [each["key"] for each in entries]),
        "table": results["table"],
        "dataset": results["dataset"],
        "set": overrides,
        "corpus": {"name": corpus.name, "sha256": corpus_digest(corpus)} | ({"command": built} if built else {}),
        "seeds": seeds,
        "version": f"{iconotext.__version__} ({commit or _commit()})",
        "machine": machine(),
        "date": datetime.fromtimestamp((folder / RESULTS).stat().st_mtime, UTC).date().isoformat(),
        "encoders": {name: digest for name in _read_by(recipes.values()) if (digest := _encoder(name)) is not None},
        "recipe": common,
        "rows": entries,
    } | ({"analyses": analyses} if analyses else {})


def flat_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return the settings of a recipe that decide its figures, by dotted keys; files without their folders."""
    settings = flat(recipe.model_dump(mode="json"))
    return {
        key: Path(value).name if key in READ and isinstance(value, str) else value
        for key, value in settings.items()
        if key not in LEFT_OUT
    }


_ABSENT = object()


def _common(recipes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = recipes or [{}]
    return {key: value for key, value in first.items() if all(each.get(key, _ABSENT) == value for each in others)}


def _trained(folder: Path) -> dict[str, Recipe]:
    """Return the recipes of the trained models by key; one that today's program cannot read is left out."""
    found = {}
    for path in sorted((folder / "models").glob("*/recipe.toml")):
        try:
            found[path.parent.name] = load_recipe(path)
        except IconotextError as error:
            print(f"{path}: of an earlier program: {error}", file=sys.stderr)
    return found


def _rows_of(
    table: str, overrides: Sequence[str], dataset: str | None, recipes: Mapping[str, Recipe]
) -> dict[str, Row]:
    """Return the table's rows by key, with those that only the recipes tell of: extra ones and those of a relation."""
    relations = list(dict.fromkeys(name for each in recipes.values() for name in each.objective.relations))
    rows = table_rows(find_table(table), overrides, relations, dataset, list(recipes))
    return {row.key: row for row in rows}


def _link_rows(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in results["rows"]:
        by_seed = row.get("seeds") if isinstance(row.get("seeds"), list) else [row]
        figures: dict[str, Any] = {}
        for metric in GRID_METRICS:
            if row[metric] is not None:
                spread = (row.get("spread") or {}).get(metric)
                figures[LINK_METRICS[metric].label] = _figure(row[metric], row["intervals"][metric], spread)
        if "test_loss" in row:
            figures["−L"] = round(-row["test_loss"], 5)
        compared = row.get("difference") or {}
        to = find_table(results["table"]).compared_with.get(row["row"], "")
        figures |= {"compared with": to} if compared.get("to") == to else {}
        for metric in GRID_METRICS:
            if metric in compared:
                name = f"{LINK_METRICS[metric].label} − {'this' if compared['to'] == to else compared['to']}"
                figures[name] = _figure(compared[metric]["difference"], compared[metric]["interval"])
        if "k" in row:
            figures |= {"K": row["k"], "text": row["text"]}
        seconds = [each["seconds"] for each in by_seed if "seconds" in each]
        yield _entry(row["row"], row["model"], figures, len(by_seed), sum(seconds), results)


def _retrieval_rows(results: Mapping[str, Any], rows: Mapping[str, Row], folder: Path) -> Iterator[dict[str, Any]]:
    keys = {row.name: key for key, row in rows.items()}
    for name, by_seed in results["rows"].items():
        figures: dict[str, Any] = {}
        for part, label in (("validation", "validation MedR"), ("retrieval", "MedR")):
            ranks = [each[part]["median_rank"] for each in by_seed.values()]
            figures[label] = {"value": round(fmean(ranks), 5)} | ({"sd": round(stdev(ranks), 5)} if ranks[1:] else {})
        for k in (1, 5, 10):
            figures[f"R@{k}"] = round(100 * fmean(each["retrieval"][f"r@{k}"] for each in by_seed.values()), 5)
        compared = results["differences"].get(name, {})
        for metric, label in (("median_rank", "MedR"), ("r@1", "R@1"), ("r@10", "R@10")):
            scale = 1 if metric == "median_rank" else 100
            if metric in compared:
                found = compared[metric]
                figures[f"{label} − {compared['to']}"] = _figure(found["difference"], found["interval"], scale=scale)
            if "refined" in compared:
                found = compared["refined"]["validation"][metric]
                figures[f"{label}: refined − plain"] = _figure(found["difference"], found["interval"], scale=scale)
        precision: dict[str, list[float]] = {}
        for each in by_seed.values():
            for relation, found in each.get("precision", {}).items():
                if found.get("average_precision") is not None:
                    precision.setdefault(relation, []).append(found["average_precision"])
        figures |= {f"AP of {relation}": f"{fmean(values):.2f}" for relation, values in precision.items()}
        key = keys[name]
        logs = [folder / "models" / each / "log.csv" for each in _keys_of(key, folder)]
        yield _entry(name, key, figures, len(by_seed), sum(map(_seconds, logs)), results)


def _keys_of(key: str, folder: Path) -> list[str]:
    models = folder / "models"
    return [path.name for path in [model_folder(folder, key), *sorted(models.glob(f"{key}-seed*"))] if path.is_dir()]


def _seconds(log: Path) -> float:
    with log.open(encoding="utf-8", newline="") as file:
        return sum(float(row["seconds"]) for row in csv.DictReader(file))


def _entry(
    name: str, key: str, figures: dict[str, Any], seeds: int, seconds: float, results: Mapping[str, Any]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"row": name, "key": key, "figures": figures}
    if seconds:
        entry |= {"seeds": seeds, "seconds": round(seconds)}
    note = _note(key, results)
    return entry | ({"note": note} if note else {})


def _note(key: str, results: Mapping[str, Any]) -> str:
    """Return what became of the runs of a row, if it is not that all were trained."""
    said = {run: f"failed: {why}" for run, why in results["failed"].items()}
    said |= {run: found["why"] for run, found in results["collapsed"].items()}
    runs: dict[str, list[str]] = {}
    for run, why in said.items():
        if key in (run, run.rpartition("-seed")[0]):
            runs.setdefault(why, []).append(run)
    return "; ".join(f"{', '.join(of)}: {why}" for why, of in runs.items())


def _without_figures(results: Mapping[str, Any], rows: Mapping[str, Row], shown: set[str]) -> list[dict[str, Any]]:
    return [
        {"row": row.name, "key": key, "figures": {}, "note": _note(key, results)}
        for key, row in rows.items()
        if row.name not in shown and _note(key, results)
    ]


def _figure(
    value: float, interval: Sequence[float] | None, sd: float | None = None, *, scale: float = 100
) -> dict[str, Any]:
    figure: dict[str, Any] = {"value": round(scale * value, 5)}
    if sd is not None:
        figure["sd"] = round(scale * sd, 5)
    if interval is not None:
        figure["interval"] = [round(scale * end, 5) for end in interval]
    return figure


def _command(
    results: Mapping[str, Any], overrides: Sequence[str], corpus: str, seeds: int, measured: Sequence[str]
) -> str:
    words = ["iconotext", "papers", "reproduce", results["table"], "--corpus", corpus]
    if results["dataset"] and find_table(results["table"]).kind == "links":
        words += ["--dataset", results["dataset"]]
    if results.get("from"):
        words += ["--from", Path(results["from"]).name]
    if seeds > 1:
        words += ["--seeds", str(seeds)]
    for each in overrides:
        words += ["--set", each]
    measured = [key for key in measured if key != VALIDATION_K]
    published = find_table(results["table"])
    rows = () if is_by_relation(published) else table_rows(published, overrides, dataset=results["dataset"])
    known = {row.key for row in chosen_rows(rows, ())}
    if set(measured) != known:
        for key in measured:
            words += ["--only", key]
    return shlex.join(words)


def _without_folder(override: str) -> str:
    """Return an override that names no folder of this machine."""
    key, equals, value = override.partition("=")
    return f"{key}{equals}{Path(value).name if key.rpartition(':')[2] in READ else value}"


def corpus_digest(corpus: Path) -> str | None:
    """Return a digest of a corpus's documents; neither its folder nor that of its pictures changes it."""
    if not corpus.exists():
        return None
    digest = hashlib.sha256()
    for row in read_rows(corpus):
        row.images = [image.rpartition("/")[2] for image in row.images]
        digest.update(row.model_dump_json().encode())
    return digest.hexdigest()[:16]


def _read_by(recipes: Any) -> list[str]:
    named = [str(flat_recipe(recipe).get(key)) for recipe in recipes for key in READ]
    return sorted({*named, "minilm"} & {path.name for path in MODELS.iterdir()})


@cache
def _encoder(name: str) -> str | None:
    folder = MODELS / name
    return folder_name(folder).partition("@")[2] if folder.is_dir() else None


def machine() -> dict[str, str]:
    """Return the processor and the versions with which a record is made."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = {name: version(name) for name in ("numpy", "onnxruntime", "torch") if find_spec(name) is not None}
    return {"processor": next(iter(models), platform.processor()), "python": platform.python_version(), **packages}


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def as_json(found: Mapping[str, Any]) -> str:
    """Write a record with one line for each row and paragraph, so that changes can be read."""
    lines = []
    for key, value in found.items():
        if key in ("rows", "about"):
            rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value)
            lines.append(f' "{key}": [\n{rows}\n ]')
        else:
            lines.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


EXACT = 0.01
"""By how much a figure may differ when its row is run again with the processor and the versions of its record."""


def departures(found: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Return the figures of rows that were run again, and are farther from the record than they are held to be."""
    rows = {row["key"]: row["figures"] for row in again["rows"]}
    told = []
    for row in found["rows"]:
        for name, figure in row["figures"].items():
            then, now = (each["value"] if isinstance(each, dict) else each
                         for each in (figure, rows.get(row["key"], {}).get(name)))  # fmt: skip
            allowed = max(EXACT, 2 * figure.get("sd", 0)) if isinstance(figure, dict) else EXACT
            if not isinstance(then, str) and now is not None and abs(now - then) > allowed:
                told.append(f"{row['row']}, {name}: {now} instead of {then} ± {allowed:g}")
    return told


# Showing a record


def path_of(name: str) -> Path:
    """Return the file of a record."""
    path = RECORDS / f"{name}.json"
    return path if path.exists() else OTHERS / path.name


def read(name: str) -> dict[str, Any]:
    """Read a record of the repository."""
    found: dict[str, Any] = json.loads(path_of(name).read_text(encoding="utf-8"))
    return found


def shown(name: str, columns: Sequence[str] = ()) -> str:
    """Return the record as Markdown: command, table, corpus and remarks; with columns, a table of these alone."""
    found = read(name)
    there = list(dict.fromkeys(column for row in found["rows"] for column in row["figures"]))
    missing = [column for column in columns if column not in (*there, "seeds", "published")]
    if missing:
        raise SystemExit(f"record {name}: has no column {missing[0]}; it has {', '.join(there)}")
    main = [each for each in there if each in MAIN or found["table"] is None]
    chosen = list(columns) or list(dict.fromkeys([*main, "published", "seeds", "minutes"]))
    rows = [row for row in found["rows"] if not columns or any(column in row["figures"] for column in columns)]
    states = [state(found, row) for row in rows]
    published = {row["row"]: _published(found, row) for row in rows}
    empty = {
        "published": "published" not in there and not any(published.values()),
        "seeds": "seeds" not in there
        and len({row["seeds"] for row in rows if "seeds" in row}) < 2
        and "seeds" not in columns,
        "minutes": not any("seconds" in row for row in rows),
    }
    chosen = [column for column in chosen if not empty.get(column)]
    of_one = not columns and len(set(states)) == 1
    heads = [found.get("head", "row"), *chosen] + ([] if of_one else ["program"])
    lines = [heads, ["---"] * len(heads)]
    notes = []
    for row, of in zip(rows, states, strict=True):
        mark = ""
        if row.get("note") and not columns:
            sign = str(len(notes) + 1).translate(RAISED)
            notes.append(f"{sign} {row['note']}")
            mark = f" {sign}"
        extra = {
            "published": published[row["row"]],
            "minutes": f"{row['seconds'] / 60:.1f}" if "seconds" in row else None,
            "seeds": row.get("seeds"),
        }
        cells = [_cell(column, row["figures"].get(column, extra.get(column))) for column in chosen]
        called = row["row"] + (
            f" ({figures['text']}, K = {figures['K']})" if "K" in (figures := row["figures"]) else ""
        )
        lines.append([called.replace("|", "\\|") + mark, *cells] + ([] if of_one else [of]))
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    below = "\n\n".join([] if columns else [_about(name, found, states[0] if of_one else ""), *notes])
    above = "" if columns else _commands(found)
    return f"{above}{table}" + (f"\n{below}\n" if below else "")


def analysis(kind: str, names: Sequence[str]) -> str:
    """Return an analysis of several records as one table, a row for each; ``ANALYSES`` names the kinds."""
    lines: list[list[str]] = []
    for name in names:
        found = read(name)
        cells = ANALYSES[kind](found)
        lines += [] if lines else [["", *cells], ["---"] * (len(cells) + 1)]
        lines.append([f"[{found['dataset']}](records/{name}.json)", *cells.values()])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _correlation(found: Mapping[str, Any]) -> dict[str, str]:
    (rhos,) = found["analyses"]["correlation"].values()
    pairs = ("DC, TK", "DC, AP", "TK, AP")
    cells = {pair: "–" if rhos.get(pair) is None else f"{rhos[pair]:.2f}" for pair in pairs}
    lowest = published_facts("hessel2019")["lowest_correlation"]
    published = [f"{one}, {other}: {rho:.2f}" for one, other, dataset, rho in lowest if dataset == found["dataset"]]
    return cells | {"published": "".join(published) or "–"}


def _difficulty(found: Mapping[str, Any]) -> dict[str, str]:
    (of,) = found["analyses"]["difficulty"].values()
    regressions = {
        "image spread": "image_spread", "text spread": "text_spread", "both": "spread", "and content": "content",
    }  # fmt: skip
    cells = {"documents": f"{of['documents']:,}"} | {name: f"{100 * of[key]:.1f}" for name, key in regressions.items()}
    published = published_facts("hessel2019")["explained_by_spread"].get(found["dataset"], ["–"])
    cells["published: both, and content"] = " / ".join(map(str, published))
    for side, change in of["coefficients"].items():
        cells[f"a unit of {side} spread"] = f"{100 * change:+.0f}".replace("-", "−")
    return cells


def _explained(found: Mapping[str, Any]) -> dict[str, str]:
    of = found["analyses"]["explained"]
    ours = {"MulLink": "before", "Ours": "after"}
    cells = {name: _cell(name, _figure(of[key], of[f"{key}_interval"])) for name, key in ours.items()}
    cells["Ours − MulLink"] = _cell("Ours − MulLink", _figure(of["difference"], of["interval"]))
    return cells | {"published": " / ".join(map(str, of["published"].get(found["dataset"], ["–"])))}


ANALYSES = {"correlation": _correlation, "difficulty": _difficulty, "explained": _explained}
"""Analyses of the documents' AUC by name: ``correlation`` of the models' and ``difficulty``, how much of it spread and
content explain (Hessel 2019), ``explained``, how much spread explains of that of MulLink and Ours (Li 2021)."""


def page(name: str) -> str:
    """Return a page of a record: title, what was measured, and the table."""
    found = read(name)
    shown_below = shown(name).replace(f"(records/{name}.json)", f"({name}.json)")
    return "\n\n".join([f"# {found['title']}", *found["about"], shown_below])


def state(found: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Tell of which program a row is, and whether that has another recipe or encoder today."""
    if found["recipe"] is None:
        return "of an earlier program"
    return f"of {found['version']}, not run again since" if changes(found, row) else str(found["version"])


def changes(found: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """Return the settings and encoders of a row that are others today; a new setting with its default is none."""
    today = {name: _encoder(name) for name in found["encoders"]}
    changed = [name for name, digest in found["encoders"].items() if today[name] != digest]
    if found["table"] is None:
        return changed
    if "recipe" not in row:
        return changed if row["key"] in (DETECTION, VALIDATION_K) else []
    then = found["recipe"] | row["recipe"]
    changed = [name for name in changed if name in then.values()]
    recipe = _today(found, row)
    if recipe is None:
        return [*changed, "row"]
    defaults = Recipe(name="defaults", features=recipe.features, text=type(recipe.text)(), image=type(recipe.image)())
    now, plain = flat_recipe(recipe), flat_recipe(defaults)
    differing = [
        key
        for key, value in now.items()
        if value != then.get(key, plain.get(key, _ABSENT))
        and not (key.endswith("dropout_at") and now[key.removesuffix("_at")] == 0)  # no dropout acts anywhere
    ]
    return [*changed, *differing, *(key for key, value in then.items() if key not in now and value)]


def _today(found: Mapping[str, Any], row: Mapping[str, Any]) -> Recipe | None:
    """Return today's recipe of a row; None if the table has no such row, or a setting is gone."""
    recipes = [found["recipe"] | each.get("recipe", {}) for each in found["rows"]]
    relations = list(dict.fromkeys(name for each in recipes for name in each.get("objective.relations", ())))
    try:
        rows = table_rows(find_table(found["table"]), found["set"], relations, found["dataset"], [row["key"]])
        recipe = next((each.recipe for each in rows if each.key == row["key"]), None)
        return None if recipe is None else with_init(recipe)
    except IconotextError:
        return None


def _published(found: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    table = published_tables().get(found["table"] or "")
    figures = table.published.get(row["row"], {}).get(found["dataset"] or "") if table else None
    if not table or not figures:
        return ""
    return " / ".join("–" if each != each else f"{each:.1f}" for each in figures).replace(
        " / ", " ± " if "±" in table.figures else " / ", 1
    )


def _cell(column: str, figure: Any) -> str:
    if figure is None or figure == "":
        return "–"
    if isinstance(figure, str | int):
        return str(figure)
    signed, digits = " − " in column, 3 if column == "−L" else 1

    def text(value: float) -> str:
        return f"{value:{'+' if signed else ''}.{digits}f}".replace("-", "−")

    if isinstance(figure, float):
        return text(figure)
    parts = [text(figure["value"])]
    if "sd" in figure:
        parts.append(f"± {figure['sd']:.{digits}f}")
    if "interval" in figure:
        low, high = map(text, figure["interval"])
        parts.append(f"({low} to {high})" if signed else f"({low}–{high})")
    return " ".join(parts)


def _commands(found: Mapping[str, Any]) -> str:
    """Return the commands as a block, their long lines broken."""
    lines = []
    for command in filter(None, [(found["corpus"] or {}).get("command"), found["command"]]):
        parts = [""]
        for word in command.replace(" --", "\n--").split("\n"):
            if len(parts[-1]) + len(word) > 108:
                parts.append("   ")
            parts[-1] += f" {word}" if parts[-1] else word
        lines.append(" \\\n    ".join(parts))
    return "".join(f"    {line}\n" for line in lines) + ("\n" if lines else "")


def _about(name: str, found: Mapping[str, Any], program: str) -> str:
    of = f"Record: [{name}](records/{name}.json)"
    if found["recipe"] is None:
        return f"{of}, written by hand from an earlier page, which did not note the version of the program."
    if found["table"] is None:
        return f"{of}; measured on {found['date']}{_by(program)}."
    seeds = "one seed" if found["seeds"] == 1 else f"{found['seeds']} seeds"
    digest = f", documents SHA-256 {found['corpus']['sha256']}…" if found["corpus"]["sha256"] else ""
    return f"{of}; {seeds}, measured on {found['date']}{_by(program)}; corpus {found['corpus']['name']}{digest}."


def _by(program: str) -> str:
    return f" by the program {program}" if program else ""


def main(arguments: Sequence[str]) -> int:
    """Write a record, or tell which rows of which records are not of today's program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", help="Name of the record; without one, stale rows are listed")
    parser.add_argument("folder", nargs="?", type=Path, help="Folder of iconotext reproduce")
    parser.add_argument("--built", default="", help="The command that built the corpus")
    parser.add_argument("--commit", default="", help="Commit that the program of the runs is of, if not today's")
    parser.add_argument("--again", action="store_true", help="Compare the folder with the record")
    given = parser.parse_args(arguments)
    if given.name and given.folder and given.again:
        told = departures(read(given.name), record(given.folder))
        print("\n".join(told or [f"{given.name}: as recorded"]))
        return int(bool(told))
    if given.name and given.folder:
        path = RECORDS / f"{given.name}.json"
        path.write_text(as_json(record(given.folder, built=given.built, commit=given.commit)), encoding="utf-8")
        print(
            f"{path.relative_to(ROOT)}: written; show it with <!-- record {given.name} --> and <!-- end of record -->"
        )
        return 0
    for path in sorted(RECORDS.glob(f"{given.name or '*'}.json")):
        found = read(path.stem)
        for row in found["rows"] if found["recipe"] is not None else ():
            if changed := changes(found, row):
                print(f"{path.stem}, {row['row']}: not run again since these changed: {', '.join(changed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
