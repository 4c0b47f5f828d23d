"""Preflight: each missing thing is found, with its fix, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from configs.resolve import resolve
from configs.settings import Settings
from flows.preflight import NotReady, gpu_memory_gb, problems, require_ready
from sandbox.service import LocalService


@pytest.fixture(scope="module")
def service() -> Iterator[LocalService]:
    with LocalService() as running:
        yield running


@pytest.fixture
def settings_for(service: LocalService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("PLUMBLINE_WORLD_URL", service.url)

    def build(overrides: dict[str, Any] | None = None, profile: str = "sandbox") -> Settings:
        return resolve("truthrl", profile, {"run": {"store": str(tmp_path), "min_disk_gb": 0}, **(overrides or {})})

    return build


def found(settings: Settings) -> list[str]:
    return [problem.what for problem in problems(settings)]


def test_the_closed_world_is_ready(settings_for: Any) -> None:
    require_ready(settings_for())


@pytest.mark.parametrize(
    ("judge", "what", "fix"),
    [
        ({"model": "nobody"}, "does not serve 'nobody'", "closed-world-judge"),
        ({"base_urls": ["http://127.0.0.1:9/v1"]}, "does not answer", "start it"),
        ({"api_key_env": "PLUMBLINE_NO_SUCH_KEY"}, "PLUMBLINE_NO_SUCH_KEY is not set", "export PLUMBLINE_NO_SUCH_KEY"),
    ],
)
def test_the_judges_endpoint(settings_for: Any, judge: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(NotReady) as refused:
        require_ready(settings_for({"endpoints": {"judge": judge}}))
    assert what in str(refused.value)
    assert fix in str(refused.value)


def test_a_refused_key_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch, settings_for: Any) -> None:
    monkeypatch.setenv("PLUMBLINE_WRONG_KEY", "sk-very-secret")
    with LocalService(key="right") as guarded:
        judge = {"base_urls": [f"{guarded.url}/v1"], "api_key_env": "PLUMBLINE_WRONG_KEY"}
        with pytest.raises(NotReady, match="refuses the key") as refused:
            require_ready(settings_for({"endpoints": {"judge": judge}}))
    assert "secret" not in str(refused.value)


def test_a_full_disk(settings_for: Any, tmp_path: Path) -> None:
    (what,) = found(settings_for({"run": {"store": str(tmp_path), "min_disk_gb": 1e9}}))
    assert "GB free" in what


def test_the_gpu_profile_names_all_that_is_missing_at_once(settings_for: Any, service: LocalService) -> None:
    judge = {"base_urls": [f"{service.url}/v1"], "model": "closed-world-judge"}
    told = "\n".join(
        found(settings_for({"endpoints": {"judge": judge}, "policy": {"model": "/no/such"}}, "single-gpu"))
    )
    assert "/no/such" in told
    if not gpu_memory_gb():
        assert "wants 1 GPU(s), this machine shows 0" in told


def test_a_template_without_generation_prompt(settings_for: Any, service: LocalService, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "chat_template.jinja").write_text("{{ messages }}")
    judge = {"base_urls": [f"{service.url}/v1"], "model": "closed-world-judge"}
    told = found(settings_for({"endpoints": {"judge": judge}, "policy": {"model": str(model)}}, "single-gpu"))
    assert any("has no generation prompt" in what for what in told)
