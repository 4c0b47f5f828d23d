"""Generation with transformers: a sampling loop of our own over the model's forward pass.

`model.generate` draws from one global random state, so that a completion depends on its neighbours, and repeats the
prompt for each sample. Here a prompt is read once and its cache copied to its samples; every sample draws from a
generator of its own (inverse of the cumulative distribution at a uniform number); finished samples leave the batch.

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
    seed: int
    ids: list[int] = field(default_factory=list)
    done: bool = False


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
        self._ends = end_ids(loaded, self._tokenizer)

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
        return _Row(work, sample, min(sampling.max_new_tokens, room), sample_seed(work.prompt.seed, sample))

    @torch.inference_mode()
    def _complete(self, rows: list[_Row], sampling: Sampling) -> None:
        """Draw every row's tokens and leave the completions with their prompts."""
        living = rows
        batch = self._read_prompts(rows)
        uniforms = _Uniforms(rows, self._device) if sampling.temperature > 0 else None
        while True:
            token_R = draw(batch.logits_RV, sampling, uniforms.next_R() if uniforms is not None else None)
            for row, token in zip(living, token_R.tolist(), strict=True):
                if not row.done:
                    row.ids.append(token)
                    row.done = token in self._ends or len(row.ids) == row.limit
            keep = [index for index, row in enumerate(living) if not row.done]
            if not keep:
                break
            if len(keep) < KEEP_SHARE * len(living):
                kept_R = torch.tensor(keep, device=self._device)
                living = [living[index] for index in keep]
                token_R = token_R[kept_R]
                batch.select(kept_R)
                if uniforms is not None:
                    uniforms.select(keep, kept_R)
            batch.read(self._model, token_R)
        self._hand_over(rows)

    def _read_prompts(self, rows: list[_Row]) -> _Batch:
        """Run the distinct prompts of some rows through the model once, padded on the left, and copy to the rows."""
        place_P = {work: place for place, work in enumerate(dict.fromkeys(row.work for row in rows))}
        width = max(len(work.ids) for work in place_P)
        ids_PT = torch.zeros((len(place_P), width), dtype=torch.long)
        mask_PT = torch.zeros_like(ids_PT)
        for work, place in place_P.items():
            ids_PT[place, width - len(work.ids) :] = torch.tensor(work.ids)
            mask_PT[place, width - len(work.ids) :] = 1
        mask_PT = mask_PT.to(self._device)
        position_PT = (mask_PT.cumsum(-1) - 1).clamp(min=0)
        cache = DynamicCache(config=self._model.config)
        logits_PTV = self._model(
            input_ids=ids_PT.to(self._device),
            attention_mask=mask_PT,
            position_ids=position_PT,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        batch = _Batch(cache, mask_PT, position_PT[:, -1], logits_PTV[:, -1])
        batch.select(torch.tensor([place_P[row.work] for row in rows], device=self._device))
        return batch

    def _hand_over(self, rows: list[_Row]) -> None:
        texts = self._tokenizer.batch_decode(
            [row.ids for row in rows], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        for row, text in zip(rows, texts, strict=True):
            finished = row.ids[-1] in self._ends
            row.work.done[row.sample] = Completion(text=text, finished=finished, tokens=len(row.ids))


@dataclass(eq=False)
class _Batch:
    """Model state of the living rows."""

    cache: Any
    """Keys and values of all read positions."""
    mask_RT: torch.Tensor
    position_R: torch.Tensor
    """Position of the last token read."""
    logits_RV: torch.Tensor
    """Logits of the next token."""

    def select(self, index_R: torch.Tensor) -> None:
        """Keep, drop or repeat rows."""
        self.cache.reorder_cache(index_R)
        self.mask_RT = self.mask_RT[index_R]
        self.position_R = self.position_R[index_R]
        self.logits_RV = self.logits_RV[index_R]

    def read(self, model: Any, token_R: torch.Tensor) -> None:
        """Read one token a row."""
        self.mask_RT = torch.nn.functional.pad(self.mask_RT, (0, 1), value=1)
        self.position_R = self.position_R + 1
        self.logits_RV = model(
            input_ids=token_R[:, None],
            attention_mask=self.mask_RT,
            position_ids=self.position_R[:, None],
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]


class _Uniforms:
    """A stream of uniform numbers for each row, drawn on the CPU so that every device gets the same ones."""

    def __init__(self, rows: Sequence[_Row], device: torch.device) -> None:
        self._device = device
        self._generators = [torch.Generator().manual_seed(row.seed) for row in rows]
        self._step = 0
        self._ahead_RS = torch.empty(0)

    def next_R(self) -> torch.Tensor:
        """The next number of each row, in [0, 1)."""
        column = self._step % UNIFORMS_AHEAD
        if column == 0:
            drawn = [
                torch.rand(UNIFORMS_AHEAD, generator=generator, dtype=torch.float64) for generator in self._generators
            ]
            self._ahead_RS = torch.stack(drawn).to(self._device)
        self._step += 1
        return self._ahead_RS[:, column]

    def select(self, keep: list[int], kept_R: torch.Tensor) -> None:
        self._generators = [self._generators[index] for index in keep]
        self._ahead_RS = self._ahead_RS[kept_R]


def draw(logits_RV: torch.Tensor, sampling: Sampling, uniform_R: torch.Tensor | None) -> torch.Tensor:
    """Next tokens, shape [R]: the likeliest, or the one at which the cumulative distribution passes `uniform_R`.

    top_p keeps the smallest set of likeliest tokens that holds at least that much of the distribution.
    """
    if uniform_R is None:
        return logits_RV.argmax(dim=-1)
    probability_RV = torch.softmax(logits_RV.float() / sampling.temperature, dim=-1)
    order_RV: torch.Tensor | None = None
    if sampling.top_p < 1:
        probability_RV, order_RV = probability_RV.sort(dim=-1, descending=True, stable=True)
        before_RV = probability_RV.cumsum(dim=-1) - probability_RV
        # The likeliest token stays whatever top_p is.
        before_RV[:, 0] = -1.0
        probability_RV = probability_RV.masked_fill(before_RV >= sampling.top_p, 0.0)
    cumulative_RV = probability_RV.cumsum(dim=-1, dtype=torch.float64)
    target_R = uniform_R * cumulative_RV[:, -1]
    place_R = torch.searchsorted(cumulative_RV, target_R[:, None], right=True)
    token_R = place_R if order_RV is None else order_RV.gather(-1, place_R)
    return token_R.squeeze(-1)


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Tokens that end a completion: those of the generation configuration (one or a list) and the tokenizer's own.

    Raises:
        GenerationFailed: there is none, so that no completion could end.
    """
    configured = model.generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    found = frozenset(token for token in [*listed, tokenizer.eos_token_id] if token is not None)
    if not found:
        raise GenerationFailed("neither generation_config.json nor the tokenizer names an end-of-text token: add one")
    return found


def check_chat_template(tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer whose chat template does not open the assistant's turn.

    Raises:
        GenerationFailed: no template, or `add_generation_prompt` changes nothing in it.
    """
    if tokenizer.chat_template is None:
        raise GenerationFailed(
            f"{name} has no chat template: use an instruction-tuned model or add chat_template.jinja"
        )
    question = [{"role": "user", "content": "?"}]
    closed, opened = (
        tokenizer.apply_chat_template(question, tokenize=False, add_generation_prompt=flag) for flag in (False, True)
    )
    if closed == opened:
        raise GenerationFailed(
            f"the chat template of {name} ignores add_generation_prompt, so the model would go on with the user's "
            "turn: make the template open the assistant's turn when it is set"
        )


def _device(settings: GenerationSettings) -> torch.device:
    if settings.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(settings.device)
