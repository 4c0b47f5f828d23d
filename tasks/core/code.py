"""The code part of a stage's cache key.

A stage is keyed by the abstract syntax of its own module and of every first-party module it imports,
directly or not, so that a changed helper reruns the stage and a changed comment or docstring does not.
Prompts are not code: their texts stand in the config of the stages that use them. Plumbing (PLUMBING) is
left out: it moves rows without changing them, and carries PLUMBING_VERSION for the day that this ends.
"""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

from tasks.core.hashing import digest

FIRST_PARTY = ("tasks", "sandbox", "flows")
PLUMBING = ("tasks.core", "tasks.llm")
PLUMBING_VERSION = 1


@cache
def code_version(module: str) -> str:
    """Version of a stage's code, 16 hex digits.

    Args:
        module: dotted name of the module that holds the stage's body.

    Raises:
        ModuleNotFoundError: no such module.
    """
    sources: dict[str, str] = {"plumbing": str(PLUMBING_VERSION)}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources or not _counts(name):
            continue
        path = _source(name)
        if path is None:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        sources[name] = digest(ast.dump(_without_docstrings(tree)))
        waiting += _imports(tree)
    if module not in sources:
        raise ModuleNotFoundError(module)
    return digest(sources)[:16]


def _counts(name: str) -> bool:
    inside = any(name == root or name.startswith(root + ".") for root in FIRST_PARTY)
    return inside and not any(name == root or name.startswith(root + ".") for root in PLUMBING)


def _source(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # `from module import attribute` was tried as a submodule
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _imports(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_docstring(statement)]
    return tree


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
