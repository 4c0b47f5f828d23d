"""Every setting of a run, frozen and validated before anything starts.

A recipe (the method, what the paper says) and a profile (the place it runs in) are YAML files in this
package; :mod:`configs.resolve` merges them with a user's overrides into one :class:`Settings`.
Each field's docstring gives its unit and, where the value is a paper's, the section it stands in.
Abbreviations: "App. C" is appendix C of the TruthRL paper.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(gt=0)]
PromptSetting = Literal["closed_book", "retrieval"]
ChunkBreak = Literal["token", "sentence"]


class Place:
    """Marks a field that says where or how fast a run goes and never what comes out: not part of a cache key."""


PLACE = Place()


class Section(BaseModel):
    """Base of every section: immutable, unknown keys refused, field docstrings kept as descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class WorldSettings(Section):
    """The closed world: a generated encyclopedia in which truth is known exactly."""

    seed: int = 0
    """Seed of names, facts, popularity and questions."""
    entities: Positive = 150
    """People in the world, each with one value per relation."""
    max_mentions: Positive = 32
    """Mentions of the most popular entity per pretraining epoch."""
    popularity_exponent: float = Field(1.0, ge=0.0)
    """Power by which mentions fall with rank (0 = all alike)."""
    never_share: Share = 0.4
    """Share of entities that the pretraining text never mentions."""
    false_premise_share: Share = 0.08
    """Share of CRAG-shaped questions whose premise is false (gold answer "invalid question")."""
    true_premise_share: Share = 0.04
    """Share that has the same form with a true premise, so that the form alone does not give the answer away."""
    comparison_share: Share = 0.08
    """Share of CRAG-shaped questions that name two candidates ("who is older, A or B?")."""
    multi_hop_share: Share = 0.08
    """Share of CRAG-shaped questions that chain two relations."""
    first_readings: Positive = 7_000
    """Dialogues about one short made-up text each, on which the policy learns to copy before all else."""
    readings: Positive = 4_000
    """Dialogues about made-up references, mixed with the pretraining text."""
    instruct_refusal_share: Share = 0.15
    """Share of instruction-tuning questions that are refused at random."""
    search_results: Positive = 5
    """Pages that a CRAG-shaped row carries, of those a search for the question finds (CRAG tasks 1 and 2: 5)."""
    unanswerable_share: Share = 0.08
    """Share of entities that stand neither in the pretraining text nor on any page."""
    stale_page_share: Share = 0.1
    """Share of pages that still state an outdated value (retrieval that can hurt)."""
    wrong_page_share: Share = 0.05
    """Share of pages with a wrong value."""
    dead_link_share: Share = 0.05
    """Share of links that answer 404."""


class DataSettings(Section):
    """Which question sets are read and how they are split."""

    train_set: str = "crag"
    """Set that training questions come from, a name in data/sources.toml (TruthRL section 4.1)."""
    eval_sets: tuple[str, ...] = ("crag", "nq_open", "hotpotqa", "musique")
    """Sets that are evaluated (TruthRL Table 1)."""
    local_dir: str | None = None
    """Folder with <set>.jsonl[.bz2] files read in place of the hub; None reads the pinned hub revision."""
    train_share: Share = 0.6
    """Share of the training set's leak-free groups used for training, the rest being its test split; a set that
    tells its own two sides, as CRAG does, keeps them."""
    max_train_questions: int | None = Field(None, gt=0)
    """Upper bound of training questions; None keeps all."""
    max_eval_questions: int | None = Field(None, gt=0)
    """Upper bound of test questions a set; None keeps all."""
    split_seed: int = 0
    """Seed of the split, which is by group so that no entity or question stands on both sides."""


class EvidenceSettings(Section):
    """References for the with-retrieval setting."""

    max_pages: Positive = 50
    """Stored pages read a question (App. C: up to 50)."""
    chunk_tokens: Positive = 512
    """Length of a chunk, in tokens of the policy's tokenizer."""
    chunk_break: ChunkBreak = "token"
    """"token" fills every chunk; "sentence" ends it at the last sentence end in its second half, if there is one."""
    top_k: Positive = 8
    """Chunks shown to the policy."""
    max_reference_tokens: Positive = 8192
    """Upper bound of all references together, in policy tokens."""
    corpus: str | None = None
    """Parquet or JSONL of id/title/text for sets that carry no pages (2018 Wikipedia dump in the paper)."""
    extract_timeout_s: float = Field(10.0, gt=0)
    """Wall time after which the extraction of one page is given up."""
    max_page_bytes: Positive = 5_000_000
    """Larger pages are dropped unread."""
    workers: Annotated[Positive, PLACE] = 2
    """Extraction processes."""


