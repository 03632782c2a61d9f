"""Tests that both implementations of each module have the same interface.

They have the same names, signatures, constructors, constants and attributes. The compiled modules
are also checked to be really compiled.
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
from tests.conftest import LANE, Implementation
from tests.processes import run_python

NAMES = sorted(_impl.TWINS)
ROOT = Path(__file__).resolve().parents[2]


def public_names(module: ModuleType) -> set[str]:
    """Return the names that a module exports."""
    exported = getattr(module, "__all__", None)
    if exported is not None:
        return set(exported)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


def parameters(function: Any) -> list[tuple[str, Any, bool]] | None:
    """Return (name, kind, whether it has a default) for each parameter of `function`.

    Return None if Python does not know its signature.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return [
        (parameter.name, parameter.kind, parameter.default is not parameter.empty)
        for parameter in signature.parameters.values()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_same_public_names(name: str, compiled: Implementation) -> None:
    """Both implementations must have the same public names."""
    python_names = public_names(_impl.twin(name, "python"))
    compiled_names = public_names(getattr(compiled, name))
    assert python_names == compiled_names


@pytest.mark.parametrize("name", NAMES)
def test_same_signatures(name: str, compiled: Implementation) -> None:
    """Functions and methods of both implementations must have the same parameters."""
    python_module, compiled_module = _impl.twin(name, "python"), getattr(compiled, name)
    for public_name in sorted(public_names(python_module)):
        python_item, compiled_item = (
            getattr(python_module, public_name),
            getattr(compiled_module, public_name),
        )
        assert callable(python_item) == callable(compiled_item), public_name
        if inspect.isclass(python_item):
            assert inspect.isclass(compiled_item), public_name
            methods = [
                attribute
                for attribute in vars(python_item)
                if not attribute.startswith("_") and callable(getattr(python_item, attribute))
            ]
            for method in methods:
                assert hasattr(compiled_item, method), f"{public_name}.{method}"
                check_parameters(
                    getattr(python_item, method),
                    getattr(compiled_item, method),
                    f"{public_name}.{method}",
                )
        elif callable(python_item):
            check_parameters(python_item, compiled_item, public_name)


def check_parameters(python_function: Any, compiled_function: Any, where: str) -> None:
    """Compare the parameters of two functions, if Python knows both signatures."""
    of_python, of_compiled = parameters(python_function), parameters(compiled_function)
    if of_python is not None and of_compiled is not None:
        assert of_python == of_compiled, where


def test_every_compiled_module_is_a_twin(compiled: Implementation) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    built = Path(_accel.__file__).parent.glob(f"*{suffix}")
    assert {path.name.removesuffix(suffix) for path in built} == set(NAMES)


# -- constructors ----------------------------------------------------------------------------------

# Compiled classes have no signature, so call them to find out which arguments they accept. If the
# arguments do not match the parameters, the message of the error has one of these phrases.
MISMATCH = re.compile(r"keyword argument|positional argument|required .*argument|no arguments")


# These constructors are not compared. The compiled `Codec` refuses every call, because only
# functions of its module create codecs. `RowBase` has the constructor of `tuple`.
NOT_CALLED = {("codecs", "Codec"), ("rows", "RowBase")}


class Call(NamedTuple):
    """The arguments of one call of a constructor.

    Their values are plain objects, so the types are all wrong.
    """

    positional: tuple[object, ...]
    named: dict[str, object]


def calls_for(python_class: type[Any]) -> list[Call]:
    """Return some calls that match the parameters of `python_class`, and some that do not.

    The latter have one argument too many or too few.
    """
    parameters = list(inspect.signature(python_class).parameters.values())
    positional_parameters = [
        parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    arguments_by_name: dict[str, object] = {parameter.name: object() for parameter in parameters}
    needed: dict[str, object] = {
        parameter.name: object() for parameter in parameters if parameter.default is parameter.empty
    }
    values = tuple(object() for _ in positional_parameters)
    calls = [Call((), arguments_by_name), Call((), needed), Call(values, {})]
    calls += [
        Call((*values, object()), {}),
        Call((), {**arguments_by_name, "no_such_parameter": object()}),
    ]
    calls += [
        Call(
            (),
            {
                parameter_name: argument
                for parameter_name, argument in needed.items()
                if parameter_name != omitted
            },
        )
        for omitted in needed
    ]
    calls += [Call(values[:count], {}) for count in range(len(values))]
    return calls


def accepts_call(compiled_class: type[Any], call: Call) -> bool:
    """Return True if the constructor accepts these argument names and this number of arguments.

    Errors because of the values of the arguments do not count.
    """
    try:
        compiled_class(*call.positional, **call.named)
    except TypeError as error:
        return MISMATCH.search(str(error)) is None
    except Exception:
        return True
    return True


def fits(python_class: type[Any], call: Call) -> bool:
    """Return True if the arguments match the signature of the class, according to `inspect`."""
    try:
        inspect.signature(python_class).bind(*call.positional, **call.named)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_same_constructors(name: str, compiled: Implementation) -> None:
    """Constructors of both implementations must accept and refuse the same calls."""
    for python_class, compiled_class in classes(name, compiled):
        if (name, python_class.__name__) in NOT_CALLED:
            continue
        for call in calls_for(python_class):
            counts = (len(call.positional), sorted(call.named))
            assert accepts_call(compiled_class, call) == fits(python_class, call), (
                f"{python_class.__qualname__}: {counts}"
            )


# -- constants and attributes ----------------------------------------------------------------------

# The values of these constants may differ. RELEASES_SAFELY says what the implementation is able to
# do.
DIFFERENT_CONSTANTS = {("arrow_capsules", "RELEASES_SAFELY")}
# Only the Python class has these attributes. It inherits them from `QueryParams`, where they are
# always None or False for this class, so the compiled class does not need them.
PYTHON_ATTRIBUTES = {
    ("happy_path", "ExecuteBodyBase"): {"keyspace", "now_in_seconds", "value_names"}
}


def classes(name: str, compiled: Implementation) -> list[tuple[type[Any], type[Any]]]:
    """Return pairs of the public classes of a module: the Python class and the compiled one."""
    python_module, compiled_module = _impl.twin(name, "python"), getattr(compiled, name)
    return [
        (getattr(python_module, public_name), getattr(compiled_module, public_name))
        for public_name in sorted(public_names(python_module))
        if inspect.isclass(getattr(python_module, public_name))
    ]


def constants(module: ModuleType) -> dict[str, object]:
    """Return the public constants of a module, with their values."""
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_")
    }


def own_constants(module: ModuleType) -> set[str]:
    """Return the constants that the Python module defines."""
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
def test_same_constants(name: str, compiled: Implementation) -> None:
    """Constants must have the same values in both, except those in DIFFERENT_CONSTANTS."""
    python_module, compiled_module = _impl.twin(name, "python"), getattr(compiled, name)
    python_constants, compiled_constants = constants(python_module), constants(compiled_module)
    assert own_constants(python_module) <= set(compiled_constants)
    assert set(compiled_constants) <= set(python_constants)
    for constant in compiled_constants:
        if (name, constant) not in DIFFERENT_CONSTANTS:
            assert python_constants[constant] == compiled_constants[constant], constant


def attributes(kind: type[Any]) -> set[str]:
    """Return the public attributes of a class."""
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_same_public_attributes_of_classes(name: str, compiled: Implementation) -> None:
    """Both classes must have the same public attributes, except those in PYTHON_ATTRIBUTES."""
    for python_class, compiled_class in classes(name, compiled):
        only_in_python = PYTHON_ATTRIBUTES.get((name, python_class.__name__), set())
        assert attributes(python_class) - only_in_python == attributes(compiled_class), (
            python_class.__qualname__
        )
        for attribute in attributes(compiled_class):
            python_value, compiled_value = (
                getattr(python_class, attribute),
                getattr(compiled_class, attribute),
            )
            assert callable(python_value) == callable(compiled_value), (
                f"{python_class.__qualname__}.{attribute}"
            )
            if isinstance(python_value, (int, float, str, bytes, tuple, frozenset, type(None))):
                assert python_value == compiled_value, f"{python_class.__qualname__}.{attribute}"


@pytest.mark.parametrize("name", NAMES)
def test_compiled_modules_are_extension_modules(name: str, compiled: Implementation) -> None:
    file = getattr(compiled, name).__file__
    assert file is not None
    assert file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)), file


