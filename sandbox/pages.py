"""Writes the closed world's web: which pages there are, what they say and what is wrong with them.

A person's profile tells every fact and something of the friend; a news page tells a few facts among sentences on
strangers; a list page has a table of people. Shares of stale, wrong and dead pages are exact counts over all pages,
rounded. A person who stands on no page is nobody's page, though a friend's page may give the name.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from sandbox.lessons import NOISE
from sandbox.markup import LAYOUTS, Article, render
from sandbox.site import SLOW_HOST_DELAY_S, Address, Encoding, Freshness, Page, Redirect, Site
from sandbox.telling import friend_facts, stranger_facts, tell
from sandbox.world import BORN, RELATIONS, Entity, World

PROFILE_HOSTS = {"who": "Who Is Who", "people": "People\u2019s Caf\u00e9", "almanac": "The Almanac"}
NEWS_HOSTS = {"herald": "The Herald", "gazette": "Gazette \u2013 News", "slow": "Patience Weekly"}
LIST_HOST, LIST_NAME = "lists", "Lists & Tables"
MAGAZINE_HOST, MAGAZINE_NAME = "magazine", "Everyday Magazine"
PEOPLE, MAGAZINE = Address(LIST_HOST, "people-1"), Address(MAGAZINE_HOST, "knots-that-hold")
"""What every page's menu links to."""
SLOW_HOSTS = frozenset({"slow"})
CLOSED_HOSTS = frozenset({"almanac"})

NEWS_SHARE = 0.7
"""Share of people with a news page."""
LIST_ROWS = 8
"""People on one list page."""
REDIRECT_SHARE = 0.05
"""Share of pages that search knows by an old address, two redirects away."""
UNDATED_SHARE = 0.1
"""Share of pages without a date of last change."""
ODD_ENCODINGS = (
    Encoding("windows-1252", declared=True),
    Encoding("windows-1252", declared=False),
    Encoding("utf-8-sig", declared=False),
    Encoding("utf-16", declared=False),
)
ODD_ENCODING_SHARE = 0.2
CURRENT_FROM = datetime(2025, 9, 1, tzinfo=UTC)
CURRENT_DAYS = 180
STALE_FROM = datetime(2012, 1, 1, tzinfo=UTC)
STALE_DAYS = 3000

OFF_TOPIC = (
    ("How to fold a map", "Lay the paper flat on a table", "Fold it along the long side first"),
    ("The weather this week", "Rain is expected in the north", "The wind turns to the west later on"),
    ("A short history of bricks", "Clay was dried in the sun at first", "Ovens made the stone much harder"),
    ("Repairing a bicycle tyre", "Take the wheel off the frame", "Look for the hole under water"),
    ("Why leaves turn red", "The green colour fades in autumn", "Sugar in the leaf does the rest"),
    ("Cleaning old windows", "Warm water is mostly enough", "Dry the glass with newspaper"),
    ("Ten card games for two", "Shuffle the deck well before you start", "The highest trump takes the trick"),
    ("Choosing a winter coat", "Wool is warm even when it is wet", "Check the seams and the lining"),
    ("Night trains are back", "More lines are planned for next year", "Book a berth early to save money"),
    ("Sharpening kitchen knives", "Hold the blade at a low angle", "Finish with a few light strokes"),
    ("The longest tunnels", "Drilling takes many years", "Fans keep the air fresh inside"),
    ("Knots that hold", "The bowline never slips", "Practise with a thick rope first"),
)
"""Title and two sentences of each page that has nothing to do with anybody."""
FILLER = (
    "This article is one of a long series that our readers have asked for.",
    "The editors check every page twice before it goes out.",
    "Write to us if you find a mistake anywhere on this page.",
)
COMMENTS = (
    "Thanks for this!",
    "I had been looking for this for years.",
    "First!",
    "Na\u00efve question: who pays for it?",
)