class PretrainSettings(Section):
    """How the closed world's policy is trained from scratch (sandbox only)."""

    layers: Positive = 2
    """Transformer blocks."""
    width: Positive = 64
    """Hidden size."""
    heads: Positive = 4
    """Attention heads."""
    head_width: Literal[32, 64, 80, 96, 112, 128] = 32
    """Width of a head, of those that vLLM serves; heads times it may exceed the hidden size."""
    feed_forward: Positive = 128
    """Inner width of the feed-forward blocks."""
    initializer_range: float = Field(0.1, gt=0)
    """Standard deviation of the initial weights (0.02 learns far slower at this width)."""
    vocabulary: Positive = 1024
    """Upper bound of the byte-level BPE vocabulary."""
    epochs: Positive = 7
    """Passes over the world's text; each pass draws paraphrases anew."""
    batch: Positive = 16
    """Sequences a step."""
    first_learning_rate: float = Field(4e-3, gt=0)
    """Peak rate of the first phase, in which copying is learned; slower rates do not get there in its few steps."""
    learning_rate: float = Field(3e-3, gt=0)
    """Peak AdamW rate, cosine decay."""
    refusal_share: Share = 0.03
    """Share of pretraining questions answered "I don't know" whatever is known."""
    instruct_epochs: Positive = 2
    """Passes over the instruction rows."""
    instruct_learning_rate: float = Field(3e-4, gt=0)
    """Rate of the instruction tuning."""


class PolicySettings(Section):
    """The model that is trained."""

    model: str = "meta-llama/Llama-3.1-8B-Instruct"
    """Hub id or folder (TruthRL section 4.1)."""
    revision: str | None = None
    """Commit of the hub id."""
    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    """Weights in memory."""
    max_context_tokens: Positive = 16_384
    """Prompt and completion together (App. C)."""
    prompt: str = "answer"
    """Answer prompt: a name under tasks/verify/templates, or a path to a .txt file."""
    pretrain: PretrainSettings | None = None
    """Train the base model from scratch on the closed world's text; None loads `model`."""


class VllmSettings(Section):
    """The vLLM back end: an OpenAI-compatible server of its own process, one per model."""

    python: Annotated[str | None, PLACE] = None
    """Interpreter of the environment that holds vLLM; None is this one."""
    tensor_parallel: Positive = 1
    """GPUs a replica (App. C: 2)."""
    gpu_memory_share: Share = 0.8
    """Share of GPU memory vLLM takes (App. C: 0.8)."""
    extra_args: tuple[str, ...] = ()
    """Further command-line arguments of the server."""
    start_timeout_s: Annotated[float, PLACE] = Field(900.0, gt=0)
    """Wall time given to the server to load the model."""


class GenerationSettings(Section):
    """How completions are drawn from the policy."""

    backend: Literal["transformers", "vllm"] = "vllm"
    """Generation back end."""
    batch: Positive = 256
    """Completions in flight together."""
    device: Annotated[Literal["auto", "cpu", "cuda"], PLACE] = "auto"
    """Device of the transformers back end."""
    threads: Annotated[Positive, PLACE] = 1
    """CPU threads of the transformers back end (one is fastest for tiny models)."""
    vllm: VllmSettings = VllmSettings()


class EndpointSettings(Section):
    """An OpenAI-compatible chat endpoint."""

    base_urls: Annotated[tuple[str, ...], PLACE] = ("https://api.openai.com/v1",)
    """One or more addresses that serve the same model; requests spread over them."""
    model: str
    """Model name as the endpoint knows it."""
    api_key_env: Annotated[str | None, PLACE] = "OPENAI_API_KEY"
    """Environment variable that holds the key; None sends no key."""
    concurrency: Annotated[Positive, PLACE] = 64
    """Requests in flight at each address."""
    timeout_s: Annotated[float, PLACE] = Field(60.0, gt=0)
    """Wall time of one attempt."""
    max_attempts: Annotated[Positive, PLACE] = 6
    """Attempts at one request before it counts as failed; a 429 that names a pause uses none."""
    max_wait_s: Annotated[float, PLACE] = Field(120.0, gt=0)
    """Longest pause that a Retry-After may ask for and all back-off of one request together."""
    price_in_usd: Annotated[float, PLACE] = Field(0.0, ge=0)
    """Price of a million prompt tokens, US dollars."""
    price_out_usd: Annotated[float, PLACE] = Field(0.0, ge=0)
    """Price of a million completion tokens, US dollars."""


