"""Base model of the closed world: tokenizer, pretraining and instruction tuning from scratch, in under a minute.

Not a method of the paper: it makes the small policy that the sandbox studies, with a knowledge boundary that is
real (facts are learned from text in which some stand often, some rarely, some never) and with the behaviour of an
instruct model: it answers in the prompt's format, uses references, refuses now and then.

Two passes over rows that the world wrote:

1. pretraining on `fact` rows (each epoch draws every fact `mentions` times, two thirds as sentences and one third as
   a chat answer) mixed with `reading` rows (a question with references made up at random, loss on the answer only, so
   that copying is learned and nothing false is memorised);
2. instruction tuning on `instruct` rows.

What it rests on, as measured: chat format and a few refusals must be in the pretraining already; one token must stand
for a word wherever it appears, hence the byte-level pre-tokenizer puts a space before every segment; knowledge
must be sharp, or reinforcement learning refuses everything.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from configs.settings import PretrainSettings
from tasks.core.records import REFUSAL, Record

SPECIAL = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
FORMAT = ("<think>", "</think>", "\\boxed{", "}")
"""Tokens of the completion format; not special, so that they survive decoding without special tokens."""
CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{%- if message['role'] == 'assistant' %}<|assistant|>{% generation %}{{ message['content'] }}<|end|>"
    "{% endgeneration %}"
    "{%- else %}<|{{ message['role'] }}|>{{ message['content'] }}{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}<|assistant|>{%- endif %}"
)

PromptBuilder = Callable[[str, Sequence[str] | None], list[dict[str, str]]]
"""(question, references or None) -> chat messages."""
Progress = Callable[[int, int, float], None]
"""Called with (step, total steps, loss)."""


class FactRow(Record):
    """One fact of the pretraining text."""

    kind: Literal["fact"]
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    answer: str
    mentions: int
    """Times it stands in one epoch."""
    trace: tuple[str, ...]
    """Reasoning texts to draw from when it is asked as a question."""


class Turn(Record):
    """A question and the completion to give."""

    question: str
    answer: str
    trace: str


class ChatRow(Record):
    """A dialogue; its first question comes with the references (None is the closed-book form).

    Further turns ask about the same references: more to learn from one long prompt.
    """

    kind: Literal["reading", "instruct"]
    references: tuple[str, ...] | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Example:
    """A token sequence; `learned` marks the tokens that the loss is on."""

    ids: list[int]
    learned: list[bool]


def read_rows(lines: Iterable[str]) -> tuple[list[FactRow], list[ChatRow]]:
    """Rows of a facts.jsonl; pydantic's ValidationError names what a malformed line lacks."""
    facts: list[FactRow] = []
    chats: list[ChatRow] = []
    for line in lines:
        row = json.loads(line)
        if row["kind"] == "fact":
            facts.append(FactRow.model_validate(row))
        else:
            chats.append(ChatRow.model_validate(row))
    return facts, chats


def completion_text(trace: str, answer: str) -> str:
    """The completion format of the answer prompts."""
    return f"<think>{trace}</think>\\boxed{{{answer}}}"


class Encoder:
    """Rows to token sequences. Texts recur many times, so each is tokenised once."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, prompt: PromptBuilder) -> None:
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._cache: dict[str, list[int]] = {}

    def sentence(self, text: str) -> Example:
        """A sentence of running text; all of it is learned."""
        ids = [*self._ids(text), self._end]
        return Example(ids, [False] + [True] * (len(ids) - 1))

    def chat(self, references: Sequence[str] | None, turns: Sequence[Turn]) -> Example:
        """A dialogue; only the completions are learned."""
        ids: list[int] = []
        learned: list[bool] = []
        for turn in turns:
            messages = self._prompt(turn.question, references)
            prompt = self._ids(str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)))
            completion = [*self._ids(completion_text(turn.trace, turn.answer)), self._end]
            ids += prompt + completion
            learned += [False] * len(prompt) + [True] * len(completion)
            references = None
        return Example(ids, learned)

    @property
    def _end(self) -> int:
        return int(self._tokenizer.convert_tokens_to_ids("<|end|>"))

    def _ids(self, text: str) -> list[int]:
        if text not in self._cache:
            self._cache[text] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._cache[text]


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which a word is the same token at a segment's start as within it."""
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(FORMAT),
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in FORMAT])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=list(SPECIAL[2:]),
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    wrapped.chat_template = CHAT_TEMPLATE
    return wrapped


