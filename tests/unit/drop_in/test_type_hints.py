"""`typing.get_type_hints` resolves the annotations of public methods.

Tools for dependency injection and documentation need this.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import _imports, aio, cluster, cqltypes, policies, query
from cassandra.bulk import scan
from cassandra.column_encryption import policies as encryption_policies
from cassandra.cqlengine import columns, models, usertype

# The classes whose methods are checked.
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
        # Importing a module that is None in `sys.modules` raises ImportError.
        monkeypatch.setitem(sys.modules, name, None)
    for method in (cls.to_arrow, cls.to_pandas, cls.to_polars):
        assert typing.get_type_hints(method)["return"] is _imports.NotInstalled
    hint = typing.get_type_hints(cls.to_numpy)["return"]
    assert typing.get_args(hint) == (str, _imports.NotInstalled)


def test_the_hints_of_models_and_user_types_can_be_resolved() -> None:
    """The annotations of a model's and a user type's base classes can be resolved.

    Tools that read the annotations of an application's classes also read the annotations of their
    base classes.
    """

    class Address(usertype.UserType):
        street = columns.Text()

    class Person(models.Model):
        id = columns.Integer(primary_key=True)

    assert "__options__" in typing.get_type_hints(Person)
    assert "__type_name__" in typing.get_type_hints(Address)
    for cls in (Person, Address):
        assert typing.get_type_hints(cls.__init__)["values"] is Any


@pytest.mark.parametrize(
    "cls",
    [cluster.Cluster, cluster.Session, aio.Cluster, aio.Session, query.PreparedStatement],
    ids=lambda cls: f"{cls.__module__}.{cls.__name__}",
)
def test_applications_may_annotate_their_dependencies(cls: Any) -> None:
    """FastAPI's `Depends` and pydantic's `validate_call` accept the driver's classes."""
    fastapi = pytest.importorskip("fastapi")
    pydantic = pytest.importorskip("pydantic")
    application = fastapi.FastAPI()

    def dependency() -> cls:
        return None  # not called

    @application.get("/")  # type: ignore[untyped-decorator]
    def endpoint(value: Any, size: int) -> int:
        return size

    endpoint.__annotations__["value"] = typing.Annotated[cls, fastapi.Depends(dependency)]
    application.get("/annotated")(endpoint)
    assert application.openapi()["paths"].keys() == {"/", "/annotated"}
    config = pydantic.ConfigDict(arbitrary_types_allowed=True)

    def count(value: Any, size: int) -> int:
        return size

    count.__annotations__ = {"value": cls, "size": int, "return": int}
    checked_count = pydantic.validate_call(config=config)(count)
    assert checked_count(object.__new__(cls), "5") == 5
    with pytest.raises(pydantic.ValidationError, match=f"instance of {cls.__name__}"):
        checked_count(None, 5)
