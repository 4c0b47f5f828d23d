from __future__ import annotations

import json
from pathlib import Path

from tasks.core.rows import Journal
from tasks.training.callbacks import StepMetrics
from tasks.training.checkpoints import last_checkpoint, rewound


def checkpoint(folder: Path, step: int, state: str | None = None, ranks: int = 1) -> Path:
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    (path / "trainer_state.json").write_text(json.dumps({"global_step": step}) if state is None else state)
    for rank in range(ranks):
        (path / f"rng_state_{rank}.pth").touch()
    return path


def test_none_yet(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path / "checkpoints") == (None, 0)


def test_the_latest_by_number_not_by_name(tmp_path: Path) -> None:
    checkpoint(tmp_path, 9)
    latest = checkpoint(tmp_path, 10)
    assert last_checkpoint(tmp_path) == (latest, 10)


def test_one_cut_short_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    whole = checkpoint(tmp_path, 5)
    checkpoint(tmp_path, 10, state='{"global_step": 1')
    (tmp_path / "checkpoint-15").mkdir()
    assert last_checkpoint(tmp_path) == (whole, 5)


def test_every_rank_must_have_left_its_random_state(tmp_path: Path) -> None:
    whole = checkpoint(tmp_path, 5, ranks=2)
    checkpoint(tmp_path, 10, ranks=1)
    assert last_checkpoint(tmp_path, processes=2) == (whole, 5)


def test_journal_is_cut_back_to_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with Journal(path, StepMetrics) as journal:
        journal.append([StepMetrics(step=step, loss=0.5) for step in (1, 2, 3, 4)])
    with path.open("ab") as file:
        file.write(b'{"step": 5, "lo')  # torn by the kill
    with rewound(path, StepMetrics, 2) as journal:
        journal.append([StepMetrics(step=3, loss=0.25)])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["step"], row["loss"]) for row in rows] == [(1, 0.5), (2, 0.5), (3, 0.25)]
