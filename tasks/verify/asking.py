"""Questions as prompts: which question is asked in which setting, with which references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from configs.settings import PromptSetting
from tasks.core.records import Question, References
from tasks.verify.prompts import Message, build_messages


@dataclass(frozen=True)
class Asked:
    """A question as the policy sees it."""

    question: Question
    setting: PromptSetting
    messages: list[Message]

    @property
    def key(self) -> tuple[str, PromptSetting]:
        """Identity of the prompt among all prompts of a run."""
        return self.question.id, self.setting


def ask_every_setting(
    questions: Sequence[Question],
    references: Mapping[str, References],
    templates: Mapping[PromptSetting, str],
) -> list[Asked]:
    """Each question once a setting (evaluation)."""
    return [_ask(question, setting, references, templates) for setting in templates for question in questions]


def ask_in_turn(
    questions: Sequence[Question],
    references: Mapping[str, References],
    templates: Mapping[PromptSetting, str],
) -> list[Asked]:
    """Each question once, the settings taking turns over the questions in order of id (training, probing).

    The paper trains on CRAG and evaluates with and without retrieval, without saying how the two are mixed
    in training: OPEN; taking turns gives both the same share at the price of one.
    """
    settings = list(templates)
    ordered = sorted(questions, key=lambda question: question.id)
    return [
        _ask(question, settings[index % len(settings)], references, templates) for index, question in enumerate(ordered)
    ]


def _ask(
    question: Question,
    setting: PromptSetting,
    references: Mapping[str, References],
    templates: Mapping[PromptSetting, str],
) -> Asked:
    found = references.get(question.id)
    shown = found.texts if setting == "retrieval" and found is not None else ()
    return Asked(question, setting, build_messages(templates[setting], question.question, question.query_time, shown))
