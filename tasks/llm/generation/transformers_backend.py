"""Generation with transformers: a sampling loop of our own over the model's forward pass.

`model.generate` draws from one global random state, so that a completion depends on its neighbours, and repeats the
prompt for each sample. Here a prompt is read once and its cache copied to its samples; every sample draws from a
generator of its own (inverse of the cumulative distribution at a uniform number); finished samples leave the batch.
On tiny models on a CPU that is also two to three times as fast.

Letters in names: P prompts, R rows (samples) of a batch, T positions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.generation import Completion, GenerationFailed, Prompt, Sampling, sample_seed

UNIFORMS_AHEAD = 64
"""Random numbers drawn at a time for each sample."""
KEEP_SHARE = 0.75
"""Share of living rows below which the finished ones are cut out of the batch (cutting copies the cache)."""


@dataclass(eq=False)
class _Work:
    """A prompt and what is known of its completions."""

    index: int
    ids: list[int]
    prompt: Prompt
    done: dict[int, Completion] = field(default_factory=dict)


@dataclass(eq=False)
class _Row:
    """One sample of a prompt."""

    work: _Work
    sample: int
    limit: int
    """Most tokens it may get."""
    ids: list[int] = field(default_factory=list)


class TransformersGenerator:
    """A causal language model in this process.

    Raises:
        GenerationFailed: its chat template does not open an assistant turn.
    """

    def __init__(self, model: ModelSource, policy: PolicySettings, settings: GenerationSettings) -> None:
        self._batch = settings.batch
        self._max_context = policy.max_context_tokens
        self._device = _device(settings)
        if self._device.type == "cpu":
            torch.set_num_threads(settings.threads)
        self._tokenizer = AutoTokenizer.from_pretrained(model.name, revision=model.revision)
        check_chat_template(self._tokenizer, model.name)
        loaded = AutoModelForCausalLM.from_pretrained(
            model.name, revision=model.revision, dtype=getattr(torch, policy.dtype)
        )
        self._model = loaded.to(self._device).eval()
        self._end_ids = torch.tensor(end_ids(self._model, self._tokenizer), device=self._device)

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[tuple[int, list[Completion]]]:
        """See :class:`tasks.llm.generation.Generator`. Longest prompts come first, so that memory runs out early."""
        works = [_Work(index, self._encode(prompt), prompt) for index, prompt in enumerate(prompts)]
        works.sort(key=lambda work: -len(work.ids))
        yield from ((work.index, []) for work in works if work.prompt.n == 0)
        rows = [self._row(work, sample, sampling) for work in works for sample in range(work.prompt.n)]
        for start in range(0, len(rows), self._batch):
            batch = rows[start : start + self._batch]
            self._complete(batch, sampling)
            for work in dict.fromkeys(row.work for row in batch):
                if len(work.done) == work.prompt.n:
                    yield work.index, [work.done[sample] for sample in range(work.prompt.n)]

    def close(self) -> None:
        """Free the model."""
        del self._model
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _encode(self, prompt: Prompt) -> list[int]:
        text = self._tokenizer.apply_chat_template(prompt.messages, tokenize=False, add_generation_prompt=True)
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _row(self, work: _Work, sample: int, sampling: Sampling) -> _Row:
        room = self._max_context - len(work.ids)
        if room <= 0:
            raise GenerationFailed(
                f"prompt {work.index} has {len(work.ids)} tokens, which leaves no room for a completion: raise "
                "policy.max_context_tokens or lower evidence.max_reference_tokens"
            )
        return _Row(work, sample, min(sampling.max_new_tokens, room))

    @torch.inference_mode()
    def _complete(self, rows: list[_Row], sampling: Sampling) -> None:
        draw = _Draw(rows, sampling, self._device)
        logits_RV, state = self._read_prompts(rows)
        alive = list(range(len(rows)))
        limits = torch.tensor([row.limit for row in rows], device=self._device)
        step = 0
        tokens: list[torch.Tensor] = []
        living_R = torch.ones(len(rows), dtype=torch.bool, device=self._device)
        raise NotImplementedError((draw, logits_RV, state, alive, limits, step, tokens, living_R))
