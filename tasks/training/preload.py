"""What the fork server of stage processes imports once, so that each stage starts in milliseconds.

Importing these takes many seconds. Nothing here starts a Python thread or touches a GPU: a process that has
done either must not be forked. Choices that depend on the job (threads, offline mode) are made in the child.
"""

from __future__ import annotations

import gc

import datasets
import peft
import torch
import transformers
import trl
from peft import LoraConfig, PeftModel
from torch.utils.tensorboard import SummaryWriter
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

# The lazy modules of transformers and trl load a class when it is named: naming it here is the point.
__all__ = [
    "AutoModelForCausalLM",
    "AutoTokenizer",
    "GRPOConfig",
    "GRPOTrainer",
    "LoraConfig",
    "PeftModel",
    "PreTrainedTokenizerFast",
    "Qwen3ForCausalLM",
    "SFTConfig",
    "SFTTrainer",
    "SummaryWriter",
    "datasets",
    "peft",
    "torch",
    "transformers",
    "trl",
]

# What is imported stays: the collector need not look at it again, nor unshare its memory after a fork.
gc.collect()
gc.freeze()
