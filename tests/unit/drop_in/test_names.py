"""Nothing of today's drivers is silently absent: each name is there, or docs/upgrading.rst says
that it is not, and why.

``names.txt`` holds the names only: sections are modules, ``Class.member`` is a member that the
class or its instances have.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
UPGRADING = HERE.parents[2] / "docs" / "upgrading.rst"


def names() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (HERE / "names.txt").read_text().splitlines():
        if line.startswith("["):
            module = found.setdefault(line.strip("[]"), [])
        elif line:
            module.append(line)
    return found


NAMES = names()


@cache
def said_to_be_absent() -> frozenset[str]:
    """What the guide lists with its full name after "What is not there yet"."""
    _, _, lists = UPGRADING.read_text().partition("What is not there yet")
    return frozenset(re.findall(r"``(cassandra\.[\w.]+)``", lists))


def is_listed(name: str) -> bool:
    parts = name.split(".")
    return any(
        ".".join(parts[:length]) in said_to_be_absent() for length in range(2, len(parts) + 1)
    )


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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("module", sorted(NAMES))
def test_each_name_is_there_or_listed(module: str) -> None:
    silent = [
        f"{module}.{name}"
        for name in NAMES[module]
        if not is_listed(f"{module}.{name}") and not is_there(module, name)
    ]
    assert not silent, f"neither there nor in docs/upgrading.rst: {silent}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_list_is_no_longer_than_it_has_to_be() -> None:
    stale = []
    for listed in sorted(said_to_be_absent()):
        module = max(
            (name for name in NAMES if listed == name or listed.startswith(f"{name}.")),
            key=len,
            default=None,
        )
        assert module is not None, f"docs/upgrading.rst lists {listed}, which no driver has"
        name = listed[len(module) + 1 :]
        if is_there(module, name) if name else any(is_there(module, one) for one in NAMES[module]):
            stale.append(listed)
    assert not stale, f"docs/upgrading.rst says that these are absent, and they are there: {stale}"
