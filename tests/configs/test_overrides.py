"""The typed form: same keys as the settings, everything optional, unknown keys refused with the known ones."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from configs.overrides import Overrides, given


def test_only_what_was_given_is_passed_on() -> None:
    overrides = Overrides.model_validate(
        {"train": {"lora": None, "grpo": {"steps": 3}}, "rewards": {"x": {"correct": 2}}}
    )
    assert given(overrides) == {"train": {"lora": None, "grpo": {"steps": 3}}, "rewards": {"x": {"correct": 2}}}
    assert given(Overrides()) == {}


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError):
        Overrides.model_validate({"train": {"grpo": {"learnig_rate": 1}}})


def test_recipe_profile_and_seeds_are_no_overrides() -> None:
    with pytest.raises(ValidationError):
        Overrides.model_validate({"recipe": "truthrl"})


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"train": {"grpo": {"learnig_rate": 1}}}, "'learning_rate'"),
        ({"trian": {}}, "'train'"),
    ],
)
def test_the_servers_schema_refusal_quotes_the_keys_that_exist(value: dict[str, Any], named: str) -> None:
    with pytest.raises(jsonschema.ValidationError) as refused:
        jsonschema.validate(value, Overrides.model_json_schema())
    assert named in refused.value.message
