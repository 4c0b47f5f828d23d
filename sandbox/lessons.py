"""What the closed world's policy learns from: its text, and chat lessons in the form of the answer prompt.

Three kinds of rows, as dictionaries that ``tasks.training.pretrain`` reads:

* ``fact``: one fact with its paraphrases, its questions and its mentions per epoch: the pretraining text;
* ``reading``: a question with references whose facts are drawn at random, so that only reading answers it;
* ``instruct``: questions about the entities of the "instruct" group, which no other question set uses.

Together they give a model that "follows instructions by prompting": it recalls what it read often, guesses
elsewhere, uses references, refuses now and then and sometimes answers "invalid question".
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.text import comparison_text, premise_text, question_text, read_statements, state
from sandbox.world import BORN, FRIEND, RELATIONS, Entity, Relation, World, draw_name
from tasks.core.records import FALSE_PREMISE, REFUSAL

# A trace tells where the answer is sought, never whether it is found. What to answer is then decided where the
# candidates compete; with a trace such as "not sure" it would be decided before the model has looked, and
# reinforcement learning would refuse by the form of the prompt alone.
RECALL_TRACES = ("from memory", "let me recall")
READ_TRACES = ("from the references", "let me read")
CATEGORIES = tuple(relation for relation in RELATIONS if relation.kind == "category")
NOISE = (
    "Read more about people of the region.",
    "This page was last edited in spring.",
    "Share this page with others.",
    "All rights reserved.",
    "See also the list of people.",
)
"""Sentences that state nothing, as page extraction leaves them."""

SIDE_SHARE = 0.5
"""Mentions of birth years and friends relative to the categories, which carry most questions."""
PREMISES = 4
"""Questions with a premise for each person, one of them true."""
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
                "mentions": math.ceil(fact.entity.mentions * (1.0 if fact.relation in CATEGORIES else SIDE_SHARE)),
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
    said = {found.relation for found in read_statements(" ".join(texts)) if found.entity == name}
    turns = []
    for relation in asked:
        # A chunk may have been left out, too: what the references do not tell is refused.
        answer = page[relation.name] if relation.name in said else REFUSAL
        turns.append(turn(question_text(relation, name, rng.randrange(3)), answer, rng.choice(READ_TRACES)))
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
        told = {relation.name: world.fact(entity.name, relation.name).value for relation in RELATIONS}
        for relation in RELATIONS:
            for paraphrase, question in enumerate(relation.questions):
                texts = references(rng, entity.name, told, [relation.name]) if paraphrase % 2 else None
                asked = question.format(e=entity.name)
                yield _instruct_row(rng, asked, told[relation.name], texts, refusal_share)
        for question, answer, must_tell in _harder_questions(rng, world, entity, people):
            yield _instruct_row(rng, question, answer, None, refusal_share)
            if must_tell:
                texts = references(rng, entity.name, told, must_tell)
                yield _instruct_row(rng, question, answer, texts, refusal_share)


def _instruct_row(rng: random.Random, question: str, answer: str, texts: list[str] | None, refusal_share: float) -> Row:
    if rng.random() < refusal_share:
        answer = REFUSAL
    trace = rng.choice(READ_TRACES if texts else RECALL_TRACES)
    return {"kind": "instruct", "references": texts, "turns": [turn(question, answer, trace)]}


def _harder_questions(
    rng: random.Random, world: World, entity: Entity, people: list[Entity]
) -> Iterator[tuple[str, str, list[str]]]:
    """A true and some false premises, a comparison and a two-hop question, each with its answer.

    The third part names the relations of the person that references must tell; empty where one page does not do.
    """
    for position in range(PREMISES):
        premise, asked = rng.sample(CATEGORIES, 2)
        true_value, gold = (world.fact(entity.name, relation.name).value for relation in (premise, asked))
        holds = position == 0
        value = true_value if holds else rng.choice([other for other in premise.values if other != true_value])
        question = premise_text(premise, value, asked, entity.name, rng.randrange(3))
        yield question, gold if holds else FALSE_PREMISE, [premise.name, asked.name]
    born = {person.name: int(world.fact(person.name, BORN.name).value) for person in people}
    other = rng.choice([person for person in people if born[person.name] != born[entity.name]])
    elder = min(entity.name, other.name, key=lambda name: born[name])
    yield comparison_text(entity.name, other.name, rng.randrange(2)), elder, []
    friend = world.fact(entity.name, FRIEND.name).value
    asked = rng.choice(CATEGORIES)
    yield question_text(asked, entity.name, rng.randrange(3), hops=1), world.fact(friend, asked.name).value, []
