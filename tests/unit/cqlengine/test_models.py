"""Tests of declarations of models, and of operations on their instances, with a fake session."""

from __future__ import annotations

import abc
import copy
import pickle
import uuid
import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from cassandra.cqlengine import CQLEngineException, ValidationError, columns, connection, models
from cassandra.cqlengine.models import (
    Model,
    ModelDefinitionException,
    ModelException,
    PolymorphicModelException,
)
from cassandra.cqlengine.query import BatchQuery
from cassandra.cqlengine.values import values_of

from .conftest import FakeSession

T = TypeVar("T")


# A model with a default, collections, and a column with another name in the database.
class Person(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text(db_field="nm")
    age = columns.Integer(default=3)
    tags = columns.Set(columns.Text)
    scores = columns.Map(columns.Text, columns.Integer)


# A model with a counter. It also sets the name and the keyspace of its table.
class Hits(Model):
    __keyspace__ = "other"
    __table_name__ = "AllHits"
    __table_name_case_sensitive__ = True
    page = columns.UUID(primary_key=True, default=uuid.uuid4)
    views = columns.Counter()


# Two models that share a table. The column `kind` says to which of them a row belongs.
class Pet(Model):
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True, index=True)


class Cat(Pet):
    __discriminator_value__ = "cat"
    cute = columns.Float()


def declare(**attributes: Any) -> Any:
    """Declare a model named `Declared` with these attributes."""
    return type("Declared", (Model,), {"__module__": __name__, **attributes})


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({"a": columns.Text()}, ModelDefinitionException, "At least 1 primary key"),
        (
            {"k": columns.Text(primary_key=True), "a": columns.Text(db_field="x"), "b": columns.Text(db_field="x")},  # noqa: E501
            ModelException, "'x' more than once",
        ),
        ({"k": columns.Text(primary_key=True), "filter": columns.Text()}, ModelDefinitionException, "'filter' conflicts"),  # noqa: E501
        ({"k": columns.Text(primary_key=True), "objects": columns.Text()}, ModelDefinitionException, "'objects' conflicts"),  # noqa: E501
        (
            {"k": columns.Text(primary_key=True), "a": columns.Text(), "b": columns.Counter()},
            ModelDefinitionException, "counter models may not have data columns",
        ),
        ({"k": columns.Text(primary_key=True, clustering_order="desc")}, ModelException, "only for clustering primary keys"),  # noqa: E501
        (
            {"k": columns.Text(primary_key=True), "c": columns.Text(primary_key=True, clustering_order="up")},  # noqa: E501
            ModelException, "invalid clustering order 'up'",
        ),
        (
            {
                "k": columns.Text(primary_key=True), "a": columns.Text(discriminator_column=True),
                "b": columns.Text(discriminator_column=True),
            },
            ModelDefinitionException, "only one discriminator_column",
        ),
        (
            {"k": columns.Text(primary_key=True), "a": columns.Set(columns.Text, discriminator_column=True)},  # noqa: E501
            ModelDefinitionException, "must not be",
        ),
    ],
)  # fmt: skip
def test_refused_declarations(
    attributes: dict[str, Any], error: type[Exception], message: str
) -> None:
    """A wrong declaration of a model is refused with an error that describes the mistake."""
    with pytest.raises(error, match=message):
        declare(**attributes)


def test_names_of_tables() -> None:
    """The name of a table is derived from the model's name, or set by attributes."""
    models.DEFAULT_KEYSPACE = "ks"
    try:
        assert Person.column_family_name() == "ks.person"
        assert Person.column_family_name(include_keyspace=False) == "person"
        assert Hits.column_family_name() == 'other."AllHits"'
        # A subclass with a discriminator value shares the table of its base class.
        assert Cat.column_family_name() == "ks.pet"
        table_names = {
            "ThisIsALongCamelCaseNameHTTP": "this_is_along_camel_case_name_http",
            "Pers2onURLx": "pers2on_urlx",
            # This name of 55 characters is too long, so its last 48 characters are used.
            "A" + "bcdefghij" * 6: "hij" + "bcdefghij" * 5,
        }
        for name, table_name in table_names.items():
            model: Any = type(name, (Model,), {"k": columns.Integer(primary_key=True)})
            assert model.column_family_name(include_keyspace=False) == table_name
        # Setting `models.DEFAULT_KEYSPACE` also sets the default keyspace of the connections.
        assert connection.default_keyspace() == "ks"
        assert models.DEFAULT_KEYSPACE == "ks"
    finally:
        models.DEFAULT_KEYSPACE = None
    with pytest.raises(CQLEngineException, match="keyspace is not set"):
        Pet.column_family_name()


