"""Progress: a file that is never half-written, rates that leave out what was resumed."""

from __future__ import annotations

from pathlib import Path

from tasks.core.progress import Progress, Snapshot, read_snapshot


def test_nothing_yet_is_none(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path / "progress.json") is None


def test_the_file_tells_done_total_and_metrics(tmp_path: Path) -> None:
    progress = Progress(tmp_path / "progress.json", "probe seed 0")
    progress.start(10, "samples", resumed=4)
    progress.advance(6, reward=0.5)
    snapshot = read_snapshot(tmp_path / "progress.json")
    assert snapshot is not None
    assert (snapshot.label, snapshot.done, snapshot.total, snapshot.unit, snapshot.resumed) == (
        "probe seed 0", 10, 10, "samples", 4,
    )  # fmt: skip
    assert snapshot.metrics == {"reward": 0.5}


def test_rate_and_eta_leave_out_resumed_rows() -> None:
    snapshot = Snapshot(label="x", done=30, total=50, resumed=10, started=100.0, updated=110.0)
    assert snapshot.rate == 2.0
    assert snapshot.eta_s == 10.0
    assert Snapshot(label="x", done=10, total=50, resumed=10, started=100.0, updated=110.0).eta_s is None
