"""What the training stages read, apart from the bodies, so that planning a run imports no model library."""

from __future__ import annotations

from typing import Literal

from configs.settings import PolicySettings, PromptSetting, Section, TrainSettings

Targets = Literal["gold", "refuse_ook"]


class TokenizerConfig(Section):
    """What the tokenizer stage reads."""

    model: str
    revision: str | None
    vocabulary: int | None
    """Size to train on the world's text; None takes the model's own."""

    @classmethod
    def of(cls, policy: PolicySettings) -> TokenizerConfig:
        """The slice of a policy's settings."""
        vocabulary = policy.pretrain.vocabulary if policy.pretrain else None
        return cls(model=policy.model, revision=policy.revision, vocabulary=vocabulary)


class BaseConfig(Section):
    """What the base stage reads."""

    policy: PolicySettings
    seed: int
    """Seed of weights and data order, where the model is trained from scratch."""
    templates: dict[PromptSetting, str]
    """Texts of the answer prompt."""


class SftConfig(Section):
    """What supervised fine-tuning reads."""

    method: str
    """Name of the method in the results table."""
    targets: Targets
    train: TrainSettings
    policy: PolicySettings
    templates: dict[PromptSetting, str]
    """Texts of the answer prompt."""
    seed: int
