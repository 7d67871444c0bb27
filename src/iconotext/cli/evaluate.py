"""``iconotext evaluate``: how well a model finds the links of a corpus, and whether it is better than another model.

``evaluate`` is the command; it measures links (``evaluate_model``) or retrieval (``evaluate_retrieval``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field

from iconotext.cli import output
from iconotext.cli.common import check_unused, known_errors, progress
from iconotext.cli.options import (
    LINKING,
    Download,
    Runtime,
    Split,
    Threads,
    WholeSplit,
    argument,
    complete_models,
    option,
    settings_options,
)
from iconotext.cli.output import complain, say, say_json, say_left_out
from iconotext.errors import CorpusError
from iconotext.extras import require
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.evaluate import Comparison, Evaluation
    from iconotext.evaluate.metrics import RelationPrecision
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Retrieval, RetrievalReport
    from iconotext.evaluate.score_documents import CorpusPart


def show(report: Report, other: Report | None, comparison: dict[str, Comparison] | None, chosen: CorpusPart) -> None:
    """Print tables for people on stdout."""
    from iconotext.evaluate.metrics import LINK_METRICS

    rows = [
        [r.name, *(_figure(r.evaluation.means[metric], r.evaluation.intervals[metric]) for metric in LINK_METRICS)]
        for r in (report, other)
        if r is not None
    ]
    output.show([Grid("", ["Model", *(metric.label for metric in LINK_METRICS.values())], rows)])
    evaluation = report.evaluation
    where = "" if chosen.split is None else f" of the split {chosen.split}"
    say(
        f"\n{counted(len(evaluation.defined), 'document')}{where}, in percent; in brackets 95 % bootstrap intervals "
        "over them."
    )
    say_left_out((document.id, document.undefined) for document in evaluation.undefined)
    if other is not None and comparison is not None:
        say(f"\n{report.name} minus {other.name}, in points:")
        rows = []
        for metric, difference in comparison.items():
            low, high = (f"{100 * value:+.1f}" for value in difference.interval)
            p = "< 0.001" if difference.p < 0.001 else f"{difference.p:.3f}"
            rows.append([LINK_METRICS[metric].label, f"{100 * difference.difference:+.1f}", f"{low} to {high}", p])
        output.show([Grid("", ["", "Difference", "95 % interval", "p"], rows)])


def _figure(mean: float | None, interval: tuple[float, float] | None) -> str:
    if mean is None or interval is None:
        return "–"
    return f"{100 * mean:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def evaluate_retrieval(
    model: str,
    corpus: Path,
    split: Split | None,
    *,
    pool: int,
    as_json: bool,
    settings: EvaluateSettings,
    linking: LinkSettings,
) -> None:
    """Measure and print retrieval.

    Args:
        linking: The image backbone, or file of features, and whether features are stored on disk.
    """
    from iconotext.evaluate.retrieval import chosen_refinement, measure_retrieval, retrieval_encoder
    from iconotext.evaluate.score_documents import corpus_part

    encoder = retrieval_encoder(model, corpus, image=linking.image, cache=linking.cache)
    chosen = corpus_part(corpus, split)
    refinement = chosen_refinement(model, encoder)
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
        show_retrieval(model, pool, report)


def encoded_pairs(encoder: Encoder, chosen: CorpusPart) -> PairVectors:
    """The pairs of a selection as arrays, with progress; ``CorpusError`` if there are none."""
    from iconotext.evaluate.pair_vectors import pair_vectors

    return pair_vectors(encoder, progress(chosen.documents(), total=chosen.count, label="Encoding"))


def default_part(corpus: Path, split: Split | None, default: Split, otherwise: str) -> CorpusPart:
    """The given split, else the default one; if that is missing, all documents, with a message.

    Args:
        default: The split to use by default.
        otherwise: The consequence of using all documents, for the message.
    """
    from iconotext.evaluate.score_documents import corpus_part

    chosen = corpus_part(corpus, split)
    if split is not None:
        return chosen
    if chosen.splits[default]:
        return corpus_part(corpus, default)
    complain(f"{corpus}: has no {default} split, so all of it is taken; {otherwise}")
    return chosen


def show_retrieval(model: str, pool: int, report: RetrievalReport) -> None:
    """Print tables for people on stdout."""
    plain, refined, pairs = report.plain, report.refined, report.pairs
    measured = [(model, plain)]
    if refined is not None:
        by = report.refinement
        measured.append((f"{model}, refined (λ = {by.strength:g}, T = {by.threshold:g})", refined))
    rows = [[name, *_cells(retrieval.all)] for name, retrieval in measured]
    rows += [
        [f"  {relation}{'' if retrieval is plain else ', refined'}", *_cells(retrieval.relations[relation])]
        for relation in plain.relations
        for _, retrieval in measured
    ]
    output.show([Grid("", ["Model", "Queries", "Median rank", "R@1", "R@5", "R@10"], rows)])
    draws = plain.all.draws
    spread = f"mean ± standard deviation over {draws} random pools" if draws > 1 else "one pool of all pictures"
    say(
        f"\n{counted(len(pairs.ids), 'text')} and {counted(len(pairs.images), 'picture')}; "
        f"{counted(pool, 'picture')} in a pool; {spread}. R@K in percent."
    )
    say_left_out((item.id, item.reason.partition(":")[0]) for item in pairs.left_out)
    if report.precisions:
        say("")
        columns = ["Relation, predicted from text and picture", "Average precision", "Chance", "Pairs", "Unanswered"]
        precisions = [[e.relation, *_precision(e), f"{e.pairs:,}", f"{e.unanswered:,}"] for e in report.precisions]
        output.show([Grid("", columns, precisions)])


def _cells(retrieval: Retrieval | None) -> list[str]:
    if retrieval is None:
        return ["0", "–", "–", "–", "–"]
    queries = f"{retrieval.queries:,.0f}" if float(retrieval.queries).is_integer() else f"{retrieval.queries:,.1f}"
    figures = []
    for figure, times in [(retrieval.median_rank, 1), *((retrieval.recall[k], 100) for k in (1, 5, 10))]:
        spread = "" if figure.deviation is None else f" ± {times * figure.deviation:.1f}"
        figures.append(f"{times * figure.mean:.1f}{spread}")
    return [queries, *figures]


def _precision(precision: RelationPrecision) -> tuple[str, str]:
    if precision.average_precision is None or precision.interval is None:
        return "–", "–" if precision.positive_rate is None else f"{precision.positive_rate:.3f}"
    low, high = precision.interval
    return f"{precision.average_precision:.3f} ({low:.3f}–{high:.3f})", f"{precision.positive_rate:.3f}"


ScoredLinks = Annotated[
    LinkSettings,
    replace(LINKING, only=("evidence", "text", "image", "concepts", "cache"), defaults={"evidence": ("picture",)}),
]
"""How documents are linked of which every pair is scored: by the pictures alone, unless other evidence is named."""


class EvaluateSettings(BaseModel):
    """How a model is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0)
    """Seed of the random choices. These are intervals, permutations, pools and the random baseline."""

    resamplings: int = Field(2000, ge=100)
    """Samples for an interval. Documents, or pairs, are drawn anew so often."""

    draws: int = Field(10, ge=1)
    """How many pools are drawn, with --pool."""


