"""Pickles of cassandra-driver, which applications have in caches, can be read, and vice versa."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra import ConsistencyLevel, util
from cassandra.auth import PlainTextAuthenticator, PlainTextAuthProvider
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.metadata import Aggregate, Murmur3Token, ReplicationFactor, UserType
from cassandra.policies import RetryPolicy
from cassandra.query import FETCH_SIZE_UNSET, BatchStatement, BatchType, SimpleStatement
from cassandra.util.geometry import _LinearRing


class Pickled:
    """An object whose pickle is the pickle of an instance of another class.

    :param cls: the other class.
    :param state: the attributes. Classes of cassandra-driver have no slots, so this is a dict.
    """

    def __init__(self, cls: type[Any], state: Any) -> None:
        self._cls = cls
        self._state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (self._cls,), self._state


RING = Pickled(_LinearRing, {"coords": ((0, 0), (1, 1))})
DAY = Pickled(util.DateRangeBound, {"milliseconds": 0, "precision": "DAY"})
# In cassandra-driver, the open bound's precision is an attribute of the class, so the pickle does
# not contain it.
OPEN = Pickled(util.DateRangeBound, {"milliseconds": None})
# Each pair has an object of cassandra-driver in a pickle, and the object that must be read from it.
VALUES = [
    (Pickled(util.Date, {"days_from_epoch": 5}), util.Date(5)),
    (Pickled(util.Time, {"nanosecond_time": 5}), util.Time(5)),
    (
        Pickled(util.Duration, {"months": 1, "days": 2, "nanoseconds": 3}),
        util.Duration(1, 2, 3),
    ),
    (Pickled(util.Point, {"x": 1, "y": 2}), util.Point(1, 2)),
    (Pickled(util.LineString, {"coords": ((1, 2), (3, 4))}), util.LineString([(1, 2), (3, 4)])),
    (
        Pickled(util.Polygon, {"exterior": RING, "interiors": (RING,)}),
        util.Polygon([(0, 0), (1, 1)], [[(0, 0), (1, 1)]]),
    ),
    (Pickled(util.Distance, {"x": 1, "y": 2, "radius": 3}), util.Distance(1, 2, 3)),
    (
        Pickled(util.DateRange, {"lower_bound": DAY, "upper_bound": OPEN, "value": None}),
        util.DateRange(util.DateRangeBound(0, "DAY"), util.OPEN_BOUND),
    ),
    (
        Pickled(util.OrderedMap, {"_items": [([1], 2)], "_index": {b"": 0}}),
        util.OrderedMap([([1], 2)]),
    ),
    (Pickled(util.Version, {"_version": "4.0.1", "major": 4}), util.Version("4.0.1")),
    (Pickled(Murmur3Token, {"value": 5}), Murmur3Token(5)),
    (
        Pickled(
            ReplicationFactor, {"all_replicas": 3, "transient_replicas": 1, "full_replicas": 2}
        ),
        ReplicationFactor(3, 1),
    ),
]


@pytest.mark.parametrize(("pickled", "expected"), VALUES)
def test_values_that_cassandra_driver_has_pickled(pickled: Pickled, expected: Any) -> None:
    value = pickle.loads(pickle.dumps(pickled))
    assert type(value) is type(expected)
    assert value == expected
    assert repr(value) == repr(expected)


@pytest.mark.parametrize("value", [expected for _, expected in VALUES])
def test_pickles_name_paths_that_cassandra_driver_has(value: Any) -> None:
    """Pickles name only modules that cassandra-driver has, too.

    While an application is migrated, both drivers may read the same cache.
    """
    data = pickle.dumps(value, protocol=2)
    assert b"cassandra.util." not in data
    assert pickle.loads(data) == value


def test_a_map_of_a_row() -> None:
    """A pickled map contains its key type, so it finds keys by their CQL encoding."""
    nested_map = Pickled(
        util.OrderedMapSerializedKey,
        {
            "_items": [("a", [1])],
            "_index": {b"a": 0},
            "cass_key_type": UTF8Type,
            "protocol_version": 4,
        },
    )
    pickled = Pickled(
        util.OrderedMapSerializedKey,
        {
            "_items": [(1, nested_map)],
            "_index": {b"\0\0\0\1": 0},
            "cass_key_type": Int32Type,
            "protocol_version": 4,
        },
    )
    value = pickle.loads(pickle.dumps(pickled))
    assert type(value) is util.OrderedMapSerializedKey
    assert (value[1]["a"], list(value), len(value)) == ([1], [1], 1)
    with pytest.raises(KeyError):
        value[2]
    # The map that was read can be pickled again.
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("is_read", [True, False])
def test_statements_that_cassandra_driver_has_pickled(is_read: bool) -> None:
    """A statement pickled by cassandra-driver has the attributes that are not in the pickle.

    Such a pickle contains only attributes that differ from their defaults.
    """
    state: dict[str, Any] = {
        "_routing_key": None,
        "is_idempotent": is_read,
        "_query_string": "Q",
        "mine": 5,
    }
    if is_read:
        state |= {
            "consistency_level": 4, "_serial_consistency_level": 8, "fetch_size": 7,
            "keyspace": "ks", "custom_payload": {"a": b"b"}, "retry_policy": RetryPolicy(),
        }  # fmt: skip
    # Each attribute has the value of the pickle, or its default if the pickle does not have it.
    statement: Any = unpickled(Pickled(SimpleStatement, state))
    assert (statement.query_string, statement.mine) == ("Q", 5)
    assert statement.is_idempotent is is_read
    assert statement.consistency_level == (ConsistencyLevel.QUORUM if is_read else None)
    assert statement.serial_consistency_level == (ConsistencyLevel.SERIAL if is_read else None)
    assert statement.fetch_size == (7 if is_read else FETCH_SIZE_UNSET)
    assert (statement.keyspace, statement.custom_payload) == (
        ("ks", {"a": b"b"}) if is_read else (None, None)
    )
    assert isinstance(statement.retry_policy, RetryPolicy) is is_read
    assert statement.table is None
    assert not statement.is_lwt()


def test_a_batch_that_cassandra_driver_has_pickled() -> None:
    """A batch that cassandra-driver has pickled has its statements, and accepts more statements."""
    batch: Any = unpickled(
        Pickled(
            BatchStatement,
            {
                "batch_type": Pickled(BatchType, {"name": "LOGGED", "value": 0}),
                "_statements_and_parameters": [(False, "A", ()), (True, b"id", [b"1"])],
                "_session": None,
                "consistency_level": 1,
                "_routing_key": None,
                "is_idempotent": True,
            },
        )
    )
    assert batch._statements_and_parameters == [(False, "A", ()), (True, b"id", [b"1"])]
    assert (batch.consistency_level, batch.is_idempotent) == (1, True)
    assert batch.query_string.startswith("BEGIN BATCH A; ")
    batch.add("B")
    assert len(batch._statements_and_parameters) == 3


@pytest.mark.parametrize("cls", [PlainTextAuthProvider, PlainTextAuthenticator])
def test_passwords_that_cassandra_driver_has_pickled(cls: type[Any]) -> None:
    login = unpickled(Pickled(cls, {"username": "u", "password": "p"}))
    assert (login.username, login.password) == ("u", "p")
    assert "'p'" not in repr(vars(login))


def test_schema_objects_that_cassandra_driver_has_pickled() -> None:
    """User-defined types and aggregates that cassandra-driver has pickled can be read and used."""
    fields = {"keyspace": "ks", "name": "t", "field_names": ["a"], "field_types": ["int"]}
    user_type: Any = unpickled(Pickled(UserType, fields))
    assert user_type.as_cql_query() == UserType("ks", "t", ["a"], ["int"]).as_cql_query()
    parts = {
        "keyspace": "ks", "name": "f", "argument_types": ["int"], "state_func": "s",
        "state_type": "int", "final_func": None, "initial_condition": None, "return_type": "int",
        "deterministic": True,
    }  # fmt: skip
    assert unpickled(Pickled(Aggregate, parts)).signature == "f(int)"


def unpickled(pickled: Pickled) -> Any:
    """Return the object that is read back from the pickle."""
    return pickle.loads(pickle.dumps(pickled))
