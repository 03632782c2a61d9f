"""Test the private names of cassandra-driver's mapper, which programs use."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import (
    BatchQuery,
    DMLQuery,
    EqualsOperator,
    IfNotExistsWithCounterColumn,
    InsertStatement,
    LWTException,
    ModelQuerySet,
    UpdateStatement,
)
from cassandra.cqlengine.values import values_of
from tests.unit.cqlengine.conftest import FakeSession

# A timestamp of 2026, in microseconds.
MOMENT = 1_767_225_600_000_000


class Reading(Model):
    __keyspace__ = "ks"
    sensor = columns.Integer(primary_key=True, db_field="s")
    day = columns.Text(primary_key=True, partition_key=True)
    number = columns.Integer(partition_key=True)
    value = columns.Text()
    place = columns.Text(static=True)
    unit = columns.Integer(default=3)
    tags = columns.Set(columns.Text)


class Shape(Model):
    key = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Circle(Shape):
    __discriminator_value__ = "circle"


class Count(Model):
    __keyspace__ = "ks"
    key = columns.List(columns.Integer, primary_key=True)
    number = columns.Counter()


def reading() -> Any:
    """Return a new instance."""
    return Reading(sensor=1, day="d", number=2)


class TestModel:
    def test_columns_and_keys(self) -> None:
        model: Any = Reading
        assert list(model._columns) == list(model().keys()) == list(model._defined_columns)
        assert list(model._primary_keys) == ["sensor", "day", "number"]
        assert list(model._partition_keys) == ["day", "number"]
        assert list(model._clustering_keys) == ["sensor"]
        assert model._partition_key_index == {"day": 0, "number": 1}
        assert model._db_map == {"s": "sensor"}
        assert model._dynamic_columns == {}
        assert model._get_column("day") is model._columns["day"] is Reading.__mapping__.order[1]
        assert not model._has_counter
        # A program may change its copy.
        model._columns.clear()
        assert model._columns

    def test_polymorphism(self) -> None:
        shape: Any = Shape
        circle: Any = Circle
        assert shape._is_polymorphic
        assert shape._is_polymorphic_base
        assert circle._is_polymorphic
        assert not circle._is_polymorphic_base
        assert circle._discriminator_column_name == "kind"

    def test_keyspace_connection_and_routing_key(self, session: FakeSession) -> None:
        model: Any = Reading
        assert model._get_keyspace() == "ks"
        assert model._get_connection() is reading()._get_connection() is None
        assert reading().using(connection="other")._get_connection() == "other"
        parts = model._routing_key_from_values(["d", 2], 4)
        assert parts == [b"d", b"\x00\x00\x00\x02"]
        lists: Any = Count
        assert lists._routing_key_from_values([[1]], 4) is None

    def test_options_of_an_instance(self) -> None:
        row = reading().ttl(5).timestamp(MOMENT).if_exists().iff(value="x").timeout(3)
        assert (row._ttl, row._if_exists, row._if_not_exists, row._timeout) == (5, True, False, 3)
        assert len(row._conditional) == 1
        assert row._batch is row._connection is None
        row._timestamp = None
        assert values_of(row).options.timestamp is None

    def test_an_instance_that_was_only_read_stays_a_tuple(self, session: FakeSession) -> None:
        """Reading an option must not make the mapper track the changes of an instance."""
        session.return_row(value="v", place="p", unit=1, tags=None)
        row: Any = Reading.get(sensor=1, day="d", number=2)
        assert row._ttl is None
        assert row._is_persisted
        assert type(row._row) is tuple

    def test_values(self) -> None:
        row = reading()
        assert list(row._values) == list(row.keys())
        assert len(row._values) == 7
        assert row._values["day"].changed
        assert row._values["day"].explicit
        assert not row._values["unit"].changed
        assert not row._can_update()
        row._values["unit"].explicit = True
        assert row._values["unit"].changed
        row._set_persisted()
        assert row._is_persisted
        assert row._can_update()
        assert row.get_changed_columns() == []
        row.tags.add("a")
        assert row._values["tags"].changed
        assert not row._values["tags"].previous_value
        row._values["value"].value = "v"
        assert (row.value, row._values["value"].previous_value) == ("v", None)
        row.value = None
        assert row._values["value"].deleted
        row._values["value"].explicit = False
        assert not row._values["value"].deleted
        row.number = 3
        assert not row._can_update()
        with pytest.raises(KeyError):
            row._values["nothing"]

    def test_counters_count_from_0(self) -> None:
        row: Any = Count(key=[1])
        row.number += 5
        assert row._values["number"].previous_value == 0
        row._set_persisted()
        assert row._values["number"].previous_value == 5

    def test_false_leaves_a_write_of_a_counter_unconditional(self) -> None:
        """Programs pass on the options of a queryset."""
        row: Any = Count(key=[1])
        assert row.if_not_exists(False).if_exists(False) is row
        with pytest.raises(IfNotExistsWithCounterColumn):
            row.if_not_exists()

    def test_null_values(self) -> None:
        column: Any = columns.Set(columns.Text)
        assert column._val_is_null(set())
        assert not columns.Integer()._val_is_null(0)


class TestDMLQuery:
    def test_options(self) -> None:
        query: Any = DMLQuery(Reading, reading().using(keyspace="other"), ttl=4, if_exists=True)
        assert (query._ttl, query._if_exists, query._if_not_exists) == (4, True, False)
        assert query._batch is query._timestamp is query._consistency is None
        assert not query._conditional
        assert query.column_family_name == "other.reading"
        query._ttl = 7
        assert query._ttl == 7

    def test_the_level_of_the_instance_is_kept(self) -> None:
        """Programs pass the level of the class, `__consistency__`."""
        row = reading().consistency(ConsistencyLevel.QUORUM)
        query: Any = DMLQuery(Reading, row, consistency=Reading.__consistency__)
        assert query._consistency == ConsistencyLevel.QUORUM

    def test_null_columns_are_deleted(self, session: FakeSession) -> None:
        row = reading()
        query: Any = DMLQuery(Reading, row, timestamp=7)
        query._delete_null_columns()
        assert session.executions == []
        row.value = None
        query._delete_null_columns()
        text, values = session.last_statement
        assert " ".join(str(text).split()) == (
            'DELETE "value" FROM ks.reading USING TIMESTAMP ? '
            'WHERE "s" = ? AND "day" = ? AND "number" = ?'
        )
        assert values == [7, 1, "d", 2]

    def test_static_columns_need_no_clustering_key(self, session: FakeSession) -> None:
        row: Any = Reading(day="d", number=2, place=None)
        query: Any = DMLQuery(Reading, row)
        query._delete_null_columns()
        text, values = session.last_statement
        assert text == 'DELETE "place" FROM ks.reading WHERE "day" = ? AND "number" = ?'
        assert values == ["d", 2]

    def test_statements_are_added_to_the_batch(self, session: FakeSession) -> None:
        batch = BatchQuery()
        row = reading()
        row.value = None
        query: Any = DMLQuery(Reading, row, batch=batch)
        query._delete_null_columns()
        assert session.executions == []
        assert str(batch.queries[0]).startswith('DELETE "value"')

    def test_conditions_are_checked(self, session: FakeSession) -> None:
        session.return_row(**{"[applied]": False})
        row = reading()
        row.value = None
        query: Any = DMLQuery(Reading, row, if_exists=True)
        with pytest.raises(LWTException):
            query._delete_null_columns()


class TestQuerySet:
    def test_a_program_may_set_the_rows(self, session: FakeSession) -> None:
        """A queryset has the rows of a result that a program has requested itself."""
        queryset: Any = Reading.objects(sensor=1, day="d", number=2)
        assert queryset._result_cache is queryset._result_generator is None
        text = str(queryset._select_query())
        assert text.startswith('SELECT "value", "place", "unit", "tags" FROM ks.reading WHERE ')
        rows = [{"value": f"v{n}", "place": "p", "unit": n, "tags": None} for n in range(3)]
        queryset._result_generator = (row for row in rows)
        queryset._result_cache = []
        queryset._construct_result = queryset._maybe_inject_deferred(
            queryset._get_result_constructor()
        )
        assert queryset[0].value == "v0"
        assert [(row.sensor, row.day, row.value) for row in queryset] == [
            (1, "d", f"v{n}") for n in range(3)
        ]
        assert queryset[0].get_changed_columns() == []
        assert len(queryset) == 3
        queryset._fill_result_cache()
        assert session.executions == []

    def test_a_list_of_values(self) -> None:
        queryset: Any = Reading.objects(day="d", number=2).values_list("value", flat=True)
        assert queryset._construct_result({"value": "x"}) == "x"

    def test_options_and_names(self) -> None:
        queryset: Any = Reading.objects(day="d", number=2).ttl(5)
        assert (queryset._ttl, queryset._if_exists, queryset._batch) == (5, False, None)
        assert not queryset._conditional
        assert not queryset._materialize_results
        assert not queryset._distinct_fields
        assert queryset._parse_filter_arg("tags__add") == ("tags", "add")
        assert queryset._parse_filter_arg("value") == ("value", None)
        assert isinstance(queryset, ModelQuerySet)


class TestStatements:
    def test_the_values_of_the_partition_key(self) -> None:
        index = Reading._partition_key_index
        update: Any = UpdateStatement("t")
        update.add_where(Reading.__mapping__.columns["day"], EqualsOperator(), "d")
        assert update.partition_key_values(index) == ["d", None]
        insert: Any = InsertStatement("t")
        insert.add_assignment(Reading.__mapping__.columns["number"], 2)
        assert insert.partition_key_values(index) == [None, 2]
        queryset: Any = Reading.objects(day__gt="a", number=2).allow_filtering()
        assert queryset._select_query().partition_key_values(index) == [None, 2]


class TestBatchQuery:
    def test_a_program_may_execute_the_statements(self, session: FakeSession) -> None:
        """The statements can be numbered, and an empty list ends the batch for the instances."""
        batch: Any = BatchQuery(timestamp=MOMENT)
        done: list[str] = []
        batch.add_callback(done.append, "done")
        row = reading().batch(batch)
        row.ttl(9).save()
        (queued,) = batch.queries
        # The timestamp belongs to the batch.
        assert str(queued) == (
            'INSERT INTO ks.reading ("s", "day", "number", "unit") '
            "VALUES (%(0)s, %(1)s, %(2)s, %(3)s) USING TTL %(4)s"
        )
        queued.update_context_id(5)
        assert queued.get_context() == {"5": 1, "6": "d", "7": 2, "8": 3, "9": 9}
        assert queued.get_context_size() == 5
        assert str(queued).endswith("%(8)s) USING TTL %(9)s")
        assert not batch._context_entered
        assert not batch._connection_explicit
        assert batch._timeout is batch.timeout
        batch.queries = []
        batch._execute_callbacks()
        assert done == ["done"]
        assert row._batch is None
        batch.execute()
        assert session.executions == []

    def test_only_the_timestamp_of_the_batch_is_left_out(self) -> None:
        batch: Any = BatchQuery(timestamp=5)
        Reading.objects(day="d", number=2).batch(batch).timestamp(6).delete()
        Reading.objects(day="d", number=2).batch(batch).delete()
        assert ["TIMESTAMP" in str(query) for query in batch.queries] == [True, False]
        batch.queries = batch.queries[:1]
        assert len(batch.queries) == 1
        batch.queries = []

    def test_statements_of_a_named_connection(self) -> None:
        """A program sets the connection of a batch, and then adds statements."""
        batch: Any = BatchQuery()
        batch._connection = "other"
        for number in range(2):
            statement: Any = InsertStatement("t")
            statement.add_assignment(Reading.__mapping__.columns["number"], number)
            batch.add_query(statement)
        assert batch._connection == "other"
        batch.queries = []
