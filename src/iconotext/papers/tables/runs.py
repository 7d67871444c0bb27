"""The training runs of a table, one for each row and seed, and the prepared corpora that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.embed.folder import RECIPE
from iconotext.papers.tables.folder import about_results, model_folder, results_path
from iconotext.papers.tables.rows import Row
from iconotext.papers.tables.worker import Job
from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.prepare import prepare, prepared_key
from iconotext.train.run import finished

if TYPE_CHECKING:
    from iconotext.train.prepare import Report
    from iconotext.train.prepared import Prepared

ARRAYS = "prepared"
"""Folder of the prepared corpus, or where rows read different features, of a folder for each."""


@dataclass(frozen=True, slots=True)
class Run:
    """A row trained with a seed.

    Attributes:
        row: Which one.
        key: For files: the row's with its own seed, else with the seed behind it.
        seed: Of the recipe.
        recipe: The row's with this seed.
    """

    row: Row
    key: str
    seed: int
    recipe: Recipe


def runs_of(row: Row, seeds: int) -> tuple[Run, ...]:
    """The runs of a row: with the seed of its recipe, the next one, and so on; none where nothing is trained."""
    if row.recipe is None:
        return ()
    own = row.recipe
    runs = [Run(row, row.key, own.seed, own)]
    for seed in range(own.seed + 1, own.seed + seeds):
        key = f"{row.key}-seed{seed}"
        runs.append(Run(row, key, seed, own.model_copy(update={"seed": seed, "name": key})))
    return tuple(runs)


class Arrays:
    """The prepared corpora of a table: rows share one if they read the same features of the same corpus.

    Attributes:
        keys: Of all of them, in the order of the rows; what the folder of the table was made from.
    """

    def __init__(
        self, rows: Sequence[Row], corpora: Callable[[Row], Path], folder: Path, report: Report | None
    ) -> None:
        """Find out which rows can share.

        Args:
            rows: All of the table.
            corpora: The corpus that a row is trained on.
            folder: Of the table.
            report: Told how encoding goes on.

        Raises:
            CorpusError: A corpus is not there.
        """
        self._corpora, self._report = corpora, report
        keys = {row.key: prepared_key(row.recipe, [corpora(row)]) for row in rows if row.recipe is not None}
        self.keys = list(dict.fromkeys(keys.values()))
        alone = len(self.keys) == 1
        self._folders = {row: folder / ARRAYS if alone else folder / ARRAYS / key[:12] for row, key in keys.items()}

    def of(self, run: Run) -> Prepared:
        """The corpus as a run reads it, encoded if that was not done before.

        Where the corpus leaves it to the seed which documents validate, runs of other seeds have arrays of their own.

        Raises:
            CorpusError, FeatureError: See ``prepare``.
        """
        corpora, shared = [self._corpora(run.row)], self._folders[run.row.key]
        assert run.row.recipe is not None
        first = prepare(run.row.recipe, corpora, shared, report=self._report)
        if first.meta["drawn"] is None or run.seed == run.row.recipe.seed:
            return first
        return prepare(run.recipe, corpora, shared.with_name(f"{shared.name}-seed{run.seed}"), report=self._report)


def job_of(run: Run, corpus: Path, source: Path | None, prepared: Prepared, folder: Path) -> Job:
    """What is to be done for a run.

    Args:
        run: The run.
        corpus: Of the table.
        source: What a transferred row is trained on.
        prepared: The corpus that the run is trained on.
        folder: Of the table.
    """
    about, trained_on = about_results(corpus, run.key), corpus
    if run.row.transferred:
        assert source is not None  # was looked at before
        about, trained_on = {**about, "trained_on": source.name}, source
    return Job.of(
        run.recipe,
        [trained_on],
        prepared=prepared.folder,
        folder=model_folder(folder, run.key),
        results=results_path(folder, run.key),
        about=about,
        applied=str(corpus) if run.row.transferred else None,
    )


def done(run: Run, folder: Path) -> bool:
    """Whether a run has its model and its results."""
    model = model_folder(folder, run.key)
    return (
        finished(model)
        and results_path(folder, run.key).is_file()
        and (model / RECIPE).read_text(encoding="utf-8") == dump_recipe(run.recipe)
    )
