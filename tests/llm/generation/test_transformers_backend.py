from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from configs.settings import PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.generation import Completion, GenerationFailed, Prompt, Sampling, open_generator, sample_seed
from tasks.llm.generation.transformers_backend import draw, end_ids

QUESTIONS = ["Who?", "Who wrote the first program for the engine?", "Ada", "The engine was never built. " * 3]
GREEDY = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=12)
FREE = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=12)


def prompt(text: str, n: int = 1, seed: int = 0) -> Prompt:
    return Prompt([{"role": "user", "content": text}], n, seed)


def run(
    model: ModelSource, policy: PolicySettings, settings: Any, prompts: list[Prompt], sampling: Sampling
) -> list[list[Completion]]:
    with open_generator(model, policy, settings) as generator:
        found = dict(generator.generate(prompts, sampling))
    assert sorted(found) == list(range(len(prompts)))
    return [found[index] for index in range(len(prompts))]


def reference(model: ModelSource, text: str, max_new_tokens: int) -> tuple[str, int]:
    tokenizer = AutoTokenizer.from_pretrained(model.name)
    loaded = AutoModelForCausalLM.from_pretrained(model.name, dtype=torch.float32)
    ids = tokenizer(f"<|user|>{text}<|assistant|>", return_tensors="pt", add_special_tokens=False)["input_ids"]
    out = loaded.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_new_tokens, do_sample=False
    )[0, ids.shape[1] :]
    return tokenizer.decode(out, skip_special_tokens=True, clean_up_tokenization_spaces=False), len(out)


@pytest.mark.parametrize("batch", [1, 3, 16])
def test_greedy_equals_generate(batch: int, tiny_model, policy, generation) -> None:
    found = run(tiny_model, policy, generation(batch=batch), [prompt(text) for text in QUESTIONS], GREEDY)
    for text, (completion,) in zip(QUESTIONS, found, strict=True):
        assert (completion.text, completion.tokens) == reference(tiny_model, text, 12)


def test_samples_depend_on_seed_and_index_only(tiny_model, policy, generation) -> None:
    alone = run(tiny_model, policy, generation(), [prompt("Who?", n=5, seed=7)], FREE)[0]
    crowd = [prompt(text, n=3, seed=index) for index, text in enumerate(QUESTIONS)]
    together = run(tiny_model, policy, generation(batch=7), [*crowd, prompt("Who?", n=9, seed=7)], FREE)
    assert together[-1][:5] == alone
    assert len({completion.text for completion in together[-1]}) == 9
    other = run(tiny_model, policy, generation(), [prompt("Who?", n=5, seed=8)], FREE)[0]
    assert not {completion.text for completion in alone} & {completion.text for completion in other}


def test_more_samples_than_a_batch_and_none(tiny_model, policy, generation) -> None:
    found = run(tiny_model, policy, generation(batch=4), [prompt("Ada", n=10), prompt("Who?", n=0)], FREE)
    assert [len(completions) for completions in found] == [10, 0]


def test_batches_are_yielded_as_they_finish(tiny_model, policy, generation) -> None:
    with open_generator(tiny_model, policy, generation(batch=2)) as generator:
        stream = generator.generate([prompt(text, n=2) for text in QUESTIONS], FREE)
        assert next(stream)[0] == 3  # the longest prompt
        assert [index for index, _ in stream] == [1, 0, 2]


def test_sampling_follows_the_distribution(tiny_model, policy, generation) -> None:
    one = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=1)
    tokenizer = AutoTokenizer.from_pretrained(tiny_model.name)
    loaded = AutoModelForCausalLM.from_pretrained(tiny_model.name, dtype=torch.float32)
    ids = tokenizer("<|user|>Ada<|assistant|>", return_tensors="pt", add_special_tokens=False)["input_ids"]
    expected = torch.softmax(loaded(ids).logits[0, -1].detach().float(), -1)
    likeliest = int(expected.argmax())
    found = run(tiny_model, policy, generation(batch=2000), [prompt("Ada", n=2000)], one)[0]
    share = Counter(completion.text for completion in found)[tokenizer.decode([likeliest])] / 2000
    sigma = float(expected[likeliest] * (1 - expected[likeliest]) / 2000) ** 0.5
    assert abs(share - float(expected[likeliest])) < 4 * sigma


