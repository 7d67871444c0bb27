"""``iconotext train``: train a model on documents without labelled links, or a relation model on labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli import complete
from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, RecipeKeys, argument, option
from iconotext.cli.output import complain, output_console, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.progress import Progress, TaskID


def train(
    recipe: Annotated[
        str,
        argument(
            metavar="RECIPE",
            help="A TOML file, or a recipe that ships: default, adapt, hessel2019/dense, ... (--list names them). "
            "With --init it may be left out, and is adapt.",
            autocompletion=complete.recipes,
        ),
    ] = "",
    corpus: Annotated[
        list[str] | None,
        option(
            "--corpus",
            "-c",
            help="Corpus to train on, or a folder that `iconotext scale features` wrote; may be given several times.",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("--output", "-o", help="Folder of the model (default: models/RECIPE).")
    ] = None,
    init: Annotated[
        str | None, option(help="Model to start from: default, or a folder.", autocompletion=complete.models)
    ] = None,
    set_: RecipeKeys = None,
    download: Download = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the recipes that ship, with what each is, and stop.")
    ] = False,
) -> None:
    """Train a model on documents, without a labelled link; what was interrupted goes on.

    **Examples**

    - `iconotext train --init default --corpus docs.jsonl --output my-model`
    - `iconotext train hessel2019/assignment --corpus mscoco.jsonl --set training.batch=31`
    - `iconotext train hessel2019/dense --corpus features/` streams the shards that `iconotext scale features` wrote
    - `iconotext train my-recipe.toml -c first.jsonl -c second.jsonl`
    - `iconotext train relations -c clue.jsonl -c cite.jsonl` learns how texts and pictures relate, from labels
    """
    with known_errors(download=download, goes_on=True, elsewhere=True):
        from iconotext.recipe import load_recipe, shipped_recipes
        from iconotext.recipe.relations import is_relation_recipe
        from iconotext.system.object_store import is_remote

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
            train_relation_model(recipe, [Path(each) for each in corpus], output, set_ or [], init)
            return
        overrides = [*(set_ or []), *([f"init={init}"] if init else [])]
        loaded = load_recipe(recipe, overrides)
        folder = output or Path("models") / loaded.name
        from iconotext.train.run import finished, interrupted
        from iconotext.train.run import train as run
        from iconotext.train.summary import model_summary

        if finished(folder):
            say(f"{folder} is trained already", err=True)
        elif interrupted(folder):
            say(f"going on with the training that was interrupted in {folder}", err=True)
        watcher = _Bar(loaded.training.epochs) if sys.stderr.isatty() else _Lines()
        try:
            corpora = [each if is_remote(each) else Path(each) for each in corpus]
            run(loaded, corpora, folder, report=watcher.report, watcher=watcher)
        finally:
            watcher.close()
        for line in model_summary(folder):
            say(line)


def train_relation_model(
    recipe: str, corpora: list[Path], output: Path | None, overrides: list[str], init: str | None
) -> None:
    """Train a relation model, and print how well it predicts each relation."""
    from iconotext.features import FeatureCache
    from iconotext.recipe.relations import load_relation_recipe
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
        report=lambda what, done: say(f"{what} {done}" if done else what, err=True),
    )
    for line in relation_summary(folder):
        say(line)


def _show_recipes(recipes: Mapping[str, Path]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    for name, path in recipes.items():
        about = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        table.add_row(Text(name), Text(about))
    output_console().print(table)


class _Lines:
    """Progress for log files: one line an epoch."""

    def report(self, what: str, done: int) -> None:
        """Ignore encoding."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Ignore steps."""

    def epoch(self, row: dict[str, float | None]) -> None:
        say(_line(row), err=True)

    def close(self) -> None:
        """Close nothing."""


class _Bar(_Lines):
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
        self._progress.update(self._task, description=what, state=f"{done} documents")

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        self._progress.update(
            self._task,
            description=f"epoch {epoch}/{self._epochs}",
            total=self._epochs * steps,
            completed=(epoch - 1) * steps + step,
            state=f"loss {loss:.3f}",
        )

    def epoch(self, row: dict[str, float | None]) -> None:
        self._progress.console.print(_line(row), highlight=False)

    def close(self) -> None:
        self._progress.stop()


def _line(row: dict[str, float | None]) -> str:
    auc = row["validation_auc"]
    shown = "" if auc is None else f", AUC {100 * auc:.1f} (shown only; it chooses nothing)"
    return (
        f"epoch {row['epoch']:.0f}: training loss {row['train_loss']:.4f}, validation loss "
        f"{row['validation_loss']:.4f}{shown}, {row['seconds']:.1f} s"
    )
