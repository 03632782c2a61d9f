"""Each name can be imported from every module in which cassandra-driver has the name.

The name must refer to the same object as in the module that defines it (its home).
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from cassandra._compat.reexports import REEXPORTS
from tests.processes import run_python

# All names that the driver re-exports: (module, name, home module).
ROWS = [
    (module, name, home)
    for module, homes in REEXPORTS.items()
    for home, names in homes.items()
    for name in names.split()
]

# Names whose object has a different name in its home module.
RENAMED = {
    "CBatchType": "BatchType",
    "DefaultConnection": "LibevConnection",
    "WT": "WriteType",
    "conn_class": "LibevConnection",
}

# The names that modules of cassandra-driver and scylla-driver have. Each entry is a module, a name,
# and the name's home module in the other drivers.
LISTED = [
    tuple(line.split())
    for line in (Path(__file__).parent / "reexports.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


# Home modules of the other drivers that this driver does not have.
ABSENT_HOMES = {
    "cassandra.c_shard_info",
    "cassandra.column_encryption._policies",
    "cassandra.cython_lz4",
    "cassandra.numpy_parser",
    "cassandra.obj_parser",
    "cassandra.row_parser",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_each_listed_name_can_be_imported() -> None:
    """Each listed name can be imported. Only the modules in `ABSENT_HOMES` do not exist."""
    homes = {home for _, _, home in LISTED}
    assert {home for home in homes if importlib.util.find_spec(home) is None} == ABSENT_HOMES
    absent = []
    for module, name, _ in LISTED:
        try:
            exec(f"from {module} import {name}", {})
        except ImportError:
            absent.append(f"{module}.{name}")
    assert absent == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("module", "name", "home"),
    [row for row in LISTED if row[2] not in ABSENT_HOMES],
    ids=lambda part: part,
)
def test_a_listed_name_is_the_same_object_as_in_the_other_driver_s_home_module(
    module: str, name: str, home: str
) -> None:
    """A listed name is the same object as in the home module that the other driver has for it."""
    home_module = importlib.import_module(home)
    exported = getattr(importlib.import_module(module), name)
    assert exported is getattr(home_module, RENAMED.get(name, name))


@pytest.mark.parametrize(("module", "name", "home"), ROWS, ids=lambda part: part)
def test_a_reexported_name_is_the_same_object_as_in_its_home_module(
    module: str, name: str, home: str
) -> None:
    namespace: dict[str, object] = {}
    # Import the name as applications do.
    exec(f"from {module} import {name}", namespace)
    assert namespace[name] is getattr(importlib.import_module(home), name)


def test_unknown_names_raise_attribute_error() -> None:
    for module in REEXPORTS:
        with pytest.raises(
            AttributeError, match=f"module '{module}' has no attribute 'nothing_of_the_kind'"
        ):
            getattr(importlib.import_module(module), "nothing_of_the_kind")  # noqa: B009


def test_importing_a_module_does_not_load_the_table() -> None:
    """The table of re-exported names is loaded only when an application uses one of the names."""
    code = (
        "import sys, cassandra.cluster, cassandra.query, cassandra.concurrent; "
        "print('cassandra._compat.reexports' in sys.modules)"
    )
    process = run_python(code)
    assert process.stdout.strip() == "False"


def test_modules_are_attributes_of_the_package() -> None:
    """A module is imported when it is first read as an attribute of the package."""
    program = (
        "import cassandra, sys\n"
        "from cassandra.cluster import Cluster\n"
        "assert 'cassandra.connection' not in sys.modules\n"
        "print(cassandra.connection.ConnectionBusy.__name__, cassandra.decoder.dict_factory.__name__,"  # noqa: E501
        " hasattr(cassandra, 'nothing_of_the_kind'))"
    )
    process = run_python(program)
    assert process.stdout.split() == ["ConnectionBusy", "dict_factory", "False"], process.stderr
