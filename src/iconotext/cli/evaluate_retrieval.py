"""``iconotext evaluate --pool``: how far down a text finds its own picture among many (Alikhani 2021, Tables 4–8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.cli.common import progress
from iconotext.cli.evaluate_selection import EvaluateSettings, Selection, Split, select
from iconotext.cli.output import output_console, say, say_json
from iconotext.errors import SettingError
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.embed.coherence import Coherence
    from iconotext.encoder import Encoder
    from iconotext.evaluate.average_precision import RelationPrecision
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Figure, Retrieval, Score
    from iconotext.library.refinement import Refinement


@dataclass(frozen=True)
class Found:
    """The retrieval metrics of one way to score.

    Attributes:
        all: Over all queries.
        relations: Name to those over the queries that have it; None where no pool has such a query.
    """

    all: Retrieval
    relations: dict[str, Retrieval | None]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        of_relations = {name: each and each.as_dict() for name, each in self.relations.items()}
        return {**self.all.as_dict(), "relations": of_relations}


def evaluate_retrieval(
    model: str,
    corpus: Path,
    split: Split | None,
    *,
    pool: int | None,
    refine: str | None,
    as_json: bool,
    settings: EvaluateSettings,
    cache: bool,
) -> None:
    """Measure and print.

    Args:
        model: As for ``load_encoder``.
        corpus: Corpus file.
        split: Part of it.
        pool: Images in a pool.
        refine: λ and T, or ``none``; None takes what the model's folder has.
        as_json: Print JSON.
        settings: Seed, pools and resamplings.
        cache: Keep features on disk.

    Raises:
        IconotextError: Model or corpus cannot be read; the pool is too large.
    """
    from iconotext.evaluate.retrieval import of_relations, rank_pools, retrieval
    from iconotext.evaluate.retrieval_scores import refined, similarities

    if pool is None:
        raise SettingError("--refine is for retrieval: add --pool 500")
    wanted = None if refine is None else parse_refinement(refine)
    encoder = retrieval_encoder(model, cache=cache)
    chosen = select(corpus, split)
    refinement = refinement_of(model, encoder, refine, wanted)
    pairs = encoded_pairs(encoder, chosen)

    def found(score: Score) -> Found:
        draws = rank_pools(score, pairs.image_of, pool=pool, draws=settings.draws, seed=settings.seed)
        everything = retrieval(draws)
        assert everything is not None  # every image has a pair that asks for it
        return Found(everything, of_relations(draws, pairs.labels, pairs.relations))

    plain, better = found(similarities(pairs)), None
    if refinement is not None and encoder.coherence is not None:
        better = found(refined(pairs, encoder.coherence, refinement))
    precisions = relation_precision(encoder.coherence, pairs, settings)
    if as_json:
        printed = {
            "model": model,
            "corpus": str(chosen.path),
            "split": chosen.split,
            "pool": pool,
            "seed": settings.seed,
            "pairs": len(pairs.ids),
            "images": len(pairs.pictures),
            "left_out": [each._asdict() for each in pairs.left_out],
            **plain.as_dict(),
            "refined": better and refinement and {**refinement._asdict(), **better.as_dict()},
            "average_precision": None if not precisions else {each.relation: each.as_dict() for each in precisions},
        }
        say_json(printed)
    else:
        show(model, pool, pairs, plain, better, refinement, precisions)


def retrieval_encoder(model: str, *, cache: bool) -> Encoder:
    """The encoder of a model, with features on disk or not.

    Raises:
        FeatureError: There is no such model.
        SettingError: It is a baseline that has no vectors.
    """
    from iconotext.library.encode import library_encoder

    if model in ("random", "object-detection"):
        raise SettingError(f"{model} has no vectors to search by; by chance, R@K of a pool of N is K / N")
    return library_encoder(model, cache=cache)


def encoded_pairs(encoder: Encoder, chosen: Selection) -> PairVectors:
    """The pairs of a selection as arrays, showing progress.

    Raises:
        CorpusError: There are none.
    """
    from iconotext.evaluate.pair_vectors import pair_vectors

    return pair_vectors(encoder, progress(chosen.documents(), total=chosen.count, label="Encoding"))


def parse_refinement(text: str) -> Refinement:
    """λ and T from ``0.13,0.1``; ``none`` refines nothing.

    Raises:
        SettingError: It says something else.
    """
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


def refinement_of(model: str, encoder: Encoder, refine: str | None, wanted: Refinement | None) -> Refinement | None:
    """The refinement that is asked for, else the one that stands in the model's folder; None without one.

    Args:
        model: Name or folder.
        encoder: Of the model.
        refine: What was asked for, as it was written.
        wanted: What was asked for.

    Raises:
        SettingError: One is asked for of a model that tells no relations.
        FeatureError: The file in the folder is damaged.
    """
    from iconotext.embed.folder import init_folder
    from iconotext.library.refinement import read_refinement

    aware = encoder.coherence is not None
    if wanted is not None and wanted.threshold and not aware:
        raise SettingError(f"--refine {refine}: the model {model} tells no relations to refine by")
    if wanted is None and aware:
        wanted = read_refinement(init_folder(model))
    return wanted if wanted is not None and wanted.threshold else None


def score_of(encoder: Encoder, pairs: PairVectors, refinement: Refinement | None) -> Score:
    """Similarities by the vectors of a model, refined or not."""
    from iconotext.evaluate.retrieval_scores import refined, similarities

    if refinement is None or encoder.coherence is None:
        return similarities(pairs)
    return refined(pairs, encoder.coherence, refinement)


def relation_precision(
    coherence: Coherence | None, pairs: PairVectors, settings: EvaluateSettings
) -> tuple[RelationPrecision, ...]:
    """Average precision of the relations that the model tells and the corpus has labels for; () without any."""
    from iconotext.evaluate.average_precision import relation_precisions
    from iconotext.evaluate.retrieval_scores import own_probabilities

    if coherence is None:
        return ()
    names = coherence.relations
    both = [name for name in names if name in pairs.relations]
    if not both:
        return ()
    predicted = own_probabilities(pairs, coherence)[:, [names.index(name) for name in both]]
    labels = pairs.labels[:, [pairs.relations.index(name) for name in both]]
    return relation_precisions(predicted, labels, both, resamplings=settings.resamplings, seed=settings.seed)


def show(
    model: str,
    pool: int,
    pairs: PairVectors,
    plain: Found,
    better: Found | None,
    refinement: Refinement | None,
    precisions: Sequence[RelationPrecision],
) -> None:
    """Tables for people, on stdout."""
    from rich.table import Table
    from rich.text import Text

    console = output_console()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Model", overflow="fold")
    for column in ("Queries", "Median rank", "R@1", "R@5", "R@10"):
        table.add_column(column, justify="right", no_wrap=True)
    ways = [(model, plain)]
    if better is not None and refinement is not None:
        name = f"{model}, refined (λ = {refinement.strength:g}, T = {refinement.threshold:g})"
        ways.append((name, better))
    for name, found in ways:
        table.add_row(Text(name), *_cells(found.all))
    for relation in plain.relations:
        for _, found in ways:
            table.add_row(
                Text(f"  {relation}{'' if found is plain else ', refined'}"), *_cells(found.relations[relation])
            )
    console.print(table)
    draws = plain.all.draws
    spread = f"mean ± standard deviation over {draws} random pools" if draws > 1 else "one pool of all pictures"
    say(
        f"\n{counted(len(pairs.ids), 'text')} and {counted(len(pairs.pictures), 'picture')}; "
        f"{counted(pool, 'picture')} in a pool; {spread}. R@K in percent."
    )
    for reason, number in Counter(each.reason.partition(":")[0] for each in pairs.left_out).items():
        names = [each.id for each in pairs.left_out if each.reason.partition(":")[0] == reason]
        say(f"Left out, because {reason}: {number:,} ({', '.join(names[:10])}{', ...' if number > 10 else ''})")
    if precisions:
        say("")
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("Relation, told from text and picture")
        for column in ("Average precision", "Chance", "Pairs", "Unanswered"):
            table.add_column(column, justify="right", no_wrap=True)
        for each in precisions:
            table.add_row(Text(each.relation), *_precision(each), f"{each.pairs:,}", f"{each.unanswered:,}")
        console.print(table)


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
