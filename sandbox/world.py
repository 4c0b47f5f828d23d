"""The closed world: people, their facts and how often the policy's pretraining text mentions them.

Truth is known exactly here, so that a model's knowledge boundary is known too: mentions fall as a power of an
entity's rank, and a tail of entities is never mentioned at all. Everything is drawn from
``random.Random(f"{seed}/{purpose}")``: one seed gives one world, whatever else is drawn elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from configs.settings import WorldSettings

RelationKind = Literal["category", "year", "entity"]
Bucket = Literal["head", "mid", "rare", "never"]
Group = Literal["instruct", "train", "test"]

HEAD_ABOVE = 15
"""An entity with more mentions an epoch is well known ("head")."""
RARE_UP_TO = 5
"""An entity with at most that many mentions an epoch (but at least one) is "rare"."""
GROUPS_OF_TWENTY: tuple[Group, ...] = ("instruct",) * 4 + ("train",) * 9 + ("test",) * 7
"""How each run of twenty neighbouring ranks is dealt: 20% instruct, 45% train, 35% test."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SYLLABLES = _words("ba ke lo mi nu ra ti vo za du fe gi ho ja ku le mo ni pa re so ta wu ya be da fi go hu ji ka li")


@dataclass(frozen=True)
class Relation:
    """One kind of fact. Templates hold ``{e}`` (the entity) and, in statements, ``{v}`` (the value)."""

    name: str
    questions: tuple[str, ...]
    statements: tuple[str, ...]
    values: tuple[str, ...]
    """Values a fact may take; empty for kind "entity", whose values are names."""
    kind: RelationKind


@dataclass(frozen=True)
class Entity:
    """A person. `index` is the popularity rank, 0 the most popular."""

    index: int
    name: str
    mentions: int
    """Mentions of each of its facts in one pretraining epoch; 0 = never."""
    on_pages: bool
    """Whether any web page or corpus article tells of it."""
    group: Group
    """Which questions it may stand in: instruction tuning, training set or test sets."""

    @property
    def bucket(self) -> Bucket:
        """Popularity class by mentions."""
        if self.mentions == 0:
            return "never"
        if self.mentions <= RARE_UP_TO:
            return "rare"
        return "head" if self.mentions > HEAD_ABOVE else "mid"


@dataclass(frozen=True)
class Fact:
    """The true value of one relation of one entity."""

    entity: Entity
    relation: Relation
    value: str


CITY = Relation(
    name="city",
    questions=("Where does {e} live?", "In which city is {e} at home?", "What is the home city of {e}?"),
    statements=(
        "{e} lives in {v}.",
        "The home of {e} is {v}.",
        "You can find {e} in {v}.",
        "{v} is where {e} lives.",
    ),
    values=_words(
        "Paris Tokyo Lima Oslo Cairo Delhi Rome Quito Accra Minsk "
        "Dakar Sofia Riga Doha Lagos Hanoi Seoul Bern Turin Porto"
    ),
    kind="category",
)
JOB = Relation(
    name="job",
    questions=("What is the job of {e}?", "What does {e} do for a living?", "Which trade does {e} follow?"),
    statements=(
        "{e} works as a {v}.",
        "The job of {e} is {v}.",
        "{e} earns money as a {v}.",
        "By trade {e} is a {v}.",
    ),
    values=_words(
        "baker pilot nurse tailor miner lawyer painter farmer sailor judge "
        "barber chemist plumber dancer welder banker gardener porter guard potter"
    ),
    kind="category",
)
PET = Relation(
    name="pet",
    questions=("Which animal does {e} keep?", "What pet does {e} have?", "What is the pet of {e}?"),
    statements=(
        "{e} keeps a {v}.",
        "The pet of {e} is a {v}.",
        "{e} has a {v} at home.",
        "A {v} is kept by {e}.",
    ),
    values=_words(
        "cat dog parrot snake rabbit turtle ferret goose pony lizard "
        "hamster spider goat pigeon donkey duck frog mouse crow hen"
    ),
    kind="category",
)
FOOD = Relation(
    name="food",
    questions=("What does {e} like to eat?", "What is the favourite food of {e}?", "Which food does {e} love?"),
    statements=(
        "{e} likes to eat {v}.",
        "The favourite food of {e} is {v}.",
        "{e} eats {v} every day.",
        "What {e} loves is {v}.",
    ),
    values=_words(
        "rice soup bread pasta beans apples cheese fish corn honey "
        "plums salad carrots olives yogurt mango onions lentils pears nuts"
    ),
    kind="category",
)
BORN = Relation(
    name="born",
    questions=("When was {e} born?", "In which year was {e} born?", "What is the birth year of {e}?"),
    statements=(
        "{e} was born in {v}.",
        "The birth year of {e} is {v}.",
        "In {v} {e} was born.",
        "{e} came into the world in {v}.",
    ),
    values=tuple(str(year) for year in range(1941, 1999, 3)),
    kind="year",
)
FRIEND = Relation(
    name="friend",
    questions=("Who is the friend of {e}?", "Which person is the friend of {e}?", "Whom does {e} call a friend?"),
    statements=(
        "The friend of {e} is {v}.",
        "{e} has a friend called {v}.",
        "{v} is the friend of {e}.",
        "{e} calls {v} a friend.",
    ),
    values=(),
    kind="entity",
)
RELATIONS: tuple[Relation, ...] = (CITY, JOB, PET, FOOD, BORN, FRIEND)


