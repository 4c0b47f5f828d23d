"""Completions of the policy, behind one interface: vLLM for real runs, transformers for small models and the CPU.

A completion depends on its prompt, the sampling parameters, its prompt's seed and its index among the prompt's
samples, never on what else is generated beside it (up to the rounding of batched arithmetic). Both back ends use
exactly the :class:`Sampling` given here: sampling defaults in a model's generation_config.json are not applied, its
end-of-text tokens are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Protocol

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource


@dataclass(frozen=True)
class Prompt:
    """What to complete, how often, and the seed of its samples."""

    messages: list[dict[str, str]]
    n: int
    seed: int


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. Temperature 0 takes the likeliest token."""

    temperature: float
    top_p: float
    max_new_tokens: int
    """Longest completion, tokens; also cut where prompt and completion fill policy.max_context_tokens."""


@dataclass(frozen=True)
class Completion:
    """One completion."""

    text: str
    """Decoded without special tokens."""
    finished: bool
    """The model ended it (rather than the token limit)."""
    tokens: int
    """Tokens generated, the end-of-text token included."""


class GenerationFailed(RuntimeError):
    """The back end could not generate; the message says what to do."""


class Generator(Protocol):
    """A loaded model."""

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[tuple[int, list[Completion]]]:
        """Yield (index of the prompt, its n completions) as prompts finish, in any order.

        Raises:
            GenerationFailed: a prompt leaves no room for a completion, or the model's server died.
        """
        ...

    def close(self) -> None:
        """Free the model."""
        ...


def open_generator(
    model: ModelSource, policy: PolicySettings, settings: GenerationSettings
) -> AbstractContextManager[Generator]:
    """Load a model with the back end of the settings; closed at the end of the `with` block.

    Raises:
        GenerationFailed: the model has no chat template that opens an assistant turn, or does not load.
    """
    # Imported here: one back end needs torch, the other must not.
    if settings.backend == "vllm":
        from tasks.llm.generation.vllm_backend import VllmGenerator

        return closing(VllmGenerator(model, policy, settings))
    from tasks.llm.generation.transformers_backend import TransformersGenerator

    return closing(TransformersGenerator(model, policy, settings))


def sample_seed(seed: int, sample: int) -> int:
    """Seed of one sample: 63 bits, so that neighbouring prompts and samples share none."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{sample}".encode()).digest()[:8], "big") >> 1