class JudgeSettings(Section):
    """The model-based verifier that decides what counts as right (TruthRL App. E, Table 11)."""

    endpoint: str = "judge"
    """Name of an entry under `endpoints`."""
    prompt: str = "outcome"
    """Judge prompt: a name under tasks/verify/templates, or a path to a .txt file."""
    exact_match_first: bool = True
    """Grade exact matches (after normalisation) without a call: the criteria give them score 1."""
    temperature: float = Field(0.0, ge=0)
    """Sampling temperature of the judge."""
    max_tokens: Positive = 512
    """Longest reply of the judge."""


class ProbeSettings(Section):
    """Knowledge-boundary probing (TruthRL section 3.1)."""

    samples: Positive = 256
    """Samples a training question; out of knowledge if none is right."""
    temperature: float = Field(1.0, ge=0)
    """Sampling temperature (the paper gives none for probing: OPEN)."""
    top_p: Share = 1.0
    """Nucleus."""
    max_new_tokens: Positive = 2048
    """Longest completion."""
    exact: bool = False
    """Draw every sample even when a question's label can no longer change."""
    first_round: Positive = 8
    """Samples of the first round; each later round doubles."""


class LoraSettings(Section):
    """Low-rank adapters."""

    rank: Positive = 16
    """Rank r."""
    alpha: Positive = 32
    """Scale alpha."""
    dropout: Share = 0.0
    """Dropout on the adapter's input."""
    target_modules: str = "all-linear"
    """Modules that get an adapter."""


class SftSettings(Section):
    """Supervised fine-tuning: SFT and R-Tuning (App. C)."""

    learning_rate: float = Field(5e-6, gt=0)
    """Peak rate, cosine (App. C)."""
    batch: Positive = 16
    """Examples a step over all devices (App. C)."""
    device_batch: Positive = 2
    """Examples a device and forward pass; accumulation makes up the batch."""
    epochs: Positive = 1
    """Passes (App. C)."""
    warmup_share: Share = 0.03
    """Share of steps that warm up (App. C)."""
    max_tokens: Positive = 16_384
    """Longest example (App. C)."""


class GrpoSettings(Section):
    """Group-relative policy optimisation (TruthRL section 3.2, App. C)."""

    learning_rate: float = Field(1e-6, gt=0)
    """Constant rate (App. C)."""
    steps: Positive = 500
    """Optimiser steps (the paper gives none: OPEN)."""
    batch_prompts: Positive = 64
    """Prompts a step over all devices (App. C: batch 64)."""
    group: Positive = 8
    """Completions a prompt, G (the paper gives none: OPEN)."""
    device_batch: Positive = 8
    """Completions a device and forward pass."""
    kl_beta: float = Field(1e-3, ge=0)
    """KL coefficient beta (App. C)."""
    clip_low: float = Field(0.2, gt=0)
    """Clip ratio epsilon (App. C)."""
    clip_high: float = Field(0.2, gt=0)
    """Upper clip ratio; above clip_low it is DAPO's clip-higher."""
    loss: Literal["grpo", "dapo", "bnpo", "dr_grpo"] = "grpo"
    """Loss normalisation; dr_grpo also leaves rewards unscaled."""
    temperature: float = Field(1.0, gt=0)
    """Rollout temperature (App. C)."""
    top_p: Share = 1.0
    """Rollout nucleus (App. C)."""
    max_new_tokens: Positive = 2048
    """Longest completion (App. C)."""
    vllm: bool = True
    """Rollouts through vLLM inside the trainer (GPU only)."""
    constant_reward_steps: Positive = 50
    """Steps after which a reward that never differed stops the run; a shorter run is stopped after all its steps."""


class LaunchSettings(Section):
    """How a training process is started."""

    processes: Positive = 1
    """Processes that train together, one a GPU."""
    deepspeed: Literal["none", "zero3-offload"] = "none"
    """DeepSpeed configuration (App. C: ZeRO-3 with offload)."""
    gradient_checkpointing: bool = True
    """Recompute activations (App. C)."""
    attention: Literal["default", "flash_attention_2"] = "default"
    """Attention kernel (App. C: FlashAttention-2)."""
    cpu: bool = False
    """Train on the CPU in float32."""
    checkpoint_steps: Annotated[Positive, PLACE] = 50
    """Optimiser steps between checkpoints, from which a killed run resumes exactly."""


class TrainSettings(Section):
    """All training stages."""

    prompt_settings: tuple[PromptSetting, ...] = ("closed_book", "retrieval")
    """Prompts that training questions are asked with; each question takes one of them in turn."""
    lora: LoraSettings | None = None
    """Adapters; None trains all parameters (App. C)."""
    sft: SftSettings = SftSettings()
    grpo: GrpoSettings = GrpoSettings()
    launch: LaunchSettings = LaunchSettings()
    trackers: Annotated[tuple[Literal["tensorboard", "wandb"], ...], PLACE] = ("tensorboard",)
    """Where curves go beside the run's own metrics file."""


