from __future__ import annotations

from pathlib import Path

import pytest

from tasks.reporting.curves import TrainingRun, load_training, mean_curve


def write(folder: Path, lines: str) -> Path:
    (folder / "metrics.jsonl").write_text(lines)
    (folder / "meta.json").write_text('{"method": "m", "seed": 3, "trainer": "grpo", "more": 1}')
    return folder


def test_reads_what_is_there(tmp_path: Path) -> None:
    lines = (
        '{"step": 1, "loss": 2.0, "reward": null, "abstained": 0.25, "unscored": 0.1}\n'
        '{"step": 2, "loss": NaN, "reward": 0.5, "abstained": 0.5, "unscored": 0.3, "kl": 1}\n'
    )
    run = load_training(write(tmp_path, lines))
    assert (run.method, run.seed, run.trainer) == ("m", 3, "grpo")
    assert run.curves == {"loss": ((1, 2.0),), "reward": ((2, 0.5),), "abstained": ((1, 25.0), (2, 50.0))}
    assert run.unscored_share == pytest.approx(0.2)


def test_a_trainer_that_logs_no_verdicts(tmp_path: Path) -> None:
    assert load_training(write(tmp_path, '{"step": 1, "loss": 1}\n')).unscored_share is None


def test_a_line_without_a_step_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 2"):
        load_training(write(tmp_path, '{"step": 1}\n[3]\n'))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_training(tmp_path)


def test_mean_over_the_steps_that_all_seeds_have() -> None:
    def run(seed: int, *pairs: tuple[float, float]) -> TrainingRun:
        return TrainingRun(method="m", seed=seed, trainer="sft", curves={"loss": pairs}, unscored_share=None)

    assert mean_curve([run(0, (1, 1.0), (2, 3.0)), run(1, (2, 5.0), (3, 9.0))], "loss") == ((2, 4.0),)
    assert mean_curve([run(0, (1, 1.0))], "reward") == ()
