"""Tests that classes name the package from which applications import them.

This holds with lazy imports, too: Python 3.15 can make all imports of a program lazy (PEP 810). A
module is then imported when one of its names is first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from cassandra._public_names import set_public_module
from tests.processes import WITH_TESTS, run_python

LAZY = {"PYTHON_LAZY_IMPORTS": "all"}

has_lazy_imports = pytest.mark.skipif(
    sys.version_info < (3, 15), reason="lazy imports are new in Python 3.15"
)

# These are packages whose __init__.py sets `__module__` of names that it imports, with some of the
# names.
PUBLIC_NAMES = {
    "cassandra": ["Unauthorized", "OperationTimedOut", "WriteType", "UnresolvableContactPoints"],
    "cassandra.policies": ["RoundRobinPolicy", "HostDistance", "RetryPolicy", "TokenAwarePolicy"],
    "cassandra.cqlengine.columns": ["List", "Column", "Text", "DateTime", "resolve_udts"],
}

# This connects with both APIs, and prints the rows that it reads.
CONNECTING_PROGRAM = """
import asyncio
import pickle

import cassandra
from cassandra import aio, cluster, policies, query
from cassandra.testing.fake import FakeNode, rows


async def read_asynchronously(node):
    async with aio.Cluster([node.address], port=node.port) as asynchronous:
        session = await asynchronous.connect()
        return (await session.execute("SELECT v FROM t")).all()


with FakeNode() as node:
    node.prime("SELECT v FROM t", rows([("v", "int")], [(1,)]))
    node.prime("SELECT v FROM other", rows([("v", "int")], [(2,)]))
    profile = cluster.ExecutionProfile(
        policies.TokenAwarePolicy(policies.RoundRobinPolicy()), row_factory=query.tuple_factory
    )
    with cluster.Cluster(
        [node.address],
        port=node.port,
        execution_profiles={cluster.EXEC_PROFILE_DEFAULT: profile},
    ) as connected:
        session = connected.connect()
        print(list(session.execute("SELECT v FROM t")), end=" ")
        print(list(session.execute(session.prepare("SELECT v FROM other"))), end=" ")
    print(asyncio.run(read_asynchronously(node)))

error = pickle.loads(pickle.dumps(cassandra.Unauthorized("no")))
assert type(error) is cassandra.Unauthorized, error
"""


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a package with a class of its submodule, a class of another package and a number."""
    example = ModuleType("example")
    example.Own = type("Own", (), {"__module__": "example.part"})  # type: ignore[attr-defined]
    example.Foreign = type("Foreign", (), {"__module__": "examples"})  # type: ignore[attr-defined]
    example.number = 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "example", example)
    return example


@pytest.mark.parametrize("home", ["example", "example.part"])
def test_only_names_of_the_home_get_the_package_as_their_module(
    package: ModuleType, home: str
) -> None:
    """A class of the module `home` or its submodules must name the package, and others not."""
    set_public_module("example", ["Own", "Foreign", "number"], home)
    assert package.Own.__module__ == "example"
    assert package.Foreign.__module__ == "examples"


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_classes_name_the_package_from_which_applications_import_them(name: str) -> None:
    package = importlib.import_module(name)
    assert {getattr(package, public).__module__ for public in PUBLIC_NAMES[name]} == {name}


@has_lazy_imports
@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_classes_name_their_package_with_lazy_imports(name: str) -> None:
    code = (
        f"import {name} as package\n"
        f"print(*{{getattr(package, name).__module__ for name in {PUBLIC_NAMES[name]}}})"
    )
    process = run_python(code, env=LAZY)
    assert process.stdout.split() == [name], process.stderr


@has_lazy_imports
@pytest.mark.slow
def test_a_program_with_lazy_imports_connects_and_queries() -> None:
    process = run_python(CONNECTING_PROGRAM, env={**WITH_TESTS, **LAZY})
    assert process.returncode == 0, process.stderr
    assert process.stdout == "[(1,)] [(2,)] [Row(v=1)]\n"
    assert process.stderr == ""


@has_lazy_imports
@pytest.mark.parametrize(
    "name",
    [
        "cassandra", "cassandra.aio", "cassandra.cluster", "cassandra.codecs",
        "cassandra.cqlengine.columns", "cassandra.cqlengine.models", "cassandra.cqlengine.query",
        "cassandra.cqltypes", "cassandra.graph", "cassandra.metadata", "cassandra.policies",
        "cassandra.protocol", "cassandra.query", "cassandra.testing", "cassandra.util",
    ],
)  # fmt: skip
def test_a_star_import_has_the_same_names_with_lazy_imports(name: str) -> None:
    code = (
        f"from {name} import *\n"
        "print(*sorted(f'{name}={type(value).__name__}' for name, value in globals().items()))"
    )
    eager, lazy = run_python(code), run_python(code, env=LAZY)
    assert lazy.returncode == 0, lazy.stderr
    assert lazy.stdout == eager.stdout
