"""Test the package of types: the names and modules of its classes, and what it imports."""

from __future__ import annotations

from cassandra import cqltypes as t
from tests.processes import run_python


def test_classes_name_the_public_module() -> None:
    """Each class of the package names `cassandra.cqltypes` as its module."""
    for name in t.__all__:
        value = getattr(t, name)
        if isinstance(value, type) and name not in ("EmptyValue",):
            assert value.__module__ == "cassandra.cqltypes", name


def test_the_import_stays_cheap() -> None:
    """The import of the package does not import large packages."""
    code = (
        # Import logging before the count begins, because logging imports inspect and dataclasses
        # from Python 3.14 on.
        "import sys, logging; before = set(sys.modules)\n"
        "import cassandra.cqltypes, cassandra.util\n"
        "large = {'numpy', 'geomet', 'asyncio', 'inspect', 'dataclasses', 'pandas'}\n"
        "print(sorted(large & (set(sys.modules) - before)))"
    )
    process = run_python(code, {"CASS_DRIVER_IMPL": "python"}, is_bare=True)
    assert process.stdout.strip() == "[]", process.stderr


def test_types_have_the_names_that_tools_print() -> None:
    """Tools print a type's name and repr, which must be as expected."""
    assert t.DateRangeType.typename == "daterange"
    assert repr(t.Int32Type) == "<class 'cassandra.cqltypes.Int32Type'>"
