"""Tests of the choice between compiled and Python modules, at the import of the package.

Most tests import `cassandra._impl` in a new interpreter, from a separate tree in which some of the
compiled modules exist, and others do not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import cassandra
from cassandra import _build_stamp, _impl
from tests.processes import run_python

PACKAGE = Path(cassandra.__file__).parent
# This makes the import of the package skip `__init__`, which would import most of the driver.
# Modules that the tree does not have come from the package under test.
BARE_PACKAGE = f"""
import sys, types
package = sys.modules["cassandra"] = types.ModuleType("cassandra")
package.__path__ = [{{directory!r}}, {os.fspath(PACKAGE)!r}]
"""
# This program prints which implementation the driver uses, and why it could not use the compiled
# modules (None if it uses them, or if the Python modules were requested).
SHOW = """
from cassandra import _impl
print(_impl.implementation, _impl.fallback_reason, sep=": ")
"""


class Tree:
    """A source tree with the module that chooses the implementation, and all compiled modules.

    In place of the compiled modules, the tree has Python modules, because the choice does not load
    these modules.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "cassandra"
        self.accel = self.package / "_accel"
        self.accel.mkdir(parents=True)
        # These modules look for files in their directory.
        for module in ("_impl.py", "_build_stamp.py"):
            shutil.copy(PACKAGE / module, self.package)
        (self.accel / "__init__.py").touch()
        for name in _impl.TWINS:
            self.module(name).write_text(f"which = 'compiled {name}'\n")

    def module(self, name: str) -> Path:
        """Return the path of a compiled module."""
        return self.accel / f"{name}.py"

    def run(
        self, code: str = SHOW, impl: str | None = None, path: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run `code` in a new interpreter, where `cassandra` is the package in this tree.

        :param impl: CASS_DRIVER_IMPL; None for an environment without it.
        :param path: a directory in which installed packages are searched.
        """
        preamble = BARE_PACKAGE.format(directory=os.fspath(self.package))
        if impl is None:
            preamble = f"import os; os.environ.pop('CASS_DRIVER_IMPL', None)\n{preamble}"
        # With `is_bare`, no installed package changes how this one is found.
        environment = {"CASS_DRIVER_IMPL": impl or "", "PYTHONPATH": path}
        return run_python(preamble + code, environment, is_bare=True)

    def choice(self, code: str = SHOW, impl: str | None = None) -> str:
        """Return "implementation: fallback reason", which must be chosen without any warning."""
        process = self.run(code, impl)
        assert process.stderr == ""
        return process.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Return a new tree."""
    return Tree(tmp_path / "tree")


# -- the choice ------------------------------------------------------------------------------------


def test_the_implementation_is_public() -> None:
    assert cassandra.implementation == _impl.implementation
    assert cassandra.fallback_reason is _impl.fallback_reason


@pytest.mark.parametrize(
    ("impl", "expected"),
    [
        (None, "c: None"),
        ("", "c: None"),
        ("c", "c: None"),
        ("python", "python: None"),
        (" Python ", "python: None"),
    ],
)
def test_the_environment_chooses_between_complete_implementations(
    tree: Tree, impl: str | None, expected: str
) -> None:
    """If all compiled modules exist, they must be used unless CASS_DRIVER_IMPL says otherwise."""
    assert tree.choice(impl=impl) == expected


def test_another_value_of_the_environment_variable_is_refused(tree: Tree) -> None:
    process = tree.run(impl="cython")
    assert "ImportError: CASS_DRIVER_IMPL is 'cython'; it takes 'python' or 'c'" in process.stderr


def test_without_compiled_modules_python_is_used(tree: Tree) -> None:
    """Without compiled modules, Python must be used, and the reason say that all are missing.

    With CASS_DRIVER_IMPL=python there is no reason.
    """
    for name in _impl.TWINS:
        tree.module(name).unlink()
    assert tree.choice() == "python: the compiled modules are not there: it lacks any"
    assert tree.choice(impl="python") == "python: None"


def test_if_some_compiled_modules_are_missing_none_is_used(tree: Tree) -> None:
    """If some compiled modules are missing, none may be used, and the reason must name them.

    The two implementations are never mixed.
    """
    for name in ("codecs", "rows"):
        tree.module(name).unlink()
    assert tree.choice() == (
        "python: the compiled modules are not there: "
        "it lacks cassandra._accel.codecs, cassandra._accel.rows"
    )


def test_required_compiled_modules_that_are_missing_are_listed(tree: Tree) -> None:
    """With CASS_DRIVER_IMPL=c, the error must list all compiled modules that are missing."""
    for name in ("codecs", "rows"):
        tree.module(name).unlink()
    process = tree.run(impl="c")
    assert process.returncode != 0
    assert (
        "ImportError: CASS_DRIVER_IMPL=c asks for the compiled modules, but these are not there:\n"
        "  cassandra._accel.codecs\n  cassandra._accel.rows\nInstall a wheel" in process.stderr
    )


def test_a_module_replaced_by_an_object_counts_as_missing(tree: Tree) -> None:
    """A module that is replaced by an object must count as missing.

    An application may put an object without `__spec__` into `sys.modules`.
    """
    code = "import types; sys.modules['cassandra._accel.frame'] = types.SimpleNamespace()"
    assert tree.choice(f"{code}\n{SHOW}").endswith("it lacks cassandra._accel.frame")


def test_other_interpreters_use_python(tree: Tree) -> None:
    """On PyPy, the compiled modules must be used only with CASS_DRIVER_IMPL=c."""
    code = f"sys.implementation.name = 'pypy'\n{SHOW}"
    assert tree.choice(code) == "python: None"
    assert tree.choice(code, impl="c") == "c: None"


# -- the two implementations -----------------------------------------------------------------------


def test_modules_of_the_chosen_implementation_are_attributes(tree: Tree) -> None:
    """A module must be loaded at the first access, and stay the same."""
    code = """
from cassandra import _impl
assert "codecs" not in vars(_impl)
from cassandra._impl import codecs
assert vars(_impl)["codecs"] is codecs is _impl.codecs
print(codecs.which)
"""
    assert tree.choice(code, impl="c") == "compiled codecs"


@pytest.mark.parametrize("name", _impl.TWINS)
def test_the_python_twin_of_each_name_can_be_loaded(name: str) -> None:
    module = _impl.twin(name, "python")
    assert module.__name__ == _impl.TWINS[name]
    assert str(module.__file__).endswith(".py")
    if _impl.implementation == "python":
        assert getattr(_impl, name) is module


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match=r"no twin modules are named 'rowz'; there are .*rows"):
        _impl.twin("rowz", "python")
    with pytest.raises(AttributeError, match=r"module 'cassandra\._impl' has no attribute 'rowz'"):
        _impl.rowz  # noqa: B018


