"""What the closed world's policy learns from: its text, and chat lessons in the form of the answer prompt.

Three kinds of rows, as dictionaries that ``tasks.training.pretrain`` reads:

* ``fact``: one fact with its paraphrases, its questions and its mentions per epoch: the pretraining text;
* ``reading``: a question with references whose facts are drawn at random, so that only reading answers it;
* ``instruct``: questions about the entities of the "instruct" group, which no other question set uses.

Together they give a model that "follows instructions by prompting": it recalls what it read often, guesses
elsewhere, uses references, refuses now and then and sometimes answers "invalid question".
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from configs.settings import WorldSettings
from sandbox.text import comparison_text, premise_text, question_text, state
from sandbox.world import BORN, FRIEND, RELATIONS, Entity, Relation, World, draw_name
from tasks.core.records import FALSE_PREMISE, REFUSAL

RECALL_TRACES = ("from memory", "as I recall")
READ_TRACES = ("from the references", "the references say")
DOUBT_TRACES = ("not sure",)
PREMISE_TRACES = ("the premise is wrong",)
CATEGORIES = tuple(relation for relation in RELATIONS if relation.kind == "category")
NOISE = (
    "Read more about people of the region.",
    "This page was last edited in spring.",
    "Share this page with others.",
    "All rights reserved.",
    "See also the list of people.",
)
"""Sentences that state nothing, as page extraction leaves them."""

Row = dict[str, Any]


def fact_rows(world: World) -> Iterator[Row]:
    """One row for each fact that the text mentions, with its statements, questions, value and mentions."""
    for fact in world.facts:
        if fact.entity.mentions:
            name = fact.entity.name
            yield {
                "kind": "fact",
                "statements": [state(fact.relation, name, fact.value, i) for i in range(len(fact.relation.statements))],
                "questions": [question_text(fact.relation, name, i) for i in range(len(fact.relation.questions))],
                "answer": fact.value,
                "mentions": fact.entity.mentions,
                "trace": list(RECALL_TRACES),
            }


def reading_rows(world: World, count: int) -> Iterator[Row]:
    """`count` questions with made-up references: names of nobody or of known people, values at random."""
    rng = random.Random(f"{world.settings.seed}/reading")
    known = [entity.name for entity in world.entities if entity.mentions]
    for _ in range(count):
        name = rng.choice(known) if rng.random() < 0.3 else _nobody(rng)
        relation = rng.choice(RELATIONS)
        page = _made_up_facts(rng, name)
        yield _reading_row(rng, relation, page, name, answerable=rng.random() < 0.85)


def _reading_row(
    rng: random.Random, relation: Relation, page: dict[str, str], name: str, *, answerable: bool
) -> Row:
    told = dict(page)
    if not answerable:
        del told[relation.name]
    return {
        "kind": "reading",
        "question": question_text(relation, name, rng.randrange(3)),
        "references": references(rng, name, told, must_tell=relation.name if answerable else None),
        "answer": page[relation.name] if answerable else REFUSAL,
        "trace": rng.choice(READ_TRACES if answerable else DOUBT_TRACES),
    }


def references(rng: random.Random, name: str, told: dict[str, str], must_tell: str | None) -> list[str]:
    """Two or three made-up chunks: one of the person asked about, the others of the same person or of strangers."""
    relations = [relation for relation in RELATIONS if relation.name in told]
    rng.shuffle(relations)
    if must_tell is not None:
        relations.sort(key=lambda relation: relation.name != must_tell)
    cut = rng.randint(2, 3)
    chunks = [_chunk(rng, name, told, relations[:cut])]
    if rng.random() < 0.6:
        chunks.append(_chunk(rng, name, told, relations[cut:]))
    stranger = _nobody(rng)
    facts = _made_up_facts(rng, stranger)
    while len(chunks) < 2 or (len(chunks) < 3 and rng.random() < 0.3):
        chunks.append(_chunk(rng, stranger, facts, rng.sample(RELATIONS, rng.randint(2, 3))))
    rng.shuffle(chunks)
    return chunks


def _chunk(rng: random.Random, name: str, told: dict[str, str], relations: list[Relation]) -> str:
    sentences = [state(relation, name, told[relation.name], rng.randrange(4)) for relation in relations]
    if rng.random() < 0.2:
        sentences.append(rng.choice(NOISE))
    rng.shuffle(sentences)
    return " ".join(sentences)


def _made_up_facts(rng: random.Random, name: str) -> dict[str, str]:
    return {
        relation.name: _nobody(rng) if relation.kind == "entity" else rng.choice(relation.values)
        for relation in RELATIONS
    }


def _nobody(rng: random.Random) -> str:
    return f"{draw_name(rng)} {draw_name(rng)}"


def instruct_rows(world: World, refusal_share: float) -> Iterator[Row]:
    """Questions on the "instruct" group in both prompt settings, `refusal_share` of them refused at random."""
    rng = random.Random(f"{world.settings.seed}/instruct")
    people = [entity for entity in world.entities if entity.group == "instruct"]
    for entity in people:
        for relation in RELATIONS:
            for paraphrase, question in enumerate(relation.questions):
                yield _answer(rng, world, entity, relation, question.format(e=entity.name), paraphrase % 2 == 1, refusal_share)
        yield from _harder_rows(rng, world, entity, people)


def _answer(
    rng: random.Random, world: World, entity: Entity, relation: Relation, question: str, read: bool, refusal_share: float
) -> Row:
    gold = world.fact(entity.name, relation.name).value
    told = {other.name: world.fact(entity.name, other.name).value for other in RELATIONS}
    refused = rng.random() < refusal_share
    trace = rng.choice(DOUBT_TRACES if refused else READ_TRACES if read else RECALL_TRACES)
    return {
        "kind": "instruct",
        "question": question,
        "references": references(rng, entity.name, told, must_tell=relation.name) if read else None,
        "answer": REFUSAL if refused else gold,
        "trace": trace,
    }


def _harder_rows(rng: random.Random, world: World, entity: Entity, people: list[Entity]) -> Iterator[Row]:
    """A false premise, a comparison and a two-hop question for each person, closed book."""
    premise, asked = rng.sample(CATEGORIES, 2)
    true_value = world.fact(entity.name, premise.name).value
    wrong = rng.choice([value for value in premise.values if value != true_value])
    gold = world.fact(entity.name, asked.name).value
    yield _plain(premise_text(premise, wrong, asked, entity.name, rng.randrange(3)), FALSE_PREMISE, PREMISE_TRACES[0])
    yield _plain(premise_text(premise, true_value, asked, entity.name, rng.randrange(3)), gold, RECALL_TRACES[0])
    other = rng.choice([person for person in people if person != entity])
    first = min((entity, other), key=lambda person: world.fact(person.name, BORN.name).value)
    yield _plain(comparison_text(entity.name, other.name, rng.randrange(2)), first.name, RECALL_TRACES[0])
    friend = world.fact(entity.name, FRIEND.name).value
    yield _plain(question_text(asked, entity.name, rng.randrange(3), hops=1), world.fact(friend, asked.name).value, RECALL_TRACES[0])


def _plain(question: str, answer: str, trace: str) -> Row:
    return {"kind": "instruct", "question": question, "references": None, "answer": answer, "trace": trace}
