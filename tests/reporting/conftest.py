"""A finished run without models: five methods x three seeds with known rates, in a real artefact store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from configs.settings import EvaluateSettings, MethodSettings, PromptSetting, ReportSettings, RunSettings
from tasks.core.artifacts import ArtifactRef, ArtifactStore, Manifest
from tasks.core.hashing import folder_digest
from tasks.core.records import GradedResponse, Outcome, Question, Response, Verdict
from tasks.core.rows import write_rows
from tasks.core.stage import Stage, produce
from tasks.evaluation.results import ResultsConfig
from tasks.reporting.report import ReportConfig
from tasks.verify.results import Results

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'><svg/onload=alert(3)> "
    "[click](javascript:alert(4)) ```\n# heading\n```` **bold** | cell | {{ 7*7 }} {% raw %} \u202eevil\u0007 &lt;b&gt;"
)
METHODS = {
    "prompting": MethodSettings(trainer="none"),
    "sft": MethodSettings(trainer="sft", targets="gold"),
    "r-tuning": MethodSettings(trainer="sft", targets="refuse_ook"),
    "truthrl-binary": MethodSettings(trainer="grpo", reward="binary"),
    "truthrl": MethodSettings(trainer="grpo", reward="ternary"),
}
RATES = {
    "prompting": (0.40, 0.14),
    "sft": (0.43, 0.02),
    "r-tuning": (0.36, 0.28),
    "truthrl-binary": (0.52, 0.01),
    "truthrl": (0.48, 0.36),
}
"""Correct, abstained; the rest is incorrect."""
POPULARITY = {"head": 1.7, "mid": 1.2, "rare": 0.8, "never": 0.15}
SEEDS = (0, 1, 2)
SETTINGS: tuple[PromptSetting, ...] = ("closed_book", "retrieval")
OUTCOMES = (Outcome.CORRECT, Outcome.ABSTAINED, Outcome.INCORRECT)


@dataclass(frozen=True)
class FinishedRun:
    store: ArtifactStore
    results: Results
    results_ref: ArtifactRef
    report_ref: ArtifactRef
    inputs: dict[str, list[ArtifactRef]]

    def report(self, name: str = "report.html") -> str:
        return (Path(self.report_ref.path) / name).read_text(encoding="utf-8")


class Builder:
    """Commits artefacts by hand, with manifests as the stages write them."""

    def __init__(self, root: Path) -> None:
        self.store = ArtifactStore(root)
        self.made = 0

    def commit(
        self,
        kind: str,
        label: str,
        rows: int,
        inputs: dict[str, list[ArtifactRef]],
        write: Callable[[Path], object],
        **more: Any,
    ) -> ArtifactRef:
        self.made += 1
        key = f"{self.made:024x}"
        work = self.store.work(kind, key)
        write(work / "data")
        (work / "data" / "name").write_text(f"{kind} {key}")
        manifest = Manifest(
            kind=kind,
            key=key,
            label=label,
            digest=folder_digest(work / "data"),
            rows=rows,
            code="0" * 16,
            config=more.pop("config", {}),
            inputs=inputs,
            wall_s=12.5,
            attempts=1,
            created_at=0.0,
            **more,
        )
        return self.store.commit(manifest, work)


def make_questions(datasets: tuple[str, ...], size: int) -> list[Question]:
    names = list(POPULARITY)
    return [
        Question(
            id=f"{dataset}-{index}",
            dataset=dataset,
            split="test",
            question=f"Where was person {index} of {dataset} born? <b>x</b>",
            answers=(f"Town {index}", "the town"),
            group=f"{dataset}-{index}",
            popularity=names[index % 4],
        )
        for dataset in datasets
        for index in range(size)
    ]


def make_responses(questions: list[Question], method: str, seed: int) -> list[GradedResponse]:
    rng = np.random.default_rng([seed, list(METHODS).index(method)])
    rows = []
    for setting in SETTINGS:
        for question in questions:
            correct, abstained = RATES[method]
            correct = min(0.97 - abstained / 3, correct * POPULARITY[str(question.popularity)])
            if setting == "retrieval":
                correct += 0.4 * (1 - correct)
                abstained *= 0.5
            abstained = min(1 - correct, abstained * (2 - POPULARITY[str(question.popularity)]))
            outcome = OUTCOMES[int(rng.choice(3, p=[correct, abstained, 1 - correct - abstained]))]
            if rng.random() < 0.004:
                outcome = Outcome.UNSCORED
            text = (
                HOSTILE if outcome is Outcome.INCORRECT else "I don't know" if outcome is Outcome.ABSTAINED else "Town"
            )
            rows.append(
                GradedResponse(
                    response=Response(
                        question_id=question.id, setting=setting, sample=0, text=text, finished=True, tokens=4
                    ),
                    verdict=Verdict(outcome=outcome, answer=text, via="judge", detail=f"judged {HOSTILE}"),
                )
            )
    return rows


def write_curves(folder: Path, method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trainer = METHODS[method].trainer
    lines = []
    for step in range(1, 31):
        row: dict[str, float | None] = {"step": step, "loss": 2 * math.exp(-step / 8) + 0.1 * rng.random()}
        if trainer == "grpo":
            target = 0.35 if method == "truthrl" else 0.02
            share = 0.1 + (target - 0.1) * (1 - math.exp(-step / 9)) + 0.02 * rng.random()
            row |= {
                "loss": 0.02 * rng.normal(),
                "reward": 0.5 * (1 - math.exp(-step / 9)) + 0.05 * rng.normal(),
                "completion_length": 5 + rng.random(),
                "abstained": share,
                "correct": 0.5,
                "incorrect": 0.5 - share,
                "unscored": 0.004,
                "kl": None,
            }
        lines.append(json.dumps(row))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "meta.json").write_text(json.dumps({"method": method, "seed": seed, "trainer": trainer}))


def build_run(
    root: Path, datasets: tuple[str, ...] = ("crag", "nq_open"), size: int = 60, bootstrap: int = 300
) -> FinishedRun:
    make = Builder(root)
    run = RunSettings(store=str(root))
    questions = make_questions(datasets, size)
    nothing: Callable[[Path], object] = lambda _: None  # noqa: E731
    world = make.commit("world", "closed world", 150, {}, nothing, config={"seed": 0})
    asked = make.commit(
        "questions",
        "curate",
        len(questions),
        {"world": [world]},
        lambda data: write_rows(data / "questions.parquet", questions),
        counts={"in": len(questions) + 7},
        dropped={"no answer": 5, 'duplicate "<i>"': 2},
    )
    references = make.commit("references", "evidence", len(questions), {"questions": [asked]}, nothing)
    bases = [make.commit("model", f"base seed {seed}", 1, {"world": [world]}, nothing) for seed in SEEDS]
    labels = [
        make.commit(
            "labels",
            f"probe seed {seed}",
            len(questions),
            {"model": [bases[seed]], "questions": [asked], "references": [references]},
            nothing,
            cost={"calls": 1200, "usd": 0.25},
            unscored={"unparsable": 3},
        )
        for seed in SEEDS
    ]
    training: list[ArtifactRef] = []
    evaluations: list[ArtifactRef] = []
    for method, settings in METHODS.items():
        for seed in SEEDS:
            model = bases[seed]
            if settings.trainer != "none":
                inputs = {"model": [bases[seed]], "questions": [asked], "references": [references]}
                if settings.targets != "gold":
                    inputs["labels"] = [labels[seed]]
                model = make.commit(
                    "model",
                    f"train {method} seed {seed}",
                    1,
                    inputs,
                    partial(write_curves, method=method, seed=seed),
                )
                training.append(model)
            rows = make_responses(questions, method, seed)

            def write(data: Path, rows: list[GradedResponse] = rows, method: str = method, seed: int = seed) -> None:
                write_rows(data / "responses.parquet", rows)
                (data / "meta.json").write_text(json.dumps({"method": method, "seed": seed}))

            evaluations.append(
                make.commit(
                    "evaluation",
                    f"evaluate {method} seed {seed}",
                    len(rows),
                    {"model": [model], "questions": [asked], "references": [references]},
                    write,
                    cost={"calls": 400, "usd": 0.08},
                )
            )
    evaluate = EvaluateSettings(bootstrap=bootstrap, max_new_tokens=16)
    inputs = {"evaluation": evaluations, "questions": [asked]}
    config = ResultsConfig(recipe="truthrl", methods=METHODS, evaluate=evaluate)
    results = produce(Stage.of("results", "tasks.evaluation.results:run", "compare methods", config), inputs, run)
    inputs = {"results": [results], **inputs, "training": training}
    report = ReportConfig(
        recipe="truthrl",
        profile="sandbox",
        methods=tuple(METHODS),
        seeds=SEEDS,
        evaluate=evaluate,
        report=ReportSettings(examples=3),
        closed_world=True,
    )
    made = produce(Stage.of("report", "tasks.reporting.report:run", "report", report), inputs, run)
    found = Results.model_validate_json((Path(results.path) / "results.json").read_bytes())
    return FinishedRun(make.store, found, results, made, inputs)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return build_run(tmp_path_factory.mktemp("store"))