def test_draw_by_hand() -> None:
    logits = torch.log(torch.tensor([[0.1, 0.5, 0.0, 0.4]])).expand(5, -1)
    uniform = torch.tensor([0.0, 0.0999, 0.1001, 0.6001, 0.999999], dtype=torch.float64)
    assert draw(logits, FREE, uniform).tolist() == [0, 0, 1, 3, 3]  # token 2 has no probability
    # top_p 0.6 keeps 0.5 and 0.4 (the first alone is too little): shares 5/9 and 4/9.
    nucleus = Sampling(temperature=1.0, top_p=0.6, max_new_tokens=1)
    uniform = torch.tensor([0.0, 0.5, 0.555, 0.556, 0.999], dtype=torch.float64)
    assert draw(logits, nucleus, uniform).tolist() == [1, 1, 1, 3, 3]
    tightest = Sampling(temperature=1.0, top_p=0.0, max_new_tokens=1)
    assert draw(logits, tightest, uniform).tolist() == [1] * 5
    # Temperature 0.5 squares the odds: 0.01, 0.25, 0, 0.16 of 0.42.
    cold = Sampling(temperature=0.5, top_p=1.0, max_new_tokens=1)
    uniform = torch.tensor([0.0237, 0.0239, 0.618, 0.6191, 0.9], dtype=torch.float64)
    assert draw(logits, cold, uniform).tolist() == [0, 1, 1, 3, 3]


def test_end_tokens_finish_and_limits_do_not(tiny_model, policy, generation) -> None:
    sampling = Sampling(temperature=1.5, top_p=1.0, max_new_tokens=60)
    completions = run(tiny_model, policy, generation(batch=300), [prompt("Who?", n=300)], sampling)[0]
    ended = [completion for completion in completions if completion.finished]
    assert ended
    assert any(not completion.finished for completion in completions)
    assert all(completion.tokens <= 60 for completion in ended)
    assert all(completion.tokens == 60 for completion in completions if not completion.finished)
    assert not any("<|" in completion.text for completion in ended)


def test_end_tokens_are_a_list_or_one() -> None:
    class Fake:
        def __init__(self, value: Any) -> None:
            self.generation_config = self
            self.eos_token_id = value

    assert end_ids(Fake([1, 4]), Fake(1)) == {1, 4}
    assert end_ids(Fake(3), Fake(None)) == {3}
    assert end_ids(Fake(None), Fake(2)) == {2}
    with pytest.raises(GenerationFailed, match="end-of-text"):
        end_ids(Fake(None), Fake(None))


def test_the_context_bounds_a_completion_and_a_prompt(tiny_model, generation) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model.name)
    length = len(tokenizer("<|user|>Ada<|assistant|>", add_special_tokens=False)["input_ids"])
    narrow = PolicySettings(dtype="float32", max_context_tokens=length + 3)
    ((completion,),) = run(tiny_model, narrow, generation(), [prompt("Ada")], GREEDY)
    assert completion.tokens == 3
    tight = PolicySettings(dtype="float32", max_context_tokens=length)
    with pytest.raises(GenerationFailed, match="max_context_tokens"):
        run(tiny_model, tight, generation(), [prompt("Ada")], GREEDY)


@pytest.mark.parametrize("template", [None, "{% for m in messages %}{{ m['content'] }}{% endfor %}"])
def test_a_template_that_opens_no_turn_is_refused(template, tiny_model, policy, generation, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model.name, tmp_path / "model"))
    (folder / "chat_template.jinja").unlink()
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(GenerationFailed, match="template"):
        open_generator(ModelSource(name=str(folder)), policy, generation())
    assert json.loads((folder / "config.json").read_text())["model_type"] == "qwen3"


def test_seeds_of_neighbours_differ() -> None:
    seeds = {sample_seed(seed, sample) for seed in range(50) for sample in range(50)}
    assert len(seeds) == 2500
    assert all(0 <= seed < 2**63 for seed in seeds)
