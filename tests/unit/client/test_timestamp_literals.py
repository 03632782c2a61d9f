"""Warnings about numbers in timestamp literals that are probably not milliseconds."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.errors import MissingParameter
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeNode
from tests.unit.metadata.schema import rows

SECONDS = 1_764_000_000  # seconds since 1970; a moment in 2025
ADVICE = f"column at: {SECONDS} milliseconds are a moment of January or February 1970"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node with the table ``ks.t (id int PRIMARY KEY, c0 int, at timestamp)``."""
    with FakeNode() as node:
        node.schema = rows.schema("ks", tables=0)
        rows.add_table(node.schema, "ks", "t")
        node.schema["system_schema.columns"].append(rows.column("ks", "t", "at", type="timestamp"))
        yield node


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect("ks")


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("INSERT INTO t (id, at) VALUES (%s, %s)", (1, SECONDS)),
        ("INSERT INTO ks.t (id, at) VALUES (%s, %s)", [1, SECONDS]),
        ('INSERT INTO "ks"."t" ("at", id) VALUES (%(when)s, %(k)s)', {"k": 1, "when": SECONDS}),
        (SimpleStatement("UPDATE T SET AT = %s WHERE id = %s"), (SECONDS, 1)),
        ("SELECT id FROM t WHERE id = 5 AND at > %s ALLOW FILTERING", (SECONDS,)),
        ("DELETE FROM t WHERE id = 1 IF at = %s", (SECONDS,)),
    ],
)
def test_seconds_for_a_timestamp_warn(session: Session, query: Any, parameters: Any) -> None:
    """A number of seconds for a timestamp column causes a warning that names the column."""
    for _ in range(2):  # the second time, the columns of the query string are already known
        with pytest.warns(RuntimeWarning, match=ADVICE) as warned:
            session.execute(query, parameters)
        assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize("number", [17, SECONDS])
@pytest.mark.parametrize(
    ("query", "make_parameters", "error"),
    [
        ("INSERT INTO t (id, at) VALUES (%s, %s)", lambda number: (number,), TypeError),
        ("INSERT INTO t (id, at) VALUES (%s, %s)", lambda number: (1, number, 3), TypeError),
        (
            "INSERT INTO t (id, at) VALUES (%(id)s, %(at)s)",
            lambda number: {"id": number},
            MissingParameter,
        ),
        ("INSERT INTO t (id, at) VALUES (%s, 5%)", lambda number: (number,), TypeError),
    ],
)
def test_errors_of_placeholders_do_not_depend_on_the_values(
    session: Session, query: str, make_parameters: Any, error: Any, number: int
) -> None:
    """Placeholders that do not fit are explained, also if a number may be a wrong timestamp."""
    with pytest.raises(error, match="the placeholders of 'INSERT"):
        session.execute(query, make_parameters(number))


async def test_seconds_for_a_timestamp_warn_on_asyncio(node: FakeNode) -> None:
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect("ks")
        with pytest.warns(RuntimeWarning, match=ADVICE):
            await session.execute("INSERT INTO t (id, at) VALUES (%s, %s)", (1, SECONDS))


def test_nanoseconds_for_a_timestamp_warn(session: Session) -> None:
    with pytest.warns(RuntimeWarning, match="column at: .* divide them by 1000000"):
        session.execute("INSERT INTO t (id, at) VALUES (1, %s)", (SECONDS * 10**9,))


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        # This value is in milliseconds, so it is correct.
        ("INSERT INTO t (id, at) VALUES (%s, %s)", (1, SECONDS * 1000)),
        ("INSERT INTO t (id, at) VALUES (%s, %s)", (1, datetime.datetime(2025, 1, 1))),
        # These numbers of seconds are for an int column, so they are correct.
        ("INSERT INTO t (id, at) VALUES (%s, %s)", (SECONDS, 1)),
        ("INSERT INTO t (id, c0) VALUES (%s, %s)", (1, SECONDS)),
        ("INSERT INTO other (id, at) VALUES (%s, %s)", (1, SECONDS)),  # the table is unknown
        ("INSERT INTO other.t (id, at) VALUES (%s, %s)", (1, SECONDS)),
        # The function may convert the number.
        ("INSERT INTO t (id, at) VALUES (1, f(%s))", (SECONDS,)),
        ("INSERT INTO t JSON %s", (SECONDS,)),
        ("SELECT %s", (SECONDS,)),
        ("INSERT INTO", (SECONDS,)),
        ("INSERT INTO t (id) VALUES ('100%%', %s)", (SECONDS,)),
    ],
)
def test_other_numbers_do_not_warn(session: Session, query: str, parameters: Any) -> None:
    """Milliseconds, values of other columns, and values of unknown columns cause no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            session.execute(query, parameters)
        except TypeError:
            assert query == "INSERT INTO"


def test_without_a_schema_there_is_no_warning(node: FakeNode) -> None:
    """Without schema metadata, the driver does not know which columns are timestamps."""
    with Cluster([node.address], port=node.port, schema_metadata_enabled=False) as cluster:
        session = cluster.connect()
        session.set_keyspace("ks")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.execute("INSERT INTO t (id, at) VALUES (%s, %s)", (1, SECONDS))
