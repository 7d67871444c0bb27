"""λ and T of the selective similarity refinement, chosen on validation pairs (Alikhani 2021, Fig. 3).

Every λ is tried with every T on the same pools. The lowest median rank wins, then the lowest mean rank, then the
smaller T, then the smaller λ. No refinement (T = 0) is among what can win: where it does not help, it stays off.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import SettingError
from iconotext.evaluate.retrieval import (
    DRAWS,
    POOL,
    Draw,
    Ranks,
    Retrieval,
    chunks,
    draw_pools,
    joined,
    pool_queries,
    ranks_of,
    retrieval,
)
from iconotext.library.refinement import SETTINGS_FILE, Refinement, confidence, top_difference
from iconotext.papers.analyses.drawing import BLUE, ORANGE, write_figure
from iconotext.write import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from iconotext.evaluate.retrieval import Score

STRENGTHS = (0.02, 0.05, 0.08, 0.1, 0.12, 0.13, 0.15, 0.2, 0.3, 0.5, 1.0)
"""λ that are tried; the paper settled on 0.12 and 0.13."""

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 2.0)
"""T that are tried; the paper settled on 0.1. Cosines never differ by more than 2, so the last refines all queries but
those of opposite images."""

FIGURE_FILE = "refinement.svg"


@dataclass(frozen=True, slots=True)
class Setting:
    """What one λ and T reach.

    Attributes:
        strength: λ.
        threshold: T; 0: no refinement.
        hard: Share of the queries that are refined, 0 to 1.
        metrics: Over the pools.
    """

    strength: float
    threshold: float
    hard: float
    metrics: Retrieval

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "strength": self.strength,
            "threshold": self.threshold,
            "hard": self.hard,
            **self.metrics.as_dict(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """All that was tried.

    Attributes:
        settings: The first is without refinement; then by λ and T.
        best: One of them.
        differences: (Q,) of the queries of all pools, by how much the best image is ahead of the second.
        ranks: (Q,) without refinement, of the right image.
        pool: Images in a pool.
    """

    settings: tuple[Setting, ...]
    best: Setting
    differences: NDArray[np.float64]
    ranks: NDArray[np.float64]
    pool: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "strength": self.best.strength,
            "threshold": self.best.threshold,
            "pool": self.pool,
            "draws": self.best.metrics.draws,
            "settings": [setting.as_dict() for setting in self.settings],
        }


def tune_refinement(
    similarities: Score,
    probabilities: Score,
    image_of: NDArray[np.intp],
    *,
    strengths: Sequence[float] = STRENGTHS,
    thresholds: Sequence[float] = THRESHOLDS,
    pool: int = POOL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Tuning:
    """Try every λ with every T on the same pools.

    Args:
        similarities: Of some queries with some images, by number, (Q, N).
        probabilities: Of relations, of the same, (Q, N, R).
        image_of: (P,) number of each pair's image.
        strengths: λ.
        thresholds: T.
        pool: Images in a pool.
        draws: Number of pools.
        seed: Of the pools.

    Raises:
        CorpusError: There are fewer images than a pool has.
        SettingError: A λ or T is negative, or there are none.
        ShapeError: Arrays do not fit, or are not numbers.
    """
    strengths, thresholds = sorted(set(strengths)), sorted(set(thresholds))
    if not strengths or not thresholds or not all(value >= 0 for value in (*strengths, *thresholds)):
        raise SettingError("strengths and thresholds need at least one number each, none below 0")
    images = int(image_of.max()) + 1 if len(image_of) else 0
    plain: list[Draw] = []
    differences: list[NDArray[np.float64]] = []
    refined: dict[float, list[Ranks]] = {strength: [] for strength in strengths}  # as though all queries were hard
    for drawn in draw_pools(images, pool=pool, draws=draws, seed=seed):
        queries, true = pool_queries(image_of, drawn, images)
        parts: list[Ranks] = []
        of_strength: dict[float, list[Ranks]] = {strength: [] for strength in strengths}
        for some in chunks(len(queries), pool):
            cosines, relations = similarities(queries[some], drawn), probabilities(queries[some], drawn)
            parts.append(ranks_of(cosines, true[some]))
            differences.append(top_difference(cosines))
            for strength, found in of_strength.items():
                # As ``refine`` rounds, so that the figures are those of a run with these settings.
                changed = (cosines * confidence(relations, strength)).astype(cosines.dtype)
                found.append(ranks_of(changed, true[some]))
        plain.append(Draw(queries, joined(parts)))
        for strength, found in of_strength.items():
            refined[strength].append(joined(found))
    ahead = np.concatenate(differences)
    ends = np.cumsum([len(draw.queries) for draw in plain])[:-1]
    settings = [_setting(Refinement(0.0, 0.0), np.zeros(len(ahead), np.bool_), ends, plain, None)]
    for strength, ranks in refined.items():
        for threshold in thresholds:
            settings.append(_setting(Refinement(strength, threshold), ahead < threshold, ends, plain, ranks))
    return Tuning(
        tuple(settings), min(settings, key=_goodness), ahead, np.concatenate([d.ranks.mean for d in plain]), pool
    )


def _setting(
    refinement: Refinement,
    hard: NDArray[np.bool_],
    ends: NDArray[np.intp],
    plain: Sequence[Draw],
    ranks: Sequence[Ranks] | None,
) -> Setting:
    merged = plain
    if ranks is not None:
        merged = [
            Draw(draw.queries, refined.where(some, draw.ranks))
            for draw, refined, some in zip(plain, ranks, np.split(hard, ends), strict=True)
        ]
    metrics = retrieval(merged)
    assert metrics is not None  # every image of a pool has a pair that asks for it
    return Setting(*refinement, float(hard.mean()), metrics)


def _goodness(setting: Setting) -> tuple[float, float, float, float]:
    """The smaller the better; figures that differ by rounding are equal."""
    metrics = setting.metrics
    return (
        round(metrics.median_rank.mean, 9),
        round(metrics.mean_rank.mean, 9),
        setting.threshold,
        setting.strength,
    )


def write_tuning(tuning: Tuning, folder: Path, about: dict[str, Any], *, force: bool = False) -> None:
    """Write the settings and the figure into a folder, the settings last.

    Args:
        tuning: What was tried.
        folder: Made if need be. In a model's folder, ``evaluate`` finds the settings by itself.
        about: What it was tried with, such as model and corpus; stands first in the file.
        force: Replace files that are there.

    Raises:
        OutputError: A file exists and ``force`` is not set, or cannot be written.
    """
    draw_tuning(tuning, folder / FIGURE_FILE, force=force)
    text = json.dumps(about | tuning.as_dict(), ensure_ascii=False, allow_nan=False, indent=1)
    write_text(folder / SETTINGS_FILE, text + "\n", force=force)


def draw_tuning(tuning: Tuning, path: Path, *, force: bool = False) -> None:
    """Draw the rank of the right image against the difference of the two best ones (Fig. 3b), without refinement.

    Raises:
        OutputError: Another suffix than that of a figure; the file exists and ``force`` is not set; it cannot be
            written.
    """

    def draw(canvas: Figure) -> None:
        axes = canvas.subplots()
        finite = np.isfinite(tuning.differences)
        points = tuning.differences[finite], tuning.ranks[finite]
        axes.scatter(*points, s=6, alpha=0.3, color=BLUE, linewidths=0, rasterized=True)  # may be many thousands
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(tuning.pool * 1.2, 0.8)  # the best rank on top
        axes.set_xlim(left=0)
        axes.set_xlabel("difference of the two highest similarities, Δ")
        axes.set_ylabel(f"rank of the right image of {tuning.pool}")
        axes.grid(alpha=0.25)
        if 0 < tuning.best.threshold <= max(tuning.differences[finite], default=0):
            axes.axvline(tuning.best.threshold, color=ORANGE, linestyle="--", label=f"T = {tuning.best.threshold:g}")
            axes.legend(loc="lower right", frameon=False)

    write_figure(draw, path, width=5.2, height=3.6, force=force)
