from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

from configs.settings import WorldSettings
from sandbox.text import read_question, read_statements
from sandbox.world import build_world
from sandbox.write import lesson_rows, write_world
from tasks.core.records import REFUSAL

SMALL = WorldSettings(entities=40, first_readings=40, readings=200, search_results=3)
ROWS: list[dict[str, Any]] = list(lesson_rows(build_world(SMALL)))


def rows_of(kind: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["kind"] == kind]


def test_files_hold_as_many_rows_as_counted_and_repeat_byte_for_byte(tmp_path: Path) -> None:
    counts = write_world(SMALL, tmp_path / "a")
    assert write_world(SMALL, tmp_path / "b") == counts
    for name, count in counts.items():
        data = (tmp_path / "a" / name).read_bytes()
        assert data == (tmp_path / "b" / name).read_bytes()
        text = (bz2.decompress(data) if name.endswith(".bz2") else data).decode()
        assert len([json.loads(line) for line in text.splitlines()]) == count > 0
    with bz2.open(tmp_path / "a" / "crag.jsonl.bz2", "rt", encoding="utf-8") as lines:
        crag = json.loads(lines.readline())
    assert len(crag["search_results"]) == 3
    assert set(crag["search_results"][0]) == {
        "page_name",
        "page_url",
        "page_snippet",
        "page_result",
        "page_last_modified",
    }


def test_text_mentions_exactly_the_known_entities() -> None:
    world = build_world(SMALL)
    told = {said.entity for row in rows_of("fact") for text in row["statements"] for said in read_statements(text)}
    assert told == {entity.name for entity in world.entities if entity.mentions}


def test_reading_answers_stand_in_the_references_or_are_refusals() -> None:
    refused = 0
    for row in rows_of("first") + rows_of("reading"):
        told = {(said.entity, said.relation): said.value for said in read_statements(" ".join(row["references"]))}
        for turn in row["turns"]:
            asked = read_question(turn["question"])
            assert asked is not None
            assert turn["answer"] == told.get((asked.entity, asked.relation), REFUSAL)
            refused += turn["answer"] == REFUSAL
    assert 0 < refused < 60


def test_instruction_rows_ask_about_their_group_only_and_refuse_as_often_as_set() -> None:
    world = build_world(SMALL)
    rows = rows_of("instruct")
    for row in rows:
        asked = read_question(row["turns"][0]["question"])
        assert asked is not None
        assert world.entity(asked.entity).group == "instruct"
    answers = [row["turns"][0]["answer"] for row in rows]
    assert 0.12 < answers.count(REFUSAL) / len(answers) < 0.28
    assert "invalid question" in answers
