"""The policy's tokenizer as an artefact of its own, so that evidence is chunked while the base model trains."""

from __future__ import annotations

from transformers import AutoTokenizer

from tasks.core.artifacts import StageResult
from tasks.core.stage import Job
from tasks.training.configs import TokenizerConfig
from tasks.training.hub import resolve
from tasks.training.pretrain_text import read_lessons, tokenizer_texts, train_tokenizer


def run(job: Job) -> StageResult:
    """Inputs: world, if the tokenizer is trained. Writes tokenizer.json and its configuration.

    Raises:
        ModelUnavailable: the hub id or folder cannot be had.
    """
    config = job.settings(TokenizerConfig)
    progress = job.progress()
    progress.start(1, "tokenizers")
    if config.vocabulary is None:
        source = resolve(config.model, config.revision)
        tokenizer = AutoTokenizer.from_pretrained(source.name, revision=source.revision)
    else:
        facts, chats = read_lessons(job.input("world"))
        tokenizer = train_tokenizer(tokenizer_texts(facts, chats), config.vocabulary)
    tokenizer.save_pretrained(job.data)
    progress.advance()
    return StageResult(rows=len(tokenizer))
