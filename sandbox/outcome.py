"""The rule-based outcome judge: is a prediction right, given the accepted answers? (TruthRL App. E, Table 11)

Criteria: the accepted answers are true whatever the prediction says; an exact match is right; a number must be
almost equal (0.5%, years equal); a self-contradiction, a hedge between candidates or no answer is wrong; a
concise statement of the right answer is right; a set must match item by item; anything else is wrong.

Departure: where the paper asks a large language model, this reads by rules. It is exact on the closed world's
sentences and values, and careful rather than clever elsewhere: what it cannot find is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sandbox.claims import claimed_text
from sandbox.mentions import LIST_SEPARATOR, Mentions, alternatives, find_mentions, inventory
from sandbox.numerals import find_dates
from sandbox.text import ParsedQuestion, read_question
from sandbox.wording import asserted, clean, holds, norms, same, spans, tokens, without_orders
from tasks.core.records import FALSE_PREMISE

_REFUSAL = re.compile(
    r"\b(?:do|does|did|can|could|am|is|are)\s+not\s+(?:really\s+|actually\s+)?"
    r"(?:know|say|tell|answer|determine|recall|remember|have\s+(?:enough|any|the|that|this)|sure|certain|known|clear)\b"
    r"(?!\s+(?:why|how|what\s+makes|anyone|a\s+better|of\s+anyone))"
    r"|\b(?:not\s+(?:sure|certain)|unsure|dunno|dont\s+know|no\s+(?:idea|clue|information)|unknown|unanswerable)\b",
    re.IGNORECASE,
)
_INVALID = re.compile(
    r"\binvalid\s+question\b|\bfalse\s+premise\b"
    r"|\b(?:premise|question|assumption)\b[^.]*\b(?:is|was)\s+(?:not\s+(?:true|valid|correct|right)|false|wrong|invalid"
    r"|incorrect|mistaken|flawed|untrue)\b",
    re.IGNORECASE,
)
MAX_CHARACTERS = 10_000
"""Length above which a prediction is no concise answer; it also bounds the work on hostile text."""


@dataclass(frozen=True)
class Judgement:
    """Score 1 (right) or 0, and why."""

    score: int
    explanation: str


def judge_outcome(question: str, accepted: Sequence[str], prediction: str) -> Judgement:
    """Whether `prediction` is right, by the criteria above; a pure function of its arguments."""
    if len(prediction) > MAX_CHARACTERS:
        return Judgement(0, "The prediction is no concise answer.")
    text = asserted(without_orders(clean(prediction)))
    if not norms(text):
        return Judgement(0, "The prediction gives no answer.")
    if any(same(text, answer) for answer in accepted):
        return Judgement(1, "The prediction equals an accepted answer.")
    asked = _parsed(question)
    if any(same(answer, FALSE_PREMISE) for answer in accepted):
        return _judge_premise(asked, text)
    if _INVALID.search(text):
        return Judgement(0, "The prediction rejects a question that has an answer.")
    if _REFUSAL.search(text):
        return Judgement(0, "The prediction does not commit itself to an answer.")
    if asked is not None:
        text = claimed_text(asked, text)
    if (items := _set_items(accepted[0])) is not None:
        return _judge_set(items, text)
    return _verdict(find_mentions(question, asked, accepted, text))


@lru_cache(maxsize=4096)
def _parsed(question: str) -> ParsedQuestion | None:
    return read_question(question)


def _judge_premise(asked: ParsedQuestion | None, text: str) -> Judgement:
    if not _INVALID.search(text):
        return Judgement(0, "The prediction does not say that the premise is false.")
    if alternatives(text, lambda part: bool(_INVALID.search(part))):
        return Judgement(0, "The prediction leaves several answers open.")
    values = inventory(asked, ()) if asked is not None else ()
    if any(span.affirmed and holds(tokens(span.text), value) for span in spans(text) for value in values):
        return Judgement(0, "The prediction rejects the question and answers it all the same.")
    return Judgement(1, "The prediction says that the premise is false.")


def _verdict(found: Mentions) -> Judgement:
    if not found.right:
        reason = "gives another answer" if found.wrong else "does not give an accepted answer"
        return Judgement(0, f"The prediction {reason}.")
    if found.wrong or found.denied:
        return Judgement(0, "The prediction contradicts itself.")
    return Judgement(1, "The prediction states an accepted answer.")


def _set_items(answer: str) -> list[str] | None:
    """Items of an answer that is a set, or None."""
    if find_dates(clean(answer))[0]:
        return None
    items = [item for item in LIST_SEPARATOR.split(clean(answer)) if norms(item)]
    return items if len(items) > 1 and all(len(norms(item)) <= 5 for item in items) else None


def _judge_set(items: Sequence[str], text: str) -> Judgement:
    """Every item of the set stands in the prediction's list, and nothing else does."""
    said = [item for span in spans(text) if span.affirmed for item in LIST_SEPARATOR.split(span.text) if norms(item)]
    missing = [item for item in items if not any(holds(tokens(part), item) for part in said)]
    extra = [part for part in said if not any(holds(tokens(part), item) for item in items)]
    if missing or extra:
        return Judgement(0, "The prediction's items are not exactly those of the accepted set.")
    return Judgement(1, "The prediction gives exactly the items of the accepted set.")
