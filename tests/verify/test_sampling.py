"""Draw and grade: nothing is drawn twice, a failed judge is asked again without a new draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tasks.core.progress import Progress, read_snapshot
from tasks.core.records import GradedResponse, Outcome, Question, Verdict
from tasks.core.rows import Journal
from tasks.llm.generation import Completion, Prompt, Sampling
from tasks.verify import sampling
from tasks.verify.asking import Asked, ask_in_turn
from tasks.verify.grader import GradeItem
from tasks.verify.sampling import Draw, Sampler

GREEDY = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=8)


def asked(number: int) -> list[Asked]:
    questions = [
        Question(id=f"q{index}", dataset="crag", split="train", question="?", answers=("A",), group=f"g{index}")
        for index in range(number)
    ]
    return ask_in_turn(questions, {}, {"closed_book": "{question}"})


class Scripted:
    """A generator that yields its prompts in reverse and remembers what was asked of it."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def generate(self, prompts: Sequence[Prompt], _: Sampling) -> Iterator[tuple[int, list[Completion]]]:
        for index in reversed(range(len(prompts))):
            self.prompts.append(prompts[index])
            yield index, [Completion(text=f"{index}/{n}", finished=True, tokens=2) for n in range(prompts[index].n)]

    def close(self) -> None:
        return None


class Marking:
    """A grader that gives the outcomes it was told, in order of sample, and counts what it graded."""

    def __init__(self, outcome: Outcome = Outcome.CORRECT) -> None:
        self.outcome = outcome
        self.graded: list[str] = []

    def grade(self, items: Sequence[GradeItem]) -> list[Verdict]:
        self.graded += [item.text for item in items]
        return [Verdict(outcome=self.outcome, answer="A", via="judge", detail="timeout: 60 s") for _ in items]


class Setup:
    def __init__(self, folder: Path, grader: Marking | None = None) -> None:
        self.generator = Scripted()
        self.grader = grader or Marking()
        self.journal = Journal(folder / "rows.jsonl", GradedResponse)
        self.progress = Progress(folder / "progress.json", "x")
        self.sampler = Sampler(
            self.generator,
            self.grader,  # type: ignore[arg-type]
            GREEDY,
            self.journal,
            self.progress,
            seed=7,
        )


def test_rows_come_back_in_order_whatever_order_they_were_made_in(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    prompts = asked(3)
    setup.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    rows = list(setup.sampler.rows())
    assert [(row.response.question_id, row.response.sample) for row in rows] == [
        ("q0", 0), ("q0", 1), ("q1", 0), ("q1", 1), ("q2", 0), ("q2", 1),
    ]  # fmt: skip
    assert [row.response.text for row in rows] == ["0/0", "0/1", "1/0", "1/1", "2/0", "2/1"]
    assert setup.sampler.counts() == {"correct": 6, "incorrect": 0, "abstained": 0, "unscored": 0}


def test_every_prompt_and_round_has_a_seed_of_its_own(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    prompts = asked(3)
    setup.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    setup.sampler.draw([Draw(prompt, 2, 2) for prompt in prompts])
    seeds = [prompt.seed for prompt in setup.generator.prompts]
    assert len(set(seeds)) == 6


def test_a_second_start_draws_only_what_is_missing(tmp_path: Path) -> None:
    prompts = asked(3)
    first = Setup(tmp_path)
    first.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts[:2]])
    first.journal.close()
    second = Setup(tmp_path)
    assert second.sampler.resumed == 4
    second.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    assert len(second.generator.prompts) == 1
    assert len(second.grader.graded) == 2
    assert len(second.sampler) == 6


def test_a_torn_journal_loses_at_most_the_draw_in_flight(tmp_path: Path) -> None:
    prompts = asked(2)
    first = Setup(tmp_path)
    first.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    first.journal.close()
    data = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(data[:-10])
    second = Setup(tmp_path)
    assert second.sampler.resumed == 3
    second.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    assert len(second.generator.prompts) == 1
    assert len(list(second.sampler.rows())) == 4


def test_unscored_rows_are_graded_again_and_not_drawn_again(tmp_path: Path) -> None:
    prompts = asked(2)
    outage = Setup(tmp_path, Marking(Outcome.UNSCORED))
    outage.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    assert outage.sampler.unscored() == {"timeout": 4}
    outage.journal.close()
    mended = Setup(tmp_path)
    mended.sampler.draw([Draw(prompt, 0, 2) for prompt in prompts])
    assert mended.generator.prompts == []
    assert len(mended.grader.graded) == 4
    assert mended.sampler.unscored() == {}
    assert mended.sampler.outcomes(prompts[0]) == [Outcome.CORRECT, Outcome.CORRECT]
    assert len(list(mended.sampler.rows())) == 4


def test_batches_hold_whole_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "GRADE_ROWS", 3)
    setup = Setup(tmp_path)
    setup.sampler.draw([Draw(prompt, 0, 2) for prompt in asked(5)])
    assert len(list(setup.sampler.rows())) == 10


def test_progress_counts_graded_rows(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.progress.start(6, "samples")
    setup.sampler.draw([Draw(prompt, 0, 2) for prompt in asked(3)])
    snapshot = read_snapshot(tmp_path / "progress.json")
    assert snapshot is not None
    assert snapshot.done == 6