def test_a_compiled_module_that_cannot_be_loaded_is_an_error(tree: Tree) -> None:
    """The error for a compiled module that cannot be loaded must name it and the remedy.

    There is no silent fallback.
    """
    tree.module("codecs").write_text("raise ImportError('undefined symbol: PyFoo')")
    process = tree.run("from cassandra._impl import codecs", impl="c")
    assert (
        "ImportError: the compiled module cassandra._accel.codecs cannot be loaded: undefined "
        "symbol: PyFoo. Install turbocql again for this interpreter; CASS_DRIVER_IMPL=python"
    ) in process.stderr


@pytest.mark.parametrize(
    "reason",
    [
        "Interpreter change detected - this module can only be loaded into one interpreter per "
        "process.",
        "module cassandra._accel.codecs does not support loading in subinterpreters",
    ],
)
def test_a_compiled_module_in_a_subinterpreter_is_an_error_with_advice(
    tree: Tree, reason: str
) -> None:
    """Another installation would not help there, but the Python modules do."""
    tree.module("codecs").write_text(f"raise ImportError({reason!r})")
    process = tree.run("from cassandra._impl import codecs", impl="c")
    assert f"cannot be loaded: {reason}. Compiled modules work in the first" in process.stderr
    assert "set CASS_DRIVER_IMPL=python for others, and use cassandra.aio in" in process.stderr
    assert "Install turbocql again" not in process.stderr


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("cassandra.mislaid", "ImportError: cassandra.mislaid is not there, which is a part of"),
        ("numpy_of_another", "cassandra._accel.codecs cannot be loaded: No module named 'numpy_of"),
    ],
)
def test_a_missing_module_that_a_compiled_one_imports_is_named(
    tree: Tree, missing: str, expected: str
) -> None:
    """A missing file of this package must be reported: another driver probably removed it."""
    tree.module("codecs").write_text(f"import {missing}")
    process = tree.run("from cassandra._impl import codecs", impl="c")
    assert expected in process.stderr
    is_ours = missing.startswith("cassandra.")
    assert ("pip install --force-reinstall --no-deps" in process.stderr) is is_ours


