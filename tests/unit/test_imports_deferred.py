"""Modules that `Deferred` stands for: each can be imported, and type checkers see the same one."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import cassandra
from cassandra._imports import Deferred

PACKAGE = Path(cassandra.__file__).parent


def deferred_in(tree: ast.AST) -> dict[str, str]:
    """Return the module that each name of a source stands for at run time."""
    return {
        node.targets[0].id: node.value.args[0].value  # type: ignore[misc]
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "Deferred"
        and isinstance(node.value.args[0], ast.Constant)
    }


def shown_in(tree: ast.AST) -> dict[str, str]:
    """Return what type checkers find under each name that a source imports."""
    return {
        alias.asname or alias.name: (
            f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        )
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


def uses() -> Iterator[tuple[str, str, str, str | None]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        shown = shown_in(tree)
        for name, module in deferred_in(tree).items():
            yield path.relative_to(PACKAGE).as_posix(), name, module, shown.get(name)


@pytest.mark.parametrize(("source", "name", "module", "shown"), list(uses()))
def test_deferred_modules(source: str, name: str, module: str, shown: str | None) -> None:
    assert importlib.import_module(module)
    assert shown == module


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=str)
def test_no_module_of_the_driver_is_imported_by_a_text_that_checkers_do_not_see(path: Path) -> None:
    source = path.read_text()
    assert 'import_module("cassandra' not in source


def test_there_are_uses() -> None:
    assert {"bulk_load", "bulk_scan", "tracers"} <= {name for _, name, _, _ in uses()}


def test_a_deferred_module_is_imported_at_the_first_look() -> None:
    missing = Deferred("cassandra.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = missing.anything
    assert Deferred("cassandra.limits").__name__ == "cassandra.limits"
