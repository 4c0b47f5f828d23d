"""Prompt templates: plain text files with {fields}, filled in one pass.

A template's name stands for a file in ``templates/`` beside this module; a name that ends in ``.txt`` is a
path of the user's own. Values are data: braces inside them are never read as fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from configs.settings import PromptSetting

TEMPLATES = Path(__file__).parent / "templates"
Message = dict[str, str]


def load_template(name: str) -> str:
    """Text of a template.

    Raises:
        FileNotFoundError: no such file; the message lists the names that exist.
    """
    path = Path(name) if name.endswith(".txt") else TEMPLATES / f"{name}.txt"
    if not path.is_file():
        known = sorted(file.stem for file in TEMPLATES.glob("*.txt"))
        raise FileNotFoundError(f"no prompt template {name!r} (looked at {path}); shipped ones: {', '.join(known)}")
    return path.read_text(encoding="utf-8")


def answer_templates(name: str, settings: Sequence[PromptSetting]) -> dict[PromptSetting, str]:
    """Texts of an answer prompt, one a prompt setting: ``<name>.closed_book`` and ``<name>.retrieval``."""
    stem = name.removesuffix(".txt")
    suffix = ".txt" if name.endswith(".txt") else ""
    return {setting: load_template(f"{stem}.{setting}{suffix}") for setting in settings}


def fill(template: str, fields: Mapping[str, str]) -> str:
    """The template with each {field} replaced.

    Raises:
        KeyError: the template has a field that is not given.
    """
    return re.sub(r"\{([a-z_]+)\}", lambda match: fields[match.group(1)], template)


def build_messages(
    template: str, question: str, query_time: str | None = None, references: Sequence[str] = ()
) -> list[Message]:
    """The chat that asks the policy a question: one user message."""
    fields = {"question": question, "query_time": query_time or "unknown", "references": "\n".join(references)}
    return [{"role": "user", "content": fill(template, fields).strip()}]
