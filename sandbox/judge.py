"""The closed world's judge: answers the pipeline's judge prompts by reading them, and nothing else.

It sees only the messages of one chat request. A prompt kind is known by its labelled fields, each label on a
line of its own in the last user message ("### Question"), with the content on the lines after it; the last
field runs to the end of the message, so that labels inside it are its content. Text inside a field is data:
nothing that stands there is obeyed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.outcome import judge_outcome

Message = Mapping[str, Any]
Fields = Mapping[str, str]

NOT_A_JUDGE_PROMPT = "I can only judge predictions; this message holds no judge prompt that I know."


@dataclass(frozen=True)
class PromptKind:
    """A judge prompt: the labels of its fields in their order, and who reads them."""

    labels: tuple[str, ...]
    read: Callable[[Fields], str]


def judge_reply(messages: Sequence[Message]) -> str:
    """The reply to a chat: a judgement where the last user message is a known judge prompt, else a refusal."""
    prompt = _last_user_text(messages)
    for kind in PROMPT_KINDS.values():
        fields = read_fields(prompt, kind.labels)
        if fields is not None:
            return kind.read(fields)
    return NOT_A_JUDGE_PROMPT


def read_fields(prompt: str, labels: Sequence[str]) -> dict[str, str] | None:
    """Contents of the fields, which must all be there in this order; None where one is missing."""
    lines = prompt.splitlines()
    starts: list[int] = []
    for label in labels:
        after = starts[-1] + 1 if starts else 0
        line = next((i for i in range(after, len(lines)) if lines[i].strip() == f"### {label}"), None)
        if line is None:
            return None
        starts.append(line)
    ends = [*starts[1:], len(lines)]
    return {
        label: "\n".join(lines[start + 1 : end]).strip() for label, start, end in zip(labels, starts, ends, strict=True)
    }


def _last_user_text(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        if message.get("role") == "user":
            return content_text(message.get("content"))
    return ""


def content_text(content: object) -> str:
    """Text of a message's content, a string or OpenAI's list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _read_outcome(fields: Fields) -> str:
    accepted = [line.strip()[1:].strip() for line in fields["Accepted answers"].splitlines() if line.strip()[:1] == "-"]
    accepted = [answer for answer in accepted if answer]
    if not accepted:
        return json.dumps({"explanation": "No accepted answer is given.", "score": 0})
    judgement = judge_outcome(fields["Question"], accepted, fields["Prediction"])
    return json.dumps({"explanation": judgement.explanation, "score": judgement.score})


PROMPT_KINDS: dict[str, PromptKind] = {
    "outcome": PromptKind(("Question", "Accepted answers", "Prediction"), _read_outcome),
}
"""Every prompt that the judge answers; a new kind is one more line here."""
