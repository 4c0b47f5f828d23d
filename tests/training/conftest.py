"""A tiny model with a chat template, made in a second, and jobs that train it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from configs.settings import RunSettings, Section
from tasks.core.artifacts import ArtifactRef
from tasks.core.records import KnowledgeLabel, Question, References
from tasks.core.rows import write_rows
from tasks.core.stage import Job

CHAT_TEMPLATE = (
    "{%- for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{%- if message['role'] == 'assistant' %}<|end|>{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}<|assistant|>{%- endif %}"
)
CITIES = ("Oslo", "Lima", "Rome", "Cairo")
QUESTIONS = 24


def question(index: int, split: str = "train") -> Question:
    return Question(
        id=f"q{index:02d}",
        dataset="crag",
        split=split,
        question=f"Where does person {index} live?",
        answers=(CITIES[index % len(CITIES)],),
        group=f"g{index}",
    )


def tiny_tokenizer() -> Any:
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([question(index).question for index in range(QUESTIONS)] + list(CITIES) * 9, trainer)
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in ("<think>", "</think>", "\\boxed{")])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|end|>")
    wrapped.chat_template = CHAT_TEMPLATE
    return wrapped


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a randomly initialised Qwen3 of one layer."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tiny-model")
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=32,
        intermediate_size=64,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def hub_settings_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training session switches the hub off for its process, which here is the whole test run's."""
    for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setattr(constants, name, getattr(constants, name))


MakeJob = Callable[..., Job]


@pytest.fixture
def make_job(tiny_model: Path, tmp_path: Path) -> MakeJob:
    """Job of a name, a body and a config on the tiny model, in a folder of its own."""

    def make(name: str, config: Section, body: str = "unused:unused", **run: Any) -> Job:
        store = tmp_path / "store"
        inputs = store / "inputs"
        if not inputs.exists():
            inputs.mkdir(parents=True)
            rows = [question(index) for index in range(QUESTIONS)] + [question(99, "test")]
            write_rows(inputs / "questions.parquet", rows)
            told = [References(question_id=row.id, texts=(f"{row.question} {row.answers[0]}",)) for row in rows]
            write_rows(inputs / "references.parquet", told)
            write_rows(inputs / "labels.parquet", [label(row.id, index) for index, row in enumerate(rows[:-1])])
        work = store / "work" / name / f"{name:0<24}"
        (work / "data").mkdir(parents=True, exist_ok=True)
        return Job(
            label=name,
            body=body,
            config=config.model_dump(mode="json"),
            inputs={
                "model": [ref(tiny_model)],
                "questions": [ref(inputs)],
                "references": [ref(inputs)],
                "labels": [ref(inputs)],
            },
            run=RunSettings(store=str(store), **run),
            data=work / "data",
            work=work,
        )

    return make


def ref(folder: Path) -> ArtifactRef:
    return ArtifactRef(kind="input", key="k", digest="d", rows=1, path=str(folder))


def label(question_id: str, index: int) -> KnowledgeLabel:
    """Every third question is out of knowledge; the setting follows asking in turn."""
    return KnowledgeLabel(
        question_id=question_id,
        setting="closed_book" if index % 2 == 0 else "retrieval",
        out_of_knowledge=index % 3 == 0,
        drawn=4,
        correct=0 if index % 3 == 0 else 1,
        abstained=0,
        incorrect=3,
        unscored=0,
    )


class Help:
    """What several test files need and importlib's import mode does not let them import."""

    @staticmethod
    def run_and_die(body: Callable[[], object]) -> None:
        """Run a body in a forked process that is expected to be killed by SIGKILL on its way."""
        pid = os.fork()
        if pid == 0:
            try:
                body()
            finally:
                os._exit(1)  # it survived
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), f"the process was not killed: exit code {os.WEXITSTATUS(status)}"
        assert os.WTERMSIG(status) == signal.SIGKILL

    @staticmethod
    def kill_self() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def same_weights(one: Path, other: Path) -> bool:
        """Bit by bit."""
        first, second = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
        return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="session")
def helping() -> type[Help]:
    return Help
