"""The progress of trainings: ``Bars`` for a terminal, ``Lines`` for a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from iconotext.cli.output import output_console, say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


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
