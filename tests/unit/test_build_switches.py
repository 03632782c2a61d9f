"""What setup.py makes of its switches; setuptools and Cython are stood in for, so that nothing is
built.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SWITCHES = (
    "CASS_DRIVER_NO_EXTENSIONS",
    "CASS_DRIVER_NO_CYTHON",
    "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST",
    "CASS_DRIVER_SANITIZE",
)


class Extension:
    """As that of setuptools, with what setup.py gives it."""

    def __init__(self, name: str, sources: list[str], **rest: Any) -> None:
        self.name, self.sources, self.rest = name, sources, rest
        self.optional: bool | None = rest.get("optional")


processes: list[int] = []


def cythonize(modules: list[Extension], nthreads: int, **_: Any) -> list[Extension]:
    """As that of Cython: new objects, which have forgotten whether they are optional."""
    processes.append(nthreads)
    return [Extension(module.name, module.sources) for module in modules]


@pytest.fixture
def run_setup(monkeypatch: pytest.MonkeyPatch) -> Any:
    given: dict[str, Any] = {}
    setuptools, cython, build = (
        ModuleType("setuptools"),
        ModuleType("Cython"),
        ModuleType("Cython.Build"),
    )
    setuptools.__dict__.update(Extension=Extension, setup=given.update)
    build.__dict__.update(cythonize=cythonize)
    for module in (setuptools, cython, build):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(ROOT)
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)

    def run(**switches: str) -> list[Extension]:
        for name, value in switches.items():
            monkeypatch.setenv(f"CASS_DRIVER_{name}", value)
        runpy.run_path(os.fspath(ROOT / "setup.py"), run_name="__main__")
        modules: list[Extension] = given["ext_modules"]
        return modules

    return run


def test_each_pyx_is_an_extension_that_may_fail(run_setup: Any) -> None:
    modules = run_setup()
    assert {module.name for module in modules} == {
        f"cassandra._accel.{source.stem}"
        for source in (ROOT / "cassandra" / "_accel").glob("*.pyx")
    }
    assert [module.optional for module in modules] == [True] * len(modules)


def test_must_makes_none_of_them_optional(run_setup: Any) -> None:
    modules = run_setup(BUILD_EXTENSIONS_ARE_MUST="1")
    assert modules
    assert not any(module.optional for module in modules)


@pytest.mark.parametrize("error", [OSError(38, "no semaphores"), ImportError("nor a module")])
def test_where_processes_share_no_locks_one_translates_all(
    run_setup: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def lock() -> None:
        raise error

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(multiprocessing, "Lock", lambda: None)
    assert run_setup()
    assert processes[-1] >= 1
    monkeypatch.setattr(multiprocessing, "Lock", lock)
    assert run_setup()
    assert processes[-1] == 0


@pytest.mark.parametrize("switch", ["NO_EXTENSIONS", "NO_CYTHON"])
def test_none_is_built(run_setup: Any, switch: str) -> None:
    assert run_setup(**{switch: "1"}) == []


@pytest.mark.parametrize("switch", ["NO_EXTENSIONS", "NO_CYTHON"])
def test_contradicting_switches_are_refused(run_setup: Any, switch: str) -> None:
    with pytest.raises(SystemExit, match="contradicts"):
        run_setup(**{switch: "1"}, BUILD_EXTENSIONS_ARE_MUST="1")


def test_without_cython_pure_python_serves_unless_extensions_are_a_must(
    run_setup: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "Cython.Build", None)
    assert run_setup() == []
    with pytest.raises(SystemExit, match="Cython cannot be imported"):
        run_setup(BUILD_EXTENSIONS_ARE_MUST="1")
