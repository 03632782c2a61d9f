"""The Python and the compiled implementation have the same names, signatures, constructors,
constants and attributes.

The compiled modules are checked to be really compiled.
"""

from __future__ import annotations

import ast
import importlib.machinery
import inspect
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from cassandra import _accel, _impl
from tests.conftest import LANE, Twins
from tests.processes import run_python

NAMES = sorted(_impl.TWINS)
ROOT = Path(__file__).resolve().parents[2]


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
    """Return (name, kind, whether it has a default) of each parameter; None if Python knows no
    signature.
    """
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind, p.default is not p.empty) for p in signature.parameters.values()]


@pytest.mark.parametrize("name", NAMES)
def test_same_public_names(name: str, compiled: Twins) -> None:
    """Both implementations have the same public names."""
    python = public_names(_impl.twin(name, "python"))
    c = public_names(getattr(compiled, name))
    assert python == c


@pytest.mark.parametrize("name", NAMES)
def test_same_signatures(name: str, compiled: Twins) -> None:
    """Functions and methods of both implementations have the same parameters."""
    python, c = _impl.twin(name, "python"), getattr(compiled, name)
    for public in sorted(public_names(python)):
        of_python, of_c = getattr(python, public), getattr(c, public)
        assert callable(of_python) == callable(of_c), public
        if inspect.isclass(of_python):
            assert inspect.isclass(of_c), public
            methods = [
                m
                for m in vars(of_python)
                if not m.startswith("_") and callable(getattr(of_python, m))
            ]
            for method in methods:
                assert hasattr(of_c, method), f"{public}.{method}"
                check_parameters(
                    getattr(of_python, method), getattr(of_c, method), f"{public}.{method}"
                )
        elif callable(of_python):
            check_parameters(of_python, of_c, public)


def check_parameters(python: Any, c: Any, where: str) -> None:
    of_python, of_c = parameters(python), parameters(c)
    if of_python is not None and of_c is not None:
        assert of_python == of_c, where


def test_every_compiled_module_is_a_twin(compiled: Twins) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    built = Path(_accel.__file__).parent.glob(f"*{suffix}")
    assert {path.name.removesuffix(suffix) for path in built} == set(NAMES)


# -- constructors ----------------------------------------------------------------------------------

# Compiled classes have no signature, so we call them to find out which arguments they accept. The
# error's message has one of these phrases if the arguments do not match the parameters.
MISMATCH = re.compile(r"keyword argument|positional argument|required .*argument|no arguments")


# Constructors that cannot be compared: the compiled `Codec` refuses every call, because only
# functions of its module create codecs; `RowBase` has the constructor of `tuple`.
NOT_CALLED = {("codecs", "Codec"), ("rows", "RowBase")}


class Call(NamedTuple):
    """Arguments for a constructor, all of which have wrong types."""

    positional: tuple[object, ...]
    named: dict[str, object]


def calls_for(python: type[Any]) -> list[Call]:
    """Return calls that match the parameters of the class `python`, and calls with one argument too
    many or too few.
    """
    parameters = list(inspect.signature(python).parameters.values())
    positional_parameters = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    named: dict[str, object] = {p.name: object() for p in parameters}
    needed: dict[str, object] = {p.name: object() for p in parameters if p.default is p.empty}
    values = tuple(object() for _ in positional_parameters)
    calls = [Call((), named), Call((), needed), Call(values, {})]
    calls += [Call((*values, object()), {}), Call((), {**named, "no_such_parameter": object()})]
    calls += [Call((), {k: v for k, v in needed.items() if k != omitted}) for omitted in needed]
    calls += [Call(values[:count], {}) for count in range(len(values))]
    return calls


def accepts_call(kind: type[Any], call: Call) -> bool:
    """Return True if the names and the number of the arguments match the parameters of `kind`.

    Errors that the values of the arguments cause do not count.
    """
    try:
        kind(*call.positional, **call.named)
    except TypeError as error:
        return MISMATCH.search(str(error)) is None
    except Exception:
        return True
    return True


def fits(python: type[Any], call: Call) -> bool:
    """Return True if the arguments match the signature of the Python class."""
    try:
        inspect.signature(python).bind(*call.positional, **call.named)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_same_constructors(name: str, compiled: Twins) -> None:
    """Constructors of both implementations accept and refuse the same calls."""
    for python, c in classes(name, compiled):
        if (name, python.__name__) in NOT_CALLED:
            continue
        for call in calls_for(python):
            counts = (len(call.positional), sorted(call.named))
            assert accepts_call(c, call) == fits(python, call), f"{python.__qualname__}: {counts}"


# -- constants and attributes ----------------------------------------------------------------------

# Constants that may differ. RELEASES_SAFELY says what the twin itself is able to do.
DIFFERENT_CONSTANTS = {("arrow_capsules", "RELEASES_SAFELY")}
# Attributes that only the Python class has. It inherits these from `QueryParams`; they are always
# None or False, and the compiled class does not need them.
PYTHON_ATTRIBUTES = {
    ("happy_path", "ExecuteBodyBase"): {"keyspace", "now_in_seconds", "value_names"}
}


def classes(name: str, compiled: Twins) -> list[tuple[type[Any], type[Any]]]:
    """Return the public classes of both twins, in pairs."""
    python, c = _impl.twin(name, "python"), getattr(compiled, name)
    return [
        (getattr(python, public), getattr(c, public))
        for public in sorted(public_names(python))
        if inspect.isclass(getattr(python, public))
    ]