# -- warnings --------------------------------------------------------------------------------------


def installed(directory: Path, *files: str) -> Path:
    """Create an installation of the distribution with empty `files`."""
    dist_info = directory / "turbocql-4.0.dist-info"
    dist_info.mkdir(parents=True)
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: turbocql\nVersion: 4.0\n")
    (dist_info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    # Python 3.12 and newer leave out files that do not exist.
    for file in files:
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        (directory / file).touch()
    return directory


def test_a_tree_in_front_of_a_compiled_installation_warns(tree: Tree, tmp_path: Path) -> None:
    """A tree that was not built must warn if it hides a compiled installation.

    The compiled one is several times faster.
    """
    tree.module("codecs").unlink()
    suffix = EXTENSION_SUFFIXES[0]
    path = os.fspath(installed(tmp_path / "installed", f"cassandra/_accel/happy_path{suffix}"))
    # A tree without setup.py is an installation, so it must not warn.
    assert tree.run(path=path).stderr == ""
    (tree.root / "setup.py").touch()
    process = tree.run(path=path)
    assert process.stdout.startswith("python: "), process.stderr
    assert f"RuntimeWarning: the source tree in {tree.root} is imported, which" in process.stderr
    assert process.stderr.count("RuntimeWarning") == 1
    assert f"in place of the compiled turbocql in {path}" in process.stderr
    # Python was chosen, so nothing was missed.
    assert tree.run(impl="python", path=path).stderr == ""


@pytest.mark.parametrize("file", ["cassandra/_accel/codecs.py", "cassandra/other.so"])
def test_a_tree_in_front_of_an_installation_in_python_does_not_warn(
    tree: Tree, tmp_path: Path, file: str
) -> None:
    """A tree without compiled modules must not warn if it hides no compiled installation."""
    tree.module("codecs").unlink()
    (tree.root / "setup.py").touch()
    path = os.fspath(installed(tmp_path / "installed", file))
    assert tree.run(path=path).stderr == ""


def test_compiled_modules_of_other_sources_warn(tree: Tree) -> None:
    """Compiled modules that do not fit the sources next to them must warn.

    For example, this is possible after a git checkout.
    """
    source = tree.accel / "codecs.pyx"
    source.write_text("cdef int a = 1\n")
    directory = os.fspath(tree.accel)
    _build_stamp.write_stamp(_build_stamp.source_lines(directory), directory)
    assert tree.choice() == "c: None"
    source.write_text("cdef int other = 1\n")
    process = tree.run()
    assert process.stdout.startswith("c: ")
    assert "RuntimeWarning: cassandra._accel was built from other sources" in process.stderr
    # Without a stamp, the package is an installed wheel.
    (tree.accel / _build_stamp.STAMP).unlink()
    assert tree.choice() == "c: None"


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ("a.pyx", "a.pyx"),
        ("a.pyx b.pyx c.pyx", "a.pyx, b.pyx, c.pyx"),
        ("a.pyx b.pyx c.pyx d.pyx e.pyx", "a.pyx, b.pyx, c.pyx, 2 more"),
    ],
)
def test_the_warning_of_other_sources_names_three_files(changed: str, names: str) -> None:
    message = _impl.other_sources(changed.split())
    assert f"was built from other sources ({names} differ from the last build)" in message
    assert "python setup.py build_ext --inplace" in message


def test_an_object_is_remade_by_the_implementation_in_use() -> None:
    """`remade` makes an object of a class of the implementation that the process uses."""
    block = _impl.remade("bind", "ValuesBlock", 1, b"\0\0\0\1x")
    assert type(block) is _impl.bind.ValuesBlock
    assert block.data == b"\0\0\0\1x"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _impl.remade("nothing", "ValuesBlock")
