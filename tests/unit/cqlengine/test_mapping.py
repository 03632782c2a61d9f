"""Test a model's `Mapping`, which describes its table and arranges values in the columns' order."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns, connection, mapping
from cassandra.cqlengine.mapping import (
    InstanceRows,
    PolymorphicModelException,
    StatementPlan,
    context_class,
)
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.values import Values

IDENTITY = uuid.UUID(int=5)


class Upper(columns.Text):
    """An application's column class, which converts and validates values itself."""

    def to_python(self, value: Any) -> Any:
        return value and value.upper()

    def validate(self, value: Any) -> Any:
        return super().validate(value)


# A model with a column of each kind that the mapping treats in its own way.
class Trip(Model):
    town = columns.Text(partition_key=True)
    year = columns.Integer(partition_key=True)
    day = columns.Integer(primary_key=True)
    note = columns.Text(db_field="nt", default="none")
    tags = columns.Set(columns.Text)
    stops = columns.List(columns.Text)
    who = columns.UUID(default=lambda: IDENTITY)
    sign = Upper()
    must = columns.Text(required=True)
    long = columns.Text(min_length=3)


# A model with a counter.
class Visits(Model):
    page = columns.Integer(primary_key=True)
    count = columns.Counter()


# Four models that share a table. The column `kind` says to which of them a row belongs.
class Pet(Model):
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True, db_field="kd")


class Cat(Pet):
    __discriminator_value__ = "cat"
    cute = columns.Float()


class Kitten(Cat):
    __discriminator_value__ = "kitten"


class Dog(Pet):
    __discriminator_value__ = "dog"


TRIP = Trip.__mapping__
NAMES = ["town", "year", "day", "note", "tags", "stops", "who", "sign", "must", "long"]


# -- columns ---------------------------------------------------------------------------------------


def test_a_mapping_describes_its_columns() -> None:
    """A mapping has the names, positions and roles of the model's columns."""
    assert TRIP.names == tuple(NAMES)
    assert TRIP.index == {name: index for index, name in enumerate(NAMES)}
    # In the database, the column of the attribute `note` is called "nt".
    db_names = ["nt" if name == "note" else name for name in NAMES]
    assert TRIP.db_index == {name: index for index, name in enumerate(db_names)}
    assert [column.column_name for column in TRIP.order] == NAMES
    assert list(TRIP.primary_keys) == ["town", "year", "day"]
    assert list(TRIP.partition_keys) == ["town", "year"]
    assert list(TRIP.clustering_keys) == ["day"]
    assert TRIP.key_positions == (0, 1, 2)
    assert TRIP.partition_positions == (0, 1)
    assert [index for index, _ in TRIP.key_checks] == [0, 1, 2]
    # the positions of `tags` and `stops`, whose values are collections
    assert TRIP.mutable == (4, 5)
    # the positions of the columns with defaults
    assert [index for index, _ in TRIP.defaults] == [3, 6]
    # `blank` is the row of an instance without values.
    assert len(TRIP.blank) == len(NAMES)
    assert not any(TRIP.blank)
    assert not TRIP.has_counter
    assert Visits.__mapping__.has_counter
    assert Visits.__mapping__.counter_positions == 0b10
    assert TRIP.discriminator is None
    assert Pet.__mapping__.discriminator == "kind"


def test_none_is_not_checked_if_the_column_accepts_it() -> None:
    """`validate` of a column is called for None only if the column may refuse None.

    This is the case for required columns, for columns with a minimum length, and for column classes
    of an application.
    """
    accepts_none = {NAMES[index]: accepts for index, _, accepts, _ in TRIP.checks}
    assert all(accepts_none[name] for name in ("note", "tags", "stops", "who"))
    assert not any(accepts_none[name] for name in ("sign", "must", "long"))
    mutable_names = {NAMES[index] for index, _, _, is_mutable in TRIP.checks if is_mutable}
    assert mutable_names == {"tags", "stops"}


def test_pk_is_an_alias_of_a_single_key_column() -> None:
    """The name "pk" also refers to the key column if the key has only one column."""
    assert TRIP.column_of("town") is TRIP.columns["town"]
    # "nt" is a name in the database and not an attribute, and the key of `Trip` has two columns.
    assert TRIP.column_of("nt") is None
    assert TRIP.column_of("pk") is None
    assert Visits.__mapping__.column_of("pk") is Visits.__mapping__.columns["page"]
    assert Visits.__mapping__.column_of("other") is None


