"""Dealing sides: given ones, drawn ones, leaks and limits."""

from __future__ import annotations

from configs.settings import DataSettings
from tasks.core.records import Question
from tasks.curation.candidates import Side
from tasks.curation.leak import check_no_leak
from tasks.curation.split import Sided, deal


def row(dataset: str, number: int, side: Side | None = None, group: str | None = None) -> Sided:
    question = Question(
        id=f"{dataset}:{number}",
        dataset=dataset,
        split="test",
        question=f"{dataset} question {number}",
        answers=("a",),
        group=group or f"{dataset} group {number}",
    )
    return Sided(question, side)


def sides(questions: list[Question]) -> dict[str, set[str]]:
    return {side: {question.id for question in questions if question.split == side} for side in ("train", "test")}


def test_given_sides_are_kept_and_leaking_tests_dropped() -> None:
    sets = {
        "crag": [row("crag", 0, "train"), row("crag", 1, "test"), row("crag", 2, "test", "crag group 0")],
        "nq_open": [row("nq_open", 0), row("nq_open", 1, group="crag group 0")],
    }
    questions, dropped = deal(sets, DataSettings(eval_sets=("crag", "nq_open")))
    assert sides(questions) == {"train": {"crag:0"}, "test": {"crag:1", "nq_open:0"}}
    assert dropped == {"crag/in_training_set": 1, "nq_open/in_training_set": 1}


def test_one_sided_sets_are_split_by_group_in_the_given_share() -> None:
    rows = [row("crag", number, "train", f"g{number // 4}") for number in range(40)]
    data = DataSettings(eval_sets=("crag",), train_share=0.6)
    questions, dropped = deal({"crag": rows}, data)
    found = sides(questions)
    assert (len(found["train"]), len(found["test"])) == (24, 16)
    assert not dropped
    check_no_leak(questions)
    assert sides(deal({"crag": rows}, data)[0]) == found
    assert sides(deal({"crag": rows}, data.model_copy(update={"split_seed": 1}))[0]) != found


def test_limits_are_seeded_samples_in_order_and_nested() -> None:
    rows = [row("crag", number, "train" if number < 50 else "test") for number in range(100)]
    small = DataSettings(eval_sets=("crag",), max_train_questions=5, max_eval_questions=7)
    large = small.model_copy(update={"max_train_questions": 10})
    questions, dropped = deal({"crag": rows}, small)
    found = sides(questions)
    assert (len(found["train"]), len(found["test"])) == (5, 7)
    assert dropped == {"crag/train_not_sampled": 45, "crag/test_not_sampled": 43}
    assert found["train"] != {f"crag:{number}" for number in range(5)}
    assert found["train"] < sides(deal({"crag": rows}, large)[0])["train"]
    order = [int(question.id.split(":")[1]) for question in questions]
    assert order == sorted(order)


def test_sides_that_are_not_used_are_counted() -> None:
    sets = {
        "crag": [row("crag", 0, "train"), row("crag", 1, "test"), row("crag", 2)],
        "nq_open": [row("nq_open", 0, "train"), row("nq_open", 1)],
    }
    _, dropped = deal(sets, DataSettings(eval_sets=("nq_open",)))
    assert dropped == {"crag/side_not_used": 2, "nq_open/side_not_used": 1}
    _, dropped = deal({"crag": sets["crag"]}, DataSettings(eval_sets=("crag",)))
    assert dropped == {"crag/no_side": 1}
