"""What the closed world's base model reads: rows, vocabulary, and rows as token sequences.

One token must stand for a word wherever it appears, or what is read in a sentence cannot be said in an answer: the
byte-level pre-tokenizer therefore puts a space before every segment, also after the tokens of the answer format.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tasks.core.records import REFUSAL, Record

SPECIAL = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
FORMAT = ("<think>", "</think>", "\\boxed{", "}")
"""Tokens of the completion format; not special, so that they survive decoding without special tokens."""
TOKENIZER_DIALOGUES = 1_000
"""Dialogues that the vocabulary is learned from."""
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

    kind: Literal["first", "reading", "instruct"]
    references: tuple[str, ...] | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Example:
    """A token sequence; `learned` marks the tokens that the loss is on."""

    ids: list[int]
    learned: list[bool]


def read_lessons(world: Path) -> tuple[list[FactRow], list[ChatRow]]:
    """Facts and dialogues of a world's folder."""
    with (world / "facts.jsonl").open(encoding="utf-8") as lines:
        return read_rows(lines)


def read_rows(lines: Iterable[str]) -> tuple[list[FactRow], list[ChatRow]]:
    """Facts and dialogues of a facts.jsonl; pydantic's ValidationError names what a malformed line lacks."""
    facts: list[FactRow] = []
    chats: list[ChatRow] = []
    for line in lines:
        row = json.loads(line)
        if row["kind"] == "fact":
            facts.append(FactRow.model_validate(row))
        else:
            chats.append(ChatRow.model_validate(row))
    return facts, chats


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


def tokenizer_texts(facts: Sequence[FactRow], chats: Sequence[ChatRow]) -> Iterator[str]:
    """Text that the vocabulary is learned from: facts as often as they are mentioned, then the dialogues."""
    for fact in facts:
        for text in (*fact.statements, *fact.questions):
            yield from (text,) * fact.mentions
    for row in chats[:TOKENIZER_DIALOGUES]:
        yield from row.references or ()
        yield from (turn.question for turn in row.turns)
    for row in chats:
        if row.kind == "instruct":
            yield from (text for turn in row.turns for text in (turn.answer, turn.trace))


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
            text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            prompt = self._ids(str(text))
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


def fact_examples(rows: Sequence[FactRow], encoder: Encoder, refusal_share: float, rng: random.Random) -> list[Example]:
    """One epoch of the pretraining text."""
    examples = []
    for row in rows:
        for _ in range(row.mentions):
            if rng.random() < 2 / 3:
                examples.append(encoder.sentence(rng.choice(row.statements)))
                continue
            answer = REFUSAL if rng.random() < refusal_share else row.answer
            turn = Turn(question=rng.choice(row.questions), answer=answer, trace=rng.choice(row.trace))
            examples.append(encoder.chat(None, [turn]))
    return examples


def batches(examples: Sequence[Example], size: int, rng: random.Random) -> list[list[Example]]:
    """Batches of like length, so that little is padded, in random order."""
    order = sorted(examples, key=lambda example: (len(example.ids), rng.random()))
    found = [order[start : start + size] for start in range(0, len(order), size)]
    rng.shuffle(found)
    return found
