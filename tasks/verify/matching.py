"""Exact match with an accepted answer, beyond doubt: where it holds, the judge's criteria give score 1.

(TruthRL App. E, Table 11: an exact match is right; a set must match item by item.) What is only probably the
same (containment, word order of names, dropped accents, other units) is left to the judge.
"""

from __future__ import annotations

import html
import re
from collections.abc import Hashable, Iterable

from tasks.verify.quantities import Day, Quantity, read_date, read_quantity
from tasks.verify.spelling import APOSTROPHES, one_spelling

MAX_CHARS = 2000
"""Longer answers match nothing: they are no final answers, and the bound keeps hostile text cheap."""

_QUOTES = frozenset("\"'“”„«»\u2039\u203a「」『』*_" + APOSTROPHES)
_ARTICLE = re.compile(r"(?:[Tt][Hh][Ee]|an?)\s+(?=\S)")
_JOINING = re.compile(r"(?<=\w)-(?![0-9])|(?<=[^\W0-9])-(?=[0-9])|-(?!\w)")
_DROPPED = re.compile(r"(?<![0-9])['\"!]|\.(?![0-9])|[“”„«»\u2039\u203a「」『』?¿¡。·•]")
_SPACED = re.compile(r"[_(){};、]|(?<![0-9])[/,:*]|[/,:*](?![0-9])")
_SEPARATOR = re.compile(r"[,;、](?![0-9])|\n|\band\b|&", re.IGNORECASE)


def exact_match(answer: str, accepted: Iterable[str]) -> bool:
    """Whether the answer is one of the accepted ones: as text, number, date or set of items.

    Items match in any order and as often as they like, except in a list of numbers alone ("3, 2"), where order
    may be the point.
    """
    if len(answer) > MAX_CHARS:
        return False
    given = _forms(answer)
    return any(len(other) <= MAX_CHARS and not given.isdisjoint(_forms(other)) for other in accepted)


def normalise(text: str) -> str:
    """The text in one spelling, without the punctuation, leading article and quotes that change no answer.

    Kept because they do: "+" and "#" ("C++"), a minus and all signs within numbers ("1.5", "3:30", "2010-2012",
    "5'11"), "!" after a figure, currency and comparison signs, and the article in capitals ("A minor").
    """
    text = _unquoted(text)
    article = _ARTICLE.match(text)
    text = one_spelling(text[article.end() :] if article else text).replace("&", " and ")
    text = _DROPPED.sub("", _JOINING.sub(" ", text))
    return " ".join(_SPACED.sub(" ", text).split())


def _forms(text: str) -> set[Hashable]:
    """Everything that the text is, each form comparable with its like; nothing for a text without content."""
    normalised = normalise(text)
    if not normalised:
        return set()
    forms: set[Hashable] = {normalised, _value(text)}
    items = _items(text)
    if items is not None:
        forms.add(items)
    return forms


def _value(text: str) -> str | Quantity | Day:
    """The text as date, number or, failing these, normalised text."""
    spelled = one_spelling(_unquoted(text))
    return read_date(spelled) or read_quantity(spelled) or normalise(text)


def _items(text: str) -> Hashable:
    """The items of a list, or None if it is none."""
    parts = [part for part in _SEPARATOR.split(html.unescape(text)) if normalise(part)]
    if len(parts) < 2 or "respectively" in text.casefold():
        return None
    values = [_value(part) for part in parts]
    if all(isinstance(value, Quantity | Day) for value in values):
        return tuple(values)
    return frozenset(values)


def _unquoted(text: str) -> str:
    """The text without quotes and emphasis that stand on both its sides."""
    text = text.strip()
    while len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        text = text[1:-1].strip()
    return text
