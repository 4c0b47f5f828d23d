from __future__ import annotations

import json
from pathlib import Path

import pytest

from configs.settings import EvaluateSettings, MethodSettings, RunSettings
from tasks.core.artifacts import ArtifactRef, ArtifactStore
from tasks.core.records import GradedResponse, Outcome, Question, Response, Verdict
from tasks.core.rows import write_rows
from tasks.core.stage import Stage, produce
from tasks.evaluation.results import ResultsConfig
from tasks.verify.results import Counts, Results

METHODS = {
    "base": MethodSettings(trainer="none"),
    "plain": MethodSettings(trainer="sft", targets="gold"),
    "ours": MethodSettings(trainer="grpo", reward="ternary"),
}
OUTCOMES = {"base": "cciiiiiiiiia", "plain": "ccciiiiiiiii", "ours": "ccccaaaaaaau"}
LETTERS = {"c": Outcome.CORRECT, "a": Outcome.ABSTAINED, "i": Outcome.INCORRECT, "u": Outcome.UNSCORED}


def reference(folder: Path, kind: str, name: str) -> ArtifactRef:
    return ArtifactRef(kind=kind, key=name, digest=name, rows=1, path=str(folder))


def write_inputs(root: Path) -> dict[str, list[ArtifactRef]]:
    asked = root / "questions"
    asked.mkdir()
    ids = [f"q{index}" for index in range(12)]
    write_rows(
        asked / "questions.parquet",
        [Question(id=one, dataset="crag", split="test", question="?", answers=("x",), group=one) for one in ids],
    )
    evaluations = []
    for method, letters in OUTCOMES.items():
        for seed in (0, 1):
            folder = root / f"{method}-{seed}"
            folder.mkdir()
            rows = [
                GradedResponse(
                    response=Response(
                        question_id=one, setting="closed_book", sample=0, text="t", finished=True, tokens=1
                    ),
                    verdict=Verdict(outcome=LETTERS[letter], answer="t", via="judge"),
                )
                for one, letter in zip(ids, letters, strict=True)
            ]
            write_rows(folder / "responses.parquet", rows)
            (folder / "meta.json").write_text(json.dumps({"method": method, "seed": seed}))
            evaluations.append(reference(folder, "evaluation", f"{method}-{seed}"))
    return {"evaluation": evaluations, "questions": [reference(asked, "questions", "q")]}


def test_the_stage_by_hand(tmp_path: Path) -> None:
    evaluate = EvaluateSettings(prompt_settings=("closed_book",), bootstrap=200, base_method="base")
    config = ResultsConfig(recipe="truthrl", methods=METHODS, evaluate=evaluate)
    run = RunSettings(store=str(tmp_path / "store"))
    made = produce(Stage.of("results", "tasks.evaluation.results:run", "compare", config), write_inputs(tmp_path), run)
    results = Results.model_validate_json((Path(made.path) / "results.json").read_bytes())

    ours = results.cell("closed_book", "crag", "ours")
    assert ours.counts == Counts(correct=8, abstained=14, unscored=2)
    assert ours.estimates["truthfulness"].value == pytest.approx(4 / 11)
    assert ours.against_base["hallucination"].value == pytest.approx(-9 / 11)
    assert results.seeds == {"base": (0, 1), "plain": (0, 1), "ours": (0, 1)}
    assert results.questions == {"crag": 12}

    rulings = {claim.id: claim.ruling for claim in results.claims}
    assert rulings["ternary-below-sft"] == "holds"
    assert rulings["r-tuning-trade-off"] == "not tested"
    assert {claim.scope for claim in results.claims} == {"all"}, "one setting needs no split"

    manifest = ArtifactStore(run.store).manifest(made)
    assert manifest.unscored == {"ours, crag, closed_book": 2}
    assert manifest.counts == {"questions": 12}


def test_a_recipe_without_claims_has_none(tmp_path: Path) -> None:
    evaluate = EvaluateSettings(prompt_settings=("closed_book",), bootstrap=50, base_method="base")
    config = ResultsConfig(recipe="other", methods=METHODS, evaluate=evaluate)
    run = RunSettings(store=str(tmp_path / "store"))
    made = produce(Stage.of("results", "tasks.evaluation.results:run", "compare", config), write_inputs(tmp_path), run)
    assert Results.model_validate_json((Path(made.path) / "results.json").read_bytes()).claims == ()


def test_an_unknown_cell_is_an_error() -> None:
    results = Results(
        recipe="r",
        base_method="b",
        confidence=0.95,
        resamples=1,
        weights=(1, 0, 1),
        methods=("b",),
        settings=("closed_book",),
        datasets=("crag",),
        seeds={"b": (0,)},
        questions={"crag": 0},
        cells=(),
        popularity=(),
        claims=(),
    )
    with pytest.raises(KeyError, match="no results for b on crag"):
        results.cell("closed_book", "crag", "b")
