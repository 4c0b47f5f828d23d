"""The one grader: what probing, rewards and evaluation all call right, wrong and abstained.

Rules in their order (TruthRL sections 2.1 and 3.2, App. E):

1. No final answer, or a response cut at the token limit: incorrect (via no_answer).
2. The premise is false: "invalid question" is correct, a refusal abstains, all else is incorrect (via premise).
3. A refusal abstains, "invalid question" is incorrect: unless it is literally an accepted answer, as a song's title
   may be, in which case matching wins.
4. An exact match is correct (via exact; the criteria give it score 1), unless the settings send it to the judge.
5. The judge decides. If it cannot (outage, rate limit, a reply that says nothing twice), the response is UNSCORED:
   no rule turns a failure of the instrument into a score.

Training and evaluation use the same rules; the paper leaves open what an unboxed answer is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from configs.settings import JudgeSettings
from tasks.core.records import Outcome, Question, Record, Verdict
from tasks.llm.client import ChatClient
from tasks.llm.requests import CallFailed, ChatRequest, Reply
from tasks.verify.extract import final_answer
from tasks.verify.judge import judge_request, parse_judgement
from tasks.verify.matching import exact_match
from tasks.verify.refusals import is_false_premise_answer, is_refusal
from tasks.verify.spelling import visible

TOLERATED_UNSCORED = 2
"""So many failures stop nothing, however few measurements there are: below 40 a share of 5% is two rows."""
UNPARSABLE = "unparsable"
"""Reason of a reply that holds no judgement; the other reasons are CallFailed's."""
_SHOWN_CHARS = 200
_ADVICE = {
    "timeout": "timeout: raise the endpoint's timeout_s or lower its concurrency.",
    "connection": "connection: is the endpoint up, and are its base_urls right?",
    "rate_limited": "rate_limited: lower the endpoint's concurrency or raise max_attempts and max_wait_s.",
    "server_error": "server_error: look at the endpoint's own log.",
    "refused": "refused: the endpoint takes no such request; the verdicts' details say why.",
    "bad_reply": "bad_reply: the endpoint does not speak the chat completions protocol as it should.",
    UNPARSABLE: "unparsable: the judge's replies hold no score; try a larger judge.max_tokens or another model.",
}
_Case = tuple[Question, str]
"""A question and the answer to be judged."""


class GradeItem(Record):
    """A response and the question that it answers."""

    question: Question
    text: str
    finished: bool
    """The model ended by itself."""


class TooManyUnscored(RuntimeError):
    """The instrument fails too often for the results to mean anything."""


class Grader:
    """Grades responses; safe to use from several threads.

    Args:
        settings: the judge's.
        template: text of the judge's prompt.
        client: the judge's endpoint.
    """

    def __init__(self, settings: JudgeSettings, template: str, client: ChatClient) -> None:
        self._settings = settings
        self._template = template
        self._client = client

    def grade(self, items: Sequence[GradeItem]) -> list[Verdict]:
        """One verdict an item, in order. All judge calls are in flight together, equal ones made once.

        Raises:
            CallsStopped: no call can succeed (key, model, account or budget).
        """
        ruled = [rule_verdict(item, exact_first=self._settings.exact_match_first) for item in items]
        cases = {
            index: (item.question, ruling)
            for index, (item, ruling) in enumerate(zip(items, ruled, strict=True))
            if not isinstance(ruling, Verdict)
        }
        judged = dict(zip(cases, self._judge(list(cases.values())), strict=True))
        return [ruling if isinstance(ruling, Verdict) else judged[index] for index, ruling in enumerate(ruled)]

    def _judge(self, cases: Sequence[_Case]) -> list[Verdict]:
        """Ask for all cases together; those whose reply holds no judgement are asked once more.

        A second reply without a judgement is not kept, nor the first: a rerun asks anew and does not find the
        same garbage in the cache.
        """
        outcomes = self._ask(self._requests(cases, sample=0))
        unclear = [index for index, outcome in enumerate(outcomes) if _is_unparsable(outcome)]
        if unclear:
            unclear_cases = [cases[index] for index in unclear]
            first, second = (self._requests(unclear_cases, sample) for sample in (0, 1))
            again = self._ask(second)
            for index, outcome in zip(unclear, again, strict=True):
                outcomes[index] = outcome
            lost = [position for position, outcome in enumerate(again) if _is_unparsable(outcome)]
            self._client.forget([requests[position] for requests in (first, second) for position in lost])
        return [_verdict(answer, outcome) for (_, answer), outcome in zip(cases, outcomes, strict=True)]

    def _requests(self, cases: Sequence[_Case], sample: int) -> list[ChatRequest]:
        return [judge_request(self._template, self._settings, question, answer, sample) for question, answer in cases]

    def _ask(self, requests: Sequence[ChatRequest]) -> list[Reply | CallFailed]:
        """Replies in order; equal requests are sent once."""
        texts = [request.messages[-1]["content"] for request in requests]
        distinct = dict(zip(texts, requests, strict=True))
        replies = dict(zip(distinct, self._client.complete_all(list(distinct.values())), strict=True)) if texts else {}
        return [replies[text] for text in texts]


