"""Each name of today's drivers is there, with its documented parameters.

``names.txt`` holds the API: sections are modules, ``Class.member`` is a member that the class or
its instances have, ``x=`` is a parameter with a default. The last word says whose documentation has
the name: that of both drivers, of scylla's or of apache's; or nobody's, but programs may use it.
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

# Of each driver's documented names, and of their parameters.
LEAST_NAMES, LEAST_PARAMETERS = 0.98, 0.95

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Name(NamedTuple):
    """A line of the list."""

    module: str
    name: str
    parameters: tuple[str, ...]
    whose: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def names() -> list[Name]:
    found, module = [], ""
    for line in (HERE / "names.txt").read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line:
            match = LINE.fullmatch(line)
            assert match is not None, line
            parameters = tuple(filter(None, (match["parameters"] or "").split(", ")))
            found.append(Name(module, match["name"], parameters, match["whose"]))
    return found


NAMES = names()
MODULES = sorted({one.module for one in NAMES})


def is_member(cls: Any, name: str) -> bool:
    """Whether the class has it, or gives it to its instances."""
    if hasattr(cls, name):
        return True
    for one in getattr(cls, "__mro__", ()):
        if name in getattr(one, "__annotations__", {}) or name in getattr(one, "_fields", ()):
            return True
        for function in filter(inspect.isfunction, vars(one).values()):
            if re.search(rf"\bself\.{name}(: [^=]+)? = ", inspect.getsource(function)):
                return True
    return False


@cache
def is_there(module: str, name: str) -> bool:
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        return False
    cls, _, member = name.partition(".")
    if (
        not hasattr(found, cls)
        and hasattr(found, "__path__")
        and importlib.util.find_spec(f"{module}.{cls}")
    ):
        return True
    return hasattr(found, cls) and (not member or is_member(getattr(found, cls), member))


def signature_of(one: Name) -> inspect.Signature | None:
    """The parameters that a caller gives; None if the name is not there or takes none."""
    found: Any = importlib.import_module(one.module) if is_there(one.module, one.name) else None
    try:
        for part in one.name.split("."):
            holder, found = found, getattr(found, part)
        signature = inspect.signature(found)
    except (AttributeError, TypeError, ValueError):
        return None
    is_method = inspect.isclass(holder) and not isinstance(
        inspect.getattr_static(holder, one.name.rpartition(".")[2]), (classmethod, staticmethod)
    )
    if is_method and "." in one.name:
        return signature.replace(parameters=list(signature.parameters.values())[1:])
    return signature


def missing_parameters(one: Name) -> list[str]:
    """The parameters that cannot be given by their position, and by their name.

    Keywords alone are enough for the settings of a cluster, which has over forty of them.
    """
    signature = signature_of(one)
    given = list(signature.parameters.values()) if signature is not None else []
    kinds = {parameter.kind for parameter in given}
    missing = []
    for place, wanted in enumerate(one.parameters):
        name = wanted.lstrip("*").rstrip("=")
        if wanted.startswith("**"):
            there = inspect.Parameter.VAR_KEYWORD in kinds
        elif wanted.startswith("*"):
            there = inspect.Parameter.VAR_POSITIONAL in kinds
        else:
            there = (
                place < len(given)
                and given[place].name == name
                and given[place].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                and (given[place].default is not inspect.Parameter.empty or wanted == name)
            ) or (one.name == "Cluster" and name in ClusterSettings._table)
        if not there:
            missing.append(wanted)
    return missing


@pytest.mark.parametrize("module", MODULES)
def test_each_name_is_there(module: str) -> None:
    absent = [str(one) for one in NAMES if one.module == module and not is_there(module, one.name)]
    assert not absent


@pytest.mark.parametrize("driver", ["scylla", "apache"])
def test_the_documented_api_is_there(driver: str) -> None:
    documented = [one for one in NAMES if one.whose in ("both", driver)]
    assert len(documented) > 600
    absent = [str(one) for one in documented if not is_there(one.module, one.name)]
    assert len(absent) <= (1 - LEAST_NAMES) * len(documented), absent
    count = sum(len(one.parameters) for one in documented)
    missing = [f"{one}({name})" for one in documented for name in missing_parameters(one)]
    assert len(missing) <= (1 - LEAST_PARAMETERS) * count, missing


def test_the_check_of_parameters_finds_what_is_wrong() -> None:
    def one(*parameters: str) -> Name:
        return Name("cassandra.query", "bind_params", parameters, "both")

    assert missing_parameters(one("query", "params", "encoder")) == []
    assert missing_parameters(one("params", "query", "encoder=")) == ["params", "query"]
    assert missing_parameters(one("query=", "params", "encoder", "x", "**y")) == [
        "query=", "x", "**y",
    ]  # fmt: skip
    assert missing_parameters(Name("cassandra.query", "nothing", ("x",), "both")) == ["x"]


@pytest.mark.parametrize("module", MODULES)
def test_the_api_reference_has_each_module(module: str) -> None:
    pages = (page.read_text() for page in sorted((HERE.parents[2] / "docs" / "api").glob("*.rst")))
    named = re.compile(rf"^\.\. automodule:: {re.escape(module)}$|``{re.escape(module)}``", re.M)
    assert any(named.search(page) for page in pages)
