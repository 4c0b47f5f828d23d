"""NQ-open: search-engine questions with short answers (arXiv 1906.00300). Rows have no id: the text is hashed."""

from __future__ import annotations

from tasks.core.hashing import digest
from tasks.core.records import Question
from tasks.curation.candidates import Candidate, Dropped, Row, text_of, texts_of, why_unusable
from tasks.curation.leak import group_of, normalise

NAME = "nq_open"
ID_DIGITS = 16


def read_row(row: Row) -> Candidate | Dropped:
    """One row; every string in ``answer`` is accepted, the first is the reference."""
    question = text_of(row.get("question"))
    answers = texts_of(row.get("answer"))
    unusable = why_unusable(question, answers)
    if unusable is not None:
        return unusable
    return Candidate(
        Question(
            id=f"{NAME}:{digest(normalise(question))[:ID_DIGITS]}",
            dataset=NAME,
            split="test",
            question=question,
            answers=answers,
            group=group_of(row, question),
            popularity=text_of(row.get("popularity")) or None,
        )
    )
