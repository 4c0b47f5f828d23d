"""From a question's page texts to the references that the policy is shown (TruthRL App. C).

All pages of a question are cut into chunks, the chunks are ranked by BM25 with the question as query, and the
best are shown, best first. Inverse document frequencies come from the question's own chunks, as with rank-bm25, or
from the whole corpus where the pages were found in one: a handful of chunks says little about a term. A chunk that
repeats one already shown (the same page under two addresses) is passed over, and the list ends before the chunk
that would pass the token bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from configs.settings import EvidenceSettings
from tasks.core.records import Question, References
from tasks.evidence.bm25 import Bm25, words
from tasks.evidence.chunk import Chunk, Chunker
from tasks.evidence.store_duckdb import ChunkRow, PageRow


class PageText(NamedTuple):
    """A page of a question with what was made of it."""

    rank: int
    url: str
    name: str
    origin: Literal["stored", "corpus"]
    status: str
    reason: str
    text_key: str
    """Equal for pages with equal text."""
    text: str


class QuestionEvidence(NamedTuple):
    """All that is kept of one question."""

    references: References
    pages: list[PageRow]
    chunks: list[ChunkRow]


def build_references(
    question: Question,
    pages: Sequence[PageText],
    chunks_of: Mapping[str, list[Chunk]],
    chunker: Chunker,
    settings: EvidenceSettings,
    idf: Mapping[str, float] | None = None,
) -> QuestionEvidence:
    """Rank the chunks of a question's pages and choose what is shown.

    Args:
        chunks_of: chunks of each text, by PageText.text_key.
        idf: of the corpus that the pages were found in; None takes the question's chunks.
    """
    placed = [
        (page.rank, position, chunk)
        for page in pages
        for position, chunk in enumerate(chunks_of.get(page.text_key, ()))
    ]
    index = Bm25([words(chunk.text) for _, _, chunk in placed], idf)
    ranked = index.top(words(question.question), len(placed))
    shown = dict(_choose([(at, placed[at][2].text) for at, _ in ranked], chunker, settings))
    scores = dict(ranked)
    place = {at: order for order, at in enumerate(shown)}
    return QuestionEvidence(
        References(question_id=question.id, texts=tuple(shown.values())),
        [_page_row(question, page) for page in pages],
        [
            ChunkRow(
                question_id=question.id,
                page_rank=rank,
                position=position,
                start_char=chunk.start,
                end_char=chunk.end,
                tokens=chunk.tokens,
                score=scores[at],
                reference=place.get(at),
                text=chunk.text,
            )
            for at, (rank, position, chunk) in enumerate(placed)
        ],
    )


def _choose(
    ranked: Sequence[tuple[int, str]], chunker: Chunker, settings: EvidenceSettings
) -> Iterator[tuple[int, str]]:
    """The chunks to show, best first: at most top_k, no repeats, within max_reference_tokens together.

    White space is reduced to single spaces, so that a reference is one line of the prompt. A first chunk longer
    than the bound is cut to it; any later one ends the list.
    """
    seen: set[str] = set()
    left = settings.max_reference_tokens
    for at, text in ranked:
        line = " ".join(text.split())
        if not line or line in seen:
            continue
        tokens = chunker.count([line])[0]
        if tokens > left:
            if not seen and (cut := chunker.head(line, left).strip()):
                yield at, cut
            return
        seen.add(line)
        left -= tokens
        yield at, line
        if len(seen) == settings.top_k:
            return


def _page_row(question: Question, page: PageText) -> PageRow:
    return PageRow(
        question_id=question.id,
        page_rank=page.rank,
        url=page.url,
        name=page.name,
        origin=page.origin,
        status=page.status,
        reason=page.reason,
        characters=len(page.text),
    )
