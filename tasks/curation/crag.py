"""CRAG: questions with search results (arXiv 2406.04744; columns as its docs/dataset.md lists them).

Column ``split`` is 0 for the validation part, our train side, and 1 for the public test part, our test side
(TruthRL section 4.1 trains on CRAG and evaluates on it; it does not name the parts: this reading is ours).
A gold answer "invalid question" marks a false premise. ``popularity`` is kept in the set's own words (head,
torso, tail; empty where the answer comes from the web).
"""

from __future__ import annotations

from typing import Any

from tasks.core.records import FALSE_PREMISE, Question, StoredPage
from tasks.curation.candidates import Candidate, Dropped, Row, Side, text_of, texts_of, why_unusable
from tasks.curation.leak import group_of

NAME = "crag"
SIDES: dict[Any, Side] = {0: "train", 1: "test"}


def read_row(row: Row) -> Candidate | Dropped:
    """One line of the task files."""
    question = text_of(row.get("query"))
    answers = tuple(dict.fromkeys((*texts_of(row.get("answer")), *texts_of(row.get("alt_ans")))))
    key = text_of(row.get("interaction_id"))
    unusable = why_unusable(question, texts_of(row.get("answer")))
    if unusable is not None:
        return unusable
    if not key:
        return Dropped("no_id")
    question_id = f"{NAME}:{key}"
    pages = _pages(question_id, row.get("search_results"))
    listed = row.get("search_results")
    return Candidate(
        question=Question(
            id=question_id,
            dataset=NAME,
            split="test",
            question=question,
            answers=answers,
            false_premise=_is_false_premise(answers[0]),
            query_time=text_of(row.get("query_time")) or None,
            kind=text_of(row.get("question_type")) or "simple",
            dynamism=text_of(row.get("static_or_dynamic")) or None,
            domain=text_of(row.get("domain")) or None,
            group=group_of(row, question),
            popularity=text_of(row.get("popularity")) or None,
        ),
        side=_side(row.get("split")),
        pages=pages,
        bad_pages=len(listed) - len(pages) if isinstance(listed, list) else 0,
    )


def _side(value: Any) -> Side | None:
    return SIDES.get(value) if isinstance(value, int) else None


def _is_false_premise(answer: str) -> bool:
    return answer.strip(" .!\"'").casefold() == FALSE_PREMISE


def _pages(question_id: str, listed: Any) -> tuple[StoredPage, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(
        StoredPage(
            question_id=question_id,
            rank=rank,
            url=text_of(entry.get("page_url")),
            name=text_of(entry.get("page_name")),
            snippet=text_of(entry.get("page_snippet")),
            html=text_of(entry.get("page_result")),
            last_modified=text_of(entry.get("page_last_modified")) or None,
        )
        for rank, entry in enumerate(listed)
        if isinstance(entry, dict) and isinstance(entry.get("page_result"), str)
    )
