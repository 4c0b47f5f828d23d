"""What GRPO reads. Apart from :mod:`tasks.training.configs`: it holds a judge, which supervised stages must not
depend on."""

from __future__ import annotations

from configs.settings import GenerationSettings, PolicySettings, PromptSetting, RewardSettings, Section, TrainSettings
from tasks.verify.instrument import Instrument


class GrpoConfig(Section):
    """What GRPO reads."""

    method: str
    """Name of the method in the results table."""
    reward: RewardSettings
    train: TrainSettings
    policy: PolicySettings
    templates: dict[PromptSetting, str]
    """Texts of the answer prompt."""
    instrument: Instrument
    generation: GenerationSettings
    """Its vLLM section serves the rollouts too, where train.grpo.vllm says so."""
    seed: int
