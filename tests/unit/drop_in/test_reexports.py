"""Programs import names from the module where they first met them: each is there, and the same
object as at its home.
"""

from __future__ import annotations

import importlib
import importlib.util

import pytest

from cassandra._reexports import REEXPORTS
from tests.processes import run_python

ROWS = [
    (module, name, home)
    for module, homes in REEXPORTS.items()
    for home, names in homes.items()
    for name in names.split()
]


@pytest.mark.parametrize(("module", "name", "home"), ROWS, ids=lambda part: part)
def test_a_name_is_the_same_object_as_at_its_home(module: str, name: str, home: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from {module} import {name}", namespace)  # as programs do
    assert namespace[name] is getattr(importlib.import_module(home), name)


def test_unknown_names_are_refused_as_ever() -> None:
    for module in REEXPORTS:
        with pytest.raises(
            AttributeError, match=f"module '{module}' has no attribute 'nothing_of_the_kind'"
        ):
            getattr(importlib.import_module(module), "nothing_of_the_kind")  # noqa: B009


def test_importing_a_module_does_not_load_the_table() -> None:
    code = (
        "import sys, cassandra.cluster, cassandra.query, cassandra.concurrent; "
        "print('cassandra._reexports' in sys.modules)"
    )
    done = run_python(code)
    assert done.stdout.strip() == "False"
