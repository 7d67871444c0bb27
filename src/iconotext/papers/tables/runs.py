"""The training runs of a table, one for each row and seed, and the prepared corpora that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.papers.tables.rows import Row
from iconotext.recipe import FeatureSettings, Recipe
from iconotext.recipe.encoders import GRUSettings, NetworkSettings, ProjectionSettings
from iconotext.train.prepare import Report, prepare, prepared_key

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared

ARRAYS = "prepared"
"""Folder of the prepared corpus, or where rows read different features, of a folder for each."""


@dataclass(frozen=True, slots=True)
class Run:
    """A row trained with a seed, which stands in its key (for files) where it is not the row's own."""

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
        keys: Of all that the paper's rows read, in their order; what the folder of the table was made from.
    """

    def __init__(
        self, rows: Sequence[Row], corpora: Callable[[Row], Path], folder: Path, report: Report | None
    ) -> None:
        """Find out which rows can share, by the corpora that they are trained on.

        Raises:
            CorpusError: A corpus is not there.
        """
        self._corpora, self._folder, self._report = corpora, folder, report
        recipes = {row.key: (row.recipe, corpora(row)) for row in rows if row.recipe is not None}
        self._first_seeds = {key: recipe for key, (recipe, _) in recipes.items()}
        keys = {row: prepared_key(recipe, [corpus]) for row, (recipe, corpus) in recipes.items()}
        self.keys = list(dict.fromkeys(keys[row.key] for row in rows if row.key in keys and not row.extra))
        self._folders = {row: folder / self._name(key) for row, key in keys.items()}

    def _name(self, key: str) -> str:
        if key not in self.keys:  # of a row that may come later: the folders of the others stay where they are
            return f"{ARRAYS}-{key[:12]}"
        return ARRAYS if len(self.keys) == 1 else f"{ARRAYS}/{key[:12]}"

    def plain(self, run: Run) -> Prepared:
        """The corpus for rows that are not trained: without features, unless it was prepared for the run before."""
        if self._folders[run.row.key].is_dir():
            return self.of(run)
        table = run.recipe.features.image.endswith(".npy")
        update = {
            "features": FeatureSettings(image=run.recipe.features.image if table else "pixels"),
            "text": run.recipe.words or GRUSettings(),
            "image": ProjectionSettings() if table else NetworkSettings(),
        }
        recipe = run.recipe.model_copy(update=update)
        return prepare(recipe, [self._corpora(run.row)], self._folder / f"{ARRAYS}-plain", report=self._report)

    def of(self, run: Run) -> Prepared:
        """The corpus as a run reads it, encoded if that was not done before.

        Where the corpus leaves it to the seed which documents validate, runs of other seeds have arrays of their own.

        Raises:
            CorpusError, FeatureError: See ``prepare``.
        """
        corpora, shared = [self._corpora(run.row)], self._folders[run.row.key]
        own = self._first_seeds[run.row.key]
        first = prepare(own, corpora, shared, report=self._report)
        if first.meta["drawn"] is None or run.seed == own.seed:
            return first
        return prepare(run.recipe, corpora, shared.with_name(f"{shared.name}-seed{run.seed}"), report=self._report)
