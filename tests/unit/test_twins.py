"""The two implementations: the same names and signatures, and a compiled lane that is really
compiled.
"""

from __future__ import annotations

import importlib.machinery
import inspect
import os
import subprocess
from types import ModuleType
from typing import Any

import pytest

from cassandra import _impl
from tests.conftest import LANE, Twins
from tests.processes import run_python

NAMES = sorted(_impl.TWINS)


def public_names(module: ModuleType) -> set[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return set(listed)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


def parameters(thing: Any) -> list[tuple[str, Any, bool]] | None:
    """(name, kind, has a default) of each parameter."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind, p.default is not p.empty) for p in signature.parameters.values()]


@pytest.mark.parametrize("name", NAMES)
def test_same_public_names(name: str, compiled: Twins) -> None:
    python = public_names(_impl.twin(name, "python"))
    c = public_names(getattr(compiled, name))
    assert python == c


@pytest.mark.parametrize("name", NAMES)
def test_same_signatures(name: str, compiled: Twins) -> None:
    python, c = _impl.twin(name, "python"), getattr(compiled, name)
    for public in sorted(public_names(python)):
        ours, theirs = getattr(python, public), getattr(c, public)
        assert callable(ours) == callable(theirs), public
        if inspect.isclass(ours):
            assert inspect.isclass(theirs), public
            methods = [
                m for m in vars(ours) if not m.startswith("_") and callable(getattr(ours, m))
            ]
            for method in methods:
                assert hasattr(theirs, method), f"{public}.{method}"
                check_parameters(
                    getattr(ours, method), getattr(theirs, method), f"{public}.{method}"
                )
        elif callable(ours):
            check_parameters(ours, theirs, public)


def check_parameters(python: Any, c: Any, where: str) -> None:
    ours, theirs = parameters(python), parameters(c)
    if ours is not None and theirs is not None:
        assert ours == theirs, where


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_lane_is_compiled(name: str, compiled: Twins) -> None:
    file = getattr(compiled, name).__file__
    assert file is not None
    assert file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)), file


def test_the_lane_is_what_it_says() -> None:
    if LANE == "c":
        assert _impl.implementation == "c", _impl.fallback_reason
    else:
        assert _impl.implementation == "python"
        assert _impl.fallback_reason or os.environ.get("CASS_DRIVER_IMPL") == "python"


def run(impl: str, code: str) -> subprocess.CompletedProcess[str]:
    return run_python(code, {"CASS_DRIVER_IMPL": impl})


@pytest.mark.usefixtures("compiled")
def test_the_switch_chooses() -> None:
    code = "from cassandra import _impl; print(_impl.implementation, _impl.codecs.__name__)"
    assert run("python", code).stdout.split() == ["python", "cassandra.cqltypes.codecs"]
    assert run("c", code).stdout.split() == ["c", "cassandra._accel.codecs"]


def test_an_unknown_implementation_is_refused() -> None:
    done = run("rust", "import cassandra._impl")
    assert "CASS_DRIVER_IMPL is 'rust'; it takes 'python' or 'c'" in done.stderr


def test_asking_for_what_is_not_built_names_it() -> None:
    code = "import sys; sys.modules['cassandra._accel.rows'] = None\nimport cassandra._impl"
    done = run("c", code)
    assert done.returncode != 0
    assert "cassandra._accel.rows" in done.stderr
    assert "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1" in done.stderr


def test_a_partial_build_falls_back_as_a_whole_and_says_why() -> None:
    code = (
        "import sys; sys.modules['cassandra._accel.rows'] = None\n"
        "from cassandra import _impl; print(_impl.implementation); print(_impl.fallback_reason)"
    )
    done = run("", code)
    implementation, reason = done.stdout.split("\n", 1)
    assert implementation == "python"
    assert "cassandra._accel.rows" in reason
