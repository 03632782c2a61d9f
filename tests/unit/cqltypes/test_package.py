"""The package of types: the module and the names of its classes, and what its import brings in."""

from __future__ import annotations

from cassandra import cqltypes as t
from tests.processes import run_python


def test_classes_name_the_public_module() -> None:
    for name in t.__all__:
        value = getattr(t, name)
        if isinstance(value, type) and name not in ("EmptyValue",):
            assert value.__module__ == "cassandra.cqltypes", name


def test_the_import_stays_cheap() -> None:
    """Importing the package does not import large packages."""
    code = (
        # Import logging before the count begins: from Python 3.14 on, it imports inspect and
        # dataclasses.
        "import sys, logging; before = set(sys.modules)\n"
        "import cassandra.cqltypes, cassandra.util\n"
        "large = {'numpy', 'geomet', 'asyncio', 'inspect', 'dataclasses', 'pandas'}\n"
        "print(sorted(large & (set(sys.modules) - before)))"
    )
    process = run_python(code, {"CASS_DRIVER_IMPL": "python"}, is_bare=True)
    assert process.stdout.strip() == "[]", process.stderr


def test_types_have_the_names_that_tools_print() -> None:
    assert t.DateRangeType.typename == "daterange"
    assert repr(t.Int32Type) == "<class 'cassandra.cqltypes.Int32Type'>"
