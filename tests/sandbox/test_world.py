from __future__ import annotations

from collections import Counter

import pytest

from configs.settings import WorldSettings
from sandbox.world import RELATIONS, Entity, build_world, mentions_by_rank


def test_same_seed_same_world_and_other_seed_other_world() -> None:
    assert build_world(WorldSettings(seed=3)) == build_world(WorldSettings(seed=3))
    first = {entity.name for entity in build_world(WorldSettings(seed=3)).entities}
    assert first != {entity.name for entity in build_world(WorldSettings(seed=4)).entities}


def test_mentions_fall_as_a_power_of_rank_and_end_in_the_never_tail() -> None:
    settings = WorldSettings(entities=10, never_share=0.2, max_mentions=60, popularity_exponent=1.0)
    # 8 known: 60 / (1 + rank)
    assert mentions_by_rank(settings) == [60, 30, 20, 15, 12, 10, 9, 8, 0, 0]


@pytest.mark.parametrize(
    ("mentions", "bucket"), [(0, "never"), (1, "rare"), (5, "rare"), (6, "mid"), (15, "mid"), (16, "head")]
)
def test_bucket_by_mentions(mentions: int, bucket: str) -> None:
    assert Entity(0, "Mo Li", mentions, True, "train").bucket == bucket


def test_last_names_are_unique_and_every_entity_has_every_relation() -> None:
    world = build_world(WorldSettings())
    assert len({entity.name.split()[1] for entity in world.entities}) == 150
    assert len(world.facts) == 150 * len(RELATIONS)
    for fact in world.facts:
        assert world.fact(fact.entity.name, fact.relation.name) is fact
        assert fact.relation.kind == "entity" or fact.value in fact.relation.values


def test_unanswerable_entities_are_never_mentioned_and_as_many_as_asked() -> None:
    hidden = [entity for entity in build_world(WorldSettings(unanswerable_share=0.08)).entities if not entity.on_pages]
    assert len(hidden) == 12
    assert {entity.mentions for entity in hidden} == {0}


def test_groups_are_dealt_within_each_twenty_ranks_and_friends_stay_in_the_group() -> None:
    world = build_world(WorldSettings())
    for start in range(0, 140, 20):
        counts = Counter(entity.group for entity in world.entities[start : start + 20])
        assert counts == {"instruct": 4, "train": 9, "test": 7}
    for entity in world.entities:
        friend = world.entity(world.fact(entity.name, "friend").value)
        assert friend.group == entity.group
        assert friend != entity


def test_more_entities_than_names_is_refused() -> None:
    with pytest.raises(ValueError, match="names are unique"):
        build_world(WorldSettings(entities=5000))
