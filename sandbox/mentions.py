"""Candidate answers in a prediction: which of them are accepted, which compete with them, which are denied.

What competes depends on the answer: other dates, other numbers of the same unit, other values of the relation
that is asked for, other full names; for free text the alternatives of an "or" and the items of a bare list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sandbox.claims import RELATION_BY_NAME
from sandbox.numerals import Date, Number, almost_equal, find_dates, find_numbers
from sandbox.text import ParsedQuestion
from sandbox.wording import Token, clean, holds, names, norms, phrase_norms, same, sentences, spans, tokens
from sandbox.world import RELATIONS

LIST_SEPARATOR = re.compile(r"\s*(?:,(?!\d)|;|\n|&|\band\b)\s*", re.IGNORECASE)
"""What stands between the items of a list."""
_BARE_WORDS = 8
"""A prediction of at most so many words without a verb is read as a bare list."""
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|lives?|keeps?|works?|likes?|called|born|be)\b", re.IGNORECASE)
_OR = re.compile(r"\s+or\s+", re.IGNORECASE)
_OR_IDIOM = re.compile(r"\b(?:more or less|or so|or thereabouts|whether or not)\b", re.IGNORECASE)
_UNITS = {
    "%": "percent",
    "kilometre": "km",
    "kilometer": "km",
    "metre": "m",
    "meter": "m",
    "kilogram": "kg",
    "euro": "",
    "dollar": "",
    "year": "",
    "and": "",
    "or": "",
    "in": "",
    "": "",
}


@dataclass(frozen=True)
class Mentions:
    """Candidate answers that a prediction affirms: accepted and other ones; and whether it denies an accepted one."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    denied: bool


def find_mentions(question: str, asked: ParsedQuestion | None, accepted: Sequence[str], text: str) -> Mentions:
    """Candidates that `text` affirms or denies; the kind of candidate follows from the accepted answers."""
    if dates := [date for answer in accepted for date in find_dates(clean(answer))[0]]:
        return _date_mentions(dates, text)
    if numbers := [number for answer in accepted if (number := _as_number(answer)) is not None]:
        return _number_mentions(numbers, question, text)
    return _phrase_mentions(question, asked, accepted, text)


def _date_mentions(wanted: Sequence[Date], text: str) -> Mentions:
    affirmed = find_dates(_joined(text, affirmed=True))[0]
    denied = find_dates(_joined(text, affirmed=False))[0]
    right = [date for date in affirmed if any(gold.agrees(date) for gold in wanted)]
    wrong = [date for date in affirmed if date not in right]
    return Mentions(
        tuple(map(str, right)),
        tuple(map(str, wrong)),
        any(gold.agrees(date) for gold in wanted for date in denied),
    )


def _joined(text: str, *, affirmed: bool) -> str:
    """The affirmed (or denied) spans of text; commas inside dates are put aside first so that none is cut."""
    whole = re.sub(r"(?<=\d),(?=\s+[12]\d{3}\b)", "", text)
    return "\n".join(span.text for span in spans(whole) if span.affirmed is affirmed)


def _as_number(answer: str) -> Number | None:
    """The number that an answer is, with at most two more words (a unit), or None."""
    text = clean(answer)
    found = find_numbers(text)
    if len(found) != 1 or norms(text[: found[0].start]) not in {(), ("about",), ("around",)}:
        return None
    return found[0] if len(norms(text)) <= 3 or found[0].spelled else None


def _number_mentions(wanted: Sequence[Number], question: str, text: str) -> Mentions:
    asked = {number.value for number in find_numbers(clean(question))}

    def candidates(affirmed: bool) -> list[Number]:
        found = find_numbers(find_dates(_joined(text, affirmed=affirmed))[1])
        return [n for n in found if _competes(n, wanted) and (n.value not in asked or _right(n, wanted))]

    affirmed = candidates(True)
    right = [number for number in affirmed if _right(number, wanted)]
    wrong = [number for number in affirmed if number not in right]
    denied = any(_right(number, wanted) for number in candidates(False))
    others = alternatives(text, lambda part: any(_right(n, wanted) for n in find_numbers(find_dates(part)[1])))
    return Mentions(tuple(map(str, right)), (*map(str, wrong), *others), denied)


def _right(number: Number, wanted: Sequence[Number]) -> bool:
    return any(almost_equal(number, gold) and _units_agree(number, gold) for gold in wanted)


