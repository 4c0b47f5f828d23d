from __future__ import annotations

from typing import Any

import pytest

from configs.settings import EvaluateSettings
from tasks.evaluation.intervals import wilson
from tasks.evaluation.paired import holm, mcnemar
from tasks.evaluation.tables import Scope, by_popularity, difference, table
from tasks.verify.results import AVERAGE, Counts, Estimate

EVALUATE = EvaluateSettings(bootstrap=300, base_method="base")


def test_cell_by_hand(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "cciiaaiiii", ("base", 1): "cciiaaiiiu"})
    (cell,) = table(grid, ["base"], "closed_book", EVALUATE)
    assert cell.counts == Counts(correct=4, abstained=4, incorrect=11, unscored=1)
    assert cell.estimates["accuracy"].value == pytest.approx(4 / 19)
    assert cell.estimates["truthfulness"].value == pytest.approx(-7 / 19)
    assert cell.estimates["attempted_accuracy"].value == pytest.approx(4 / 15)
    assert cell.against_base == {}
    assert cell.seeds[1].counts.unscored == 1
    assert cell.seeds[1].estimates["hallucination"] == wilson(5, 9)


def test_difference_uses_only_pairs_scored_on_both_sides(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "iiiiuc", ("new", 0): "ccaiuu"})
    cells = {cell.method: cell for cell in table(grid, ["base", "new"], "closed_book", EVALUATE)}
    found = cells["new"].against_base["accuracy"]
    assert (found.pairs, found.questions) == (4, 4)
    assert found.value == pytest.approx(2 / 4)
    assert found.discordance == pytest.approx(0.5)
    assert found.p == pytest.approx(mcnemar(2, 0))
    assert found.seeds[0].p == pytest.approx(mcnemar(2, 0))
    assert cells["new"].against_base["truthfulness"].value == pytest.approx((2 + 2 + 1) / 4)


def test_seeds_of_a_question_are_one_unit(grid_of: Any) -> None:
    once = grid_of({("base", 0): "i" * 8, ("new", 0): "c" * 8})
    thrice = grid_of({(name, seed): letter * 8 for name, letter in (("base", "i"), ("new", "c")) for seed in range(3)})
    p_values = [
        table(grid, ["base", "new"], "closed_book", EVALUATE)[1].against_base["accuracy"].p for grid in (once, thrice)
    ]
    assert p_values == [pytest.approx(2 / 256), pytest.approx(2 / 256)]


def test_an_untrained_base_is_paired_with_every_seed(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "ii", ("new", 4): "ci", ("new", 7): "cc"})
    found = table(grid, ["base", "new"], "closed_book", EVALUATE)[1].against_base["accuracy"]
    assert found.pairs == 4
    assert [(seed.seed, seed.value) for seed in found.seeds] == [(4, 0.5), (7, 1.0)]


def test_methods_without_a_common_seed_are_refused(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "ii", ("base", 1): "ii", ("new", 2): "cc", ("new", 3): "cc"})
    with pytest.raises(ValueError, match="share no seed"):
        table(grid, ["base", "new"], "closed_book", EVALUATE)


def test_average_is_the_unweighted_mean_of_the_sets(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "cc" + "i" * 8, ("new", 0): "cc" + "c" * 4 + "i" * 4}, datasets="11" + "2" * 8)
    cells = table(grid, ["base", "new"], "closed_book", EVALUATE)
    average = next(cell for cell in cells if cell.dataset == AVERAGE and cell.method == "new")
    assert average.estimates["accuracy"].value == pytest.approx((1.0 + 0.5) / 2)
    assert average.against_base["accuracy"].value == pytest.approx((0.0 + 0.5) / 2)
    assert average.counts == Counts(correct=6, incorrect=4)


def test_holm_runs_over_a_printed_table(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "i" * 8, ("new", 0): "cccccaii", ("old", 0): "ccciiiii"})
    cells = table(grid, ["base", "new", "old"], "closed_book", EVALUATE)
    family = [
        found
        for cell in cells
        for metric, found in cell.against_base.items()
        if metric in ("truthfulness", "hallucination", "accuracy")
    ]
    assert len(family) == 6
    assert [found.p_holm for found in family] == holm([found.p for found in family])
    alone = [cell.against_base["abstention"] for cell in cells if cell.against_base]
    assert [found.p_holm for found in alone] == holm([found.p for found in alone])


def test_nothing_scored_is_none(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "uuu", ("new", 0): "ccc"})
    base, new = table(grid, ["base", "new"], "closed_book", EVALUATE)
    assert base.estimates["accuracy"].value is None
    assert base.counts.unscored == 3
    found = new.against_base["accuracy"]
    assert (found.value, found.p, found.p_holm, found.detectable, found.pairs) == (None, None, None, None, 0)


def test_two_settings_of_a_question_are_one_unit(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "iiii/iiii", ("new", 0): "cccc/cccc"})
    scope = Scope.of_sets(grid, grid.settings, grid.datasets, EVALUATE)
    found = difference(scope, "new", "base", "accuracy", Estimate(value=1.0))
    assert (found.pairs, found.questions) == (8, 4)
    assert found.p == pytest.approx(2 / 16)


def test_popularity_leaves_out_questions_that_have_none(grid_of: Any) -> None:
    grid = grid_of({("base", 0): "cai", ("base", 1): "cci"}, popularity="hn.")
    found = {cell.popularity: cell.counts for cell in by_popularity(grid, ["base"], "closed_book")}
    assert found == {"head": Counts(correct=2), "never": Counts(correct=1, abstained=1)}
