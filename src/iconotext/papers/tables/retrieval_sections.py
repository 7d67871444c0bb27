"""What is written about the tables of Alikhani 2021: ours beside the published figures, and the drawing of Fig. 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.papers.analyses.drawing import BLUE, ORANGE, write_figure
from iconotext.papers.analyses.seeds import interval_over_seeds
from iconotext.papers.published import published_cells
from iconotext.papers.render import Drawing, Grid, Section, difference, percent, points
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE = "refinement.svg"

RANKS = ["MedR", "R@1", "R@5", "R@10"]

NUMBER = {"CITE++": 4, "Clue": 5}
"""Data set to the number of its table of retrieval."""

Scores = Mapping[str, Mapping[int, dict[str, Any]]]
"""Name of the row to seed to what ``score_retrieval`` found."""


def retrieval_sections(scores: Scores, dataset: str | None, reference: str, folder: Path) -> list[Section]:
    """Tables 4 or 5, Figure 5, Tables 7 and 8, as far as there are models.

    Args:
        scores: Of the models that are there, at least one.
        dataset: The paper's data set to set beside ours, None for none.
        reference: Name of the row that the others are compared with.
        folder: Where the drawing goes.
    """
    sections: list[Section] = [_retrieval(scores, dataset, reference)]
    aware = {name: by_seed for name, by_seed in scores.items() if _is_refined(by_seed)}
    if aware:
        draw_refinement(scores, folder / FIGURE)
        sections += [_refinement(aware), Drawing(FIGURE, "Median rank with and without refinement")]
    both = {name: scores[name] for name in published_cells("alikhani2021/7") if name in scores}
    if any(each["relations"] for by_seed in both.values() for each in by_seed.values()):
        sections.append(_of_relations(both, dataset))
    if aware:
        sections.append(_precision(aware, dataset))
    return sections


def differences_to(scores: Scores, reference: str) -> dict[str, dict[str, Any]]:
    """R@1 and R@10 of each row minus those of another, query by query and seed by seed.

    Returns:
        Name to ``r@1`` and ``r@10``, each a difference and its 95 % interval, for which queries and seeds are drawn
        anew, and the number of seeds.
    """
    found: dict[str, dict[str, Any]] = {}
    theirs = scores.get(reference, {})
    for name, mine in scores.items():
        seeds = [seed for seed in mine if seed in theirs]
        if name == reference or not seeds:
            continue
        queries = sorted(mine[seeds[0]]["queries"])
        sides = (
            np.array([[side[seed]["queries"][query] for query in queries] for seed in seeds], np.float64)
            for side in (mine, theirs)
        )
        by_seed = np.subtract(*sides)
        bounds = interval_over_seeds(by_seed, np.ones(by_seed.shape[1:]))
        means = by_seed.mean(axis=(0, 1))
        found[name] = {"to": reference, "seeds": len(seeds)} | {
            metric: {"difference": float(means[i]), "interval": bounds[i].tolist()}
            for i, metric in enumerate(("r@1", "r@10"))
        }
    return found


def draw_refinement(scores: Scores, path: Path) -> None:
    """Fig. 5: the median rank of every model, and where it tells relations, with refinement."""
    names = list(scores)
    plain = [_mean(scores[name], "retrieval", "median_rank") for name in names]
    aware = [place for place, name in enumerate(names) if _is_refined(scores[name])]
    refined = [_mean(scores[names[place]], "refined", "median_rank") for place in aware]

    def draw(canvas: Figure) -> None:
        axes: Axes = canvas.subplots()
        axes.bar(np.arange(len(names)) - 0.2, plain, 0.4, color=BLUE, label="cosine")
        axes.bar([place + 0.2 for place in aware], refined, 0.4, color=ORANGE, label="refined")
        axes.set_xticks(np.arange(len(names)), names, rotation=45, ha="right")
        axes.set_ylabel("median rank")
        axes.legend(frameon=False)

    write_figure(draw, path, width=max(4.0, 0.6 * len(names) + 1.5), height=3.4, force=True)


def _is_refined(by_seed: Mapping[int, Mapping[str, Any]]) -> bool:
    return all("refined" in each for each in by_seed.values())


def _retrieval(scores: Scores, dataset: str | None, reference: str) -> Grid:
    published = published_cells(f"alikhani2021/{NUMBER[dataset]}") if dataset else {}
    compared = differences_to(scores, reference)
    some = next(iter(next(iter(scores.values())).values()))
    seeds = max(map(len, scores.values()))
    columns = ["", *RANKS, f"R@1 − {reference}", f"R@10 − {reference}"]
    columns += [f"published {name}" for name in RANKS] if published else []
    rows = []
    for name in dict.fromkeys([*published, *scores]):
        cells = _ours(scores[name], "retrieval", over_seeds=seeds > 1) if name in scores else ["–"] * 4
        cells += [
            difference(compared[name][metric]["difference"], *compared[name][metric]["interval"])
            if name in compared
            else "–"
            for metric in ("r@1", "r@10")
        ]
        if published:
            cells += _theirs(published.get(name, {}).get(dataset or ""))
        rows.append([name, *cells])
    spread = "over the seeds" if seeds > 1 else "over the draws"
    notes = [
        f"Median rank (± standard deviation {spread}) and R@K in percent, in pools of {some['pool']} of "
        f"{some['images']:,} test images, {counted(some['draws'], 'draw')}, {counted(seeds, 'seed')}. Differences in "
        "points, paired query by query and seed by seed, with 95 % bootstrap intervals for which both are drawn anew."
    ]
    number = f"Table {NUMBER[dataset]}" if dataset else "Tables 4 and 5"
    return Grid(f"{number} of Alikhani et al. 2021: retrieval", columns, rows, notes)


def _refinement(scores: Scores) -> Grid:
    rows = []
    for name, by_seed in scores.items():
        plain, refined = (_mean(by_seed, kind, "median_rank") for kind in ("retrieval", "refined"))
        gain = _mean(by_seed, "refined", "r@10") - _mean(by_seed, "retrieval", "r@10")
        chosen = [each["refinement"] for each in by_seed.values()]
        settings = "; ".join(f"{each['strength']:g}, {each['threshold']:g}" for each in chosen)
        hard = float(np.mean([each["hard"] for each in chosen]))
        rows.append([name, f"{plain:.1f}", f"{refined:.1f}", points(gain), settings, percent(hard, 0)])
    columns = ["", "MedR", "MedR refined", "R@10 refined − plain", "λ, T", "queries refined, %"]
    notes = [
        "λ and T were chosen on the validation pairs; the share of the queries that are hard enough to be refined is "
        "theirs, too. λ = 0 and T = 0: nothing was better than no refinement.",
    ]
    return Grid("Figure 5: selective similarity refinement", columns, rows, notes)


def _of_relations(scores: Scores, dataset: str | None) -> Grid:
    published = published_cells("alikhani2021/7")
    first = next(iter(next(iter(scores.values())).values()))
    rows = []
    for relation in first["relations"]:
        for name, by_seed in scores.items():
            asked = {
                seed: {"of": found}
                for seed, score in by_seed.items()
                if (found := score["relations"].get(relation)) is not None
            }
            cells = ["0", *["–"] * 4]
            if asked:
                queries = next(iter(asked.values()))["of"]["queries"]
                cells = [f"{queries:.0f}", *_ours(asked, "of", over_seeds=len(asked) > 1)]
            cells += _theirs(published.get(name, {}).get(relation) if dataset else None)
            rows.append([f"{relation}: {name}", *cells])
    columns = ["", "queries", *RANKS, *(f"published {name}" for name in RANKS)]
    notes = ["Only texts that have the relation ask; all images of a pool remain candidates."]
    return Grid("Table 7: by relation", columns, rows, notes)


def _precision(scores: Scores, dataset: str | None) -> Grid:
    published = published_cells("alikhani2021/8") if dataset == "Clue" else {}
    every = [each["precision"] for by_seed in scores.values() for each in by_seed.values()]
    relations = list(dict.fromkeys(name for precision in every for name in precision))
    rows = [["share of pairs that have it", *(_rate(every, relation) for relation in relations)]]
    for name, by_seed in scores.items():
        cells = []
        for relation in relations:
            values = [each["precision"].get(relation, {}).get("average_precision") for each in by_seed.values()]
            good = [value for value in values if value is not None]
            theirs = published.get(name, {}).get(relation)
            ours = f"{np.mean(good):.2f}" if good else "–"
            cells.append(ours + (f" ({theirs[0]:.2f})" if theirs else ""))
        rows.append([name, *cells])
    notes = ["Average precision over the test pairs" + ("; published figures in brackets." if published else ".")]
    return Grid("Table 8: telling relations", ["", *relations], rows, notes)


def _rate(every: Sequence[Mapping[str, Mapping[str, Any]]], relation: str) -> str:
    rates = (precision.get(relation, {}).get("positive_rate") for precision in every)
    return next((f"{rate:.2f}" for rate in rates if rate is not None), "–")


def _ours(by_seed: Mapping[int, Mapping[str, Any]], kind: str, *, over_seeds: bool) -> list[str]:
    """Median rank with its deviation, over the seeds or over the draws, and three recalls."""
    ranks = [each[kind]["median_rank"] for each in by_seed.values()]
    spread = float(np.std(ranks, ddof=1)) if len(ranks) > 1 else None
    if not over_seeds:
        spread = next(iter(by_seed.values()))[kind]["deviations"]["median_rank"]
    recalls = [percent(_mean(by_seed, kind, f"r@{k}")) for k in (1, 5, 10)]
    return [_median(float(np.mean(ranks)), spread), *recalls]


def _theirs(figures: Sequence[float] | None) -> list[str]:
    """Median rank, with its deviation where there is one, and three recalls."""
    if figures is None:
        return ["–"] * 4
    median, *deviation, one, five, ten = figures
    return [_median(median, deviation[0] if deviation else None), *(f"{each:.1f}" for each in (one, five, ten))]


def _median(value: float, spread: float | None) -> str:
    return f"{value:.1f}" + (f" ± {spread:.1f}" if spread is not None else "")


def _mean(by_seed: Mapping[int, Mapping[str, Any]], kind: str, metric: str) -> float:
    return float(np.mean([each[kind][metric] for each in by_seed.values()]))