def rule_verdict(item: GradeItem, exact_first: bool = True) -> Verdict | str:
    """The verdict where a rule gives one, else the final answer, which is the judge's to decide."""
    answer = final_answer(item.text, item.finished)
    if answer is None:
        detail = "no final answer" if item.finished else "cut at the token limit"
        return Verdict(outcome=Outcome.INCORRECT, answer=None, via="no_answer", detail=detail)
    if item.question.false_premise:
        return _premise_verdict(answer)
    accepted = exact_match(answer, item.question.answers)
    if accepted and exact_first:
        return Verdict(outcome=Outcome.CORRECT, answer=answer, via="exact")
    if not accepted and is_refusal(answer):
        return Verdict(outcome=Outcome.ABSTAINED, answer=answer, via="refusal")
    if not accepted and is_false_premise_answer(answer):
        return Verdict(outcome=Outcome.INCORRECT, answer=answer, via="premise", detail="the premise is true")
    return answer


def _premise_verdict(answer: str) -> Verdict:
    if is_false_premise_answer(answer):
        return Verdict(outcome=Outcome.CORRECT, answer=answer, via="premise")
    if is_refusal(answer):
        return Verdict(outcome=Outcome.ABSTAINED, answer=answer, via="refusal")
    return Verdict(outcome=Outcome.INCORRECT, answer=answer, via="premise", detail="the premise is false")


def _is_unparsable(outcome: Reply | CallFailed) -> bool:
    return isinstance(outcome, Reply) and parse_judgement(outcome.text) is None


def _verdict(answer: str, outcome: Reply | CallFailed) -> Verdict:
    if isinstance(outcome, CallFailed):
        detail = f"{outcome.reason}: {outcome.detail}"
        return Verdict(outcome=Outcome.UNSCORED, answer=answer, via="judge", detail=visible(detail))
    judgement = parse_judgement(outcome.text)
    if judgement is None:
        detail = f"{UNPARSABLE}: {visible(outcome.text)[:_SHOWN_CHARS]}"
        return Verdict(outcome=Outcome.UNSCORED, answer=answer, via="judge", detail=detail)
    right = Outcome.CORRECT if judgement.score else Outcome.INCORRECT
    return Verdict(outcome=right, answer=answer, via="judge", detail=judgement.explanation)


def check_unscored(verdicts: Iterable[Verdict], limit: float) -> None:
    """Stop where more than the share `limit` (0..1) of the verdicts is UNSCORED.

    Up to TOLERATED_UNSCORED failures stop nothing, unless the limit is 0.

    Raises:
        TooManyUnscored: with the share, the most common reasons and what to do.
    """
    measured = 0
    unscored: Counter[str] = Counter()
    for verdict in verdicts:
        measured += 1
        if verdict.outcome is Outcome.UNSCORED:
            unscored[verdict.detail.split(":")[0]] += 1
    failed = unscored.total()
    if failed <= max(limit * measured, TOLERATED_UNSCORED if limit > 0 else 0):
        return
    reasons = unscored.most_common(3)
    named = ", ".join(f"{reason} ({count})" for reason, count in reasons)
    advice = " ".join(_ADVICE[reason] for reason, _ in reasons if reason in _ADVICE)
    raise TooManyUnscored(
        f"the judge failed on {failed} of {measured} responses ({failed / measured:.1%}); run.unscored_limit allows "
        f"{limit:.1%}. Most common: {named}. {advice} What was graded is kept: run again once the judge answers, and "
        f"only the failed ones are asked again; or raise run.unscored_limit."
    )
