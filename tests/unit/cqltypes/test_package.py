"""The package of types: the modules that its classes name, its import time, and names that tools
print.
"""

from __future__ import annotations

from cassandra import cqltypes as t
from tests.processes import run_python


def test_classes_name_the_public_module() -> None:
    for name in t.__all__:
        value = getattr(t, name)
        if isinstance(value, type) and name not in ("EmptyValue",):
            assert value.__module__ == "cassandra.cqltypes", name


def test_the_import_stays_cheap() -> None:
    code = (
        # Import logging before the count begins: from Python 3.14 on, it imports inspect and
        # dataclasses.
        "import sys, logging; before = set(sys.modules)\n"
        "import cassandra.cqltypes, cassandra.util\n"
        "heavy = {'numpy', 'geomet', 'asyncio', 'inspect', 'dataclasses', 'pandas'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    process = run_python(code, {"CASS_DRIVER_IMPL": "python"}, is_bare=True)
    assert process.stdout.strip() == "[]", process.stderr


def test_names_that_tools_print() -> None:
    """The type classes have the names that tools expect to print."""
    assert t.DateRangeType.typename == "daterange"
    assert repr(t.Int32Type) == "<class 'cassandra.cqltypes.Int32Type'>"
