"""Tunes the refinement of Alikhani 2021: its λ and T on validation pairs, with tables, a file and Fig. 3.

``tune_pairs`` tries every λ with every T, ``tuning_sections`` and ``write_tuning`` show the results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.coherence_relations import SETTINGS_FILE, Refinement, confidence, refine, top_difference
from iconotext.errors import SettingError
from iconotext.evaluate.retrieval import DRAWS, POOL, Draw, Retrieval, pair_probabilities, rank_pools, retrieval
from iconotext.evaluate.retrieval import similarities as similarities_of
from iconotext.report.tables import Bold, Grid, Note, Section
from iconotext.system.files import write_text
from iconotext_papers.charts import BLUE, ORANGE, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from iconotext.encoders.coherence_relations import Coherence
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score
    from iconotext_papers.analyses.settings import RefinementSettings

STRENGTHS = (0.02, 0.05, 0.08, 0.1, 0.12, 0.13, 0.15, 0.2, 0.3, 0.5, 1.0)
"""The values of λ to try; the paper chose 0.12 and 0.13."""

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 2.0)
"""The values of T to try; the paper chose 0.1. Cosines never differ by more than 2, so the last value refines all
queries except those of opposite images."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The result of one λ and T.

    Attributes:
        strength: λ.
        threshold: T; 0: no refinement.
        hard: Share of the queries that are refined, 0 to 1.
    """

    strength: float
    threshold: float
    hard: float
    metrics: Retrieval

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {"strength": self.strength, "threshold": self.threshold, "hard": self.hard, **self.metrics.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """The results for all λ and T.

    Attributes:
        settings: The first is without refinement; the others are ordered by λ and T.
        differences: (Q,) differences between the best and the second image of the queries of all pools.
        ranks: (Q,) ranks of the right image without refinement.
    """

    settings: tuple[Setting, ...]
    best: Setting
    differences: NDArray[np.float64]
    ranks: NDArray[np.float64]
    pool: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
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
        similarities: A function of the numbers of Q queries and N images to their (Q, N) similarities.
        probabilities: A function of the same numbers to the (Q, N, R) probabilities of relations.
        image_of: (P,) number of each pair's image.
        strengths: The values of λ.
        thresholds: The values of T.
    """
    strengths, thresholds = sorted(set(strengths)), sorted(set(thresholds))
    if not strengths or not thresholds or not all(value >= 0 for value in (*strengths, *thresholds)):
        raise SettingError("strengths and thresholds need at least one number each, none below 0")
    ranked = partial(rank_pools, image_of=image_of, pool=pool, draws=draws, seed=seed)
    by_chunk: list[NDArray[np.float64]] = []

    def noting_differences(queries: NDArray[np.intp], images: NDArray[np.intp]) -> NDArray[np.floating]:
        cosines = similarities(queries, images)
        by_chunk.append(top_difference(cosines))
        return cosines

    plain = ranked(noting_differences)
    differences = np.concatenate(by_chunk)
    settings = [_setting(Refinement(0.0, 0.0), differences, plain, plain)]
    for strength in strengths:
        # Every query is refined once for each λ; a T only selects between its refined and its plain rank.
        def all_refined(
            queries: NDArray[np.intp], images: NDArray[np.intp], strength: float = strength
        ) -> NDArray[np.floating]:
            relations = probabilities(queries, images)
            return refine(similarities(queries, images), relations, strength=strength, threshold=math.inf)

        refined = ranked(all_refined)
        settings += [_setting(Refinement(strength, threshold), differences, plain, refined) for threshold in thresholds]
    ranks = np.concatenate([draw.ranks.mean for draw in plain])
    return Tuning(tuple(settings), min(settings, key=_cost), differences, ranks, pool)


def tune_pairs(coherence: Coherence, pairs: PairVectors, settings: RefinementSettings) -> Tuning:
    """Try every λ with every T on the pairs of a corpus; see ``tune_refinement``."""
    return tune_refinement(
        similarities_of(pairs),
        pair_probabilities(pairs, coherence),
        pairs.image_of,
        strengths=settings.strengths or STRENGTHS,
        thresholds=settings.thresholds or THRESHOLDS,
        pool=settings.pool,
        draws=settings.draws,
        seed=settings.seed,
    )


def _setting(
    refinement: Refinement, differences: NDArray[np.float64], plain: Sequence[Draw], refined: Sequence[Draw]
) -> Setting:
    """Measure a refinement of only the queries whose two best images differ by less than T."""
    hard = differences < refinement.threshold
    ends = np.cumsum([len(draw.queries) for draw in plain])[:-1]
    metrics = retrieval(
        [
            Draw(draw.queries, other.ranks.where(mask, draw.ranks))
            for draw, other, mask in zip(plain, refined, np.split(hard, ends), strict=True)
        ]
    )
    return Setting(*refinement, float(hard.mean()), metrics)


