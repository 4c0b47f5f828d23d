"""Resolution: order of layers, deep merge, and refusals that name the fix."""

from __future__ import annotations

import pytest

from configs.resolve import SettingsError, merge, names, resolve


@pytest.fixture(autouse=True)
def _world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUMBLINE_WORLD_URL", "http://127.0.0.1:9")


def test_merge_is_deep_for_mappings_and_replaces_lists() -> None:
    below = {"a": {"b": 1, "c": [1, 2]}, "d": 4}
    assert merge(below, {"a": {"c": [3]}, "e": None}) == {"a": {"b": 1, "c": [3]}, "d": 4, "e": None}
    assert below == {"a": {"b": 1, "c": [1, 2]}, "d": 4}


@pytest.mark.parametrize("recipe", names("recipes"))
@pytest.mark.parametrize("profile", names("profiles"))
def test_every_recipe_resolves_in_every_profile(recipe: str, profile: str) -> None:
    settings = resolve(recipe, profile)
    assert (settings.recipe, settings.profile) == (recipe, profile)


def test_there_are_recipes_and_profiles() -> None:
    assert "truthrl" in names("recipes")
    assert set(names("profiles")) == {"paper", "sandbox", "single-gpu"}


def test_overrides_lie_over_profile_and_recipe() -> None:
    settings = resolve("truthrl", "sandbox", {"train": {"grpo": {"steps": 7}}}, seeds=[5])
    assert settings.train.grpo.steps == 7
    assert settings.train.grpo.clip_high == 0.28  # the profile's
    assert settings.train.grpo.clip_low == 0.2  # the recipe's
    assert settings.seeds == (5,)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"train": {"grpo": {"learnig_rate": 1}}},
            "grpo.learnig_rate: no such setting, did you mean 'learning_rate'?",
        ),
        ({"trian": {}}, "trian: no such setting, did you mean 'train'?"),
        ({"rewards": {"ternary": {"corect": 1}}}, "rewards.ternary.corect: no such setting, did you mean 'correct'?"),
        ({"train": {"lora": {"rnk": 1}}}, "train.lora.rnk: no such setting, did you mean 'rank'?"),
        ({"train": {"grpo": {"steps": 0}}}, "train.grpo.steps: Input should be greater than 0 (given: 0)"),
        ({"judge": {"endpoint": "nobody"}}, "judge.endpoint 'nobody' is not under endpoints: ['judge']"),
        ({"methods": {"truthrl": {"reward": "tenrary"}}}, "methods.truthrl.reward 'tenrary' is not under rewards"),
        ({"methods": {"sft": {"targets": None}}}, "`targets` goes with trainer sft"),
        ({"seeds": [1, 1]}, "seeds repeat"),
        ({"world": None}, "world and policy.pretrain go together"),
    ],
)
def test_refusals_name_the_key_and_what_would_do(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        resolve("truthrl", "sandbox", overrides)
    assert message in str(refused.value)


def test_unknown_recipe_and_profile_name_the_nearest() -> None:
    with pytest.raises(SettingsError, match="did you mean 'truthrl'"):
        resolve("thruthrl", "sandbox")
    with pytest.raises(SettingsError, match="did you mean 'sandbox'"):
        resolve("truthrl", "sandbx")


def test_a_missing_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLUMBLINE_WORLD_URL")
    with pytest.raises(SettingsError, match=r"PLUMBLINE_WORLD_URL, which is not set .`make up`"):
        resolve("truthrl", "sandbox")


def test_paper_profile_holds_the_papers_figures() -> None:
    """TruthRL App. C and section 3, figure by figure."""
    settings = resolve("truthrl", "paper")
    assert settings.policy.model == "meta-llama/Llama-3.1-8B-Instruct"
    assert settings.policy.max_context_tokens == 16_384
    assert settings.endpoints["judge"].model == "meta-llama/Llama-3.3-70B-Instruct"
    assert settings.probe.samples == 256
    sft, grpo, launch = settings.train.sft, settings.train.grpo, settings.train.launch
    assert (sft.learning_rate, sft.batch, sft.epochs, sft.warmup_share) == (5e-6, 16, 1, 0.03)
    assert (grpo.learning_rate, grpo.batch_prompts, grpo.kl_beta, grpo.clip_low, grpo.clip_high) == (
        1e-6, 64, 1e-3, 0.2, 0.2,
    )  # fmt: skip
    assert (grpo.temperature, grpo.top_p, grpo.max_new_tokens, grpo.loss) == (1.0, 1.0, 2048, "grpo")
    assert (launch.processes, launch.deepspeed, launch.attention) == (8, "zero3-offload", "flash_attention_2")
    assert settings.train.lora is None
    assert (settings.generation.vllm.tensor_parallel, settings.generation.vllm.gpu_memory_share) == (2, 0.8)
    assert settings.evaluate.max_new_tokens == 32_768
    assert settings.evaluate.weights == (1.0, 0.0, 1.0)
    rewards = {name: (r.correct, r.abstained, r.incorrect) for name, r in settings.rewards.items()}
    assert rewards == {"binary": (1, -1, -1), "ternary": (1, 0, -1)}
    assert settings.evidence.max_pages == 50


def test_single_gpu_uses_adapters() -> None:
    settings = resolve("truthrl", "single-gpu")
    assert settings.train.lora is not None
    assert settings.train.launch.processes == 1
