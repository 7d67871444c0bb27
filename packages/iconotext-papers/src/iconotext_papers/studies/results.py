"""The results of a study: majorities and the table of Alikhani 2021 (Table 6).

``study_results`` counts the votes, ``preference`` tests the preference.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from iconotext.errors import SettingError
from iconotext.evaluate.statistics import krippendorff_alpha
from iconotext.plain_text import counted, percent
from iconotext.report.tables import Grid
from iconotext_papers.published import published_cells
from iconotext_papers.studies.study import Answer, Answers, Progress, Study, progress_of

POWER = 0.95
SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Preference:
    """The preference for the first model over the second.

    Attributes:
        pairs: Number of judged pairs.
        difference: Share of pairs in which the first is better minus share in which it is worse, -1 to 1.
        t: Statistic of the t-test; None with fewer than two pairs, or if all pairs have the same outcome.
        p: Its p value; None with t.
        effect: Cohen's d; None with t.
        p_sign: p value of the exact sign test; 1 if no pair has a preference.
        smallest_effect: The smallest |d| that a t-test of this number of pairs detects with the wanted power and
            significance; None with fewer than two pairs.
    """

    pairs: int
    difference: float
    t: float | None
    p: float | None
    effect: float | None
    p_sign: float
    smallest_effect: float | None


def preference(scores: Sequence[int], *, power: float = POWER, significance: float = SIGNIFICANCE) -> Preference | None:
    """Test whether the first model is preferred; None without pairs.

    Args:
        scores: For each pair 1 (the first is better), -1 (worse) or 0.
        power: Probability, 0 to 1, of detecting the smallest effect.
        significance: Probability, 0 to 1, of seeing an effect where there is none.
    """
    n = len(scores)
    detectable = smallest_effect(n, power=power, significance=significance)
    if not n:
        return None
    from scipy.stats import binomtest, ttest_1samp

    better, worse = scores.count(1), scores.count(-1)
    mean = (better - worse) / n
    p_sign = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    if n < 2 or len(set(scores)) == 1:  # no deviation: t would be 0/0, or infinite
        return Preference(n, mean, None, None, None, p_sign, detectable)
    test = ttest_1samp(list(scores), 0.0)
    t = float(test.statistic)
    return Preference(n, mean, t, float(test.pvalue), t / math.sqrt(n), p_sign, detectable)


def smallest_effect(pairs: int, *, power: float = POWER, significance: float = SIGNIFICANCE) -> float | None:
    """Sensitivity: the smallest |d| (Cohen's) that a two-sided one-sample t-test of ``pairs`` pairs detects.

    None with fewer than two pairs, which detect nothing.
    """
    if not 0 < significance < power < 1:
        raise SettingError(f"power is {power} and significance {significance}; expected 0 < significance < power < 1")
    if pairs < 2:
        return None
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = float(t.isf(significance / 2, pairs - 1))

    def surplus(effect: float) -> float:
        """Return by how much the power at an effect is above the wanted one."""
        shift = effect * math.sqrt(pairs)
        # Significant the other way round. SciPy has no number where this is next to impossible (below 1e-15), which is
        # why statsmodels' ``TTestPower`` fails on few pairs and on very many.
        wrong = float(nct.cdf(-critical, pairs - 1, shift))
        return float(nct.sf(critical, pairs - 1, shift)) + (0.0 if math.isnan(wrong) else wrong) - power

    upper = 1.0
    while surplus(upper) < 0:
        upper *= 2
    return float(brentq(surplus, 0.0, upper, xtol=1e-10))


def pairs_needed(effect: float) -> int:
    """The smallest number of pairs that detects this |d|; ``SettingError`` unless it is above 0."""
    if not effect > 0:
        raise SettingError(f"effect is {effect}; a study can be planned for effects above 0")
    low, high = 1, 2
    while (smallest_effect(high) or math.inf) > effect:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if (smallest_effect(middle) or math.inf) > effect else (low, middle)
    return high


BETTER, WORSE, BOTH_GOOD, BOTH_BAD, NO_MAJORITY = "better", "worse", "both good", "both bad", "no majority"

OUTCOMES = (BETTER, WORSE, BOTH_GOOD, BOTH_BAD, NO_MAJORITY)
"""Outcomes of a pair, for the first model. The paper does not mention pairs without a majority; with four answers and
three raters there are some, and counting them for either side would invent a vote."""

ALL = "all"
"""Name of the row over all pairs."""


@dataclass(frozen=True, slots=True)
class Row:
    """The pairs of one model and one relation.

    Attributes:
        relation: Its name, or ``all``.
        counts: Number of pairs with all their votes, by outcome.
        open: Number of pairs that lack votes, and are not counted.
        identical: Number of counted pairs with the same picture twice.
        preference: Preference in the counted pairs; a pair without a majority prefers neither. None without pairs.
        alpha: Krippendorff's alpha of the raters on the counted pairs; None as in ``krippendorff_alpha``.
    """

    model: str
    relation: str
    counts: Mapping[str, int]
    open: int
    identical: int
    preference: Preference | None
    alpha: float | None

    @property
    def pairs(self) -> int:
        """Pairs with all their votes."""
        return sum(self.counts.values())

    def share(self, outcome: str) -> float | None:
        """Share of the counted pairs with an outcome, 0 to 1; None where there are none."""
        return self.counts[outcome] / self.pairs if self.pairs else None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        values = asdict(self) | {"pairs": self.pairs, "shares": {outcome: self.share(outcome) for outcome in OUTCOMES}}
        if self.preference is not None:
            del values["preference"]["pairs"]  # they stand beside it
        return values


@dataclass(frozen=True, slots=True)
class StudyResults:
    """The table of a study.

    Attributes:
        rows: Of each model one for each relation, by the order in which they first occur; the last one is over all its
            pairs.
    """

    about: Study
    rows: tuple[Row, ...]
    progress: Progress
    power: float
    significance: float

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {
            "models": list(self.about.models),
            "second": self.about.second,
            "raters": self.about.raters,
            "votes": self.progress.votes,
            "wanted": self.progress.needed,
            "of_rater": dict(self.progress.of_rater),
            "power": self.power,
            "significance": self.significance,
            "rows": [row.as_dict() for row in self.rows],
        }


def outcome_of(answer: str, *, swapped: bool) -> str:
    """Translate an answer, one of ``ANSWERS``, to the first model; ``swapped``: A was the image of the second model."""
    if answer in ("a", "b"):
        return WORSE if (answer == "a") == swapped else BETTER
    return BOTH_GOOD if answer == "same" else BOTH_BAD


def majority(outcomes: Sequence[str]) -> str:
    """Return the outcome of more than half of the votes, else ``no majority``."""
    if not outcomes:
        return NO_MAJORITY
    name, count = Counter(outcomes).most_common(1)[0]
    return name if 2 * count > len(outcomes) else NO_MAJORITY


def study_results(
    study: Study, answers: Sequence[Answers], *, power: float = POWER, significance: float = SIGNIFICANCE
) -> StudyResults:
    """Count the majorities of a study, finished or not. Pairs that lack votes are not counted."""
    progress = progress_of(study, answers)
    votes: dict[int, list[str]] = {}
    for each in answers:
        for answer in each.answers:
            votes.setdefault(answer.pair, []).append(_outcome(study, answer))
    rows: list[Row] = []
    for model in study.models:
        judged: dict[str, list[tuple[list[str], bool]]] = {}
        for number, pair in enumerate(study.pairs):
            for relation in (*dict.fromkeys(pair.relations), ALL) if pair.model == model else ():
                judged.setdefault(relation, []).append((votes.get(number, []), pair.identical))
        judged[ALL] = judged.pop(ALL)  # the last one
        rows += [
            _row(model, relation, counts, study.raters, power=power, significance=significance)
            for relation, counts in judged.items()
        ]
    return StudyResults(study, tuple(rows), progress, power, significance)


def study_grids(results: StudyResults) -> list[Grid]:
    """Make tables of the outcomes beside the published ones, of the tests, and of the agreement of raters."""
    columns: list[str] = ["Relation", "Pairs", *(outcome.capitalize() for outcome in OUTCOMES)]
    many_models = len(results.about.models) > 1
    names = [f"{row.model}: {row.relation}" if many_models else row.relation for row in results.rows]
    shares = [
        [name, f"{row.pairs:,}", *("–" if share is None else percent(share) for share in map(row.share, OUTCOMES))]
        for name, row in zip(names, results.rows, strict=True)
    ]
    published, beside = published_cells("alikhani2021/6"), list[str]()
    if any(row.relation in published for row in results.rows):
        columns.append("Published")
        column = [next(iter(published.get(row.relation, {}).values()), "–") for row in results.rows]
        shares = [[*cells, " / ".join(map(str, figures))] for cells, figures in zip(shares, column, strict=True)]
        beside = [f"Published: {', '.join(OUTCOMES[:4])}, of CMCM_c against CMCA."]
    tests = [[name, *_tests(row)] for name, row in zip(names, results.rows, strict=True)]
    progress = results.progress
    raters = counted(sum(map(bool, progress.of_rater.values())), "rater")
    votes = (
        f"{progress.votes:,} of {progress.needed:,} votes by {raters}; "
        f"{progress.complete:,} of {progress.pairs:,} pairs have all of theirs, and only those are counted."
    )
    about = results.about
    note = (
        f"{' and '.join(about.models)} against {about.second}, by majority of {about.raters}. d is "
        f"the effect size; effects as large as 'd seen from' says are detected with a power of {100 * results.power:g} "
        f"% at a significance level of {100 * results.significance:g} %. α (Krippendorff) says how far raters agree: 1 "
        "where all do, 0 as by chance."
    )
    return [
        Grid("", columns, shares, beside),
        Grid("", ["Relation", "t", "p", "p (sign)", "d", "d seen from", "α"], tests, [note, votes]),
    ]


def _row(
    model: str,
    relation: str,
    judged: Sequence[tuple[list[str], bool]],
    raters: int,
    *,
    power: float,
    significance: float,
) -> Row:
    complete = [(answers, identical) for answers, identical in judged if len(answers) >= raters]
    outcomes = [majority(answers) for answers, _ in complete]
    scores = [{BETTER: 1, WORSE: -1}.get(outcome, 0) for outcome in outcomes]
    return Row(
        model,
        relation,
        {name: outcomes.count(name) for name in OUTCOMES},
        open=len(judged) - len(complete),
        identical=sum(identical for _, identical in complete),
        preference=preference(scores, power=power, significance=significance),
        alpha=krippendorff_alpha(answers for answers, _ in complete),
    )


def _tests(row: Row) -> list[str]:
    preference = row.preference
    if preference is None:
        return ["–"] * 6
    figures = (preference.t, preference.p, preference.p_sign, preference.effect, preference.smallest_effect, row.alpha)
    forms = (".2f", ".2g", ".2g", ".2f", ".2f", ".2f")
    return ["–" if value is None else format(value, form) for value, form in zip(figures, forms, strict=True)]


def _outcome(study: Study, answer: Answer) -> str:
    return outcome_of(answer.answer, swapped=_is_swapped(study, answer))


def _is_swapped(study: Study, answer: Answer) -> bool:
    """Whether A was the image of the second model."""
    return (study.pairs[answer.pair].x == "first") != (answer.a == "x")
