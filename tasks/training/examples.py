"""Training examples from prompts: the target of SFT on ground truths and of R-Tuning.

TruthRL section 4.1 (baselines): SFT learns the ground truth; R-Tuning learns it too, and "I don't know" where
probing found a question out of knowledge (OOK).

The paper does not print its SFT targets. Its prompt (App. E) asks for reasoning inside think tags and the final
answer in \\boxed{}; a data set holds no reasoning, so the target is an empty trace and the answer: the format
that the prompt asks for, that the answer's extraction reads and that RL starts from, learned from answers alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from configs.settings import PromptSetting
from tasks.core.records import FALSE_PREMISE, REFUSAL, KnowledgeLabel, Question, Record
from tasks.training.configs import Targets
from tasks.verify.asking import Asked


class Example(Record):
    """A prompt and the completion to learn."""

    question_id: str
    setting: PromptSetting
    prompt: tuple[dict[str, str], ...]
    """Chat messages."""
    completion: str


def target_text(answer: str) -> str:
    """Completion that gives an answer: an empty trace, then the answer boxed."""
    return f"<think></think>\\boxed{{{answer}}}"


def gold_answer(question: Question) -> str:
    """What the right answer says: the reference, or "invalid question" where the premise is false."""
    return FALSE_PREMISE if question.false_premise else question.answers[0]


def sft_examples(
    asked: Sequence[Asked], targets: Targets, labels: Iterable[KnowledgeLabel] = ()
) -> tuple[list[Example], dict[str, int]]:
    """Examples in the order of the prompts, and how many prompts were dropped, by reason.

    Dropped are a question without an answer ("no_answer") and, for R-Tuning, one that probing could not label
    ("no_label").
    """
    refused = {(label.question_id, label.setting): label.out_of_knowledge for label in labels}
    examples: list[Example] = []
    dropped: Counter[str] = Counter()
    for prompt in asked:
        if targets == "refuse_ook" and prompt.key not in refused:
            dropped["no_label"] += 1
        elif not prompt.question.answers and not prompt.question.false_premise:
            dropped["no_answer"] += 1
        else:
            refuse = targets == "refuse_ook" and refused[prompt.key]
            examples.append(_example(prompt, REFUSAL if refuse else gold_answer(prompt.question)))
    return examples, dict(dropped)


def _example(prompt: Asked, answer: str) -> Example:
    return Example(
        question_id=prompt.question.id,
        setting=prompt.setting,
        prompt=tuple(prompt.messages),
        completion=target_text(answer),
    )
