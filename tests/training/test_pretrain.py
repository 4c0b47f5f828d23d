from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from transformers import AutoModelForCausalLM, AutoTokenizer

from configs.settings import PretrainSettings
from tasks.training.pretrain import batch_loss, build_model, schedule, train_base
from tasks.training.pretrain_text import (
    ChatRow,
    Encoder,
    Example,
    FactRow,
    Turn,
    batches,
    fact_examples,
    read_rows,
    tokenizer_texts,
    train_tokenizer,
)

TINY = PretrainSettings(
    layers=1, width=32, heads=1, feed_forward=32, vocabulary=400, epochs=2, instruct_epochs=3, batch=4
)
FACTS = [
    FactRow(
        kind="fact",
        statements=("Mo Li lives in Paris.", "Paris is where Mo Li lives."),
        questions=("Where does Mo Li live?",),
        answer="Paris",
        mentions=6,
        trace=("from memory",),
    )
]
TURNS = (
    Turn(question="Where does Mo Li live?", answer="Rome", trace="let me read"),
    Turn(question="What is the job of Mo Li?", answer="I don't know", trace="let me read"),
)
CHATS = [ChatRow(kind=kind, references=("Mo Li lives in Rome.",), turns=TURNS) for kind in ("first", "reading")]
CHATS.append(ChatRow(kind="instruct", references=None, turns=TURNS[:1]))
TOKENIZER = train_tokenizer(tokenizer_texts(FACTS, CHATS), TINY.vocabulary)


def prompt(question: str, references: Sequence[str] | None) -> list[dict[str, str]]:
    return [{"role": "user", "content": "\n".join([*(references or ()), question])}]


def test_a_word_is_one_token_wherever_it_stands() -> None:
    def ids(text: str) -> list[int]:
        return list(TOKENIZER(text, add_special_tokens=False)["input_ids"])

    (paris,) = ids(" Paris")
    assert ids("Mo Li lives in Paris")[-1] == paris
    assert ids("\\boxed{Paris}")[1:-1] == [paris]
    assert ids(TOKENIZER.decode(ids("<think>from memory</think>\\boxed{Paris}"))) == ids(
        "<think>from memory</think>\\boxed{Paris}"
    )


def test_format_tokens_survive_decoding_and_chat_tokens_do_not() -> None:
    text = TOKENIZER.decode(Encoder(TOKENIZER, prompt).chat(None, TURNS[:1]).ids, skip_special_tokens=True)
    assert text.endswith("<think> let me read</think>\\boxed{ Rome}")
    assert "<|" not in text


def test_only_completions_are_learned_and_only_the_first_turn_shows_references() -> None:
    example = Encoder(TOKENIZER, prompt).chat(("Mo Li lives in Rome.",), TURNS)
    learned = [token for token, marked in zip(example.ids, example.learned, strict=True) if marked]
    assert TOKENIZER.decode(learned) == (
        "<think> let me read</think>\\boxed{ Rome}<|end|><think> let me read</think>\\boxed{ I don't know}<|end|>"
    )
    assert TOKENIZER.decode(example.ids).count("lives in Rome.") == 1


def test_chat_template_marks_what_the_assistant_says() -> None:
    messages = [*prompt("Where?", None), {"role": "assistant", "content": "Rome"}]
    marked = TOKENIZER.apply_chat_template(messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
    said = [token for token, mask in zip(marked["input_ids"], marked["assistant_masks"], strict=True) if mask]
    assert TOKENIZER.decode(said) == " Rome<|end|>"


def test_an_epoch_draws_each_fact_as_often_as_it_is_mentioned() -> None:
    assert len(fact_examples(FACTS, Encoder(TOKENIZER, prompt), 0.0, random.Random(0))) == 6


def test_batches_hold_like_lengths_and_lose_nothing() -> None:
    examples = [Example([0] * length, [True] * length) for length in (5, 1, 4, 2, 3)]
    found = batches(examples, 2, random.Random(0))
    assert sorted(sorted(len(example.ids) for example in batch) for batch in found) == [[1, 2], [3, 4], [5]]


def test_schedule_warms_up_and_decays_to_a_twentieth() -> None:
    assert schedule(0, 200) == pytest.approx(1 / 6, rel=1e-3)
    assert schedule(100, 200) == pytest.approx(0.05 + 0.95 * 0.5)
    assert schedule(200, 200) == pytest.approx(0.05)


def test_loss_is_the_mean_over_learned_tokens_whatever_is_padded() -> None:
    torch.manual_seed(0)
    model = build_model(TOKENIZER, TINY)
    one = Example([5, 6, 7, 8], [False, False, True, True])
    two = Example([9, 10], [False, True])
    with torch.no_grad():
        both = batch_loss(model, [one, two]).item()
        alone = batch_loss(model, [one]).item(), batch_loss(model, [two]).item()
    assert both == pytest.approx((2 * alone[0] + alone[1]) / 3, rel=1e-5)


def test_saved_folder_loads_as_an_ordinary_model_and_repeats_by_seed(tmp_path: Path) -> None:
    steps: list[tuple[int, int, float]] = []
    counts = train_base(FACTS, CHATS, TINY, prompt, 0, tmp_path / "a", lambda *step: steps.append(step))
    again = train_base(FACTS, CHATS, TINY, prompt, 0, tmp_path / "b", lambda *_step: None)
    assert counts == again
    # first 1; text: two epochs of ceil(6 / 4) batches and one reading dialogue in the first; instruct 3 epochs of 1
    assert [step for step, _, _ in steps] == list(range(1, int(counts["steps"]) + 1))
    assert counts["steps"] == 1 + 2 * 2 + 1 + 3
    assert all(math.isfinite(loss) for _, _, loss in steps)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "a")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "a")
    assert model.config.head_dim == 32
    assert tokenizer("Where does Mo Li live?")["input_ids"] == TOKENIZER("Where does Mo Li live?")["input_ids"]
    assert tokenizer.eos_token == "<|end|>"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match="'reading'"):
        train_base(FACTS, CHATS[:1], TINY, prompt, 0, Path("unused"), lambda *_step: None)
    with pytest.raises(ValidationError, match="mentions"):
        read_rows([json.dumps({"kind": "fact", "statements": [], "questions": [], "answer": "x", "trace": []})])
