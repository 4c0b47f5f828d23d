from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tasks.llm.background import BackgroundLoop, run_bounded


def test_stream_yields_in_the_caller_and_raises_what_the_producer_raises() -> None:
    loop = BackgroundLoop("test")

    async def produce(emit: Callable[[int], None]) -> None:
        emit(1)
        await asyncio.sleep(0)
        emit(2)
        raise ValueError("broken")

    items = loop.stream(produce)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(items)
    loop.close()


def test_a_synchronous_call_on_the_loop_itself_is_refused() -> None:
    loop = BackgroundLoop("test")

    async def outer() -> None:
        loop.run(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="never return"):
        loop.run(outer())
    loop.close()


def test_bounded_run() -> None:
    running, most = 0, 0

    async def job() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    asyncio.run(run_bounded((job() for _ in range(50)), 7))
    assert (running, most) == (0, 7)
