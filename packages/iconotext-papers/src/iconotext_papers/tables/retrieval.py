"""Tables of Alikhani 2021: how well models find images by texts, refined or not, and predict relations.

``score_retrieval`` measures a model, ``report`` makes the tables, or Fig. 8: the median rank by the weight of the
coherence objective, and by the length of texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iconotext.encoders.stored_model import WEIGHTS
from iconotext.errors import CorpusError
from iconotext.evaluate.retrieval import Draw, Ranks
from iconotext.evaluate.statistics import RESAMPLINGS, grouped, interval_ends, resampled_counts
from iconotext.plain_text import counted
from iconotext.relations import CITE, CLUE
from iconotext.report.tables import Drawing, Grid, Note, Section, difference, percent
from iconotext.system.files import write_text
from iconotext.system.strict_json import parse_json
from iconotext_papers.analyses.seeds import resampled_seeds
from iconotext_papers.charts import BLUE, ORANGE, legend_above, write_figure
from iconotext_papers.published import published_cells, published_facts
from iconotext_papers.tables.comparison import Comparison, model_folder, results_path, runs_of
from iconotext_papers.tables.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared


Scores = Mapping[str, Mapping[int, dict[str, Any]]]
"""Results of ``score_retrieval`` by name of the row and seed."""

Differences = Mapping[str, Mapping[str, Any]]
"""The result of ``differences_to``."""

SWEEPS_FIGURE = "sweeps.svg"

SWEPT: Mapping[str, Callable[[Recipe], float]] = {
    "λ_cls": lambda recipe: recipe.objective.coherence,
    "margin": lambda recipe: recipe.objective.margin,
    "layers of the coherence module": lambda recipe: recipe.objective.relation_layers,
    "words of a text": lambda recipe: 0 if recipe.words is None else recipe.words.max_tokens,
}
"""Each setting that is varied, with its value in a recipe; in its sweep the others have the values of the first row."""

ON_LOG_SCALE = ("λ_cls", "words of a text")

SPLITS = {"validation": BLUE, "retrieval": ORANGE}
"""Colour of each part of ``score_retrieval``'s figures."""


def sweep_sections(scores: Scores, differences: Differences, comparison: Comparison) -> list[Section]:
    """The table of the sweeps, and their drawing; what is best on the validation pairs is named.

    Args:
        scores: Of the models that are there, at least one.
        differences: To the first row of the table, which has the values that the paper chose; see ``differences_to``.
    """
    rows = comparison.rows
    panels = {
        setting: [(value, name) for value, name in values if name in scores]
        for setting in SWEPT
        if len(values := swept(rows, setting)) > 1
    }

    def draw(canvas: Figure) -> None:
        for axes, (setting, values) in zip(canvas.subplots(1, len(panels)), panels.items(), strict=True):
            _panel(axes, setting, values, scores)
        legend_above(canvas)

    seeds = max(map(len, scores.values()))
    lines = []
    for name, by_seed in scores.items():
        ranks = [median_rank([score[split] for score in by_seed.values()]) for split in SPLITS]
        lines.append([name, *ranks, compared(differences.get(name, {}))[0]])
    columns = ["", "validation MedR", "test MedR", f"test MedR − {rows[0].name}"]
    lowest = "; ".join(best_on_validation(panels, scores))
    notes = [
        f"Median ranks (± standard deviation over the {'seeds' if seeds > 1 else 'draws'}), {counted(seeds, 'seed')}. "
        + (f"Lowest on the validation pairs: {lowest}. " if lowest else "")
        + "Differences are paired query by query and seed by seed, with 95 % bootstrap intervals."
    ]
    write_figure(draw, comparison.folder / SWEEPS_FIGURE, width=8.4, height=3.2, force=True)
    return [Grid(comparison.table.title, columns, lines, notes), Drawing(SWEEPS_FIGURE, "Median rank by value")]


def best_on_validation(panels: Mapping[str, Sequence[tuple[float, str]]], scores: Scores) -> list[str]:
    """Name the value of each sweep with the lowest median rank on validation, of equal ones the first.

    A sweep of which one value was measured has none.
    """
    best = []
    for setting, values in panels.items():
        ranks = [(_mean(_parts(scores[name], "validation"), "median_rank"), value) for value, name in values]
        if len(ranks) > 1:
            best.append(f"{setting} {min(ranks, key=lambda pair: pair[0])[1]:g}")
    return best


