"""Which stages a changed setting reruns, read from the keys of the whole pipeline without running it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from configs.resolve import resolve
from configs.settings import RunSettings
from flows import run as run_module
from flows.reproduce import Pipeline
from flows.run import Run
from tasks.core.artifacts import ArtifactRef
from tasks.core.stage import Inputs, Stage
from tasks.verify.instrument import Instrument
from tasks.verify.prompts import TEMPLATES, answer_templates

Plan = Callable[..., dict[str, str]]


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Keys by label of every stage of a run, as if each key's artefact had the key as its contents."""
    monkeypatch.setenv("PLUMBLINE_WORLD_URL", "http://127.0.0.1:9")

    def keys_of(overrides: dict[str, Any] | None = None, seeds: tuple[int, ...] = (0, 1)) -> dict[str, str]:
        keys: dict[str, str] = {}

        def note(stage: Stage, inputs: Inputs, _: RunSettings) -> ArtifactRef:
            keys[stage.label] = stage.key(inputs)
            key = keys[stage.label]
            return ArtifactRef(kind=stage.kind, key=key, digest=key, rows=1, path="")

        monkeypatch.setattr(run_module, "submit", note)
        settings = resolve("truthrl", "sandbox", overrides, seeds)
        templates = answer_templates(settings.policy.prompt, settings.train.prompt_settings)
        assert Pipeline(Run(settings, Instrument.of(settings), templates, templates)).report
        return keys

    return keys_of


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {
        label.removesuffix(" seed 0") for label in before if before[label] != after[label] and "seed 1" not in label
    }


def test_nothing_changes_where_nothing_is_changed(plan: Plan) -> None:
    assert plan() == plan()


def test_grpo_learning_rate_reruns_grpo_its_evaluation_and_the_report(plan: Plan) -> None:
    assert changed(plan(), plan({"train": {"grpo": {"learning_rate": 1e-4}}})) == {
        "train truthrl", "train truthrl-binary", "evaluate truthrl", "evaluate truthrl-binary", "results", "report",
    }  # fmt: skip


def test_a_reward_reruns_its_own_method_alone(plan: Plan) -> None:
    assert changed(plan(), plan({"rewards": {"ternary": {"abstained": 0.2}}})) == {
        "train truthrl", "evaluate truthrl", "results", "report",
    }  # fmt: skip


def test_the_judges_prompt_reruns_what_measures_and_what_learns_from_it(plan: Plan, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text((TEMPLATES / "outcome.txt").read_text() + "\nBe strict.\n")
    after = plan({"judge": {"prompt": str(prompt)}})
    rerun = changed(plan(), after)
    assert {"probe", "train truthrl", "train truthrl-binary", "evaluate prompting", "evaluate sft"} <= rerun
    assert "train r-tuning" in rerun  # through its labels
    assert not rerun & {"world", "tokenizer", "base model", "curate", "gather evidence", "train sft"}


def test_sft_settings_leave_grpo_alone(plan: Plan) -> None:
    rerun = changed(plan(), plan({"train": {"sft": {"epochs": 2}}}))
    assert rerun == {"train sft", "train r-tuning", "evaluate sft", "evaluate r-tuning", "results", "report"}


def test_weights_of_truthfulness_rerun_results_and_report_alone(plan: Plan) -> None:
    assert changed(plan(), plan({"evaluate": {"weights": [1, 0.5, 1]}})) == {"results", "report"}


@pytest.mark.parametrize(
    "place",
    [
        {"endpoints": {"judge": {"concurrency": 3, "base_urls": ["http://127.0.0.1:1"]}}},
        {"run": {"parallel": 1, "unscored_limit": 0.5, "store": "elsewhere"}},
        {"train": {"trackers": [], "launch": {"checkpoint_steps": 5}}},
        {"generation": {"threads": 2}},
    ],
)
def test_the_place_of_a_run_reruns_nothing(plan: Plan, place: dict[str, Any]) -> None:
    assert changed(plan(), plan(place)) == set()


def test_another_seed_leaves_the_first_alone_up_to_the_results(plan: Plan) -> None:
    one, two = plan(seeds=(0,)), plan(seeds=(0, 1))
    assert {label for label in one if one[label] != two[label]} == {"results", "report"}
