"""The judge: one call decides whether an answer is right, whatever the number of accepted answers.

TruthRL App. E, Table 11, gives criteria and fields. The template is the system message, as it stands; question,
accepted answers and prediction go into the user message as labelled fields, the prediction last. All three are
data from outside: each value is brought to one line, without a run of "#" and without what a chat template could
take for a token of its own, so that it cannot open a field, close its own or end the prompt.

Departures: the paper's examples are not published, ours stand in the template; its prompt gives one ground truth,
ours all accepted answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from configs.settings import JudgeSettings
from tasks.core.records import Question, Record
from tasks.llm.requests import ChatRequest
from tasks.verify.extract import outside_thinking
from tasks.verify.spelling import visible

MAX_VALUE_CHARS = 2000
"""A longer question, alias or prediction is shown as its head and tail: a final answer is concise."""
MAX_REPLY_CHARS = 16_000
"""A longer reply is no judgement."""
MAX_BRACES = 200
"""Nor is one with more opening braces: bounds the time that nested rubbish takes."""

_HASHES = re.compile("[#\uff03\ufe5f]{2,}|[\uff03\ufe5f]")
_TOKEN_LIKE = re.compile(r"(?<=<)(?=[|\uff5c/!a-zA-Z])|(?<=\[)(?=/?(?:INST|SYS))|(?<=[|\uff5c])(?=>)")
_SCORE_MEMBER = re.compile(
    r"""["']score["']\s{0,9}:\s{0,9}["']?(?P<value>1|0|true|false)(?:\.0)?["']?\s{0,9}(?=[,}])""", re.IGNORECASE
)
_SCORES = {"1": 1, "1.0": 1, "true": 1, "0": 0, "0.0": 0, "false": 0}


class Judgement(Record):
    """What the judge said."""

    score: int
    """1 right, 0 wrong."""
    explanation: str


def judge_request(
    template: str, settings: JudgeSettings, question: Question, answer: str, sample: int = 0
) -> ChatRequest:
    """The one call that judges `answer`; `sample` tells a repeated request from the first."""
    user = outcome_message(question.question, question.answers, answer)
    return ChatRequest(
        messages=({"role": "system", "content": template.strip()}, {"role": "user", "content": user}),
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        sample=sample,
    )


def outcome_message(question: str, accepted: Sequence[str], prediction: str) -> str:
    """The user message: each label on a line of its own, one "- " line an accepted answer, the prediction last."""
    aliases = dict.fromkeys(line for answer in accepted if (line := as_data(answer)))
    listed = "\n".join(f"- {alias}" for alias in aliases)
    return (
        f"### Question\n{as_data(question)}\n\n### Accepted answers\n{listed}\n\n### Prediction\n{as_data(prediction)}"
    )


def as_data(text: str) -> str:
    """Text from outside as one harmless line."""
    line = " ".join(visible(text).split())
    if len(line) > MAX_VALUE_CHARS:
        half = MAX_VALUE_CHARS // 2
        line = f"{line[:half]} [... {len(line) - 2 * half} characters left out ...] {line[-half:]}"
    return _TOKEN_LIKE.sub(" ", _HASHES.sub("#", line))


def parse_judgement(text: str) -> Judgement | None:
    """The judgement in a reply, or None where there is none or more than one.

    Read: a JSON object with a "score" of 1 or 0 (also "1", true, 1.0), alone, fenced or within other text, after
    the judge's own thinking; failing any, its `"score": 1` where the object itself is broken (an unescaped quote in
    the explanation). Objects that disagree, another score, and figures or words in prose give None.
    """
    if len(text) > MAX_REPLY_CHARS or text.count("{") > MAX_BRACES:
        return None
    reply = outside_thinking(text)
    judged = [members for members in _objects(reply) if any(key == "score" for key, _ in members)]
    if judged:
        scores = {_score(value) for members in judged for key, value in members if key == "score"}
        explanation = next((value for key, value in judged[0] if key == "explanation"), "")
    else:
        scores = {_SCORES[match["value"].lower()] for match in _SCORE_MEMBER.finditer(reply)}
        explanation = ""
    score = scores.pop() if len(scores) == 1 else None
    if score is None:
        return None
    return Judgement(score=score, explanation=visible(explanation) if isinstance(explanation, str) else "")


def _objects(text: str) -> Iterator[list[tuple[str, Any]]]:
    """Members of each JSON object in the text; the inside of one is searched only where it has no score."""
    decoder = json.JSONDecoder(object_pairs_hook=_Members, strict=False)
    position = text.find("{")
    while position >= 0:
        end = position + 1
        try:
            members, stop = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):  # not the start of an object; look further
            pass
        else:
            yield members
            if any(key == "score" for key, _ in members):
                end = stop
        position = text.find("{", end)


class _Members(list[tuple[str, Any]]):
    """An object's members with keys in lower case; duplicates are kept, so that they can disagree."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__((key.strip().lower(), value) for key, value in pairs)


def _score(value: Any) -> int | None:
    if isinstance(value, bool | int | float | str):
        return _SCORES.get(str(value).strip().lower())
    return None
