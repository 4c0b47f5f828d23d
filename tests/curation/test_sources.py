"""data/sources.toml and what preflight asks of it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.settings import DataSettings
from tasks.curation import sources
from tasks.curation.sources import Source, check_sources, load_sources, local_digests


def test_the_shipped_hub_sets_are_pinned_to_commits() -> None:
    found = {name: source for name, source in load_sources().items() if source.hub is not None}
    assert set(found) == {"nq_open", "hotpotqa", "musique"}
    assert all(source.pinned for source in found.values())


def test_a_pin_must_be_a_commit_and_a_set_must_come_from_somewhere() -> None:
    with pytest.raises(ValidationError, match="40-digit commit"):
        Source(hub="a/b", splits={"test": "x"}, revision="main", pinned=True, columns=(), licence="-", homepage="-")
    with pytest.raises(ValidationError, match="`hub` or `url`"):
        Source(columns=(), licence="-", homepage="-")
    with pytest.raises(ValidationError, match="hub split of the test side"):
        Source(hub="a/b", columns=(), licence="-", homepage="-")


def test_check_sources_names_each_problem_with_its_fix(tmp_path: Path) -> None:
    ((what, fix),) = check_sources(DataSettings())
    assert what.startswith("crag is not on the hub")
    assert "crag.jsonl.bz2" in fix
    assert "CC-BY-NC" in fix
    ((what, _),) = check_sources(DataSettings(local_dir=str(tmp_path / "nowhere")))
    assert "is no folder" in what
    (tmp_path / "crag.jsonl").write_text("{}\n")
    assert list(check_sources(DataSettings(local_dir=str(tmp_path)))) == []
    ((what, _),) = check_sources(DataSettings(local_dir=str(tmp_path), eval_sets=("crag", "nq_opn")))
    assert "no question set 'nq_opn'" in what


def test_check_sources_warns_loudly_of_a_branch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loose = load_sources()["nq_open"].model_copy(update={"revision": "main", "pinned": False})
    monkeypatch.setattr(sources, "load_sources", lambda: {"nq_open": loose})
    with caplog.at_level(logging.WARNING, "plumbline"):
        assert list(check_sources(DataSettings(train_set="nq_open", eval_sets=()))) == []
    assert "NOT PINNED: nq_open is read from google-research-datasets/nq_open at 'main'" in caplog.text


def test_an_edited_local_file_changes_its_digest(tmp_path: Path) -> None:
    data = DataSettings(local_dir=str(tmp_path))
    (tmp_path / "crag.jsonl").write_text("{}\n")
    first = local_digests(data)
    (tmp_path / "crag.jsonl").write_text("{} \n")
    assert list(first) == ["crag.jsonl"]
    assert first != local_digests(data)
    assert local_digests(DataSettings()) == {}
