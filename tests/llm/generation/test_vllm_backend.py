"""The vLLM back end against a real vLLM. Needs PLUMBLINE_VLLM_PYTHON, the interpreter of an environment that has it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.generation import Completion, GenerationFailed, Generator, Prompt, Sampling, open_generator

PYTHON = os.environ.get("PLUMBLINE_VLLM_PYTHON")
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.skipif(PYTHON is None, reason="PLUMBLINE_VLLM_PYTHON is not set (make test-vllm)"),
]
POLICY = PolicySettings(dtype="float32", max_context_tokens=128)
GREEDY = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=24)
FREE = Sampling(temperature=1.0, top_p=0.95, max_new_tokens=24)
TEXTS = ["Who?", "Who wrote the first program for the engine?", "Ada", "The engine was never built."]


def prompt(text: str, n: int = 1, seed: int = 0) -> Prompt:
    return Prompt([{"role": "user", "content": text}], n, seed)


def comparable(completions: list[Completion]) -> list[tuple[str, bool, int]]:
    """vLLM holds back the bytes of a character that the token limit cut; transformers shows a replacement character."""
    return [(c.text.rstrip("\ufffd"), c.finished, c.tokens) for c in completions]


def settings(**changes: Any) -> GenerationSettings:
    vllm = {"python": PYTHON, "extra_args": ["--enforce-eager"], "start_timeout_s": 240.0, **changes}
    return GenerationSettings(backend="vllm", batch=32, device="cpu", vllm=vllm)


@pytest.fixture(scope="module")
def vllm(tiny_model: ModelSource) -> Iterator[Generator]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        with open_generator(tiny_model, POLICY, settings()) as generator:
            yield generator
            log = generator._server.log  # type: ignore[attr-defined]
    assert not log.exists()
    assert not server_processes(tiny_model)


def server_processes(model: ModelSource) -> list[str]:
    """Command lines of living processes that serve the model."""
    lines = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if f"--model {model.name}" in line]


def test_greedy_equals_the_transformers_back_end(vllm: Generator, tiny_model: ModelSource) -> None:
    prompts = [prompt(text) for text in TEXTS]
    with open_generator(tiny_model, POLICY, GenerationSettings(backend="transformers", device="cpu")) as other:
        expected = dict(other.generate(prompts, GREEDY))
    found = dict(vllm.generate(prompts, GREEDY))
    assert [comparable(found[index]) for index in range(4)] == [comparable(expected[index]) for index in range(4)]


def test_seeds_make_samples_repeatable_and_different(vllm: Generator) -> None:
    first = dict(vllm.generate([prompt("Who?", n=6, seed=3), prompt("Ada", n=6, seed=3)], FREE))
    again = dict(vllm.generate([prompt("Who?", n=4, seed=3)], FREE))
    assert again[0] == first[0][:4]
    assert len({completion.text for completion in first[0]}) == 6
    other = dict(vllm.generate([prompt("Who?", n=6, seed=4)], FREE))
    assert not {completion.text for completion in other[0]} & {completion.text for completion in first[0]}


def test_limits(vllm: Generator) -> None:
    beyond = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=10_000)
    ((_, (completion,)),) = vllm.generate([prompt("Ada")], beyond)
    assert completion.finished or completion.tokens == 128 - 4  # "Ada" and the template are four tokens
    with pytest.raises(GenerationFailed, match="max_context_tokens"):
        list(vllm.generate([prompt("The engine was never built. " * 40)], GREEDY))
    assert next(iter(vllm.generate([prompt("Ada")], GREEDY)))[0] == 0


def test_a_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the log of a failed start is kept
    started = time.monotonic()
    with pytest.raises(GenerationFailed, match="ended while it started"):
        open_generator(ModelSource(name=str(tmp_path)), POLICY, settings())
    assert time.monotonic() - started < 120
