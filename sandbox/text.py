"""English of the closed world: facts to sentences and questions, and exactly back.

The rule-based judge and the tests read arbitrary text (web pages, prompts, model output) with
:func:`read_statements` and :func:`read_question`; both are inverses of what is written here, and take nothing
from the world itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from sandbox.world import BORN, RELATIONS, Fact, Relation

QuestionKind = Literal["simple", "comparison", "multi-hop", "premise"]
Order = Literal["earlier", "later"]

NAME = r"[A-Z][a-z]+\s[A-Z][a-z]+"
FRIEND_OF = "the friend of "
COMPARISONS: tuple[tuple[str, Order], ...] = (
    ("Who was born earlier, {a} or {b}?", "earlier"),
    ("Who is older, {a} or {b}?", "earlier"),
    ("Who was born later, {a} or {b}?", "later"),
    ("Who is younger, {a} or {b}?", "later"),
)


@dataclass(frozen=True)
class Statement:
    """What one sentence says. Names and values as they stand in the world; nothing says that it is true."""

    entity: str
    relation: str
    value: str


@dataclass(frozen=True)
class ParsedQuestion:
    """What a question asks.

    `hops` is how many friends stand between `entity` and the one asked about (0 for kind "simple").
    For kind "comparison" `entity` and `other` are the two candidates and `order` tells who is wanted.
    For kind "premise" the question presupposes `premise`, which may be false.
    """

    kind: QuestionKind
    relation: str
    entity: str
    hops: int = 0
    other: str | None = None
    order: Order | None = None
    premise: Statement | None = None


def statement(fact: Fact, paraphrase_index: int) -> str:
    """The fact as a sentence; the index counts modulo the relation's paraphrases."""
    return state(fact.relation, fact.entity.name, fact.value, paraphrase_index)


def state(relation: Relation, entity: str, value: str, paraphrase_index: int) -> str:
    """A sentence that gives `value` to `entity`, true or not."""
    return relation.statements[paraphrase_index % len(relation.statements)].format(e=entity, v=value)


def question_text(relation: Relation, entity: str, paraphrase_index: int = 0, hops: int = 0) -> str:
    """A question for the relation's value of `entity`, or of its friend's friend's ... (`hops` times)."""
    return relation.questions[paraphrase_index % len(relation.questions)].format(e=FRIEND_OF * hops + entity)


def comparison_text(entity: str, other: str, form_index: int = 0) -> str:
    """A question which of the two was born earlier (forms 0 and 1) or later (forms 2 and 3)."""
    return COMPARISONS[form_index % len(COMPARISONS)][0].format(a=entity, b=other)


def premise_text(premise: Relation, value: str, relation: Relation, entity: str, paraphrase_index: int = 0) -> str:
    """A question for `relation` that presupposes that `premise` of the same entity is `value`."""
    clause = state(premise, entity, value, 0).removesuffix(".")
    question = question_text(relation, entity, paraphrase_index)
    return f"Since {clause}, {question[0].lower()}{question[1:]}"


def read_statements(text: str) -> list[Statement]:
    """Every sentence of this world that stands in `text`, in order of appearance; other text is passed over."""
    found: list[tuple[int, Statement]] = []
    for relation, pattern in _statement_patterns():
        for match in pattern.finditer(text):
            entity, value = _clean(match["e"]), _clean(match["v"])
            found.append((match.start(), Statement(entity, relation, value)))
    return [said for _, said in sorted(found, key=lambda item: item[0])]


def read_question(text: str) -> ParsedQuestion | None:
    """What `text` asks, if it is exactly one question of this world (surrounding white space aside)."""
    text = _clean(text)
    premise = re.fullmatch(r"Since (?P<clause>.+?), (?P<question>[a-z].*\?)", text)
    if premise is not None:
        return _read_premise(premise["clause"], premise["question"])
    for form, order in COMPARISONS:
        match = re.fullmatch(_pattern(form, a=NAME, b=NAME), text)
        if match is not None:
            return ParsedQuestion("comparison", BORN.name, match["a"], other=match["b"], order=order)
    return _read_plain(text)


def _read_premise(clause: str, question: str) -> ParsedQuestion | None:
    said = read_statements(clause + ".")
    asked = _read_plain(question[0].upper() + question[1:])
    if len(said) != 1 or asked is None or asked.kind != "simple":
        return None
    return ParsedQuestion("premise", asked.relation, asked.entity, premise=said[0])


def _read_plain(text: str) -> ParsedQuestion | None:
    for relation, pattern in _question_patterns():
        match = pattern.fullmatch(text)
        if match is not None:
            hops = match["hops"].count(FRIEND_OF)
            # "Who is the friend of the friend of A?" chains two relations as "Where does the friend of A live?" does.
            return ParsedQuestion("multi-hop" if hops else "simple", relation, match["e"], hops=hops)
    return None


@cache
def _statement_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (relation.name, re.compile(r"\b" + _pattern(form, e=NAME, v=_value_pattern(relation)).replace(r"\ ", r"\s+")))
        for relation in RELATIONS
        for form in relation.statements
    )


@cache
def _question_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    hops = f"(?P<hops>(?:{FRIEND_OF})*)"
    return tuple(
        (relation.name, re.compile(re.escape(form).replace(r"\{e\}", f"{hops}(?P<e>{NAME})")))
        for relation in RELATIONS
        for form in relation.questions
    )


def _value_pattern(relation: Relation) -> str:
    if relation.kind == "entity":
        return NAME
    return r"\d{4}" if relation.kind == "year" else "|".join(map(re.escape, relation.values))


def _pattern(form: str, **slots: str) -> str:
    """The template as a regular expression with a named group for each slot."""
    pattern = re.escape(form)
    for slot, inner in slots.items():
        pattern = pattern.replace(rf"\{{{slot}\}}", f"(?P<{slot}>{inner})")
    return pattern


def _clean(text: str) -> str:
    return " ".join(text.split())
