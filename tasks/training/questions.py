"""The prompts that a policy is trained on: training questions only, each in one prompt setting."""

from __future__ import annotations

from collections.abc import Mapping

from configs.settings import PromptSetting
from tasks.core.records import Question, References
from tasks.core.rows import read_rows
from tasks.core.stage import Job
from tasks.verify.asking import Asked, ask_in_turn


def asked_for_training(job: Job, templates: Mapping[PromptSetting, str]) -> list[Asked]:
    """Inputs: questions, references. The same prompts that probing asked."""
    questions = read_rows(job.input("questions") / "questions.parquet", Question)
    references = read_rows(job.input("references") / "references.parquet", References)
    train = [question for question in questions if question.split == "train"]
    return ask_in_turn(train, {row.question_id: row for row in references}, templates)
