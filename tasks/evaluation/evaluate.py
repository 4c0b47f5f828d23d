"""Evaluation of one model: greedy answers to every test question in every prompt setting, graded.

TruthRL section 4.1 and App. C (greedy decoding). Per-row verdicts are kept; what they add up to is computed
when the report is made, so that a new statistic never re-samples or re-grades.
"""

from __future__ import annotations

from configs.settings import GenerationSettings, PolicySettings, PromptSetting, Section
from tasks.core.artifacts import StageResult
from tasks.core.models import model_source
from tasks.core.records import GradedResponse, Question, References
from tasks.core.rows import Journal, read_rows, write_json, write_rows
from tasks.core.stage import Job
from tasks.llm.generation import Sampling, open_generator
from tasks.verify.asking import ask_every_setting
from tasks.verify.grader import check_unscored
from tasks.verify.instrument import Instrument, open_grader
from tasks.verify.sampling import Draw, Sampler


class EvaluateConfig(Section):
    """What an evaluation reads. Weights and intervals are the report's."""

    method: str
    seed: int
    max_new_tokens: int
    generation: GenerationSettings
    policy: PolicySettings
    templates: dict[PromptSetting, str]
    """Texts of the answer prompt."""
    instrument: Instrument


def run(job: Job) -> StageResult:
    """Inputs: model, questions, references. Writes responses.parquet and meta.json."""
    config = job.settings(EvaluateConfig)
    progress = job.progress()
    questions = [
        row for row in read_rows(job.input("questions") / "questions.parquet", Question) if row.split == "test"
    ]
    references = {row.question_id: row for row in read_rows(job.input("references") / "references.parquet", References)}
    asked = ask_every_setting(questions, references, config.templates)
    with (
        Journal(job.work / "responses.jsonl", GradedResponse) as journal,
        open_grader(config.instrument, job) as (grader, client),
        open_generator(model_source(job.input("model")), config.policy, config.generation) as generator,
    ):
        greedy = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=config.max_new_tokens)
        sampler = Sampler(generator, grader, greedy, journal, progress, config.seed)
        progress.start(len(asked), "answers", resumed=sampler.resumed)
        sampler.draw([Draw(prompt, 0, 1) for prompt in asked])
        check_unscored((row.verdict for row in sampler.rows()), job.run.unscored_limit)
        rows = write_rows(job.data / "responses.parquet", sampler.rows())
        cost = client.cost()
    write_json(job.data / "meta.json", {"method": config.method, "seed": config.seed})
    return StageResult(
        rows=rows,
        counts={"prompts": len(asked), "answers_resumed": sampler.resumed, **sampler.counts()},
        unscored=sampler.unscored(),
        cost=cost,
    )
