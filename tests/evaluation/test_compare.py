from __future__ import annotations

from typing import Any

import pytest

from configs.settings import EvaluateSettings, MethodSettings
from tasks.evaluation.claims_truthrl import CLAIMS
from tasks.evaluation.compare import Claim, Part, check_claims, role
from tasks.evaluation.tables import Scope
from tasks.verify.results import ClaimOutcome

EVALUATE = EvaluateSettings(bootstrap=1000, base_method="prompting")
METHODS = {"sft": "sft", "grpo_ternary": "truthrl"}
LOWER = Claim(
    id="lower",
    says="Lower.",
    source="test",
    parts=(Part(metric="hallucination", left="grpo_ternary", relation="below", right="sft"),),
)


def check(grid: Any, claim: Claim = LOWER) -> ClaimOutcome:
    scope = Scope.of_sets(grid, grid.settings, grid.datasets, EVALUATE)
    return check_claims([claim], scope, METHODS, "all")[0]


def test_a_claim_that_holds(grid_of: Any) -> None:
    grid = grid_of(
        {(name, seed): text for name, text in (("sft", "i" * 20), ("truthrl", "c" * 20)) for seed in range(3)}
    )
    found = check(grid)
    assert found.ruling == "holds"
    assert found.parts[0].words.startswith("holds in 3 of 3 seeds; difference -100.0 points [-100.0, ")
    assert found.parts[0].words.endswith("p < 0.001")
    assert found.parts[0].text == "hallucination of truthrl below sft"


def test_a_claim_that_the_run_contradicts(grid_of: Any) -> None:
    found = check(grid_of({("sft", 0): "c" * 20, ("truthrl", 0): "i" * 20}))
    assert found.ruling == "does not hold"
    assert "other side of 0; claimed direction in 0 of 1 seeds" in found.parts[0].words


def test_an_interval_that_includes_0_resolves_nothing(grid_of: Any) -> None:
    found = check(grid_of({("sft", 0): "cici" * 5, ("truthrl", 0): "icci" * 5}))
    assert found.ruling == "not resolved"
    assert found.parts[0].words.startswith("not resolved: the interval includes 0")


def test_few_questions_are_stopped_by_the_test(grid_of: Any) -> None:
    """Four of four better: the bootstrap excludes 0, the exact test (p = 1/8) does not."""
    found = check(grid_of({("sft", 0): "iiiic", ("truthrl", 0): "cccci"}))
    assert found.ruling == "not resolved"
    few = check(grid_of({("sft", 0): "iiiii", ("truthrl", 0): "cccca"}))
    assert few.parts[0].estimate is not None
    assert few.ruling == "not resolved"
    assert "p = 0.062 after Holm's correction" in few.parts[0].words


def test_seeds_are_counted_one_by_one(grid_of: Any) -> None:
    grid = grid_of(
        {
            ("sft", 0): "i" * 30,
            ("sft", 1): "i" * 30,
            ("sft", 2): "c" * 29 + "i",
            ("truthrl", 0): "c" * 30,
            ("truthrl", 1): "c" * 30,
            ("truthrl", 2): "c" * 28 + "ii",
        }
    )
    found = check(grid).parts[0]
    assert (found.seeds_holding, found.seeds) == (2, 3)
    assert found.words.startswith("holds in 2 of 3 seeds")


@pytest.mark.parametrize(
    ("outcomes", "ruling"),
    [("i" * 200, "holds"), ("a" * 100 + "i" * 100, "does not hold"), ("a" + "i" * 19, "not resolved")],
)
def test_a_bound(grid_of: Any, outcomes: str, ruling: str) -> None:
    claim = Claim(
        id="bound",
        says="Bound.",
        source="test",
        parts=(Part(metric="abstention", left="sft", relation="at most", bound=0.05),),
    )
    found = check(grid_of({("sft", 0): outcomes, ("truthrl", 0): outcomes}), claim)
    assert found.ruling == ruling
    assert found.parts[0].text == "abstention of sft at most 5.0%"


def test_an_absent_method_is_said(grid_of: Any) -> None:
    claim = LOWER.model_copy(
        update={"parts": (*LOWER.parts, Part(metric="accuracy", left="sft", relation="above", right="r_tuning"))}
    )
    found = check(grid_of({("sft", 0): "i" * 20, ("truthrl", 0): "c" * 20}), claim)
    assert found.ruling == "not tested"
    assert [part.ruling for part in found.parts] == ["holds", "not tested"]
    assert found.parts[1].words == "not tested: the run has no method r_tuning"


def test_all_unscored_is_not_tested(grid_of: Any) -> None:
    found = check(grid_of({("sft", 0): "u" * 5, ("truthrl", 0): "c" * 5}))
    assert found.ruling == "not tested"
    assert "no responses are scored" in found.parts[0].words


def test_one_failing_part_fails_the_claim(grid_of: Any) -> None:
    claim = LOWER.model_copy(
        update={"parts": (*LOWER.parts, Part(metric="accuracy", left="grpo_ternary", relation="below", right="sft"))}
    )
    assert check(grid_of({("sft", 0): "i" * 20, ("truthrl", 0): "c" * 20}), claim).ruling == "does not hold"


def test_roles() -> None:
    assert role(MethodSettings(trainer="none")) == "prompting"
    assert role(MethodSettings(trainer="sft", targets="gold")) == "sft"
    assert role(MethodSettings(trainer="sft", targets="refuse_ook")) == "r_tuning"
    assert role(MethodSettings(trainer="grpo", reward="ternary")) == "grpo_ternary"


def test_truthrl_claims_name_known_roles_and_are_distinct() -> None:
    roles = {"prompting", "sft", "r_tuning", "grpo_binary", "grpo_ternary"}
    assert {name for claim in CLAIMS for part in claim.parts for name in (part.left, part.right) if name} == roles
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(
    "fields",
    [
        {"relation": "below"},
        {"relation": "below", "right": "sft", "bound": 0.1},
        {"relation": "at most"},
        {"relation": "at most", "right": "sft"},
        {"relation": "above", "bound": 0.1},
    ],
)
def test_a_comparison_has_one_threshold(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a comparison has"):
        Part.model_validate({"metric": "accuracy", "left": "prompting", **fields})
