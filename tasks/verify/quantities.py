"""Numbers and dates that stand alone as an answer, read to a canonical value, or not at all.

Numbers: "1,234.50", "three", "twenty-one", "2 million", "$5", "5 percent". The unit is part of the value: 5, 5%
and $5 are three different answers here, and the judge decides whether the question makes them one. Integers with
leading zeros ("007") are no numbers.
Dates: year first as in ISO 8601, month by name in any order, and mm/dd/yyyy: month first, as CRAG writes its
query times, unless the first figure cannot be a month. A weekday that contradicts the date makes it no date.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import NamedTuple

MAX_CHARS = 80
"""Longer texts are neither a number nor a date."""


class Quantity(NamedTuple):
    """A number and its unit: "", "%" or a currency."""

    value: Decimal
    unit: str


class Day(NamedTuple):
    """A date; year or day is 0 where the text gives none ("March 1", "March 2024")."""

    year: int
    month: int
    day: int


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {word: value for value, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SIGNS = {"$": "dollar", "us$": "us dollar", "€": "euro", "£": "pound sterling", "¥": "yen"}
_UNITS = {
    "%": "%", "percent": "%", "per cent": "%", "dollar": "dollar", "dollars": "dollar", "us dollars": "us dollar",
    "usd": "us dollar", "euro": "euro", "euros": "euro", "eur": "euro", "pounds sterling": "pound sterling",
    "gbp": "pound sterling", "yen": "yen", "jpy": "yen",
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<minus>-)?(?:(?P<sign>us\$|[$€£¥]) ?)?"
    r"(?P<digits>(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)?(?:\.[0-9]+)?)"
    r"(?: ?(?P<scale>thousand|million|billion|trillion))?(?: ?(?P<unit>%|[a-z][a-z ]*))?"
)
_MONTH_NAMES = ("january february march april may june july august september october november december").split()
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)} | {"sept": 9}
_MONTHS |= {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday".split()
_WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
_WEEKDAYS |= {name[:3]: number for number, name in enumerate(_WEEKDAY_NAMES)}
_NAME = f"(?P<name>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\\.?"
_DAY = r"(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{4})"
_DATES = tuple(
    re.compile(form)
    for form in (
        rf"{_YEAR}(?P<dash>[-/.])(?P<month>[0-9]{{1,2}})(?P=dash)(?P<day>[0-9]{{1,2}})",
        rf"{_YEAR} ?年 ?(?P<month>[0-9]{{1,2}}) ?月(?: ?(?P<day>[0-9]{{1,2}}) ?日)?",
        rf"{_NAME} (?:the )?{_DAY}(?:,? {_YEAR})?",
        rf"(?:the )?{_DAY} (?:of )?{_NAME}(?:,? {_YEAR})?",
        rf"{_NAME},? (?:of )?{_YEAR}",
        rf"(?P<first>[0-9]{{1,2}})/(?P<second>[0-9]{{1,2}})/{_YEAR}",
    )
)
_WEEKDAY = re.compile(f"(?P<weekday>{'|'.join(sorted(_WEEKDAYS, key=len, reverse=True))})\\.?,? (?P<rest>.*)")


def read_quantity(text: str) -> Quantity | None:
    """The number that `text` (in one spelling) is, or None."""
    if len(text) > MAX_CHARS:
        return None
    match = _NUMBER.fullmatch(text.removesuffix(".").strip())
    if match is None or not match["digits"]:
        return _read_words(text)
    unit = _unit(match["sign"], match["unit"])
    if unit is None:
        return None
    value = Decimal(match["digits"].replace(",", ""))
    if match["scale"]:
        value *= _SCALES[match["scale"]]
    return Quantity(-value if match["minus"] else value, unit)


def read_date(text: str) -> Day | None:
    """The date that `text` (in one spelling) is, or None."""
    if len(text) > MAX_CHARS:
        return None
    text = text.removesuffix(".")
    weekday = _WEEKDAY.fullmatch(text)
    day = _read_day(weekday["rest"] if weekday else text)
    if day is None or weekday is None:
        return day
    if not (day.year and day.day) or date(*day).weekday() != _WEEKDAYS[weekday["weekday"]]:
        return None
    return day


def _unit(sign: str | None, word: str | None) -> str | None:
    if word is None:
        return _SIGNS[sign] if sign else ""
    unit = _UNITS.get(word)
    return unit if sign is None or _SIGNS[sign] == unit else None


def _read_words(text: str) -> Quantity | None:
    """A number in words, below a thousand in each group: "two hundred and five thousand", with its unit."""
    words = re.sub("(?<=[a-z])-(?=[a-z])", " ", text).split()
    unit = ""
    for length in (2, 1):
        if len(words) > length and (found := _UNITS.get(" ".join(words[-length:]))) is not None:
            words, unit = words[:-length], found
            break
    total = group = 0
    floor = 10**15
    last = ""
    for word in words:
        if word in _WORDS and _continues(last, word):
            group += _WORDS[word]
        elif word == "hundred" and 0 < group < 10 and last in _WORDS:
            group *= 100
        elif word in _SCALES and group and _SCALES[word] < floor:
            floor = _SCALES[word]
            total, group = total + group * floor, 0
        elif not (word == "and" and (last == "hundred" or last in _SCALES)):
            return None
        last = word
    return None if last in ("", "and") else Quantity(Decimal(total + group), unit)


def _continues(last: str, word: str) -> bool:
    if last in _TENS:
        return 0 < _WORDS[word] < 10
    return last in ("", "and", "hundred") or last in _SCALES


def _read_day(text: str) -> Day | None:
    for form in _DATES:
        match = form.fullmatch(text)
        if match is not None:
            found = {name: value for name, value in match.groupdict().items() if value}
            return _checked(_day_of(found))
    return None


def _day_of(found: dict[str, str]) -> Day:
    year, day = int(found.get("year", 0)), int(found.get("day", 0))
    if "name" in found:
        return Day(year, _MONTHS[found["name"]], day)
    if "first" in found:
        first, second = int(found["first"]), int(found["second"])
        return Day(year, second, first) if first > 12 else Day(year, first, second)
    return Day(year, int(found["month"]), day)


def _checked(day: Day) -> Day | None:
    try:
        date(day.year or 2000, day.month, day.day or 1)  # 2000 is a leap year: "February 29" is a date
    except ValueError:
        return None
    return day
