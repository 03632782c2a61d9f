"""`typing.get_type_hints` resolves the annotations of public methods, as dependency injection and
documentation tools need it.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import _imports, aio, cluster, cqltypes, policies
from cassandra.bulk import scan
from cassandra.column_encryption import policies as encryption_policies

CLASSES = [
    *(cluster.ResultSet, aio.ResultSet, scan.Scan, scan.AsyncScan),
    *(policies.ColumnEncryptionPolicy, encryption_policies.AES256ColumnEncryptionPolicy),
    *(cls for cls in vars(cqltypes).values() if isinstance(cls, cqltypes.CassandraTypeType)),
]
# Methods whose annotations name internal classes, or classes of modules that are imported later.
_UNRESOLVED = {"age_of", "get_query_trace", "get_all_query_traces", "locating", "follow"}


def public_methods(cls: type) -> Iterator[Callable[..., Any]]:
    """Yield the public methods of a class whose annotations must be resolvable."""
    for name, member in inspect.getmembers(cls):
        is_method = inspect.isfunction(member) or inspect.ismethod(member)
        if is_method and not name.startswith("_") and name not in _UNRESOLVED:
            yield member


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_the_hints_of_public_methods_can_be_resolved(cls: type) -> None:
    unresolved = {}
    for method in public_methods(cls):
        try:
            typing.get_type_hints(method)
        except NameError as error:
            unresolved[method.__qualname__] = str(error)
    assert unresolved == {}


@pytest.mark.parametrize("cls", [cluster.ResultSet, aio.ResultSet, scan.Scan, scan.AsyncScan])
def test_the_hints_name_the_classes_of_optional_packages(cls: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert typing.get_type_hints(cls.to_arrow)["return"] is pyarrow.Table


@pytest.mark.parametrize("cls", [cluster.ResultSet, aio.ResultSet])
def test_the_hints_can_be_resolved_without_the_packages(
    cls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy.typing", "pandas", "polars", "pyarrow"):
        # An import of a module that is None here raises ImportError.
        monkeypatch.setitem(sys.modules, name, None)
    for method in (cls.to_arrow, cls.to_pandas, cls.to_polars):
        assert typing.get_type_hints(method)["return"] is _imports.NotInstalled
    hint = typing.get_type_hints(cls.to_numpy)["return"]
    assert typing.get_args(hint) == (str, _imports.NotInstalled)
