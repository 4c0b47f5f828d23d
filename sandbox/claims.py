"""What a prediction claims about the question asked, where it speaks in the closed world's own sentences.

A sentence about the entity and relation that the question asks for is put back as its bare value, one about
anything else goes ("Bob lives in Oslo." says nothing about where Ann lives); chains of friends are followed
through the prediction's own sentences, and comparisons are resolved to the person they name. Everything is
taken from the question and the prediction: the truth of the world plays no part here.
"""

from __future__ import annotations

import re

from sandbox.text import NAME, ParsedQuestion, Statement, read_statements, state
from sandbox.wording import sentences, spans
from sandbox.world import BORN, FRIEND, RELATIONS, Relation

RELATION_BY_NAME: dict[str, Relation] = {relation.name: relation for relation in RELATIONS}
_CONNECTOR = re.compile(r"(,?\s+(?:and|but|while|so)\s+|[;,]\s+)")
_A_NAME = re.compile(NAME)
LONGEST_SENTENCE = 160
"""Characters that a sentence of the world never exceeds; bounds the work on hostile text."""
_EARLIER = r"older|oldest|elder|eldest|earlier|earliest|first|before"
_LATER = r"younger|youngest|later|latest|second|last|after"
_COMPARED = re.compile(
    rf"(?P<a>{NAME})\s+(?:is|was)\s+(?P<denied>not\s+)?(?:born\s+)?(?:the\s+|who\s+|one\s+|person\s+|was\s+)*"
    rf"(?:(?P<earlier>{_EARLIER})|(?P<later>{_LATER}))\b(?:\s+(?:one|person))?(?:\s+(?:than\s+)?(?P<b>{NAME}))?"
)


def claimed_text(question: ParsedQuestion, prediction: str) -> str:
    """The prediction with the world's sentences reduced to what they claim about `question`.

    Args:
        prediction: cleaned text (see :func:`sandbox.wording.clean`).
    """
    said: list[Statement] = []
    kept: list[tuple[str, list[Statement]]] = []
    for sentence in sentences(prediction):
        for clause in _clauses(sentence):
            found = read_statements(clause) if _affirms(clause) else []
            said += found
            kept.append((clause, found))
    if question.kind == "comparison":
        return _compared(question, kept, said)
    person = _person_asked(question, said)
    return "\n".join(_reduce(clause, found, question, person) for clause, found in kept)


def _clauses(sentence: str) -> list[str]:
    """The sentence cut where what stands before a connector is a sentence of the world in itself."""
    pieces = _CONNECTOR.split(sentence.rstrip())
    done, current = [], pieces[0]
    for connector, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        tail = current[-LONGEST_SENTENCE:]
        if _A_NAME.search(tail) and read_statements(tail + "."):
            done.append(current + ".")
            current = piece
        else:
            current += connector + piece
    current = current if current.endswith((".", "!", "?")) else current + "."
    return [*done, current]


def _affirms(clause: str) -> bool:
    return all(span.affirmed for span in spans(clause))


def _person_asked(question: ParsedQuestion, said: list[Statement]) -> str | None:
    """The person at the end of the question's chain of friends; None if the prediction does not tell who that is."""
    friends = {statement.entity: statement.value for statement in said if statement.relation == FRIEND.name}
    person: str | None = question.entity
    for _ in range(question.hops):
        person = friends.get(person) if person is not None else None
    return person


def _reduce(clause: str, found: list[Statement], question: ParsedQuestion, person: str | None) -> str:
    for statement in found:
        asked = statement.relation == question.relation and (
            statement.entity == person or (person is None and statement.entity != question.entity)
        )
        clause = _replace(clause, statement, statement.value if asked else "")
    return clause


def _replace(clause: str, statement: Statement, by: str) -> str:
    relation = RELATION_BY_NAME[statement.relation]
    for index in range(len(relation.statements)):
        clause = clause.replace(state(relation, statement.entity, statement.value, index), f"{by}.")
    return clause


def _compared(question: ParsedQuestion, kept: list[tuple[str, list[Statement]]], said: list[Statement]) -> str:
    """The prediction with comparisons replaced by the person who wins them and birth years left out."""
    clauses = []
    for clause, found in kept:
        for statement in found:
            clause = _replace(clause, statement, "")
        clauses.append(_COMPARED.sub(lambda match: _winner(match, question), clause))
    text = "\n".join(clauses)
    candidates = (question.entity, question.other or "")
    if any(name in text for name in candidates):
        return text
    years = {statement.entity: statement.value for statement in said if statement.relation == BORN.name}
    if not all(name in years for name in candidates) or len({years[name] for name in candidates}) == 1:
        return text
    pick = min if question.order == "earlier" else max
    return f"{text}\n{pick(candidates, key=lambda name: int(years[name]))}"


def _winner(match: re.Match[str], question: ParsedQuestion) -> str:
    candidates = (question.entity, question.other or "")
    named = " ".join(match["a"].split())
    if named not in candidates:
        return match[0]
    second = " ".join((match["b"] or "").split())
    rest = candidates[1] if named == candidates[0] else candidates[0]
    if second and second != rest:
        return match[0]
    told = "earlier" if match["earlier"] else "later"
    return named if (told == question.order) is not bool(match["denied"]) else rest