def test_the_lane_is_what_it_says() -> None:
    """The driver must use the implementation for which this test run is (LANE).

    If it uses Python, there must be a reason for it.
    """
    if LANE == "c":
        assert _impl.implementation == "c", _impl.fallback_reason
    else:
        assert _impl.implementation == "python"
        assert _impl.fallback_reason or os.environ.get("CASS_DRIVER_IMPL") == "python"


def run(impl: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program with this value of CASS_DRIVER_IMPL."""
    return run_python(code, {"CASS_DRIVER_IMPL": impl})


@pytest.mark.usefixtures("compiled")
def test_cass_driver_impl_selects_the_implementation() -> None:
    code = "from cassandra import _impl; print(_impl.implementation, _impl.codecs.__name__)"
    assert run("python", code).stdout.split() == ["python", "cassandra.cqltypes.codecs"]
    assert run("c", code).stdout.split() == ["c", "cassandra._accel.codecs"]


def test_an_unknown_implementation_is_refused() -> None:
    process = run("rust", "import cassandra._impl")
    assert "CASS_DRIVER_IMPL is 'rust'; it takes 'python' or 'c'" in process.stderr


def test_requesting_c_without_a_compiled_module_names_the_module() -> None:
    code = "import sys; sys.modules['cassandra._accel.rows'] = None\nimport cassandra._impl"
    process = run("c", code)
    assert process.returncode != 0
    assert "cassandra._accel.rows" in process.stderr
    assert "CASS_DRIVER_BUILD_EXTENSIONS_ARE_MUST=1" in process.stderr


@pytest.mark.usefixtures("compiled")
def test_a_partial_build_uses_only_python_and_has_a_reason() -> None:
    """If one compiled module is missing, none may be used, and the reason must name it."""
    code = (
        "import sys; sys.modules['cassandra._accel.rows'] = None\n"
        "from cassandra import _impl; print(_impl.implementation); print(_impl.fallback_reason)"
    )
    process = run("", code)
    implementation, reason = process.stdout.split("\n", 1)
    assert implementation == "python"
    assert "cassandra._accel.rows" in reason


# This program imports each module in a separate child process, which has imported nothing else of
# the package. The parent imports the largest packages that the driver needs, to save time.
EACH_IMPORTED_FIRST = f"""
import asyncio, importlib, ipaddress, os, ssl, sys, uuid
for name in {NAMES}:
    child = os.fork()
    if child == 0:
        importlib.import_module("cassandra._accel." + name)
        importlib.import_module("cassandra.cluster")
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        sys.exit(f"{{name}}: {{status}}")
print("imported")
"""


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
def test_each_compiled_module_may_be_imported_first() -> None:
    """Each compiled module must be importable as the first module that a program imports.

    The imports of the package have a fixed order, but freezing tools and import checkers use other
    orders.
    """
    programs = [EACH_IMPORTED_FIRST]
    if not hasattr(os, "fork"):
        programs = [
            f"import cassandra._accel.{name}; import cassandra.cluster; print('imported')"
            for name in NAMES
        ]
    for program in programs:
        process = run_python(program)
        assert (process.returncode, process.stdout) == (0, "imported\n"), process.stderr


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has the GIL for good"
)
def test_the_gil_stays_off() -> None:
    """Importing the compiled modules must not switch the GIL on.

    Python switches the GIL on if it imports an extension module that does not declare support for
    running without the GIL.
    """
    code = (
        "import importlib, sys\n"
        "from cassandra import _impl\n"
        "for name in _impl.TWINS: importlib.import_module(f'cassandra._accel.{name}')\n"
        "import cassandra.cluster, cassandra.aio\n"
        "sys.exit(sys._is_gil_enabled())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=False, env=environment, text=True,
        capture_output=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr


def test_undocumented_names_of_the_c_api_are_in_one_header() -> None:
    """Undocumented names of the C API must be in one header only, beyond_api.h.

    These names begin with an underscore. The documented `_PyBytes_Resize` is the exception.
    """
    folder = ROOT / "cassandra" / "_accel"
    file_and_name_pairs = {
        (path.name, name)
        for suffix in ("h", "pyx", "pxi", "pxd")
        for path in folder.glob(f"*.{suffix}")
        for name in re.findall(r"\b_Py[A-Z]\w+", path.read_text())
    }
    assert ("beyond_api.h", "_PyLong_AsByteArray") in file_and_name_pairs
    assert {
        file_and_name for file_and_name in file_and_name_pairs if file_and_name[0] != "beyond_api.h"
    } == {("bodies.pyx", "_PyBytes_Resize")}