def build_model(tokenizer: PreTrainedTokenizerFast, settings: PretrainSettings) -> Qwen3ForCausalLM:
    """A fresh Qwen3 of the asked size."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        head_dim=settings.head_width,
        intermediate_size=settings.feed_forward,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=settings.initializer_range,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    _ease_copying(model)
    return model


def _ease_copying(model: Qwen3ForCausalLM) -> None:
    """Start the last block's attention as a copier: its output is the value it attends to, projected on itself.

    With tied embeddings a token that is attended to is then the likely next token, so that reading from references
    is learned within a few hundred steps; from a random start it is not learned within this budget at all.
    """
    attention = model.model.layers[-1].self_attn
    wide, width = attention.v_proj.weight.shape
    side = max(wide, width)
    orthogonal = torch.linalg.qr(torch.randn(side, side))[0][:wide, :width]
    with torch.no_grad():
        attention.v_proj.weight.copy_(orthogonal)
        attention.o_proj.weight.copy_(orthogonal.T)


def fact_examples(rows: Sequence[FactRow], encoder: Encoder, refusal_share: float, rng: random.Random) -> list[Example]:
    """One epoch of the pretraining text."""
    examples = []
    for row in rows:
        for _ in range(row.mentions):
            if rng.random() < 2 / 3:
                examples.append(encoder.sentence(rng.choice(row.statements)))
                continue
            refused = rng.random() < refusal_share
            trace, answer = ("not sure", REFUSAL) if refused else (rng.choice(row.trace), row.answer)
            turn = Turn(question=rng.choice(row.questions), answer=answer, trace=trace)
            examples.append(encoder.chat(None, [turn]))
    return examples


def batches(examples: Sequence[Example], size: int, rng: random.Random) -> list[list[Example]]:
    """Batches of like length, so that little is padded, in random order."""
    order = sorted(examples, key=lambda example: (len(example.ids), rng.random()))
    found = [order[start : start + size] for start in range(0, len(order), size)]
    rng.shuffle(found)
    return found


def train(
    model: Qwen3ForCausalLM, epochs: Sequence[Callable[[], list[list[Example]]]], rate: float, report: Progress
) -> float:
    """AdamW with warm-up and cosine decay over the epochs' batches, which are drawn as each epoch starts.

    Returns the mean loss of the last epoch.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98), fused=True)
    model.train()
    step, total, mean_loss = 0, 0, math.nan
    for epoch, draw in enumerate(epochs):
        drawn = draw()
        total = step + len(drawn) * (len(epochs) - epoch)
        losses = []
        for batch in drawn:
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule(step, total)
            loss = batch_loss(model, batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            step += 1
            report(step, total, losses[-1])
        mean_loss = sum(losses) / len(losses)
    return mean_loss


def schedule(step: int, total: int) -> float:
    """Share of the peak rate: 3% linear warm-up, then cosine down to 5%."""
    warm_up = min(1.0, (step + 1) / max(1, 0.03 * total))
    return warm_up * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, step / total))))


def batch_loss(model: Qwen3ForCausalLM, batch: Sequence[Example]) -> torch.Tensor:
    """Mean cross-entropy of the learned positions. Padding is on the right, so causal attention needs no mask."""
    width = max(len(example.ids) for example in batch)
    ids_BT = torch.zeros((len(batch), width), dtype=torch.long)
    learned_BT = torch.zeros((len(batch), width), dtype=torch.bool)
    for row, example in enumerate(batch):
        ids_BT[row, : len(example.ids)] = torch.tensor(example.ids)
        learned_BT[row, : len(example.ids)] = torch.tensor(example.learned)
    hidden_BTD = model.model(input_ids=ids_BT).last_hidden_state
    # Logits are made only where something is learned: most of a long prompt is not.
    target_N = ids_BT[:, 1:][learned_BT[:, 1:]]
    hidden_ND = hidden_BTD[:, :-1][learned_BT[:, 1:]]
    return torch.nn.functional.cross_entropy(model.lm_head(hidden_ND), target_N)
