"""Tests that every test and file that SECURITY.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "SECURITY.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="SECURITY.md is not in this tree")


def promises() -> dict[str, list[str]]:
    """Return the names of the tests in the table of SECURITY.md, by the text of their promise."""
    tests_by_promise = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and "::" in line:
            promise, tests = line.strip("| ").split(" | ")
            tests_by_promise[promise] = re.findall(r"`([^`]+)`", tests)
    return tests_by_promise


def functions(path: Path) -> set[str]:
    """Return the names of all functions and methods in a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_each_promise_has_tests_and_these_exist() -> None:
    """Each promise must have tests, and these must exist.

    A test is named as ``PATH::FUNCTION``.
    """
    tests_by_promise = promises()
    assert tests_by_promise
    for promise, tests in tests_by_promise.items():
        assert tests, promise
        for test in tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), test
            assert name in functions(ROOT / path), test


def test_each_test_file_that_the_text_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
