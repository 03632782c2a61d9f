"""Test both the compiled and the pure Python `bind`, which binds values to a statement."""

from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.policies import RetryPolicy
from cassandra.query import UNSET_VALUE, BoundStatement, PreparedStatement
from tests.conftest import Implementation

Column = namedtuple("Column", "keyspace_name table_name name type")
COLUMNS = [Column("ks", "t", "id", Int32Type), Column("ks", "t", "name", UTF8Type)]


def prepared(statement_class: Any = PreparedStatement, key_indexes: Any = (0,)) -> Any:
    """Return a prepared INSERT of the given class, with markers for the columns id and name.

    :param key_indexes: the positions of the partition key's columns.
    """
    return statement_class(
        COLUMNS,
        b"id",
        list(key_indexes),
        "INSERT INTO t (id, name) VALUES (?, ?)",
        "other",
        4,
        None,
        None,
    )


@pytest.mark.parametrize("values", [(7, "seven"), [7, "seven"], {"id": 7, "name": "seven"}])
def test_a_bound_statement_has_the_settings_of_its_prepared_one(
    values: Any, implementation: Implementation
) -> None:
    """A bound statement has the settings of its prepared statement, but can change its own."""
    statement = prepared()
    settings = {
        "retry_policy": RetryPolicy(),
        "consistency_level": ConsistencyLevel.QUORUM,
        "serial_consistency_level": ConsistencyLevel.LOCAL_SERIAL,
        "fetch_size": 17,
        "custom_payload": {"a": b"b"},
        "is_idempotent": True,
        "vector_type": "numpy",
    }
    for name, value in settings.items():
        setattr(statement, name, value)
    bound = implementation.binding.bind(statement, values)
    assert type(bound) is BoundStatement
    assert {name: getattr(bound, name) for name in settings} == settings
    assert bound.prepared_statement is statement
    assert (bound.keyspace, bound.table) == ("ks", "t")
    assert bound.values == [b"\0\0\0\7", b"seven"]
    assert bound.routing_key == b"\0\0\0\7"
    # The bound statement has its own settings, so an assignment does not change the prepared
    # statement.
    bound.consistency_level = ConsistencyLevel.ONE
    vars(bound)["note"] = "anything"
    assert statement.consistency_level == ConsistencyLevel.QUORUM
    assert vars(copy.copy(bound)) == {"note": "anything"}


def test_a_bound_statement_has_default_settings(implementation: Implementation) -> None:
    """Without settings, the result of `bind` has the default settings of a BoundStatement."""
    bound = implementation.binding.bind(prepared(), (7, "seven"))
    expected = BoundStatement(prepared())
    for name in (
        "retry_policy",
        "consistency_level",
        "serial_consistency_level",
        "fetch_size",
        "custom_payload",
        "is_idempotent",
        "keyspace",
        "table",
        "vector_type",
    ):
        assert getattr(bound, name) == getattr(expected, name), name


class ComputedSettings(PreparedStatement):
    """An application's subclass whose consistency level is a computed property."""

    __slots__ = ()

    consistency_level = property(lambda self: ConsistencyLevel.TWO, lambda self, value: None)


def test_computed_settings_of_a_subclass_are_used(implementation: Implementation) -> None:
    """If a subclass computes a setting with a property, `bind` uses the property's value."""
    bind = implementation.binding.bind
    # Bind twice, because `bind` caches what it learns about the statement's class.
    for _ in range(2):
        bound = bind(prepared(ComputedSettings), (7, "seven"))
        assert bound.consistency_level == ConsistencyLevel.TWO
        assert bind(prepared(), (7, "seven")).consistency_level is None


def test_mistakes_name_the_statement(implementation: Implementation) -> None:
    """The error for values that cannot be bound names the column or quotes the statement."""
    with pytest.raises(TypeError, match=r"\"name\".*INSERT INTO t"):
        implementation.binding.bind(prepared(), (7, 8))
    with pytest.raises(ValueError, match="Too many"):
        implementation.binding.bind(prepared(), (7, "seven", 9))
    with pytest.raises(ValueError, match="the partition key needs a value for 'name'"):
        implementation.binding.bind(prepared(key_indexes=[1]), (7,))
    with pytest.raises(ValueError, match="the partition key needs a value for 'id'"):
        implementation.binding.bind(prepared(), {"name": "seven"})
    statement = prepared()
    statement.serial_consistency_level = ConsistencyLevel.ONE
    with pytest.raises(
        ValueError, match="serial_consistency_level must be SERIAL or LOCAL_SERIAL, but is ONE"
    ):
        implementation.binding.bind(statement, (7, "seven"))


def test_missing_values_are_unset(implementation: Implementation) -> None:
    """Columns without a value are UNSET_VALUE."""
    assert implementation.binding.bind(prepared(key_indexes=[]), None).values == [
        UNSET_VALUE,
        UNSET_VALUE,
    ]
    assert implementation.binding.bind(prepared(), (7,)).values[:1] == [b"\0\0\0\7"]


def test_the_bind_method_returns_a_bound_statement() -> None:
    """`PreparedStatement.bind` returns a bound statement with encoded values and a routing key."""
    bound = prepared().bind((7, "seven"))
    assert bound.values == [b"\0\0\0\7", b"seven"]
    assert prepared().bind(values=[7]).routing_key == b"\0\0\0\7"
