"""Question rows of the closed world in the columns of CRAG, NQ-open, HotpotQA and MuSiQue.

Columns and nesting are the hub's; `popularity` (that of the least popular person asked about) and `group` (the leak
key: the name of the main person) are extra. Questions never cross entity groups: CRAG's split 0 asks about the
"train" group, its split 1 and the other sets about the "test" group.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from configs.settings import WorldSettings
from sandbox.text import comparison_text, premise_text, question_text, statement
from sandbox.world import BORN, FRIEND, RELATIONS, Entity, Group, Relation, World
from tasks.core.records import FALSE_PREMISE

Row = dict[str, Any]
PagesFor = Callable[[str], list[Row]]
"""Query -> pages found, with page_name, page_url, page_snippet, page_result, page_last_modified."""

CATEGORIES = tuple(relation for relation in RELATIONS if relation.kind == "category")
QUERY_TIME = "03/10/2026, 12:00:00 PT"
CRAG_SPLITS: tuple[tuple[Group, int], ...] = (("train", 0), ("test", 1))
POPULARITY_ORDER = ("never", "rare", "mid", "head")
DISTRACTORS = 2
"""Articles of strangers in a HotpotQA context or among a MuSiQue row's paragraphs."""


def crag_rows(world: World, pages_for: PagesFor) -> Iterator[Row]:
    """One row for each categorical relation of each person in the train and test groups."""
    for group, split in CRAG_SPLITS:
        rng = random.Random(f"{world.settings.seed}/crag/{group}")
        people = _people(world, group)
        kinds = iter(_crag_types(rng, world.settings, len(people) * len(CATEGORIES)))
        for entity in people:
            for relation in CATEGORIES:
                asked = _crag_question(rng, world, entity, relation, people, next(kinds))
                name = f"{group}-{entity.index}-{relation.name}"
                yield _crag_row(name, split, asked, entity, pages_for)


def _crag_row(name: str, split: int, asked: Row, entity: Entity, pages_for: PagesFor) -> Row:
    people: list[Entity] = asked["people"]
    return {
        "interaction_id": f"crag-{name}",
        "query_time": QUERY_TIME,
        "domain": "open",
        "question_type": asked["type"],
        "static_or_dynamic": "static",
        "query": asked["query"],
        "answer": asked["answer"],
        "alt_ans": asked["alt_ans"],
        "split": split,
        "popularity": _rarest(people),
        "group": entity.name,
        "search_results": pages_for(asked["query"]),
    }


def _crag_question(
    rng: random.Random, world: World, entity: Entity, relation: Relation, people: list[Entity], kind: str
) -> Row:
    form = rng.randrange(len(relation.questions))
    gold = world.fact(entity.name, relation.name).value
    if kind in ("false_premise", "simple_w_condition"):
        premise = rng.choice([other for other in CATEGORIES if other != relation])
        true_value = world.fact(entity.name, premise.name).value
        false_values = [value for value in premise.values if value != true_value]
        value = rng.choice(false_values) if kind == "false_premise" else true_value
        query = premise_text(premise, value, relation, entity.name, form)
        return _asked(kind, query, FALSE_PREMISE if kind == "false_premise" else gold, [entity])
    if kind == "comparison":
        query, elder, other = _comparison(rng, world, entity, people)
        return _asked(kind, query, elder.name, [entity, other], [elder.name.split()[-1]])
    if kind == "multi-hop":
        friend = world.entity(world.fact(entity.name, FRIEND.name).value)
        query = question_text(relation, entity.name, form, hops=1)
        return _asked(kind, query, world.fact(friend.name, relation.name).value, [entity, friend])
    return _asked(kind, question_text(relation, entity.name, form), gold, [entity])


def _asked(kind: str, query: str, answer: str, people: list[Entity], alt_ans: Sequence[str] = ()) -> Row:
    return {"type": kind, "query": query, "answer": answer, "alt_ans": list(alt_ans), "people": people}


def _crag_types(rng: random.Random, settings: WorldSettings, count: int) -> list[str]:
    """Question types in random order, each as often as its share says; the rest is simple."""
    shares = {
        "false_premise": settings.false_premise_share,
        "simple_w_condition": settings.true_premise_share,
        "comparison": settings.comparison_share,
        "multi-hop": settings.multi_hop_share,
    }
    kinds = [kind for kind, share in shares.items() for _ in range(round(share * count))]
    kinds = (kinds + ["simple"] * count)[:count]
    rng.shuffle(kinds)
    return kinds


def _comparison(
    rng: random.Random, world: World, entity: Entity, people: Sequence[Entity]
) -> tuple[str, Entity, Entity]:
    """(question, the one asked for, the other candidate); the two were born in different years."""
    born = {person.name: int(world.fact(person.name, BORN.name).value) for person in people}
    other = rng.choice([person for person in people if born[person.name] != born[entity.name]])
    form = rng.randrange(4)
    pair = [entity, other]
    rng.shuffle(pair)
    wanted = (min if form < 2 else max)(pair, key=lambda person: born[person.name])
    return comparison_text(pair[0].name, pair[1].name, form), wanted, other


