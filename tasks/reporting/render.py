"""Templates to text. HTML is escaped by default; Markdown cells go through markdown_cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tasks.core.hashing import digest, file_digest
from tasks.reporting import lineage, view, words
from tasks.reporting.lineage_svg import lineage_svg

TEMPLATES = Path(__file__).parent / "templates"
TEXT_CHARACTERS = 1_500
"""Longest piece of a response that a report shows."""


def render_html(context: dict[str, Any]) -> str:
    """report.html: one file with style and plots inside, nothing loaded from anywhere."""
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # ours, not escaped
    return _environment(autoescape=True).get_template("report.html.j2").render(style=style, **context)


def render_markdown(context: dict[str, Any]) -> str:
    """report.md."""
    return _environment(autoescape=False).get_template("report.md.j2").render(**context)


def layout_digest() -> str:
    """SHA-256 over the files beside the code that a report is made of: templates and published figures."""
    files = [*TEMPLATES.iterdir(), *TEMPLATES.parent.glob("published_*.json")]
    return digest({path.name: file_digest(path) for path in files if path.is_file()})


def fenced(text: str) -> str:
    """Text as a Markdown code block whose fence is longer than any run of backticks inside."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def foreign(text: str | None) -> str:
    """Text from a model or a page, visible and of bounded length; not yet escaped."""
    return words.visible(words.shorten(text or "", TEXT_CHARACTERS))


def _environment(autoescape: bool) -> Environment:
    environment = Environment(  # Markdown is made of cells and fences that escape for themselves
        loader=FileSystemLoader(TEMPLATES),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "points": words.points,
        "signed": words.signed,
        "span": words.span,
        "probability": words.probability,
        "number": words.number,
        "duration": words.duration,
        "minus": words.true_minus,
        "foreign": foreign,
        "fenced": fenced,
        "cell": lineage.markdown_cell,
    }
    environment.globals |= {"view": view, "words": words, "lineage": lineage, "lineage_svg": lineage_svg}
    return environment