def swept(rows: Sequence[Row], setting: str) -> list[tuple[float, str]]:
    """Return the values of a sweep with the names of their rows, ascending; these rows differ in no other setting."""
    first = rows[0].recipe
    values = []
    for row in rows:
        if row.recipe is not None and first is not None:
            other_values = [value for name, value in SWEPT.items() if name != setting]
            if all(value(row.recipe) == value(first) for value in other_values):
                values.append((SWEPT[setting](row.recipe), row.name))
    return sorted(values)


def _panel(axes: Axes, setting: str, values: Sequence[tuple[float, str]], scores: Scores) -> None:
    for split, color in SPLITS.items():
        ranks = [[score[split]["median_rank"] for score in scores[name].values()] for _, name in values]
        means = [float(np.mean(seeds)) for seeds in ranks]
        spreads = [float(np.std(seeds, ddof=1)) if len(seeds) > 1 else 0.0 for seeds in ranks]
        label = "test" if split == "retrieval" else split
        axes.errorbar([x for x, _ in values], means, spreads, color=color, marker="o", markersize=3, label=label)
    if setting in ON_LOG_SCALE:
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(setting)
    axes.set_ylabel("median rank")
    axes.grid(alpha=0.25)


def compared(result: Mapping[str, Any]) -> list[str]:
    """Differences of median rank, R@1 and R@10 with their intervals."""
    if "median_rank" not in result:
        return ["–"] * 3
    ranks, *recalls = ([result[name]["difference"], *result[name]["interval"]] for name in COMPARED_METRICS)
    value, low, high = (f"{number:+.1f}".replace("-", "−") for number in ranks)
    return [f"{value} ({low} to {high})", *(difference(*recall) for recall in recalls)]


def median_rank(by_seed: Sequence[Mapping[str, Any]]) -> str:
    """Return the median rank with its deviation over the seeds, or of a single one over the draws."""
    ranks = [score["median_rank"] for score in by_seed]
    spread = float(np.std(ranks, ddof=1)) if len(ranks) > 1 else by_seed[0]["deviations"]["median_rank"]
    return _median(float(np.mean(ranks)), spread)


COMPARED_METRICS = ("median_rank", "r@1", "r@10")


def _median(value: float, spread: float | None) -> str:
    return f"{value:.1f}" + (f" ± {spread:.1f}" if spread is not None else "")


PLAIN = "retrieval"
"""Name of the ranks without refinement."""


def ranks_for_json(draws: Sequence[Draw]) -> list[dict[str, list[int]]]:
    """Return the ranks of every query in every pool, in the form of a file of results."""
    return [
        {"queries": draw.queries.tolist(), "above": draw.ranks.above.tolist(), "tied": draw.ranks.tied.tolist()}
        for draw in draws
    ]


def differences_to(scores: Scores, reference: str) -> dict[str, dict[str, Any]]:
    """Median rank, R@1 and R@10 of each row minus those of another, and of each refinement minus those without it.

    Pairs are drawn anew with replacement, those of an image together, the same for both sides and in all pools, and so
    are the seeds; of every draw the median rank is that of its queries, as many times as each was drawn.

    Returns:
        Name to ``to``, the number of ``seeds``, and for each metric ``difference`` and 95 % ``interval``; with them,
        for a row with refinements, ``refined``: their names to the same metrics. Rows that were not measured on the
        same queries as the other one have no differences to it.
    """

    @cache  # the plain ranks of a row are compared with the reference and with each refinement
    def figures(name: str, seed: int, kind: str) -> NDArray[np.float64]:
        score = scores[name][seed]
        return resampled_figures(score["ranks"][kind], score["image_of"])

    def paired(first: tuple[str, str], second: tuple[str, str], seeds: Sequence[int]) -> dict[str, Any]:
        by_seed = np.array([figures(first[0], s, first[1]) - figures(second[0], s, second[1]) for s in seeds])
        return _intervals(by_seed)

    by_name: dict[str, dict[str, Any]] = {}
    base = scores.get(reference, {})
    for name, by_seed in scores.items():
        seeds = [seed for seed in by_seed if seed in base and _same_queries(by_seed[seed], base[seed])]
        if name != reference and seeds:
            by_name[name] = {"to": reference, "seeds": len(seeds)} | paired((name, PLAIN), (reference, PLAIN), seeds)
        kinds = [kind for kind in next(iter(by_seed.values()))["ranks"] if kind != PLAIN]
        if kinds:
            refined = {kind: paired((name, kind), (name, PLAIN), list(by_seed)) for kind in kinds}
            by_name[name] = by_name.get(name, {}) | {"refined": refined}
    return by_name