def constants(module: ModuleType) -> dict[str, object]:
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_")
    }


def own_constants(module: ModuleType) -> set[str]:
    """Return the constants that the Python module defines itself."""
    targets = [
        target
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return {target.id for target in targets if isinstance(target, ast.Name)} & set(
        constants(module)
    )


@pytest.mark.parametrize("name", NAMES)
def test_same_constants(name: str, compiled: Twins) -> None:
    """Constants of both implementations have the same values, except those in
    DIFFERENT_CONSTANTS.
    """
    python, c = _impl.twin(name, "python"), getattr(compiled, name)
    of_python, of_c = constants(python), constants(c)
    assert own_constants(python) <= set(of_c)
    assert set(of_c) <= set(of_python)
    for constant in of_c:
        if (name, constant) not in DIFFERENT_CONSTANTS:
            assert of_python[constant] == of_c[constant], constant


def attributes(kind: type[Any]) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_same_public_attributes_of_classes(name: str, compiled: Twins) -> None:
    """Classes have the same attributes, except those in PYTHON_ATTRIBUTES."""
    for python, c in classes(name, compiled):
        more = PYTHON_ATTRIBUTES.get((name, python.__name__), set())
        assert attributes(python) - more == attributes(c), python.__qualname__
        for attribute in attributes(c):
            of_python, of_c = getattr(python, attribute), getattr(c, attribute)
            assert callable(of_python) == callable(of_c), f"{python.__qualname__}.{attribute}"
            if isinstance(of_python, (int, float, str, bytes, tuple, frozenset, type(None))):
                assert of_python == of_c, f"{python.__qualname__}.{attribute}"


@pytest.mark.parametrize("name", NAMES)
def test_compiled_modules_are_extension_modules(name: str, compiled: Twins) -> None:
    file = getattr(compiled, name).__file__
    assert file is not None
    assert file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)), file


def test_the_lane_is_what_it_says() -> None:
    """The implementation in use is that of the lane, or Python with a reason."""
    if LANE == "c":
        assert _impl.implementation == "c", _impl.fallback_reason
    else:
        assert _impl.implementation == "python"
        assert _impl.fallback_reason or os.environ.get("CASS_DRIVER_IMPL") == "python"


def run(impl: str, code: str) -> subprocess.CompletedProcess[str]:
    return run_python(code, {"CASS_DRIVER_IMPL": impl})


@pytest.mark.usefixtures("compiled")
def test_cass_driver_impl_selects_the_implementation() -> None:
    code = "from cassandra import _impl; print(_impl.implementation, _impl.codecs.__name__)"
    assert run("python", code).stdout.split() == ["python", "cassandra.cqltypes.codecs"]
    assert run("c", code).stdout.split() == ["c", "cassandra._accel.codecs"]


def test_an_unknown_implementation_is_refused() -> None:
    done = run("rust", "import cassandra._impl")
    assert "CASS_DRIVER_IMPL is 'rust'; it takes 'python' or 'c'" in done.stderr


def test_requesting_c_without_a_compiled_module_names_the_module() -> None:
    code = "import sys; sys.modules['cassandra._accel.rows'] = None\nimport cassandra._impl"
    done = run("c", code)
    assert done.returncode != 0
    assert "cassandra._accel.rows" in done.stderr
    assert "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1" in done.stderr


@pytest.mark.usefixtures("compiled")
def test_a_partial_build_uses_only_python_and_has_a_reason() -> None:
    code = (
        "import sys; sys.modules['cassandra._accel.rows'] = None\n"
        "from cassandra import _impl; print(_impl.implementation); print(_impl.fallback_reason)"
    )
    done = run("", code)
    implementation, reason = done.stdout.split("\n", 1)
    assert implementation == "python"
    assert "cassandra._accel.rows" in reason


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_compiled_module_may_be_imported_first(compiled: Twins, name: str) -> None:
    """The package's own imports have a fixed order, but freezing tools and import checkers use
    others.
    """
    done = run_python(f"import cassandra._accel.{name}; import cassandra.cluster")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has the GIL for good"
)
def test_the_gil_stays_off() -> None:
    """Python switches the GIL on if it imports an extension module that does not declare
    support.
    """
    code = (
        "import importlib, sys\n"
        "from cassandra import _impl\n"
        "for name in _impl.TWINS: importlib.import_module(f'cassandra._accel.{name}')\n"
        "import cassandra.cluster, cassandra.aio\n"
        "sys.exit(sys._is_gil_enabled())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=False, env=environment, text=True,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_undocumented_names_of_the_c_api_are_in_one_header() -> None:
    """Only one header, beyond_api.h, uses C API names with an underscore; the documented
    `_PyBytes_Resize` is the exception.
    """
    folder = ROOT / "cassandra" / "_accel"
    named = {
        (path.name, name)
        for kind in ("h", "pyx", "pxi", "pxd")
        for path in folder.glob(f"*.{kind}")
        for name in re.findall(r"\b_Py[A-Z]\w+", path.read_text())
    }
    assert ("beyond_api.h", "_PyLong_AsByteArray") in named
    assert {use for use in named if use[0] != "beyond_api.h"} == {("bodies.pyx", "_PyBytes_Resize")}
