from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from huggingface_hub import HfApi
from transformers import AutoModelForCausalLM

from configs.settings import PolicySettings, PretrainSettings, PromptSetting, RunSettings
from tasks.core.artifacts import ArtifactRef
from tasks.core.models import model_source
from tasks.core.stage import Job
from tasks.training import base
from tasks.training.base import prompt_builder
from tasks.training.configs import BaseConfig
from tasks.training.hub import ModelUnavailable, be_quiet, resolve
from tasks.training.policy import load_tokenizer
from tasks.training.pretrain_text import read_lessons, tokenizer_texts, train_tokenizer

TEMPLATES: dict[PromptSetting, str] = {"closed_book": "Q: {question}", "retrieval": "{references}\nQ: {question}"}


class Hub(http.server.BaseHTTPRequestHandler):
    """Speaks as much of the hub's protocol as model_info asks."""

    ANSWERS: ClassVar[dict[str, Any]] = {
        "/api/models/org/good": (200, {}, {"id": "org/good", "sha": "a" * 40}),
        "/api/models/org/good/revision/v1": (200, {}, {"id": "org/good", "sha": "b" * 40}),
        "/api/models/org/good/revision/v9": (404, {"X-Error-Code": "RevisionNotFound"}, {}),
        "/api/models/org/gated": (403, {"X-Error-Code": "GatedRepo"}, {}),
        "/api/models/org/broken": (500, {}, {}),
    }

    def do_GET(self) -> None:
        missing: Any = (404, {"X-Error-Code": "RepoNotFound"}, {})
        status, headers, body = self.ANSWERS.get(self.path.split("?")[0], missing)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def hub() -> Iterator[HfApi]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield HfApi(endpoint=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()


def test_hub_id_is_pinned_to_its_commit(hub: HfApi) -> None:
    assert resolve("org/good", None, hub).revision == "a" * 40
    assert resolve("org/good", "v1", hub).revision == "b" * 40


@pytest.mark.parametrize(
    ("name", "revision", "message"),
    [
        ("org/typo", None, "neither a folder nor a model on the hub"),
        ("org/good", "v9", "has no revision 'v9'"),
        ("org/gated", None, "gated. Ask for access"),
        ("not a model id", None, "no local cache"),
    ],
)
def test_errors_say_what_to_do(hub: HfApi, name: str, revision: str | None, message: str) -> None:
    with pytest.raises(ModelUnavailable, match=message):
        resolve(name, revision, hub)


def test_without_a_connection_the_cache_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="hf download org/good"):
        resolve("org/good", None)
    snapshot = tmp_path / "models--org--good" / "snapshots" / ("c" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    refs = tmp_path / "models--org--good" / "refs"
    refs.mkdir()
    (refs / "main").write_text("c" * 40)
    assert resolve("org/good", None).revision == "c" * 40


def test_a_folder_stands_for_itself_and_its_contents(tiny_model: Path, tmp_path: Path) -> None:
    job = base_job(tmp_path, BaseConfig(policy=PolicySettings(model=str(tiny_model)), seed=0, templates={}))
    assert base.run(job).rows == 1
    assert model_source(job.data).name == str(tiny_model)
    assert len(json.loads((job.data / "weights.json").read_text())["sha256"]) == 64


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no config\.json"):
        resolve(str(tmp_path), None)


def test_a_local_model_needs_no_hub(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    from tasks.core.models import ModelSource

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    be_quiet(ModelSource(name="org/good"))
    assert (constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_TELEMETRY) == (False, True)
    be_quiet(ModelSource(name=str(tiny_model)))
    assert constants.HF_HUB_OFFLINE is True


def test_pretraining_prompts_are_the_answer_prompts() -> None:
    build = prompt_builder(TEMPLATES)
    assert build("Who?", None) == [{"role": "user", "content": "Q: Who?"}]
    assert build("Who?", ["A.", "B."]) == [{"role": "user", "content": "A.\nB.\nQ: Who?"}]
    with pytest.raises(ValueError, match=r"'retrieval'.*is missing"):
        prompt_builder({"closed_book": "{question}"})


def test_the_worlds_model_is_trained_on_the_worlds_lessons(tmp_path: Path) -> None:
    world, vocabulary = tmp_path / "world", tmp_path / "tokenizer"
    for folder in (world, vocabulary):
        folder.mkdir()
    write_lessons(world / "facts.jsonl")
    settings = PretrainSettings(layers=1, width=32, heads=1, feed_forward=32, epochs=1, instruct_epochs=1, batch=4)
    facts, chats = read_lessons(world)
    train_tokenizer(tokenizer_texts(facts, chats), 300).save_pretrained(vocabulary)
    config = BaseConfig(policy=PolicySettings(model="closed-world", pretrain=settings), seed=1, templates=TEMPLATES)
    job = base_job(tmp_path, config, world=[ref(world)], tokenizer=[ref(vocabulary)])
    result = base.run(job)
    assert result.counts["facts"] == 1
    assert result.counts["dialogues"] == 3
    assert result.counts["steps"] == result.rows > 0
    load_tokenizer(model_source(job.data))
    assert AutoModelForCausalLM.from_pretrained(job.data).config.hidden_size == 32
    assert json.loads((job.work / "progress.json").read_text())["done"] == result.rows


def write_lessons(path: Path) -> None:
    turn = {"question": "Where does Ann live?", "answer": "Oslo", "trace": "recall"}
    rows: list[dict[str, Any]] = [
        {
            "kind": "fact",
            "statements": ["Ann lives in Oslo."],
            "questions": [turn["question"]],
            "answer": "Oslo",
            "mentions": 8,
            "trace": ["recall"],
        },
        {"kind": "first", "references": ["Ann lives in Oslo."], "turns": [turn]},
        {"kind": "reading", "references": ["Ann lives in Oslo."], "turns": [turn]},
        {"kind": "instruct", "references": None, "turns": [turn]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def ref(folder: Path) -> ArtifactRef:
    return ArtifactRef(kind="input", key="k", digest="d", rows=1, path=str(folder))


def base_job(root: Path, config: BaseConfig, **inputs: Any) -> Job:
    (root / "data").mkdir(exist_ok=True)
    return Job(
        label="base",
        body="tasks.training.base:run",
        config=config.model_dump(mode="json"),
        inputs=inputs,
        run=RunSettings(store=str(root)),
        data=root / "data",
        work=root,
    )