@dataclass(frozen=True)
class Report:
    """The results of one model."""

    name: str
    evaluation: Evaluation


@settings_options
def evaluate(
    model: Annotated[
        str,
        argument(
            help="Name or folder of a model, or random, a baseline. Names: default, no-training (the concept"
            " bridge), a dual encoder such as CLIP.",
            autocompletion=complete_models,
        ),
    ],
    corpus: Annotated[Path, argument(help="Corpus with gold links, or a folder of shards.")],
    split: WholeSplit = None,
    linking: ScoredLinks = LinkSettings(),
    settings: EvaluateSettings = EvaluateSettings(),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    results: Annotated[Path | None, option(help="Parquet file to write the scores of every document to.")] = None,
    compare: Annotated[
        str | None, option(metavar="MODEL", help="Another model, or its results file, to compare with.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a results file that is there.")] = False,
    pool: Annotated[
        int | None,
        option(
            min=1,
            metavar="N",
            help="Measure retrieval among N pictures instead. That is, how far down a text finds its own picture.",
        ),
    ] = None,
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
) -> None:
    """Measure how well a model finds the gold links of a corpus.

    AUC and p@1, p@5 are means over documents; image@1 is the share of the pictures with links whose best sentence is
    one of them. Each has its 95 % interval. Documents without a defined AUC are left out, counted and named.

    **Examples**

    - `iconotext evaluate default corpus.jsonl --split test`
    - `iconotext evaluate models/mine corpus.jsonl --split test --compare default`
    - `iconotext evaluate default corpus.jsonl --results scores.parquet`
    - `iconotext evaluate default articles.jsonl --evidence picture,caption,layout`
    - `iconotext evaluate models/cmcm clue.jsonl --pool 500`
    """
    with known_errors(download=download):
        if pool is not None:
            options = {"--results": results, "--compare": compare, "--force": force}
            options |= {
                f"--{name.replace('_', '-')}": True for name in sorted(linking.model_fields_set - {"cache", "image"})
            }
            check_unused(options, "is for links: leave it out, or leave out --pool")
            evaluate_retrieval(model, corpus, split, pool=pool, as_json=as_json, settings=settings, linking=linking)
            return
        check_unused(
            {"--draws": "draws" in settings.model_fields_set},
            "is for retrieval: add --pool 500",
        )
        evaluate_links(
            model, corpus, split, results, compare, force=force, as_json=as_json, settings=settings, linking=linking
        )


