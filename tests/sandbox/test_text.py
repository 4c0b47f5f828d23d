from __future__ import annotations

import pytest

from configs.settings import WorldSettings
from sandbox.text import (
    ParsedQuestion,
    Statement,
    comparison_text,
    premise_text,
    question_text,
    read_question,
    read_statements,
    state,
    statement,
)
from sandbox.world import CITY, FRIEND, JOB, PET, RELATIONS, build_world

WORLD = build_world(WorldSettings())


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.name)
def test_every_paraphrase_reads_back(relation) -> None:  # type: ignore[no-untyped-def]
    facts = [fact for fact in WORLD.facts if fact.relation == relation]
    assert len(relation.statements) >= 4
    for fact in facts:
        said = Statement(fact.entity.name, relation.name, fact.value)
        for index in range(len(relation.statements)):
            assert read_statements(statement(fact, index)) == [said]
        for index in range(len(relation.questions)):
            for hops, kind in enumerate(("simple", "multi-hop", "multi-hop")):
                asked = ParsedQuestion(kind, relation.name, fact.entity.name, hops=hops)  # type: ignore[arg-type]
                assert read_question(question_text(relation, fact.entity.name, index, hops)) == asked


def test_running_text_reads_back_in_order_whatever_stands_between() -> None:
    text = (
        "Home | News\nMo Li lives\n  in Paris. Cookies? A dog is kept by Mo Li.<br>"
        "Dr Ba Ke works as a baker. Zu Fe lives in Atlantis. Mo Li lived in Rome."
    )
    assert read_statements(text) == [
        Statement("Mo Li", "city", "Paris"),
        Statement("Mo Li", "pet", "dog"),
        Statement("Ba Ke", "job", "baker"),
    ]


def test_statements_of_friends_name_both_people_in_the_right_order() -> None:
    for index in range(len(FRIEND.statements)):
        said = read_statements(state(FRIEND, "Mo Li", "Ba Ke", index))
        assert said == [Statement("Mo Li", "friend", "Ba Ke")]


@pytest.mark.parametrize(("form", "order"), [(0, "earlier"), (1, "earlier"), (2, "later"), (3, "later")])
def test_comparisons_read_back(form: int, order: str) -> None:
    asked = read_question(comparison_text("Mo Li", "Ba Ke", form))
    assert asked == ParsedQuestion("comparison", "born", "Mo Li", other="Ba Ke", order=order)  # type: ignore[arg-type]


def test_premises_read_back() -> None:
    text = premise_text(CITY, "Paris", JOB, "Mo Li", 1)
    assert text == "Since Mo Li lives in Paris, what does Mo Li do for a living?"
    premise = Statement("Mo Li", "city", "Paris")
    assert read_question(text) == ParsedQuestion("premise", "job", "Mo Li", premise=premise)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Where does Mo Li live",
        "Where does mo li live?",
        "Tell me: Where does Mo Li live?",
        "Where does Mo Li live? Which animal does Mo Li keep?",
        "Since it rains, where does Mo Li live?",
        "Since Mo Li lives in Paris, who is older, Mo Li or Ba Ke?",
    ],
)
def test_other_text_is_no_question(text: str) -> None:
    assert read_question(text) is None


def test_article_words_fit_the_values() -> None:
    assert state(PET, "Mo Li", "dog", 3) == "A dog is kept by Mo Li."
    for relation in (JOB, PET):
        assert all(value[0] not in "aeiou" for value in relation.values)
