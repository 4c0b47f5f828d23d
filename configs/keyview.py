"""The part of a settings section that decides a result, as plain JSON for cache keys."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from configs.settings import Place


def key_view(value: Any) -> Any:
    """A section without the fields marked PLACE (addresses, time-outs, prices), recursively.

    Two runs with equal views compute the same thing, wherever they run.
    """
    if isinstance(value, BaseModel):
        return {
            name: key_view(getattr(value, name))
            for name, field in type(value).model_fields.items()
            if not any(isinstance(mark, Place) for mark in field.metadata)
        }
    if isinstance(value, dict):
        return {name: key_view(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [key_view(item) for item in value]
    return value
