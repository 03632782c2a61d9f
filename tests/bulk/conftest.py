"""Fixtures of tests/bulk: one real node, and a session in a new keyspace for each test.

Further functions give a session unusual settings, and compare the rows of two tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from cassandra.bulk.plain import PlainRows
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.protocol import LazyProtocolHandler, NumpyProtocolHandler, ProtocolHandler
from cassandra.query import dict_factory, named_tuple_factory, ordered_dict_factory, tuple_factory
from cassandra.testing import LocalCluster
from cassandra.util import SortedSet

# The names of the keyspaces.
_names = (f"bulk_{number}" for number in itertools.count())

# The protocol handlers and row factories that the tested sessions have. Bulk operations must ignore
# both.
HANDLERS = (ProtocolHandler, LazyProtocolHandler, NumpyProtocolHandler)
FACTORIES: tuple[Callable[..., Any], ...] = (
    tuple_factory,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    lambda names, rows: dict.fromkeys(
        names
        # This factory of an application drops the values of the rows.
    ),
)


class FieldlessType:
    """A class that an application has registered for user types.

    Its instances drop all fields. A bulk operation must not decode user types with this class, or
    it would lose their values.
    """

    __slots__ = ()

    def __init__(self, **fields: Any) -> None:
        pass


@pytest.fixture(scope="session")
def node() -> Iterator[LocalCluster]:
    """Yield one node of Cassandra 5.0."""
    with LocalCluster(1, heap="384M") as cluster:
        yield cluster


@pytest.fixture
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a new keyspace, with default settings."""
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
    """Return the arguments of a `Cluster` for `node`.

    :param factory: the row factory of the default execution profile.
    """
    profile = ExecutionProfile(row_factory=factory, request_timeout=60)
    return {
        "contact_points": node.contact_points,
        "port": node.port,
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
    }


def set_unusual_settings(session: Any, handler: Any) -> None:
    """Give the session settings that an application may use and bulk operations must ignore.

    :param handler: the protocol handler of the session, one of `HANDLERS`.
    """
    session.client_protocol_handler = handler
    session.default_vector_type = "numpy"
    session.default_fetch_size = 1
    session.encoder.mapping[str] = lambda value: "'not what was meant'"


def content_of(session: Session, table: str) -> list[tuple[str, ...]]:
    """Return the rows of a table, sorted.

    Values are strings, which differ if the values do.
    """
    plain = PlainRows()
    rows: list[tuple[str, ...]] = []
    result = session.execute(f"SELECT * FROM {table}")
    while True:
        rows += [tuple(map(_text_of, row)) for row in plain.tuples(result)]
        if not result.has_more_pages:
            return sorted(rows)
        result.fetch_next_page()


def _text_of(value: Any) -> str:
    """Return a string that is the same for equal values."""
    # Nodes may return the elements of nested sets and maps in another order. Sort them, because the
    # order must not count as a difference.
    if isinstance(value, SortedSet):
        return f"{{{', '.join(sorted({_text_of(item) for item in value}))}}}"
    if isinstance(value, Mapping):
        pairs = sorted(f"{_text_of(key)}: {_text_of(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text_of, value))}]"
    return repr(value)


def difference(session: Session, expected: list[Any], actual: list[Any]) -> str:
    """Describe the differences between the rows of source and target; return "" if they are equal.

    :param expected: the rows of the source, from `content_of`.
    :param actual: the rows of the target, also from `content_of`.
    """
    if expected == actual:
        return ""
    names = session.execute("SELECT * FROM source LIMIT 1").column_names or []
    if len(expected) != len(actual):
        return f"{len(actual)} rows, and not {len(expected)}"
    return "; ".join(
        f"{name}: {value_before} became {value_after}"
        for before, after in zip(expected, actual, strict=True)
        for name, value_before, value_after in zip(names, before, after, strict=True)
        if value_before != value_after
    )[:2000]
