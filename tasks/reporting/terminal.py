"""The results as a terminal shows them: the table with intervals, then what holds and what does not."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tasks.reporting.view import MAIN, columns, figure
from tasks.reporting.words import METRIC_NAMES, SET_NAMES, SETTING_NAMES, true_minus, visible
from tasks.verify.results import Results

MARKS = {"better": "\u25b2", "worse": "\u25bc", "differs": "*", "": ""}
STYLES = {"holds": "green", "does not hold": "red", "not resolved": "yellow", "not tested": "dim"}


def results_table(results: Results, dataset: str | None = None) -> Table:
    """Methods x prompt settings on one set (the average over sets unless told), in per cent with intervals.

    Raises:
        KeyError: the run did not evaluate that set.
    """
    chosen = dataset or columns(results)[-1]
    table = Table(
        title=Text(f"{results.recipe}: {SET_NAMES.get(chosen, chosen)}, %, {results.confidence:.0%} intervals")
    )
    table.add_column("Method", no_wrap=True)
    for setting in results.settings:
        for metric in MAIN:
            table.add_column(Text(f"{METRIC_NAMES[metric]}\n{SETTING_NAMES[setting].lower()}"), justify="right")
    table.add_column("Unscored", justify="right")
    for method in results.methods:
        cells = [results.cell(setting, chosen, method) for setting in results.settings]
        row = [Text(visible(method))]
        for cell in cells:
            for metric in MAIN:
                found = figure(results, cell, metric)
                value = Text(f"{found.value}{MARKS[found.mark]}", style="bold" if found.best else "")
                row.append(value.append(f"\n{found.span}", style="dim not bold"))
        row.append(Text(str(sum(cell.counts.unscored for cell in cells))))
        table.add_row(*row)
    level = f"Holm p < {1 - results.confidence:.2g}"
    table.caption = Text(f"{MARKS['better']} better, {MARKS['worse']} worse than {results.base_method} ({level})")
    return table


def claims_table(results: Results) -> Table:
    """What the run says about the paper's claims, in the words that the figures gave."""
    table = Table(title="Does it hold here?", show_lines=True, expand=True)
    table.add_column("Claim", ratio=2)
    table.add_column("Finding", ratio=5)
    for claim in results.claims:
        if claim.scope != "all":
            continue
        finding = Text("\n").join(
            Text.assemble(visible(part.text), ": ", (true_minus(part.words), STYLES[part.ruling]))
            for part in claim.parts
        )
        table.add_row(Text(claim.says).append(f"\n{claim.ruling}", style=STYLES[claim.ruling]), finding)
    return table


def summary(results: Results) -> Group:
    """Both tables."""
    return Group(results_table(results), claims_table(results)) if results.claims else Group(results_table(results))
