"""HTML to text: trafilatura, with a lenient parser where it fails; runs inside killable processes.

Pages are untrusted. libxml2, below trafilatura, silently loses what follows 256 levels of nesting or ten million
characters of one text node, so such pages go to the lenient parser (resiliparse) straight away, as does a page
in which trafilatura finds nothing. This module imports nothing heavy: each worker process loads it anew.
"""

from __future__ import annotations

import re
from typing import Literal

from tasks.core.records import Record

Status = Literal["main_text", "lenient", "failed"]
Reason = Literal["", "empty_html", "too_large", "no_text", "beyond_libxml2", "timeout", "crashed", "error"]

MAX_DEPTH = 240
"""Nesting (without elements that HTML closes by itself) above which libxml2 would lose the tail."""
MAX_TEXT_NODE_CHARACTERS = 10_000_000
"""libxml2's longest text node."""
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
SELF_CLOSING = frozenset(
    "area base body br col colgroup dd dt embed head hr html img input li link meta option p param rp rt source "
    "tbody td tfoot th thead tr track wbr".split()
)


class ExtractedPage(Record):
    """The text of one distinct page, or why there is none."""

    sha256: str
    """Digest of the HTML: equal pages are extracted once."""
    status: Status
    reason: Reason
    """Why the page failed, or why the lenient parser was used."""
    text: str


def extract_page(sha256: str, html: str, lenient: bool = False) -> ExtractedPage:
    """Text of a page.

    Args:
        lenient: go to the lenient parser straight away, because trafilatura hung or crashed on the page.
    """
    html = _storable(html)
    reason: Reason = "no_text"
    if not lenient and len(html) < MAX_TEXT_NODE_CHARACTERS and not _is_deep(html):
        text = _main_text(html)
        if text:
            return ExtractedPage(sha256=sha256, status="main_text", reason="", text=text)
    elif not lenient:
        reason = "beyond_libxml2"
    text = _lenient_text(html)
    status: Status = "lenient" if text else "failed"
    return ExtractedPage(sha256=sha256, status=status, reason=reason if status == "lenient" else "no_text", text=text)


def _main_text(html: str) -> str:
    import trafilatura

    return _storable(trafilatura.extract(html, fast=True, include_comments=False) or "").strip()


def _lenient_text(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return _storable(extract_plain_text(html, main_content=True) or extract_plain_text(html)).strip()


def _storable(text: str) -> str:
    """Without NUL and lone surrogates, which neither the parsers nor the stores take."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _is_deep(html: str) -> bool:
    """Whether open elements ever stack deeper than MAX_DEPTH; one pass over the tags, no parsing."""
    depth = 0
    for match in TAG.finditer(html):
        if match.group(2).lower() not in SELF_CLOSING:
            depth = max(0, depth - 1) if match.group(1) else depth + 1
            if depth > MAX_DEPTH:
                return True
    return False
