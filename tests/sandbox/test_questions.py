from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from configs.settings import WorldSettings
from sandbox.questions import corpus_rows, crag_rows, hotpotqa_rows, musique_rows, nq_open_rows
from sandbox.text import read_question, read_statements
from sandbox.world import Entity, build_world

WORLD = build_world(WorldSettings())
CRAG = list(crag_rows(WORLD, lambda query: [{"page_name": query}]))
EXTRA = {"popularity", "group"}


def truth(query: str) -> str:
    """The answer by the world's facts alone."""
    asked = read_question(query)
    assert asked is not None
    name = asked.entity
    for _ in range(asked.hops):
        name = WORLD.fact(name, "friend").value
    if asked.kind == "comparison":
        assert asked.other is not None
        pair = sorted((name, asked.other), key=lambda person: int(WORLD.fact(person, "born").value))
        return pair[0 if asked.order == "earlier" else 1]
    if asked.premise is not None and WORLD.fact(name, asked.premise.relation).value != asked.premise.value:
        return "invalid question"
    return WORLD.fact(name, asked.relation).value


def people(query: str) -> list[Entity]:
    asked = read_question(query)
    assert asked is not None
    names = [asked.entity] + ([asked.other] if asked.other else [])
    for _ in range(asked.hops):
        names.append(WORLD.fact(names[-1], "friend").value)
    return [WORLD.entity(name) for name in names]


def test_crag_columns_answers_and_pages() -> None:
    columns = {
        "interaction_id",
        "query_time",
        "domain",
        "question_type",
        "static_or_dynamic",
        "query",
        "answer",
        "alt_ans",
        "split",
        "search_results",
    }
    for row in CRAG:
        assert set(row) == columns | EXTRA
        assert row["answer"] == truth(row["query"])
        assert (row["answer"] == "invalid question") == (row["question_type"] == "false_premise")
        assert row["search_results"] == [{"page_name": row["query"]}]
    assert len({row["interaction_id"] for row in CRAG}) == len(CRAG)


def test_crag_shares_are_exact_and_splits_as_large_as_asked() -> None:
    counts = Counter((row["split"], row["question_type"]) for row in CRAG)
    total = sum(count for (split, _), count in counts.items() if split == 0)
    assert total == 4 * sum(entity.group == "train" for entity in WORLD.entities)
    assert counts[0, "false_premise"] == counts[0, "comparison"] == counts[0, "multi-hop"] == round(0.08 * total)
    assert counts[0, "simple_w_condition"] == round(0.04 * total)


def test_no_question_crosses_the_entity_groups() -> None:
    for row in CRAG:
        assert {entity.group for entity in people(row["query"])} == {("train", "test")[row["split"]]}
    for row in [*nq_open_rows(WORLD), *hotpotqa_rows(WORLD), *musique_rows(WORLD)]:
        assert {entity.group for entity in people(row["question"])} == {"test"}
        assert row["group"] in row["question"]


def test_popularity_is_that_of_the_least_popular_person() -> None:
    order = ("never", "rare", "mid", "head")
    for row in CRAG:
        assert order.index(row["popularity"]) == min(order.index(entity.bucket) for entity in people(row["query"]))


def test_nq_open_shape() -> None:
    for row in nq_open_rows(WORLD):
        assert set(row) == {"question", "answer"} | EXTRA
        assert row["answer"] == [truth(row["question"])]


def test_hotpotqa_supporting_sentences_hold_the_evidence() -> None:
    for row in hotpotqa_rows(WORLD):
        assert (
            set(row)
            == {
                "id",
                "question",
                "answer",
                "type",
                "level",
                "supporting_facts",
                "context",
            }
            | EXTRA
        )
        assert row["answer"] == truth(row["question"])
        sentences = dict(zip(row["context"]["title"], row["context"]["sentences"], strict=True))
        relations = ("born", "born") if row["type"] == "comparison" else ("friend", None)
        supporting = zip(*row["supporting_facts"].values(), relations, strict=True)
        for title, position, relation in supporting:
            if sentences[title]:
                said = read_statements(sentences[title][position])[0]
                assert said.entity == title
                assert relation is None or said.relation == relation
        assert Counter(row["context"]["title"]).most_common(1)[0][1] == 1


def test_musique_chain_leads_to_the_answer() -> None:
    for row in musique_rows(WORLD):
        assert row["answer"] == truth(row["question"]) == row["question_decomposition"][-1]["answer"]
        chain: list[dict[str, Any]] = row["question_decomposition"]
        for step, following in pairwise(chain):
            support = row["paragraphs"][following["paragraph_support_idx"]]
            assert support["title"] == step["answer"]
            assert support["is_supporting"]
        assert [paragraph["idx"] for paragraph in row["paragraphs"]] == list(range(len(row["paragraphs"])))


def test_corpus_tells_every_fact_of_those_on_pages_only() -> None:
    articles = list(corpus_rows(WORLD))
    assert {row["title"] for row in articles} == {entity.name for entity in WORLD.entities if entity.on_pages}
    for row in articles:
        assert {(said.relation, said.value) for said in read_statements(row["text"])} == {
            (fact.relation.name, fact.value) for fact in WORLD.facts if fact.entity.name == row["title"]
        }


@pytest.mark.parametrize("share", ["false_premise_share", "comparison_share", "multi_hop_share"])
def test_a_share_of_nothing_gives_none(share: str) -> None:
    world = build_world(WorldSettings(**{share: 0.0}))
    kind = {"false_premise_share": "false_premise", "comparison_share": "comparison"}.get(share, "multi-hop")
    assert all(row["question_type"] != kind for row in crag_rows(world, lambda _query: []))
