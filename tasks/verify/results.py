"""Records of what an evaluation found: the contract between the statistics and the report.

Shares lie in 0..1 and truthfulness in -w3..w1 (TruthRL section 2.1); nothing here is in per cent.
None stands for "could not be measured" and never for zero.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from configs.settings import PromptSetting
from tasks.core.records import Record

Metric = Literal["truthfulness", "hallucination", "accuracy", "abstention", "attempted_accuracy"]
METRICS: tuple[Metric, ...] = get_args(Metric)
PairedMetric = Literal["truthfulness", "hallucination", "accuracy", "abstention"]
PAIRED_METRICS: tuple[PairedMetric, ...] = get_args(PairedMetric)
AVERAGE = "average"
"""Name of the unweighted mean over the sets, where a set's name is asked for (TruthRL Table 1)."""
Ruling = Literal["holds", "does not hold", "not resolved", "not tested"]


class Counts(Record):
    """Responses by outcome."""

    correct: int = 0
    abstained: int = 0
    incorrect: int = 0
    unscored: int = 0

    @property
    def scored(self) -> int:
        """Responses that have an outcome: the denominator of every rate."""
        return self.correct + self.abstained + self.incorrect


class Estimate(Record):
    """A value with its interval; bounds are None where no interval can be given (fewer than two questions)."""

    value: float | None
    low: float | None = None
    high: float | None = None


class SeedDifference(Record):
    """Difference from the base in one training seed."""

    seed: int
    value: float | None
    p: float | None
    """Two-sided exact test within this seed; McNemar's where the measure is a yes or no.

    None for an average over sets, which is tested over all seeds only."""


class Difference(Estimate):
    """Paired difference (first minus second) on the same questions, pooled over seeds."""

    p: float | None
    """Sign-flip test with the question as the unit, two-sided."""
    p_holm: float | None = None
    """p after Holm's correction within its table."""
    detectable: float | None
    """Smallest difference that a test of this size sees with 80% power."""
    pairs: int
    """Responses compared: scored on both sides."""
    questions: int
    """Questions with at least one pair: the independent units."""
    discordance: float | None
    """Share of pairs on which the two sides differ in this measure."""
    seeds: tuple[SeedDifference, ...] = ()


class SeedCell(Record):
    """One method, set and prompt setting in one training seed; Wilson intervals, bootstrap for truthfulness."""

    seed: int
    counts: Counts
    estimates: dict[Metric, Estimate]


class Cell(Record):
    """One method on one set in one prompt setting, seeds pooled."""

    method: str
    dataset: str
    """A set's name or AVERAGE."""
    setting: PromptSetting
    counts: Counts
    estimates: dict[Metric, Estimate]
    seeds: tuple[SeedCell, ...] = ()
    against_base: dict[PairedMetric, Difference] = Field(default_factory=dict)
    """Empty for the base itself."""


class PopularityCell(Record):
    """One method's outcomes on facts of one popularity, seeds and sets pooled."""

    method: str
    setting: PromptSetting
    popularity: str
    counts: Counts


class PartOutcome(Record):
    """One comparison of a claim, and what the run says about it."""

    text: str
    """The comparison, as "ternary's hallucination is below sft's"."""
    metric: PairedMetric
    estimate: Difference | Estimate | None
    seeds_holding: int
    seeds: int
    ruling: Ruling
    words: str
    """The finding, generated from the figures."""


class ClaimOutcome(Record):
    """A claim of the paper, and what the run says about it."""

    id: str
    scope: PromptSetting | Literal["all"]
    says: str
    source: str
    ruling: Ruling
    parts: tuple[PartOutcome, ...]


class Results(Record):
    """Every figure of a comparison of methods."""

    recipe: str
    base_method: str
    confidence: float
    resamples: int
    weights: tuple[float, float, float]
    methods: tuple[str, ...]
    settings: tuple[PromptSetting, ...]
    datasets: tuple[str, ...]
    seeds: dict[str, tuple[int, ...]]
    """Training seeds by method."""
    questions: dict[str, int]
    """Evaluated questions by set."""
    cells: tuple[Cell, ...]
    popularity: tuple[PopularityCell, ...]
    claims: tuple[ClaimOutcome, ...]

    def cell(self, setting: str, dataset: str, method: str) -> Cell:
        """The cell of the results table.

        Raises:
            KeyError: the run has none.
        """
        for cell in self.cells:
            if (cell.setting, cell.dataset, cell.method) == (setting, dataset, method):
                return cell
        raise KeyError(f"no results for {method} on {dataset}, {setting}")
