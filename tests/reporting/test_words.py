from __future__ import annotations

import pytest

from tasks.reporting.words import duration, number, points, probability, shorten, signed, span, true_minus, visible
from tasks.verify.results import Estimate

MINUS = "\u2212"


def test_points() -> None:
    assert points(0.372) == "37.2"
    assert points(-0.0444) == f"{MINUS}4.4"
    assert points(-0.0001) == "0.0"
    assert points(None) == "n/a"
    assert points(0.5, 0) == "50"


def test_signed() -> None:
    assert signed(0.031) == "+3.1"
    assert signed(-0.031) == f"{MINUS}3.1"
    assert signed(0.0001) == "0.0"
    assert signed(None) == "n/a"


def test_span() -> None:
    assert span(Estimate(value=0.1, low=-0.05, high=0.2)) == f"[{MINUS}5.0, 20.0]"
    assert span(Estimate(value=0.1)) == ""


def test_probability() -> None:
    assert [probability(p) for p in (0.0004, 0.0456, 1.0, None)] == ["< 0.001", "0.046", "1.000", "n/a"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.21, "3.2 s"), (187, "3 min 07 s"), (3_720, "1 h 02 min"), (59.96, "60.0 s")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_number() -> None:
    assert [number(value) for value in (12345, 12345.0, 0.03125, 0)] == ["12,345", "12,345", "0.03125", "0"]


def test_true_minus_leaves_words_alone() -> None:
    assert true_minus("R-Tuning -4.2 [-5, 3], qwen2.5-7b") == f"R-Tuning {MINUS}4.2 [{MINUS}5, 3], qwen2.5-7b"


def test_hidden_characters_are_spelled_out() -> None:
    assert visible("a\u202eb\u0007c\u200bd\ne\tf\u2028") == "a<U+202E>b<U+0007>c<U+200B>d\ne\tf<U+2028>"
    assert visible("caf\u00e9 \u4f60\u597d") == "caf\u00e9 \u4f60\u597d"


def test_shorten_says_how_much_is_gone() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefgh", 3) == "abc ... (5 more characters)"
