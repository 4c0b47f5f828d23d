from __future__ import annotations

import pytest

from tasks.reporting.published import Published, load_published

SETS = ("crag", "nq_open", "hotpotqa", "musique")


@pytest.fixture(scope="module")
def published() -> Published:
    found = load_published("truthrl")
    assert found is not None
    return found


def test_a_recipe_without_published_figures() -> None:
    assert load_published("no-such-recipe") is None


def test_truthfulness_is_accuracy_less_hallucination(published: Published) -> None:
    """Every row to rounding: a figure that was copied wrongly would stand out."""
    rows = [row for table in published.tables for row in table.rows]
    assert len(rows) == 24
    for row in rows:
        for truthfulness, hallucination, accuracy in row.figures.values():
            assert truthfulness == pytest.approx(accuracy - hallucination, abs=0.11)


def test_averages_are_means_of_the_sets(published: Published) -> None:
    for table in published.tables:
        for row in table.rows:
            for place in range(3):
                mean = sum(row.figures[name][place] for name in SETS) / 4
                assert row.figures["average"][place] == pytest.approx(mean, abs=0.11)


def test_figures_of_the_specification(published: Published) -> None:
    (table,) = [one for one in published.tables if (one.policy, one.setting) == ("Llama-3.1-8B-Instruct", "retrieval")]
    crag = {row.label: row.figures["crag"] for row in table.rows}
    assert crag["Prompting"] == (5.3, 43.5, 48.8)
    assert crag["SFT"] == (1.4, 49.3, 50.7)
    assert crag["R-Tuning"] == (15.2, 33.1, 48.4)
    assert crag["TruthRL (binary)"] == (20.8, 39.5, 60.3)
    assert crag["TruthRL"] == (37.2, 19.4, 56.6)
