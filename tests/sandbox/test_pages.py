"""The closed world's web: what extraction recovers, what is stale, wrong, dead or redirected, and search."""

from __future__ import annotations

import time

import pytest
import trafilatura

from configs.settings import WorldSettings
from sandbox.pages import build_site
from sandbox.site import MAX_RESULTS, Address, Page, Redirect, Site
from sandbox.text import Statement, question_text, read_statements
from sandbox.world import World, build_world

SETTINGS = WorldSettings(entities=80, stale_page_share=0.2, wrong_page_share=0.1, dead_link_share=0.1)


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(SETTINGS)


@pytest.fixture(scope="module")
def site(world: World) -> Site:
    return build_site(world)


def told(page: Page) -> set[Statement]:
    return set(read_statements("\n".join(page.sentences)))


def untrue(world: World, page: Page) -> list[Statement]:
    return [said for said in told(page) if world.fact(said.entity, said.relation).value != said.value]


def about_people(site: Site) -> list[Page]:
    return [page for page in site.pages if page.freshness != "off-topic"]


def test_extraction_recovers_every_sentence_and_nothing_else(site: Site) -> None:
    for page in site.pages:
        text = trafilatura.extract(page.html, fast=True)
        assert text is not None, page.address
        assert set(read_statements(text)) == told(page), page.address
        assert "cookies" not in text


def test_extraction_reads_the_bytes_that_go_over_the_wire(site: Site) -> None:
    codecs = set()
    for page in site.pages[:120]:
        text = trafilatura.extract(page.body(), fast=True)
        assert text is not None
        assert set(read_statements(text)) == told(page), (page.address, page.encoding)
        codecs.add((page.encoding.codec, page.encoding.declared))
    assert len(codecs) == 5


def test_shares_of_stale_wrong_and_dead_pages_are_exact(site: Site) -> None:
    pages = about_people(site)
    assert sum(page.freshness == "stale" for page in pages) == round(0.2 * len(pages))
    assert sum(page.freshness == "wrong" for page in pages) == round(0.1 * len(pages))
    assert sum(not page.alive for page in pages) == round(0.1 * len(pages))


def test_only_stale_and_wrong_pages_tell_untruths(world: World, site: Site) -> None:
    for page in about_people(site):
        assert bool(untrue(world, page)) == (page.freshness in ("stale", "wrong")), page.address


def test_stale_pages_are_older_and_agree_on_the_outdated_value(world: World, site: Site) -> None:
    outdated: dict[tuple[str, str], set[str]] = {}
    for page in about_people(site):
        if page.freshness == "stale":
            assert page.last_modified == "" or int(page.last_modified.split()[3]) <= 2020
            for said in untrue(world, page):
                assert said.relation != "born"
                outdated.setdefault((said.entity, said.relation), set()).add(said.value)
        elif page.last_modified:
            assert int(page.last_modified.split()[3]) >= 2025
    assert outdated
    assert all(len(values) == 1 for values in outdated.values())


def test_people_who_stand_on_no_page_have_none(world: World, site: Site) -> None:
    hidden = {entity.name for entity in world.entities if not entity.on_pages}
    assert hidden
    assert not hidden & {said.entity for page in site.pages for said in told(page)}
    shown = {entity.name for entity in world.entities if entity.on_pages}
    assert shown <= {page.title for page in site.pages}


def test_one_world_gives_one_site(site: Site) -> None:
    again = build_site(build_world(SETTINGS))
    assert [page.body() for page in again.pages] == [page.body() for page in site.pages]
    assert again.redirects == site.redirects
    other = build_site(build_world(SETTINGS.model_copy(update={"seed": 1})))
    assert other.pages[0].html != site.pages[0].html


def test_redirects_lead_to_pages_but_for_one_loop(site: Site) -> None:
    moved = [page for page in about_people(site) if page.found_at != page.address]
    assert len(moved) == round(0.05 * len(about_people(site)))
    for page in moved:
        address, hops = page.found_at, 0
        while isinstance(found := site.at(address), Redirect):
            address, hops = found.target, hops + 1
        assert (address, hops) == (page.address, 2)
    ring = site.at(Address("old", "round"))
    assert isinstance(ring, Redirect)
    back = site.at(ring.target)
    assert isinstance(back, Redirect)
    assert back.target == ring.address


def test_search_finds_the_person_first_and_ends_off_topic(world: World, site: Site) -> None:
    off_topic = {page.title for page in site.pages if page.freshness == "off-topic"}
    for entity in world.entities:
        if not entity.on_pages:
            continue
        rows = site.search(question_text(world.relation("city"), entity.name), 10)
        assert len(rows) == 10
        assert all(
            set(row) == {"page_name", "page_url", "page_snippet", "page_result", "page_last_modified"} for row in rows
        )
        assert entity.name in rows[0]["page_name"] + rows[0]["page_snippet"]
        assert [row["page_name"] in off_topic for row in rows] == [False] * 8 + [True] * 2
        assert all(row["page_url"].startswith("http://") and "127.0.0.1" not in row["page_url"] for row in rows)


def test_dead_pages_are_found_without_html(site: Site) -> None:
    dead = next(page for page in about_people(site) if not page.alive and page.title.count(" ") == 1)
    row = next(row for row in site.search(dead.title, 20) if row["page_url"] == dead.found_at.url)
    assert row["page_result"] == ""
    assert site.at(dead.address) is None


def test_search_bounds(site: Site) -> None:
    assert len(site.search("anything at all", MAX_RESULTS)) == MAX_RESULTS
    assert len(site.search("", 5)) == 5
    for k in (0, MAX_RESULTS + 1):
        with pytest.raises(ValueError, match="gives 1 to 50"):
            site.search("x", k)


def test_search_is_fast_enough_for_a_question_set(world: World, site: Site) -> None:
    start = time.process_time()
    for number in range(600):
        fact = world.facts[number % len(world.facts)]
        site.search(question_text(fact.relation, fact.entity.name), 10)
    assert time.process_time() - start < 5.0


def test_a_world_of_two_people_has_a_site() -> None:
    tiny = build_site(build_world(WorldSettings(entities=8, unanswerable_share=0.0)))
    assert len(tiny.search("Who?", 50)) == len(tiny.pages)
