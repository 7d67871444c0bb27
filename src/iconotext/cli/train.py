"""``iconotext train``: train a model on documents without labelled links, or a relation model on labels.

``Bars`` shows the progress on a terminal, ``Lines`` in a log.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, RecipeKeys, argument, complete_models, complete_recipes, option
from iconotext.cli.output import complain, output_console, say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


def train(
    recipe: Annotated[
        str,
        argument(
            metavar="RECIPE",
            help="A recipe that ships, or a TOML file. --list names those that ship; with --init it may be left out, "
            "and is adapt.",
            autocompletion=complete_recipes,
        ),
    ] = "",
    corpus: Annotated[
        list[str] | None,
        option(
            "--corpus",
            "-c",
            help="Corpus to train on, or a folder of shards. It may lie in a store; may be repeated.",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("--output", "-o", help="Folder of the model (default: models/RECIPE).")
    ] = None,
    init: Annotated[
        str | None, option(help="Model to start from: default, or a folder.", autocompletion=complete_models)
    ] = None,
    set_: RecipeKeys = None,
    download: Download = False,
    list_: Annotated[bool, typer.Option("--list", help="List the recipes that ship, and stop.")] = False,
) -> None:
    """Train a model on documents, without a labelled link; what was interrupted goes on.

    **Examples**

    - `iconotext train --init default --corpus docs.jsonl --output my-model`
    - `iconotext train hessel2019/assignment -c mscoco.jsonl --set training.batch=31`
    - `iconotext train my-recipe.toml -c first.jsonl -c second.jsonl`
    - `iconotext train relations -c clue.jsonl -c cite.jsonl`
    """
    with known_errors(download=download, goes_on=True):
        from iconotext.encoders.stored_model import init_folder, is_model_folder
        from iconotext.recipe import load_recipe, shipped_recipes
        from iconotext.recipe.toml import is_relation_recipe

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
            train_relation_model(recipe, [Path(path) for path in corpus], output, set_ or [], init)
            return
        overrides = [*(set_ or []), *([f"init={init}"] if init else [])]
        loaded = load_recipe(recipe, overrides)
        folder = output or Path("models") / loaded.name
        from iconotext.train.run import finished, interrupted
        from iconotext.train.run import train as run
        from iconotext.train.start import too_few_pictures
        from iconotext.train.summary import model_summary

        if finished(folder):
            say(f"{folder} is trained already", err=True)
        elif interrupted(folder):
            say(f"going on with the training that was interrupted in {folder}", err=True)
        corpora = [Path(path) for path in corpus]
        start = loaded.starts_from
        begins = start is not None and is_model_folder(init_folder(start)) and not finished(folder)
        if begins and (note := too_few_pictures(corpora)):
            say(f"note: {note}", err=True)
        with closing(Bars() if sys.stderr.isatty() else Lines()) as show:
            run(loaded, corpora, folder, report=show.report, watcher=_Watcher(show))
        for line in model_summary(folder):
            say(line)


def train_relation_model(
    recipe: str, corpora: list[Path], output: Path | None, overrides: list[str], init: str | None
) -> None:
    """Train a relation model, and print how well it predicts each relation."""
    from iconotext.features import FeatureCache
    from iconotext.recipe.toml import load_relation_recipe
    from iconotext.train.relations.train import is_trained, train_relations
    from iconotext.train.summary import relation_summary

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
        report=lambda task, done: say(f"{task} {done}" if done else task, err=True),
    )
    for line in relation_summary(folder):
        say(line)


def _show_recipes(recipes: Mapping[str, Path]) -> None:
    width = max(map(len, recipes))
    for name, path in recipes.items():
        say(f"{name:{width}} {path.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}")


class _Watcher:
    """Shows the progress of one training, and a line for each epoch."""

    def __init__(self, show: Lines) -> None:
        self._show = show

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        self._show.step("training", epoch, step, steps, loss)

    def epoch(self, row: dict[str, float | None]) -> None:
        self._show.line(_line(row))


def _line(row: dict[str, float | None]) -> str:
    auc = row["validation_auc"]
    note = "" if auc is None else f", AUC {100 * auc:.1f} (shown only; it chooses nothing)"
    return (
        f"epoch {row['epoch']:.0f}: training loss {row['train_loss']:.4f}, validation loss "
        f"{row['validation_loss']:.4f}{note}, {row['seconds']:.1f} s"
    )


class Lines:
    """Progress for log files: lines for the beginning, each epoch and the end of each model."""

    def report(self, task: str, done: int) -> None:
        """Ignore encoding."""

    def notify(self, message: str) -> None:
        """Print a message."""
        self.line(message)

    def started(self, key: str) -> None:
        """Print that the training of a model begins."""
        self.line(f"{key}: started")

    def step(self, key: str, epoch: int, step: int, steps: int, loss: float) -> None:
        """Ignore steps."""

    def epoch(self, key: str, row: Mapping[str, float | None]) -> None:
        """Print the figures of an epoch."""
        self.line(f"{key}: epoch {row['epoch']:.0f}, {_figures(row)}, {row['seconds']:.1f} s")

    def ended(self, key: str, problem: str | None) -> None:
        """Print how the training of a model ended."""
        self.line(f"{key}: {'done' if problem is None else f'failed: {problem}'}")

    def close(self) -> None:
        """Close nothing."""

    def line(self, line: str) -> None:
        """Print a line."""
        say(line, err=True)


class Bars(Lines):
    """Progress for a terminal: a line for each model that is being trained."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress: Progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=output_console(err=True),
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._figures: dict[str, str] = {}
        self._progress.start()

    def report(self, task: str, done: int) -> None:
        """Show how many documents are prepared."""
        self._update("preparing", total=None, state=f"{task}, {counted(done, 'document')}")

    def notify(self, message: str) -> None:
        """Show the work between the training of models."""
        self._remove("preparing")
        self._update("preparing", total=None, state=message)

    def started(self, key: str) -> None:
        """Show that the training of a model begins."""
        self._remove("preparing")
        self._update(key, total=None, state="starting")

    def step(self, key: str, epoch: int, step: int, steps: int, loss: float) -> None:
        """Show a step."""
        state = f"epoch {epoch}, loss {loss:.3f}{self._figures.get(key, '')}"
        self._update(key, total=steps, completed=step, state=state)

    def epoch(self, key: str, row: Mapping[str, float | None]) -> None:
        """Show the figures of an epoch from the next step on."""
        self._figures[key] = f"; {_figures(row)}"

    def ended(self, key: str, problem: str | None) -> None:
        """Remove the line, and print the outcome above the others."""
        self._remove(key)
        self.line(f"{key}: {'done' if problem is None else f'failed: {problem}'}{self._figures.get(key, '')}")

    def close(self) -> None:
        """End the display."""
        self._progress.stop()

    def _update(self, key: str, *, total: int | None, state: str, completed: int = 0) -> None:
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(key, total=total, state=state)
        self._progress.update(self._tasks[key], total=total, completed=completed, state=state)

    def _remove(self, key: str) -> None:
        if key in self._tasks:
            self._progress.remove_task(self._tasks.pop(key))

    def line(self, line: str) -> None:
        """Print a line, above the bars."""
        self._progress.console.print(line, highlight=False, markup=False)


def _figures(row: Mapping[str, float | None]) -> str:
    auc = row["validation_auc"]
    return f"validation loss {row['validation_loss']:.4f}" + ("" if auc is None else f", AUC {100 * auc:.1f}")
