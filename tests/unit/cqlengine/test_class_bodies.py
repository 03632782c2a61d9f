"""Mistakes in the bodies of models and user-defined types cause warnings at the class statement."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model, ModelDefinitionException, ModelMetaClass
from cassandra.cqlengine.usertype import UserType, UserTypeMetaClass


class Address(UserType):
    street = columns.Text()


def define(
    *bases: Any, metaclass: Any = ModelMetaClass, **attributes: Any
) -> tuple[Any, list[str]]:
    """Define the model `Person`, and return the model and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        key = {"id": columns.Integer(primary_key=True)}
        model = metaclass("Person", bases or (Model,), {**key, **attributes})
    assert all(warning.category is RuntimeWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return model, [str(warning.message) for warning in caught]


# -- settings --------------------------------------------------------------------------------------


def test_misspelt_settings(caplog: pytest.LogCaptureFixture) -> None:
    """The warning for a misspelled setting of a model suggests the right setting.

    A private attribute that is similar to a setting is only logged, because it may belong to the
    application.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        class Event(Model):
            __tablename__ = "events"
            __table__ = "events"
            __key_space__ = "ks"
            __option__: dict[str, Any] = {}
            __connections__ = ["one"]
            __keyspace = "ks"
            id = columns.Integer(primary_key=True)

    assert [str(warning.message) for warning in caught] == [
        f"Event: {name} is not a setting and is not read: write {setting}"
        for name, setting in (
            ("__tablename__", "__table_name__"),
            ("__table__", "__table_name__"),
            ("__key_space__", "__keyspace__"),
            ("__option__", "__options__"),
            ("__connections__", "__connection__"),
        )
    ]
    assert {(warning.category, warning.filename) for warning in caught} == {
        (RuntimeWarning, __file__)
    }
    assert [record.getMessage() for record in caplog.records] == [
        "Event: __keyspace is not a setting and is not read: write __keyspace__"
    ]
    caplog.clear()

    # The settings and attributes of the next model must cause no warning and no log record.
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Right(Event):
            """A model with correct settings, and other attributes that resemble no setting."""

            __table_name__ = "right"
            __table_name_case_sensitive__ = False
            __keyspace__ = "ks"
            __options__ = None
            __connection__ = None
            __default_ttl__ = None
            __table_args__ = ()
            __note__ = "x"
            _keyspace = "x"

            def __option__(self) -> None:  # type: ignore[override]
                pass

    assert not caplog.records


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"abstract": True}, "__abstract__ = True in the model"),
        ({"table_name": "people"}, "__table_name__ = 'people' in the model"),
        ({"db_table": "people"}, "__table_name__ = 'people' in the model"),
        ({"keyspace": "ks"}, "__keyspace__ = 'ks' in the model"),
        ({"default_ttl": 60}, '__options__ = {"default_time_to_live": 60} in the model'),
        (
            {"ordering": ["-id"], "indexes": ["name"]},
            "clustering_order='DESC' in a column that has primary_key=True; index=True in the "
            "columns",
        ),
    ],
)
def test_settings_in_a_class_meta(settings: dict[str, Any], advice: str) -> None:
    """Settings in a `class Meta`, as in Django's models, cause a warning: they are not read."""
    _, messages = define(Meta=type("Meta", (), settings))
    assert messages == [f"Person: class Meta is not read: write {advice}"]


def test_a_class_meta_that_the_application_may_read() -> None:
    """A `class Meta` causes no warning if the application may read it.

    This is the case for other attributes, and if a base class or metaclass of the application may
    read `Meta`.
    """
    assert define(Meta=type("Meta", (), {"verbose_name": "a person"}))[1] == []
    meta = type("Meta", (), {"table_name": "people"})
    assert define(Meta=("table_name",))[1] == []

    class WithHook:
        def __init_subclass__(cls, **options: Any) -> None:
            """Read `cls.Meta`, as an application's base class may do."""

    class WithMeta:
        Meta: Any = meta

    class OtherMetaclass(ModelMetaClass):
        """A metaclass of the application, which may read `Meta`."""

    assert define(Model, WithHook, Meta=meta)[1] == []
    assert define(Model, WithMeta, Meta=meta)[1] == []
    assert define(Meta=meta, metaclass=OtherMetaclass)[1] == []


# -- columns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Address, "is not a column: write home = columns.UserDefinedType(Address)"),
        (Address(), "is not a column: write home = columns.UserDefinedType(Address)"),
        (columns.Text, "is the class Text, not a column: write home = columns.Text()"),
        (
            (columns.Text(),),
            "is a tuple and not a column, because of a comma: write home = columns.Text(...) "
            "without a comma behind it",
        ),
    ],
    ids=["class", "instance", "column class", "comma"],
)
@pytest.mark.parametrize("of_user_type", [False, True], ids=["model", "user type"])
def test_attributes_that_are_no_columns(value: object, message: str, of_user_type: bool) -> None:
    """An attribute that was probably meant to be a column causes a warning."""
    if of_user_type:
        with pytest.warns(RuntimeWarning) as caught:
            UserTypeMetaClass("Person", (UserType,), {"home": value})
        messages = [str(warning.message) for warning in caught]
    else:
        _, messages = define(home=value)
    assert messages == [f"Person.home {message}"]


