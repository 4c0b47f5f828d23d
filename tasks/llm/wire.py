"""Chat completions on the wire: the body that is sent, and a strict reading of what comes back."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, ValidationError

from tasks.llm.requests import ChatRequest, Reply


class BadReply(ValueError):
    """The body is not a chat completion: cut off, of another shape, or without a choice."""


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def body(model: str, request: ChatRequest) -> dict[str, Any]:
    """The request as the protocol wants it; the sample's index is the seed."""
    sent: dict[str, Any] = {
        "model": model,
        "messages": list(request.messages),
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
        "seed": request.sample,
    }
    if request.response_format is not None:
        sent["response_format"] = request.response_format
    return sent


def parse(content: str, prompt_tokens: int) -> Reply:
    """The reply in a response body.

    Where the endpoint gives no usage the prompt counts as `prompt_tokens` and the text as a token a byte: upper bounds.

    Raises:
        BadReply: there is no reply in it.
    """
    try:
        completion = _Completion.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadReply(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}") from None
    choice = completion.choices[0]
    text = choice.message.content if choice.message.content is not None else choice.message.refusal
    if text is None:
        raise BadReply(f"the message has no content (finish_reason {choice.finish_reason!r})")
    usage = completion.usage or _Usage(prompt_tokens=prompt_tokens, completion_tokens=len(text.encode()))
    return Reply(
        text=text,
        finish_reason=choice.finish_reason,
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
        cached=False,
    )