def test_models_inherit_the_columns_of_abstract_bases() -> None:
    """A subclass of an abstract model has the columns of its base, and may replace them.

    Its errors, such as DoesNotExist, are subclasses of the base's errors.
    """

    class Base(Model):
        __abstract__ = True
        __keyspace__ = "ks"
        k = columns.UUID(primary_key=True, default=uuid.uuid4)
        created_at = columns.DateTime()

    class Inheriting(Base):
        x = columns.Text()

    class Replacing(Base):
        k = columns.Text(primary_key=True)  # type: ignore[assignment]
        y = columns.Text()

    assert Inheriting().keys() == ["k", "created_at", "x"]
    assert Replacing().keys() == ["k", "created_at", "y"]
    assert isinstance(Inheriting().k, uuid.UUID)
    assert Replacing().k is None
    # An abstract model has no table, so it cannot be queried.
    with pytest.raises(CQLEngineException, match="abstract"):
        _ = Base.objects
    with pytest.raises(CQLEngineException, match="abstract"):
        Base.ttl(4)
    assert issubclass(Inheriting.DoesNotExist, Base.DoesNotExist)
    assert not issubclass(Inheriting.DoesNotExist, Replacing.DoesNotExist)


def test_plain_classes_may_hold_columns() -> None:
    """A model also has the columns of a base class that is not a model."""

    class Stamped:
        created_at = columns.DateTime()

    class Row(Stamped, Model):
        k = columns.Integer(primary_key=True)

    # The columns may be in any order.
    assert set(Row().keys()) == {"k", "created_at"}


def test_models_may_have_abstract_bases() -> None:
    """A model may have an abstract base class of `abc`, or a generic base class."""

    class Shown(abc.ABC):
        @abc.abstractmethod
        def show(self) -> str: ...

    class AbstractModel(Model, Shown):
        __abstract__ = True
        k = columns.Integer(primary_key=True)

    class Row(AbstractModel, Generic[T]):
        def show(self) -> str:
            return str(self.k)

    assert Row(k=1).show() == "1"
    with pytest.raises(TypeError, match="abstract"):
        AbstractModel(k=1)  # type: ignore[abstract]


def test_an_application_s_metaclass_may_create_the_model_class(session: FakeSession) -> None:
    """An application's metaclass may create the model class and its descriptors itself.

    The metaclass here is like the metaclass of django-cassandra-engine.
    """

    class ApplicationMeta(models.ModelMetaClass):
        def __new__(mcs, name: str, bases: Any, attrs: Any, **kwargs: Any) -> Any:
            declared_columns = [
                (attr, value) for attr, value in attrs.items() if isinstance(value, columns.Column)
            ]
            declared_columns.sort(key=lambda named_column: named_column[1].position)
            for column_name, column in declared_columns:
                column.set_column_name(column_name)
                attrs[column_name] = models.ColumnDescriptor(column)
            if declared_columns:
                attrs["pk"] = models.ColumnDescriptor(declared_columns[0][1])
            # Skip the mapper's own metaclass, which would also create the descriptors.
            return type.__new__(mcs, name, bases, {"__abstract__": False, **attrs})

    model: Any = ApplicationMeta(
        "Declared",
        (Model,),
        {"id": columns.Integer(primary_key=True), "v": columns.Text(), "__module__": __name__},
    )
    model.create(id=1, v="x")
    assert session.last_statement == ('INSERT INTO ks.declared ("id", "v") VALUES (?, ?)', [1, "x"])
    session.return_row(v="x")
    assert dict(model.get(pk=1)) == {"id": 1, "v": "x"}
    assert model(id=1).pk == 1


