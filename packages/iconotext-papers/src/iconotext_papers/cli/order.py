"""``iconotext papers analyze order``: are shuffled pictures put back where they stood?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from iconotext.cli.common import known_errors, progress
from iconotext.cli.evaluate import ScoredLinks, with_feature_table
from iconotext.cli.options import Download, Json, WholeSplit, argument, complete_models, settings_options
from iconotext.cli.output import complain, say, say_json, say_left_out, show
from iconotext.linker import Linker, LinkSettings
from iconotext.plain_text import counted
from iconotext.report.tables import Grid
from iconotext_papers.analyses.settings import AnalysisSettings

if TYPE_CHECKING:
    from iconotext_papers.analyses.order import Reordering


class OrderSettings(AnalysisSettings):
    """How pictures are shuffled, and how the figures are resampled."""

    seed: int = Field(0, ge=0)
    """Seed of the shuffles and of the intervals."""

    resamplings: int = Field(2000, ge=100)
    """How often the documents are drawn anew for an interval."""

    draws: int = Field(10, ge=1)
    """How often pictures are shuffled."""


@settings_options
def order(
    model: Annotated[str, argument(help="default, no-training, or a model folder.", autocompletion=complete_models)],
    corpus: Annotated[Path, argument(help="Corpus; it needs no gold links.")],
    split: WholeSplit = None,
    linking: ScoredLinks = LinkSettings(),
    settings: OrderSettings = OrderSettings(),
    download: Download = False,
    as_json: Json = False,
) -> None:
    """Shuffle each document's pictures, and put them back by content (COHERENCE); needs no gold links.

    The evidence is that of picture and caption by default.

    **Example**

    - `iconotext papers analyze order default articles.jsonl`
    """
    with known_errors(download=download):
        from iconotext.evaluate.score_documents import corpus_part
        from iconotext_papers.analyses.order import reorder

        evidence = linking.evidence if "evidence" in linking.model_fields_set else ("picture", "caption")
        linking = with_feature_table(linking, model, corpus)
        linker = Linker.load(model, linking.model_copy(update={"evidence": evidence}))
        chosen = corpus_part(corpus, split)
        reordering = reorder(
            linker,
            progress(chosen.documents(), total=chosen.count, label="Putting back"),
            draws=settings.draws,
            resamplings=settings.resamplings,
            seed=settings.seed,
            say=complain,
        )
        if as_json:
            about = {"model": model, "corpus": str(chosen.path), "split": chosen.split, "protocol": "reorder"}
            say_json({**about, "draws": settings.draws, "seed": settings.seed, **reordering.as_dict()})
        else:
            show_order(model, reordering)


def show_order(model: str, order: Reordering) -> None:
    """Print the table for people on stdout."""
    from iconotext_papers.analyses.order import ORDER_METRICS, RULES

    rows = []
    for rule, totals in order.totals.items():
        beyond = order.beyond_words(rule)["placed"]
        name = RULES[rule] if rule in ("random", "words") else f"{model}, {RULES[rule]}"
        cells = [_figure(figure) for figure in order.figures(totals).values()]
        rows.append([name, *cells, "" if rule in ("random", "words") else _figure(beyond, "+.1f")])
    show(
        [Grid("", ["Put back by", *(metric.label for metric in ORDER_METRICS.values()), "Beyond caption words"], rows)]
    )
    say(
        f"\n{counted(len(order.documents), 'document')} with {counted(sum(order.images), 'picture')}, in percent; in "
        "brackets 95 % bootstrap intervals over documents. Kendall's τ is 50 by chance. The last column is the "
        "difference in pictures at their own place."
    )
    say_left_out(order.undefined.items())


def _figure(figure: tuple[float, float, float], spec: str = ".1f") -> str:
    mean, low, high = (format(100 * value, spec) for value in figure)
    return f"{mean} ({low} to {high})"
