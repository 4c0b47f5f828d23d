"""What is asked of a chat endpoint, what comes back, and the two ways in which it can go wrong.

:class:`CallFailed` is about one request: the instrument failed, its row is UNSCORED and the run goes on.
:class:`CallsStopped` is about all of them (no key, unknown model, no money left): going on is pointless.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tasks.core.records import Record

FailureReason = Literal["timeout", "connection", "rate_limited", "server_error", "refused", "bad_reply"]


class ChatRequest(Record):
    """One chat completion. Equal requests are one request: they share a cache entry and are sent once."""

    messages: tuple[dict[str, str], ...] = Field(min_length=1)
    """Chat messages, each with "role" and "content"."""
    temperature: float = Field(0.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    max_tokens: int = Field(512, gt=0)
    """Longest completion, tokens."""
    sample: int = 0
    """Index among repeated draws of the same prompt; part of the cache key and sent as the seed."""
    response_format: dict[str, Any] | None = None
    """JSON mode or a JSON schema, as the chat completions protocol spells it."""


class Reply(Record):
    """The endpoint's answer."""

    text: str
    finish_reason: str | None
    """"stop", "length" (cut at max_tokens) or whatever the endpoint says."""
    tokens_in: int
    tokens_out: int
    cached: bool
    """Nothing was sent for this one: it came from the cache or from an equal request in flight."""


class CallFailed(Exception):
    """One request got no usable reply within its attempts. Raised, or returned in place of a reply."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason: FailureReason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class CallsStopped(RuntimeError):
    """No further call can succeed. The message says what to do."""


class KeyMissing(CallsStopped):
    """The environment variable of the key is not set."""


class KeyRefused(CallsStopped):
    """The endpoint refused the key (401, 403)."""


class ModelUnknown(CallsStopped):
    """The endpoint knows no such model, or the address is not that of a chat endpoint (404)."""


class QuotaExhausted(CallsStopped):
    """The account behind the key has no money left (402, or 429 with "insufficient_quota")."""


class BudgetExceeded(CallsStopped):
    """The next call could pass the run's budget."""
