"""Each documented name of the object mapper accepts cassandra-driver's parameters."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

LISTED = Path(__file__).with_name("mapper_signatures.txt")


def listed_signatures() -> list[tuple[str, str, str]]:
    """Return the module, the name and the parameters of each line of mapper_signatures.txt."""
    signatures, module = [], ""
    for line in LISTED.read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif match := re.fullmatch(r"([\w.]+)\((.*)\)", line):
            signatures.append((module, match[1], match[2]))
    return signatures


# The constructors of these classes are not checked, because the mapper or a metaclass creates their
# instances, not the application.
MADE_BY_PYTHON = re.compile(
    r"Operator$|^ContainerUpdateTypeMapMeta|MetaClass$|^OpMapMeta|Descriptor$|^ResultObject"
)


@pytest.mark.parametrize(
    ("module", "name", "parameters"), listed_signatures(), ids=lambda value: str(value)[-60:]
)
def test_parameters_of_cassandra_driver_are_accepted(
    module: str, name: str, parameters: str
) -> None:
    """cassandra-driver's parameters exist in the same order, with defaults where it has them."""
    member: Any = importlib.import_module(module)
    for part in name.split("."):
        # `getattr` would let descriptors of a class compute their value.
        read_attribute = inspect.getattr_static if isinstance(member, type) else getattr
        member = read_attribute(member, part)
    # A class method or static method is a descriptor, so take the signature of its function.
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    # Methods that Python generates have no signature that we could compare.
    if MADE_BY_PYTHON.search(name) or not parameters:
        assert callable(member) or hasattr(member, "__get__")
        return
    own_parameters = [
        parameter
        for parameter in inspect.signature(member).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    names = {parameter.name for parameter in own_parameters}
    accepts_any_keyword = any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in own_parameters
    )
    # Our own parameters may only follow the documented parameters, whose order must be the same.
    position = 0
    for listed in parameters.split(", "):
        if listed.startswith("**"):
            assert accepts_any_keyword, listed
        elif listed.startswith("*"):
            kinds = {parameter.kind for parameter in own_parameters}
            assert inspect.Parameter.VAR_POSITIONAL in kinds, listed
        else:
            listed_name = listed.rstrip("=")
            assert listed_name in names or accepts_any_keyword, f"{name} takes no {listed_name}"
            if listed_name in names:
                own_parameter = own_parameters[position]
                assert own_parameter.name == listed_name, f"{name}: {listed_name} is elsewhere"
                if listed.endswith("="):
                    assert own_parameter.default is not own_parameter.empty, listed
                position += 1


def test_exceptions_can_be_imported_from_the_module_that_they_name() -> None:
    """Each exception of the mapper can be imported from the module that its `__module__` names."""
    for module in ("models", "query", "usertype", "statements", "connection", "operators"):
        public_module = importlib.import_module(f"cassandra.cqlengine.{module}")
        for name, value in vars(public_module).items():
            if (
                isinstance(value, type)
                and issubclass(value, Exception)
                and value.__module__.startswith("cassandra.cqlengine.")
            ):
                assert hasattr(importlib.import_module(value.__module__), name)
