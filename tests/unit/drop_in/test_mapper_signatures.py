"""Each documented name takes the parameters that programs give it."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

LISTED = Path(__file__).with_name("mapper_signatures.txt")


def listed() -> list[tuple[str, str, str]]:
    found, module = [], ""
    for line in LISTED.read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif match := re.fullmatch(r"([\w.]+)\((.*)\)", line):
            found.append((module, match[1], match[2]))
    return found


# Classes whose parameters programs never give: they are made by their metaclass or by the mapper
# itself.
MADE_BY_PYTHON = re.compile(
    r"Operator$|^ContainerUpdateTypeMapMeta|MetaClass$|^OpMapMeta|Descriptor$|^ResultObject"
)


@pytest.mark.parametrize(
    ("module", "name", "parameters"), listed(), ids=lambda value: str(value)[-60:]
)
def test_parameters(module: str, name: str, parameters: str) -> None:
    thing: Any = importlib.import_module(module)
    for part in name.split("."):
        thing = (
            inspect.getattr_static(thing, part) if isinstance(thing, type) else getattr(thing, part)
        )
    if isinstance(thing, (classmethod, staticmethod)):
        thing = thing.__func__
    if MADE_BY_PYTHON.search(name) or not parameters:
        assert callable(thing) or hasattr(thing, "__get__")
        return
    ours = [
        one
        for one in inspect.signature(thing).parameters.values()
        if one.name not in ("self", "cls")
    ]
    names = {one.name for one in ours}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in ours)
    at = 0
    for text in parameters.split(", "):
        if text.startswith("**"):
            assert takes_any, text
        elif text.startswith("*"):
            assert any(one.kind is one.VAR_POSITIONAL for one in ours), text
        else:
            parameter = text.rstrip("=")
            assert parameter in names or takes_any, f"{name} takes no {parameter}"
            if parameter in names:
                assert ours[at].name == parameter, f"{name}: {parameter} stands elsewhere"
                assert not text.endswith("=") or ours[at].default is not ours[at].empty, text
                at += 1


def test_exceptions_say_their_public_place() -> None:
    for module in ("models", "query", "usertype", "statements", "connection", "operators"):
        face = importlib.import_module(f"cassandra.cqlengine.{module}")
        for name, value in vars(face).items():
            if (
                isinstance(value, type)
                and issubclass(value, Exception)
                and value.__module__.startswith("cassandra.cqlengine.")
            ):
                assert hasattr(importlib.import_module(value.__module__), name)
