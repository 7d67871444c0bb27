"""``iconotext evaluate --protocol reorder``: how often pictures that lost their places find them by content."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.cli import grids
from iconotext.cli.common import progress
from iconotext.cli.options import Split
from iconotext.cli.output import complain, say, say_json, say_left_out
from iconotext.papers.render import Grid
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.cli.evaluate import EvaluateSettings
    from iconotext.evaluate.reorder import Reordering
    from iconotext.pipeline import LinkSettings


def evaluate_reorder(
    model: str, corpus: Path, split: Split | None, *, as_json: bool, settings: EvaluateSettings, linking: LinkSettings
) -> None:
    """Measure and print; the evidence is that of picture and caption where none is named."""
    from iconotext.corpus.feature_files import own_features
    from iconotext.evaluate.corpus_part import corpus_part
    from iconotext.evaluate.reorder import reorder
    from iconotext.pipeline import Linker

    named = linking.evidence if "evidence" in linking.model_fields_set else ("picture", "caption")
    image = linking.image or own_features(model, corpus)
    linker = Linker.load(model, linking.model_copy(update={"evidence": named, "image": image}))
    chosen = corpus_part(corpus, split and split.value)
    found = reorder(
        linker,
        progress(chosen.documents(), total=chosen.count, label="Putting back"),
        draws=settings.draws,
        resamplings=settings.resamplings,
        seed=settings.seed,
        say=complain,
    )
    if as_json:
        about = {"model": model, "corpus": str(chosen.path), "split": chosen.split, "protocol": "reorder"}
        say_json({**about, "draws": settings.draws, "seed": settings.seed, **found.as_dict()})
    else:
        show(model, found)


def show(model: str, found: Reordering) -> None:
    """The table for people, on stdout."""
    from iconotext.evaluate.reorder import METRICS, RULES

    rows = []
    for rule, totals in found.totals.items():
        beyond = found.beyond_words(rule)["placed"]
        name = RULES[rule] if rule in ("random", "words") else f"{model}, {RULES[rule]}"
        cells = [_figure(figure) for figure in found.figures(totals).values()]
        rows.append([name, *cells, "" if rule in ("random", "words") else _figure(beyond, "+.1f")])
    grids.show([Grid("", ["Put back by", *METRICS.values(), "Beyond caption words"], rows)])
    say(
        f"\n{counted(len(found.documents), 'document')} with {counted(sum(found.images), 'picture')}, in percent; in "
        "brackets 95 % bootstrap intervals over documents. Kendall's τ is 50 by chance. The last column is the "
        "difference in pictures at their own place."
    )
    say_left_out(found.undefined.items())


def _figure(figure: tuple[float, float, float], shown: str = ".1f") -> str:
    mean, low, high = (format(100 * value, shown) for value in figure)
    return f"{mean} ({low} to {high})"
