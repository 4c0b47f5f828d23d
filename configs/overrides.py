"""Overrides as a typed form: every setting optional, unknown keys refused.

A flow's parameter of this type gives the Prefect UI a form with every setting's documentation, and lets the
server refuse a typo when the run is submitted: the JSON schema lists the keys that exist, and the message of
the refusal quotes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from configs.settings import Settings

NOT_OVERRIDABLE = ("recipe", "profile", "seeds")


def partial_schema(keys: list[str]) -> Callable[[dict[str, Any]], None]:
    """State the refusal of unknown keys so that a validator's message quotes the keys that exist."""

    def rewrite(schema: dict[str, Any]) -> None:
        schema.pop("additionalProperties", None)
        schema["propertyNames"] = {"enum": keys}

    return rewrite


@cache
def partial(section: type[BaseModel], leave_out: tuple[str, ...] = ()) -> type[BaseModel]:
    """The section with every field optional and unset."""
    fields: dict[str, Any] = {
        name: (_partial_annotation(field.annotation), Field(None, description=field.description))
        for name, field in section.model_fields.items()
        if name not in leave_out
    }
    config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=partial_schema(sorted(fields)))
    return create_model(f"{section.__name__}Overrides", __config__=config, __doc__=section.__doc__, **fields)


def _partial_annotation(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return partial(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _partial_annotation(arguments[0])
    if origin is dict:
        return dict[str, _partial_annotation(arguments[1])]  # type: ignore[misc]
    if origin in (Union, UnionType):
        return Union[tuple(_partial_annotation(argument) for argument in arguments)]  # noqa: UP007
    return annotation


class Overrides(partial(Settings, NOT_OVERRIDABLE)):  # type: ignore[misc]  # a class that mypy cannot see through
    """Settings laid over recipe and profile."""


def given(overrides: BaseModel) -> dict[str, Any]:
    """Only what the user set, nested; an explicit null stays."""
    return overrides.model_dump(mode="json", exclude_unset=True)
