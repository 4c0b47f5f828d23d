"""Fault plans: what is drawn, how long it lasts, what is refused."""

from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from sandbox.faults import FAULT_KINDS, Draw, FaultDesk, FaultPlan, FaultPlans, Tally, garbage


def test_without_a_plan_nothing_goes_wrong() -> None:
    assert FaultDesk().draw("chat") == Draw()


def test_draws_repeat_and_follow_the_shares() -> None:
    plans = FaultPlans(chat=FaultPlan(rate_limited=0.3, garbage_text=0.2, hang=0.1, retry_after_s=7))
    first, second = FaultDesk(), FaultDesk()
    first.replace(plans)
    second.replace(plans)
    drawn = [first.draw("chat") for _ in range(5000)]
    assert drawn == [second.draw("chat") for _ in range(5000)]
    counts = Counter(draw.fault for draw in drawn)
    assert set(counts) == {"rate_limited", "garbage_text", "hang", None}
    assert counts["rate_limited"] / 5000 == pytest.approx(0.3, abs=0.03)
    assert counts["garbage_text"] / 5000 == pytest.approx(0.2, abs=0.03)
    assert counts["hang"] / 5000 == pytest.approx(0.1, abs=0.03)
    assert all(draw.retry_after_s == 7 for draw in drawn if draw.fault)
    assert first.draw("pages") == Draw()


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_share_of_one_is_every_request(kind: str) -> None:
    desk = FaultDesk()
    desk.replace(FaultPlans(search=FaultPlan.model_validate({kind: 1.0})))
    assert {desk.draw("search").fault for _ in range(50)} == {kind}


def test_a_plan_ends_after_its_time() -> None:
    now = [100.0]
    desk = FaultDesk(clock=lambda: now[0])
    desk.replace(FaultPlans(chat=FaultPlan(rate_limited=1.0, for_s=60)))
    now[0] = 159.9
    assert desk.draw("chat").fault == "rate_limited"
    now[0] = 160.0
    assert desk.draw("chat").fault is None
    assert desk.in_force() == FaultPlans()


def test_latency_has_jitter_within_its_bounds() -> None:
    desk = FaultDesk()
    desk.replace(FaultPlans(pages=FaultPlan(latency_s=1.0, jitter_s=0.5)))
    delays = {desk.draw("pages").delay_s for _ in range(100)}
    assert len(delays) == 100
    assert min(delays) >= 1.0
    assert max(delays) <= 1.5


@pytest.mark.parametrize(
    "plan", [{"rate_limit": 1.0}, {"hang": 1.1}, {"hang": 0.6, "server_error": 0.6}, {"for_s": 0}, {"latency_s": -1}]
)
def test_bad_plans_are_refused(plan: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        FaultPlan.model_validate(plan)


def test_garbage_is_never_a_judgement() -> None:
    texts = {garbage(token) for token in range(200)}
    assert len(texts) == 200
    assert not any(character in text for text in texts for character in '01"}')


def test_tally_tells_distinct_bodies_from_repeats() -> None:
    tally = Tally()
    for body in (b"a", b"a", b"b"):
        tally.chat_body(body, answered=False)
    tally.chat_body(b"a", answered=True)
    counts = tally.counts()
    assert counts["chat_received"] == {"distinct": 2, "repeats": 1}
    assert counts["chat_answered"] == {"distinct": 1, "repeats": 0}
