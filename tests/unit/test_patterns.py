"""Regular expressions of the package are compiled at their first use."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from cassandra._patterns import pattern
from tests.processes import run_python


def test_a_pattern_is_compiled_at_the_first_method_call(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_ = re.compile

    def counting(*arguments: Any) -> Any:
        compiled.append(arguments)
        return compile_(*arguments)

    monkeypatch.setattr(re, "compile", counting)
    digits = pattern(r"(\d+)-x", re.IGNORECASE)
    assert compiled == []
    for text in ("12-X", "7-x"):
        match = digits.fullmatch(text)
        assert match is not None
        assert match[1] == text[:-2]
    assert digits.sub("", "a 1-x b") == "a  b"
    assert set(compiled) == {(r"(\d+)-x", re.IGNORECASE)}
    assert len(compiled) == 2  # one call for each method; Python's own cache makes the second cheap


def test_unknown_attributes_of_a_pattern_are_errors() -> None:
    lazy_pattern = pattern("a")
    with pytest.raises(AttributeError, match="match_all"):
        lazy_pattern.match_all  # type: ignore[attr-defined]  # noqa: B018
    assert copy.copy(lazy_pattern).match("a") is not None


def test_importing_the_apis_compiles_no_pattern_of_the_package() -> None:
    code = (
        "import re; original = re.compile; seen = []\n"
        "def compile(*given):\n"
        "    import sys; seen.append(sys._getframe(1).f_globals['__name__'])\n"
        "    return original(*given)\n"
        "re.compile = compile\n"
        "import cassandra.cluster, cassandra.aio\n"
        "print([name for name in seen if name.startswith('cassandra')])"
    )
    done = run_python(code)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
