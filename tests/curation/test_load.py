"""Streaming rows: bad lines pass, damaged files stop, and the hub path runs on a local repository."""

from __future__ import annotations

import bz2
import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.curation.candidates import Dropped, MissingColumn
from tasks.curation.load import read_file, read_source
from tasks.curation.sources import Source, SourceError

PLAIN = Source(url="https://example.org/set", columns=("question",), licence="CC0-1.0", homepage="-")


def write(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines) + b"\n")
    return path


def test_bad_lines_are_passed_on_with_a_reason(tmp_path: Path) -> None:
    path = write(tmp_path / "set.jsonl", '{"a": 1}', "", '{"a": ', b'{"a": "\xff"}', "[" * 100_000, "[1]", '{"a": 2}')
    bad = Dropped("bad_json")
    assert list(read_file(path)) == [{"a": 1}, bad, bad, bad, Dropped("no_object"), {"a": 2}]


def test_compressed_lines_and_parquet_give_the_same_rows(tmp_path: Path) -> None:
    rows = [{"question": f"q{number}", "pages": [{"url": "u"}]} for number in range(250)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "set.jsonl.bz2").write_bytes(bz2.compress(text.encode()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "set.parquet")
    assert list(read_file(tmp_path / "set.jsonl.bz2")) == rows
    assert list(read_file(tmp_path / "set.parquet")) == rows


def test_a_truncated_archive_names_the_file_and_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "crag.jsonl.bz2"
    whole = bz2.compress("".join(json.dumps({"q": n, "x": str(n) * 50}) + "\n" for n in range(30_000)).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"crag\.jsonl\.bz2 ends in the middle .* fetch it again"):
        list(read_file(path))


def test_a_pointer_or_a_wrong_suffix_is_told_apart(tmp_path: Path) -> None:
    pointer = write(tmp_path / "a.jsonl.bz2", "version https://git-lfs.github.com/spec/v1", "oid sha256:0", "size 1")
    with pytest.raises(SourceError, match="git lfs pull"):
        list(read_file(pointer))
    with pytest.raises(SourceError, match="correct its suffix"):
        list(read_file(write(tmp_path / "b.jsonl.bz2", '{"a": 1}')))
    with pytest.raises(SourceError, match="no readable Parquet"):
        list(read_file(write(tmp_path / "c.parquet", '{"a": 1}')))


def test_local_files_are_found_checked_and_never_guessed_between(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no file of it; download https://example\.org/set"):
        list(read_source("set", PLAIN, tmp_path, ("test",)))
    with pytest.raises(SourceError, match=r"data\.local_dir is not set"):
        list(read_source("set", PLAIN, None, ("test",)))
    write(tmp_path / "set.jsonl", "oops", '{"questions": 1}')
    with pytest.raises(MissingColumn, match="has no column 'question'; it has 'questions'"):
        list(read_source("set", PLAIN, tmp_path, ("test",)))
    write(tmp_path / "set.parquet", "x")
    with pytest.raises(SourceError, match="more than one source"):
        list(read_source("set", PLAIN, tmp_path, ("test",)))


def test_a_folder_of_parts_is_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    write(tmp_path / "set" / "part_1.jsonl", '{"question": "b"}')
    write(tmp_path / "set" / "part_0.jsonl", '{"question": "a"}')
    rows = list(read_source("set", PLAIN, tmp_path, ("test",)))
    assert rows == [(None, {"question": "a"}), (None, {"question": "b"})]


@pytest.mark.slow
def test_the_hub_path_streams_both_sides_and_warns_of_a_branch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    repository = tmp_path / "repository"
    repository.mkdir()
    write(repository / "train.jsonl", '{"question": "a"}')
    write(repository / "validation.jsonl", '{"question": "b"}')
    source = PLAIN.model_copy(
        update={"hub": str(repository), "splits": {"train": "train", "test": "validation"}, "revision": "main"}
    )
    with caplog.at_level(logging.WARNING, "plumbline"):
        rows = list(read_source("set", source, tmp_path, ("train", "test")))
    assert rows == [("train", {"question": "a"}), ("test", {"question": "b"})]
    assert "NOT PINNED: set" in caplog.text
