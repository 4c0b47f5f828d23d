"""Readers of the four sets, on the shipped rows and on hostile ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.curation import crag, hotpotqa, musique, nq_open
from tasks.curation.candidates import Candidate, Dropped, MissingColumn, check_columns
from tasks.curation.registry import READERS, reader_of
from tasks.curation.sources import load_sources

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def shipped(name: str) -> list[Any]:
    rows = []
    for line in (SAMPLES / f"{name}.jsonl").read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return [row for row in rows if isinstance(row, dict)]


def kept(result: Candidate | Dropped) -> Candidate:
    assert isinstance(result, Candidate), result
    return result


def test_every_source_has_a_reader_and_its_columns_in_the_shipped_rows() -> None:
    sources = load_sources()
    assert set(sources) == set(READERS)
    for name, source in sources.items():
        check_columns(shipped(name)[0], source.columns, name, "sample")


@pytest.mark.parametrize("name", list(READERS))
def test_a_reader_needs_no_more_than_the_listed_columns(name: str) -> None:
    columns = load_sources()[name].columns
    row = {column: value for column, value in shipped(name)[0].items() if column in columns}
    assert kept(reader_of(name)(row)).question.answers


def test_a_missing_column_is_named() -> None:
    with pytest.raises(MissingColumn, match=r"crag: there\.jsonl has no column 'alt_ans', 'split'.*it has 'query'"):
        check_columns({"query": "q"}, ("query", "alt_ans", "split"), "crag", "there.jsonl")


def test_an_unknown_set_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match="crag, nq_open, hotpotqa, musique"):
        reader_of("crga")


def test_crag_keeps_everything_that_the_prompt_and_the_report_need() -> None:
    row = kept(crag.read_row(shipped("crag")[0]))
    question = row.question
    assert (question.id, row.side) == ("crag:0a11", "train")
    assert question.answers == ("1871", "in 1871")
    assert question.query_time == "03/05/2024, 10:15:00 PT"
    assert (question.kind, question.dynamism, question.domain) == ("simple", "static", "open")
    assert (question.false_premise, question.popularity) == (False, None)
    assert [page.rank for page in row.pages] == [0, 1, 2]
    assert row.pages[0].last_modified == "2023-04-01"
    assert row.pages[1].html == ""
    assert "<article>" in row.pages[0].html


def test_crag_false_premise_popularity_sides_and_bad_pages() -> None:
    _, bridge, prize, cheese, tower, *_ = [kept(crag.read_row(row)) for row in shipped("crag")[:6]]
    assert bridge.question.popularity == "tail"
    assert prize.question.false_premise
    assert prize.question.answers == ("invalid question",)
    assert (cheese.side, cheese.bad_pages, len(cheese.pages)) == ("test", 1, 1)
    assert (tower.question.kind, tower.question.dynamism) == ("comparison", "slow-changing")


@pytest.mark.parametrize(
    ("read", "change", "reason"),
    [
        (crag.read_row, {"query": " "}, "empty_question"),
        (crag.read_row, {"query": 7}, "empty_question"),
        (crag.read_row, {"query": "x" * 2_001}, "question_too_long"),
        (crag.read_row, {"answer": "", "alt_ans": ["spare"]}, "no_answer"),
        (crag.read_row, {"answer": None}, "no_answer"),
        (crag.read_row, {"interaction_id": ""}, "no_id"),
        (nq_open.read_row, {"answer": [" ", 3]}, "no_answer"),
        (nq_open.read_row, {"question": ""}, "empty_question"),
        (hotpotqa.read_row, {"answer": ""}, "no_answer"),
        (hotpotqa.read_row, {"id": None}, "no_id"),
        (musique.read_row, {"answerable": False}, "unanswerable"),
        (musique.read_row, {"answerable": "true"}, "unanswerable"),
        (musique.read_row, {"answer": " "}, "no_answer"),
        (musique.read_row, {"id": ""}, "no_id"),
    ],
)
def test_why_a_row_is_dropped(read: Callable[[Any], Any], change: dict[str, Any], reason: str) -> None:
    name = next(name for name, reader in READERS.items() if reader is read)
    assert read({**shipped(name)[0], **change}) == Dropped(reason)


def test_invalid_question_is_recognised_in_any_spelling_and_only_then() -> None:
    row = shipped("crag")[0]
    spellings = ["Invalid question.", ' "invalid question" ', "INVALID QUESTION"]
    others = ["invalid", "an invalid question about law"]
    found = [kept(crag.read_row({**row, "answer": text})).question.false_premise for text in spellings + others]
    assert found == [True, True, True, False, False]


def test_lone_surrogates_and_odd_search_results_do_not_break_a_row() -> None:
    row = {
        **shipped("crag")[0],
        "query": "what \ud800 is it?",
        "search_results": [None, {"page_result": "\udfff x"}, 5],
    }
    candidate = kept(crag.read_row(row))
    assert candidate.question.question == "what ? is it?"
    assert [page.html for page in candidate.pages] == ["? x"]
    assert candidate.bad_pages == 2
    assert kept(crag.read_row({**row, "search_results": None})).pages == ()


def test_other_sets() -> None:
    nq = kept(nq_open.read_row(shipped("nq_open")[0])).question
    again = kept(
        nq_open.read_row(
            {**shipped("nq_open")[0], "question": "Who wrote the log book of the Skerry Point lighthouse?"}
        )
    )
    assert nq.answers == ("its keepers", "the keepers")
    assert nq.id.startswith("nq_open:")
    assert nq.id == again.question.id
    hop = kept(hotpotqa.read_row(shipped("hotpotqa")[0])).question
    assert (hop.id, hop.kind, hop.answers) == ("hotpotqa:5f01", "comparison", ("the Ottersund bridge",))
    multi = kept(musique.read_row(shipped("musique")[1])).question
    assert (multi.id, multi.kind, multi.answers) == ("musique:3hop1__11_12_13", "3hop1", ("two", "2"))


def test_group_and_popularity_columns_are_taken_from_any_set() -> None:
    for name, read in READERS.items():
        question = kept(read({**shipped(name)[0], "group": "entity 7", "popularity": "rare"})).question
        assert (question.group, question.popularity) == ("entity 7", "rare")
