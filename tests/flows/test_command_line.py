"""The command line: settings in, clear refusals out, nothing started for a typo."""

from __future__ import annotations

import pytest

from flows import __main__ as command_line
from flows.watch import describe
from tasks.core.progress import Snapshot


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("train.grpo.learning_rate=1e-4", {"train": {"grpo": {"learning_rate": 1e-4}}}),
        ("train.grpo.steps=3", {"train": {"grpo": {"steps": 3}}}),
        ("train.lora=null", {"train": {"lora": None}}),
        ("data.local_dir=a=b", {"data": {"local_dir": "a=b"}}),
        ("data.eval_sets=[crag]", {"data": {"eval_sets": ["crag"]}}),
    ],
)
def test_assignments_are_nested_and_typed(text: str, nested: dict[str, object]) -> None:
    assert command_line._assignment(text) == nested


def test_a_typo_starts_nothing_and_names_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "up", lambda *_: pytest.fail("services were started"))
    assert command_line.main(["run", "--set", "train.grpo.learnig_rate=1"]) == 2
    assert "did you mean 'learning_rate'?" in capsys.readouterr().out


def test_progress_in_words() -> None:
    snapshot = Snapshot(
        label="x",
        done=30,
        total=50,
        unit="samples",
        resumed=10,
        started=100.0,
        updated=110.0,
        metrics={"loss": 0.12345},
    )
    assert describe(snapshot) == "30/50 samples, 2.0/s, 10 s to go, loss 0.123, 10 kept from before"
