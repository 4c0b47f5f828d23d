"""MuSiQue: questions of two to four hops (arXiv 2108.00573). Only answerable rows; its contexts are not used.

The id starts with the reasoning graph ("2hop__", "3hop1__"), which becomes the question's kind.
"""

from __future__ import annotations

from tasks.core.records import Question
from tasks.curation.candidates import Candidate, Dropped, Row, text_of, texts_of, why_unusable
from tasks.curation.leak import group_of

NAME = "musique"


def read_row(row: Row) -> Candidate | Dropped:
    """One row; ``answer`` is the reference, ``answer_aliases`` are accepted too."""
    if row.get("answerable") is not True:
        return Dropped("unanswerable")
    question = text_of(row.get("question"))
    references = texts_of(row.get("answer"))
    unusable = why_unusable(question, references)
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
            answers=tuple(dict.fromkeys((*references, *texts_of(row.get("answer_aliases"))))),
            kind=key.split("__")[0] if "__" in key else "multi-hop",
            group=group_of(row, question),
            popularity=text_of(row.get("popularity")) or None,
        )
    )
