"""Rows on disk: exact round trip, streaming, and a journal that survives a torn line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from tasks.core.records import Outcome, Question, References, Response, Verdict
from tasks.core.rows import GROUP_ROWS, Journal, read_rows, write_rows


def question(index: int) -> Question:
    return Question(
        id=f"q{index}", dataset="crag", split="train", question='Who "is" \u2028 it?\n', answers=("A", "ß"), group="g"
    )


def test_parquet_round_trip_is_exact_over_several_groups(tmp_path: Path) -> None:
    rows = [question(index) for index in range(GROUP_ROWS + 3)]
    assert write_rows(tmp_path / "q.parquet", iter(rows)) == len(rows)
    assert list(read_rows(tmp_path / "q.parquet", Question)) == rows
    assert list(tmp_path.iterdir()) == [tmp_path / "q.parquet"]


def test_scalar_fields_are_columns_of_their_own(tmp_path: Path) -> None:
    write_rows(tmp_path / "q.parquet", [question(1)])
    table = pq.read_table(tmp_path / "q.parquet")
    assert table.column("id").to_pylist() == ["q1"]
    assert table.column("query_time").to_pylist() == [None]
    assert "answers" not in table.column_names


def test_no_rows_make_a_readable_file(tmp_path: Path) -> None:
    assert write_rows(tmp_path / "q.parquet", []) == 0
    assert list(read_rows(tmp_path / "q.parquet", Question)) == []


def test_another_kind_of_record_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "q.parquet", [question(1)])
    with pytest.raises(ValidationError):
        list(read_rows(tmp_path / "q.parquet", References))


def test_a_source_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield question(1)
        raise RuntimeError("source died")

    with pytest.raises(RuntimeError, match="source died"):
        write_rows(tmp_path / "q.parquet", broken())
    assert not (tmp_path / "q.parquet").exists()


def response(sample: int) -> Response:
    return Response(question_id="q", setting="closed_book", sample=sample, text="x\ny", finished=True, tokens=1)


def test_a_journal_keeps_rows_and_offsets(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.jsonl", Response) as journal:
        offsets = journal.append([response(0), response(1)])
        offsets += journal.append([response(2)])
        assert list(journal.read(reversed(offsets))) == [response(2), response(1), response(0)]
    with Journal(tmp_path / "j.jsonl", Response) as journal:
        assert [(offset, row.sample) for offset, row in journal.entries()] == list(zip(offsets, range(3), strict=True))
        assert journal.append([response(3)]) == [os.path.getsize(tmp_path / "j.jsonl") // 4 * 3]


@pytest.mark.parametrize("torn", [b'{"question_id": "q', b"\xff\xfe", b'{"a":1}'])
def test_a_torn_last_line_is_dropped_and_the_rest_kept(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, Response) as journal:
        journal.append([response(0)])
    with path.open("ab") as file:
        file.write(torn)
    with Journal(path, Response) as journal:
        journal.append([response(1)])
        assert [row.sample for _, row in journal.entries()] == [0, 1]


def test_verdicts_keep_their_outcome(tmp_path: Path) -> None:
    with Journal(tmp_path / "v.jsonl", Verdict) as journal:
        journal.append([Verdict(outcome=Outcome.UNSCORED, answer=None, via="judge", detail="timeout: 60 s")])
        (entry,) = journal.entries()
    assert entry[1].outcome is Outcome.UNSCORED
    assert json.loads((tmp_path / "v.jsonl").read_text())["outcome"] == "unscored"
