from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tasks.evaluation.paired import (
    detectable_difference,
    holm,
    mcnemar,
    observed_detectable,
    sign_flip,
    sign_flip_mean,
)


def test_mcnemar_by_hand() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 0) == pytest.approx(2 / 32)
    assert mcnemar(1, 7) == pytest.approx(2 * (1 + 8) / 256)
    assert mcnemar(7, 1) == mcnemar(1, 7)
    assert mcnemar(4, 4) == 1.0


@pytest.mark.parametrize(("plus", "minus", "ties"), [(5, 0, 3), (1, 7, 0), (12, 4, 9), (0, 0, 6), (40, 60, 0)])
def test_sign_flip_is_mcnemar_with_one_response_a_question(plus: int, minus: int, ties: int) -> None:
    sums = np.array([1.0] * plus + [-1.0] * minus + [0.0] * ties)
    assert sign_flip(sums) == pytest.approx(mcnemar(plus, minus), abs=1e-9)


def brute_force(sums: list[float]) -> float:
    totals = [
        sum(sign * value for sign, value in zip(signs, sums, strict=True))
        for signs in product((-1, 1), repeat=len(sums))
    ]
    return sum(abs(total) >= abs(sum(sums)) - 1e-9 for total in totals) / len(totals)


@pytest.mark.parametrize("sums", [[3, -1, 2, 2, 0, -3, 1, 3], [6, 6, -1], [0.5, -1.5, 1.0, 1.0, 0.5], [0.1, 0.2, 0.3]])
def test_sign_flip_equals_every_flip_counted(sums: list[float]) -> None:
    assert sign_flip(np.array(sums, dtype=float)) == pytest.approx(brute_force(sums), abs=1e-9)


def test_copies_of_a_question_are_no_evidence() -> None:
    """Three equal seeds give the p of one; treated as independent they would give 3 x 8 discordant pairs."""
    once = sign_flip(np.array([1.0] * 7 + [-1.0]))
    thrice = sign_flip(np.array([3.0] * 7 + [-3.0]))
    assert thrice == pytest.approx(once)
    assert mcnemar(21, 3) < 0.001 < thrice


def test_mean_over_sets_of_equal_size_is_exact() -> None:
    a, b = np.array([1.0, 1.0, -1.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0])
    assert sign_flip_mean([(a, 4.0), (b, 4.0)]) == pytest.approx(brute_force([*a, *b]))


def test_mean_over_sets_of_unequal_size() -> None:
    a, b = np.array([1.0, 1.0, -1.0]), np.array([2.0, 1.0, 1.0, 0.0, -1.0])
    exact = brute_force([*(a / 3), *(b / 10)])
    assert sign_flip_mean([(a, 3.0), (b, 10.0)], draws=40_000) == pytest.approx(exact, abs=0.01)


def test_drawn_p_is_never_zero() -> None:
    strata = [(np.ones(200), 200.0), (np.ones(100), 100.0)]
    assert sign_flip_mean(strata, draws=99) == pytest.approx(0.01)


def test_no_difference_gives_p_one() -> None:
    assert sign_flip(np.zeros(5)) == 1.0
    assert sign_flip_mean([(np.zeros(5), 5.0), (np.zeros(3), 3.0)], draws=50) == 1.0


def test_sign_flip_keeps_its_level_with_correlated_seeds() -> None:
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(300):
        shared = rng.integers(-1, 2, 60)
        sums = (3 * shared + rng.integers(-1, 2, 60)).astype(np.float64)
        below += sign_flip(sums) < 0.05
    assert below / 300 < 0.09


def test_holm_by_hand() -> None:
    """Sorted 0.01 x 3, then max(0.03, 0.02 x 2), then max(0.04, 0.03 x 1)."""
    assert holm([0.03, 0.01, None, 0.02]) == [
        pytest.approx(0.04),
        pytest.approx(0.03),
        None,
        pytest.approx(0.04),
    ]
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([None]) == [None]


@pytest.mark.parametrize(
    ("questions", "points"), [(30, 22.9), (164, 9.8), (198, 8.9), (541, 5.4), (1319, 3.4), (4326, 1.9)]
)
def test_detectable_difference_at_20_percent_discordance(questions: int, points: float) -> None:
    found = detectable_difference(questions, 0.20)
    assert found is not None
    assert round(100 * found, 1) == points


def test_detectable_difference_without_questions() -> None:
    assert detectable_difference(0, 0.2) is None


def test_observed_detectable_is_the_same_with_one_pair_a_question() -> None:
    sums = np.array([1.0] * 12 + [-1.0] * 8 + [0.0] * 80)
    assert observed_detectable([(sums, 100.0)]) == pytest.approx(detectable_difference(100, 0.20))


def test_observed_detectable_does_not_shrink_with_copies() -> None:
    sums = np.array([1.0] * 12 + [-1.0] * 8 + [0.0] * 80)
    assert observed_detectable([(3 * sums, 300.0)]) == pytest.approx(observed_detectable([(sums, 100.0)]))