def test_names_of_tables() -> None:
    """`table_name` uses the keyspace of its argument, or else the default keyspace.

    If there is neither, it raises an error.
    """
    with pytest.raises(CQLEngineException, match=r"keyspace is not set .* Visits\.__keyspace__"):
        Visits.__mapping__.table_name(None)
    assert Visits.__mapping__.table_name("Ks") == '"Ks".visits'
    connection.set_default_keyspace("k")
    try:
        assert Visits.__mapping__.table_name(None) == "k.visits"
        assert Visits.__mapping__.table_name("other") == "other.visits"
    finally:
        connection.set_default_keyspace(None)


# -- values of new instances -----------------------------------------------------------------------


def test_a_new_row_has_converted_values_and_defaults() -> None:
    """`new_row` converts values and sets defaults, and records which columns got a value."""
    row = TRIP.new_row({"day": 3, "sign": "x", "tags": ["a"], "year": None, "nothing": 1})
    assert list(row) == [None, None, 3, "none", {"a"}, None, IDENTITY, "X", None, None]
    bits = {name: 1 << index for index, name in enumerate(NAMES)}
    # `explicit` has a bit for each column whose value was passed. "nothing" is not a column of the
    # model.
    assert row.explicit == bits["day"] | bits["sign"] | bits["tags"] | bits["year"]
    # `exposed` has a bit for each value that may be mutable: `tags` is a set, and `sign` has an
    # application's column class.
    assert row.exposed == bits["tags"] | bits["sign"]
    # `stored` is None, because the row was not read from the database.
    assert row.stored is None


def test_an_explicit_none_overrides_the_default() -> None:
    """None that is passed explicitly overrides the default of a column."""
    note, who = NAMES.index("note"), NAMES.index("who")
    for row in (TRIP.new_row({"note": None}), TRIP.row_to_insert({"note": None})):
        assert row[note] is None
        # No value was passed for `who`, so it has its default.
        assert row[who] == IDENTITY
        assert row.explicit == 1 << note


def test_values_to_insert_stay_unconverted_until_validation() -> None:
    """`row_to_insert` leaves most values unconverted until they are validated."""
    row = TRIP.row_to_insert({"day": "3", "sign": "x", "tags": (n for n in "ab"), "unknown": 1})
    day, tags, stops, sign = (NAMES.index(name) for name in ("day", "tags", "stops", "sign"))
    # An iterable becomes a collection at once, and the application's column class converts its
    # value. The other values are not converted.
    assert row[day] == "3"
    assert row[sign] == "X"
    assert row[tags] == {"a", "b"}
    assert row.explicit == (1 << day) | (1 << sign) | (1 << tags)
    assert row.exposed == (1 << sign) | (1 << tags)
    # Strings, mappings and other values that are not plain iterables, and sets, are kept unchanged.
    wrong_values: list[Any] = ["ab", b"ab", {"a": 1}, {"a"}, 5]
    for value in wrong_values:
        assert TRIP.row_to_insert({"tags": value})[tags] is value
    stops_list = ["a"]
    assert TRIP.row_to_insert({"stops": stops_list})[stops] is stops_list
    assert TRIP.row_to_insert({"stops": ("a",)})[stops] == ["a"]


def test_unknown_columns_are_named() -> None:
    """The error for unknown columns names them and the model's columns."""
    error = Visits.__mapping__.unknown_columns({"zip": 1, "page": 2, "age": 3})
    assert str(error) == "Incorrect columns passed: age, zip; Visits has page, count"


# -- statement plans -------------------------------------------------------------------------------


def test_statement_plans_are_cached_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statement plans are cached by shape, up to a limit."""
    monkeypatch.setattr(mapping, "MOST_SHAPES", 2)
    mapping_of_two = mapping.Mapping({})
    plan_a = mapping_of_two.statement_plan("a", lambda: StatementPlan("A"))
    # The plan of the shape "a" is cached, so the second function is not called.
    assert mapping_of_two.statement_plan("a", lambda: StatementPlan("B")) is plan_a
    mapping_of_two.statement_plan("b", lambda: StatementPlan("B"))
    assert set(mapping_of_two.statement_plans) == {"a", "b"}
    # The third plan exceeds the limit of two plans, so the cache is cleared first.
    mapping_of_two.statement_plan("c", lambda: StatementPlan("C"))
    assert set(mapping_of_two.statement_plans) == {"c"}


def test_a_plan_converts_the_values_of_filters_in_its_order() -> None:
    """A plan converts the values of a query's filters by their columns, in the plan's order."""
    plan = StatementPlan("SELECT", [(1, TRIP.columns["note"]), (0, TRIP.columns["who"])])
    assert plan.fixed_names == ("nt", "who")
    clauses = [SimpleNamespace(value=IDENTITY), SimpleNamespace(value="n")]
    # The number before each column of the plan is the position of its clause among the filters.
    assert plan.fixed_values(clauses) == ["n", IDENTITY]
    sign_plan = StatementPlan("SELECT", [(0, TRIP.columns["sign"])])
    assert sign_plan.fixed_values([SimpleNamespace(value="x")]) == ["X"]
    assert StatementPlan("SELECT").fixed_values([]) == []


# -- rows in the order of the model ----------------------------------------------------------------


def test_rows_are_reordered_to_the_model_s_columns() -> None:
    """`rows` returns a function that puts the values of rows into the model's order."""
    visits = Visits.__mapping__
    rows = [(1, 10), (2, 20)]
    unchanged_rows = visits.rows(["page", "count"], fixed_names=())
    assert unchanged_rows(rows, (None,)) is rows
    assert visits.rows(["count", "page"], fixed_names=())(rows, (None,)) == [(10, 1), (20, 2)]
    # The response lacks `page`, which the filter fixes to 7, so 7 is added to each row.
    assert visits.rows(["count"], ("page",))([(10,)], (7, None)) == [(7, 10)]
    # Columns that the model lacks are left out, and columns that the response lacks are null.
    assert visits.rows(["other", "page"], fixed_names=())([(0, 1)], (None,)) == [(1, None)]
    # The function for these columns is cached.
    assert visits.rows(["page", "count"], fixed_names=()) is unchanged_rows


