"""Annotations such as `Mapped[int]` of a model's attributes declare columns of the right types."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import uuid
from typing import Any, Optional

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.columns import Mapped
from cassandra.cqlengine.models import Model, ModelDefinitionException
from cassandra.cqlengine.usertype import UserType


class Place(UserType):
    street: Mapped[str | None]
    number: Mapped[int]


# A model whose columns are declared by annotations, except `old`. `plain` is no column.
class User(Model):
    __keyspace__ = "ks"
    id: Mapped[uuid.UUID] = columns.UUID(primary_key=True, default=uuid.uuid4)
    name: Mapped[str]
    nick: Mapped[str | None]
    age: Mapped[int | None] = columns.SmallInt(db_field="years")
    uuid: Mapped[Optional[uuid.UUID]]  # noqa: UP045 - both spellings
    rate: Mapped[float | None]
    active: Mapped[bool | None]
    photo: Mapped[bytes | None]
    born: Mapped[datetime.date | None]
    at: Mapped[datetime.time | None]
    seen: Mapped[datetime.datetime | None]
    paid: Mapped[decimal.Decimal | None]
    host: Mapped[ipaddress.IPv4Address | None]
    tags: Mapped[set[str]]
    marks: Mapped[dict[str, list[int]]]
    pair: Mapped[tuple[int, str] | None]
    home: Mapped[Place | None]
    plain: int = 5
    old = columns.Text()


def test_annotations_select_the_cql_types_of_columns() -> None:
    """Each `Mapped` annotation selects the expected CQL type of its column."""
    types = {name: column.db_type for name, column in User.__mapping__.columns.items()}
    assert types == {
        "old": "text",
        "id": "uuid",
        "name": "text",
        "nick": "text",
        "age": "smallint",
        "uuid": "uuid",
        "rate": "double",
        "active": "boolean",
        "photo": "blob",
        "born": "date",
        "at": "time",
        "seen": "timestamp",
        "paid": "decimal",
        "host": "inet",
        "tags": "set<text>",
        "marks": "map<text, frozen<list<int>>>",
        "pair": "tuple<int, text>",
        "home": "frozen<place>",
    }
    assert list(Place.fields()) == ["street", "number"]


def test_annotated_columns_have_defaults_and_validate_values() -> None:
    """Annotated columns are validated and have defaults, like columns that are assigned."""
    user = User(name="x", tags=["a"], home=Place(street="s", number=1))
    assert user.tags == {"a"}
    assert user.nick is None
    assert user.home is not None
    assert user.home.number == 1
    assert isinstance(user.id, uuid.UUID)
    user.validate()
    # In the database, the column of the attribute `age` is called "years".
    assert str(User.objects.filter(User.age > 5).allow_filtering()).startswith(
        'SELECT * FROM ks.user WHERE "years" > %(0)s'
    )
    # An attribute whose annotation is not `Mapped` is not a column.
    assert User.plain == 5


@pytest.mark.parametrize("values", [{}, {"name": None}])
def test_columns_that_are_not_optional_are_required(values: dict[str, Any]) -> None:
    """A column whose annotation does not allow None is required."""
    with pytest.raises(ValidationError, match=r"User\.name"):
        User(**values).validate()


def model_with(annotation: Any) -> Any:
    """Return a model class named `Odd`, whose attribute `odd` has this annotation."""
    attrs = {
        "__module__": __name__,
        "id": columns.Integer(primary_key=True),
        "__annotations__": {"odd": annotation},
    }
    return type("Odd", (Model,), attrs)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("Mapped[nowhere.Thing]", r"'Mapped\[nowhere.Thing\]' of Odd.odd cannot be read"),
        ("Mapped[object]", "no column for the annotation <class 'object'> of Odd.odd"),
        ("Mapped[int | str]", "no column for the annotation int | str of Odd.odd"),
        (Mapped[list[object]], "no column for the annotation <class 'object'> of Odd.odd"),
    ],
)
def test_wrong_annotations_are_refused(annotation: Any, message: str) -> None:
    """The error for an annotation that selects no column shows the annotation and the attribute."""
    with pytest.raises(ModelDefinitionException, match=message.replace("int | str", r"int \| str")):
        model_with(annotation)


def test_other_annotations_declare_no_column() -> None:
    """Annotations other than `Mapped` declare no column."""
    for annotation in ("int", "nowhere.Thing", int, list[int]):
        assert list(model_with(annotation).__mapping__.columns) == ["id"]
    assert list(model_with(Mapped[int]).__mapping__.columns) == ["id", "odd"]


def test_columns_are_inherited() -> None:
    """A model inherits the annotated columns of its base class."""

    class Base(Model):
        __abstract__ = True
        id: Mapped[int] = columns.Integer(primary_key=True)
        name: Mapped[str]

    class Child(Base):
        more: Mapped[str | None]

    assert list(Child.__mapping__.columns) == ["id", "name", "more"]


def test_columns_without_annotation_keep_their_place_in_the_key() -> None:
    """An annotation without a value does not move other columns: the key stays the same."""

    class Reading(Model):
        __keyspace__ = "ks"
        unit: Mapped[str | None]
        tenant: Mapped[int] = columns.Integer(partition_key=True)
        day = columns.Integer(partition_key=True)
        note: Mapped[str | None]
        sensor: Mapped[int] = columns.Integer(primary_key=True)
        at = columns.Integer(primary_key=True)
        comment: Mapped[str | None]
        value = columns.Double()

    assert list(Reading._partition_keys) == ["tenant", "day"]
    assert list(Reading._clustering_keys) == ["sensor", "at"]
    assert list(Reading._columns) == [
        "unit", "tenant", "day", "note", "sensor", "at", "value", "comment",
    ]  # fmt: skip
