"""What is written about the tables of Alikhani 2021: ours beside the published figures, and the drawing of Fig. 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.evaluate.drawing import BLUE, ORANGE, write_figure
from iconotext.evaluate.seeds import interval_over_seeds
from iconotext.papers.published.alikhani2021 import TABLE_4, TABLE_5, TABLE_7, TABLE_8
from iconotext.papers.tables.section import Section, figure_section, percent, points, table_section
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.papers.published.alikhani2021 import Ranks

REFERENCE = "CMCA"
"""The row that the others are compared with: the model that knows no relations."""

FIGURE = "refinement.svg"

Scores = Mapping[str, Mapping[int, dict[str, Any]]]
"""Name of the row to seed to what ``score_model`` found."""

_PUBLISHED: Mapping[str, Mapping[str, Mapping[str, Ranks]]] = {"CITE++": TABLE_4, "Clue": TABLE_5}


def coherence_sections(scores: Scores, dataset: str | None, folder: Path) -> list[Section]:
    """Tables 4 or 5, Figure 5, Tables 7 and 8, as far as there are models.

    Args:
        scores: Of the models that are there.
        dataset: The paper's data set to set beside ours, None for none.
        folder: Where the drawing goes.
    """
    sections = [_retrieval(scores, dataset)]
    told = {name: by_seed for name, by_seed in scores.items() if all("refined" in each for each in by_seed.values())}
    if told:
        draw_refinement(scores, folder / FIGURE)
        sections += [_refinement(told, dataset), figure_section(FIGURE, "Median rank with and without refinement")]
    both = {name: scores[name] for name in ("CMCA", "CMCM") if name in scores}
    if both and any(each["relations"] for by_seed in both.values() for each in by_seed.values()):
        sections.append(_of_relations(both, dataset))
    if told:
        sections.append(_precision(told, dataset))
    return sections


def differences_to(scores: Scores, reference: str = REFERENCE) -> dict[str, dict[str, Any]]:
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
        by_seed = np.array([_values(mine[seed], queries) - _values(theirs[seed], queries) for seed in seeds])
        weights = np.ones(by_seed.shape[1:])
        bounds = interval_over_seeds(by_seed, weights)
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
    refined = [
        _mean(scores[name], "refined", "median_rank")
        if all("refined" in each for each in scores[name].values())
        else None
        for name in names
    ]

    def draw(canvas: Figure) -> None:
        axes: Axes = canvas.subplots()
        places = np.arange(len(names))
        axes.bar(places - 0.2, plain, 0.4, color=BLUE, label="cosine")
        with_refinement = [(place, value) for place, value in zip(places, refined, strict=True) if value is not None]
        axes.bar([place + 0.2 for place, _ in with_refinement], [value for _, value in with_refinement], 0.4,
                 color=ORANGE, label="refined")  # fmt: skip
        axes.set_xticks(places, names, rotation=45, ha="right")
        axes.set_ylabel("median rank")
        axes.legend(frameon=False)

    write_figure(draw, path, width=max(4.0, 0.6 * len(names) + 1.5), height=3.4, force=True)


def _values(score: Mapping[str, Any], queries: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([score["queries"][query] for query in queries], np.float64)


def _retrieval(scores: Scores, dataset: str | None) -> Section:
    published = _PUBLISHED.get(dataset or "", {})
    compared = differences_to(scores)
    several = max(map(len, scores.values())) > 1
    columns = ["", "MedR", "R@1", "R@5", "R@10", f"R@1 − {REFERENCE}", f"R@10 − {REFERENCE}"]
    columns += [f"published {name}" for name in ("MedR", "R@1", "R@5", "R@10")] if published else []
    rows = []
    for name in dict.fromkeys([*published, *scores]):
        cells = _ours(scores[name], "retrieval", over_seeds=several) if name in scores else ["–"] * 4
        difference = compared.get(name)
        cells += [_difference(difference[metric]) if difference else "–" for metric in ("r@1", "r@10")]
        if published:
            cells += _theirs(published[name][dataset or ""]) if name in published else ["–"] * 4
        rows.append([name, *cells])
    some = next(iter(next(iter(scores.values())).values()))
    seeds = max(map(len, scores.values()))
    spread = "over the seeds" if several else "over the draws"
    notes = [
        f"Median rank (± standard deviation {spread}) and R@K in percent, in pools of {some['pool']} of "
        f"{some['images']:,} test images, {counted(some['draws'], 'draw')}, {counted(seeds, 'seed')}. Differences in "
        "points, paired query by query and seed by seed, with 95 % bootstrap intervals for which both are drawn anew."
    ]
    number = {"CITE++": "Table 4", "Clue": "Table 5"}.get(dataset or "", "Tables 4 and 5")
    return table_section(f"{number} of Alikhani et al. 2021: retrieval", columns, rows, notes)


def _refinement(scores: Scores, dataset: str | None) -> Section:
    rows = []
    for name, by_seed in scores.items():
        plain, refined = (_mean(by_seed, kind, "median_rank") for kind in ("retrieval", "refined"))
        settings = [
            f"{each['refinement']['strength']:g}, {each['refinement']['threshold']:g}" for each in by_seed.values()
        ]
        hard = np.mean([each["refinement"]["hard"] for each in by_seed.values()])
        gain = _mean(by_seed, "refined", "r@10") - _mean(by_seed, "retrieval", "r@10")
        rows.append(
            [name, f"{plain:.1f}", f"{refined:.1f}", points(gain), "; ".join(settings), percent(float(hard), 0)]
        )
    columns = ["", "MedR", "MedR refined", "R@10 refined − plain", "λ, T", "queries refined, %"]
    notes = [
        "λ and T were chosen on the validation pairs; the share of the queries that are hard enough to be refined is "
        "theirs, too. λ = 0 and T = 0: nothing was better than no refinement.",
    ]
    return table_section("Figure 5: selective similarity refinement", columns, rows, notes)


def _of_relations(scores: Scores, dataset: str | None) -> Section:
    first = next(iter(next(iter(scores.values())).values()))
    rows = []
    for relation in first["relations"]:
        for name, by_seed in scores.items():
            each = {seed: score["relations"].get(relation) for seed, score in by_seed.items()}
            good = {seed: {"of": found} for seed, found in each.items() if found is not None}
            cells = (
                [f"{next(iter(good.values()))['of']['queries']:.0f}", *_ours(good, "of", over_seeds=len(good) > 1)]
                if good
                else ["0"] + ["–"] * 4
            )
            theirs = TABLE_7.get(name, {}).get(relation) if dataset else None
            cells += _theirs(theirs) if theirs else ["–"] * 4
            rows.append([f"{relation}: {name}", *cells])
    columns = ["", "queries", "MedR", "R@1", "R@5", "R@10"]
    columns += [f"published {name}" for name in ("MedR", "R@1", "R@5", "R@10")]
    notes = ["Only texts that have the relation ask; all images of a pool remain candidates."]
    return table_section("Table 7: by relation", columns, rows, notes)


def _precision(scores: Scores, dataset: str | None) -> Section:
    relations = list(dict.fromkeys(name for by_seed in scores.values() for each in by_seed.values()
                                   for name in each["precision"]))  # fmt: skip
    rows = [["share of pairs that have it", *(_rate(scores, relation) for relation in relations)]]
    for name, by_seed in scores.items():
        cells = []
        for relation in relations:
            values = [
                each["precision"][relation]["average_precision"]
                for each in by_seed.values()
                if relation in each["precision"]
            ]
            good = [value for value in values if value is not None]
            theirs = TABLE_8.get(name, {}).get(relation) if dataset == "Clue" else None
            ours = f"{np.mean(good):.2f}" if good else "–"
            cells.append(ours + (f" ({theirs:.2f})" if theirs is not None else ""))
        rows.append([name, *cells])
    notes = [
        "Average precision over the test pairs" + ("; published figures in brackets." if dataset == "Clue" else ".")
    ]
    return table_section("Table 8: telling relations", ["", *relations], rows, notes)


def _rate(scores: Scores, relation: str) -> str:
    for by_seed in scores.values():
        for each in by_seed.values():
            rate = each["precision"].get(relation, {}).get("positive_rate")
            if rate is not None:
                return f"{rate:.2f}"
    return "–"


def _ours(by_seed: Mapping[int, Mapping[str, Any]], kind: str, *, over_seeds: bool) -> list[str]:
    """Median rank with its deviation, over the seeds or over the draws, and three recalls."""
    ranks = [each[kind]["median_rank"] for each in by_seed.values()]
    spread = float(np.std(ranks, ddof=1)) if len(ranks) > 1 else None
    if not over_seeds:
        spread = next(iter(by_seed.values()))[kind]["deviations"]["median_rank"]
    shown = f"{np.mean(ranks):.1f}" + (f" ± {spread:.1f}" if spread is not None else "")
    return [shown, *(percent(_mean(by_seed, kind, f"r@{k}")) for k in (1, 5, 10))]


def _mean(by_seed: Mapping[int, Mapping[str, Any]], kind: str, metric: str) -> float:
    return float(np.mean([each[kind][metric] for each in by_seed.values()]))


def _theirs(ranks: Ranks) -> list[str]:
    median = f"{ranks.median:.1f}" + (f" ± {ranks.deviation:.1f}" if ranks.deviation is not None else "")
    return [median, f"{ranks.r1:.1f}", f"{ranks.r5:.1f}", f"{ranks.r10:.1f}"]


def _difference(found: Mapping[str, Any]) -> str:
    low, high = found["interval"]
    return f"{points(found['difference'])} ({points(low)} to {points(high)})"
