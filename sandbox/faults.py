"""Faults that the closed world's service can be told to show, per route, and its counts of what it answered.

Every request of a route draws once from a generator seeded with (seed, route), so the n-th request of a plan always
meets the same fault; shares add up to at most 1 and what is left is answered well.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

RouteName = Literal["chat", "search", "pages"]
FaultKind = Literal["rate_limited", "server_error", "truncated_json", "wrong_schema", "garbage_text", "hang"]
ROUTES: tuple[RouteName, ...] = ("chat", "search", "pages")
FAULT_KINDS: tuple[FaultKind, ...] = (
    "rate_limited",
    "server_error",
    "truncated_json",
    "wrong_schema",
    "garbage_text",
    "hang",
)


class FaultPlan(BaseModel):
    """What goes wrong on one route. Shares are of all its requests; 1.0 means every one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    latency_s: float = Field(0.0, ge=0)
    """Seconds before every answer."""
    jitter_s: float = Field(0.0, ge=0)
    """Upper bound of a random addition to the latency."""
    rate_limited: float = Field(0.0, ge=0, le=1)
    """Share answered 429 with Retry-After."""
    retry_after_s: int = Field(1, ge=0)
    """Seconds that Retry-After asks for."""
    server_error: float = Field(0.0, ge=0, le=1)
    """Share answered 500."""
    truncated_json: float = Field(0.0, ge=0, le=1)
    """Share whose right body is cut in the middle (HTTP 200)."""
    wrong_schema: float = Field(0.0, ge=0, le=1)
    """Share answered with valid JSON of another shape (HTTP 200)."""
    garbage_text: float = Field(0.0, ge=0, le=1)
    """Share answered with meaningless content in the right envelope (HTTP 200)."""
    hang: float = Field(0.0, ge=0, le=1)
    """Share that is never answered."""
    for_s: float | None = Field(None, gt=0)
    """Seconds after which the plan ends; None keeps it."""
    seed: int = 0
    """Seed of the draws."""

    @model_validator(mode="after")
    def _shares_fit(self) -> FaultPlan:
        total = sum(getattr(self, kind) for kind in FAULT_KINDS)
        if total > 1 + 1e-9:
            raise ValueError(f"shares of faults add up to {total:g}; at most 1 is possible")
        return self


class FaultPlans(BaseModel):
    """Plans by route; a route that is left out has no faults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chat: FaultPlan | None = None
    search: FaultPlan | None = None
    pages: FaultPlan | None = None

    def of(self, route: RouteName) -> FaultPlan | None:
        """The route's plan."""
        plan: FaultPlan | None = getattr(self, route)
        return plan


class Draw(BaseModel):
    """What one request meets."""

    model_config = ConfigDict(frozen=True)

    delay_s: float = 0.0
    fault: FaultKind | None = None
    retry_after_s: int = 0
    token: int = 0
    """Random number that garbage is made of."""


class FaultDesk:
    """Holds the plans in force. Replacing them restarts the draws and the clock of `for_s`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.replace(FaultPlans())

    def replace(self, plans: FaultPlans) -> None:
        """Put other plans in force."""
        generators = {route: _generator(plans.of(route), route) for route in ROUTES}
        self._state = plans, generators, self._clock()

    def in_force(self) -> FaultPlans:
        """The plans that have not ended."""
        plans, _, since = self._state
        elapsed = self._clock() - since
        return FaultPlans(**{route: plan for route in ROUTES if (plan := plans.of(route)) and _lasts(plan, elapsed)})

    def draw(self, route: RouteName) -> Draw:
        """What the route's next request meets."""
        plans, generators, since = self._state
        plan = plans.of(route)
        if plan is None or not _lasts(plan, self._clock() - since):
            return Draw()
        generator = generators[route]
        chance, jitter, token = generator.random(), generator.random(), generator.getrandbits(32)
        delay_s = plan.latency_s + jitter * plan.jitter_s
        for kind in FAULT_KINDS:
            share: float = getattr(plan, kind)
            if chance < share:
                return Draw(delay_s=delay_s, fault=kind, retry_after_s=plan.retry_after_s, token=token)
            chance -= share
        return Draw(delay_s=delay_s)


def _generator(plan: FaultPlan | None, route: RouteName) -> random.Random:
    return random.Random(f"{plan.seed if plan else 0}/{route}")


def _lasts(plan: FaultPlan, elapsed_s: float) -> bool:
    return plan.for_s is None or elapsed_s < plan.for_s


def garbage(token: int) -> str:
    """Text that means nothing: letters, signs and a stray bracket, never a digit or a quote."""
    rng = random.Random(token)
    return "".join(rng.choice("aeiou xyzk \u00a7\u00b1%&{~\u00e9\u4e2d") for _ in range(rng.randint(20, 120)))


class Tally:
    """Counts of requests and faults by route, and how many chat requests were repeats of earlier ones."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start counting anew."""
        self._requests: Counter[str] = Counter()
        self._faults: dict[str, Counter[str]] = {route: Counter() for route in ROUTES}
        self._received: Counter[bytes] = Counter()
        self._answered: Counter[bytes] = Counter()

    def request(self, route: RouteName, fault: FaultKind | None) -> None:
        """One more request, with what it met."""
        self._requests[route] += 1
        if fault is not None:
            self._faults[route][fault] += 1

    def chat_body(self, body: bytes, *, answered: bool) -> None:
        """One more chat request; `answered` if it got a well-formed completion."""
        digest = hashlib.blake2b(body, digest_size=16).digest()
        (self._answered if answered else self._received)[digest] += 1

    def counts(self) -> dict[str, object]:
        """The counts as JSON: requests, faults, chat_received and chat_answered (distinct bodies and repeats)."""
        return {
            "requests": {route: self._requests[route] for route in ROUTES},
            "faults": {route: dict(self._faults[route]) for route in ROUTES},
            "chat_received": _distinct(self._received),
            "chat_answered": _distinct(self._answered),
        }


def _distinct(counter: Counter[bytes]) -> dict[str, int]:
    return {"distinct": len(counter), "repeats": counter.total() - len(counter)}
