"""Which failures are worth another attempt, and after how long.

Repeated: time-outs, broken connections, unreadable replies, 408, 409, 429 and 5xx. Every other 4xx is about the
request and never repeated; a refused key, an unknown model and an empty account stop the run.

The pause is what the endpoint asks for (Retry-After in seconds or as a date, retry-after-ms, x-ratelimit-reset-*)
plus a random part, uniform between 0 and a bound that doubles with each try ("full jitter"), so that waiting
requests do not come back as one. An attempt that was answered "come back in t" with a 429 does not count against
max_attempts, since nothing is wrong with it; max_wait_s bounds all pauses of a request together.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import aiohttp
import openai

from configs.settings import EndpointSettings
from tasks.llm.requests import FailureReason, KeyRefused, ModelUnknown, QuotaExhausted
from tasks.llm.wire import BadReply

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 20.0
MAX_DETAIL_CHARS = 300
Redact = Callable[[str], str]
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Failure:
    """One failed attempt."""

    reason: FailureReason
    detail: str
    repeatable: bool = True
    server_wait_s: float | None = None
    """Pause that the endpoint asked for."""
    maybe_billed: bool = False
    address_at_fault: bool = True
    """Counts against the address (not so when the request or the rate is to blame)."""


class Backoff:
    """Attempts and pauses of one request."""

    def __init__(self, endpoint: EndpointSettings) -> None:
        self._attempts_left = endpoint.max_attempts
        self._wait_left_s = endpoint.max_wait_s
        self._tries = 0

    def pause_s(self, failure: Failure, elsewhere: bool) -> float | None:
        """Pause before the next attempt, or None to give up.

        `elsewhere`: another address is ready, so there is no need to sit out what this one asked for.
        """
        if not failure.repeatable:
            return None
        told_to_wait = failure.reason == "rate_limited" and failure.server_wait_s is not None
        if not told_to_wait:
            self._attempts_left -= 1
        asked_s = 0.0 if elsewhere else failure.server_wait_s or 0.0
        if self._attempts_left <= 0 or asked_s >= self._wait_left_s:
            return None
        jitter_s = random.uniform(0, min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2**self._tries))
        self._tries += 1
        pause_s = min(asked_s + jitter_s, self._wait_left_s)
        self._wait_left_s -= pause_s
        return pause_s


def failure_of(error: Exception, endpoint: EndpointSettings, redact: Redact) -> Failure:
    """What went wrong with an attempt. `redact` cleans what the endpoint says: some repeat the key they refuse.

    Raises:
        KeyRefused, ModelUnknown, QuotaExhausted: no attempt can succeed.
        Exception: `error` itself where it is none of an endpoint's failures (a mistake in this program).
    """
    if isinstance(error, BadReply):
        return Failure("bad_reply", str(error), maybe_billed=True)
    if isinstance(error, openai.APIStatusError):
        return _status_failure(error, endpoint, redact)
    if isinstance(error, TimeoutError):
        return Failure("timeout", f"no reply within {endpoint.timeout_s:g} s", maybe_billed=True)
    if isinstance(error, openai.APIConnectionError):
        return _connection_failure(error)
    raise error


def _connection_failure(error: openai.APIConnectionError) -> Failure:
    causes = list(_causes(error))
    detail = f"{type(causes[-1]).__name__}: {causes[-1]}"
    if any(isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) for cause in causes):
        return Failure("connection", detail)
    # The transport reports every broken connection as a time-out; only the root cause tells.
    reason: FailureReason = "timeout" if any(isinstance(cause, TimeoutError) for cause in causes) else "connection"
    return Failure(reason, detail, maybe_billed=True)


def _causes(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None:
        found.append(error)
        error = error.__cause__
    return found


def _status_failure(error: openai.APIStatusError, endpoint: EndpointSettings, redact: Redact) -> Failure:
    status = error.status_code
    detail = f"HTTP {status}: {redact(_message(error))}"[:MAX_DETAIL_CHARS]
    _stop_if_hopeless(error, detail, endpoint)
    wait_s = requested_wait_s(error.response.headers, time.time())
    if status == 429:
        return Failure("rate_limited", detail, server_wait_s=wait_s, address_at_fault=False)
    if status == 408:
        return Failure("timeout", detail, server_wait_s=wait_s)
    if status == 409 or status >= 500:
        return Failure("server_error", detail, server_wait_s=wait_s)
    return Failure("refused", detail, repeatable=False, address_at_fault=False)


def _stop_if_hopeless(error: openai.APIStatusError, detail: str, endpoint: EndpointSettings) -> None:
    status = error.status_code
    if status in (401, 403):
        key = f"environment variable {endpoint.api_key_env}" if endpoint.api_key_env else "endpoint's api_key_env"
        raise KeyRefused(
            f"the endpoint of model {endpoint.model!r} refused the API key; check the {key}. It said: {detail}"
        )
    if status == 404:
        raise ModelUnknown(
            f"the endpoint does not know model {endpoint.model!r}, or an address among "
            f"{list(endpoint.base_urls)} lacks its /v1 part; correct endpoints.*.model or base_urls. It said: {detail}"
        )
    if status == 402 or (status == 429 and "insufficient_quota" in (error.code, error.type)):
        raise QuotaExhausted(
            f"the account behind {endpoint.api_key_env or 'the endpoint'} has no money left for model "
            f"{endpoint.model!r}; add credit and start again. It said: {detail}"
        )


def _message(error: openai.APIStatusError) -> str:
    told = error.body.get("message") if isinstance(error.body, dict) else None
    return str(told or error.response.text)


def requested_wait_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds that a response asks to wait; None if it does not say.

    `headers` is case-insensitive, `now_s` Unix time.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if (told := headers.get("retry-after")) is not None:
        seconds = _number(told)
        return seconds if seconds is not None else _until_date_s(told, now_s)
    waits = [
        (headers.get(f"x-ratelimit-remaining-{what}"), duration_s(headers.get(f"x-ratelimit-reset-{what}", "")))
        for what in ("requests", "tokens")
    ]
    exhausted = [wait for left, wait in waits if wait is not None and left in (None, "0")]
    known = exhausted or [wait for _, wait in waits if wait is not None]
    return max(known, default=None)


def duration_s(text: str) -> float | None:
    """Seconds of "1s", "6m0s", "20ms" or a plain number; None if it is no duration."""
    if (number := _number(text)) is not None:
        return number
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None


def _until_date_s(text: str, now_s: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except ValueError:
        return None
