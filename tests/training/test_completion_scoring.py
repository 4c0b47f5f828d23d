from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from trl import GRPOTrainer
from trl.trainer.utils import add_fused_lm_head

from tasks.training.completion_scoring import CpuGRPOTrainer


def test_same_log_probabilities_and_gradients_as_trl(tiny_model: Any) -> None:
    """Left-padded prompts and right-padded completions of different lengths, at temperature 0.7."""
    model = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 300, (6, 14), generator=generator)
    mask = torch.ones_like(ids)
    mask[0, :4] = mask[1, -2:] = mask[2, -1:] = 0
    stand_in: Any = SimpleNamespace(temperature=0.7)
    stand_in.accelerator = SimpleNamespace(autocast=lambda: torch.autocast("cpu", enabled=False), is_main_process=True)
    stand_in._score = CpuGRPOTrainer._score.__get__(stand_in)
    gradients = []
    results = []
    for trainer in (GRPOTrainer, CpuGRPOTrainer):
        logps, entropies, _ = trainer._get_per_token_logps_and_entropies(
            stand_in, model, ids, mask, 5, batch_size=4, compute_entropy=True
        )
        model.zero_grad()
        (logps * torch.linspace(-1, 1, 30).view(6, 5)).sum().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
        assert entropies is not None
        results.append((logps.detach(), entropies.detach()))
    assert results[0][0].shape == (6, 5)
    torch.testing.assert_close(results[0][0], results[1][0])
    torch.testing.assert_close(results[0][1], results[1][1])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-5)
    assert results[1][0][1, -2:].tolist() == [0.0, 0.0]
