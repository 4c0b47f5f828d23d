"""Tests of a method against another on the same questions.

Exact McNemar within one seed. Over several seeds (and both prompt settings) a question's responses are not
independent, so the pooled test flips the sign of whole questions: under the null hypothesis that the two
methods are interchangeable, each question's summed difference is as likely positive as negative. With one
response a question this is McNemar's exact test.

Departure: the paper reports no tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import binom, binomtest, norm

from tasks.evaluation.metrics import Floats

DRAWS = 20_000
"""Sign flips drawn where the exact distribution is out of reach (strata of unequal size)."""
Ints = NDArray[np.int64]


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p of the discordant pairs (binomial, share 1/2); 1 where there are none."""
    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0


def sign_flip(sums_Q: Floats) -> float:
    """Two-sided exact p that the questions' summed differences are symmetric around 0.

    Args:
        sums_Q: a question's difference summed over its pairs; multiples of a common decimal fraction.
    """
    steps_Q, _ = _integers(sums_Q)
    totals, probabilities = _null_distribution(steps_Q)
    return float(np.clip(probabilities[np.abs(totals) >= abs(int(steps_Q.sum()))].sum(), 0.0, 1.0))


def sign_flip_mean(strata: Sequence[tuple[Floats, float]], draws: int = DRAWS, seed: int = 0) -> float:
    """Two-sided p for an unweighted mean over strata.

    Exact where the strata have equally many pairs; else from sign flips drawn from each stratum's exact
    distribution, and then at least 1 / (draws + 1).

    Args:
        strata: a (sums_Q, pairs) each; the statistic is the mean of sum(sums_Q) / pairs.
        draws: sign flips drawn.
        seed: seed of the draws.
    """
    if len({pairs for _, pairs in strata}) == 1:
        return sign_flip(np.concatenate([sums_Q for sums_Q, _ in strata]))
    rng = np.random.default_rng(seed)
    observed = sum(float(sums_Q.sum()) / pairs for sums_Q, pairs in strata)
    flipped = np.zeros(draws)
    for sums_Q, pairs in strata:
        steps_Q, unit = _integers(sums_Q)
        totals, probabilities = _null_distribution(steps_Q)
        places = np.searchsorted(np.cumsum(probabilities), rng.random(draws) * probabilities.sum())
        flipped += totals[np.minimum(places, len(totals) - 1)] / (unit * pairs)
    as_extreme = int((np.abs(flipped) >= abs(observed) - 1e-9).sum())
    return (1 + as_extreme) / (1 + draws)


def _null_distribution(steps_Q: Ints) -> tuple[Ints, Floats]:
    """Totals of a sum whose terms each have a random sign, and their probabilities.

    Questions of one step size add up to a binomial; the sizes are convolved.
    """
    probabilities = np.ones(1)
    sizes, numbers = np.unique(np.abs(steps_Q[steps_Q != 0]), return_counts=True)
    for size, questions in zip(sizes.tolist(), numbers.tolist(), strict=True):
        spread = np.zeros(2 * size * questions + 1)
        spread[:: 2 * size] = binom.pmf(np.arange(questions + 1), questions, 0.5)
        probabilities = fftconvolve(probabilities, spread)
    reach = int((sizes * numbers).sum())
    return np.arange(-reach, reach + 1), np.clip(probabilities, 0.0, None)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction (Holm 1979), order kept; None is not a test and stays None."""
    tests = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(tests):
        largest = max(largest, min(1.0, p * (len(tests) - rank)))
        corrected[index] = largest
    return corrected


def detectable_difference(questions: int, discordance: float, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest paired difference seen with this power: (z_{1-alpha/2} + z_power) sqrt(discordance / n).

    A result above the discordance itself means that no difference can be seen. None without questions.
    """
    return _reach(power, alpha) * sqrt(discordance / questions) if questions else None


def observed_detectable(strata: Sequence[tuple[Floats, float]], power: float = 0.8, alpha: float = 0.05) -> float:
    """The same from data: the standard error under the null with the question as the unit.

    With one pair a question, sum(sums_Q ** 2) is the number of discordant pairs and this is
    :func:`detectable_difference`.
    """
    variance = sum(float((sums_Q**2).sum()) / pairs**2 for sums_Q, pairs in strata) / len(strata) ** 2
    return _reach(power, alpha) * sqrt(variance)


def _reach(power: float, alpha: float) -> float:
    return float(norm.ppf(1 - alpha / 2) + norm.ppf(power))


def _integers(sums_Q: Floats) -> tuple[Ints, int]:
    """The sums as whole multiples of 1 / unit, and unit: equal sums become equal to the last bit."""
    fractions = [Fraction(float(value)).limit_denominator(1000) for value in np.unique(sums_Q)]
    unit = lcm(*(fraction.denominator for fraction in fractions))
    return np.rint(sums_Q * unit).astype(np.int64), unit
