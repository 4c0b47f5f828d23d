"""What the templates show, made from the figures: panels, marks and rows; no template computes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tasks.reporting.charts import Line, interval_plot, line_chart, outcome_bar
from tasks.reporting.curves import CURVES, TrainingRun, mean_curve
from tasks.reporting.words import METRIC_NAMES, points, probability, signed, span
from tasks.verify.results import AVERAGE, Cell, ClaimOutcome, Counts, Metric, PairedMetric, PartOutcome, Results

MAIN: tuple[PairedMetric, ...] = ("truthfulness", "hallucination", "accuracy")
"""Columns of TruthRL's Table 1."""
BESIDE: tuple[Metric, ...] = ("abstention", "attempted_accuracy")
LOWER_IS_BETTER = frozenset({"hallucination"})
UNDIRECTED = frozenset({"abstention"})


@dataclass(frozen=True)
class Figure:
    """One number in a table, as text."""

    value: str
    span: str
    mark: str
    """Whether it differs from the base: "better", "worse", "differs" or ""."""
    best: bool
    note: str
    """What a person reads when pointing at it."""


@dataclass(frozen=True)
class Panel:
    """One plot with the names of its lines."""

    title: str
    plot: Markup
    names: tuple[tuple[str, int], ...]


def columns(results: Results) -> list[str]:
    """Sets in the order of the table, the average last."""
    return [*results.datasets, *([AVERAGE] if len(results.datasets) > 1 else [])]


def figure(results: Results, cell: Cell, metric: Metric) -> Figure:
    """A method's figure with its interval and its mark against the base."""
    estimate = cell.estimates[metric]
    alpha = 1 - results.confidence
    mark, note = "", f"{METRIC_NAMES[metric]} of {cell.method}, {cell.counts.scored:,} scored responses"
    found = next((one for name, one in cell.against_base.items() if name == metric), None)
    if found is not None and found.value is not None:
        note += f"; {signed(found.value)} points against {results.base_method} {span(found)}"
        note += f", p = {probability(found.p)}, Holm {probability(found.p_holm)}"
        if found.p_holm is not None and found.p_holm < alpha:
            better = (found.value < 0) == (metric in LOWER_IS_BETTER)
            mark = "differs" if metric in UNDIRECTED else "better" if better else "worse"
    return Figure(points(estimate.value), span(estimate), mark, _is_best(results, cell, metric), note)


def _is_best(results: Results, cell: Cell, metric: Metric) -> bool:
    values = [
        results.cell(cell.setting, cell.dataset, method).estimates[metric].value
        for method in results.methods
        if metric in MAIN
    ]
    known = [value for value in values if value is not None]
    own = cell.estimates[metric].value
    if own is None or len(known) < 2:
        return False
    return own == (min(known) if metric in LOWER_IS_BETTER else max(known))


def claim_reach(claims: Sequence[ClaimOutcome]) -> float:
    """Half width of the axis that all differences are drawn on."""
    ends = [
        abs(end)
        for claim in claims
        for part in claim.parts
        if part.estimate is not None and _is_difference(part)
        for end in (part.estimate.low, part.estimate.high, part.estimate.value)
        if end is not None
    ]
    return 1.05 * max(ends, default=1.0) or 1.0


def claim_plot(part: PartOutcome, reach: float) -> Markup:
    """The difference of a comparison; empty where there is none."""
    if part.estimate is None or part.estimate.value is None or not _is_difference(part):
        return Markup("")
    return interval_plot(part.estimate, reach, part.ruling)


def _is_difference(part: PartOutcome) -> bool:
    return hasattr(part.estimate, "pairs")


def total_bar(results: Results, setting: str, method: str) -> Markup:
    """A method's outcomes in one prompt setting, all sets together."""
    return outcome_bar(total_counts(results, setting, method), f"{method}, all questions")


def total_counts(results: Results, setting: str, method: str) -> Counts:
    """A method's responses in one prompt setting, all sets and seeds together."""
    found = [results.cell(setting, dataset, method).counts for dataset in results.datasets]
    return Counts(**{name: sum(getattr(counts, name) for counts in found) for name in Counts.model_fields})


def popularity_bar(results: Results, setting: str, method: str, popularity: str) -> Markup:
    """A method's outcomes on facts of one popularity."""
    for cell in results.popularity:
        if (cell.setting, cell.method, cell.popularity) == (setting, method, popularity):
            return outcome_bar(cell.counts, f"{method}, {popularity} facts")
    return Markup("")


def panels(runs: Sequence[TrainingRun], methods: Sequence[str]) -> list[Panel]:
    """A plot for each figure that was logged; losses of different trainers do not share one."""
    made: list[Panel] = []
    for name, title in CURVES.items():
        trainers = list(dict.fromkeys(run.trainer for run in runs if name in run.curves))
        for trainer in trainers:
            lines = _lines([run for run in runs if run.trainer == trainer and name in run.curves], methods, name)
            full = f"{title} ({trainer.upper()})" if name == "loss" else title
            names = tuple((line.name, line.colour) for line in lines)
            made.append(Panel(full, line_chart(lines, full), names))
    return made


def _lines(runs: Sequence[TrainingRun], methods: Sequence[str], name: str) -> list[Line]:
    present = [method for method in methods if any(run.method == method for run in runs)]
    return [
        Line(
            name=method,
            seeds=tuple(run.curves[name] for run in runs if run.method == method),
            mean=mean_curve([run for run in runs if run.method == method], name),
            colour=list(methods).index(method),
        )
        for method in present
    ]
