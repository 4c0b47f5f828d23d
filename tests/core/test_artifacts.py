"""The store: nothing half-written exists, equal contents have equal digests, killed attempts are counted."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from configs.settings import RunSettings, Section
from tasks.core import stage as stage_module
from tasks.core.artifacts import ArtifactStore, StageResult
from tasks.core.stage import Job, Stage, produce


class Config(Section):
    n: int = 0


def make_stage(n: int = 0) -> Stage:
    return Stage.of("toy", "tasks.verify.prompts:fill", "toy", Config(n=n))


def body(job: Job) -> StageResult:
    (job.data / "x.txt").write_text("hello")
    return StageResult(rows=3, dropped={"empty": 2}, counts={"in": 5})


@pytest.fixture
def run(tmp_path: Path) -> RunSettings:
    return RunSettings(store=str(tmp_path))


def test_a_stage_runs_once_a_key(run: RunSettings) -> None:
    calls = []
    first = produce(make_stage(), {}, run, lambda job: calls.append(job) or body(job))  # type: ignore[func-returns-value]
    second = produce(make_stage(), {}, run, lambda _: pytest.fail("ran again"))
    assert first == second
    assert len(calls) == 1
    assert (Path(first.path) / "x.txt").read_text() == "hello"


def test_the_manifest_tells_how_it_came_to_be(run: RunSettings) -> None:
    upstream = produce(make_stage(1), {}, run, body)
    ref = produce(make_stage(2), {"up": upstream}, run, body)
    manifest = ArtifactStore(run.store).manifest(ref)
    assert manifest.inputs == {"up": [upstream]}
    assert manifest.config == {"n": 2}
    assert (manifest.rows, manifest.dropped, manifest.counts) == (3, {"empty": 2}, {"in": 5})
    assert manifest.attempts == 1


def test_a_failed_body_leaves_no_artifact_keeps_its_journal_and_counts_the_attempt(run: RunSettings) -> None:
    def fail(job: Job) -> StageResult:
        (job.work / "rows.jsonl").write_text("paid\n")
        (job.data / "half.txt").write_text("half")
        raise RuntimeError("boom")

    def resume(job: Job) -> StageResult:
        assert (job.work / "rows.jsonl").read_text() == "paid\n"
        assert list(job.data.iterdir()) == []
        return body(job)

    stage = make_stage()
    with pytest.raises(RuntimeError, match="boom"):
        produce(stage, {}, run, fail)
    store = ArtifactStore(run.store)
    assert store.find("toy", stage.key({})) is None
    ref = produce(stage, {}, run, resume)
    assert store.manifest(ref).attempts == 2
    assert sorted(path.name for path in Path(ref.path).iterdir()) == ["x.txt"]


def test_data_without_a_manifest_does_not_exist(run: RunSettings) -> None:
    stage = make_stage()
    orphan = Path(run.store) / "artifacts" / "toy" / stage.key({}) / "data"
    orphan.mkdir(parents=True)
    (orphan / "x.txt").write_text("from a crash between move and manifest")
    ref = produce(stage, {}, run, body)
    assert (Path(ref.path) / "x.txt").read_text() == "hello"


def test_key_depends_on_config_and_input_contents_alone(run: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    one = produce(make_stage(1), {}, run, body)
    two = produce(make_stage(2), {}, run, body)
    assert one.key != two.key
    assert one.digest == two.digest  # equal files
    downstream = make_stage(3)
    assert downstream.key({"a": one}) == downstream.key({"a": two})
    assert downstream.key({"a": one}) != downstream.key({"b": one})
    before = downstream.key({"a": one})
    monkeypatch.setattr(stage_module, "code_version", lambda _: "changed")
    assert downstream.key({"a": one}) != before


def test_two_bodies_of_one_module_have_keys_of_their_own() -> None:
    bodies = ("tasks.verify.prompts:fill", "tasks.verify.prompts:build_messages")
    keys = {Stage.of("toy", body, "toy", Config()).key({}) for body in bodies}
    assert len(keys) == 2


def test_two_runs_that_want_one_artifact_make_it_once(run: RunSettings) -> None:
    started, calls = threading.Barrier(2), []

    def slow(job: Job) -> StageResult:
        calls.append(job)
        return body(job)

    def ask() -> None:
        started.wait()
        produce(make_stage(), {}, run, slow)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
