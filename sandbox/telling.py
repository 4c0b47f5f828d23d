"""Sentences that a page tells: true ones, outdated ones and wrong ones."""

from __future__ import annotations

import random
from collections.abc import Sequence

from sandbox.site import Freshness
from sandbox.text import state
from sandbox.world import BORN, FRIEND, RELATIONS, Entity, Fact, World


def tell(world: World, rng: random.Random, facts: Sequence[Fact], freshness: Freshness) -> list[str]:
    """A sentence for each fact; on stale and wrong pages about half of them (and at least one) are untrue."""
    untrue: set[int] = set()
    if freshness in ("stale", "wrong"):
        can_change = [i for i, fact in enumerate(facts) if freshness == "wrong" or fact.relation != BORN]
        count = min(len(can_change), max(1, round(len(facts) / 2)))
        untrue = set(rng.sample(can_change, count))
    return [
        state(
            fact.relation,
            fact.entity.name,
            _untrue_value(world, rng, fact, freshness) if i in untrue else fact.value,
            rng.randrange(len(fact.relation.statements)),
        )
        for i, fact in enumerate(facts)
    ]


def _untrue_value(world: World, rng: random.Random, fact: Fact, freshness: Freshness) -> str:
    """An outdated value is the same wherever it still stands; a wrong one is each page's own."""
    if freshness == "stale":
        rng = random.Random(f"{world.settings.seed}/outdated/{fact.entity.index}/{fact.relation.name}")
    if fact.relation == FRIEND:
        pool = [entity.name for entity in world.entities if entity != fact.entity]
    else:
        pool = list(fact.relation.values)
    return rng.choice([value for value in pool if value != fact.value])


def friend_facts(world: World, rng: random.Random, entity: Entity) -> list[Fact]:
    """Two facts of the person's friend, so that a chain can be followed on one page."""
    friend = world.entity(world.fact(entity.name, FRIEND.name).value)
    if not friend.on_pages or friend == entity:
        return []
    return [world.fact(friend.name, relation.name) for relation in rng.sample(RELATIONS, 2)]


def stranger_facts(world: World, rng: random.Random, entity: Entity, count: int) -> list[Fact]:
    """A fact each of `count` other people that stand on pages (fewer in a tiny world)."""
    pool = [other for other in world.entities if other.on_pages and other != entity]
    return [world.fact(other.name, rng.choice(RELATIONS).name) for other in rng.sample(pool, min(count, len(pool)))]
