"""Key views: what decides a result stays, where and how fast it runs goes."""

from __future__ import annotations

from configs.keyview import key_view
from configs.settings import EndpointSettings, GenerationSettings, TrainSettings


def test_an_endpoints_address_key_and_prices_are_no_part_of_a_key() -> None:
    here = EndpointSettings(model="m", base_urls=("http://a",), api_key_env="A", concurrency=3, price_in_usd=9)
    there = EndpointSettings(model="m", base_urls=("http://b", "http://c"), api_key_env=None, timeout_s=1)
    assert key_view(here) == key_view(there) == {"model": "m"}


def test_nested_sections_are_viewed_too() -> None:
    view = key_view(GenerationSettings(threads=9))
    assert "threads" not in view
    assert "python" not in view["vllm"]
    assert view["vllm"]["tensor_parallel"] == 1


def test_learning_rate_stays_and_checkpoints_go() -> None:
    view = key_view(TrainSettings())
    assert view["grpo"]["learning_rate"] == 1e-6
    assert "checkpoint_steps" not in view["launch"]
    assert "trackers" not in view