def test_an_instance_behaves_like_a_mapping_of_its_values() -> None:
    """An instance can be used like a mapping of its column values."""
    person = Person(id="1", name="x", unknown=5)
    assert dict(person) == {"id": 1, "name": "x", "age": 3, "tags": set(), "scores": {}}
    assert repr(person) == "Person(id=1, name='x', age=3, tags=set(), scores={})"
    assert str(person) == "Person <id=1>"
    assert len(person) == 5
    assert person.pk == 1
    assert person["name"] == "x"
    assert list(person) == list(Person().keys())
    person["name"] = "y"
    person.tags.add("t")
    assert person.get_changed_columns() == ["id", "name", "tags"]
    assert person == Person(id=1, name="y", tags={"t"})
    assert person != Person(id=1)
    with pytest.raises(KeyError):
        person["zip"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(person)
    del person.name
    assert person["name"] is None
    # An attribute that is not a column belongs to the application, and copies keep it.
    setattr(person, "free", 1)  # noqa: B010
    for copied in (pickle.loads(pickle.dumps(person)), copy.copy(person), copy.deepcopy(person)):
        assert copied == person
        assert vars(copied) == {"free": 1}
        assert copied.get_changed_columns() == person.get_changed_columns()
    assert Person(id=1).tags is not Person(id=1).tags


class Noted(Person):
    """A model that copies itself by its own rule."""

    __table_name__ = "person"

    def __reduce__(self) -> Any:
        return (Noted._of, (self.id,), {"note": "copied"})

    @classmethod
    def _of(cls, number: int) -> Noted:
        return cls(id=number)


def test_a_copy_follows_the_model_s_own_rule() -> None:
    """`copy.copy` of an instance uses all that the `__reduce__` of its model returns."""
    duplicate = copy.copy(Noted(id=1).ttl(60))
    assert duplicate.id == 1
    assert vars(duplicate) == {"note": "copied"}
    assert values_of(duplicate).options.ttl == 60


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))]
)
def test_copies_and_pickles_are_written_to_the_same_keyspace(
    session: FakeSession, copied: Callable[[Any], Any]
) -> None:
    """The keyspace of `using` says where the row is."""
    person = Person.create(id=1, name="x").using(keyspace="k2")
    duplicate = copied(person)
    duplicate.name = "y"
    duplicate.save()
    assert (session.last_statement[0] or "").startswith("UPDATE k2.")
    duplicate.delete()
    assert (session.last_statement[0] or "").startswith("DELETE FROM k2.")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_the_options_of_the_instance(
    session: FakeSession, copied: Callable[[Any], Any]
) -> None:
    """A copy of an instance keeps its conditions and its TTL; the batch writes the copy."""
    person = Person.create(id=1, name="x")
    person.iff(age=5).ttl(60)
    duplicate = copied(person)
    duplicate.name = "y"
    duplicate.save()
    assert (session.last_statement[0] or "").endswith('"nm" = ? WHERE "id" = ? IF "age" = ?')
    assert "USING TTL ?" in (session.last_statement[0] or "")
    batch = BatchQuery()
    duplicate = copied(Person(id=2).batch(batch))
    duplicate.name = "z"
    duplicate.save()
    assert len(batch.queries) == 1
    # When the batch is executed, the copy writes directly again, as the instance does.
    batch._release_instances()
    duplicate.name = "w"
    duplicate.save()
    assert len(batch.queries) == 1


def test_validation_errors_name_model_column_and_value() -> None:
    """A validation error names the model, the column and the value."""
    with pytest.raises(ValidationError, match=r"Person\.id 'x'"):
        Person(id="x")
    person = Person(id=1)
    person.name = 5  # type: ignore[assignment]
    with pytest.raises(ValidationError, match=r"Person\.name 5"):
        person.validate()


