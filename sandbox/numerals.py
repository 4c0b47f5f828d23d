"""Numbers and dates in running English: digits, words, thousands separators, magnitudes and the usual date forms."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
UNITS += "seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL = {word: value for value, word in enumerate(UNITS)} | {word: 10 * value for value, word in enumerate(TENS, 2)}
MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
MONTHS = "january february march april may june july august september october november december".split()

_WORD = "|".join(sorted([*SMALL, *MAGNITUDES], key=len, reverse=True))
_AFTER_MAGNITUDE = "|".join(f"(?<={word})" for word in MAGNITUDES)
_SPELLED = re.compile(rf"\b(?:{_WORD})(?:(?:(?:{_AFTER_MAGNITUDE})\s+and)?[\s-]+(?:{_WORD}|oh))*\b", re.IGNORECASE)
_DIGITS = re.compile(
    r"(?<![\w.,])(?P<sign>[-\u2212])?(?P<body>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s+(?P<magnitude>thousand|million|billion)\b)?(?!\d|s\b)",
    re.IGNORECASE,
)
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + r")\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
_DATES = tuple(
    re.compile(rf"\b{form}\b", re.IGNORECASE)
    for form in (
        rf"{_DAY}(?:\s+of)?\s+{_MONTH},?\s+{_YEAR}",
        rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}",
        rf"{_MONTH},?\s+{_YEAR}",
        r"(?P<year>[12]\d{3})-(?P<month>[01]\d)-(?P<day>[0-3]\d)",
        r"(?P<month>[01]?\d)/(?P<day>[0-3]?\d)/(?P<year>[12]\d{3})",
    )
)
RELATIVE_TOLERANCE = 0.005
"""How far two numbers may differ and still be "almost exactly" equal; years must be equal."""


@dataclass(frozen=True)
class Number:
    """A number and the word or sign that follows it (its unit, perhaps), with its place in the text."""

    value: float
    unit: str
    start: int
    spelled: bool = False
    """Written in words."""

    @property
    def is_year(self) -> bool:
        """Whether it could be a year."""
        return self.value.is_integer() and 1000 <= self.value < 3000


@dataclass(frozen=True)
class Date:
    """A calendar date; `day` is None where only month and year are told."""

    year: int
    month: int
    day: int | None
    start: int

    def agrees(self, other: Date) -> bool:
        """Whether `other` tells everything that this date tells, and tells the same."""
        same_month = (self.year, self.month) == (other.year, other.month)
        return same_month and self.day in (None, other.day)


def almost_equal(one: Number, other: Number) -> bool:
    """Numbers within 0.5%; years only if equal."""
    if one.is_year and other.is_year:
        return one.value == other.value
    return abs(one.value - other.value) <= RELATIVE_TOLERANCE * max(abs(one.value), abs(other.value))


def find_dates(text: str) -> tuple[list[Date], str]:
    """Dates of `text`, and the text with each date's day and month blanked out so that its year alone is left."""
    found: list[Date] = []
    for pattern in _DATES:
        text = pattern.sub(lambda match: _take_date(match, found), text)
    return sorted(found, key=lambda date: date.start), text


def _take_date(match: re.Match[str], found: list[Date]) -> str:
    groups = match.groupdict()
    month, day = _month_number(groups["month"]), int(groups["day"]) if groups.get("day") else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return match[0]
    found.append(Date(int(groups["year"]), month, day, match.start()))
    return f"{groups['year']:>{len(match[0])}}"


def _month_number(text: str) -> int:
    return int(text) if text.isdigit() else [name[:3] for name in MONTHS].index(text[:3].lower()) + 1


def find_numbers(text: str) -> list[Number]:
    """Numbers of `text` in digits and in words, in order."""
    found = []
    for match in _DIGITS.finditer(text):
        value = float(match["body"].replace(",", "")) * MAGNITUDES.get((match["magnitude"] or "").lower(), 1)
        found.append(Number(-value if match["sign"] else value, _unit(text, match.end()), match.start()))
    for match in _SPELLED.finditer(text):
        words = re.split(r"[\s-]+", match[0].lower())
        if not text[: match.start()].rstrip()[-1:].isdigit() and (number := spelled_value(words)) is not None:
            found.append(Number(number, _unit(text, match.end()), match.start(), spelled=True))
    return sorted(found, key=lambda number: number.start)


def spelled_value(words: list[str]) -> float | None:
    """Value of number words, cardinal ("three hundred and five") or as a year ("nineteen fifty-three")."""
    words = [word for word in words if word != "and"]
    pair = _year_pair(words)
    if pair is not None:
        return pair
    total, current = 0, 0
    for word in words:
        if word in SMALL:
            current += SMALL[word]
        elif word in MAGNITUDES:
            scale = MAGNITUDES[word]
            if scale == 100:
                current = max(current, 1) * scale
            else:
                total, current = total + max(current, 1) * scale, 0
        else:
            return None
    return float(total + current)


def _year_pair(words: list[str]) -> float | None:
    """ "nineteen fifty-three", "twenty ten", "nineteen oh five": a century of 11-20 and a rest of two digits."""
    if not 2 <= len(words) <= 3 or any(word in MAGNITUDES for word in words):
        return None
    century = SMALL.get(words[0], 0)
    if not 11 <= century <= 20:
        return None
    rest = words[1:]
    if rest[0] == "oh":
        return float(century * 100 + SMALL[rest[1]]) if len(rest) == 2 and SMALL.get(rest[1], 10) < 10 else None
    tail = sum(SMALL.get(word, 1000) for word in rest)
    whole = SMALL.get(rest[0], 0) >= 20 if len(rest) == 2 else tail >= 10
    return float(century * 100 + tail) if whole and tail < 100 else None


def _unit(text: str, end: int) -> str:
    match = re.match(r"\s*(%|[A-Za-z\u00b0]+)", text[end:])
    return match[1].lower() if match else ""
