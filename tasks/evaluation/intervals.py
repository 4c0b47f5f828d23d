"""Confidence intervals: Wilson's for one proportion, a bootstrap over questions for everything else.

The question is the unit that is resampled: its responses under several seeds and prompt settings move
together, since they are not independent. A value is a ratio of sums over questions, or the unweighted mean
of such ratios over strata (the sets of TruthRL's "Average" column), each stratum resampled within itself.
The interval speaks about other questions of the same kind, not about other training seeds; those are shown
one by one.

Departure: the paper gives no intervals. Percentile bounds (Efron 1979). Where every question has the same
value, a bootstrap would give an interval of width 0; there the bounds are what the value would be if the
share of deviating questions were as large as Wilson's upper bound for 0 of n (for a proportion this is
Wilson's interval itself).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from tasks.evaluation.metrics import Floats
from tasks.verify.results import Estimate

BLOCK_CELLS = 4_000_000
"""Resamples x questions drawn at a time: bounds memory at about 64 MB."""


@dataclass(frozen=True)
class Ratio:
    """sum(numerator) / sum(denominator), averaged over strata.

    strata holds one (numerator_Q, denominator_Q) a stratum; lowest and highest bound the value.
    """

    strata: tuple[tuple[Floats, Floats], ...]
    lowest: float
    highest: float

    def value(self) -> float | None:
        """The point estimate; None where a stratum has no rows."""
        if not self.strata or any(denominator.sum() == 0 for _, denominator in self.strata):
            return None
        return float(np.mean([numerator.sum() / denominator.sum() for numerator, denominator in self.strata]))


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Estimate:
    """A proportion with Wilson's score interval (Wilson 1927); value None where there are no trials.

    Trials must be independent: one response a question.
    """
    if trials == 0:
        return Estimate(value=None)
    found = binomtest(successes, trials).proportion_ci(confidence_level=confidence, method="wilson")
    return Estimate(value=successes / trials, low=float(found.low), high=float(found.high))


def bootstrap(ratios: Sequence[Ratio], resamples: int, confidence: float = 0.95, seed: int = 0) -> list[Estimate]:
    """Every ratio with its percentile interval, all from the same resamples of the same questions.

    Args:
        ratios: ratios whose strata hold the same questions in the same order.
        resamples: number of resamples, B.
        confidence: level of the interval.
        seed: seed of the resamples.
    """
    defined = [index for index, ratio in enumerate(ratios) if ratio.value() is not None]
    found = [Estimate(value=None) for _ in ratios]
    if not defined:
        return found
    values_BK = _resampled([ratios[index] for index in defined], resamples, seed)
    for column, index in enumerate(defined):
        found[index] = _interval(ratios[index], values_BK[:, column], confidence)
    return found


def _interval(ratio: Ratio, values_B: Floats, confidence: float) -> Estimate:
    value = ratio.value()
    assert value is not None
    clusters = sum(int((denominator > 0).sum()) for _, denominator in ratio.strata)
    if clusters < 2:
        return Estimate(value=value)
    if _constant(ratio):
        share = wilson(0, clusters, confidence).high or 0.0
        low, high = value - share * (value - ratio.lowest), value + share * (ratio.highest - value)
        return Estimate(value=value, low=low, high=high)
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(values_B, [tail, 1 - tail])
    return Estimate(value=value, low=float(low), high=float(high))


def _constant(ratio: Ratio) -> bool:
    """Whether all questions of each stratum have one value, so that resampling cannot move the estimate."""
    for numerator, denominator in ratio.strata:
        present = denominator > 0
        if np.ptp(numerator[present] / denominator[present]) > 1e-12:
            return False
    return True


def _resampled(ratios: Sequence[Ratio], resamples: int, seed: int) -> Floats:
    """values_BK; a resample in which a denominator is 0 gives nan and is left out of the quantiles."""
    strata = len(ratios[0].strata)
    total_BK = np.zeros((resamples, len(ratios)))
    for stratum in range(strata):
        numerators_QK = np.stack([ratio.strata[stratum][0] for ratio in ratios], axis=1)
        denominators_QK = np.stack([ratio.strata[stratum][1] for ratio in ratios], axis=1)
        rng = np.random.default_rng([seed, stratum])
        start = 0
        for weights_bQ in _multiplicities(len(numerators_QK), resamples, rng):
            below_bK = weights_bQ @ denominators_QK
            ratio_bK = np.divide(
                weights_bQ @ numerators_QK, below_bK, out=np.full_like(below_bK, np.nan), where=below_bK > 0
            )
            total_BK[start : start + len(weights_bQ)] += ratio_bK / strata
            start += len(weights_bQ)
    return total_BK


def _multiplicities(questions: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each question stands in each resample, weights_bQ, a block of resamples at a time."""
    block = max(1, BLOCK_CELLS // questions)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn_bQ = rng.integers(0, questions, size=(size, questions)) + questions * np.arange(size)[:, None]
        yield np.bincount(drawn_bQ.ravel(), minlength=size * questions).reshape(size, questions).astype(float)
