"""Generation with vLLM: a server of its own per model, asked over its OpenAI-compatible interface.

Each sample is a request of its own with a seed of its own (one seed for all requests correlates their samples;
the protocol's `n` would share one), `generation.batch` of them in flight. The server keeps a prompt's cache, so that
its samples read it once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAioHttpClient

from configs.settings import GenerationSettings, PolicySettings
from tasks.core.models import ModelSource
from tasks.llm.background import BackgroundLoop, run_bounded
from tasks.llm.generation import Completion, GenerationFailed, Prompt, Sampling, sample_seed
from tasks.llm.generation.server import MODEL_NAME, VllmServer
from tasks.llm.requests import ChatRequest
from tasks.llm.wire import body, parse

CONNECT_TIMEOUT_S = 10.0
Emit = Callable[[tuple[int, list[Completion]]], None]


class VllmGenerator:
    """A model behind a vLLM server that lives as long as this object.

    Raises:
        GenerationFailed: the server did not start, or the model's chat template does not open an assistant turn.
    """

    def __init__(self, model: ModelSource, policy: PolicySettings, settings: GenerationSettings) -> None:
        self._batch = settings.batch
        self._max_context = policy.max_context_tokens
        self._server = VllmServer(model, policy, settings)
        self._background = BackgroundLoop("vllm-client")
        try:
            self._client = _client(self._server, settings.batch)
            self._background.run(self._check_chat_template(model.name))
        except BaseException:
            self.close()
            raise

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[tuple[int, list[Completion]]]:
        """See :class:`tasks.llm.generation.Generator`."""
        yield from self._background.stream(partial(self._generate, prompts, sampling))

    def close(self) -> None:
        """Stop the server and all its processes."""
        self._background.run(self._client.close())
        self._background.close()
        self._server.close()

    async def _generate(self, prompts: Sequence[Prompt], sampling: Sampling, emit: Emit) -> None:
        places = asyncio.Semaphore(self._batch)

        async def answer(index: int, prompt: Prompt) -> None:
            limit = min(sampling.max_new_tokens, await self._room(index, prompt))
            samples = (self._sample(prompt, sample, limit, sampling, places) for sample in range(prompt.n))
            emit((index, list(await _together(samples))))

        jobs: Iterator[Coroutine[Any, Any, None]] = (answer(index, prompt) for index, prompt in enumerate(prompts))
        await run_bounded(jobs, self._batch)

    async def _sample(
        self, prompt: Prompt, sample: int, limit: int, sampling: Sampling, places: asyncio.Semaphore
    ) -> Completion:
        request = ChatRequest(
            messages=tuple(prompt.messages),
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=limit,
            sample=sample_seed(prompt.seed, sample),
        )
        async with places:
            reply = parse(await self._post("/v1/chat/completions", body(MODEL_NAME, request)), prompt_tokens=0)
        return Completion(text=reply.text, finished=reply.finish_reason == "stop", tokens=reply.tokens_out)

    async def _room(self, index: int, prompt: Prompt) -> int:
        """Tokens that the context leaves for a completion; the server refuses to be asked for more."""
        length = await self._length(prompt.messages, opened=True)
        if length >= self._max_context:
            raise GenerationFailed(
                f"prompt {index} has {length} tokens, which leaves no room for a completion: raise "
                "policy.max_context_tokens or lower evidence.max_reference_tokens"
            )
        return self._max_context - length

    async def _length(self, messages: list[dict[str, str]], opened: bool) -> int:
        asked = {"model": MODEL_NAME, "messages": messages, "add_generation_prompt": opened}
        reply = json.loads(await self._post("/tokenize", asked))
        return int(reply["count"])

    async def _check_chat_template(self, name: str) -> None:
        question = [{"role": "user", "content": "?"}]
        if await self._length(question, opened=True) == await self._length(question, opened=False):
            raise GenerationFailed(
                f"the chat template of {name} ignores add_generation_prompt, so the model would go on with the user's "
                "turn: make the template open the assistant's turn when it is set"
            )

    async def _post(self, path: str, asked: dict[str, Any]) -> str:
        try:
            response = await self._client.post(path, body=asked, cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            raise self._server.failure(f"the vLLM server refused a request: {error.message}") from None
        except openai.APIConnectionError:
            raise self._server.failure("the vLLM server stopped answering; did it run out of memory?") from None
        return response.text


async def _together(samples: Iterator[Coroutine[Any, Any, Completion]]) -> Sequence[Completion]:
    """All of them, cancelled together if one fails."""
    tasks = [asyncio.create_task(sample) for sample in samples]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _client(server: VllmServer, connections: int) -> AsyncOpenAI:
    # A completion may take as long as it takes; a dead server breaks the connection.
    timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    return AsyncOpenAI(
        api_key=server.key,
        base_url=server.root,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(timeout=timeout, limits=limits, trust_env=False),
    )
