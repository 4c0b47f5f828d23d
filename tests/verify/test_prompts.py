from __future__ import annotations

from pathlib import Path

import pytest

from tasks.core.records import FALSE_PREMISE, REFUSAL
from tasks.verify.prompts import answer_templates, build_messages, fill, load_template


def test_a_shipped_template_is_found_by_name() -> None:
    assert load_template("brief.closed_book").strip() == "{question}"


def test_a_path_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Say {question} — now", encoding="utf-8")
    assert load_template(str(tmp_path / "mine.txt")) == "Say {question} — now"


@pytest.mark.parametrize("name", ["nope", "/nowhere/nope.txt", "../prompts"])
def test_a_missing_template_names_those_there_are(name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"answer\.closed_book, answer\.retrieval"):
        load_template(name)


def test_answer_templates_by_setting(tmp_path: Path) -> None:
    assert set(answer_templates("answer", ["closed_book", "retrieval"])) == {"closed_book", "retrieval"}
    (tmp_path / "own.closed_book.txt").write_text("Q: {question}")
    assert answer_templates(str(tmp_path / "own.txt"), ["closed_book"]) == {"closed_book": "Q: {question}"}


@pytest.mark.parametrize("setting", ["closed_book", "retrieval"])
def test_the_answer_prompts_ask_for_what_the_grader_reads(setting: str) -> None:
    template = load_template(f"answer.{setting}")
    for part in (REFUSAL, FALSE_PREMISE, r"\boxed{", "<think>", "</think>", "{question}", "{query_time}"):
        assert part in template
    assert ("{references}" in template) == (setting == "retrieval")


def test_values_are_data_and_never_fields() -> None:
    assert fill("{a}+{b}", {"a": "{b}", "b": r"\1 {c}"}) == r"{b}+\1 {c}"


def test_latex_braces_are_no_fields() -> None:
    assert fill(r"\boxed{...} \boxed{42} {a}", {"a": "x"}) == r"\boxed{...} \boxed{42} x"


def test_an_unknown_field_is_an_error() -> None:
    with pytest.raises(KeyError, match="unknown"):
        fill("{unknown}", {"a": "x"})


def test_messages_are_one_user_message() -> None:
    assert build_messages(
        "{references}\n{question} @ {query_time}", "Who?", "01/02/2024, 10:00:00 PT", ["r1", "r2"]
    ) == [{"role": "user", "content": "r1\nr2\nWho? @ 01/02/2024, 10:00:00 PT"}]
    assert build_messages("{references}\n{question} @ {query_time}", "Who?") == [
        {"role": "user", "content": "Who? @ unknown"}
    ]
