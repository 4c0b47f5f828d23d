from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from configs.settings import PromptSetting
from tasks.core.records import GradedResponse, Outcome, Question, Response, Verdict
from tasks.core.rows import write_rows
from tasks.evaluation.outcomes import load_grid

SETTINGS: tuple[PromptSetting, ...] = ("closed_book", "retrieval")
QUESTIONS = [
    Question(id=name, dataset="crag", split="test", question="?", answers=("x",), group=name)
    for name in ("a", "b", "z")
]


def graded(question: str, setting: PromptSetting, outcome: Outcome) -> GradedResponse:
    response = Response(question_id=question, setting=setting, sample=0, text="t", finished=True, tokens=1)
    return GradedResponse(response=response, verdict=Verdict(outcome=outcome, answer="t", via="judge"))


def evaluation(folder: Path, method: str, seed: int, rows: Sequence[GradedResponse]) -> Path:
    folder.mkdir()
    write_rows(folder / "responses.parquet", rows)
    (folder / "meta.json").write_text(json.dumps({"method": method, "seed": seed}))
    return folder


def test_reads_outcomes_and_keeps_only_asked_questions(tmp_path: Path) -> None:
    base = evaluation(
        tmp_path / "base",
        "base",
        0,
        [graded("b", "retrieval", Outcome.ABSTAINED), graded("a", "closed_book", Outcome.UNSCORED)],
    )
    grid = load_grid([base], QUESTIONS, ["base"], SETTINGS)
    assert [question.id for question in grid.questions] == ["a", "b"]
    assert grid.codes["base", 0].tolist() == [[3, -1], [-1, 1]]


def test_a_method_without_evaluation_is_named(tmp_path: Path) -> None:
    base = evaluation(tmp_path / "base", "base", 0, [graded("a", "retrieval", Outcome.CORRECT)])
    with pytest.raises(ValueError, match=r"no evaluation of \['sft'\]"):
        load_grid([base], QUESTIONS, ["base", "sft"], SETTINGS)


def test_an_unknown_method_is_named(tmp_path: Path) -> None:
    base = evaluation(tmp_path / "base", "other", 0, [graded("a", "retrieval", Outcome.CORRECT)])
    with pytest.raises(ValueError, match="'other'"):
        load_grid([base], QUESTIONS, ["base"], SETTINGS)


def test_the_same_evaluation_twice_is_refused(tmp_path: Path) -> None:
    base = evaluation(tmp_path / "base", "base", 0, [graded("a", "retrieval", Outcome.CORRECT)])
    with pytest.raises(ValueError, match="two evaluations of base seed 0"):
        load_grid([base, base], QUESTIONS, ["base"], SETTINGS)


def test_a_response_that_stands_twice_is_refused(tmp_path: Path) -> None:
    row = graded("a", "retrieval", Outcome.CORRECT)
    with pytest.raises(ValueError, match="'a' stands twice"):
        load_grid([evaluation(tmp_path / "base", "base", 0, [row, row])], QUESTIONS, ["base"], SETTINGS)


def test_an_unknown_question_is_refused(tmp_path: Path) -> None:
    base = evaluation(tmp_path / "base", "base", 0, [graded("ghost", "retrieval", Outcome.CORRECT)])
    with pytest.raises(ValueError, match="'ghost'"):
        load_grid([base], QUESTIONS, ["base"], SETTINGS)


def test_a_setting_that_is_not_evaluated_is_refused(tmp_path: Path) -> None:
    base = evaluation(tmp_path / "base", "base", 0, [graded("a", "retrieval", Outcome.CORRECT)])
    with pytest.raises(ValueError, match="prompt setting 'retrieval'"):
        load_grid([base], QUESTIONS, ["base"], ("closed_book",))
