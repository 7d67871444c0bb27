"""What is written about the tables of Alikhani 2021: ours beside the published figures, and the drawing of Fig. 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.papers.analyses.drawing import BLUE, ORANGE, legend_above, write_figure
from iconotext.papers.published import published_cells
from iconotext.papers.render import Drawing, Grid, Section, difference, percent
from iconotext.papers.tables.retrieval_differences import METRICS, Scores
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE = "refinement.svg"

RANKS = ["MedR", "R@1", "R@5", "R@10"]

Differences = Mapping[str, Mapping[str, Any]]

NUMBER = {"CITE++": 4, "Clue": 5}
"""Data set to the number of its table of retrieval."""


def retrieval_sections(
    scores: Scores, differences: Differences, dataset: str | None, reference: str, folder: Path
) -> list[Section]:
    """Tables 4 or 5, Figure 5, Tables 7 and 8, as far as there are models.

    Args:
        scores: Of the models that are there, at least one.
        differences: See ``differences_to``.
        dataset: The paper's data set to set beside ours, None for none.
        reference: Name of the row that the others are compared with.
    """
    sections: list[Section] = [_retrieval(scores, differences, dataset, reference)]
    aware = {name: by_seed for name, by_seed in scores.items() if _is_refined(by_seed)}
    if aware:
        draw_refinement(scores, folder / FIGURE)
        sections += [
            _refinement(aware, differences, dataset),
            Drawing(FIGURE, "Median rank with and without refinement"),
        ]
    both = {name: scores[name] for name in published_cells("alikhani2021/7") if name in scores}
    if any(each["relations"] for by_seed in both.values() for each in by_seed.values()):
        sections.append(_of_relations(both, dataset))
    if aware:
        sections.append(_precision(aware, dataset))
    return sections


def draw_refinement(scores: Scores, path: Path) -> None:
    """Fig. 5: the median rank of every model, and where it tells relations, with refinement."""
    names = list(scores)
    plain = [_mean(_parts(scores[name], "retrieval"), "median_rank") for name in names]
    aware = [place for place, name in enumerate(names) if _is_refined(scores[name])]
    refined = [_mean(_refined(scores[names[place]], "validation"), "median_rank") for place in aware]

    def draw(canvas: Figure) -> None:
        axes: Axes = canvas.subplots()
        axes.bar(np.arange(len(names)) - 0.2, plain, 0.4, color=BLUE, label="cosine")
        axes.bar([place + 0.2 for place in aware], refined, 0.4, color=ORANGE, label="refined")
        axes.set_xticks(np.arange(len(names)), names, rotation=45, ha="right")
        axes.set_ylabel("median rank")
        legend_above(canvas)

    write_figure(draw, path, width=max(4.0, 0.6 * len(names) + 1.5), height=3.4, force=True)


def _is_refined(by_seed: Mapping[int, Mapping[str, Any]]) -> bool:
    return all("refined" in each for each in by_seed.values())


def _retrieval(scores: Scores, differences: Differences, dataset: str | None, reference: str) -> Grid:
    published = published_cells(f"alikhani2021/{NUMBER[dataset]}") if dataset else {}
    some = next(iter(next(iter(scores.values())).values()))
    seeds = max(map(len, scores.values()))
    columns = ["", *RANKS, *(f"{name} − {reference}" for name in ("MedR", "R@1", "R@10"))]
    columns += [f"published {name}" for name in RANKS] if published else []
    rows = []
    for name in dict.fromkeys([*published, *scores]):
        cells = _ours(_parts(scores[name], "retrieval")) if name in scores else ["–"] * 4
        cells += compared(differences.get(name, {}))
        if published:
            cells += _theirs(published.get(name, {}).get(dataset or ""))
        rows.append([name, *cells])
    spread = "over the seeds" if seeds > 1 else "over the draws"
    notes = [
        f"Median rank (± standard deviation {spread}) and R@K in percent, in pools of {some['pool']} of "
        f"{some['images']:,} test images, {counted(some['draws'], 'draw')}, {counted(seeds, 'seed')}. Differences in "
        "ranks (less is better) and points, paired query by query and seed by seed, with 95 % bootstrap intervals for "
        "which both are drawn anew."
    ]
    notes += [
        f"{name} was not measured on the queries of {reference}, so it has no difference."
        for name in scores
        if reference in scores and name != reference and "to" not in differences.get(name, {})
    ]
    number = f"Table {NUMBER[dataset]}" if dataset else "Tables 4 and 5"
    return Grid(f"{number} of Alikhani et al. 2021: retrieval", columns, rows, notes)


def _refinement(scores: Scores, differences: Differences, dataset: str | None) -> Grid:
    rows = []
    for name, by_seed in scores.items():
        plain = _mean(_parts(by_seed, "retrieval"), "median_rank")
        for kind in next(iter(by_seed.values()))["refined"]:
            if dataset is not None and kind not in ("validation", dataset):
                continue
            refined = _refined(by_seed, kind)
            settings = dict.fromkeys(f"{each['strength']:g}, {each['threshold']:g}" for each in refined.values())
            by = "chosen on validation" if kind == "validation" else f"the paper's, {kind}"
            figures = [f"{plain:.1f}", f"{_mean(refined, 'median_rank'):.1f}"]
            change = compared(differences[name]["refined"][kind])
            rows.append([name, by, "; ".join(settings), *figures, *change])
    columns = ["", "λ and T", "λ, T", "MedR", "refined", *(f"{name} − plain" for name in ("MedR", "R@1", "R@10"))]
    notes = ["λ = 0 and T = 0: nothing was better on the validation pairs than no refinement."]
    return Grid("Figure 5: selective similarity refinement", columns, rows, notes)


def compared(found: Mapping[str, Any]) -> list[str]:
    """Differences of median rank, R@1 and R@10 with their intervals."""
    if "median_rank" not in found:
        return ["–"] * 3
    ranks, *recalls = ([found[metric]["difference"], *found[metric]["interval"]] for metric in METRICS)
    value, low, high = (f"{each:+.1f}".replace("-", "−") for each in ranks)
    return [f"{value} ({low} to {high})", *(difference(*each) for each in recalls)]


def _of_relations(scores: Scores, dataset: str | None) -> Grid:
    published = published_cells("alikhani2021/7")
    first = next(iter(next(iter(scores.values())).values()))
    rows = []
    for relation in first["relations"]:
        for name, by_seed in scores.items():
            found = {seed: score["relations"].get(relation) for seed, score in by_seed.items()}
            asked = {seed: each for seed, each in found.items() if each is not None}
            cells = ["0", *["–"] * 4]
            if asked:
                queries = next(iter(asked.values()))["queries"]
                cells = [f"{queries:.0f}", *_ours(asked)]
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


def _ours(by_seed: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Median rank with its deviation, and three recalls."""
    return [median_rank(list(by_seed.values())), *(percent(_mean(by_seed, f"r@{k}")) for k in (1, 5, 10))]


