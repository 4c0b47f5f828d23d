from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from tasks.llm.retry import Backoff, Failure, duration_s, requested_wait_s

NOW_S = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": formatdate(NOW_S + 30, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(NOW_S - 30, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-reset-requests": "2s"}, 2.0),
        ({"x-ratelimit-reset-requests": "2s", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "900",
            },
            2.0,
        ),
        ({"retry-after": "3", "x-ratelimit-reset-requests": "60s"}, 3.0),
    ],
)
def test_requested_wait(headers: dict[str, str], wait_s: float | None) -> None:
    assert requested_wait_s(headers, NOW_S) == wait_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1.0), ("6m0s", 360.0), ("20ms", 0.02), ("1h2m3s", 3723.0), ("12", 12.0), ("", None), ("1s later", None)],
)
def test_duration(text: str, seconds: float | None) -> None:
    assert duration_s(text) == seconds


@pytest.fixture
def plain_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.llm.retry.FIRST_BACKOFF_S", 1.0)
    monkeypatch.setattr("tasks.llm.retry.MAX_BACKOFF_S", 4.0)
    monkeypatch.setattr("random.uniform", lambda low, high: (low, high)[1])


@pytest.mark.usefixtures("plain_backoff")
def test_bound_of_the_jitter_doubles_up_to_a_cap(settings_for: Any) -> None:
    backoff = Backoff(settings_for(max_attempts=6, max_wait_s=100))
    failure = Failure("server_error", "")
    assert [backoff.pause_s(failure, False) for _ in range(6)] == [1.0, 2.0, 4.0, 4.0, 4.0, None]


@pytest.mark.usefixtures("plain_backoff")
def test_waiting_as_told_uses_time_but_no_attempts(settings_for: Any) -> None:
    backoff = Backoff(settings_for(max_attempts=2, max_wait_s=20))
    told = Failure("rate_limited", "", server_wait_s=3.0)
    # 3+1, 3+2, 3+4 leave 4 of 20 seconds; 3+4 is cut to them; nothing is left.
    assert [backoff.pause_s(told, False) for _ in range(5)] == [4.0, 5.0, 7.0, 4.0, None]


@pytest.mark.usefixtures("plain_backoff")
def test_another_address_needs_no_waiting(settings_for: Any) -> None:
    backoff = Backoff(settings_for(max_wait_s=10))
    assert backoff.pause_s(Failure("rate_limited", "", server_wait_s=60.0), True) == 1.0
    assert backoff.pause_s(Failure("rate_limited", "", server_wait_s=60.0), False) is None


def test_refusals_are_never_repeated(settings_for: Any) -> None:
    assert Backoff(settings_for()).pause_s(Failure("refused", "", repeatable=False), True) is None


def test_jitter_is_full(settings_for: Any) -> None:
    pauses = [Backoff(settings_for()).pause_s(Failure("server_error", ""), False) for _ in range(200)]
    assert all(pause is not None and 0 <= pause <= 0.01 for pause in pauses)
    assert min(pauses) < 0.001  # type: ignore[type-var]
    assert max(pauses) > 0.009  # type: ignore[type-var]
