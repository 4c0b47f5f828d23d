from __future__ import annotations

import numpy as np
import pytest

from tasks.core.records import Outcome, Verdict
from tasks.evaluation.metrics import bounds, count, count_codes, rates
from tasks.verify.results import Counts


def verdicts(correct: int, abstained: int, incorrect: int, unscored: int) -> list[Verdict]:
    numbers = {
        Outcome.CORRECT: correct,
        Outcome.ABSTAINED: abstained,
        Outcome.INCORRECT: incorrect,
        Outcome.UNSCORED: unscored,
    }
    return [Verdict(outcome=outcome, answer=None, via="judge") for outcome, n in numbers.items() for _ in range(n)]


def test_counts_and_rates_by_hand() -> None:
    counts = count(verdicts(5, 3, 2, 4))
    assert counts == Counts(correct=5, abstained=3, incorrect=2, unscored=4)
    assert counts.scored == 10
    found = rates(counts)
    assert found["accuracy"] == pytest.approx(0.5)
    assert found["abstention"] == pytest.approx(0.3)
    assert found["hallucination"] == pytest.approx(0.2)
    assert found["truthfulness"] == pytest.approx(0.3)
    assert found["attempted_accuracy"] == pytest.approx(5 / 7)


def test_weights_of_truthfulness() -> None:
    found = rates(Counts(correct=5, abstained=3, incorrect=2), (2.0, 0.5, 3.0))
    assert found["truthfulness"] == pytest.approx(2 * 0.5 + 0.5 * 0.3 - 3 * 0.2)


def test_all_unscored_is_none_and_not_zero() -> None:
    assert set(rates(count(verdicts(0, 0, 0, 7))).values()) == {None}
    assert set(rates(Counts()).values()) == {None}


def test_all_abstained_has_no_accuracy_when_answering() -> None:
    found = rates(Counts(abstained=4))
    assert found["attempted_accuracy"] is None
    assert found["truthfulness"] == 0.0
    assert found["abstention"] == 1.0


def test_published_row_is_reproduced() -> None:
    """TruthRL Table 1, Llama-3.1-8B prompting, CRAG with retrieval: T 5.3, H 43.5, A 48.8."""
    found = rates(Counts(correct=488, abstained=77, incorrect=435))
    assert found["truthfulness"] == pytest.approx(0.053)


def test_missing_codes_are_not_counted() -> None:
    codes = np.array([[0, 1, 2], [3, -1, 0]], dtype=np.int8)
    assert count_codes(codes) == Counts(correct=2, abstained=1, incorrect=1, unscored=1)


def test_bounds() -> None:
    assert bounds("truthfulness", (1.0, 0.0, 1.0)) == (-1.0, 1.0)
    assert bounds("truthfulness", (2.0, 0.5, 3.0)) == (-3.0, 2.0)
    assert bounds("hallucination", (1.0, 0.0, 1.0)) == (0.0, 1.0)
    assert bounds("attempted_accuracy", (1.0, 0.0, 1.0)) == (0.0, 1.0)
