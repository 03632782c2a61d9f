"""Test how the migration check looks up the driver's names that an application uses.

For each name, it finds whether the name exists and in which module, and for a class, which
attributes its instances have.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cassandra.migrate import names
from cassandra.migrate.table_source import OBJECTS
from tests.processes import run_python


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cassandra", True),
        ("cassandra.cluster.Cluster.connect", True),
        ("cassandra.cluster.ConsistencyLevel", True),  # this name is defined in another module
        ("cassandra.cqlengine.columns.Integer", True),
        # The class sortedset hides the module of the same name.
        ("cassandra.util.sortedset.SortedSet", True),
        ("cassandra.nothing", False),
        ("cassandra.nothing.more", False),
        ("cassandra.cluster.Nothing", False),
        ("cassandra.cluster.Cluster.nothing", False),
    ],
)
def test_is_there_finds_existing_names(name: str, expected: bool) -> None:
    assert names.is_there(name) is expected


def test_a_module_that_cannot_be_imported_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`find` returns UNKNOWN if the import of a module fails, so the check does not report it."""
    # Look up the package before `importlib` is replaced, because the result is cached for other
    # tests and must be right.
    names.find(names.PACKAGE)

    def raise_missing_dependency(name: str) -> None:
        raise ModuleNotFoundError("no module numpy", name="numpy")

    monkeypatch.setattr(names, "importlib", SimpleNamespace(import_module=raise_missing_dependency))
    # `__wrapped__` is the function without its cache, so this call does not change the cache.
    assert names.find.__wrapped__("cassandra.needs_numpy") is names.UNKNOWN

    def raise_other_error(name: str) -> None:
        raise RuntimeError("too old")

    monkeypatch.setattr(names, "importlib", SimpleNamespace(import_module=raise_other_error))
    assert names.find.__wrapped__("cassandra.needs_numpy") is names.UNKNOWN


def test_home_returns_the_module_that_defines_a_name() -> None:
    assert names.home("cassandra.cluster.SimpleStatement") == "cassandra.query.SimpleStatement"
    assert names.home("cassandra.cluster") == "cassandra.cluster"
    assert names.home("cassandra.nothing.More") == "cassandra.nothing.More"
    assert names.home("cassandra.cluster.ResultSet") == "cassandra.cluster.ResultSet"


@pytest.mark.parametrize(
    ("owner", "name", "expected"),
    [
        ("cassandra.cluster.Session", "execute", True),
        ("cassandra.cluster.Cluster", "_lock", True),  # a method sets the attribute
        ("cassandra.cluster.Session", "_pools", False),
        ("cassandra.cluster.Cluster", "_pools", False),  # the constructor is generated
        ("cassandra.query.PreparedStatement", "_set_x", False),  # the base class is compiled
        ("cassandra.nothing.More", "a", None),
        # These names raise errors with advice.
        ("cassandra.cqlengine.models.Model", "find_one", False),
        ("cassandra.cqlengine.models.Model", "_as_dict", False),
        ("cassandra.cqlengine.models.Model", "_columns", True),
        ("cassandra.cluster.Session", "cursor", False),
        # Reading this attribute on the class raises an error.
        ("cassandra.cqlengine.named.NamedTable", "objects", True),
    ],
)
def test_attributes_of_objects(owner: str, name: str, expected: bool | None) -> None:
    """`has_attribute` returns True or False, or None if that cannot be known."""
    assert names.has_attribute(owner, name) is expected


def test_parameters_of_functions() -> None:
    """`parameters` returns the parameter names of a function or constructor.

    `parameters` returns None if any name is accepted, or if the function is unknown.
    """
    execute_parameters = names.parameters("cassandra.cluster.Session.execute")
    assert execute_parameters is not None
    assert {"query", "parameters", "execution_profile"} <= execute_parameters
    settings = names.parameters("cassandra.cluster.Cluster")
    assert settings is not None
    assert {"contact_points", "application_info"} <= settings
    setup = names.parameters("cassandra.cqlengine.connection.setup")
    assert setup is not None
    assert {"default_keyspace", "contact_points", "execution_profiles"} <= setup
    # A model accepts any parameters.
    assert names.parameters("cassandra.cqlengine.models.Model") is None
    assert names.parameters("cassandra.nothing") is None


def test_position_is_the_index_of_a_positional_argument() -> None:
    """`position` returns the index of a positional argument, and None for other arguments."""
    assert names.position("cassandra.cluster.Cluster", "protocol_version") == 13
    assert names.position("cassandra.cluster.Session.execute", "execute_as") == 8
    assert names.position("cassandra.cluster.Session.execute", "query") == 0
    assert names.position("cassandra.cluster.Cluster", "application_info") is None
    assert names.position("cassandra.cqlengine.connection.setup", "protocol_version") is None
    assert names.position("cassandra.nothing", "a") is None


@pytest.mark.parametrize(
    ("owner", "name", "expected"),
    [
        ("cassandra.cluster.Cluster", "conect_timeout", True),
        ("cassandra.cluster.Cluster", "connect_timeout", False),
        ("cassandra.cluster.Cluster", "_conect_timeout", False),
        ("cassandra.cluster.Cluster", "timeout", False),
        ("cassandra.cluster.Session", "default_timout", True),
        ("cassandra.cluster.ExecutionProfile", "row_factry", True),
        ("cassandra.cluster.ExecutionProfile", "mine", False),
        ("cassandra.query.SimpleStatement", "fetch_sise", False),
        ("cassandra.nothing.More", "a", False),
    ],
)
def test_misspelt_settings(owner: str, name: str, expected: bool) -> None:
    """`refuses` returns True for a misspelt setting, if the class refuses unknown names.

    A name is misspelt if it resembles a setting.
    """
    assert names.refuses(owner, name) is expected


def test_attributes_documented_by_other_drivers_exist() -> None:
    """`has_attribute` finds each documented attribute of the classes in `OBJECTS`."""
    lines = (Path(__file__).parents[1] / "drop_in" / "names.txt").read_text().splitlines()
    module, count = "", 0
    for line in lines:
        if line.startswith("["):
            module = line.strip("[]")
        elif (match := re.match(r"(\w+)\.(\w+)", line)) and f"{module}.{match[1]}" in OBJECTS:
            count += 1
            assert names.has_attribute(f"{module}.{match[1]}", match[2]), line
    # An empty list would pass the test, so check its length.
    assert count > 150


def test_public_names_of_a_module() -> None:
    """`public` lists the public names of a module of the driver, and none for other modules."""
    assert "Cluster" in names.public("cassandra.cluster")
    assert names.public("os") == []
    assert names.public("cassandra.nothing") == []


def test_looking_up_a_name_imports_only_its_module() -> None:
    """Looking up a name in `cassandra.auth` must not import the mapper or the blocking API."""
    process = run_python(
        "import sys; from cassandra.migrate import names; names.is_there('cassandra.auth.Nothing');"
        "print('cassandra.cqlengine' in sys.modules, 'cassandra.cluster' in sys.modules)"
    )
    assert process.stdout.split() == ["False", "False"], (process, sys.version)
