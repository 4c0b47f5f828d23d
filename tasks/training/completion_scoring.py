"""GRPO on the CPU: score completion tokens only.

Without a GPU, TRL's fused head computes logits for every position of the batch, prompts too, tile by tile and
twice. A tiny model's logits fit in memory, and most positions are prompt: scoring the completions alone gives the
same log-probabilities (a test compares them) for a fraction of the time.
"""

from __future__ import annotations

from typing import Any

import torch
from trl import GRPOTrainer


class CpuGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer with plain logits of the completion."""

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        """Log-probabilities and entropies of the last `logits_to_keep` tokens, 0 on padding, each (B, T)."""
        rows = batch_size or input_ids.size(0)
        scored = [
            self._score(model, ids_BL, mask_BL, logits_to_keep, compute_entropy)
            for ids_BL, mask_BL in zip(torch.split(input_ids, rows), torch.split(attention_mask, rows), strict=True)
        ]
        logps_BT = torch.cat([logps for logps, _ in scored])
        entropies_BT = torch.cat([entropies for _, entropies in scored]) if compute_entropy else None
        return logps_BT, entropies_BT, None

    def _score(
        self, model: Any, ids_BL: torch.Tensor, mask_BL: torch.Tensor, length: int, compute_entropy: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        logits_BTV = model(input_ids=ids_BL, attention_mask=mask_BL, logits_to_keep=length + 1, use_cache=False).logits[
            :, :-1
        ]
        log_probs_BTV = torch.log_softmax(logits_BTV.float() / self.temperature, dim=-1)
        padding_BT = mask_BL[:, -length:] == 0
        logps_BT = log_probs_BTV.gather(-1, ids_BL[:, -length:].unsqueeze(-1)).squeeze(-1).masked_fill(padding_BT, 0)
        if not compute_entropy:
            return logps_BT, logps_BT
        with torch.no_grad():  # logged, never optimised
            entropies_BT = -(log_probs_BTV.exp() * log_probs_BTV).sum(-1).masked_fill(padding_BT, 0)
        return logps_BT, entropies_BT
