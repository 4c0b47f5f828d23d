from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.core.progress import Progress
from tasks.core.rows import Journal
from tasks.training.callbacks import MetricsCallback, StepMetrics, step_metrics
from tasks.training.trackers import TensorBoardCurves, reported_to, run_name


def state(step: int, main: bool = True) -> Any:
    return SimpleNamespace(global_step=step, is_world_process_zero=main)


def test_names_are_ours_and_times_are_left_out() -> None:
    logs = {"loss": 0.5, "completions/mean_length": 7.0, "step_time": 0.1, "reward": None, "epoch": 1.0}
    row = step_metrics(4, logs)
    assert row == StepMetrics(step=4, loss=0.5, completion_length=7.0)


def test_one_row_a_step_from_the_first_rank_only(tmp_path: Path) -> None:
    with Journal(tmp_path / "metrics.jsonl", StepMetrics) as journal:
        progress = Progress(tmp_path / "progress.json", "train")
        progress.start(2, "steps")
        callback = MetricsCallback(journal, progress)
        callback.on_log(None, state(1), None, {"loss": 2.0, "reward": 0.25})
        callback.on_log(None, state(1, main=False), None, {"loss": 9.0})
        callback.on_log(None, state(2), None, {"loss": 1.0, "reward": 0.5})
        callback.on_log(None, state(2), None, {"train_runtime": 3.0, "train_loss": 1.5})
        assert [row.loss for _, row in journal.entries()] == [2.0, 1.0]
    shown = json.loads((tmp_path / "progress.json").read_text())
    assert shown["done"] == 2
    assert shown["metrics"] == {"loss": 1.0, "reward": 0.5}


def test_tensorboard_curves_stand_beside_the_artefacts(tmp_path: Path) -> None:
    job: Any = SimpleNamespace(store=tmp_path, label="train truthrl seed 0", work=tmp_path / "0123456789abcdef")
    assert run_name(job) == "train-truthrl-seed-0-01234567"
    curves = TensorBoardCurves(job, 0)
    for step, reward in ((1, 0.25), (2, 0.5), (3, 9.0)):
        curves.on_log(None, state(step), None, {"loss": 1.0, "reward": reward})
    curves.on_train_end(None, state(3), None)
    resumed = TensorBoardCurves(job, 2)
    resumed.on_log(None, state(3), None, {"loss": 1.0, "reward": 0.75})
    resumed.on_train_end(None, state(3), None)
    assert points(tmp_path / "tensorboard" / run_name(job)) == [(1, 0.25), (2, 0.5), (3, 0.75)]


def points(folder: Path) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return [(event.step, event.value) for event in found.Scalars("reward")]


def test_wandb_must_be_installed_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job: Any = SimpleNamespace(work=tmp_path)
    assert reported_to(("tensorboard",), job) == []
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(RuntimeError, match="pip install wandb"):
        reported_to(("wandb",), job)
