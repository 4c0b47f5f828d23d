from __future__ import annotations

from configs.settings import PromptSetting
from tasks.core.records import Question, References
from tasks.verify.asking import ask_every_setting, ask_in_turn

TEMPLATES: dict[PromptSetting, str] = {"closed_book": "Q {question}", "retrieval": "R {references} Q {question}"}
QUESTIONS = [
    Question(id=name, dataset="crag", split="train", question=f"{name}?", answers=("x",), group=name) for name in "cab"
]
REFERENCES = {name: References(question_id=name, texts=(f"page {name}",)) for name in "ab"}


def test_every_setting_asks_each_question_in_each() -> None:
    asked = ask_every_setting(QUESTIONS, REFERENCES, TEMPLATES)
    assert [(prompt.key, prompt.messages[0]["content"]) for prompt in asked] == [
        (("c", "closed_book"), "Q c?"),
        (("a", "closed_book"), "Q a?"),
        (("b", "closed_book"), "Q b?"),
        (("c", "retrieval"), "R  Q c?"),  # no page was found for c
        (("a", "retrieval"), "R page a Q a?"),
        (("b", "retrieval"), "R page b Q b?"),
    ]


def test_in_turn_alternates_over_the_questions_by_id() -> None:
    asked = ask_in_turn(QUESTIONS, REFERENCES, TEMPLATES)
    assert [prompt.key for prompt in asked] == [("a", "closed_book"), ("b", "retrieval"), ("c", "closed_book")]
    assert asked[1].messages[0]["content"] == "R page b Q b?"


def test_in_turn_does_not_depend_on_the_order_given() -> None:
    assert ask_in_turn(QUESTIONS[::-1], REFERENCES, TEMPLATES) == ask_in_turn(QUESTIONS, REFERENCES, TEMPLATES)


def test_one_setting_asks_all_questions_in_it() -> None:
    asked = ask_in_turn(QUESTIONS, REFERENCES, {"closed_book": "Q {question}"})
    assert {prompt.setting for prompt in asked} == {"closed_book"}


def test_references_never_leak_into_the_closed_book() -> None:
    (asked, *_) = ask_every_setting(QUESTIONS[1:2], REFERENCES, {"closed_book": "{references}|{question}"})
    assert asked.messages[0]["content"] == "|a?"