def nq_open_rows(world: World) -> Iterator[Row]:
    """Two simple questions on each person of the test group."""
    rng = random.Random(f"{world.settings.seed}/nq_open")
    for entity in _people(world, "test"):
        for relation in rng.sample(RELATIONS[:5], 2):
            yield {
                "question": question_text(relation, entity.name, rng.randrange(3)),
                "answer": [world.fact(entity.name, relation.name).value],
                "popularity": entity.bucket,
                "group": entity.name,
            }


def hotpotqa_rows(world: World) -> Iterator[Row]:
    """A comparison and a bridge question on each person of the test group, articles as context."""
    rng = random.Random(f"{world.settings.seed}/hotpotqa")
    people = _people(world, "test")
    for entity in people:
        query, wanted, other = _comparison(rng, world, entity, people)
        compared = [(entity, BORN), (other, BORN)]
        yield _hotpotqa_row(rng, world, f"comparison-{entity.index}", query, wanted.name, "comparison", compared)
        relation = rng.choice(CATEGORIES)
        friend = world.entity(world.fact(entity.name, FRIEND.name).value)
        query = question_text(relation, entity.name, rng.randrange(3), hops=1)
        gold = world.fact(friend.name, relation.name).value
        bridge = [(entity, FRIEND), (friend, relation)]
        yield _hotpotqa_row(rng, world, f"bridge-{entity.index}", query, gold, "bridge", bridge)


def _hotpotqa_row(
    rng: random.Random,
    world: World,
    name: str,
    question: str,
    answer: str,
    kind: str,
    support: list[tuple[Entity, Relation]],
) -> Row:
    supporting = [entity for entity, _ in support]
    context = [*supporting, *_strangers(rng, world, supporting)]
    rng.shuffle(context)
    return {
        "id": f"hotpotqa-{name}",
        "question": question,
        "answer": answer,
        "type": kind,
        "level": "medium" if kind == "comparison" else "hard",
        "supporting_facts": {
            "title": [entity.name for entity in supporting],
            "sent_id": [RELATIONS.index(relation) for _, relation in support],
        },
        "context": {
            "title": [entity.name for entity in context],
            "sentences": [article_sentences(world, entity) for entity in context],
        },
        "popularity": _rarest(supporting),
        "group": supporting[0].name,
    }


def musique_rows(world: World) -> Iterator[Row]:
    """Two questions of two or three hops on each person of the test group."""
    rng = random.Random(f"{world.settings.seed}/musique")
    for entity in _people(world, "test"):
        for hops in (1, 2):
            yield _musique_row(rng, world, entity, hops, rng.choice(CATEGORIES))


def _musique_row(rng: random.Random, world: World, entity: Entity, hops: int, relation: Relation) -> Row:
    chain = [entity]
    for _ in range(hops):
        chain.append(world.entity(world.fact(chain[-1].name, FRIEND.name).value))
    shown = [*chain, *_strangers(rng, world, chain)]
    rng.shuffle(shown)
    asked = [FRIEND] * hops + [relation]
    return {
        "id": f"{hops + 1}hop__{entity.index}_{relation.name}",
        "paragraphs": [
            {
                "idx": position,
                "title": person.name,
                "paragraph_text": " ".join(article_sentences(world, person)),
                "is_supporting": person in chain,
            }
            for position, person in enumerate(shown)
        ],
        "question": question_text(relation, entity.name, rng.randrange(3), hops=hops),
        "question_decomposition": [
            {
                "id": step,
                # MuSiQue writes "#1" for the answer of an earlier step.
                "question": question_text(hop, person.name if step == 0 else f"#{step}"),
                "answer": world.fact(person.name, hop.name).value,
                "paragraph_support_idx": shown.index(person),
            }
            for step, (person, hop) in enumerate(zip(chain, asked, strict=True))
        ],
        "answer": world.fact(chain[-1].name, relation.name).value,
        "answer_aliases": [],
        "answerable": True,
        "popularity": _rarest(chain),
        "group": entity.name,
    }


def corpus_rows(world: World) -> Iterator[Row]:
    """An encyclopedia article (id, title, text) for each person that stands on pages."""
    for entity in world.entities:
        if entity.on_pages:
            text = " ".join(article_sentences(world, entity))
            yield {"id": f"article-{entity.index}", "title": entity.name, "text": text}


def article_sentences(world: World, entity: Entity) -> list[str]:
    """One true sentence a relation, in the relations' order; nothing of a person who stands on no page."""
    if not entity.on_pages:
        return []
    rng = random.Random(f"{world.settings.seed}/article/{entity.index}")
    return [statement(world.fact(entity.name, relation.name), rng.randrange(4)) for relation in RELATIONS]


def _people(world: World, group: Group) -> list[Entity]:
    return [entity for entity in world.entities if entity.group == group]


def _strangers(rng: random.Random, world: World, known: Sequence[Entity]) -> list[Entity]:
    return rng.sample([entity for entity in world.entities if entity not in known and entity.on_pages], DISTRACTORS)


def _rarest(people: Sequence[Entity]) -> str:
    return min((entity.bucket for entity in people), key=POPULARITY_ORDER.index)
