"""OpenAI's chat completions, answered by the rule-based judge.

Departures from the real service: no streaming, no tools; a token is counted as four characters.
"""

from __future__ import annotations

import hmac
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.faults import Draw, garbage
from sandbox.judge import content_text, judge_reply

CHARACTERS_A_TOKEN = 4
MAX_CHOICES = 128
JUDGE_MODEL = "closed-world-judge"
MAX_BODY_BYTES = 4_000_000


class ChatMessage(BaseModel):
    """One message; further keys of the protocol are let through."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None


class ChatBody(BaseModel):
    """Body of a completion request, as far as the judge heeds it."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    n: int | None = Field(None, ge=1, le=MAX_CHOICES)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stream: bool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)


@dataclass(frozen=True)
class ChatService:
    """The chat endpoint: which models it knows, and the key it asks for (None: any or none)."""

    models: tuple[str, ...] = (JUDGE_MODEL,)
    key: str | None = None
    reply: Callable[[Sequence[dict[str, Any]]], str] = judge_reply

    def refuse_key(self, request: web.Request) -> web.Response | None:
        """A 401 where the request does not carry the key."""
        if self.key is None:
            return None
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if hmac.compare_digest(given.encode(), self.key.encode()):
            return None
        return openai_error(401, "Incorrect API key provided.", code="invalid_api_key")

    def list_models(self, request: web.Request) -> web.Response:
        """GET /v1/models."""
        refusal = self.refuse_key(request)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "closed-world"} for name in self.models]
        return refusal or web.json_response({"object": "list", "data": data})

    def complete(self, request: web.Request, raw: bytes, draw: Draw) -> web.Response:
        """POST /v1/chat/completions; a draw of garbage_text puts nonsense into a right completion."""
        if (refusal := self.refuse_key(request)) is not None:
            return refusal
        try:
            body = ChatBody.model_validate_json(raw)
        except ValidationError as error:
            return _bad_body(error)
        if body.model not in self.models:
            return openai_error(404, f"The model `{body.model}` does not exist.", code="model_not_found", param="model")
        if body.stream:
            return openai_error(400, "Streaming is not supported here; leave `stream` out.", param="stream")
        messages = [message.model_dump() for message in body.messages]
        text = garbage(draw.token) if draw.fault == "garbage_text" else self.reply(messages)
        return web.json_response(_completion(body, messages, text))


_ids = count(1)


def _completion(body: ChatBody, messages: Sequence[dict[str, Any]], text: str) -> dict[str, Any]:
    limit = body.max_completion_tokens or body.max_tokens
    cut = limit is not None and _tokens(text) > limit
    shown = text[: limit * CHARACTERS_A_TOKEN] if cut and limit is not None else text
    tokens_in = sum(_tokens(content_text(message["content"])) for message in messages)
    choices = body.n or 1
    tokens_out = choices * _tokens(shown)
    return {
        "id": f"chatcmpl-closed-{next(_ids)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.model,
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": shown, "refusal": None},
                "logprobs": None,
                "finish_reason": "length" if cut else "stop",
            }
            for index in range(choices)
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_A_TOKEN)


def _bad_body(error: ValidationError) -> web.Response:
    first = error.errors(include_url=False, include_input=False)[0]
    param = ".".join(map(str, first["loc"])) or None
    return openai_error(400, f"Invalid request body: {param or 'body'}: {first['msg']}", param=param)


def openai_error(
    status: int, message: str, *, code: str | None = None, param: str | None = None, retry_after_s: int | None = None
) -> web.Response:
    """An error as OpenAI words it."""
    kinds = {429: "rate_limit_exceeded", 500: "server_error"}
    body = {"message": message, "type": kinds.get(status, "invalid_request_error"), "param": param, "code": code}
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return web.Response(
        status=status, text=json.dumps({"error": body}), content_type="application/json", headers=headers
    )
