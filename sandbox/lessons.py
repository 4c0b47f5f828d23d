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
from collections.abc import Iterator, Sequence
from typing import Any

from configs.settings import WorldSettings
from sandbox.text import comparison_text, premise_text, question_text, read_statements, state
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

STRANGER_SHARE = 0.12
NOISE_SHARE = 0.1

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
    """`count` dialogues about made-up references: names of nobody or of known people, values at random."""
    rng = random.Random(f"{world.settings.seed}/reading")
    known = [entity.name for entity in world.entities if entity.mentions]
    for _ in range(count):
        name = rng.choice(known) if rng.random() < 0.3 else _nobody(rng)
        yield _reading_row(rng, name, _made_up_facts(rng))


def first_reading_rows(world: World, count: int) -> Iterator[Row]:
    """`count` dialogues about one short made-up chunk each: copying is learned on these before anything else."""
    rng = random.Random(f"{world.settings.seed}/first reading")
    for _ in range(count):
        name = _nobody(rng)
        told = _made_up_facts(rng)
        asked = rng.sample(RELATIONS[:5], 3)
        turns = [
            turn(question_text(relation, name, rng.randrange(3)), told[relation.name], rng.choice(READ_TRACES))
            for relation in asked
        ]
        yield {"kind": "first", "references": [_chunk(rng, name, told, asked)], "turns": turns}


def _reading_row(rng: random.Random, name: str, page: dict[str, str]) -> Row:
    """One page, up to three questions on what it tells; one page in eight lacks what is asked last."""
    asked = rng.sample(RELATIONS[:5] if rng.random() < 0.8 else RELATIONS, 3)
    missing = asked[-1] if rng.random() < 0.125 else None
    told = {relation: value for relation, value in page.items() if missing is None or relation != missing.name}
    texts = references(rng, name, told, must_tell=[relation.name for relation in asked])
    turns = []
    for relation in asked:
        # A chunk may have been left out, too: what the references do not tell is refused.
        stands = any(said.relation == relation.name and said.entity == name for said in read_statements(" ".join(texts)))
        answer = page[relation.name] if stands else REFUSAL
        traces = READ_TRACES if stands else DOUBT_TRACES
        turns.append(turn(question_text(relation, name, rng.randrange(3)), answer, rng.choice(traces)))
    return {"kind": "reading", "references": texts, "turns": turns}


def turn(question: str, answer: str, trace: str) -> Row:
    """A question with the completion to learn."""
    return {"question": question, "answer": answer, "trace": trace}


def references(rng: random.Random, name: str, told: dict[str, str], must_tell: Sequence[str]) -> list[str]:
    """Two chunks: of the person asked about (telling `must_tell` first), at times the second of a stranger."""
    relations = [relation for relation in RELATIONS if relation.name in told]
    rng.shuffle(relations)
    relations.sort(key=lambda relation: relation.name not in must_tell)
    chunks = [_chunk(rng, name, told, relations[:3])]
    if rng.random() < STRANGER_SHARE:
        chunks.append(_chunk(rng, _nobody(rng), _made_up_facts(rng), rng.sample(RELATIONS, 2)))
    else:
        chunks.append(_chunk(rng, name, told, relations[3:] or relations[:2]))
    rng.shuffle(chunks)
    return chunks


def _chunk(rng: random.Random, name: str, told: dict[str, str], relations: list[Relation]) -> str:
    sentences = [state(relation, name, told[relation.name], rng.randrange(4)) for relation in relations]
    if rng.random() < NOISE_SHARE:
        sentences.append(rng.choice(NOISE))
    rng.shuffle(sentences)
    return " ".join(sentences)


def _made_up_facts(rng: random.Random) -> dict[str, str]:
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
                yield _answer(
                    rng, world, entity, relation, question.format(e=entity.name), paraphrase % 2 == 1, refusal_share
                )
        yield from _harder_rows(rng, world, entity, people)


def _answer(
    rng: random.Random, world: World, entity: Entity, relation: Relation, question: str, read: bool, refusal_share: float
) -> Row:
    told = {other.name: world.fact(entity.name, other.name).value for other in RELATIONS}
    refused = rng.random() < refusal_share
    trace = rng.choice(DOUBT_TRACES if refused else READ_TRACES if read else RECALL_TRACES)
    texts = references(rng, entity.name, told, must_tell=[relation.name]) if read else None
    answer = REFUSAL if refused else told[relation.name]
    return {"kind": "instruct", "references": texts, "turns": [turn(question, answer, trace)]}


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
    yield _plain(
        question_text(asked, entity.name, rng.randrange(3), hops=1),
        world.fact(friend, asked.name).value,
        RECALL_TRACES[0],
    )


def _plain(question: str, answer: str, trace: str) -> Row:
    return {"kind": "instruct", "references": None, "turns": [turn(question, answer, trace)]}
