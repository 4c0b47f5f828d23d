"""Numbers and dates in English."""

from __future__ import annotations

import pytest

from sandbox.numerals import find_dates, find_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,953 and 1953", [1953, 1953]),
        ("nineteen fifty-three", [1953]),
        ("nineteen oh five", [1905]),
        ("twenty twenty-four", [2024]),
        ("two million three hundred thousand and five", [2_300_005]),
        ("3.5 million", [3_500_000]),
        ("two and three", [2, 3]),
        ("twenty-one", [21]),
        ("-5 or \u22127", [-5, -7]),
        ("1950-1956", [1950, 1956]),
        ("the 1960s", []),
        ("B52 and 3rd", []),
        ("nothing here", []),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    found = [number.value for number in find_numbers(text) if number.unit != "rd"]
    assert found == values


def test_dates_leave_only_their_year_as_a_number() -> None:
    dates, rest = find_dates("born on 5 March 1953, died 1999-12-31")
    assert [(date.year, date.month, date.day) for date in dates] == [(1953, 3, 5), (1999, 12, 31)]
    assert [number.value for number in find_numbers(rest)] == [1953, 1999]


def test_impossible_dates_are_none() -> None:
    assert find_dates("13/45/1953 and 1953-19-39")[0] == []