def test_attributes_with_classes_for_another_purpose() -> None:
    """Values that may serve another purpose than columns cause no warning.

    For example, names in capitals, private names and `address_type` are not names of columns.
    """
    _, messages = define(
        Address=Address,
        _home=Address,
        address_type=Address,
        column_class=columns.Text,
        NOWHERE=Address(),
        default_home=Address(street="Main Street"),
        home=columns.UserDefinedType(Address),
        pair=(columns.Text(), columns.Text()),
        size=3,
    )
    assert messages == []


@pytest.mark.parametrize(
    "annotation", ["columns.Text", "columns.Text()", columns.Text, columns.Text(), "c.columns.Text"]
)
def test_annotations_that_are_no_columns(annotation: Any) -> None:
    """An annotation such as ``name: columns.Text`` causes a warning: it declares no column."""
    _, messages = define(__annotations__={"name": annotation, "note": str, "number": "int"})
    assert messages == [
        "Person.name has only an annotation, and is not a column: write name = columns.Text()"
    ]
    # No warning, because the column exists, or a subclass will have it.
    assert define(__annotations__={"id": annotation})[1] == []
    assert define(__annotations__={"name": annotation}, __abstract__=True)[1] == []
    base, _ = define(name=columns.Text(), __abstract__=True)
    assert define(base, __annotations__={"name": annotation})[1] == []


@pytest.mark.parametrize(
    ("attributes", "advice"),
    [
        ({"id": columns.UUID}, "id is the class UUID, not a column: write id = columns.UUID("),
        (
            {"id": columns.UUID()},
            "Write primary_key=True in the columns of the key, for example id",
        ),
        (
            {"__annotations__": {"id": int}},
            "id has only an annotation: write id = columns.Integer(primary_key=True)",
        ),
        ({}, "Person has none."),
    ],
    ids=["class", "column", "annotation", "nothing"],
)
def test_a_model_without_a_key(attributes: dict[str, Any], advice: str) -> None:
    """The error for a model without a primary key says where to write the key."""
    with pytest.raises(ModelDefinitionException) as refused:
        ModelMetaClass("Person", (Model,), attributes)
    assert advice in str(refused.value)


# -- defaults --------------------------------------------------------------------------------------


def test_a_fixed_uuid_as_default_of_a_key_is_warned_of() -> None:
    """A UUID as the default of a key column causes a warning, because all rows would get it.

    The default should be a function.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        class Event(Model):
            id = columns.UUID(primary_key=True, default=uuid.uuid4())
            at = columns.TimeUUID(primary_key=True, default=uuid.uuid1())
            good = columns.UUID(primary_key=True, default=uuid.uuid4)
            tenant = columns.Integer(primary_key=True, default=5)
            other = columns.UUID(default=uuid.uuid4())

    assert [str(warning.message) for warning in caught] == [
        "Event.id: this default is one value for all rows: write default=uuid.uuid4",
        "Event.at: this default is one value for all rows: write default=uuid.uuid1",
    ]
    assert {warning.filename for warning in caught} == {__file__}

    # Columns that were inherited from a reported model are not reported again.
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Child(Event):
            more = columns.Text()


@pytest.mark.parametrize(
    "present_time",
    [
        lambda: datetime.now(timezone.utc),
        datetime.now,
        lambda: datetime.now(timezone.utc).replace(tzinfo=None),
    ],
    ids=["aware", "local", "UTC"],
)
def test_the_present_time_as_a_default_is_warned_of(present_time: Callable[[], datetime]) -> None:
    """The present time as a default causes a warning.

    All rows would get the time at which the model was defined.
    """
    with pytest.warns(RuntimeWarning, match=r"default=lambda: datetime\.now\(timezone\.utc\)$"):

        class Log(Model):
            id = columns.Integer(primary_key=True)
            at = columns.DateTime(default=present_time())


def test_another_time_as_a_default_is_not_warned_of() -> None:
    """A fixed time in the past as a default causes no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Log(Model):
            id = columns.Integer(primary_key=True)
            at = columns.DateTime(default=datetime(2020, 1, 1))


def test_nat_as_a_default_is_not_the_present_time() -> None:
    """The value NaT of pandas is a datetime that cannot be compared with the present time."""
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Event(Model):
            id = columns.Integer(primary_key=True)
            at = columns.DateTime(default=pandas.NaT)
