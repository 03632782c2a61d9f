"""Each name of cassandra-driver and scylla-driver exists in this driver, with its parameters.

``names.txt`` lists their API: a section is a module, ``Class.member`` is a member of a class or its
instances, and ``x=`` is a parameter with a default. The last word of a line says which driver
documents the name: both, scylla or apache; "undocumented" marks names that neither documents,
although applications may use them.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cassandra.client.settings.table import ClusterSettings

HERE = Path(__file__).parent
LINE = re.compile(r"(?P<name>[\w.]+)(\((?P<parameters>.*)\))? (?P<whose>\w+)")

# The smallest fraction of each driver's documented names, and of their parameters, that must exist
# in this driver.
LEAST_NAMES, LEAST_PARAMETERS = 0.98, 0.95

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Name(NamedTuple):
    """A line of ``names.txt``; the module docstring explains its parts."""

    module: str
    name: str
    parameters: tuple[str, ...]
    whose: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def read_names() -> list[Name]:
    """Return the names that names.txt lists."""
    names, module = [], ""
    for line in (HERE / "names.txt").read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line:
            match = LINE.fullmatch(line)
            assert match is not None, line
            parameters = tuple(filter(None, (match["parameters"] or "").split(", ")))
            names.append(Name(module, match["name"], parameters, match["whose"]))
    return names


NAMES = read_names()
MODULES = sorted({entry.module for entry in NAMES})


def is_member(cls: Any, name: str) -> bool:
    """Return True if the class has the member, or if one of its methods sets it on instances."""
    if hasattr(cls, name):
        return True
    for base in getattr(cls, "__mro__", ()):
        if name in getattr(base, "__annotations__", {}) or name in getattr(base, "_fields", ()):
            return True
        for function in filter(inspect.isfunction, vars(base).values()):
            if re.search(rf"\bself\.{name}(: [^=]+)? = ", inspect.getsource(function)):
                return True
    return False


@cache
def exists(module: str, name: str) -> bool:
    """Return True if the name exists in the module, or in the class that it begins with."""
    try:
        namespace: Any = importlib.import_module(module)
    except ImportError:
        return False
    cls, _, member = name.partition(".")
    # The name may be a submodule that is not imported yet.
    if (
        not hasattr(namespace, cls)
        and hasattr(namespace, "__path__")
        and importlib.util.find_spec(f"{module}.{cls}")
    ):
        return True
    return hasattr(namespace, cls) and (not member or is_member(getattr(namespace, cls), member))


def signature_of(entry: Name) -> inspect.Signature | None:
    """Return the signature of a callable; None if the name does not exist or is not callable."""
    member: Any = (
        importlib.import_module(entry.module) if exists(entry.module, entry.name) else None
    )
    try:
        # `owner` is the class or module that contains the last part of the name.
        for part in entry.name.split("."):
            owner, member = member, getattr(member, part)
        signature = inspect.signature(member)
    except (AttributeError, TypeError, ValueError):
        return None
    is_method = inspect.isclass(owner) and not isinstance(
        inspect.getattr_static(owner, entry.name.rpartition(".")[2]), (classmethod, staticmethod)
    )
    # Callers do not pass `self`, so remove it.
    if is_method and "." in entry.name:
        return signature.replace(parameters=list(signature.parameters.values())[1:])
    return signature


def accepts(parameter: inspect.Parameter, name: str, *, needs_default: bool) -> bool:
    """Return True if the parameter has this name, and can be passed by position and by name.

    :param needs_default: whether the parameter must have a default.
    """
    return (
        parameter.name == name
        and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        and (parameter.default is not inspect.Parameter.empty or not needs_default)
    )


def missing_parameters(entry: Name) -> list[str]:
    """Return the parameters of `entry` that our function does not accept.

    A parameter must be accepted by position and by name. A cluster has over forty settings; for
    these, passing by name is enough.
    """
    signature = signature_of(entry)
    accepted = list(signature.parameters.values()) if signature is not None else []
    parameter_kinds = {parameter.kind for parameter in accepted}
    missing = []
    # Each listed parameter is a name, with "=" for a default, or with asterisks.
    for position, parameter_text in enumerate(entry.parameters):
        name = parameter_text.lstrip("*").rstrip("=")
        if parameter_text.startswith("**"):
            is_accepted = inspect.Parameter.VAR_KEYWORD in parameter_kinds
        elif parameter_text.startswith("*"):
            is_accepted = inspect.Parameter.VAR_POSITIONAL in parameter_kinds
        else:
            is_setting = entry.name == "Cluster" and name in ClusterSettings._table
            needs_default = parameter_text.endswith("=")
            is_accepted = is_setting or (
                position < len(accepted)
                and accepts(accepted[position], name, needs_default=needs_default)
            )
        if not is_accepted:
            missing.append(parameter_text)
    return missing


@pytest.mark.parametrize("module", MODULES)
def test_each_name_is_there(module: str) -> None:
    absent = [
        str(entry) for entry in NAMES if entry.module == module and not exists(module, entry.name)
    ]
    assert not absent


@pytest.mark.parametrize("driver", ["scylla", "apache"])
def test_most_of_the_documented_api_is_there(driver: str) -> None:
    documented = [entry for entry in NAMES if entry.whose in ("both", driver)]
    # An empty list would pass the test, so check the number of names.
    assert len(documented) > 600
    absent = [str(entry) for entry in documented if not exists(entry.module, entry.name)]
    assert len(absent) <= (1 - LEAST_NAMES) * len(documented), absent
    parameter_count = sum(len(entry.parameters) for entry in documented)
    missing = [f"{entry}({name})" for entry in documented for name in missing_parameters(entry)]
    assert len(missing) <= (1 - LEAST_PARAMETERS) * parameter_count, missing


def test_the_check_of_parameters_finds_what_is_wrong() -> None:
    def bind_params_with(*parameters: str) -> Name:
        return Name("cassandra.query", "bind_params", parameters, "both")

    # The function is bind_params(query, params, encoder=None). A listed parameter that ends with
    # "=" must have a default. A parameter without "=" may have a default, too.
    assert missing_parameters(bind_params_with("query", "params", "encoder")) == []
    assert missing_parameters(bind_params_with("params", "query", "encoder=")) == [
        "params",
        "query",
    ]
    assert missing_parameters(bind_params_with("query=", "params", "encoder", "x", "**y")) == [
        "query=", "x", "**y",
    ]  # fmt: skip
    assert missing_parameters(Name("cassandra.query", "nothing", ("x",), "both")) == ["x"]


@pytest.mark.parametrize("module", MODULES)
def test_the_api_reference_has_each_module(module: str) -> None:
    pages = (page.read_text() for page in sorted((HERE.parents[2] / "docs" / "api").glob("*.rst")))
    named = re.compile(rf"^\.\. automodule:: {re.escape(module)}$|``{re.escape(module)}``", re.M)
    assert any(named.search(page) for page in pages)
