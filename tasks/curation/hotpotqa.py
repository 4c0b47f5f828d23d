"""HotpotQA: two-hop questions, one answer each, no aliases (arXiv 1809.09600). Its own contexts are not used."""

from __future__ import annotations

from tasks.core.records import Question
from tasks.curation.candidates import Candidate, Dropped, Row, text_of, texts_of, why_unusable
from tasks.curation.leak import group_of

NAME = "hotpotqa"


def read_row(row: Row) -> Candidate | Dropped:
    """One row; ``type`` (bridge or comparison) is the question's kind."""
    question = text_of(row.get("question"))
    answers = texts_of(row.get("answer"))
    unusable = why_unusable(question, answers)
    if unusable is not None:
        return unusable
    key = text_of(row.get("id"))
    if not key:
        return Dropped("no_id")
    return Candidate(
        Question(
            id=f"{NAME}:{key}",
            dataset=NAME,
            split="test",
            question=question,
            answers=answers,
            kind=text_of(row.get("type")) or "bridge",
            group=group_of(row, question),
            popularity=text_of(row.get("popularity")) or None,
        )
    )
