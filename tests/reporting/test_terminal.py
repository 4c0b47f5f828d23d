from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tasks.reporting.terminal import results_table, summary

if TYPE_CHECKING:
    from conftest import FinishedRun


def shown(thing: object, width: int = 220) -> str:
    console = Console(width=width, record=True, file=None, force_terminal=False)
    with console.capture() as capture:
        console.print(thing)
    return capture.get()


def test_table_with_intervals(finished: FinishedRun) -> None:
    text = shown(results_table(finished.results, "crag"))
    cell = finished.results.cell("retrieval", "crag", "truthrl")
    found = cell.estimates["hallucination"]
    assert found.value is not None
    assert found.low is not None
    assert f"{100 * found.value:.1f}" in text
    assert f"[{100 * found.low:.1f}, " in text
    assert "\u25b2 better, \u25bc worse than prompting" in text


def test_average_is_the_default(finished: FinishedRun) -> None:
    assert "truthrl: Average" in shown(results_table(finished.results))


def test_summary_says_what_holds(finished: FinishedRun) -> None:
    text = " ".join(shown(summary(finished.results)).split())
    for claim in finished.results.claims:
        assert claim.parts[0].text in text
    assert "holds in 3 of 3 seeds" in text


def test_names_are_not_markup(finished: FinishedRun) -> None:
    odd = "[red]x[/red]"
    cells = tuple(
        cell.model_copy(update={"method": odd}) if cell.method == "sft" else cell for cell in finished.results.cells
    )
    methods = tuple(odd if name == "sft" else name for name in finished.results.methods)
    results = finished.results.model_copy(update={"cells": cells, "methods": methods})
    assert odd in shown(results_table(results))


def test_an_unknown_set_is_an_error(finished: FinishedRun) -> None:
    with pytest.raises(KeyError, match="no results for prompting on trivia"):
        results_table(finished.results, "trivia")
