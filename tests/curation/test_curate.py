"""The stage's body on the shipped rows."""

from __future__ import annotations

import bz2
import shutil
from pathlib import Path

import pytest

from configs.settings import DataSettings, RunSettings
from tasks.core.artifacts import ArtifactRef
from tasks.core.records import Question, StoredPage
from tasks.core.rows import read_rows
from tasks.core.stage import Job, Stage
from tasks.curation.curate import CurateConfig, run

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def job(tmp_path: Path, data: DataSettings, world: Path | None = None) -> Job:
    inputs = (
        {} if world is None else {"world": [ArtifactRef(kind="world", key="k", digest="d", rows=0, path=str(world))]}
    )
    (tmp_path / "work" / "data").mkdir(parents=True)
    return Job(
        label="curate",
        body="tasks.curation.curate:run",
        config=CurateConfig.of(data).model_dump(mode="json"),
        inputs=inputs,
        run=RunSettings(store=str(tmp_path)),
        data=tmp_path / "work" / "data",
        work=tmp_path / "work",
    )


def test_the_shipped_rows(tmp_path: Path) -> None:
    one = job(tmp_path, DataSettings(local_dir=str(SAMPLES)))
    result = run(one)
    questions = list(read_rows(one.data / "questions.parquet", Question))
    pages = list(read_rows(one.data / "pages.parquet", StoredPage))
    assert [(question.id, question.split) for question in questions if question.dataset == "crag"] == [
        ("crag:0a11", "train"),
        ("crag:0a12", "train"),
        ("crag:0a13", "train"),
        ("crag:0a14", "test"),
        ("crag:0a15", "test"),
    ]
    assert [page.question_id for page in pages] == ["crag:0a11"] * 3 + ["crag:0a12", "crag:0a13", "crag:0a14"]
    assert result.rows == len(questions) == 16
    assert result.counts == {
        "crag/rows": 10,
        "nq_open/rows": 8,
        "hotpotqa/rows": 6,
        "musique/rows": 6,
        "crag/train": 3,
        "crag/test": 2,
        "nq_open/test": 3,
        "hotpotqa/test": 4,
        "musique/test": 4,
        "pages": 6,
    }
    assert result.dropped == {
        "crag/bad_json": 1,
        "crag/bad_page": 1,
        "crag/duplicate": 1,
        "crag/empty_question": 1,
        "crag/in_training_set": 1,
        "crag/no_answer": 1,
        "nq_open/duplicate": 1,
        "nq_open/empty_question": 1,
        "nq_open/in_training_set": 1,
        "nq_open/no_answer": 1,
        "nq_open/no_object": 1,
        "hotpotqa/no_answer": 1,
        "hotpotqa/no_id": 1,
        "musique/no_answer": 1,
        "musique/unanswerable": 1,
    }


def test_the_world_replaces_local_files_and_pages_follow_the_sample(tmp_path: Path) -> None:
    world = tmp_path / "world"
    world.mkdir()
    (world / "crag.jsonl.bz2").write_bytes(bz2.compress((SAMPLES / "crag.jsonl").read_bytes()))
    data = DataSettings(eval_sets=("crag",), max_train_questions=1, local_dir=None)
    one = job(tmp_path, data, world)
    result = run(one)
    kept = {question.id for question in read_rows(one.data / "questions.parquet", Question)}
    assert {page.question_id for page in read_rows(one.data / "pages.parquet", StoredPage)} < kept
    assert result.counts["crag/train"] == 1
    assert result.dropped["crag/train_not_sampled"] == 2


def test_a_pin_or_a_local_file_changes_the_key_and_nothing_else_does(tmp_path: Path) -> None:
    for file in SAMPLES.glob("*.jsonl"):
        shutil.copy(file, tmp_path)
    data = DataSettings(local_dir=str(tmp_path))

    def key(config: CurateConfig) -> str:
        return Stage.of("questions", "tasks.curation.curate:run", "curate", config).key({})

    config = CurateConfig.of(data)
    assert key(config) == key(CurateConfig.of(data))
    moved = {**config.sources, "nq_open": config.sources["nq_open"].model_copy(update={"revision": "0" * 40})}
    assert key(config.model_copy(update={"sources": moved})) != key(config)
    (tmp_path / "corpus.jsonl").write_text("")
    assert key(CurateConfig.of(data)) == key(config)
    (tmp_path / "musique.jsonl").write_text("")
    assert key(CurateConfig.of(data)) != key(config)


def test_a_set_without_rows_of_its_shape_stops_the_stage(tmp_path: Path) -> None:
    world = tmp_path / "world"
    world.mkdir()
    shutil.copy(SAMPLES / "nq_open.jsonl", world / "crag.jsonl")
    with pytest.raises(ValueError, match=r"crag: .*has no column 'interaction_id'"):
        run(job(tmp_path, DataSettings(eval_sets=("crag",)), world))