def median_rank(by_seed: Sequence[Mapping[str, Any]]) -> str:
    """The median rank with its deviation over the seeds, or of a single one over the draws."""
    ranks = [each["median_rank"] for each in by_seed]
    spread = float(np.std(ranks, ddof=1)) if len(ranks) > 1 else by_seed[0]["deviations"]["median_rank"]
    return _median(float(np.mean(ranks)), spread)


def _theirs(figures: Sequence[float] | None) -> list[str]:
    """Median rank, with its deviation where there is one, and three recalls."""
    if figures is None:
        return ["–"] * 4
    median, *deviation, one, five, ten = figures
    return [_median(median, deviation[0] if deviation else None), *(f"{each:.1f}" for each in (one, five, ten))]


def _median(value: float, spread: float | None) -> str:
    return f"{value:.1f}" + (f" ± {spread:.1f}" if spread is not None else "")


def _mean(by_seed: Mapping[int, Mapping[str, Any]], metric: str) -> float:
    return float(np.mean([each[metric] for each in by_seed.values()]))


def _parts(by_seed: Mapping[int, Mapping[str, Any]], kind: str) -> dict[int, Any]:
    return {seed: each[kind] for seed, each in by_seed.items()}


def _refined(by_seed: Mapping[int, Mapping[str, Any]], kind: str) -> dict[int, Any]:
    """Seed to what a refinement came to: ``validation``, or a data set of the paper."""
    return {seed: each["refined"][kind] for seed, each in by_seed.items()}