def _units_agree(one: Number, other: Number) -> bool:
    """Equal units, where both have one."""
    first, second = _unit_of(one), _unit_of(other)
    return not first or not second or first == second


def _unit_of(number: Number) -> str:
    unit = number.unit.removesuffix("s") if len(number.unit) > 2 else number.unit
    return _UNITS.get(unit, unit)


def _competes(number: Number, wanted: Sequence[Number]) -> bool:
    """Whether the number could stand for the answer: a year for a year, the same unit, and not the pronoun "one"."""
    if number.spelled and number.value == 1 and not any(gold.value == 1 for gold in wanted):
        return False
    if all(gold.is_year for gold in wanted):
        return number.is_year
    if number.is_year and not any(gold.is_year for gold in wanted) and not _right(number, wanted):
        return False
    return any(not _unit_of(gold) or _units_agree(number, gold) for gold in wanted)


def _phrase_mentions(question: str, asked: ParsedQuestion | None, accepted: Sequence[str], text: str) -> Mentions:
    values = inventory(asked, accepted)
    in_question = [] if asked is not None and asked.kind == "comparison" else names(tokens(clean(question)))
    golds = [phrase_norms(answer) for answer in accepted]
    wants_name = asked is not None and RELATION_BY_NAME[asked.relation].kind == "entity"
    wants_name = wants_name or (asked is not None and asked.kind == "comparison")
    right: list[str] = []
    wrong: list[str] = []
    denied = False
    for span in spans(text):
        words = tokens(span.text)
        matched = [answer for answer in accepted if _names_it(words, answer, wants_name)]
        if not span.affirmed:
            denied = denied or bool(matched)
            continue
        right += matched
        wrong += [value for value in values if phrase_norms(value) not in golds and holds(words, value)]
        if wants_name:
            wrong += [" ".join(n) for n in names(words) if n not in in_question and not any(_ends(n, g) for g in golds)]
    if not any(" or " in answer.lower() for answer in accepted):
        wrong += alternatives(text, lambda part: any(_names_it(tokens(part), a, wants_name) for a in accepted))
    if right and not wrong and asked is None:
        wrong += _unaccepted_items(text, accepted)
    return Mentions(tuple(right), tuple(wrong), denied)


def _names_it(words: Sequence[Token], answer: str, is_person: bool) -> bool:
    """Whether the words hold the answer; for a person the last name alone is enough (last names are unique)."""
    return holds(words, answer) or (is_person and " " in answer.strip() and holds(words, answer.split()[-1]))


def _ends(name: tuple[str, ...], gold: tuple[str, ...]) -> bool:
    return name[-len(gold) :] == gold


def inventory(asked: ParsedQuestion | None, accepted: Sequence[str]) -> tuple[str, ...]:
    """Values that compete for the answer: those of the relation asked for, or of one that the answer belongs to."""
    if asked is not None:
        relation = RELATION_BY_NAME[asked.relation]
        return relation.values if relation.kind == "category" and asked.kind != "comparison" else ()
    golds = {phrase_norms(answer) for answer in accepted}
    for relation in RELATIONS:
        if relation.kind == "category" and golds & {phrase_norms(value) for value in relation.values}:
            return relation.values
    return ()


def alternatives(text: str, is_right: Callable[[str], bool]) -> list[str]:
    """What an affirmed "X or Y" offers beside a right X; nothing where no part is right."""
    offered = []
    for span in spans(text):
        parts = [part for part in _OR.split(_OR_IDIOM.sub(" ", span.text)) if norms(part)]
        right = [part for part in parts if is_right(part)]
        if span.affirmed and right and len(parts) > len(right):
            offered += [part for part in parts if part not in right]
    return offered


def _unaccepted_items(text: str, accepted: Sequence[str]) -> list[str]:
    """Items of a bare list that are not accepted; "Paris, France" is a place and its country, not a list."""
    if len(norms(text)) > _BARE_WORDS or _VERB.search(text) or len(sentences(text)) > 1:
        return []
    items = [item for item in LIST_SEPARATOR.split(text) if norms(item)]
    apposition = len(items) == 2 and not re.search(r"[;&]|\band\b", text) and any(same(items[0], a) for a in accepted)
    if len(items) < 2 or apposition:
        return []
    return [item for item in items if not any(holds(tokens(item), answer) for answer in accepted)]
