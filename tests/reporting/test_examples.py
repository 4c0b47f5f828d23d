from __future__ import annotations

import json
from pathlib import Path

from configs.settings import PromptSetting
from tasks.core.records import GradedResponse, Outcome, Question, Response, Verdict
from tasks.core.rows import write_rows
from tasks.reporting.examples import choose_examples

LETTERS = {"c": Outcome.CORRECT, "a": Outcome.ABSTAINED, "i": Outcome.INCORRECT, "u": Outcome.UNSCORED}
QUESTIONS = [
    Question(id=f"q{i}", dataset="crag", split="test", question="?", answers=("x",), group=f"q{i}") for i in range(4)
]


def evaluation(root: Path, method: str, seed: int, **by_setting: str) -> Path:
    folder = root / f"{method}-{seed}"
    folder.mkdir()
    settings: tuple[PromptSetting, ...] = ("closed_book", "retrieval")
    write_rows(
        folder / "responses.parquet",
        [
            GradedResponse(
                response=Response(
                    question_id=f"q{i}", setting=setting, sample=0, text=f"{method}{i}", finished=True, tokens=1
                ),
                verdict=Verdict(outcome=LETTERS[letter], answer=None, via="judge"),
            )
            for setting in settings
            for i, letter in enumerate(by_setting.get(setting, ""))
        ],
    )
    (folder / "meta.json").write_text(json.dumps({"method": method, "seed": seed}))
    return folder


def test_the_most_different_question_comes_first(tmp_path: Path) -> None:
    folders = [
        evaluation(tmp_path, "base", 1, closed_book="cccc"),
        evaluation(tmp_path, "base", 0, closed_book="ccic"),
        evaluation(tmp_path, "ours", 0, closed_book="uccc"),
    ]
    (found,) = choose_examples(folders, QUESTIONS, ["base", "ours"], 1)
    assert found.question.id == "q2"
    assert [(one.method, one.seed, one.outcome.value, one.text) for one in found.answers] == [
        ("base", 0, "incorrect", "base2"),
        ("ours", 0, "correct", "ours2"),
    ]


def test_settings_take_turns_and_no_question_comes_twice(tmp_path: Path) -> None:
    folders = [evaluation(tmp_path, "base", 0, closed_book="cccc", retrieval="cccc")]
    found = choose_examples(folders, QUESTIONS, ["base"], 4)
    assert len({one.question.id for one in found}) == len(found) >= 3
    assert {one.setting for one in found} <= {"closed_book", "retrieval"}
    assert found == choose_examples(folders, QUESTIONS, ["base"], 4)


def test_none_wanted(tmp_path: Path) -> None:
    assert choose_examples([evaluation(tmp_path, "base", 0, closed_book="cc")], QUESTIONS, ["base"], 0) == []
