"""Rewards: what the verdicts on a policy's responses are worth in training."""

from __future__ import annotations

from tasks.rewards.registry import build_reward
from tasks.rewards.scored import Reward, Scored, batch_summary

__all__ = ["Reward", "Scored", "batch_summary", "build_reward"]
