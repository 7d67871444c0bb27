"""Whether people prefer one model, and how small a preference a study could have seen.

The paper reports t-tests and a sensitivity power analysis without telling their kind. Ours: every pair of images gives
+1 where the first model is better, −1 where it is worse, 0 otherwise, and a two-sided one-sample t-test asks whether
the mean is 0; that is the paired t-test of "first preferred" against "second preferred". Beside it stands the exact
sign test of the pairs with a preference, which assumes less. The effect size is Cohen's d, mean over standard
deviation.

The published numbers fit this test in part: d = 0.17 is the smallest effect that 452 pairs detect with a power of 95 %
at a significance level of 5 %. But t > 14.1 in every row does not: the published shares of Visible (24 % better, 17 %
worse) would need about 16,000 judged pairs for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iconotext.errors import SettingError

POWER = 0.95
SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Preference:
    """The first model against the second.

    Attributes:
        pairs: That were judged.
        difference: Share that is better less share that is worse, -1 to 1.
        t: Of the t-test; None with fewer than two pairs, or where all pairs say the same.
        p: Its p value; None with t.
        effect: Cohen's d; None with t.
        p_sign: Of the exact sign test; 1 where no pair has a preference.
        smallest_effect: the smallest |d| that a t-test of this number of pairs detects with the wanted power and
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
    """Test whether the first model is preferred; None where there are no pairs.

    Args:
        scores: For each pair 1 (the first is better), -1 (worse) or 0.
        power: Probability, 0 to 1, of detecting the smallest effect.
        significance: Probability, 0 to 1, of seeing an effect where there is none.

    Raises:
        SettingError: Power and significance are not ``0 < significance < power < 1``.
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
    """Sensitivity: the smallest |d| that a two-sided one-sample t-test of ``pairs`` pairs detects.

    Returns:
        Cohen's d; None with fewer than two pairs, which detect nothing.

    Raises:
        SettingError: Power and significance are not ``0 < significance < power < 1``.
    """
    if not 0 < significance < power < 1:
        raise SettingError(f"power is {power} and significance {significance}; expected 0 < significance < power < 1")
    if pairs < 2:
        return None
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = float(t.isf(significance / 2, pairs - 1))

    def missing(effect: float) -> float:
        shift = effect * math.sqrt(pairs)
        # Significant the other way round. SciPy has no number where this is next to impossible (below 1e-15), which is
        # why statsmodels' ``TTestPower`` fails on few pairs and on very many.
        wrong = float(nct.cdf(-critical, pairs - 1, shift))
        return float(nct.sf(critical, pairs - 1, shift)) + (0.0 if math.isnan(wrong) else wrong) - power

    upper = 1.0
    while missing(upper) < 0:
        upper *= 2
    return float(brentq(missing, 0.0, upper, xtol=1e-10))


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