def test_the_cache_of_statements_is_bounded(
    session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection caches at most `MOST_PREPARED` prepared statements."""
    monkeypatch.setattr(connection, "MOST_PREPARED", 3)
    default_connection = connection.get_connection()
    sizes: set[int] = set()
    # Each keyspace, and a query with or without a limit, needs a different statement.
    for number in range(10):
        Person.objects(id=1).update(name="x", tags__add={"a"}, age=number)
        session.return_row(count=5)
        Person.objects(id=1).limit(None if number % 2 else 5).count()
        Person.objects.using(keyspace=f"ks{number}").filter(id=1).delete()
        sizes.add(len(default_connection.prepared))
    assert max(sizes) == 3


def test_rows_become_instances_of_their_discriminator_s_subclass(session: FakeSession) -> None:
    """A row becomes an instance of the subclass that its discriminator column names."""
    assert str(Cat.objects) == 'SELECT "id", "cute" FROM ks.pet WHERE "kind" = %(0)s LIMIT 10000'
    Cat.create(id=1, cute=0.5)
    assert session.last_statement[1] == [1, "cat", 0.5]
    with pytest.raises(PolymorphicModelException, match="polymorphic base"):
        Pet.create(id=1)
    session.return_row(id=1, kind="cat", cute=0.5)
    assert Pet.get(id=1) == Cat(id=1, kind="cat", cute=0.5)
    session.return_row(id=1, kind="cow", cute=None)
    with pytest.raises(PolymorphicModelException, match="'cow'"):
        Pet.get(id=1)
    session.return_row(id=1, kind=None, cute=None)
    with pytest.raises(PolymorphicModelException, match="null"):
        Pet.get(id=1)
    # The query selects the discriminator even if the application does not.
    assert str(Pet.objects.only(["id"])) == 'SELECT "id", "kind" FROM ks.pet LIMIT 10000'
    assert str(Pet.objects(id=1)) == 'SELECT * FROM ks.pet WHERE "id" = %(0)s LIMIT 10000'
    # SELECT DISTINCT reads only key columns. Without the discriminator, instances belong to the
    # base class.
    session.return_row(id=1)
    assert [type(pet) for pet in Pet.objects.distinct()] == [Pet]


def test_an_application_s_column_class_converts_and_checks_values(session: FakeSession) -> None:
    """The methods of an application's column class convert and check the column's values."""

    class Upper(columns.Text):
        def to_python(self, value: Any) -> Any:
            return value and value.upper()

        def to_database(self, value: Any) -> Any:
            return value and value.lower()

        def validate(self, value: Any) -> Any:
            if value == "bad":
                raise ValidationError("bad")
            return super().validate(value)

    class WordPair(Model):
        k = Upper(primary_key=True)
        v = Upper()

    WordPair.create(k="Key", v="Value")
    assert session.last_statement[1] == ["key", "value"]
    session.return_row(v="value")
    assert dict(WordPair.get(k="KEY")) == {"k": "KEY", "v": "VALUE"}
    # `get` reads at most 2 rows, which is enough to know if there is more than one row.
    assert session.last_statement[1] == ["key", 2]
    instance = WordPair(k="a")
    instance.v = "bad"
    with pytest.raises(ValidationError, match="bad"):
        instance.save()


# -- misspelt columns ------------------------------------------------------------------------------


def test_a_misspelt_column_is_reported_once(
    session: FakeSession, caplog: pytest.LogCaptureFixture
) -> None:
    """An assigned attribute whose name is similar to a column's is logged once per class.

    If the name differs from the column's name only in the order of its letters, in upper and lower
    case or in underscores, there is a warning instead.
    """

    class Dog(Model):
        id = columns.Integer(primary_key=True)
        name = columns.Text()
        zip_code = columns.Text()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(2):
            dog: Any = Dog(id=number)
            dog.nmae = "Rex"
            dog.zipCode = "1010"
            # `names` may be an attribute of the application, so this is only logged.
            dog.names = ["Rex"]
            dog.colour = "brown"  # It is not similar to a column's name.
            dog._name = "Max"
            dog.save()
    assert [(str(warning.message), warning.filename) for warning in caught] == [
        ("Dog.nmae is not a column and is not written; did you mean 'name'?", __file__),
        ("Dog.zipCode is not a column and is not written; did you mean 'zip_code'?", __file__),
    ]
    assert [record.getMessage() for record in caplog.records] == [
        "Dog.names is not a column and is not written; did you mean 'name'?"
    ]
    assert len(session.executions) == 2


def test_a_misspelt_keyword_of_a_new_instance_is_warned_of_once(
    session: FakeSession, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelled keyword of a new instance is ignored with one warning.

    cassandra-driver ignores it, too.
    """

    class Cow(Model):
        id = columns.Integer(primary_key=True)
        name = columns.Text()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(2):
            Cow(id=number, nmae="Elsa", colour="brown", _name="Max").save()
        Cow.objects.create(id=3, nname="Elsa")
    # "colour" is not similar to a column, and "_name" is private.
    assert [(str(warning.message), warning.filename) for warning in caught] == [
        (f"Cow.{name} is not a column and is not written; did you mean 'name'?", __file__)
        for name in ("nmae", "nname")
    ]
    assert not caplog.records
    assert len(session.executions) == 3
