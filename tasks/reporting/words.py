"""Figures and foreign text as words: one place that decides how a number looks and what makes text inert."""

from __future__ import annotations

import re
import unicodedata

from tasks.verify.results import Estimate

NONE = "n/a"
MINUS = "\u2212"
SETTING_NAMES = {"closed_book": "Without retrieval", "retrieval": "With retrieval"}
SET_NAMES = {
    "crag": "CRAG",
    "nq_open": "NQ",
    "hotpotqa": "HotpotQA",
    "musique": "MuSiQue",
    "average": "Average",
}
METRIC_NAMES = {
    "truthfulness": "Truthfulness",
    "hallucination": "Hallucination",
    "accuracy": "Accuracy",
    "abstention": "Abstention",
    "attempted_accuracy": "Accuracy when answering",
}


def points(share: float | None, digits: int = 1) -> str:
    """A share as per cent without the sign, "37.2"; a true minus before negative values."""
    if share is None:
        return NONE
    text = f"{100 * share:.{digits}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def signed(share: float | None) -> str:
    """A difference in points, "+3.1"."""
    text = points(share)
    return f"+{text}" if share is not None and share > 0 and float(text) else text


def span(estimate: Estimate) -> str:
    """The interval, "[31.0, 40.2]"; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{points(estimate.low)}, {points(estimate.high)}]"


def probability(p: float | None) -> str:
    """A p-value."""
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def duration(seconds: float) -> str:
    """Wall time, "3 min 07 s"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def number(value: float) -> str:
    """A count or an amount with thousands parted: "12,345", "0.0312"."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}"


def true_minus(text: str) -> str:
    """Hyphens before digits as minus signs, for words that were generated as plain text."""
    return re.sub(r"(?<![\w.])-(?=\d)", MINUS, text)


def visible(text: str) -> str:
    """Text with control and direction characters spelled out, so that it cannot hide or reorder anything."""
    return "".join(character if _harmless(character) else f"<U+{ord(character):04X}>" for character in text)


def shorten(text: str, characters: int) -> str:
    """The beginning of a text, and how much was cut."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} ... ({len(text) - characters:,} more characters)"


def _harmless(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
