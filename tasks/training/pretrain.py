"""Base model of the closed world: pretraining and instruction tuning from scratch, in under a minute.

Not a method of the paper: it makes the small policy that the sandbox studies, with a knowledge boundary that is
real (facts are learned from text in which some stand often, some rarely, some never) and with the behaviour of an
instruct model: it answers in the prompt's format, uses references, refuses now and then.

Three phases over rows that the world wrote:

1. `first`: dialogues about one short made-up text, so that copying from references is there before facts are;
2. pretraining on `fact` rows (each epoch draws every fact `mentions` times, two thirds as sentences and one third as
   a chat answer) mixed with `reading` rows (longer made-up references, loss on the answers only, so that nothing
   false is memorised);
3. instruction tuning on `instruct` rows.

What it rests on, as measured: chat format and a few refusals must be in the pretraining already; knowledge must be
sharp, or reinforcement learning refuses everything; copying is learned within a few hundred steps only with wide
initial weights, an attention output that starts as a copier, and before memorising starts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from configs.settings import PretrainSettings
from tasks.training.pretrain_text import (
    ChatRow,
    Encoder,
    Example,
    FactRow,
    PromptBuilder,
    batches,
    fact_examples,
    tokenizer_texts,
    train_tokenizer,
)

LAST_STEPS = 100
Progress = Callable[[int, int, float], None]
"""Called with (step, total steps, loss)."""


def train_base(
    facts: Sequence[FactRow],
    chats: Sequence[ChatRow],
    settings: PretrainSettings,
    prompt: PromptBuilder,
    seed: int,
    out: Path,
    on_progress: Progress,
    tokenizer: PreTrainedTokenizerFast | None = None,
) -> dict[str, float]:
    """Train the base model and save it with its tokenizer as an ordinary Hugging Face folder.

    Args:
        facts: the pretraining text.
        chats: `first`, `reading` and `instruct` dialogues.
        prompt: builds the answer prompt's messages, as evaluation will.
        seed: of weights, order and paraphrases.
        out: folder, made if it does not exist.
        on_progress: called after every optimiser step of all phases.
        tokenizer: from :func:`train_tokenizer` (it does not depend on the seed); None trains one here.

    Returns:
        parameters, optimiser steps, and each phase's mean loss over its last LAST_STEPS steps.

    Raises:
        ValueError: no facts, or no dialogues of a kind.
    """
    missing = [kind for kind in ("first", "reading", "instruct") if all(row.kind != kind for row in chats)]
    if missing or not facts:
        raise ValueError(f"nothing to pretrain on: {len(facts)} facts, no rows of kind {missing}; rebuild the world")
    torch.manual_seed(seed)
    rng = random.Random(f"{seed}/pretrain")
    tokenizer = tokenizer or train_tokenizer(tokenizer_texts(facts, chats), settings.vocabulary)
    model = build_model(tokenizer, settings)
    phases = _phases(facts, chats, settings, Encoder(tokenizer, prompt), rng)
    total = sum(phase.steps for phase in phases)
    counts: dict[str, float] = {"parameters": model.num_parameters(), "steps": total}
    done = 0
    for phase in phases:
        losses = []
        for loss in train(model, phase):
            losses.append(loss)
            done += 1
            on_progress(done, total, loss)
        counts[f"{phase.name}_loss"] = sum(losses[-LAST_STEPS:]) / len(losses[-LAST_STEPS:])
    model.eval()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return counts


@dataclass(frozen=True)
class Phase:
    """One stretch of training with its own learning-rate schedule."""

    name: str
    epochs: int
    steps: int
    """Optimiser steps of all its epochs."""
    rate: float
    draw: Callable[[int], list[list[Example]]]
    """Batches of an epoch, by its index."""


def _phases(
    facts: Sequence[FactRow], chats: Sequence[ChatRow], settings: PretrainSettings, encoder: Encoder, rng: random.Random
) -> list[Phase]:
    dialogues = {
        kind: [encoder.chat(row.references, row.turns) for row in chats if row.kind == kind]
        for kind in ("first", "reading", "instruct")
    }
    size, epochs = settings.batch, settings.epochs
    share = math.ceil(len(dialogues["reading"]) / epochs)
    shares = [dialogues["reading"][epoch * share : (epoch + 1) * share] for epoch in range(epochs)]
    mentions = sum(row.mentions for row in facts)

    def draw_text(epoch: int) -> list[list[Example]]:
        text = batches(fact_examples(facts, encoder, settings.refusal_share, rng), size, rng)
        read = batches(shares[epoch], size, rng)
        return rng.sample(text + read, len(text) + len(read))

    def draw_first(_epoch: int) -> list[list[Example]]:
        return batches(dialogues["first"], size, rng)

    def draw_instruct(_epoch: int) -> list[list[Example]]:
        return batches(dialogues["instruct"], size, rng)

    first = math.ceil(len(dialogues["first"]) / size)
    text = epochs * math.ceil(mentions / size) + sum(math.ceil(len(rows) / size) for rows in shares)
    tuned = settings.instruct_epochs * math.ceil(len(dialogues["instruct"]) / size)
    return [
        Phase("first", 1, first, settings.first_learning_rate, draw_first),
        Phase("text", epochs, text, settings.learning_rate, draw_text),
        Phase("instruct", settings.instruct_epochs, tuned, settings.instruct_learning_rate, draw_instruct),
    ]


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


def train(model: Qwen3ForCausalLM, phase: Phase) -> Iterator[float]:
    """AdamW over a phase; yields the loss of each step.

    Raises:
        FloatingPointError: the loss is no longer a number.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=phase.rate, weight_decay=0.01, betas=(0.9, 0.98), fused=True)
    model.train()
    step = 0
    for epoch in range(phase.epochs):
        for batch in phase.draw(epoch):
            for group in optimizer.param_groups:
                group["lr"] = phase.rate * schedule(step, phase.steps)
            loss = batch_loss(model, batch)
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            value = loss.item()
            if not math.isfinite(value):
                raise FloatingPointError(f"loss is {value} in phase {phase.name}: lower policy.pretrain.learning_rate")
            yield value


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