@dataclass(frozen=True)
class Draft:
    """A page to be written: who it is about and where it will stand."""

    kind: str
    address: Address
    people: tuple[Entity, ...]


def build_site(world: World, slow_host_delay_s: float = SLOW_HOST_DELAY_S) -> Site:
    """The web of a world; one world gives one site, byte for byte."""
    drafts = list(_drafts(world))
    rng = random.Random(f"{world.settings.seed}/pages")
    order = rng.sample(range(len(drafts)), len(drafts))
    stale_count = round(world.settings.stale_page_share * len(drafts))
    wrong_count = round(world.settings.wrong_page_share * len(drafts))
    stale, wrong = set(order[:stale_count]), set(order[stale_count : stale_count + wrong_count])
    dead = set(rng.sample(range(len(drafts)), round(world.settings.dead_link_share * len(drafts))))
    moved = set(rng.sample(range(len(drafts)), round(REDIRECT_SHARE * len(drafts))))
    pages: list[Page] = []
    redirects: list[Redirect] = []
    for number, draft in enumerate(drafts):
        freshness: Freshness = "stale" if number in stale else "wrong" if number in wrong else "current"
        found_at = draft.address
        if number in moved:
            chain = [Address("old", f"{step}/{draft.address.slug}") for step in ("page", "moved")] + [draft.address]
            redirects += [Redirect(source, target) for source, target in itertools.pairwise(chain)]
            found_at = chain[0]
        pages.append(_write(world, draft, freshness, found_at, alive=number not in dead))
    pages += _off_topic_pages(world)
    ring = Address("old", "round"), Address("old", "and-round")
    redirects += [Redirect(ring[0], ring[1]), Redirect(ring[1], ring[0])]
    return Site(pages, redirects, SLOW_HOSTS, CLOSED_HOSTS, slow_host_delay_s)


def _drafts(world: World) -> Iterator[Draft]:
    rng = random.Random(f"{world.settings.seed}/drafts")
    shown = [entity for entity in world.entities if entity.on_pages]
    for entity in shown:
        slug = entity.name.lower().replace(" ", "-")
        yield Draft("profile", Address(rng.choice(list(PROFILE_HOSTS)), f"people/{slug}"), (entity,))
        if rng.random() < NEWS_SHARE:
            yield Draft("news", Address(rng.choice(list(NEWS_HOSTS)), f"news/{entity.index}-{slug}"), (entity,))
    for page, start in enumerate(range(0, len(shown), LIST_ROWS), start=1):
        yield Draft("list", Address(LIST_HOST, f"people-{page}"), tuple(shown[start : start + LIST_ROWS]))


def _write(world: World, draft: Draft, freshness: Freshness, found_at: Address, *, alive: bool) -> Page:
    rng = random.Random(f"{world.settings.seed}/page/{draft.address.url}")
    write = {"profile": _profile, "news": _news, "list": _list}[draft.kind]
    article, sentences = write(world, rng, draft, freshness)
    return _finish(rng, article, tuple(sentences), draft.address, found_at, freshness, alive=alive)


def _finish(
    rng: random.Random,
    article: Article,
    sentences: tuple[str, ...],
    address: Address,
    found_at: Address,
    freshness: Freshness,
    *,
    alive: bool,
) -> Page:
    encoding = rng.choice(ODD_ENCODINGS) if rng.random() < ODD_ENCODING_SHARE else Encoding("utf-8", declared=True)
    html = render(article, rng.choice(LAYOUTS), encoding.codec if encoding.declared else None)
    modified = _modified(rng, freshness) if rng.random() >= UNDATED_SHARE else ""
    return Page(address, found_at, article.title, html, sentences, freshness, modified, encoding, alive)


def _modified(rng: random.Random, freshness: Freshness) -> str:
    start, days = (STALE_FROM, STALE_DAYS) if freshness == "stale" else (CURRENT_FROM, CURRENT_DAYS)
    return format_datetime(start + timedelta(days=rng.randrange(days), seconds=rng.randrange(86_400)), usegmt=True)


