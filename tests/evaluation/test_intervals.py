from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tasks.evaluation.intervals import Ratio, bootstrap, wilson


def ratio(numerator: Sequence[float], denominator: Sequence[float], lowest: float = 0.0) -> Ratio:
    return Ratio(((np.array(numerator, dtype=float), np.array(denominator, dtype=float)),), lowest, 1.0)


def test_wilson_by_hand() -> None:
    """5 of 10: centre (0.5 + z2/20) / (1 + z2/10), half width z sqrt(0.025 + z2/400) / (1 + z2/10), z2 = 3.8415."""
    found = wilson(5, 10)
    half = 1.959964 * (0.025 + 3.841459 / 400) ** 0.5 / (1 + 0.3841459)
    assert found.value == 0.5
    assert found.low == pytest.approx(0.5 - half, abs=1e-6)
    assert found.high == pytest.approx(0.5 + half, abs=1e-6)


def test_wilson_at_the_edges() -> None:
    none = wilson(0, 0)
    assert (none.value, none.low, none.high) == (None, None, None)
    never = wilson(0, 20)
    assert never.low == pytest.approx(0.0, abs=1e-12)
    assert never.high == pytest.approx(3.841459 / (20 + 3.841459), abs=1e-6)


def test_bootstrap_matches_the_normal_interval_of_a_large_sample() -> None:
    numerator = np.zeros(1000)
    numerator[:300] = 1
    (found,) = bootstrap([ratio(numerator.tolist(), [1.0] * 1000)], 4000)
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert found.value == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - half, abs=0.004)
    assert found.high == pytest.approx(0.3 + half, abs=0.004)


def test_seeds_of_one_question_are_not_independent() -> None:
    """Three equal copies of each response must not narrow the interval."""
    numerator = np.random.default_rng(1).integers(0, 2, 200).astype(float)
    (once,) = bootstrap([ratio(numerator.tolist(), [1.0] * 200)], 2000)
    (thrice,) = bootstrap([ratio((3 * numerator).tolist(), [3.0] * 200)], 2000)
    assert (thrice.low, thrice.high) == (once.low, once.high)


def test_same_seed_same_interval() -> None:
    values = [ratio([1, 0, 1, 0, 0, 1], [1] * 6)]
    assert bootstrap(values, 500, seed=3) == bootstrap(values, 500, seed=3)
    assert bootstrap(values, 500, seed=3) != bootstrap([ratio([1, 0, 0, 0, 0, 1], [1] * 6)], 500, seed=3)


def test_truthfulness_may_be_negative() -> None:
    (found,) = bootstrap([ratio([-1] * 30 + [1] * 10, [1] * 40, lowest=-1.0)], 2000)
    assert found.value == pytest.approx(-0.5)
    assert found.low is not None
    assert -1 <= found.low < -0.5
    assert found.high is not None
    assert -0.5 < found.high < 0


def test_no_rows_is_none() -> None:
    empty, full = bootstrap([ratio([0, 0], [0, 0]), ratio([1, 0], [1, 1])], 100)
    assert (empty.value, empty.low, empty.high) == (None, None, None)
    assert full.value == 0.5


def test_one_question_has_a_value_and_no_interval() -> None:
    (found,) = bootstrap([ratio([2], [3])], 100)
    assert found.value == pytest.approx(2 / 3)
    assert (found.low, found.high) == (None, None)


def test_all_equal_gives_wilson_and_not_width_zero() -> None:
    nothing, everything = bootstrap([ratio([0] * 20, [1] * 20), ratio([3] * 20, [3] * 20)], 100)
    upper = wilson(0, 20).high
    assert upper is not None
    assert [nothing.low, nothing.high] == pytest.approx([0.0, upper])
    assert [everything.low, everything.high] == pytest.approx([1 - upper, 1.0])


def test_all_abstained_leaves_truthfulness_open_on_both_sides() -> None:
    (found,) = bootstrap([ratio([0] * 20, [1] * 20, lowest=-1.0)], 100)
    upper = wilson(0, 20).high
    assert upper is not None
    assert [found.low, found.high] == pytest.approx([-upper, upper])


def test_average_over_sets_is_unweighted() -> None:
    small = (np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    large = (np.zeros(100), np.ones(100))
    (found,) = bootstrap([Ratio((small, large), 0.0, 1.0)], 200)
    assert found.value == pytest.approx(0.5)


def test_average_with_an_unmeasured_set_is_none() -> None:
    measured = (np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    unmeasured = (np.zeros(3), np.zeros(3))
    assert bootstrap([Ratio((measured, unmeasured), 0.0, 1.0)], 50)[0].value is None


def test_blocks_do_not_change_the_number_of_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.evaluation.intervals.BLOCK_CELLS", 70)
    (found,) = bootstrap([ratio([1] * 3 + [0] * 7, [1] * 10)], 1001)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < 0.3 < found.high <= 0.7


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_coverage_of_the_clustered_interval(share: float) -> None:
    """Three seeds a question, alike nine times in ten: the true share lies inside in about 95% of samples."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(150):
        own = (rng.random(120) < share).astype(float)
        copies = np.where(rng.random((3, 120)) < 0.9, own, (rng.random((3, 120)) < share).astype(float))
        (found,) = bootstrap([ratio(copies.sum(axis=0).tolist(), [3.0] * 120)], 400)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= share <= found.high
    assert 0.89 <= inside / 150 <= 0.99
