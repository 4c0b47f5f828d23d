"""Typed rows that stages exchange, and the vocabulary of verdicts."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from configs.settings import PromptSetting

REFUSAL = "I don't know"
"""The abstention that prompts ask for and SFT targets use (TruthRL App. E)."""
FALSE_PREMISE = "invalid question"
"""The answer to a question whose premise is false (TruthRL App. E)."""


class Outcome(StrEnum):
    """What a response was. UNSCORED means that the instrument failed; it is never a score."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    ABSTAINED = "abstained"
    UNSCORED = "unscored"


class Record(BaseModel):
    """Base of all rows: immutable, unknown columns refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(Record):
    """A question with its references, from any source set."""

    id: str
    dataset: str
    """Name in data/sources.toml."""
    split: Literal["train", "test"]
    question: str
    answers: tuple[str, ...]
    """Accepted answers, the reference first."""
    false_premise: bool = False
    """The premise is false; the right answer is "invalid question"."""
    query_time: str | None = None
    """When it was asked, "mm/dd/yyyy, hh:mm:ss PT" (CRAG)."""
    kind: str = "simple"
    """Question type as the set names it (simple, comparison, multi-hop, ...)."""
    dynamism: str | None = None
    """static, slow-changing, fast-changing or real-time (CRAG)."""
    domain: str | None = None
    group: str
    """Leak key: rows that share it never stand on both sides of a split."""
    popularity: str | None = None
    """head, mid, rare or never, where the set tells (the closed world does)."""


class StoredPage(Record):
    """A page that came with a question."""

    question_id: str
    rank: int
    """Position in the search result, 0 first."""
    url: str
    name: str
    snippet: str
    html: str
    last_modified: str | None = None


class References(Record):
    """What the policy is shown in the retrieval setting, best first."""

    question_id: str
    texts: tuple[str, ...]


class Response(Record):
    """One completion of the policy."""

    question_id: str
    setting: PromptSetting
    sample: int
    """Index among the samples of this question and setting."""
    text: str
    finished: bool
    """The model ended by itself (not cut at the token limit)."""
    tokens: int


class Verdict(Record):
    """What one response was found to be, and how that was decided."""

    outcome: Outcome
    answer: str | None
    """Extracted final answer; None where there was none."""
    via: Literal["refusal", "exact", "premise", "no_answer", "judge"]
    """The rule that decided, or "judge"."""
    detail: str = ""
    """The judge's explanation, or why the instrument failed."""


class GradedResponse(Record):
    """A response with its verdict, as kept by probing and evaluation."""

    response: Response
    verdict: Verdict


class KnowledgeLabel(Record):
    """What probing found out about one question in one prompt setting (TruthRL section 3.1)."""

    question_id: str
    setting: PromptSetting
    out_of_knowledge: bool
    """None of the samples was right (false premise: none said "invalid question")."""
    drawn: int
    """Samples drawn; fewer than asked for where the label was certain before."""
    correct: int
    abstained: int
    incorrect: int
    unscored: int
