from __future__ import annotations

from typing import Any

from tasks.core.records import KnowledgeLabel, Question
from tasks.training.examples import gold_answer, sft_examples, target_text
from tasks.verify.asking import Asked
from tasks.verify.extract import final_answer


def asked(name: str, **fields: Any) -> Asked:
    given: dict[str, Any] = {"answers": ("Oslo", "Kristiania"), **fields}
    question = Question(id=name, dataset="crag", split="train", question=f"{name}?", group=name, **given)
    return Asked(question, "closed_book", [{"role": "user", "content": f"{name}?"}])


def label(name: str, out_of_knowledge: bool, setting: Any = "closed_book") -> KnowledgeLabel:
    counts = {"drawn": 1, "correct": 0, "abstained": 0, "incorrect": 1, "unscored": 0}
    return KnowledgeLabel(question_id=name, setting=setting, out_of_knowledge=out_of_knowledge, **counts)


def test_target_is_an_empty_trace_and_the_boxed_answer() -> None:
    assert target_text("Oslo") == "<think></think>\\boxed{Oslo}"


def test_target_is_read_back_by_the_grader() -> None:
    for answer in ("Oslo", "I don't know", "invalid question", "3 {of 4}"):
        assert final_answer(target_text(answer)) == answer


def test_gold_is_the_reference_and_a_false_premise_is_named() -> None:
    assert gold_answer(asked("a").question) == "Oslo"
    assert gold_answer(asked("a", false_premise=True, answers=()).question) == "invalid question"


def test_sft_learns_every_answer() -> None:
    examples, dropped = sft_examples([asked("a"), asked("b", false_premise=True), asked("c", answers=())], "gold")
    assert [example.completion for example in examples] == [target_text("Oslo"), target_text("invalid question")]
    assert examples[0].prompt == ({"role": "user", "content": "a?"},)
    assert dropped == {"no_answer": 1}


def test_r_tuning_refuses_what_is_out_of_knowledge() -> None:
    labels = [label("a", True), label("b", False), label("c", True), label("d", False, "retrieval")]
    prompts = [asked("a"), asked("b"), asked("c", false_premise=True), asked("d")]
    examples, dropped = sft_examples(prompts, "refuse_ook", labels)
    assert {example.question_id: example.completion for example in examples} == {
        "a": target_text("I don't know"),
        "b": target_text("Oslo"),
        "c": target_text("I don't know"),
    }
    assert dropped == {"no_label": 1}  # d was probed in another setting
