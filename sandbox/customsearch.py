"""Google's Custom Search JSON API over the closed world's pages: shapes, limits and error bodies.

Source: the API's reference (cse.list): num is at most 10, start + num at most 100; errors come as
{"error": {"code", "message", "errors": [...], "status"}}.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from aiohttp import web

from sandbox.faults import Draw, garbage
from sandbox.site import DOMAIN, Hit, Site

MAX_NUM = 10
MAX_END = 100
_STATUS = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
_REASON = {400: "badRequest", 403: "forbidden", 429: "rateLimitExceeded", 500: "backendError"}


class _Invalid(ValueError):
    """A parameter that the API refuses."""


@dataclass(frozen=True)
class CustomSearch:
    """The search endpoint over `site`; `key` is the API key it asks for (None: any, but some)."""

    site: Site
    key: str | None = None

    def search(self, request: web.Request, draw: Draw) -> web.Response:
        """GET /customsearch/v1; a draw of garbage_text gives results that mean nothing."""
        query = request.query
        if "key" not in query:
            return google_error(403, "The request is missing a valid API key.")
        if self.key is not None and query["key"] != self.key:
            return google_error(400, "API key not valid. Please pass a valid API key.")
        try:
            num, start = _whole(query.get("num", "10"), "num"), _whole(query.get("start", "1"), "start")
            if not query.get("q") or not query.get("cx"):
                raise _Invalid("q and cx are required")
            if not 1 <= num <= MAX_NUM:
                raise _Invalid(f"num is {num}, not within 1 and {MAX_NUM}")
            if start < 1 or start + num > MAX_END + 1:
                raise _Invalid(f"start {start} and num {num} go beyond result {MAX_END}")
        except _Invalid as error:
            return google_error(400, f"Request contains an invalid argument: {error}.")
        hits = self.site.hits(query["q"], MAX_END)
        body = _answer(query["q"], query["cx"], num, start, hits)
        if draw.fault == "garbage_text":
            body["items"] = [{"kind": "customsearch#result", "title": garbage(draw.token), "link": "not a link"}]
        return web.json_response(body)


def _whole(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise _Invalid(f"{name} is no whole number")
    return int(text)


def _answer(query: str, cx: str, num: int, start: int, hits: list[Hit]) -> dict[str, Any]:
    shown = hits[start - 1 : start - 1 + num]
    body: dict[str, Any] = {
        "kind": "customsearch#search",
        "url": {"type": "application/json", "template": "/customsearch/v1?q={searchTerms}&num={count?}&cx={cx?}"},
        "queries": {"request": [_query(query, cx, num, start, len(hits), len(shown))]},
        "context": {"title": "Closed world"},
        "searchInformation": {
            "searchTime": 0.01,
            "formattedSearchTime": "0.01",
            "totalResults": str(len(hits)),
            "formattedTotalResults": str(len(hits)),
        },
    }
    if start - 1 + num < len(hits):
        body["queries"]["nextPage"] = [_query(query, cx, num, start + num, len(hits), num)]
    if shown:
        body["items"] = [_item(hit) for hit in shown]
    return body


def _query(query: str, cx: str, num: int, start: int, total: int, count: int) -> dict[str, Any]:
    return {
        "title": f"Google Custom Search - {query}",
        "totalResults": str(total),
        "searchTerms": query,
        "count": min(num, count),
        "startIndex": start,
        "inputEncoding": "utf8",
        "outputEncoding": "utf8",
        "safe": "off",
        "cx": cx,
    }


def _item(hit: Hit) -> dict[str, Any]:
    link = hit.page.found_at.url
    return {
        "kind": "customsearch#result",
        "title": hit.page.title,
        "htmlTitle": escape(hit.page.title),
        "link": link,
        "displayLink": f"{hit.page.found_at.host}.{DOMAIN}",
        "snippet": hit.snippet,
        "htmlSnippet": escape(hit.snippet),
        "formattedUrl": link,
        "htmlFormattedUrl": escape(link),
    }


def google_error(status: int, message: str, *, retry_after_s: int | None = None) -> web.Response:
    """An error as Google words it."""
    body = {
        "code": status,
        "message": message,
        "errors": [{"message": message, "domain": "global", "reason": _REASON[status]}],
        "status": _STATUS[status],
    }
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return web.Response(
        status=status, text=json.dumps({"error": body}), content_type="application/json", headers=headers
    )