@dataclass(frozen=True)
class World:
    """All that is true. `facts` holds every relation of every entity, entities in order of popularity."""

    settings: WorldSettings
    relations: tuple[Relation, ...]
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    _facts_by_key: dict[tuple[str, str], Fact] = field(init=False, repr=False, compare=False, default_factory=dict)
    _entities_by_name: dict[str, Entity] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._facts_by_key.update({(fact.entity.name, fact.relation.name): fact for fact in self.facts})
        self._entities_by_name.update({entity.name: entity for entity in self.entities})

    def fact(self, entity_name: str, relation_name: str) -> Fact:
        """The fact of that entity and relation; KeyError if the world holds no such entity or relation."""
        return self._facts_by_key[entity_name, relation_name]

    def entity(self, name: str) -> Entity:
        """The entity of that name; KeyError if there is none."""
        return self._entities_by_name[name]

    def relation(self, name: str) -> Relation:
        """The relation of that name; KeyError if there is none."""
        return {relation.name: relation for relation in self.relations}[name]


def build_world(settings: WorldSettings) -> World:
    """Draw a world. Raises ValueError where settings ask for more names than the syllables give."""
    entities = tuple(_draw_entities(settings))
    return World(settings, RELATIONS, entities, tuple(_draw_facts(settings, entities)))


def draw_name(rng: random.Random) -> str:
    """A capitalised name of two or three syllables."""
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((2, 2, 3)))).capitalize()


def _draw_entities(settings: WorldSettings) -> Iterator[Entity]:
    names = _draw_names(settings)
    mentions = mentions_by_rank(settings)
    groups = _draw_groups(settings)
    never = [rank for rank, count in enumerate(mentions) if count == 0]
    hidden_count = min(len(never), round(settings.unanswerable_share * settings.entities))
    hidden = set(random.Random(f"{settings.seed}/hidden").sample(never, hidden_count))
    for rank, name in enumerate(names):
        yield Entity(rank, name, mentions[rank], rank not in hidden, groups[rank])


def mentions_by_rank(settings: WorldSettings) -> list[int]:
    """Mentions an epoch for each rank: max / (1 + 8 r / n_known)^exponent, at least 1; 0 for the unknown tail."""
    known = settings.entities - round(settings.never_share * settings.entities)
    counts = [
        max(1, round(settings.max_mentions / (1 + 8 * rank / known) ** settings.popularity_exponent))
        for rank in range(known)
    ]
    return counts + [0] * (settings.entities - known)


def _draw_names(settings: WorldSettings) -> list[str]:
    """Names "First Last" whose last names are unique (shared ones make facts hard to learn)."""
    rng = random.Random(f"{settings.seed}/names")
    if settings.entities > len(SYLLABLES) ** 2:
        raise ValueError(f"world.entities is {settings.entities}; at most {len(SYLLABLES) ** 2} names are unique")
    pool: dict[str, None] = {}
    while len(pool) < settings.entities + 60:
        pool[draw_name(rng)] = None
    names = list(pool)
    first, last = names[:60], names[60:]
    return [f"{rng.choice(first)} {surname}" for surname in last]


def _draw_groups(settings: WorldSettings) -> list[Group]:
    """A group for each rank, dealt within blocks of twenty neighbouring ranks so that popularity is balanced."""
    rng = random.Random(f"{settings.seed}/groups")
    groups: list[Group] = []
    while len(groups) < settings.entities:
        block = list(GROUPS_OF_TWENTY)
        rng.shuffle(block)
        groups.extend(block)
    return groups[: settings.entities]


def _draw_facts(settings: WorldSettings, entities: tuple[Entity, ...]) -> Iterator[Fact]:
    rng = random.Random(f"{settings.seed}/facts")
    friends = _draw_friends(settings, entities)
    for entity in entities:
        for relation in RELATIONS:
            value = friends[entity.name] if relation.kind == "entity" else rng.choice(relation.values)
            yield Fact(entity, relation, value)


def _draw_friends(settings: WorldSettings, entities: tuple[Entity, ...]) -> dict[str, str]:
    """Each entity's friend: the next in a shuffled ring of its group, so that no chain crosses a split."""
    rng = random.Random(f"{settings.seed}/friends")
    friends: dict[str, str] = {}
    for group in ("instruct", "train", "test"):
        ring = [entity.name for entity in entities if entity.group == group]
        rng.shuffle(ring)
        friends.update(zip(ring, ring[1:] + ring[:1], strict=True))
    return friends
