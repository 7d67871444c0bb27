"""λ and T of the selective similarity refinement of a model, chosen on a corpus (Alikhani 2021, Fig. 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.errors import SettingError
from iconotext.evaluate.retrieval_scores import pair_probabilities, similarities
from iconotext.papers.analyses.refinement_tuning import STRENGTHS, THRESHOLDS, Tuning, tune_refinement
from iconotext.papers.analyses.settings import RefinementSettings
from iconotext.papers.render import Bold, Grid, Note, Section

if TYPE_CHECKING:
    from iconotext.embed.coherence import Coherence
    from iconotext.encoder import Encoder
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.papers.analyses.refinement_tuning import Setting


def coherence_of(model: str, encoder: Encoder) -> Coherence:
    """What tells the relations of a model.

    Raises:
        SettingError: Nothing does.
    """
    if encoder.coherence is None:
        raise SettingError(f"the model {model} tells no relations to refine by: train one with objective.coherence")
    return encoder.coherence


def tune(coherence: Coherence, pairs: PairVectors, settings: RefinementSettings) -> Tuning:
    """Try every λ with every T.

    Args:
        coherence: Of a model.
        pairs: Texts and images, as the model encodes them.
        settings: What to try.

    Raises:
        SettingError: The pool is too large, or a λ or T is below 0.
    """
    return tune_refinement(
        similarities(pairs),
        pair_probabilities(pairs, coherence),
        pairs.image_of,
        strengths=settings.strengths or STRENGTHS,
        thresholds=settings.thresholds or THRESHOLDS,
        pool=settings.pool,
        draws=settings.draws,
        seed=settings.seed,
    )


def tuning_sections(tuning: Tuning) -> list[Section]:
    """The median rank for each λ and T, and the best beside no refinement, for people."""
    plain, tried = tuning.settings[0], tuning.settings[1:]
    thresholds = list(dict.fromkeys(setting.threshold for setting in tried))
    by_both = {(setting.strength, setting.threshold): setting for setting in tried}
    rows = []
    for strength in dict.fromkeys(setting.strength for setting in tried):
        ranks = [by_both[strength, threshold] for threshold in thresholds]
        rows.append([f"{strength:g}", *(_rank(each, bold=each is tuning.best) for each in ranks)])
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


def _rank(setting: Setting, *, bold: bool) -> str:
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
