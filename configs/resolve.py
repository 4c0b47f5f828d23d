"""From recipe, profile and overrides to one frozen :class:`Settings`, or a clear refusal.

Order, later wins: recipe, the profile's ``settings``, the profile's ``recipes.<recipe>``, overrides. Mappings
merge deeply; lists and scalars replace. ``${NAME}`` in a string is the environment variable of that name.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from configs.settings import Settings

FOLDER = Path(__file__).parent


class SettingsError(ValueError):
    """The settings asked for do not exist or do not fit; the message says which and what would."""


def resolve(
    recipe: str, profile: str, overrides: Mapping[str, Any] | None = None, seeds: Sequence[int] | None = None
) -> Settings:
    """Settings of a run.

    Args:
        recipe: name of a file in configs/recipes.
        profile: name of a file in configs/profiles.
        overrides: nested mapping laid over both.
        seeds: in place of the profile's, if given.

    Raises:
        SettingsError: unknown recipe, profile or key (the nearest one is named), or a value out of bounds.
    """
    place = _load("profiles", profile)
    unknown = set(place) - {"settings", "recipes"}
    if unknown:
        raise SettingsError(f"profile {profile!r} has unknown top-level keys {sorted(unknown)}")
    merged = merge(_load("recipes", recipe), place.get("settings") or {})
    merged = merge(merged, (place.get("recipes") or {}).get(recipe) or {})
    merged = merge(merged, overrides or {})
    if seeds is not None:
        merged["seeds"] = list(seeds)
    try:
        return Settings.model_validate({**_with_environment(merged), "recipe": recipe, "profile": profile})
    except ValidationError as error:
        raise SettingsError("\n".join(_explain(detail) for detail in error.errors())) from None


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` laid over `below`: mappings merge, everything else replaces."""
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        result[key] = merge(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return result


def names(kind: str) -> list[str]:
    """Names of all recipes or profiles."""
    return sorted(path.stem for path in (FOLDER / kind).glob("*.yaml"))


def _load(kind: str, name: str) -> dict[str, Any]:
    known = names(kind)
    if name not in known:
        raise SettingsError(f"no {kind[:-1]} {name!r}{nearest(name, known)}; there are: {', '.join(known)}")
    loaded = yaml.safe_load((FOLDER / kind / f"{name}.yaml").read_text(encoding="utf-8"))
    return dict(loaded or {})


def nearest(name: str, known: Sequence[str]) -> str:
    """ ", did you mean 'x'?" for the nearest known name, or nothing."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f", did you mean {close[0]!r}?" if close else ""


def _explain(detail: ErrorDetails) -> str:
    path = [str(part) for part in detail["loc"]]
    if detail["type"] == "extra_forbidden":
        section = _section(path[:-1])
        known = sorted(section.model_fields) if section else []
        hint = nearest(path[-1], known) or f"; there are: {', '.join(known)}"
        return f"{'.'.join(path)}: no such setting{hint}"
    return f"{'.'.join(path) or 'settings'}: {detail['msg']} (given: {detail['input']!r:.80})"


def _section(path: Sequence[str]) -> type[BaseModel] | None:
    """The section class at a path of keys, seen through optional and dict annotations."""
    section: type[BaseModel] | None = Settings
    pending: Any = None
    for part in path:
        if pending is not None:  # the key of a dict of sections
            section, pending = pending, None
            continue
        field = section.model_fields.get(part) if section else None
        if field is None:
            return None
        text = repr(field.annotation)
        inner = _model_in(field.annotation)
        section, pending = (None, inner) if text.startswith("dict") else (inner, None)
    return section


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in found if model is not None), None)


def _with_environment(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_environment(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_environment(item) for item in value]
    return re.sub(r"\$\{(\w+)\}", _variable, value) if isinstance(value, str) else value


def _variable(match: re.Match[str]) -> str:
    name = match.group(1)
    if name not in os.environ:
        raise SettingsError(
            f"the settings use the environment variable {name}, which is not set"
            + (
                " (`make up` starts the closed world and sets it for the worker)"
                if name == "PLUMBLINE_WORLD_URL"
                else ""
            )
        )
    return os.environ[name]
