"""Test how a load reads rows and values that are objects, and which of their fields it refuses."""

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from types import SimpleNamespace
from typing import Any

import attrs
import msgspec
import numpy
import pandas
import pydantic
import pytest

from cassandra.bulk.objects import (
    ABSENT,
    Attributes,
    attribute_of,
    check_value,
    fields_of,
    fields_of_class,
    has_user_type,
    may_be_unset,
    stored_values,
    values_to_show,
)
from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType
from cassandra.cqltypes.scalars import Int32Type, UTF8Type
from cassandra.cqltypes.udt import UserType, mapped_classes
from cassandra.util import SortedSet


def any_name(name: str) -> bool:
    """Keep all fields."""
    return True


@dataclasses.dataclass
class Data:
    id: int
    nmae: str = "x"


@attrs.define
class Attrs:
    id: int
    nmae: str = "x"


class Model(pydantic.BaseModel):
    id: int
    nmae: str = "x"

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2 * self.id


class OpenModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    id: int


class ModelWithAlias(pydantic.BaseModel):
    id: int
    full: str = pydantic.Field("x", alias="name")


class ModelWithExcluded(pydantic.BaseModel):
    id: int
    nmae: str = "x"
    cache: str = pydantic.Field("c", exclude=True)


class Struct(msgspec.Struct):
    id: int
    nmae: str = "x"


class Plain:
    kind = "plain"

    def __init__(self, id: int) -> None:
        self.id = id
        self.nmae = "x"
        self._private = 1

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.id


class Slots:
    __slots__ = ("__weakref__", "id", "nmae", "unset")

    def __init__(self, id: int) -> None:
        self.id, self.nmae = id, "x"


class OneSlot(Slots):
    __slots__ = "more"


class Column:
    """A column of a table, as SQLAlchemy has it."""

    table = "people"


class Mapped:
    """A class that SQLAlchemy has mapped to a table: only its columns are fields.

    An SQL expression has no table, and a relationship is no column attribute.
    """

    __mapper__ = SimpleNamespace(
        column_attrs=[
            SimpleNamespace(key="id", columns=[Column()]),
            SimpleNamespace(key="nmae", columns=[Column()]),
            SimpleNamespace(key="sum", columns=[SimpleNamespace(table=None)]),
        ]
    )

    def __init__(self, id: int) -> None:
        self.id, self.nmae, self._sa_instance_state, self.friends = id, "x", None, [self]


OBJECTS = [
    Data(1),
    Attrs(1),
    Model(id=1),
    OpenModel(id=1, nmae="x"),  # type: ignore[call-arg]
    ModelWithExcluded(id=1),  # type: ignore[call-arg]
    Struct(1),
    Plain(1),
    Mapped(1),
    SimpleNamespace(id=1, nmae="x"),
]


@pytest.mark.parametrize("row", OBJECTS, ids=lambda row: type(row).__name__)
def test_fields_of_objects(row: Any) -> None:
    """An object has the fields that its class declares, or else its public attributes.

    Values that properties compute, and attributes of the class, are no fields.
    """
    if isinstance(row, Plain):
        assert row.double == 2
    assert tuple(fields_of(row)) == ("id", "nmae")
    attributes = Attributes(row, ["id", "name"])
    assert (attributes.names, attributes.values) == (["id", "nmae"], {"id": 1})
    assert values_to_show(row, ["id", "name"], any_name) == {"id": 1, "nmae": "x"}


class Patch(msgspec.Struct):
    id: int
    name: str | msgspec.UnsetType = msgspec.UNSET


class Unresolved(msgspec.Struct):
    id: NoSuchClass  # type: ignore[name-defined]  # noqa: F821


def test_unset_fields_of_structs_are_absent() -> None:
    """`msgspec.UNSET` means that the struct does not have the field. Its name stays known."""
    attributes = Attributes(Patch(1), ["id", "name"])
    assert attributes.values == {"id": 1}
    assert sorted(attributes.names) == ["id", "name"]
    assert Attributes(Patch(1, "x"), ["id", "name"]).values == {"id": 1, "name": "x"}
    assert values_to_show(Patch(1), ["id", "name"], any_name) == {"id": 1}
    assert may_be_unset(Patch)
    assert not may_be_unset(Struct)
    assert not may_be_unset(Data)
    # The annotation names a class that does not exist, so it is not known what the field may be.
    assert may_be_unset(Unresolved)


def test_fields_of_slots() -> None:
    """Slots of all base classes are fields; a slot without a value is absent."""
    assert fields_of_class(Slots) is None
    assert tuple(fields_of(OneSlot(1))) == ("id", "nmae")
    assert attribute_of(Slots(1), "unset") is ABSENT
    assert values_to_show(Slots(1), ["id", "unset"], any_name) == {"id": 1, "nmae": "x"}


def test_aliases_stand_for_their_attributes() -> None:
    """A field may be named by its alias, and an alias may be ignored."""
    row = ModelWithAlias(id=1, name="x")
    attributes = Attributes(row, ["id", "name"])
    assert (attributes.names, attributes.values) == (["id", "name"], {"id": 1, "name": "x"})
    assert Attributes(row, ["id"]).names == ["id", "full"]
    assert Attributes(row, ["id"], ignored=["name"]).names == ["id"]
    assert values_to_show(row, ["id", "name"], any_name) == {"id": 1, "name": "x"}
    # An attribute is left out by its name and by its alias.
    for ignored in ("full", "name"):
        assert values_to_show(row, ["id"], lambda name: name != ignored) == {"id": 1}  # noqa: B023


