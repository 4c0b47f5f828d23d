"""Retrieval from a corpus: streamed, in blocks, and equal to one index."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.evidence.corpus import CorpusError, read_passages, retrieve

SAMPLE = Path(__file__).parents[2] / "data" / "samples" / "corpus.jsonl"
QUESTIONS = {
    "tower": "how high is the tower at Skerry Point?",
    "cheese": "Which valley ripens cheese?",
    "nothing": "xylophone quartz",
}


def test_the_right_passage_is_first_and_bad_rows_are_counted() -> None:
    found = retrieve(SAMPLE, QUESTIONS, top_k=2)
    assert [hits[0].passage.id if hits else None for hits in found.hits.values()] == ["p1", "p3", None]
    assert all(len(hits) <= 2 for hits in found.hits.values())
    assert found.passages == 5
    assert found.dropped == {"corpus/bad_json": 1, "corpus/no_text": 1}


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks_find_what_one_index_finds(block: int) -> None:
    whole = retrieve(SAMPLE, QUESTIONS, top_k=3)
    assert retrieve(SAMPLE, QUESTIONS, top_k=3, block_passages=block).hits == whole.hits


def test_equal_passages_rank_in_reading_order(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    rows = [{"id": str(number), "title": "t", "text": "red fox" if number % 2 else "blue sky"} for number in range(10)]
    rows += [{"id": f"x{number}", "title": "t", "text": "plain words here"} for number in range(10)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = retrieve(path, {"q": "a red fox"}, top_k=3, block_passages=4)
    assert [hit.passage.id for hit in found.hits["q"]] == ["1", "3", "5"]


def test_parquet_reads_as_json_lines_do(tmp_path: Path) -> None:
    dropped: Counter[str] = Counter()
    passages = list(read_passages(SAMPLE, dropped))
    table = pa.Table.from_pylist([passage._asdict() for passage in passages]).append_column("extra", [[1] * 5])
    pq.write_table(table, tmp_path / "corpus.parquet")
    assert list(read_passages(tmp_path / "corpus.parquet", Counter())) == passages


def test_what_is_wrong_with_a_corpus_is_said(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"correct evidence\.corpus"):
        retrieve(tmp_path / "none.jsonl", QUESTIONS, 1)
    (tmp_path / "c.jsonl").write_text('{"id": 1, "contents": "x"}\n')
    with pytest.raises(CorpusError, match="no column 'title', 'text'; it has id, contents"):
        retrieve(tmp_path / "c.jsonl", QUESTIONS, 1)
