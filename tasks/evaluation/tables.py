"""Cells of the results table (TruthRL Table 1): methods x sets x prompt settings, each against the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from configs.settings import EvaluateSettings, PromptSetting
from tasks.evaluation.intervals import Ratio, bootstrap, wilson
from tasks.evaluation.metrics import Codes, Floats, bounds, count_codes, score_tables
from tasks.evaluation.outcomes import Grid
from tasks.evaluation.paired import holm, mcnemar, observed_detectable, sign_flip, sign_flip_mean
from tasks.verify.results import (
    AVERAGE,
    METRICS,
    PAIRED_METRICS,
    Cell,
    Difference,
    Estimate,
    Metric,
    PairedMetric,
    PopularityCell,
    SeedCell,
    SeedDifference,
)

FAMILIES: tuple[tuple[PairedMetric, ...], ...] = (("truthfulness", "hallucination", "accuracy"), ("abstention",))
"""Metrics that stand in one printed table and are corrected together."""
POPULARITIES = ("head", "mid", "rare", "never")


@dataclass(frozen=True)
class Scope:
    """The questions and prompt settings that a figure speaks about; several strata are averaged unweighted."""

    grid: Grid
    settings: tuple[PromptSetting, ...]
    strata: tuple[tuple[int, ...], ...]
    """Indices of questions, a tuple a stratum."""
    evaluate: EvaluateSettings

    @classmethod
    def of_sets(
        cls, grid: Grid, settings: Sequence[PromptSetting], datasets: Sequence[str], evaluate: EvaluateSettings
    ) -> Scope:
        strata = tuple(tuple(int(index) for index in grid.members(dataset)) for dataset in datasets)
        return cls(grid, tuple(settings), strata, evaluate)

    def codes(self, method: str, seeds: Sequence[int] | None = None) -> list[Codes]:
        """codes_RQ a stratum."""
        rows = self.grid.rows(method, self.settings, seeds)
        return [rows[:, list(members)] for members in self.strata]

    def ratio(self, method: str, metric: Metric, seeds: Sequence[int] | None = None) -> Ratio:
        """A method's rate."""
        values, units = score_tables(self.evaluate.weights)[metric]
        strata = tuple((values[codes].sum(axis=0), units[codes].sum(axis=0)) for codes in self.codes(method, seeds))
        return Ratio(strata, *bounds(metric, self.evaluate.weights))

    def paired(self, first: str, second: str, metric: PairedMetric, seeds: Sequence[int] | None = None) -> Ratio:
        """The difference first - second over the responses that are scored on both sides."""
        together = seeds if seeds is not None else self.grid.common_seeds(first, second)
        values, units = score_tables(self.evaluate.weights)[metric]
        strata: list[tuple[Floats, Floats]] = []
        for a_RQ, b_RQ in zip(self.codes(first, together), self.codes(second, together), strict=True):
            both_RQ = units[a_RQ] * units[b_RQ]
            strata.append((((values[a_RQ] - values[b_RQ]) * both_RQ).sum(axis=0), both_RQ.sum(axis=0)))
        lowest, highest = bounds(metric, self.evaluate.weights)
        return Ratio(tuple(strata), lowest - highest, highest - lowest)

    def discordance(self, first: str, second: str, metric: PairedMetric) -> float | None:
        """Share of pairs that differ, mean over strata."""
        together = self.grid.common_seeds(first, second)
        values, units = score_tables(self.evaluate.weights)[metric]
        shares = []
        for a_RQ, b_RQ in zip(self.codes(first, together), self.codes(second, together), strict=True):
            both_RQ = (units[a_RQ] * units[b_RQ]) > 0
            if not both_RQ.any():
                return None
            shares.append(float((values[a_RQ] != values[b_RQ])[both_RQ].mean()))
        return float(np.mean(shares))

    def estimate(self, ratios: Sequence[Ratio]) -> list[Estimate]:
        """Bootstrap of these ratios on one set of resamples."""
        return bootstrap(ratios, self.evaluate.bootstrap, self.evaluate.confidence)


def difference(
    scope: Scope, first: str, second: str, metric: PairedMetric, estimate: Estimate, by_seed: bool = True
) -> Difference:
    """The paired difference first - second with its tests, p not yet corrected.

    Args:
        estimate: the interval of scope.paired(first, second, metric), made together with others.
        by_seed: test every training seed by itself as well.
    """
    ratio = scope.paired(first, second, metric)
    measured = estimate.value is not None
    together = scope.grid.common_seeds(first, second)
    return Difference(
        **estimate.model_dump(),
        p=_pooled_p(ratio) if measured else None,
        detectable=observed_detectable(_sums(ratio)) if measured else None,
        pairs=int(sum(pairs_Q.sum() for _, pairs_Q in ratio.strata)),
        questions=sum(int((pairs_Q > 0).sum()) for _, pairs_Q in ratio.strata),
        discordance=scope.discordance(first, second, metric),
        seeds=tuple(_in_seed(scope, first, second, metric, seed) for seed in together) if by_seed else (),
    )


def _sums(ratio: Ratio) -> list[tuple[Floats, float]]:
    return [(sums_Q, float(pairs_Q.sum())) for sums_Q, pairs_Q in ratio.strata]


