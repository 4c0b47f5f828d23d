"""A grader whose judge is down: rules still decide, what needs the judge is UNSCORED."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from configs.settings import EndpointSettings, JudgeSettings
from tasks.llm.client import ChatClient
from tasks.verify.grader import Grader


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[Grader]:
    with socket.socket() as taken:  # bound but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        endpoint = EndpointSettings(
            base_urls=(f"http://127.0.0.1:{taken.getsockname()[1]}/v1",), model="m", api_key_env=None, max_attempts=1
        )
        with ChatClient(endpoint, tmp_path) as client:
            yield Grader(JudgeSettings(), "Grade it.", client)