def test_column_classes_with_conversions_convert_values_of_rows() -> None:
    """Values of rows are converted if their column class overrides `to_python`."""
    rows = TRIP.rows(["sign", "town", "tags"], fixed_names=())([("x", "a", {"t"})], (None,))
    assert rows == [("a", None, None, None, {"t"}, None, None, "X", None, None)]


def test_rows_of_a_model_of_one_column() -> None:
    """Rows of a model with one column are also tuples, and not the plain values."""

    class SingleColumn(Model):
        id = columns.Integer(primary_key=True)

    assert SingleColumn.__mapping__.rows(["x", "id"], fixed_names=())([(1, 2)], (None,)) == [(2,)]
    # The response has no column of the model, and the filter fixes `id` to 4.
    instances: list[Any] = InstanceRows(SingleColumn, ("id",), [4])(["x"], [(1,), (2,)])
    assert [instance.id for instance in instances] == [4, 4]


def test_layouts_of_rows_are_cached_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions that arrange rows are cached up to a limit."""

    class SingleColumn(Model):
        id = columns.Integer(primary_key=True)

    monkeypatch.setattr(mapping, "MOST_SHAPES", 2)
    for name in ("a", "b", "c"):
        SingleColumn.__mapping__.rows([name, "id"], fixed_names=())
    # The third layout exceeds the limit of two layouts, so the cache was cleared first.
    assert list(SingleColumn.__mapping__.layouts) == [(("c", "id"), ())]


def test_instances_read_from_rows_have_no_defaults() -> None:
    """Instances that are read do not get defaults for columns without a value."""
    rows_to_trips = InstanceRows(Trip, fixed_names=("town",), values=["x"])
    (trip,) = rows_to_trips(["day", "nt"], [(3, None)])
    assert isinstance(trip, Trip)
    nulls = dict.fromkeys(NAMES, None)
    assert dict(trip) == {**nulls, "town": "x", "day": 3, "tags": set(), "stops": []}


# -- one table for several classes -----------------------------------------------------------------


def test_a_row_becomes_an_instance_of_its_discriminator_s_class() -> None:
    """A row becomes an instance of the class that its discriminator column names."""
    names = ["id", "kd", "cute"]
    rows = [(1, "cat", 0.5), (2, "dog", None), (3, "kitten", 1.0)]
    pets: list[Any] = InstanceRows(Pet)(names, rows)
    assert [type(pet) for pet in pets] == [Cat, Dog, Kitten]
    assert [pet.id for pet in pets] == [1, 2, 3]
    assert [pets[0].cute, pets[2].cute] == [0.5, 1.0]
    # A query of the subclass `Cat` has the discriminator in its filter, so the response lacks it.
    cat: Any
    (cat,) = InstanceRows(Cat, ("kd",), ["cat"])(["id", "cute"], [(1, 0.5)])
    assert type(cat) is Cat
    assert (cat.id, cat.kind) == (1, "cat")
    # SELECT DISTINCT reads only key columns. Without the discriminator, the base class is used.
    assert [type(pet) for pet in InstanceRows(Pet)(["id"], [(1,)])] == [Pet]


def test_instances_of_subclasses_keep_the_keyspace_of_the_context() -> None:
    """In a context with another keyspace, instances of subclasses keep this keyspace."""
    elsewhere = context_class(Pet, "other", connection=None)
    cat: Any
    (cat,) = InstanceRows(elsewhere)(["id", "kd", "cute"], [(1, "cat", 0.5)])
    assert isinstance(cat, Cat)
    assert type(cat).__keyspace__ == "other"
    assert (cat.id, cat.cute) == (1, 0.5)


def test_discriminators_select_subclasses() -> None:
    """`class_of` returns the subclass for a discriminator value, and refuses unknown values."""
    pet_mapping, cat_mapping = Pet.__mapping__, Cat.__mapping__
    assert pet_mapping.class_of("cat") is Cat
    assert cat_mapping.class_of("kitten") is Kitten
    assert cat_mapping.class_of("cat") is Cat
    assert cat_mapping.class_of(None) is Cat
    assert context_class(Cat, "other", connection=None).__mapping__.class_of("kitten") is Kitten
    with pytest.raises(PolymorphicModelException, match="Pet has null in its discriminator column"):
        pet_mapping.class_of(None)
    with pytest.raises(PolymorphicModelException, match="'cow' for class Pet, which knows 'cat'"):
        pet_mapping.class_of("cow")
    with pytest.raises(PolymorphicModelException, match="Dog is not a subclass of Cat"):
        cat_mapping.class_of("dog")
    with pytest.raises(PolymorphicModelException, match="for class Trip, which knows none"):
        TRIP.class_of("cat")


def test_set_discriminator_fills_in_the_class_s_value() -> None:
    """`set_discriminator` sets the class's value and marks the column as assigned."""
    values = Values([1, None, 0.5])
    Cat.__mapping__.set_discriminator(values)
    assert values == [1, "cat", 0.5]
    assert values.explicit == 0b10  # `save` has to write it.
    # The column already has the value, so it is not marked again.
    values.explicit = 0
    Cat.__mapping__.set_discriminator(values)
    assert values.explicit == 0
    with pytest.raises(PolymorphicModelException, match="Pet has no __discriminator_value__"):
        Pet.__mapping__.set_discriminator(Values([1, None]))