def _profile(world: World, rng: random.Random, draft: Draft, freshness: Freshness) -> tuple[Article, list[str]]:
    """Every fact of one person in two or three paragraphs, then a paragraph on the friend and a stranger."""
    entity = draft.people[0]
    facts = [world.fact(entity.name, relation.name) for relation in RELATIONS]
    rng.shuffle(facts)
    own = tell(world, rng, facts, freshness)
    others = tell(world, rng, friend_facts(world, rng, entity) + stranger_facts(world, rng, entity, 1), "current")
    cut = rng.randint(2, 4)
    paragraphs = (*_paragraphs(rng, own[:cut], own[cut:]), " ".join(others), rng.choice(FILLER))
    host = draft.address.host
    return _article(rng, entity.name, PROFILE_HOSTS[host], paragraphs), own + others


def _news(world: World, rng: random.Random, draft: Draft, freshness: Freshness) -> tuple[Article, list[str]]:
    """Two or three facts of one person, then what is told of strangers."""
    entity = draft.people[0]
    facts = [world.fact(entity.name, relation.name) for relation in rng.sample(RELATIONS, rng.randint(2, 3))]
    own = tell(world, rng, facts, freshness)
    others = tell(world, rng, stranger_facts(world, rng, entity, 3), "current")
    paragraphs = (*_paragraphs(rng, own), " ".join(others), *FILLER[:2])
    title = f"News of {entity.name}"
    return _article(rng, title, NEWS_HOSTS[draft.address.host], paragraphs), own + others


def _list(world: World, rng: random.Random, draft: Draft, freshness: Freshness) -> tuple[Article, list[str]]:
    """A table of people: birth year, and one sentence each."""
    rows: list[tuple[str, ...]] = [("Person", "Birth year", "Note")]
    sentences = []
    for entity in draft.people:
        relation = rng.choice([relation for relation in RELATIONS if relation != BORN])
        note = tell(world, rng, [world.fact(entity.name, relation.name)], freshness)[0]
        rows.append((entity.name, world.fact(entity.name, BORN.name).value, note))
        sentences.append(note)
    title = f"List of people, part {draft.address.slug.rpartition('-')[2]}"
    return _article(rng, title, LIST_NAME, FILLER, tuple(rows)), sentences


def _off_topic_pages(world: World) -> Iterator[Page]:
    rng = random.Random(f"{world.settings.seed}/off topic")
    for number, (title, *lines) in enumerate(OFF_TOPIC):
        sentences = tuple(f"{line}." for line in lines)
        article = _article(rng, title, MAGAZINE_NAME, (" ".join(sentences), *FILLER))
        address = Address(MAGAZINE_HOST, title.lower().replace(" ", "-"))
        # The first one is only known by an address that redirects for ever.
        found_at, alive = (Address("old", "round"), False) if number == 0 else (address, True)
        yield _finish(rng, article, sentences, address, found_at, "off-topic", alive=alive)


def _article(
    rng: random.Random, title: str, site: str, paragraphs: Sequence[str], table: tuple[tuple[str, ...], ...] = ()
) -> Article:
    links = (("People", PEOPLE.url), (MAGAZINE_NAME, MAGAZINE.url), ("Members", "/members/login"))
    comments = tuple(rng.sample(COMMENTS, 2)) if rng.random() < 0.5 else ()
    return Article(
        title, site, tuple(paragraphs), table, links, f"By our own \u201creporter\u201d {title[:1]}.", comments
    )


def _paragraphs(rng: random.Random, *groups: Sequence[str]) -> list[str]:
    """Each group of sentences as a paragraph, one of them with a sentence that states nothing."""
    noisy = rng.randrange(len(groups))
    return [
        " ".join([*group, rng.choice(NOISE)] if number == noisy else group)
        for number, group in enumerate(groups)
        if group
    ]
