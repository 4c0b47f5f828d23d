# ruff: noqa: RUF001 (look-alike characters are what is tested)
from __future__ import annotations

import pytest

from tasks.verify.spelling import APOSTROPHES, one_spelling, visible


@pytest.mark.parametrize("apostrophe", list(APOSTROPHES))
def test_every_apostrophe_is_straight(apostrophe: str) -> None:
    assert one_spelling(f"don{apostrophe}t") == "don't"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10²", "10^2"),
        ("5½", "5 1/2"),
        ("2010\u20132012", "2010-2012"),
        ("ＡＢＣ\u3000１２", "abc 12"),
        ("e\u0301", "é"),
        ("&lt;b&gt;", "<b>"),
        (" a\u00a0\n b ", "a b"),
        ("STRASSE", "strasse"),
        ("a\u200bb\u202ec\ufeffd\x00e", "abcde"),
    ],
)
def test_one_spelling(text: str, expected: str) -> None:
    assert one_spelling(text) == expected


def test_visible_keeps_white_space_and_drops_what_cannot_be_stored() -> None:
    assert visible("a\tb\nc\ud800\u200d") == "a\tb\nc"
