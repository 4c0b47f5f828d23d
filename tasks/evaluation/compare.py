"""Claims of a paper put to the test: comparisons as data, findings in words generated from outcomes.

A claim is one or more comparisons that must all hold. A comparison holds when the pooled interval lies on
the claimed side and, where there is a test, Holm's p over all comparisons of its scope is below 1 -
confidence; it does not hold when the interval lies on the other side; else it is not resolved. In how many
training seeds the difference has the claimed sign is told beside, since the interval is about questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import model_validator

from configs.settings import MethodSettings, PromptSetting
from tasks.core.records import Record
from tasks.evaluation.paired import holm
from tasks.evaluation.tables import Scope, difference
from tasks.verify.results import ClaimOutcome, Difference, Estimate, PairedMetric, PartOutcome, Ruling


class Part(Record):
    """One comparison: a metric of `left` below or above that of `right`, or at most `bound`."""

    metric: PairedMetric
    left: str
    """Role of a method, see role()."""
    relation: Literal["below", "above", "at most"]
    right: str | None = None
    bound: float | None = None

    @model_validator(mode="after")
    def _one_threshold(self) -> Part:
        if (self.relation == "at most") != (self.bound is not None) or (self.bound is None) != (self.right is not None):
            raise ValueError("a comparison has `right` with below or above, or `bound` with at most")
        return self


class Claim(Record):
    """What a paper says, as comparisons that a run can check."""

    id: str
    says: str
    source: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class _Measured:
    part: Part
    text: str
    estimate: Difference | Estimate
    by_seed: tuple[float | None, ...]


def role(method: MethodSettings) -> str:
    """What a method is, whatever a recipe calls it: prompting, sft, r_tuning or grpo_<reward>."""
    if method.trainer == "grpo":
        return f"grpo_{method.reward}"
    return {None: "prompting", "gold": "sft", "refuse_ook": "r_tuning"}[method.targets]


def check_claims(
    claims: Sequence[Claim], scope: Scope, methods: Mapping[str, str], name: PromptSetting | Literal["all"]
) -> list[ClaimOutcome]:
    """Every claim's outcome in one scope.

    Args:
        claims: the claims.
        scope: questions and settings that they are checked on.
        methods: a run's method by role; a comparison with an absent role is "not tested".
        name: name of the scope.
    """
    parts = [part for claim in claims for part in claim.parts]
    measured = _measure(parts, scope, methods)
    alpha = 1 - scope.evaluate.confidence
    outcomes = iter([_judge(part, found, alpha, methods) for part, found in zip(parts, measured, strict=True)])
    return [_claim_outcome(claim, tuple(next(outcomes) for _ in claim.parts), name) for claim in claims]


def _measure(parts: Sequence[Part], scope: Scope, methods: Mapping[str, str]) -> list[_Measured | None]:
    known = [part for part in parts if part.left in methods and (part.right is None or part.right in methods)]
    ratios = [
        scope.ratio(methods[part.left], part.metric)
        if part.right is None
        else scope.paired(methods[part.left], methods[part.right], part.metric)
        for part in known
    ]
    found = [_one(part, scope, methods, estimate) for part, estimate in zip(known, scope.estimate(ratios), strict=True)]
    corrected = holm([one.estimate.p if isinstance(one.estimate, Difference) else None for one in found])
    done = iter(
        _Measured(one.part, one.text, one.estimate.model_copy(update={"p_holm": p}), one.by_seed)
        if isinstance(one.estimate, Difference)
        else one
        for one, p in zip(found, corrected, strict=True)
    )
    return [next(done) if part in known else None for part in parts]


def _one(part: Part, scope: Scope, methods: Mapping[str, str], estimate: Estimate) -> _Measured:
    left = methods[part.left]
    if part.right is None:
        by_seed = tuple(scope.ratio(left, part.metric, [seed]).value() for seed in scope.grid.seeds(left))
        return _Measured(part, _text(part, methods), estimate, by_seed)
    whole = difference(scope, left, methods[part.right], part.metric, estimate)
    return _Measured(part, _text(part, methods), whole, tuple(seed.value for seed in whole.seeds))


def _text(part: Part, methods: Mapping[str, str]) -> str:
    left = methods.get(part.left, part.left)
    if part.right is None:
        return f"{part.metric} of {left} at most {_points(part.bound or 0.0)}%"
    return f"{part.metric} of {left} {part.relation} {methods.get(part.right, part.right)}"


def _judge(part: Part, found: _Measured | None, alpha: float, methods: Mapping[str, str]) -> PartOutcome:
    if found is None or found.estimate.value is None:
        absent = [name for name in (part.left, part.right) if name is not None and name not in methods]
        reason = f"the run has no method {' and '.join(absent)}" if absent else "no responses are scored on both sides"
        return PartOutcome(
            text=_text(part, methods),
            metric=part.metric,
            estimate=None,
            seeds_holding=0,
            seeds=0,
            ruling="not tested",
            words=f"not tested: {reason}",
        )
    values = [value for value in found.by_seed if value is not None]
    holding = sum(_on_side(part, value) for value in values)
    ruling, why = _rule(part, found.estimate, alpha)
    return PartOutcome(
        text=found.text,
        metric=part.metric,
        estimate=found.estimate,
        seeds_holding=holding,
        seeds=len(values),
        ruling=ruling,
        words=_words(ruling, why, holding, len(values), found.estimate, part),
    )


def _on_side(part: Part, value: float) -> bool:
    threshold = part.bound or 0.0
    return {"below": value < threshold, "above": value > threshold, "at most": value <= threshold}[part.relation]


def _rule(part: Part, estimate: Estimate, alpha: float) -> tuple[Ruling, str]:
    threshold = part.bound or 0.0
    what = f"the bound of {_points(threshold)}%" if part.right is None else "0"
    if estimate.low is None or estimate.high is None:
        return "not resolved", "too few questions for an interval"
    if part.relation == "above":
        claimed, opposite = estimate.low > threshold, estimate.high < threshold
    else:
        claimed, opposite = estimate.high < threshold, estimate.low > threshold
    if part.relation == "at most":
        claimed = estimate.high <= threshold
    if opposite:
        return "does not hold", "the interval lies on the other side of " + what
    if not claimed:
        return "not resolved", "the interval includes " + what
    if isinstance(estimate, Difference) and estimate.p_holm is not None and estimate.p_holm >= alpha:
        return "not resolved", f"p = {estimate.p_holm:.2g} after Holm's correction"
    return "holds", ""


def _words(ruling: Ruling, why: str, holding: int, seeds: int, estimate: Estimate, part: Part) -> str:
    assert estimate.value is not None
    kind = "value" if part.right is None else "difference"
    unit = "%" if part.right is None else " points"
    figure = f"{kind} {_points(estimate.value)}{unit}"
    if estimate.low is not None and estimate.high is not None:
        figure += f" [{_points(estimate.low)}, {_points(estimate.high)}]"
    if isinstance(estimate, Difference) and estimate.p_holm is not None:
        figure += ", p < 0.001" if estimate.p_holm < 0.001 else f", p = {estimate.p_holm:.3f}"
    if ruling == "holds":
        return f"holds in {holding} of {seeds} seeds; {figure}"
    return f"{ruling}: {why}; claimed direction in {holding} of {seeds} seeds; {figure}"


def _points(share: float) -> str:
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text


def _claim_outcome(claim: Claim, parts: tuple[PartOutcome, ...], name: PromptSetting | Literal["all"]) -> ClaimOutcome:
    rulings = {part.ruling for part in parts}
    order: tuple[Ruling, ...] = ("does not hold", "not tested", "not resolved", "holds")
    ruling = next(one for one in order if one in rulings)
    return ClaimOutcome(id=claim.id, scope=name, says=claim.says, source=claim.source, ruling=ruling, parts=parts)