def resampled_figures(
    draws: Sequence[Mapping[str, Sequence[int]]], image_of: Sequence[int], *, resamplings: int = RESAMPLINGS
) -> NDArray[np.float64]:
    """Median rank, R@1 and R@10, each a mean over the pools: (1 + resamplings, 3).

    The first row is of the pairs as they are, each other one of pairs drawn anew, those of an image together. A pool of
    which no query was drawn counts as nothing.

    Args:
        image_of: (P,) number of each pair's image, from 0.
    """
    groups = grouped([(image + 1,) for image in image_of])
    parts = [np.ones((1, len(image_of))), *resampled_counts(groups, resamplings, 0)]
    return np.concatenate([_difference_figures(draws, counts) for counts in parts])


def _difference_figures(
    draws: Sequence[Mapping[str, Sequence[int]]], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (resamplings, 3) figures; ``counts``: (resamplings, pairs), number of times each pair was drawn."""
    sums, pools = np.zeros((len(counts), len(COMPARED_METRICS))), np.zeros((len(counts), 1))
    for draw in draws:
        ranks = Ranks(np.array(draw["above"]), np.array(draw["tied"]))
        draw_counts = counts[:, np.array(draw["queries"])]
        total = draw_counts.sum(axis=1)
        has_queries = total > 0
        columns = [draw_counts @ ranks.recall(k) / np.maximum(total, 1) for k in (1, 10)]
        figures = np.stack([weighted_medians(ranks.mean, draw_counts), *columns], axis=1)
        sums += np.where(has_queries[:, None], figures, 0)
        pools += has_queries[:, None]
    return sums / np.maximum(pools, 1)


def weighted_medians(values: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of values that occur several times.

    Args:
        values: (Q,).
        counts: (resamplings, Q) whole numbers.

    Returns:
        (resamplings,), as ``np.median`` of the repeated values; of a row of zeros no particular number.
    """
    order = np.argsort(values, kind="stable")
    reached = counts[:, order].cumsum(axis=1)
    half = reached[:, -1:] / 2
    # Of an odd number both are the middle value; of an even one, the values before and behind the middle.
    middle = (values[order][np.argmax(reached >= half, axis=1)], values[order][np.argmax(reached > half, axis=1)])
    return np.asarray((middle[0] + middle[1]) / 2, np.float64)


def _intervals(by_seed: NDArray[np.float64]) -> dict[str, Any]:
    """Return difference and interval by metric, from (seeds, 1 + resamplings, 3) differences."""
    shares = resampled_seeds(len(by_seed), by_seed.shape[1] - 1, 0)
    drawn = np.einsum("rs,srm->rm", shares, by_seed[:, 1:])
    rows = zip(COMPARED_METRICS, by_seed[:, 0].mean(axis=0), interval_ends(drawn), strict=True)
    return {metric: {"difference": float(mean), "interval": ends.tolist()} for metric, mean, ends in rows}


def _same_queries(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Tell whether two models were measured on the same pairs, in the same pools."""
    queries = ([draw["queries"] for draw in scores["ranks"][PLAIN]] for scores in (first, second))
    return first["pairs"] == second["pairs"] and next(queries) == next(queries)


REFINEMENT_FIGURE = "refinement.svg"

RANKS = ["MedR", "R@1", "R@5", "R@10"]

NUMBER = {"CITE++": 4, "Clue": 5}
"""Number of the table of retrieval of each data set."""


def retrieval_sections(scores: Scores, differences: Differences, comparison: Comparison) -> list[Section]:
    """Tables 4 or 5, Figure 5, Tables 7 and 8, as far as there are models.

    Args:
        scores: Of the models that are there, at least one.
        differences: See ``differences_to``.
    """
    dataset = comparison.dataset
    sections: list[Section] = [_retrieval(scores, differences, comparison)]
    aware = {name: by_seed for name, by_seed in scores.items() if _is_refined(by_seed)}
    if aware:
        draw_refinement(scores, comparison.folder / REFINEMENT_FIGURE)
        sections += [
            _refinement(aware, differences, dataset),
            Drawing(REFINEMENT_FIGURE, "Median rank with and without refinement"),
        ]
    shared = {name: scores[name] for name in published_cells("alikhani2021/7") if name in scores}
    if any(score["relations"] for by_seed in shared.values() for score in by_seed.values()):
        sections.append(_of_relations(shared, dataset))
    if aware:
        sections.append(_precision(aware, dataset))
    return sections


def draw_refinement(scores: Scores, path: Path) -> None:
    """Draw Fig. 5: the median rank of every model, and of models that predict relations also with refinement."""
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
    return all("refined" in score for score in by_seed.values())


def _retrieval(scores: Scores, differences: Differences, comparison: Comparison) -> Grid:
    dataset, reference = comparison.dataset, comparison.reference
    requested = {row.name for row in comparison.shown} if comparison.requested else None
    published = published_cells(f"alikhani2021/{NUMBER[dataset]}") if dataset else {}
    score = next(iter(next(iter(scores.values())).values()))
    seeds = max(map(len, scores.values()))
    columns = ["", *RANKS, *(f"{name} − {reference}" for name in ("MedR", "R@1", "R@10"))]
    columns += [f"published {name}" for name in RANKS] if published else []
    rows = []
    for name in dict.fromkeys([*(name for name in published if requested is None or name in requested), *scores]):
        cells = _measured_figures(_parts(scores[name], "retrieval")) if name in scores else ["–"] * 4
        cells += compared(differences.get(name, {}))
        if published:
            cells += _published_figures(published.get(name, {}).get(dataset or ""))
        rows.append([name, *cells])
    spread = "over the seeds" if seeds > 1 else "over the draws"
    notes = [
        f"Median rank (± standard deviation {spread}) and R@K in percent, in pools of {score['pool']} of "
        f"{score['images']:,} test images, {counted(score['draws'], 'draw')}, {counted(seeds, 'seed')}. Differences in "
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
            settings = dict.fromkeys(f"{r['strength']:g}, {r['threshold']:g}" for r in refined.values())
            by = "chosen on validation" if kind == "validation" else f"the paper's, {kind}"
            figures = [f"{plain:.1f}", f"{_mean(refined, 'median_rank'):.1f}"]
            change = compared(differences[name]["refined"][kind])
            rows.append([name, by, "; ".join(settings), *figures, *change])
    columns = ["", "λ and T", "λ, T", "MedR", "refined", *(f"{name} − plain" for name in ("MedR", "R@1", "R@10"))]
    notes = ["λ = 0 and T = 0: nothing was better on the validation pairs than no refinement."]
    return Grid("Figure 5: selective similarity refinement", columns, rows, notes)


def _of_relations(scores: Scores, dataset: str | None) -> Grid:
    published = published_cells("alikhani2021/7")
    first = next(iter(next(iter(scores.values())).values()))
    rows = []
    for relation in first["relations"]:
        for name, by_seed in scores.items():
            figures = {seed: score["relations"].get(relation) for seed, score in by_seed.items()}
            defined = {seed: value for seed, value in figures.items() if value is not None}
            cells = ["0", *["–"] * 4]
            if defined:
                queries = next(iter(defined.values()))["queries"]
                cells = [f"{queries:.0f}", *_measured_figures(defined)]
            cells += _published_figures(published.get(name, {}).get(relation) if dataset else None)
            rows.append([f"{relation}: {name}", *cells])
    columns = ["", "queries", *RANKS, *(f"published {name}" for name in RANKS)]
    notes = [
        "Only texts that have the relation ask; all images of a pool remain candidates. The paper measures on 'subsets "
        "of the test set' (appendix B), and does not say whether their images alone are the candidates."
    ]
    return Grid("Table 7: by relation", columns, rows, notes)


def _precision(scores: Scores, dataset: str | None) -> Grid:
    published = published_cells("alikhani2021/8") if dataset == "Clue" else {}
    every = [score["precision"] for by_seed in scores.values() for score in by_seed.values()]
    relations = list(dict.fromkeys(name for precision in every for name in precision))
    rows = [["share of pairs that have it", *(_rate(every, relation) for relation in relations)]]
    for name, by_seed in scores.items():
        cells = []
        for relation in relations:
            values = [score["precision"].get(relation, {}).get("average_precision") for score in by_seed.values()]
            defined = [value for value in values if value is not None]
            published_figure = published.get(name, {}).get(relation)
            cell = f"{np.mean(defined):.2f}" if defined else "–"
            cells.append(cell + (f" ({published_figure[0]:.2f})" if published_figure else ""))
        rows.append([name, *cells])
    notes = ["Average precision over the test pairs" + ("; published figures in brackets." if published else ".")]
    return Grid("Table 8: telling relations", ["", *relations], rows, notes)


def _rate(every: Sequence[Mapping[str, Mapping[str, Any]]], relation: str) -> str:
    rates = (precision.get(relation, {}).get("positive_rate") for precision in every)
    return next((f"{rate:.2f}" for rate in rates if rate is not None), "–")


def _measured_figures(by_seed: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Return the cells of median rank with its deviation, and three recalls."""
    return [median_rank(list(by_seed.values())), *(percent(_mean(by_seed, f"r@{k}")) for k in (1, 5, 10))]


def _published_figures(figures: Sequence[float] | None) -> list[str]:
    """Return the cells of median rank, with its deviation if published, and three recalls."""
    if figures is None:
        return ["–"] * 4
    median, *deviation, one, five, ten = figures
    return [_median(median, deviation[0] if deviation else None), *(f"{recall:.1f}" for recall in (one, five, ten))]


def _mean(by_seed: Mapping[int, Mapping[str, Any]], metric: str) -> float:
    return float(np.mean([score[metric] for score in by_seed.values()]))


def _parts(by_seed: Mapping[int, Mapping[str, Any]], kind: str) -> dict[int, Any]:
    return {seed: score[kind] for seed, score in by_seed.items()}


def _refined(by_seed: Mapping[int, Mapping[str, Any]], kind: str) -> dict[int, Any]:
    """Return the figures of a refinement by seed: ``validation``, or a data set of the paper."""
    return {seed: score["refined"][kind] for seed, score in by_seed.items()}


def check_corpus(corpus: Path, prepared: Prepared) -> None:
    """Check that a corpus has splits and labels, and that its documents are pairs."""
    if prepared.meta["drawn"] is not None or not len(prepared.documents("test")):
        raise CorpusError(
            f"{corpus}: these tables need a corpus with splits, test documents among them; "
            "`iconotext corpus split` makes them"
        )
    if not prepared.labelled_relations:
        raise CorpusError(f"{corpus}: no training document of one sentence and one image has labels of relations")
    for split in ("validation", "test"):
        if not prepared.all_single(split):
            raise CorpusError(f"{corpus}: {split} documents need one sentence and one image each for these tables")


def score_retrieval(model: Path, corpus: Path, path: Path) -> None:
    """Measure a model on the test pairs of a corpus, as ``iconotext evaluate --pool`` does.

    Similarities are refined with the λ and T that are best on the validation pairs, which are written into the model's
    folder with the plot of Fig. 3, and with those that the paper chose for each of its data sets.

    Args:
        path: JSON file for ``retrieval``, ``validation``, ``relations`` (Table 7), ``ranks`` (of every query in every
            pool), and for a model that predicts relations ``refined`` and ``precision`` (Table 8).
    """
    from iconotext.corpus.store import read_corpus
    from iconotext.encoders.coherence_relations import Refinement
    from iconotext.evaluate.pair_vectors import pair_vectors
    from iconotext.evaluate.retrieval import (
        POOL,
        coherence_precisions,
        of_relations,
        pair_probabilities,
        rank_pools,
        refined,
        retrieval_encoder,
        similarities,
    )
    from iconotext.train.validate import image_retrieval
    from iconotext_papers.analyses.refinement import tune_refinement, write_tuning

    encoder = retrieval_encoder(str(model), corpus)
    test, validation = (
        pair_vectors(encoder, (d for d in read_corpus(corpus) if d.split == split)) for split in ("test", "validation")
    )
    pool = min(POOL, len(test.images))
    plain = rank_pools(similarities(test), test.image_of, pool=pool)
    result: dict[str, Any] = {
        "weights": _digest(model),
        "pairs": len(test.ids),
        "image_of": test.image_of.tolist(),
        "images": len(test.images),
        "pool": pool,
        "draws": len(plain),
        "validation": image_retrieval(validation).as_dict(),
        "retrieval": _figures(plain),
        "relations": {
            name: None if figures is None else figures.as_dict()
            for name, figures in of_relations(plain, test.labels, test.relations).items()
        },
        "ranks": {PLAIN: ranks_for_json(plain)},
    }
    coherence = encoder.coherence
    if coherence is not None:
        result["precision"] = {p.relation: p.as_dict() for p in coherence_precisions(coherence, test)}
        tuning = tune_refinement(
            similarities(validation),
            pair_probabilities(validation, coherence),
            validation.image_of,
            pool=min(POOL, len(validation.images)),
        )
        write_tuning(tuning, model, {"split": "validation"}, force=True)
        fixed = published_facts("alikhani2021")["refinement"]
        chosen = {"validation": (tuning.best.strength, tuning.best.threshold), **fixed}
        result["refined"] = {}
        for name, (strength, threshold) in chosen.items():
            draws = rank_pools(refined(test, coherence, Refinement(strength, threshold)), test.image_of, pool=pool)
            result["refined"][name] = {"strength": strength, "threshold": threshold, **_figures(draws)}
            result["ranks"][name] = ranks_for_json(draws)
    write_text(path, json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n", force=True)


def read_scores(path: Path, model: Path) -> dict[str, Any] | None:
    """Read the results of a model; None if there are none, or they are of other weights."""
    if not path.is_file():
        return None
    try:
        stored: dict[str, Any] = dict(parse_json(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # damaged: it is measured again
        return None
    return stored if stored.get("weights") == _digest(model) and "image_of" in stored else None


def report(comparison: Comparison) -> tuple[str, list[Section], dict[str, Any]]:
    """Make Table 4 or 5, Figure 5, Tables 7 and 8, as far as there are models; or Figure 8.

    Return the title, sections (none without models), and entries of ``results.json``.
    """
    scores = _read(comparison)
    rows = {
        name: {
            str(seed): {k: v for k, v in score.items() if k not in ("ranks", "image_of")} for seed, score in by.items()
        }
        for name, by in scores.items()
    }
    differences = differences_to(scores, comparison.reference)
    facts = {"dataset": comparison.dataset, "seeds": comparison.seeds, "rows": rows, "differences": differences}
    sections: list[Section] = []
    if scores and "sweeps" in comparison.table.sections:
        sections = sweep_sections(scores, differences, comparison)
    elif scores:
        sections = retrieval_sections(scores, differences, comparison)
    sections += [Note(note) for note in comparison.table.notes if scores]
    return f"{comparison.table.paper}, and {comparison.corpus.name}", sections, facts


def data_set(relations: Iterable[str]) -> str | None:
    """Return the paper's data set whose relations a corpus has; None if it has those of none or of both."""
    cite, clue = set(relations) & set(CITE), set(relations) & set(CLUE)
    return None if bool(cite) == bool(clue) else "CITE++" if cite else "Clue"


def named_relations(corpus: Path) -> set[str]:
    """Return the relations for which the pairs of a corpus have answers; ``CorpusError`` if it breaks its format."""
    from iconotext.corpus.store import read_corpus

    return {name for document in read_corpus(corpus) for name in document.meta.get("relations") or ()}


def _read(comparison: Comparison) -> Scores:
    scores: dict[str, dict[int, dict[str, Any]]] = {}
    for row in comparison.rows:
        for run in runs_of(row, comparison.seeds):
            model = model_folder(comparison.folder, run.key)
            scored = read_scores(results_path(comparison.folder, run.key, "retrieval"), model)
            if scored is not None and comparison.counts(run.key):
                scores.setdefault(row.name, {})[run.seed] = scored
    return scores


def _digest(model: Path) -> str:
    return hashlib.sha256((model / WEIGHTS).read_bytes()).hexdigest()


def _figures(draws: Sequence[Draw]) -> dict[str, Any]:
    from iconotext.evaluate.retrieval import retrieval

    return retrieval(draws).as_dict()
