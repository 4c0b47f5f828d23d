from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.verify.extract import final_answer, last_box, outside_thinking, plain_text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{Paris}", "Paris"),
        (r"<think>hm</think>\boxed{Paris}", "Paris"),
        (r"<think></think>\boxed{Paris}", "Paris"),
        (r"The answer is $\boxed{Paris}$.", "Paris"),
        (r"$$\boxed {Paris}$$", "Paris"),
        ("\\boxed\n{Paris}", "Paris"),
        (r"\\boxed{Paris}", "Paris"),
        (r"\boxed{Rome} or rather \boxed{Paris}", "Paris"),
        (r"\boxed{\text{Paris}}", "Paris"),
        (r"\boxed{\textbf{New} \text{York}}", "New York"),
        (r"\boxed{3\text{ times}}", "3 times"),
        (r"\boxed{\mathrm{H_2O}}", "H_2O"),
        (r"\boxed{\$5}", "$5"),
        (r"\boxed{$5$}", "5"),
        (r"\boxed{$5}", "$5"),
        (r"\boxed{\(42\)}", "42"),
        (r"\boxed{20\%}", "20%"),
        (r"\boxed{AT\&T}", "AT&T"),
        (r"\boxed{1{,}234}", "1,234"),
        (r"\boxed{New~York}", "New York"),
        (r"\boxed{~5}", "~5"),
        (r"\boxed{30^\circ}", "30°"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{a {b} c}", "a {b} c"),
        (r"\boxed{f(x) = \{1, {2}\}}", "f(x) = {1, {2}}"),
        (r"\boxed{one \} brace}", "one } brace"),
        (r"\boxed{\boxed{Paris}}", "Paris"),
        (r"\boxed{Paris \boxed{Rome}}", "Paris Rome"),
        (r"{ \boxed{Paris}", "Paris"),
        (r"} } \boxed{Paris}", "Paris"),
        (r"\boxed{never closed, then \boxed{Paris}", "Paris"),
        ("\\boxed{I don\u2019t know}", "I don\u2019t know"),
        (r"\boxed{I don\u2019t know}", "I don\u2019t know"),
        (r"\boxed{\ud800}", r"\ud800"),
        ("\\boxed{Pa\u200bris}", "Paris"),
        ("\\boxed{\ud800Paris}", "Paris"),
        ("\\boxed{\n Paris \n}", "Paris"),
        (r"\boxed{東京}", "東京"),
    ],
)
def test_boxed_answer(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Paris",
        "The answer is Paris.",
        r"\boxed{}",
        r"\boxed{ }",
        "\\boxed{\u200b}",
        r"\boxed{\text{}}",
        r"\boxed{Paris",
        r"\boxed{Paris {",
        r"\boxed{ {Paris }",
        r"\boxed{Rome} no, \boxed{Paris",
        r"\boxed{Rome} no, \boxed{}",
        r"\boxed Paris",
        r"boxed{Paris}",
        r"<think>\boxed{Paris}</think>",
        r"<think>\boxed{Paris}",
        r"<think>\boxed{Paris}</think> I am done.",
        r"\boxed{Paris}</think> and so on",  # the chat template opened the thinking
        r"<think>a</think> <think>\boxed{Paris}",
        r"<THINK>\boxed{Paris}</Think>",
        "<think>I don't know</think>",
        r"I don't know \boxed{}",
        "I don't know, but it may be Paris",
        "invalid question",
    ],
)
def test_no_answer(text: str) -> None:
    assert final_answer(text) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"<think>\boxed{Rome}</think>\boxed{Paris}", "Paris"),
        (r"\boxed{Rome} wait</think>\boxed{Paris}", "Paris"),
        (r"<think>a</think>\boxed{Rome}<think>b \boxed{Bonn}</think>\boxed{Paris}", "Paris"),
        (r"<think>a</think>\boxed{Paris}<think>b \boxed{Rome}</think>", "Paris"),
        (r"\boxed{Paris}<think>is it? \boxed{Rome}", "Paris"),
        (r"<think>a <think>b</think> c \boxed{Rome}</think>\boxed{Paris}", "Paris"),
        (r"<think>a<think>b</think>\boxed{Paris}", "Paris"),
        (r"<thinking>\boxed{Rome}</thinking>\boxed{Paris}", "Paris"),
        (r"< think >\boxed{Rome}</ think >\boxed{Paris}", "Paris"),
        (r"<b>think</b> \boxed{Paris}", "Paris"),
    ],
)
def test_thinking_is_left_out(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize("text", ["I don't know.", "<think>hm</think>\n I DON\u2019T KNOW", "Sorry, I'm not sure."])
def test_a_whole_reply_that_refuses_needs_no_box(text: str) -> None:
    assert final_answer(text) is not None


@pytest.mark.parametrize("text", [r"\boxed{Paris}", "I don't know", r"\boxed{I don't know}", "<think>hm"])
def test_an_unfinished_response_has_no_answer(text: str) -> None:
    assert final_answer(text, finished=False) is None


def test_papers_code_first_box_taken_and_nested_braces_cut() -> None:
    assert final_answer(r"\boxed{A} \boxed{\text{C}_{1}^{2}}") == "C_{1}^{2}"


def test_pieces_outside_the_thinking_do_not_merge() -> None:
    assert outside_thinking(r"\box<think>a</think>ed{Paris}") == "\\box\ned{Paris}"
    assert final_answer(r"\box<think>a</think>ed{Paris}") is None


def test_a_degenerate_box_holds_no_answer() -> None:
    assert final_answer(r"\boxed{" + "a" * 10_000 + "}") == "a" * 10_000
    assert final_answer(r"\boxed{" + "a" * 10_001 + "}") is None


def test_last_box_gives_raw_content() -> None:
    assert last_box(r"\boxed{\text{a}}") == r"\text{a}"
    assert last_box("none") is None
    assert plain_text(r"\text{a}") == "a"


@pytest.mark.parametrize(
    "piece",
    [r"\boxed{", "<think>", "</think>", "{", "\\", "<", r"\boxed ", r"\text{", "$", r"\boxed{a}", r"\("],
)
def test_a_megabyte_of_hostile_text_takes_less_than_a_second(piece: str) -> None:
    start = time.process_time()  # not wall time: the machine may be busy
    for length in (9_000, 1_000_000):
        final_answer(r"\boxed{" + piece * (length // len(piece)) + "}")
    assert time.process_time() - start < 1


@given(st.text(alphabet=st.sampled_from(list("\\{}$<>/ boxedthinkA~u2019^")), max_size=200))
@settings(max_examples=150, deadline=None)
def test_never_crashes_and_never_gives_an_empty_answer(text: str) -> None:
    answer = final_answer(text)
    assert answer is None or answer.strip()


@given(st.text(alphabet=st.characters(exclude_characters="\\{}$<>~^", categories=("L", "N")), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_a_plain_answer_comes_back_as_it_went_in(answer: str) -> None:
    assert final_answer(f"<think>so</think>\\boxed{{{answer}}}") == answer