def _pooled_p(ratio: Ratio) -> float:
    return sign_flip(ratio.strata[0][0]) if len(ratio.strata) == 1 else sign_flip_mean(_sums(ratio))


def _in_seed(scope: Scope, first: str, second: str, metric: PairedMetric, seed: int) -> SeedDifference:
    ratio = scope.paired(first, second, metric, [seed])
    value = ratio.value()
    if value is None:
        return SeedDifference(seed=seed, value=None, p=None)
    if len(ratio.strata) > 1:
        return SeedDifference(seed=seed, value=value, p=None)
    sums_Q, pairs_Q = ratio.strata[0]
    if metric != "truthfulness" and pairs_Q.max() == 1:
        return SeedDifference(seed=seed, value=value, p=mcnemar(int((sums_Q > 0).sum()), int((sums_Q < 0).sum())))
    return SeedDifference(seed=seed, value=value, p=sign_flip(sums_Q))


def table(grid: Grid, methods: Sequence[str], setting: PromptSetting, evaluate: EvaluateSettings) -> list[Cell]:
    """One prompt setting's table: every method on every set and on their average, Holm over all its tests."""
    cells: list[Cell] = []
    for dataset in grid.datasets:
        cells += _cells(Scope.of_sets(grid, [setting], [dataset], evaluate), dataset, methods, setting)
    if len(grid.datasets) > 1:
        cells += _cells(Scope.of_sets(grid, [setting], grid.datasets, evaluate), AVERAGE, methods, setting)
    return _with_holm(cells)


def _cells(scope: Scope, dataset: str, methods: Sequence[str], setting: PromptSetting) -> list[Cell]:
    base = scope.evaluate.base_method
    ratios: dict[tuple[str, str, str, int | None], Ratio] = {}
    for method in methods:
        for metric in METRICS:
            ratios[method, "rate", metric, None] = scope.ratio(method, metric)
            for seed in scope.grid.seeds(method):
                ratios[method, "rate", metric, seed] = scope.ratio(method, metric, [seed])
        if method != base:
            for paired_metric in PAIRED_METRICS:
                ratios[method, "difference", paired_metric, None] = scope.paired(method, base, paired_metric)
    found = dict(zip(ratios, scope.estimate(list(ratios.values())), strict=True))
    return [
        Cell(
            method=method,
            dataset=dataset,
            setting=setting,
            counts=count_codes(np.concatenate([codes.ravel() for codes in scope.codes(method)])),
            estimates={metric: found[method, "rate", metric, None] for metric in METRICS},
            seeds=tuple(
                _seed_cell(scope, method, seed, {m: found[method, "rate", m, seed] for m in METRICS})
                for seed in scope.grid.seeds(method)
            ),
            against_base={
                m: difference(scope, method, base, m, found[method, "difference", m, None])
                for m in PAIRED_METRICS
                if method != base
            },
        )
        for method in methods
    ]


def _seed_cell(scope: Scope, method: str, seed: int, estimates: dict[Metric, Estimate]) -> SeedCell:
    """One seed: Wilson where a rate is one proportion of independent responses, else the bootstrap's estimate."""
    counts = count_codes(np.concatenate([codes.ravel() for codes in scope.codes(method, [seed])]))
    if len(scope.strata) == 1 and len(scope.settings) == 1:
        level = scope.evaluate.confidence
        trials: dict[Metric, tuple[int, int]] = {
            "hallucination": (counts.incorrect, counts.scored),
            "accuracy": (counts.correct, counts.scored),
            "abstention": (counts.abstained, counts.scored),
            "attempted_accuracy": (counts.correct, counts.correct + counts.incorrect),
        }
        estimates = estimates | {metric: wilson(*pair, confidence=level) for metric, pair in trials.items()}
    return SeedCell(seed=seed, counts=counts, estimates=estimates)


def _with_holm(cells: Sequence[Cell]) -> list[Cell]:
    """Correct within each printed table: truthfulness, hallucination and accuracy; abstention by itself."""
    updated = [dict(cell.against_base) for cell in cells]
    for family in FAMILIES:
        places = [(index, metric) for index, cell in enumerate(cells) if cell.against_base for metric in family]
        corrected = holm([cells[index].against_base[metric].p for index, metric in places])
        for (index, metric), p_holm in zip(places, corrected, strict=True):
            updated[index][metric] = updated[index][metric].model_copy(update={"p_holm": p_holm})
    return [cell.model_copy(update={"against_base": new}) for cell, new in zip(cells, updated, strict=True)]


def by_popularity(grid: Grid, methods: Sequence[str], setting: PromptSetting) -> list[PopularityCell]:
    """Outcomes by popularity of the fact, where the set tells it; seeds and sets pooled."""
    popularity = np.array([question.popularity or "" for question in grid.questions])
    named = set(popularity.tolist()) - {""}
    order = [name for name in POPULARITIES if name in named] + sorted(named - set(POPULARITIES))
    return [
        PopularityCell(
            method=method,
            setting=setting,
            popularity=name,
            counts=count_codes(grid.rows(method, [setting])[:, popularity == name]),
        )
        for method in methods
        for name in order
    ]
