"""Code versions: helpers count, comments and docstrings do not, plumbing does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.core import code
from tasks.core.code import code_version


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "toypkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "body.py").write_text("from toypkg.helper import f\n\ndef run():\n    return f()\n")
    (folder / "helper.py").write_text("def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(code, "FIRST_PARTY", (*code.FIRST_PARTY, "toypkg"))
    yield folder
    for name in [name for name in sys.modules if name.startswith("toypkg")]:
        del sys.modules[name]
    code_version.cache_clear()


def fresh() -> str:
    code_version.cache_clear()
    return code_version("toypkg.body")


def test_a_changed_helper_changes_the_version(package: Path) -> None:
    before = fresh()
    (package / "helper.py").write_text("def f():\n    return 2\n")
    assert fresh() != before


def test_comments_docstrings_and_layout_do_not(package: Path) -> None:
    before = fresh()
    (package / "helper.py").write_text('"""New words."""\n# why\ndef f():\n    """More words."""\n\n    return 1\n')
    assert fresh() == before


def test_plumbing_does_not(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "PLUMBING", (*code.PLUMBING, "toypkg.helper"))
    before = fresh()
    (package / "helper.py").write_text("def f():\n    return 2\n")
    assert fresh() == before
    monkeypatch.setattr(code, "PLUMBING_VERSION", code.PLUMBING_VERSION + 1)
    assert fresh() != before


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        code_version("tasks.nowhere.nothing")


def test_a_judge_change_leaves_supervised_training_alone() -> None:
    """SFT must not import the judge, or a changed judge would rerun it."""
    import ast

    seen, waiting = set(), ["tasks.training.sft"]
    while waiting:
        name = waiting.pop()
        if name in seen or not code._counts(name):
            continue
        path = code._source(name)
        if path is None:
            continue
        seen.add(name)
        waiting += code._imports(ast.parse(path.read_text()))
    assert "tasks.training.examples" in seen
    assert not {"tasks.verify.judge", "tasks.verify.grader"} & seen
