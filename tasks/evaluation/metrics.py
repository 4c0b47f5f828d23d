"""What a set of verdicts amounts to (TruthRL section 2.1).

    accuracy       Acc  = correct / scored          hallucination  Hall = incorrect / scored
    abstention     Unc  = abstained / scored        truthfulness   w1 Acc + w2 Unc - w3 Hall
    accuracy when answering = correct / (correct + incorrect)

scored = correct + abstained + incorrect. UNSCORED responses (the instrument failed) stand in no
denominator; their count is kept beside. With nothing scored a rate is None, not 0.

Departure: none in the formulas; the paper does not say what becomes of replies its judge cannot grade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tasks.core.records import Outcome, Verdict
from tasks.verify.results import Counts, Metric

OUTCOMES = (Outcome.CORRECT, Outcome.ABSTAINED, Outcome.INCORRECT, Outcome.UNSCORED)
"""Outcomes in the order of their codes, 0 to 3; a missing response has the code MISSING."""
MISSING = -1
Weights = tuple[float, float, float]
Floats = NDArray[np.float64]
Codes = NDArray[np.int8]


def count(verdicts: Iterable[Verdict]) -> Counts:
    """Verdicts by outcome."""
    found = Counter(verdict.outcome for verdict in verdicts)
    return Counts(**{outcome.value: found[outcome] for outcome in OUTCOMES})


def count_codes(codes: Codes) -> Counts:
    """Outcome codes of any shape by outcome; MISSING is left out."""
    return Counts(**{outcome.value: int((codes == code).sum()) for code, outcome in enumerate(OUTCOMES)})


def rates(counts: Counts, weights: Weights = (1.0, 0.0, 1.0)) -> dict[Metric, float | None]:
    """Every rate of these counts; None where its denominator is 0."""
    found: dict[Metric, float | None] = {}
    for metric, (values, units) in score_tables(weights).items():
        by_code = np.array([counts.correct, counts.abstained, counts.incorrect, counts.unscored, 0])
        denominator = float(by_code @ units)
        found[metric] = float(by_code @ values) / denominator if denominator else None
    return found


def score_tables(weights: Weights) -> dict[Metric, tuple[Floats, Floats]]:
    """What a response adds to numerator and denominator of each metric, by code; the last entry is MISSING's."""
    correct, abstained, incorrect = np.eye(5)[:3]
    scored = correct + abstained + incorrect
    w1, w2, w3 = weights
    return {
        "truthfulness": (w1 * correct + w2 * abstained - w3 * incorrect, scored),
        "hallucination": (incorrect, scored),
        "accuracy": (correct, scored),
        "abstention": (abstained, scored),
        "attempted_accuracy": (correct, correct + incorrect),
    }


def bounds(metric: Metric, weights: Weights) -> tuple[float, float]:
    """Lowest and highest value that a metric can take."""
    values, units = score_tables(weights)[metric]
    possible = values[units > 0] if metric != "attempted_accuracy" else np.array([0.0, 1.0])
    return float(possible.min()), float(possible.max())
