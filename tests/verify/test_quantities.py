from __future__ import annotations

from decimal import Decimal

import pytest

from tasks.verify.quantities import Day, read_date, read_quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("0", "0", ""),
        ("1,234.50", "1234.5", ""),
        ("-3", "-3", ""),
        (".5", "0.5", ""),
        ("3.", "3", ""),
        ("2 million", "2000000", ""),
        ("$1.5 billion", "1500000000", "dollar"),
        ("-$5", "-5", "dollar"),
        ("us$5", "5", "us dollar"),
        ("5 eur", "5", "euro"),
        ("7 per cent", "7", "%"),
        ("7%", "7", "%"),
        ("zero", "0", ""),
        ("nineteen", "19", ""),
        ("ninety-nine", "99", ""),
        ("one hundred and one", "101", ""),
        ("two hundred thousand and five", "200005", ""),
        ("three million four hundred thousand", "3400000", ""),
        ("five us dollars", "5", "us dollar"),
    ],
)
def test_numbers(text: str, value: str, unit: str) -> None:
    assert read_quantity(text) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "-", "$", "%", "paris", "007", "1,23", "1,2345", "1.2.3", "1e5", "٣", "5 dogs", "2 millionaires",
        "$5 euros", "- 5", "hundred", "thousand", "and", "five and", "five and six", "nineteen ninety", "twenty zero",
        "one thousand thousand", "one thousand million", "hundred five", "minus five", "-five", "half", "1" * 81,
    ],
)  # fmt: skip
def test_no_numbers(text: str) -> None:
    assert read_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-03-01", Day(2024, 3, 1)),
        ("2024/3/1", Day(2024, 3, 1)),
        ("2024.03.01", Day(2024, 3, 1)),
        ("march 1, 2024", Day(2024, 3, 1)),
        ("march the 1st 2024", Day(2024, 3, 1)),
        ("mar. 1, 2024.", Day(2024, 3, 1)),
        ("1 march, 2024", Day(2024, 3, 1)),
        ("22nd of may 1999", Day(1999, 5, 22)),
        ("fri, march 1, 2024", Day(2024, 3, 1)),
        ("03/01/2024", Day(2024, 3, 1)),
        ("31/01/2024", Day(2024, 1, 31)),
        ("february 29", Day(0, 2, 29)),
        ("may 1999", Day(1999, 5, 0)),
        ("2024年3月", Day(2024, 3, 0)),
    ],
)
def test_dates(text: str, day: Day) -> None:
    assert read_date(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "", "2024", "march", "may", "2024-13-01", "2023-02-29", "31/31/2024", "0/1/2024", "february 30", "march 0",
        "march 1, 24", "2024-03/01", "2024-03", "03-01-2024", "monday, march 1, 2024", "monday, march 1", "friday",
        "0000-00-00", "march 1, 0000" + "0", "x" * 81,
    ],
)  # fmt: skip
def test_no_dates(text: str) -> None:
    assert read_date(text) is None
