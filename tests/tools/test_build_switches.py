"""Tests that setup.py obeys its environment variables.

Most tests replace setuptools and Cython with fakes, so that nothing is built.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# The environment variables that setup.py reads. Tests begin without them.
SWITCHES = (
    "CASS_DRIVER_NO_EXTENSIONS",
    "CASS_DRIVER_NO_CYTHON",
    "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST",
    "CASS_DRIVER_SANITIZE",
    "TURBOCQL_PLAIN_C",
)


class Extension:
    """A fake of `setuptools.Extension` that stores its arguments."""

    def __init__(self, name: str, sources: list[str], **rest: Any) -> None:
        self.name, self.sources, self.rest = name, sources, rest


# Each call of the fake `cythonize` appends its argument `nthreads` to this list.
processes: list[int] = []


def cythonize(modules: list[Extension], nthreads: int, **_: Any) -> list[Extension]:
    """Stand in for Cython's `cythonize`: record `nthreads`, and return new extension objects."""
    processes.append(nthreads)
    return [Extension(module.name, module.sources, **module.rest) for module in modules]


@pytest.fixture
def run_setup(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs setup.py with environment variables.

    The function returns the extension modules that setup.py would build (`ext_modules`).
    """
    # The fake `setup` stores its arguments in this dict.
    setup_arguments: dict[str, Any] = {}
    setuptools, cython, build = (
        ModuleType("setuptools"),
        ModuleType("Cython"),
        ModuleType("Cython.Build"),
    )
    setuptools.__dict__.update(Extension=Extension, setup=setup_arguments.update)
    build.__dict__.update(cythonize=cythonize)
    command_modules = []
    for name in ("bdist_wheel", "build_ext"):
        command_modules.append(ModuleType(f"setuptools.command.{name}"))
        command_modules[-1].__dict__[name] = type(name, (), {})
    for module in (setuptools, cython, build, ModuleType("setuptools.command"), *command_modules):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    # Run in the folder of setup.py. Remove the switches that may be set in this environment.
    monkeypatch.chdir(ROOT)
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)

    def run(**switches: str) -> list[Extension]:
        for name, value in switches.items():
            monkeypatch.setenv(f"CASS_DRIVER_{name}", value)
        runpy.run_path(os.fspath(ROOT / "setup.py"), run_name="__main__")
        modules: list[Extension] = setup_arguments["ext_modules"]
        return modules

    return run


def test_each_pyx_is_an_extension(run_setup: Any) -> None:
    """setup.py must build each .pyx file, and no extension may be optional.

    This must hold with and without BUILD_EXTENSIONS_ARE_MUST.
    """
    cases: list[dict[str, str]] = [{}, {"BUILD_EXTENSIONS_ARE_MUST": "1"}]
    for switches in cases:
        modules = run_setup(**switches)
        assert {module.name for module in modules} == {
            f"cassandra._accel.{source.stem}"
            for source in (ROOT / "cassandra" / "_accel").glob("*.pyx")
        }
        # The driver uses either all extensions or none. If an extension were optional and did not
        # compile, setuptools would still install the other extensions.
        assert not any("optional" in module.rest for module in modules)


def test_turbocql_plain_c_defines_a_macro(run_setup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If TURBOCQL_PLAIN_C is set, each extension must be compiled with a macro of this name."""
    cases: list[tuple[str, list[tuple[str, str]]]] = [
        ("", []),
        ("1", [("TURBOCQL_PLAIN_C", "1")]),
    ]
    for value, macros in cases:
        monkeypatch.setenv("TURBOCQL_PLAIN_C", value)
        assert all(module.rest["define_macros"] == macros for module in run_setup())


NOTICE = "turbocql: CPython 3.99 is newer than those that this release was tested on"


@pytest.mark.parametrize(("version", "notices"), [((3, 10), []), ((3, 99), [NOTICE])])
def test_an_untested_python_gets_the_extensions_and_a_notice(
    run_setup: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    version: tuple[int, int],
    notices: list[str],
) -> None:
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    extensions = run_setup()
    assert extensions
    lines = capsys.readouterr().err.splitlines()
    # The end of the line, which is cut off, names the newest tested version.
    assert [line.split(" (up to ")[0] for line in lines] == notices


# The fixture replaces setuptools, which may be absent.
@pytest.mark.usefixtures("run_setup")
def test_the_newest_wheel_is_for_the_newest_tested_python() -> None:
    newest: tuple[int, int] = runpy.run_path(os.fspath(ROOT / "setup.py"))["NEWEST_TESTED"]
    versions = runpy.run_path(os.fspath(ROOT / "tools" / "wheels" / "targets.py"))["VERSIONS"]
    numbers = [tuple(map(int, version.rstrip("t").split("."))) for version in versions]
    assert max(numbers) == newest


def test_only_bind_and_codecs_have_directives_of_their_own() -> None:
    """Only bind and codecs may have directives other than those of setup.py."""
    files = sorted((ROOT / "cassandra" / "_accel").glob("*.p[yx][xdi]"))
    directives = {
        f"{path.name}: {line}"
        for path in files
        for line in path.read_text().splitlines()
        if re.match(r"#\s*cython\s*:", line)
    }
    # These are the only files with such a directive; setup.py explains the reason.
    assert directives == {
        "bind.pyx: # cython: nonecheck=False",
        "codecs.pyx: # cython: nonecheck=False",
    }


# This is the setup.py of a project with a good and a bad extension, and the commands of our
# setup.py.
PROJECT = """
import runpy
from setuptools import Extension, setup
commands = runpy.run_path({setup!r})
setup(
    name="tried",
    version="1",
    packages=["tried"],
    ext_modules=[Extension("tried.good", ["good.c"]), Extension("tried.bad", ["bad.c"])],
    cmdclass={{"build_ext": commands["AllOrNone"], "bdist_wheel": commands["HonestWheel"]}},
)
"""
# The source of an extension module in C. Its name takes the place of each %s.
MODULE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "%s", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_%s(void) { return PyModule_Create(&module); }
"""


def run_commands(folder: Path, *commands: str, **switches: str) -> subprocess.CompletedProcess[str]:
    """Run commands of setup.py on a small project with a good and a bad extension.

    :param folder: the folder of the project. If it has a file bad.c already, this file is used.
    :param switches: environment variables.
    """
    (folder / "tried").mkdir(exist_ok=True)
    (folder / "tried" / "__init__.py").touch()
    (folder / "setup.py").write_text(PROJECT.format(setup=os.fspath(ROOT / "setup.py")))
    (folder / "good.c").write_text(MODULE % ("good", "good"))
    if not (folder / "bad.c").exists():
        (folder / "bad.c").write_text("#error a compiler that is too new")
    return subprocess.run(
        [sys.executable, "setup.py", *commands],
        cwd=folder,
        env={**os.environ, "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST": "", **switches},
        capture_output=True,
        text=True,
        check=False,
    )


needs_compiler = pytest.mark.skipif(
    shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None
    or importlib.util.find_spec("setuptools") is None,
    reason="builds with a C compiler and setuptools",
)


@pytest.mark.slow
@needs_compiler
def test_a_failed_extension_makes_the_wheel_pure(tmp_path: Path) -> None:
    """If one extension does not compile, the wheel must have no extension and no platform tag."""
    result = run_commands(tmp_path, "bdist_wheel")
    assert result.returncode == 0, result.stderr
    assert "the pure Python modules serve" in result.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.name == "tried-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".so", ".pyd"))]
        assert b"Root-Is-Purelib: true" in archive.read("tried-1.dist-info/WHEEL")


@pytest.mark.slow
@needs_compiler
def test_a_failed_extension_removes_all_others_from_the_tree(tmp_path: Path) -> None:
    # At first, both extensions compile. Then a newer compiler rejects one of them.
    (tmp_path / "bad.c").write_text(MODULE % ("bad", "bad"))
    first_build = run_commands(tmp_path, "build_ext", "--inplace")
    assert first_build.returncode == 0, first_build.stderr
    assert len([*(tmp_path / "tried").glob("*.so")]) >= 2
    (tmp_path / "bad.c").write_text("#error a compiler that is too new")
    result = run_commands(tmp_path, "build_ext", "--inplace", "--force")
    assert result.returncode == 0, result.stderr
    assert [path.name for path in (tmp_path / "tried").glob("*.*")] == ["__init__.py"]


@pytest.mark.slow
@needs_compiler
def test_with_must_a_failed_extension_fails_the_build(tmp_path: Path) -> None:
    result = run_commands(tmp_path, "bdist_wheel", CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST="1")
    assert result.returncode != 0
    assert not (tmp_path / "dist").exists()


@pytest.mark.slow
@needs_compiler
def test_a_wheel_with_extensions_has_a_platform_tag(tmp_path: Path) -> None:
    # Both extensions compile.
    (tmp_path / "bad.c").write_text(MODULE % ("bad", "bad"))
    assert run_commands(tmp_path, "bdist_wheel").returncode == 0
    (wheel,) = (tmp_path / "dist").iterdir()
    assert not wheel.name.endswith("-any.whl")


@pytest.mark.parametrize("error", [OSError(38, "no semaphores"), ImportError("nor a module")])
def test_without_semaphores_cython_runs_in_one_process(
    run_setup: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Without semaphores, Cython must run in one process.

    `cythonize` cannot start worker processes on platforms where creating a Lock fails.
    """

    def failing_lock() -> None:
        raise error

    monkeypatch.setattr(sys, "platform", "linux")
    # If the platform has semaphores, `cythonize` must run in worker processes.
    monkeypatch.setattr(multiprocessing, "Lock", lambda: None)
    assert run_setup()
    assert processes[-1] >= 1
    monkeypatch.setattr(multiprocessing, "Lock", failing_lock)
    assert run_setup()
    # For cythonize, 0 means no worker processes.
    assert processes[-1] == 0


@pytest.mark.parametrize("switch", ["NO_EXTENSIONS", "NO_CYTHON"])
def test_a_switch_disables_all_extensions(run_setup: Any, switch: str) -> None:
    """Each switch must disable all extensions.

    If BUILD_EXTENSIONS_ARE_MUST is set as well, setup.py must exit with an error.
    """
    assert run_setup(**{switch: "1"}) == []
    with pytest.raises(SystemExit, match="contradicts"):
        run_setup(BUILD_EXTENSIONS_ARE_MUST="1")


def test_a_cython_whose_code_is_wrong_is_not_used(
    run_setup: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code of Cython 3.3 frees an item of a list comprehension twice after a MemoryError."""
    cython = ModuleType("Cython")
    monkeypatch.setitem(sys.modules, "Cython", cython)
    cython.__dict__["__version__"] = "3.3.1"
    assert run_setup() == []
    assert "pip install 'Cython>=3.1,<3.3'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="frees an object twice"):
        run_setup(BUILD_EXTENSIONS_ARE_MUST="1")
    cython.__dict__["__version__"] = "3.2.9"
    assert run_setup() != []


def test_without_cython_no_extension_is_built_or_with_must_setup_exits(
    run_setup: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "Cython.Build", None)
    assert run_setup() == []
    with pytest.raises(SystemExit, match="Cython cannot be imported"):
        run_setup(BUILD_EXTENSIONS_ARE_MUST="1")
