"""Nulls inside collections on a real node, which accepts some nulls and refuses others.

If the node refuses a null, the driver adds a note to the exception that says where the null is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy
import pandas
import pytest

from cassandra import InvalidRequest, aio
from cassandra.cluster import Session
from cassandra.protocol import ServerError
from cassandra.query import BatchStatement
from cassandra.testing import LocalCluster
from cassandra.testing.versions import parse_version

from .clusters import CURRENT
from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

# Cassandra 6.0-alpha2 refuses all nulls in collections, with different messages.
REFUSES_ALL = parse_version(CURRENT).line >= (6, 0)

TABLE = (
    "CREATE TABLE nulls (k int, c int, v int, l list<int>, s set<int>, m map<text, int>, "
    "fl frozen<list<int>>, fs frozen<set<int>>, fm frozen<map<text, int>>, "
    "fn frozen<list<frozen<list<text>>>>, PRIMARY KEY (k, c))"
)


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a new keyspace, with the table `nulls`."""
    name = new_keyspace_name()
    with connect(node) as cluster, cluster.connect() as new_session:
        create_keyspace(new_session, name)
        new_session.set_keyspace(name)
        new_session.execute(TABLE)
        yield new_session
        new_session.execute(f"DROP KEYSPACE {name}")


@pytest.fixture
def table(session: Session) -> Iterator[Session]:
    """Yield the session, and empty the table after the test."""
    yield session
    session.execute("DELETE FROM nulls WHERE k IN (1, 2)")


@pytest.mark.skipif(REFUSES_ALL, reason="Cassandra 6 refuses them")
@pytest.mark.parametrize(
    ("column", "value"), [("fl", [1, None]), ("fl", [None]), ("fn", [None, ["a"]])]
)
def test_a_frozen_list_is_written_with_its_nulls(table: Session, column: str, value: Any) -> None:
    insert = table.prepare(f"INSERT INTO nulls (k, c, {column}) VALUES (1, 1, ?)")
    table.execute(insert, (value,))
    assert table.execute(f"SELECT {column} FROM nulls").one() == (value,)


@pytest.mark.skipif(REFUSES_ALL, reason="Cassandra 6 refuses them")
@pytest.mark.parametrize("missing", [numpy.ma.masked, pandas.NaT, pandas.NA], ids=repr)
def test_missing_values_of_numpy_and_pandas_are_nulls(table: Session, missing: Any) -> None:
    insert = table.prepare("INSERT INTO nulls (k, c, fl) VALUES (1, 1, ?)")
    table.execute(insert, ([1, missing],))
    assert table.execute("SELECT fl FROM nulls").one() == ([1, None],)


def test_a_null_is_accepted_in_the_list_of_a_condition(table: Session) -> None:
    """The condition ``IF v IN (1, null)`` is met if `v` is null."""
    table.execute("INSERT INTO nulls (k, c) VALUES (1, 1)")
    update = table.prepare("UPDATE nulls SET v = 2 WHERE k = 1 AND c = 1 IF v IN ?")
    assert table.execute(update, ([1, None],)).was_applied
    assert table.execute("SELECT v FROM nulls").one() == (2,)


# The exception for a null in a list depends on the version of Cassandra.
ERROR_OF_LISTS: type[Exception] = InvalidRequest if REFUSES_ALL else ServerError
# For each null that the server refuses: the statement, the value, the exception, and the position
# that the driver's note must name.
NOT_WRITTEN: list[tuple[str, Any, type[Exception], str]] = [
    ("INSERT INTO nulls (k, c, l) VALUES (1, 1, ?)", [1, None, 2], ERROR_OF_LISTS,
     'column "l" (list<int>): element 1'),
    ("INSERT INTO nulls (k, c, s) VALUES (1, 1, ?)", [1, None], InvalidRequest,
     'column "s" (set<int>): element 1'),
    ("INSERT INTO nulls (k, c, m) VALUES (1, 1, ?)", {"b": 2, "a": None}, InvalidRequest,
     'column "m" (map<varchar, int>): value 1, of the key \'a\' (str)'),
    ("INSERT INTO nulls (k, c, m) VALUES (1, 1, ?)", {None: 1}, InvalidRequest,
     'column "m" (map<varchar, int>): key 0'),
    ("INSERT INTO nulls (k, c, fs) VALUES (1, 1, ?)", [None], InvalidRequest,
     'column "fs" (set<int>): element 0'),
    ("INSERT INTO nulls (k, c, fm) VALUES (1, 1, ?)", {"a": None}, InvalidRequest,
     'column "fm" (map<varchar, int>): value 0, of the key \'a\' (str)'),
    ("UPDATE nulls SET m = m + ? WHERE k = 1 AND c = 1", {"b": None}, InvalidRequest,
     'column "m" (map<varchar, int>): value 0, of the key \'b\' (str)'),
    ("SELECT * FROM nulls WHERE k IN ?", [1, None], InvalidRequest,
     'column "in(k)" (list<int>): element 1'),
    ("SELECT * FROM nulls WHERE k = 1 AND c IN ?", [1, None], InvalidRequest,
     'column "in(c)" (list<int>): element 1'),
]  # fmt: skip


@pytest.mark.parametrize(("query", "value", "error_class", "position"), NOT_WRITTEN)
def test_refusals_of_nulls_have_a_note(
    table: Session, query: str, value: Any, error_class: type[Exception], position: str
) -> None:
    """A null that the server refuses raises an error whose note says where the null is."""
    prepared = table.prepare(query)
    with pytest.raises(error_class) as caught:
        table.execute(prepared, (value,))
    assert f"(nulls inside collections: {position})" in vars(caught.value)["__notes__"]
    assert table.execute("SELECT * FROM nulls").one() is None


def test_the_note_of_a_batch_names_the_statement(table: Session) -> None:
    """The note names the statement that has the null: the second of the batch, number 1."""
    insert = table.prepare("INSERT INTO nulls (k, c, l) VALUES (?, 1, ?)")
    batch = BatchStatement().add(insert, (1, [1])).add(insert, (2, [None]))
    with pytest.raises(ERROR_OF_LISTS) as caught:
        table.execute(batch)
    note = '(nulls inside collections: statement 1: column "l" (list<int>): element 0)'
    assert note in vars(caught.value)["__notes__"]


async def check_note_on_asyncio(node: LocalCluster, keyspace: str) -> None:
    """Write a list with a null with the asyncio API, and check the note of the error."""
    async with aio.Cluster(node.contact_points, port=node.port) as cluster:
        session = await cluster.connect(keyspace)
        insert = await session.prepare("INSERT INTO nulls (k, c, l) VALUES (1, 1, ?)")
        with pytest.raises(ERROR_OF_LISTS) as caught:
            await session.execute(insert, ([None],))
        assert '"l" (list<int>): element 0' in "".join(vars(caught.value)["__notes__"])


def test_asyncio_has_the_note(node: LocalCluster, table: Session) -> None:
    """The asyncio API adds the same note to the error."""
    assert table.keyspace is not None
    asyncio.run(check_note_on_asyncio(node, table.keyspace))
