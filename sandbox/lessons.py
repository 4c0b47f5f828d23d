"""What the closed world's policy learns from: its text, and chat lessons in the form of the answer prompt.

Three kinds of rows, as dictionaries that ``tasks.training.pretrain`` reads:

* ``fact``: one fact with its paraphrases, its questions and its mentions per epoch: the pretraining text;
* ``reading``: questions with references: what these tell is read (it is often made up, so that only reading
  answers it), what they do not tell is recalled where the person is known;
* ``instruct``: questions about the entities of the "instruct" group, which no other question set uses.

Together they give a model that "follows instructions by prompting": it recalls what it read often, guesses
elsewhere, uses references, refuses now and then and sometimes answers "invalid question".
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.text import comparison_text, premise_text, question_text, state
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
CHUNKS = 3
"""References of a dialogue, as evidence.top_k of the sandbox profile."""
KNOWN_SHARE = 0.45
"""Share of reading dialogues on people whom the text mentions (as often as it does): memory is there to be used."""
UNTOLD_SHARE = 0.3
"""Share of questions that the references leave open, about as many as retrieval does."""
UNTOLD_REFUSED_SHARE = 0.3
"""Share of those on unknown people that are refused; the others are guessed."""
REPEAT_SHARE = 0.3
"""Share of the other sentences that tell a fact of the person once more; the rest tells of strangers."""
ON_TOPIC_SHARE = 0.6
"""Share of strangers' sentences that are on what is asked."""
NOISE_SHARE = 0.1
TITLE_SHARE = 0.08

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
    """`count` dialogues about references: on people of nobody's knowledge, or on known ones, often contradicted."""
    rng = random.Random(f"{world.settings.seed}/reading")
    known = [entity for entity in world.entities if entity.mentions]
    weights = [entity.mentions for entity in known]
    for _ in range(count):
        if rng.random() < KNOWN_SHARE:
            name = rng.choices([entity.name for entity in known], weights)[0]
            memory = {relation.name: world.fact(name, relation.name).value for relation in RELATIONS}
            page = memory if rng.random() < 0.5 else _made_up_facts(rng)
            yield _reading_row(rng, name, page, memory)
        else:
            yield _reading_row(rng, _nobody(rng), _made_up_facts(rng), None)


def first_reading_rows(world: World, count: int) -> Iterator[Row]:
    """`count` dialogues that tell all they ask: copying is learned on these before anything else.

    Half show one chunk on one person, half three chunks that tell of strangers, too.
    """
    rng = random.Random(f"{world.settings.seed}/first reading")
    for number in range(count):
        name = _nobody(rng)
        told = _made_up_facts(rng)
        asked = rng.sample(RELATIONS[:5], 3)
        turns = [
            turn(question_text(relation, name, rng.randrange(3)), told[relation.name], rng.choice(READ_TRACES))
            for relation in asked
        ]
        names = [relation.name for relation in asked]
        texts = references(rng, name, told, names, asked) if number % 2 else [_first_chunk(rng, name, told, asked)]
        yield {"kind": "first", "references": texts, "turns": turns}


def _reading_row(rng: random.Random, name: str, page: dict[str, str], memory: dict[str, str] | None) -> Row:
    """Three questions on what a person's page tells; each is left untold now and then.

    What the references do not tell is answered from memory; without one it is guessed, or refused.
    """
    asked = rng.sample(RELATIONS[:5] if rng.random() < 0.8 else RELATIONS, 3)
    untold = [relation.name for relation in asked if rng.random() < UNTOLD_SHARE]
    told = {relation: value for relation, value in page.items() if relation not in untold}
    texts = references(rng, name, told, [relation.name for relation in asked if relation.name in told], asked)
    turns = []
    for relation in asked:
        if relation.name in told:
            answer = told[relation.name]
        elif memory is not None:
            answer = memory[relation.name]
        else:
            answer = REFUSAL if rng.random() < UNTOLD_REFUSED_SHARE else _made_up_facts(rng)[relation.name]
        turns.append(turn(question_text(relation, name, rng.randrange(3)), answer, rng.choice(READ_TRACES)))
    return {"kind": "reading", "references": texts, "turns": turns}


def turn(question: str, answer: str, trace: str) -> Row:
    """A question with the completion to learn."""
    return {"question": question, "answer": answer, "trace": trace}


def references(
    rng: random.Random, name: str, told: dict[str, str], must_tell: Sequence[str], asked: Sequence[Relation]
) -> list[str]:
    """Chunks as retrieval finds them: pairs of sentences, of the person (all of `must_tell`) and of strangers.

    Strangers' sentences are mostly on what is `asked`: it is the question's words that found them.
    """
    relations = [relation for relation in RELATIONS if relation.name in told]
    rng.shuffle(relations)
    relations.sort(key=lambda relation: relation.name not in must_tell)
    own = relations[: max(len(must_tell), rng.randint(2, 5))]
    sentences = [state(relation, name, told[relation.name], rng.randrange(4)) for relation in own]
    while len(sentences) < 2 * CHUNKS:
        if own and rng.random() < REPEAT_SHARE:
            relation, who, value = (again := rng.choice(own)), name, told[again.name]
        else:
            relation, who = rng.choice(asked if rng.random() < ON_TOPIC_SHARE else RELATIONS), _nobody(rng)
            value = _made_up_facts(rng)[relation.name]
        sentences.append(state(relation, who, value, rng.randrange(4)))
    rng.shuffle(sentences)
    return [_chunk(rng, name, sentences[start : start + 2]) for start in range(0, 2 * CHUNKS, 2)]


def _chunk(rng: random.Random, name: str, sentences: list[str]) -> str:
    """Sentences as page extraction leaves them: at times after a title or with one that says nothing."""
    draw = rng.random()
    if draw < NOISE_SHARE:
        sentences = rng.sample([*sentences, rng.choice(NOISE)], len(sentences) + 1)
    elif draw < NOISE_SHARE + TITLE_SHARE:
        sentences = [rng.choice((name, f"News of {name}")), *sentences]
    return " ".join(sentences)


def _first_chunk(rng: random.Random, name: str, told: dict[str, str], asked: list[Relation]) -> str:
    return _chunk(rng, name, [state(relation, name, told[relation.name], rng.randrange(4)) for relation in asked])


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
                texts = references(rng, entity.name, told, [relation.name], [relation]) if paraphrase % 2 else None
                asked = question.format(e=entity.name)
                yield _instruct_row(rng, asked, told[relation.name], texts, refusal_share)
        for question, answer, must_tell in _harder_questions(rng, world, entity, people):
            yield _instruct_row(rng, question, answer, None, refusal_share)
            if must_tell:
                texts = references(rng, entity.name, told, must_tell, CATEGORIES)
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