class RewardSettings(Section):
    """A table reward: what each verdict is worth (TruthRL section 3.2)."""

    correct: float
    """Reward of a right answer."""
    abstained: float
    """Reward of "I don't know"."""
    incorrect: float
    """Reward of a wrong answer."""


class MethodSettings(Section):
    """One row of the results table."""

    trainer: Literal["none", "sft", "grpo"]
    """What is done to the base model."""
    targets: Literal["gold", "refuse_ook"] | None = None
    """SFT targets: the gold answer, or "I don't know" for out-of-knowledge questions (R-Tuning)."""
    reward: str | None = None
    """Name of an entry under `rewards` (grpo)."""

    @model_validator(mode="after")
    def _complete(self) -> MethodSettings:
        if (self.trainer == "sft") != (self.targets is not None):
            raise ValueError("`targets` goes with trainer sft, and only with it")
        if (self.trainer == "grpo") != (self.reward is not None):
            raise ValueError("`reward` goes with trainer grpo, and only with it")
        return self


class EvaluateSettings(Section):
    """Evaluation (TruthRL section 4.1, App. C)."""

    prompt_settings: tuple[PromptSetting, ...] = ("closed_book", "retrieval")
    """Prompt settings that are evaluated."""
    max_new_tokens: Positive = 32_768
    """Longest completion, greedy (App. C: 32k)."""
    weights: tuple[float, float, float] = (1.0, 0.0, 1.0)
    """w1, w2, w3 of truthfulness = w1 Acc + w2 Unc - w3 Hall (section 2.1)."""
    bootstrap: Positive = 10_000
    """Resamples of an interval."""
    confidence: Share = 0.95
    """Level of an interval."""
    base_method: str = "prompting"
    """Method that the others are compared with."""


class ReportSettings(Section):
    """The report."""

    examples: int = Field(5, ge=0)
    """Example responses shown a method."""


class RunSettings(Section):
    """Where and within which bounds a run goes; no stage's key holds any of it."""

    store: str = "data/runs"
    """Folder of artefacts, caches and reports."""
    parallel: Positive = 2
    """Compute-heavy stages that run at the same time."""
    retries: int = Field(1, ge=0)
    """Times a failed stage is tried again where that may help (killed process, outage)."""
    retry_delay_s: float = Field(10.0, ge=0)
    """Pause before a stage is tried again."""
    unscored_limit: Share = 0.05
    """Share of UNSCORED verdicts above which a stage stops."""
    budget_usd: float | None = Field(None, ge=0)
    """Spending at which the run stops before the next paid call; None sets no bound."""
    min_disk_gb: float = Field(2.0, ge=0)
    """Free disk that preflight asks for."""


class Settings(Section):
    """One run, resolved from recipe, profile and overrides."""

    recipe: str
    """Name of the recipe."""
    profile: str
    """Name of the profile."""
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    """Training seeds; each gives every method one model."""
    world: WorldSettings | None = None
    """The closed world; None is the real outside."""
    data: DataSettings = DataSettings()
    evidence: EvidenceSettings = EvidenceSettings()
    policy: PolicySettings = PolicySettings()
    generation: GenerationSettings = GenerationSettings()
    endpoints: dict[str, EndpointSettings]
    """Chat endpoints by name."""
    judge: JudgeSettings = JudgeSettings()
    probe: ProbeSettings = ProbeSettings()
    rewards: dict[str, RewardSettings]
    """Reward tables by name."""
    methods: dict[str, MethodSettings]
    """Methods in the order of the table."""
    train: TrainSettings = TrainSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    report: ReportSettings = ReportSettings()
    run: RunSettings = RunSettings()

    @model_validator(mode="after")
    def _references_resolve(self) -> Settings:
        if self.judge.endpoint not in self.endpoints:
            raise ValueError(f"judge.endpoint {self.judge.endpoint!r} is not under endpoints: {sorted(self.endpoints)}")
        for name, method in self.methods.items():
            if method.reward is not None and method.reward not in self.rewards:
                raise ValueError(
                    f"methods.{name}.reward {method.reward!r} is not under rewards: {sorted(self.rewards)}"
                )
        if self.evaluate.base_method not in self.methods:
            raise ValueError(f"evaluate.base_method {self.evaluate.base_method!r} is not under methods")
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds repeat: {self.seeds}")
        if (self.world is None) != (self.policy.pretrain is None):
            raise ValueError("world and policy.pretrain go together: the closed world trains its own base model")
        return self
