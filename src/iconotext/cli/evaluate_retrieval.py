"""``iconotext evaluate --pool``: how far down a text finds its own picture among many (Alikhani 2021, Tables 4–8)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.cli import grids
from iconotext.cli.common import progress
from iconotext.cli.options import Split
from iconotext.cli.output import complain, say, say_json, say_left_out
from iconotext.errors import SettingError
from iconotext.papers.render import Grid
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.cli.evaluate import EvaluateSettings
    from iconotext.encoder import Encoder
    from iconotext.evaluate.average_precision import RelationPrecision
    from iconotext.evaluate.corpus_part import CorpusPart
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Figure, Retrieval
    from iconotext.evaluate.retrieval_report import RetrievalReport
    from iconotext.library.refinement import Refinement
    from iconotext.pipeline import LinkSettings


def evaluate_retrieval(
    model: str,
    corpus: Path,
    split: Split | None,
    *,
    pool: int | None,
    refine: str | None,
    as_json: bool,
    settings: EvaluateSettings,
    linking: LinkSettings,
) -> None:
    """Measure and print.

    Args:
        refine: λ and T, or ``none``; None takes what the model's folder has.
        linking: The image backbone, or file of features, and whether features are kept on disk.
    """
    from iconotext.evaluate.corpus_part import corpus_part
    from iconotext.evaluate.retrieval_report import chosen_refinement, measure_retrieval, retrieval_encoder

    if pool is None:
        raise SettingError("--refine is for retrieval: add --pool 500")
    wanted = None if refine is None else parse_refinement(refine)
    encoder = retrieval_encoder(model, corpus, image=linking.image, cache=linking.cache)
    chosen = corpus_part(corpus, split and split.value)
    refinement = chosen_refinement(model, encoder, wanted)
    pairs = encoded_pairs(encoder, chosen)
    report = measure_retrieval(
        encoder,
        pairs,
        pool=pool,
        refinement=refinement,
        draws=settings.draws,
        resamplings=settings.resamplings,
        seed=settings.seed,
    )
    if as_json:
        about = {"model": model, "corpus": str(chosen.path), "split": chosen.split, "pool": pool, "seed": settings.seed}
        say_json({**about, **report.as_dict()})
    else:
        show(model, pool, report)


def encoded_pairs(encoder: Encoder, chosen: CorpusPart) -> PairVectors:
    """The pairs of a selection as arrays, showing progress; ``CorpusError`` where there are none."""
    from iconotext.evaluate.pair_vectors import pair_vectors

    return pair_vectors(encoder, progress(chosen.documents(), total=chosen.count, label="Encoding"))


def usual_part(corpus: Path, split: Split | None, usual: Split, otherwise: str) -> CorpusPart:
    """The split that is asked for, else the usual one; where there is none, all documents, which is said.

    Args:
        usual: The one to take where none is.
        otherwise: What it means that all documents are taken.
    """
    from iconotext.evaluate.corpus_part import corpus_part

    chosen = corpus_part(corpus, split and split.value)
    if split is not None:
        return chosen
    if chosen.splits[usual.value]:
        return corpus_part(corpus, usual.value)
    complain(f"{corpus}: has no {usual.value} split, so all of it is taken; {otherwise}")
    return chosen


def parse_refinement(text: str) -> Refinement:
    """λ and T from ``0.13,0.1``; ``none`` refines nothing, and anything else is a ``SettingError``."""
    from iconotext.library.refinement import Refinement

    if text.strip().casefold() == "none":
        return Refinement(0.0, 0.0)
    try:
        strength, threshold = map(float, text.split(","))
    except ValueError:
        raise SettingError(f"--refine {text}: give λ and T separated by a comma, such as 0.13,0.1, or none") from None
    if not (0 <= strength < float("inf") and threshold >= 0):
        raise SettingError(f"--refine {text}: λ and T are at least 0")
    return Refinement(strength, threshold)


def show(model: str, pool: int, report: RetrievalReport) -> None:
    """Tables for people, on stdout."""
    plain, refined, pairs = report.plain, report.refined, report.pairs
    measured = [(model, plain)]
    if refined is not None:
        by = report.refinement
        measured.append((f"{model}, refined (λ = {by.strength:g}, T = {by.threshold:g})", refined))
    rows = [[name, *_cells(found.all)] for name, found in measured]
    rows += [
        [f"  {relation}{'' if found is plain else ', refined'}", *_cells(found.relations[relation])]
        for relation in plain.relations
        for _, found in measured
    ]
    grids.show([Grid("", ["Model", "Queries", "Median rank", "R@1", "R@5", "R@10"], rows)])
    draws = plain.all.draws
    spread = f"mean ± standard deviation over {draws} random pools" if draws > 1 else "one pool of all pictures"
    say(
        f"\n{counted(len(pairs.ids), 'text')} and {counted(len(pairs.pictures), 'picture')}; "
        f"{counted(pool, 'picture')} in a pool; {spread}. R@K in percent."
    )
    say_left_out((each.id, each.reason.partition(":")[0]) for each in pairs.left_out)
    if report.precisions:
        say("")
        columns = ["Relation, told from text and picture", "Average precision", "Chance", "Pairs", "Unanswered"]
        told = [[e.relation, *_precision(e), f"{e.pairs:,}", f"{e.unanswered:,}"] for e in report.precisions]
        grids.show([Grid("", columns, told)])


def _cells(found: Retrieval | None) -> list[str]:
    if found is None:
        return ["0", "–", "–", "–", "–"]
    queries = f"{found.queries:,.0f}" if float(found.queries).is_integer() else f"{found.queries:,.1f}"
    return [queries, _figure(found.median_rank, 1), *(_figure(found.recall[k], 100) for k in (1, 5, 10))]


def _figure(figure: Figure, times: float) -> str:
    shown = f"{times * figure.mean:.1f}"
    return shown if figure.deviation is None else f"{shown} ± {times * figure.deviation:.1f}"


def _precision(each: RelationPrecision) -> tuple[str, str]:
    if each.average_precision is None or each.interval is None:
        return "–", "–" if each.positive_rate is None else f"{each.positive_rate:.3f}"
    low, high = each.interval
    return f"{each.average_precision:.3f} ({low:.3f}–{high:.3f})", f"{each.positive_rate:.3f}"