def evaluate_links(
    model: str,
    corpus: Path,
    split: Split | None,
    results: Path | None,
    compare: str | None,
    *,
    force: bool,
    as_json: bool,
    settings: EvaluateSettings,
    linking: LinkSettings,
) -> None:
    """Measure and print how well links are found, and compare with another model."""
    from iconotext.evaluate import Results, read_results, write_results
    from iconotext.evaluate import compare as compared
    from iconotext.evaluate.score_documents import corpus_part
    from iconotext.system.files import check_overwrite

    if results is not None:
        require("parquet", purpose="--results, a table of Parquet,")
        check_overwrite(results, force)
    other = None
    if compare is not None and compare.lower().endswith(".parquet"):
        read = read_results(Path(compare), resamplings=settings.resamplings, seed=settings.seed)
        other = Report(read.model or Path(compare).stem, read.evaluation)
    check_names(linking, model, *([compare] if compare is not None and other is None else []))
    chosen = corpus_part(corpus, split)
    report = evaluate_model(model, chosen, linking, settings)
    if not report.evaluation.defined:
        raise CorpusError(f"{corpus}: {nothing_measured(report.evaluation)}")
    if results is not None:
        about = {"model": model, "corpus": corpus.name, "split": chosen.split, "evidence": linking.evidence}
        write_results(Results(report.evaluation, about), results, force=force)
    if compare is not None and other is None:
        other = evaluate_model(compare, chosen, linking, settings)
    comparison = None
    if other is not None:
        comparison = compared(report.evaluation, other.evaluation, resamplings=settings.resamplings, seed=settings.seed)
    if as_json:
        values = as_dict(report, chosen)
        if other is not None and comparison is not None:
            metrics = {metric: asdict(difference) for metric, difference in comparison.items()}
            values["comparison"] = {"model": other.name, **metrics}
        say_json(values)
    else:
        show(report, other, comparison, chosen)


def check_names(linking: LinkSettings, *models: str) -> None:
    """Raise ``FeatureError`` if a model or backbone is mistyped, before a long corpus is read."""
    from iconotext.features import check_backbones, find_model
    from iconotext.features.model_folder import MODELS

    for model in models:
        find_model(model, (*MODELS, "random"))
    check_backbones(linking.text, linking.image)


def nothing_measured(evaluation: Evaluation) -> str:
    """Why there is no result at all, with advice."""
    reasons = Counter(document.undefined for document in evaluation.undefined)
    undefined = "; ".join(f"{number:,} because {why}" for why, number in reasons.most_common(3))
    return (
        f"none of {len(evaluation.undefined):,} documents can be measured ({undefined}); give a corpus with gold "
        "links, as `iconotext corpus build folder --links` makes, and for pairs of a text and a picture --pool"
    )


def evaluate_model(model: str, chosen: CorpusPart, linking: LinkSettings, settings: EvaluateSettings) -> Report:
    """Score the documents with a model or a baseline, with progress; ``IconotextError`` if it cannot."""
    from iconotext.evaluate import evaluate as evaluated
    from iconotext.evaluate.score_documents import score_documents

    linking = with_feature_table(linking, model, chosen.path)
    scores = score_documents(model, chosen.documents(), linking, seed=settings.seed, say=complain)
    scored = progress(scores, total=chosen.count, label="Evaluating")
    return Report(model, evaluated(scored, resamplings=settings.resamplings, seed=settings.seed))


def with_feature_table(linking: LinkSettings, model: str, corpus: Path) -> LinkSettings:
    """The settings, with the features beside the corpus for a model that uses a table, unless another is named."""
    from iconotext.corpus.convert import own_features

    return linking.model_copy(update={"image": linking.image or own_features(model, corpus)})


def as_dict(report: Report, chosen: CorpusPart) -> dict[str, Any]:
    """The results of one model as ``--json`` prints them."""
    return report.evaluation.as_dict(model=report.name, corpus=str(chosen.path), split=chosen.split)