def test_subclasses_with_further_columns() -> None:
    """`has_other_columns` is True only if a subclass has columns that the model lacks."""
    assert Pet.__mapping__.has_other_columns()
    assert not Cat.__mapping__.has_other_columns()
    assert not TRIP.has_other_columns()
    assert context_class(Pet, "other", connection=None).__mapping__.has_other_columns()


# -- models in another keyspace, or on another connection ------------------------------------------


def test_a_model_in_another_keyspace_is_created_once() -> None:
    """`context_class` creates a model for another keyspace or connection once, and caches it."""
    context_model = context_class(Trip, "k1", connection=None)
    assert context_model is context_class(Trip, "k1", connection=None)
    assert issubclass(context_model, Trip)
    assert context_model.__name__ == Trip.__name__
    assert context_model.__qualname__ == Trip.__qualname__
    assert context_model.__keyspace__ == "k1"
    assert context_model.__connection__ == Trip.__connection__
    assert context_model.__mapping__.table_name(None) == "k1.trip"
    assert context_class(Trip, keyspace=None, connection=None) is Trip
    assert context_class(context_model, keyspace=None, connection=None) is context_model
    # `context_class` keeps the keyspace and the connection of its model unless they are replaced.
    far_model = context_class(context_model, keyspace=None, connection="far")
    assert far_model.__keyspace__ == "k1"
    assert far_model.__connection__ == "far"
    assert far_model is context_class(Trip, "k1", "far")
    assert context_class(far_model, "k2", connection=None).__connection__ == "far"
    # With `is_private`, a new class is created and not cached.
    private_model = context_class(Trip, "k1", connection=None, is_private=True)
    assert private_model is not context_model
    assert context_class(Trip, "k1", connection=None) is context_model


def test_models_in_other_keyspaces_are_cached_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Models for other keyspaces are cached up to a limit."""

    class SingleColumn(Model):
        id = columns.Integer(primary_key=True)

    monkeypatch.setattr(mapping, "MOST_SHAPES", 2)
    for keyspace in ("a", "b", "c"):
        context_class(SingleColumn, keyspace, connection=None)
    # The third model exceeds the limit of two models, so the cache was cleared first.
    assert list(SingleColumn.__mapping__.contexts) == [("c", None)]


def test_a_model_in_another_keyspace_keeps_its_table_and_discriminator() -> None:
    """A model for another keyspace keeps its table's name and its discriminator value.

    In this test, the table's name is case-sensitive.
    """

    class Named(Model):
        __table_name__ = "Own"
        __table_name_case_sensitive__ = True
        id = columns.Integer(primary_key=True)

    context_model = context_class(Named, keyspace="k", connection=None)
    # With keyspace=None, `table_name` uses the keyspace of the class.
    assert context_model.__mapping__.table_name(keyspace=None) == 'k."Own"'
    assert context_class(Cat, keyspace="k", connection=None).__discriminator_value__ == "cat"
