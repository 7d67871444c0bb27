"""``iconotext train``: learn links from documents alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli import complete
from iconotext.cli.common import known_errors
from iconotext.cli.options import Download
from iconotext.cli.output import complain, output_console, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.progress import Progress, TaskID


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="A TOML file, or a recipe that ships: default, adapt, hessel2019/dense, ... (--list names them). "
            "With --init it may be left out, and is adapt.",
            autocompletion=complete.recipes,
            show_default=False,
        ),
    ] = "",
    corpus: Annotated[
        list[Path] | None,
        typer.Option("--corpus", "-c", help="Corpus to train on; may be given several times.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the model (default: models/RECIPE).", show_default=False),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            help="Model to start from: default, or a folder.", show_default=False, autocompletion=complete.models
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Another value for a key of the recipe, such as training.epochs=10; may be given several times.",
            show_default=False,
        ),
    ] = None,
    download: Download = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the recipes that ship, with what each is, and stop.")
    ] = False,
) -> None:
    """Train a model on documents, without a labelled link; what was interrupted goes on.

    **Examples**

    - `iconotext train --init default --corpus docs.jsonl --output my-model`
    - `iconotext train hessel2019/assignment --corpus mscoco.jsonl --set training.batch=31`
    - `iconotext train my-recipe.toml -c first.jsonl -c second.jsonl`
    - `iconotext train relations -c clue.jsonl -c cite.jsonl` learns how texts and pictures relate, from labels
    """
    with known_errors(download=download, goes_on=True):
        from iconotext.recipe import load_recipe, shipped_recipes
        from iconotext.recipe.relations import is_relation_recipe

        if list_:
            _show_recipes(shipped_recipes())
            return
        if init and not recipe:
            recipe = "adapt"
        if not recipe or not corpus:
            missing = "a recipe" if not recipe else "a corpus: --corpus FILE"
            complain(f"train needs {missing}; `iconotext train --help` shows examples")
            sys.exit(2)
        if is_relation_recipe(recipe):
            train_relation_model(recipe, corpus, output, set_ or [], init)
            return
        overrides = [*(set_ or []), *([f"init={init}"] if init else [])]
        loaded = load_recipe(recipe, overrides)
        folder = output or Path("models") / loaded.name
        from iconotext.train.run import finished, interrupted
        from iconotext.train.run import train as run

        if finished(folder):
            say(f"{folder} is trained already", err=True)
        elif interrupted(folder):
            say(f"going on with the training that was interrupted in {folder}", err=True)
        watcher = _Bar(loaded.training.epochs) if sys.stderr.isatty() else _Lines()
        try:
            run(loaded, corpus, folder, report=watcher.report, watcher=watcher)
        finally:
            watcher.close()
        _tell(folder)


def train_relation_model(
    recipe: str, corpora: list[Path], output: Path | None, overrides: list[str], init: str | None
) -> None:
    """Train a relation model, and print how well it foretells each relation."""
    import json

    from iconotext.features import FeatureCache
    from iconotext.recipe.relations import load_relation_recipe
    from iconotext.train.relations.folder import is_trained
    from iconotext.train.relations.training import train_relations

    if init:
        complain("--init: a relation model is always trained from its recipe alone")
        sys.exit(2)
    loaded = load_relation_recipe(recipe, overrides)
    folder = output or Path("models") / loaded.name
    if is_trained(folder, loaded):
        say(f"{folder} is trained already", err=True)
    train_relations(
        loaded,
        corpora,
        folder,
        cache=FeatureCache(),
        report=lambda what, done: say(f"{what} {done}" if done else what, err=True),
    )
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    for name, found in metrics["relations"].items():
        say(
            f"{name}: average precision {_precision(found['average_precision'])} "
            f"(chance {found['positive_rate']:.2f}), {found['pairs']} pairs"
        )
    for name, found in metrics["pictures"].get("held_out", {}).items():
        say(
            f"{name}: with its picture {_precision(found['text_and_image'])}, without "
            f"{_precision(found['text'])}, {found['pairs']} pairs: the picture "
            + ("counts" if metrics["pictures"]["kept"][name] else "does not count")
        )
    if "splits" in metrics:  # it is not in older ones
        of = " and ".join(f"{metrics['splits'].get(name, 0)} of {name}" for name in ("validation", "test"))
        say(f"trained on {metrics['pairs']} labelled pairs, {of} splits")


def _precision(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _show_recipes(recipes: Mapping[str, Path]) -> None:
    """The name of each recipe, and the first line of its file, which says what it is."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    for name, path in recipes.items():
        about = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        table.add_row(Text(name), Text(about))
    output_console().print(table)


def _tell(folder: Path) -> None:
    """What came out."""
    import json

    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    say(
        f"{folder}: best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"validation loss {metrics['validation_loss']:.4f}"
        + (
            f", median rank {metrics['validation_median_rank']:.1f}, which chose it"
            if "validation_median_rank" in metrics
            else ""
        )
    )
    for split in ("validation", "test"):
        found = metrics.get(split, {})
        if "median_rank" in found:
            recalls = ", ".join(f"R@{k} {100 * found[f'r@{k}']:.1f}" for k in (1, 5, 10))
            rank = f"median rank {found['median_rank']:.1f} of {found['pool']}"
            say(f"{split}: {rank}, {recalls} ({found['pairs']} pairs)")
            for name, value in found.get("average_precision", {}).items():
                say(f"  {name}: average precision {'–' if value is None else f'{value:.2f}'}")
        elif found.get("auc") is not None:
            figures = ", ".join(f"{name} {100 * found[key]:.1f}" for name, key in FIGURES.items())
            say(f"{split}: {figures} ({found['documents'] - found['undefined']} documents with gold links)")


FIGURES = {"AUC": "auc", "p@1": "p@1", "p@5": "p@5"}


class _Lines:
    """Progress for log files: one line an epoch."""

    def report(self, what: str, done: int) -> None:
        """Encoding is not told line by line."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Nor are steps."""

    def epoch(self, row: dict[str, float | None]) -> None:
        """One line."""
        say(_line(row), err=True)

    def close(self) -> None:
        """Nothing is open."""


class _Bar(_Lines):
    """Progress for a terminal."""

    def __init__(self, epochs: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._epochs = epochs
        self._progress: Progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=output_console(err=True),
            transient=True,
        )
        self._task: TaskID = self._progress.add_task("preparing", total=None, state="")
        self._progress.start()

    def report(self, what: str, done: int) -> None:
        """Encoding."""
        self._progress.update(self._task, description=what, state=f"{done} documents")

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """A step."""
        self._progress.update(
            self._task,
            description=f"epoch {epoch}/{self._epochs}",
            total=self._epochs * steps,
            completed=(epoch - 1) * steps + step,
            state=f"loss {loss:.3f}",
        )

    def epoch(self, row: dict[str, float | None]) -> None:
        """A line above the bar."""
        self._progress.console.print(_line(row), highlight=False)

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()


def _line(row: dict[str, float | None]) -> str:
    auc = row["validation_auc"]
    shown = "" if auc is None else f", AUC {100 * auc:.1f} (shown only; it chooses nothing)"
    return (
        f"epoch {row['epoch']:.0f}: training loss {row['train_loss']:.4f}, validation loss "
        f"{row['validation_loss']:.4f}{shown}, {row['seconds']:.1f} s"
    )
