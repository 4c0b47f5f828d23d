"""Knowledge-boundary probing: which training questions the base model cannot answer (TruthRL section 3.1).

Each training prompt is sampled N times (256 in the paper); it is out of knowledge (OOK) if no sample is right.
One right sample settles the label, so sampling goes in rounds that double and stops for a question at its
first right sample; ``exact`` draws all. A question without a right sample but with UNSCORED ones has no
label: it is dropped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from configs.settings import GenerationSettings, PolicySettings, ProbeSettings, PromptSetting, Section
from tasks.core.artifacts import StageResult
from tasks.core.models import model_source
from tasks.core.records import GradedResponse, KnowledgeLabel, Outcome, Question, References
from tasks.core.rows import Journal, read_rows, write_rows
from tasks.core.stage import Job
from tasks.llm.generation import Sampling, open_generator
from tasks.verify.asking import Asked, ask_in_turn
from tasks.verify.grader import check_unscored
from tasks.verify.instrument import Instrument, open_grader
from tasks.verify.sampling import Draw, Sampler


class ProbeConfig(Section):
    """What probing reads."""

    probe: ProbeSettings
    generation: GenerationSettings
    policy: PolicySettings
    templates: dict[PromptSetting, str]
    """Texts of the answer prompt."""
    instrument: Instrument
    seed: int


def run(job: Job) -> StageResult:
    """Inputs: model, questions, references. Writes labels.parquet and responses.parquet."""
    config = job.settings(ProbeConfig)
    progress = job.progress()
    asked = ask_in_turn(*training_inputs(job), config.templates)
    wanted = config.probe.samples * len(asked)
    sampling = Sampling(config.probe.temperature, config.probe.top_p, config.probe.max_new_tokens)
    with (
        Journal(job.work / "responses.jsonl", GradedResponse) as journal,
        open_grader(config.instrument, job) as (grader, client),
        open_generator(model_source(job.input("model")), config.policy, config.generation) as generator,
    ):
        sampler = Sampler(generator, grader, sampling, journal, progress, config.seed)
        progress.start(wanted, "samples", resumed=sampler.resumed)
        _draw_until_certain(sampler, asked, config.probe)
        check_unscored((row.verdict for row in sampler.rows()), job.run.unscored_limit)
        write_rows(job.data / "responses.parquet", sampler.rows())
        cost = client.cost()
    labels = [label_of(prompt.key, sampler.outcomes(prompt)) for prompt in asked]
    known = [label for label in labels if label is not None]
    return StageResult(
        rows=write_rows(job.data / "labels.parquet", known),
        counts={
            "prompts": len(asked),
            "samples_drawn": len(sampler),
            "samples_saved": wanted - len(sampler),
            "samples_resumed": sampler.resumed,
            "out_of_knowledge": sum(label.out_of_knowledge for label in known),
            **sampler.counts(),
        },
        dropped={"unscored": len(labels) - len(known)} if len(labels) > len(known) else {},
        unscored=sampler.unscored(),
        cost=cost,
    )


def training_inputs(job: Job) -> tuple[list[Question], dict[str, References]]:
    """Training questions and the references of all questions."""
    questions = read_rows(job.input("questions") / "questions.parquet", Question)
    references = read_rows(job.input("references") / "references.parquet", References)
    return [row for row in questions if row.split == "train"], {row.question_id: row for row in references}


def rounds(first_round: int, samples: int) -> list[tuple[int, int]]:
    """(first sample, how many) of each round: sizes double, the sum is `samples`."""
    result: list[tuple[int, int]] = []
    drawn = 0
    while drawn < samples:
        size = min(max(first_round, drawn), samples - drawn)
        result.append((drawn, size))
        drawn += size
    return result


def _draw_until_certain(sampler: Sampler, asked: Sequence[Asked], probe: ProbeSettings) -> None:
    open_prompts = list(asked)
    for first, n in [(0, probe.samples)] if probe.exact else rounds(probe.first_round, probe.samples):
        sampler.draw([Draw(prompt, first, n) for prompt in open_prompts])
        open_prompts = [prompt for prompt in open_prompts if Outcome.CORRECT not in sampler.outcomes(prompt)]


def label_of(key: tuple[str, PromptSetting], outcomes: Sequence[Outcome]) -> KnowledgeLabel | None:
    """The label that these samples give, or None where a failed judge leaves it open."""
    counts = {outcome.value: list(outcomes).count(outcome) for outcome in Outcome}
    if counts["correct"] == 0 and counts["unscored"] > 0:
        return None
    return KnowledgeLabel(
        question_id=key[0], setting=key[1], out_of_knowledge=counts["correct"] == 0, drawn=len(outcomes), **counts
    )
