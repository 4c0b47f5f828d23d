"""Draw completions and grade them, row by row durable.

While one batch is with the judge the next is being generated. A graded response is journaled at once, so
that after kill -9 a rerun draws only what was in flight; responses that the judge failed on are graded again
and never drawn again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from tasks.core.hashing import digest
from tasks.core.progress import Progress
from tasks.core.records import GradedResponse, Outcome, Response
from tasks.core.rows import Journal
from tasks.llm.generation import Completion, Generator, Prompt, Sampling
from tasks.verify.asking import Asked
from tasks.verify.grader import GradeItem, Grader

GRADE_ROWS = 256
"""Responses handed to the judge together."""

RowKey = tuple[str, str, int]
_Ungraded = tuple[Asked, Response]


class _Entry(NamedTuple):
    offset: int
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Draw:
    """Samples wanted of one prompt: indices first .. first + n - 1."""

    asked: Asked
    first: int
    n: int

    def row_keys(self) -> list[RowKey]:
        """Identity of each sample."""
        return [(*self.asked.key, index) for index in range(self.first, self.first + self.n)]


class Sampler:
    """Draws, grades and remembers. Memory holds one index entry a response; the texts stay in the journal."""

    def __init__(
        self,
        generator: Generator,
        grader: Grader,
        sampling: Sampling,
        journal: Journal[GradedResponse],
        progress: Progress,
        seed: int,
    ) -> None:
        self._generator = generator
        self._grader = grader
        self._sampling = sampling
        self._journal = journal
        self._progress = progress
        self._seed = seed
        self._index: dict[RowKey, _Entry] = {}
        self._by_prompt: dict[tuple[str, str], dict[RowKey, _Entry]] = {}
        for offset, row in journal.entries():
            self._remember(row, offset)
        self.resumed = len(self._index)

    def draw(self, draws: Sequence[Draw]) -> None:
        """Have all these samples drawn and graded; those in the journal are not drawn again."""
        self._grade_again(draws)
        missing = [draw for draw in draws if not all(key in self._index for key in draw.row_keys())]
        with ThreadPoolExecutor(1, "grade") as pool:
            grading: Future[None] | None = None
            for batch in _batches(self._completions(missing)):
                if grading is not None:
                    grading.result()
                grading = pool.submit(self._grade, batch)
            if grading is not None:
                grading.result()

    def outcomes(self, asked: Asked) -> list[Outcome]:
        """Outcomes of all samples of a prompt so far, in order of sample."""
        found = {key[2]: entry.outcome for key, entry in self._by_prompt.get(asked.key, {}).items()}
        return [found[sample] for sample in sorted(found)]

    def rows(self) -> Iterator[GradedResponse]:
        """Every graded response, ordered by question, setting and sample whatever order they came in."""
        return self._journal.read(self._index[key].offset for key in sorted(self._index))

    def counts(self) -> dict[str, int]:
        """How many responses had which outcome."""
        found = Counter(entry.outcome for entry in self._index.values())
        return {outcome.value: found[outcome] for outcome in Outcome}

    def unscored(self) -> dict[str, int]:
        """UNSCORED responses by reason."""
        return dict(Counter(entry.reason for entry in self._index.values() if entry.outcome is Outcome.UNSCORED))

    def __len__(self) -> int:
        return len(self._index)

    def _completions(self, draws: Sequence[Draw]) -> Iterator[list[_Ungraded]]:
        prompts = [Prompt(messages=draw.asked.messages, n=draw.n, seed=_seed_of(self._seed, draw)) for draw in draws]
        for index, completions in self._generator.generate(prompts, self._sampling):
            draw = draws[index]
            yield [
                (draw.asked, _response(draw.asked, sample, completion))
                for sample, completion in enumerate(completions, draw.first)
            ]

    def _grade(self, batch: Sequence[_Ungraded]) -> None:
        items = [GradeItem(question=asked.question, text=row.text, finished=row.finished) for asked, row in batch]
        graded = [
            GradedResponse(response=row, verdict=verdict)
            for (_, row), verdict in zip(batch, self._grader.grade(items), strict=True)
        ]
        for row, offset in zip(graded, self._journal.append(graded), strict=True):
            self._remember(row, offset)
        self._progress.advance(len(graded))

    def _grade_again(self, draws: Sequence[Draw]) -> None:
        wanted = {key: draw.asked for draw in draws for key in draw.row_keys()}
        failed = [
            entry.offset for key, entry in self._index.items() if key in wanted and entry.outcome is Outcome.UNSCORED
        ]
        rows = self._journal.read(failed)
        for batch in _batches([(wanted[key_of(row)], row.response)] for row in rows):
            self._grade(batch)

    def _remember(self, row: GradedResponse, offset: int) -> None:
        key = key_of(row)
        entry = _Entry(offset, row.verdict.outcome, row.verdict.detail.split(":")[0])
        self._index[key] = entry
        self._by_prompt.setdefault(key[:2], {})[key] = entry


def key_of(row: GradedResponse) -> RowKey:
    """Identity of a graded response among all of a stage."""
    return row.response.question_id, row.response.setting, row.response.sample


def _response(asked: Asked, sample: int, completion: Completion) -> Response:
    return Response(
        question_id=asked.question.id,
        setting=asked.setting,
        sample=sample,
        text=completion.text,
        finished=completion.finished,
        tokens=completion.tokens,
    )


def _batches(draws: Iterable[list[_Ungraded]]) -> Iterator[list[_Ungraded]]:
    """Whole draws joined to at least GRADE_ROWS rows."""
    batch: list[_Ungraded] = []
    for rows in draws:
        batch += rows
        if len(batch) >= GRADE_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _seed_of(seed: int, draw: Draw) -> int:
    """A seed of its own for every prompt and round, so that samples are never correlated."""
    return int(digest([seed, *draw.asked.key, draw.first])[:15], 16)