def _cost(setting: Setting) -> tuple[float, float, float, float]:
    """Return a key to sort by, smaller for better settings; figures that differ by rounding are equal."""
    metrics = setting.metrics
    return (round(metrics.median_rank.mean, 9), round(metrics.mean_rank.mean, 9), setting.threshold, setting.strength)


FIGURE_FILE = "refinement.svg"


def tuning_sections(tuning: Tuning) -> list[Section]:
    """Make a table of the median rank for each λ and T, and one of the best settings and no refinement."""
    plain, tried = tuning.settings[0], tuning.settings[1:]
    thresholds = list(dict.fromkeys(setting.threshold for setting in tried))
    by_both = {(setting.strength, setting.threshold): setting for setting in tried}
    rows = []
    for strength in dict.fromkeys(setting.strength for setting in tried):
        ranks = [by_both[strength, threshold] for threshold in thresholds]
        rows.append([f"{strength:g}", *(_median(setting, bold=setting is tuning.best) for setting in ranks)])
    shares = [by_both[tried[0].strength, threshold].hard for threshold in thresholds]
    rows.append(["hard, %", *(f"{100 * share:.0f}" for share in shares)])
    compared = [_figures("not refined", plain)]
    if tuning.best is not plain:
        compared.append(_figures(f"λ = {tuning.best.strength:g}, T = {tuning.best.threshold:g}", tuning.best))
    sections: list[Section] = [
        Grid("Median rank", ["λ \\ T", *(f"{threshold:g}" for threshold in thresholds)], rows),
        Grid("", ["", "Median rank", "Mean rank", "R@1", "R@5", "R@10"], compared),
    ]
    if tuning.best is plain:
        sections.append(Note("No λ and T are better than none: refinement stays off (T = 0)."))
    return sections


def _median(setting: Setting, *, bold: bool) -> str:
    text = f"{setting.metrics.median_rank.mean:.1f}"
    return Bold(text) if bold else text


def _figures(name: str, setting: Setting) -> list[str]:
    metrics = setting.metrics
    ranks = [(metrics.median_rank, 1), (metrics.mean_rank, 1), *((metrics.recall[k], 100) for k in (1, 5, 10))]
    return [
        name,
        *(
            f"{times * figure.mean:.1f}" + ("" if figure.deviation is None else f" ± {times * figure.deviation:.1f}")
            for figure, times in ranks
        ),
    ]


def write_tuning(tuning: Tuning, folder: Path, about: dict[str, Any], *, force: bool = False) -> None:
    """Write the settings and the figure into a folder, the settings last.

    The figure has the confidence in a relation by its probability, a line for each λ (Fig. 3a), and ranks (Fig. 3b).

    Args:
        folder: Created if necessary. In a model's folder, ``evaluate`` finds the settings by itself.
    """

    def draw(canvas: Figure) -> None:
        left, right = canvas.subplots(1, 2)
        _confidences(left, sorted({setting.strength for setting in tuning.settings[1:]}), tuning.best.strength)
        _ranks(right, tuning)

    write_figure(draw, folder / FIGURE_FILE, width=9.4, height=3.6, force=force)
    text = json.dumps(about | tuning.as_dict(), ensure_ascii=False, allow_nan=False, indent=1)
    write_text(folder / SETTINGS_FILE, text + "\n", force=force)


def _confidences(axes: Axes, strengths: list[float], chosen: float) -> None:
    """Draw Fig. 3a: exp(λ |x − ½|) for every λ."""
    x = np.linspace(0, 1, 101)
    for number, strength in enumerate(strengths):
        shade = 0.25 + 0.75 * (number + 1) / len(strengths)
        color, width = (ORANGE, 2.0) if strength == chosen else (BLUE, 1.0)
        values = confidence(x[:, None], strength)
        axes.plot(x, values, color=color, alpha=shade, linewidth=width, label=f"λ = {strength:g}")
    axes.set_xlabel("probability of a relation, x")
    axes.set_ylabel("confidence in it")
    axes.legend(fontsize=6, frameon=False, ncols=2, loc="upper center")
    axes.grid(alpha=0.25)


def _ranks(axes: Axes, tuning: Tuning) -> None:
    """Draw Fig. 3b: the rank of the right image against the difference of the two best ones, without refinement."""
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
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
