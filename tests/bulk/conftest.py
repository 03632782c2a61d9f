"""One real node for the tests of this package, and sessions with settings that applications use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from cassandra.bulk.plain import PlainRows
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.protocol import LazyProtocolHandler, NumpyProtocolHandler, ProtocolHandler
from cassandra.query import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from cassandra.testing import LocalCluster
from cassandra.util import SortedSet

_names = (f"bulk_{number}" for number in itertools.count())

HANDLERS = (ProtocolHandler, LazyProtocolHandler, NumpyProtocolHandler)
FACTORIES: tuple[Callable[..., Any], ...] = (
    tuple_factory,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    lambda names, rows: dict.fromkeys(names),
)


class Shut:
    """An application's class whose repr shows none of its fields."""

    __slots__ = ()

    def __init__(self, **fields: Any) -> None:
        pass


@pytest.fixture(scope="session")
def node() -> Iterator[LocalCluster]:
    """One node of Cassandra 5.0."""
    with LocalCluster(1, heap="384M") as cluster:
        yield cluster


@pytest.fixture
def session(node: LocalCluster) -> Iterator[Session]:
    """A session in a new keyspace, with default settings."""
    name = next(_names)
    with Cluster(node.contact_points, port=node.port) as cluster, cluster.connect() as session:
        session.default_timeout = 60
        session.execute(
            f"CREATE KEYSPACE {name} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace(name)
        yield session
        session.execute(f"DROP KEYSPACE {name}")


def settings_of(node: LocalCluster, factory: Callable[..., Any]) -> dict[str, Any]:
    """Return the settings of a cluster whose profile has the row factory."""
    profile = ExecutionProfile(row_factory=factory, request_timeout=60)
    return {
        "contact_points": node.contact_points,
        "port": node.port,
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
    }


def spoil(session: Any, handler: Any) -> None:
    """Set a row factory and a protocol handler on the session, as an application may."""
    session.client_protocol_handler = handler
    session.default_vector_type = "numpy"
    session.default_fetch_size = 1
    session.encoder.mapping[str] = lambda value: "'not what was meant'"


def content_of(session: Session, table: str) -> list[tuple[str, ...]]:
    """Return the rows of a table, each value as a string that tells all values apart."""
    plain = PlainRows()
    rows: list[tuple[str, ...]] = []
    result = session.execute(f"SELECT * FROM {table}")
    while True:
        rows += [tuple(map(_words_of, row)) for row in plain.tuples(result)]
        if not result.has_more_pages:
            return sorted(rows)
        result.fetch_next_page()


def _words_of(value: Any) -> str:
    # Servers sort sets and maps inside other values by rules of their own, so we sort the elements.
    if isinstance(value, SortedSet):
        return f"{{{', '.join(sorted({_words_of(item) for item in value}))}}}"
    if isinstance(value, Mapping):
        pairs = sorted(f"{_words_of(key)}: {_words_of(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_words_of, value))}]"
    return repr(value)


def difference(session: Session, expected: list[Any], actual: list[Any]) -> str:
    """Return the differences between rows of the source and of the target; "" if there are none."""
    if expected == actual:
        return ""
    names = session.execute("SELECT * FROM source LIMIT 1").column_names or []
    if len(expected) != len(actual):
        return f"{len(actual)} rows, and not {len(expected)}"
    return "; ".join(
        f"{name}: {was} became {came}"
        for before, after in zip(expected, actual, strict=True)
        for name, was, came in zip(names, before, after, strict=True)
        if was != came
    )[:2000]
