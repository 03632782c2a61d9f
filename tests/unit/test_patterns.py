"""Tests of regular expressions of the package, which are compiled at their first use."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from cassandra._patterns import pattern
from tests.processes import run_python


def test_a_pattern_is_compiled_at_the_first_method_call(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_calls = []
    original_compile = re.compile

    def record_and_compile(*arguments: Any) -> Any:
        compile_calls.append(arguments)
        return original_compile(*arguments)

    monkeypatch.setattr(re, "compile", record_and_compile)
    digits = pattern(r"(\d+)-x", re.IGNORECASE)
    assert compile_calls == []
    for text in ("12-X", "7-x"):
        match = digits.fullmatch(text)
        assert match is not None
        assert match[1] == text[:-2]
    assert digits.sub("", "a 1-x b") == "a  b"
    assert set(compile_calls) == {(r"(\d+)-x", re.IGNORECASE)}
    # There is one call for each method. Python's cache makes the second one cheap.
    assert len(compile_calls) == 2


def test_unknown_attributes_of_a_pattern_are_errors() -> None:
    lazy_pattern = pattern("a")
    with pytest.raises(AttributeError, match="match_all"):
        lazy_pattern.match_all  # type: ignore[attr-defined]  # noqa: B018
    assert copy.copy(lazy_pattern).match("a") is not None


def test_importing_the_apis_compiles_no_pattern_of_the_package() -> None:
    """While the APIs are imported, no module of the package may call `re.compile`."""
    code = (
        "import re; original = re.compile; seen = []\n"
        "def compile(*arguments):\n"
        "    import sys; seen.append(sys._getframe(1).f_globals['__name__'])\n"
        "    return original(*arguments)\n"
        "re.compile = compile\n"
        "import cassandra.cluster, cassandra.aio\n"
        "print([name for name in seen if name.startswith('cassandra')])"
    )
    process = run_python(code)
    assert (process.returncode, process.stdout.strip()) == (0, "[]"), process.stderr
