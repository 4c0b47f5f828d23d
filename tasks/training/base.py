"""The base model: a pointer to a hub model at a pinned commit, or the closed world's own, trained from scratch.

TruthRL section 4.1 trains Llama-3.1-8B-Instruct and Qwen2.5-7B-Instruct.
"""

from __future__ import annotations

from pathlib import Path

from configs.settings import PolicySettings, PromptSetting, Section
from tasks.core.artifacts import StageResult
from tasks.core.hashing import folder_digest
from tasks.core.models import write_hub_pointer
from tasks.core.rows import write_json
from tasks.core.stage import Job
from tasks.training.hub import resolve


class BaseConfig(Section):
    """What the base stage reads."""

    policy: PolicySettings
    seed: int
    """Seed of weights and data order, where the model is trained from scratch."""
    templates: dict[PromptSetting, str]
    """Texts of the answer prompt."""


def run(job: Job) -> StageResult:
    """Inputs: world, if the policy is pretrained; else none. Writes a model folder or a pointer to one.

    Raises:
        ModelUnavailable: the hub id or folder cannot be had.
    """
    config = job.settings(BaseConfig)
    if config.policy.pretrain is not None:
        return _pretrained(job, config)
    progress = job.progress()
    progress.start(1, "models")
    source = resolve(config.policy.model, config.policy.revision)
    write_hub_pointer(job.data, source)
    if source.revision is None:
        # A folder has no commit; its contents' digest makes what follows depend on them and not on its name.
        write_json(job.data / "weights.json", {"sha256": folder_digest(Path(source.name))})
    progress.advance()
    return StageResult(rows=1)
