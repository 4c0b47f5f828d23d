"""The evidence store: ordered, read back exactly, moved into place whole."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tasks.evidence.store_duckdb import ChunkRow, EvidenceStore, EvidenceWriter, PageRow


def page(question_id: str, rank: int) -> PageRow:
    return PageRow(
        question_id=question_id, page_rank=rank, url="u'); DROP TABLE pages; --", name="n", origin="stored",
        status="main_text", reason="", characters=3,
    )  # fmt: skip


def chunk(question_id: str, rank: int, position: int, reference: int | None = None) -> ChunkRow:
    return ChunkRow(
        question_id=question_id, page_rank=rank, position=position, start_char=0, end_char=9, tokens=2, score=0.5,
        reference=reference, text=f"text \U0001f3ee {question_id} " * 2_000,
    )  # fmt: skip


def test_rows_come_back_in_order_whatever_the_order_of_arrival(tmp_path: Path) -> None:
    writer = EvidenceWriter(tmp_path / "scratch")
    writer.add([page("q2", 0)], [chunk("q2", 0, 1, 0), chunk("q2", 0, 0)])
    writer.add([page("q1", 1), page("q1", 0)], [chunk("q1", 1, 0)])
    writer.add([], [])
    path = tmp_path / "evidence.duckdb"
    writer.finish(path)
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["evidence.duckdb"]
    first, second = EvidenceStore(path), EvidenceStore(path)
    assert second.pages(["q1", "q2"]) == [page("q1", 0), page("q1", 1), page("q2", 0)]
    assert first.chunks(["q2", "unknown"]) == [chunk("q2", 0, 0), chunk("q2", 0, 1, 0)]
    assert first.chunks([]) == []
    first.close()
    second.close()


def test_long_text_is_stored_uncompressed_and_in_order(tmp_path: Path) -> None:
    writer = EvidenceWriter(tmp_path / "scratch")
    for number in reversed(range(300)):
        writer.add([], [chunk(f"q{number:03d}", 0, 0)])
    path = tmp_path / "evidence.duckdb"
    writer.finish(path)
    with duckdb.connect(str(path), read_only=True) as store:
        kinds = store.execute(
            "SELECT DISTINCT compression FROM pragma_storage_info('chunks') "
            "WHERE column_name = 'text' AND segment_type = 'VARCHAR'"
        ).fetchall()
        stored = store.execute("SELECT question_id FROM chunks").fetchall()
    assert kinds == [("Uncompressed",)]
    assert stored == sorted(stored)


def test_a_scratch_folder_that_a_killed_run_left_does_not_matter(tmp_path: Path) -> None:
    EvidenceWriter(tmp_path / "scratch").add([page("old", 0)], [])
    (tmp_path / "evidence.duckdb.part").write_text("half a file")
    writer = EvidenceWriter(tmp_path / "scratch")
    writer.add([page("new", 0)], [])
    writer.finish(tmp_path / "evidence.duckdb")
    store = EvidenceStore(tmp_path / "evidence.duckdb")
    assert store.pages(["old", "new"]) == [page("new", 0)]
    store.close()