def test_properties_that_raise_are_errors() -> None:
    """A property that raises AttributeError is an error; it is not an absent attribute."""

    class Lazy:
        @property
        def name(self) -> str:
            return self.missing  # type: ignore[attr-defined,no-any-return]

    with pytest.raises(ValueError, match=r"'name' of Lazy raises AttributeError: .*'missing'"):
        attribute_of(Lazy(), "name")
    assert attribute_of(Lazy(), "other") is ABSENT
    assert values_to_show(Lazy(), ["name"], any_name) == {}


def test_fields_that_are_left_out_are_not_read() -> None:
    """If a field is left out, it is not read.

    Reading a deferred column of SQLAlchemy sends a query, and fails if the object is detached.
    """

    @dataclasses.dataclass
    class Detached:
        id: int
        big: str = ""

        def __getattribute__(self, name: str) -> Any:
            if name == "big":
                raise RuntimeError("not bound to a Session")
            return super().__getattribute__(name)

    row = Detached.__new__(Detached)
    row.id = 1
    assert values_to_show(row, ["id"], lambda name: name != "big") == {"id": 1}
    with pytest.raises(RuntimeError, match="not bound"):
        values_to_show(row, ["id"], any_name)


def test_iterators_have_no_fields_to_show() -> None:
    """The attributes of an iterator are not the values of a row."""

    class Numbers:
        def __init__(self) -> None:
            self.position = 0

        def __iter__(self) -> Any:
            return iter([1, 2])

    assert values_to_show(Numbers(), ["id"], any_name) == {}
    assert values_to_show(Numbers(), ["position"], any_name) == {"position": 0}


ADDRESS = UserType.make_udt_class("ks", "addr", ("street", "zip"), (UTF8Type, Int32Type))
PERSON = UserType.make_udt_class("ks", "person", ("name", "home"), (UTF8Type, ADDRESS))


@dataclasses.dataclass
class Address:
    street: str
    zip: int


@dataclasses.dataclass
class BadAddress:
    stret: str
    zip: int


@dataclasses.dataclass
class Person:
    name: str
    home: object


BAD = BadAddress("x", 1)


@pytest.mark.parametrize(
    ("cql_type", "make"),
    [
        (ADDRESS, lambda value: value),
        (ListType.apply_parameters([ADDRESS]), lambda value: [None, value]),
        (MapType.apply_parameters([Int32Type, ADDRESS]), lambda value: {1: value}),
        (SetType.apply_parameters([ADDRESS]), lambda value: SortedSet([value])),
        (SetType.apply_parameters([ADDRESS]), lambda value: {1: value}.values()),
        (ListType.apply_parameters([ADDRESS]), lambda value: deque([None, value])),
        (ListType.apply_parameters([ADDRESS]), lambda value: pandas.Series([None, value])),
        (TupleType.apply_parameters([Int32Type, ADDRESS]), lambda value: (1, value)),
        (PERSON, lambda value: Person("x", value)),
        (PERSON, lambda value: {"home": value}),
        (PERSON, lambda value: ("x", value)),
    ],
)
def test_fields_that_a_user_defined_type_lacks_are_refused(cql_type: Any, make: Any) -> None:
    """A field that the type does not have is refused at any depth of the value."""
    assert has_user_type(cql_type)
    for value in (Address("x", 1), {"street": "x"}, ("x", 1), None):
        check_value(cql_type, make(value))
    bad_values: list[Any] = [BAD, SimpleNamespace(stret="x", zip=1)]
    for value in bad_values:
        with pytest.raises(ValueError, match="has the field 'stret', which is not a field of addr"):
            check_value(cql_type, make(value))
    with pytest.raises(ValueError, match=r"\(street, zip\); did you mean 'street'\?$"):
        check_value(cql_type, make(BAD))


def test_values_that_are_not_checked() -> None:
    """Types without fields, and objects that cannot be bound, are left to the codecs."""
    assert not has_user_type(ListType.apply_parameters([Int32Type]))
    check_value(ListType.apply_parameters([Int32Type]), [BAD])
    check_value(ListType.apply_parameters([ADDRESS]), 5)
    check_value(MapType.apply_parameters([Int32Type, ADDRESS]), 5)
    check_value(ListType.apply_parameters([ADDRESS]), numpy.array(5))
    check_value(ListType.apply_parameters([ADDRESS]), "text")
    for value in (5, "text", SimpleNamespace(other=1)):
        check_value(ADDRESS, value)

    # A class that the application has registered may have further attributes.
    class Registered(SimpleNamespace):
        pass

    mapped_classes.add(Registered)
    check_value(ADDRESS, Registered(street="x", zip=1, label="x 1"))


def test_stored_values_are_read_without_calling_code_of_the_class() -> None:
    """`stored_values` returns attributes and slots, and leaves properties and empty slots out."""

    class Slots:
        __slots__ = ("_c", "a", "b")

        def __init__(self) -> None:
            self.a, self._c = 1, 3

    class Computed:
        def __init__(self) -> None:
            self.id = 5

        @property
        def name(self) -> str:
            raise AssertionError

    assert stored_values(Slots()) == [1]
    assert stored_values(Computed()) == [5]
    assert stored_values(Data(7)) == [7, "x"]
    assert stored_values(5) == []
