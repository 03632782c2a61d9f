"""Test the warnings about write timestamps that are bound in seconds or milliseconds.

The server reads write timestamps as microseconds, so such a write loses against older values.
"""

from __future__ import annotations

import datetime
import sys
import threading
import warnings
from typing import Any

import pytest

from cassandra.cqltypes import Int32Type, LongType
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import (
    UNSET_VALUE,
    BatchStatement,
    PreparedStatement,
    bind_params,
    prepared as prepared_statements,
)

# A write time in seconds, as applications pass it by mistake, and in microseconds, as CQL needs it.
SECONDS = 1_795_683_336
MICROSECONDS = SECONDS * 1_000_000
QUERY = "INSERT INTO t (k) VALUES (?) USING TIMESTAMP ?"
LIMIT = 10.0  # the maximum wait for another thread, in seconds


def prepared(query: str = QUERY, name: str = "[timestamp]") -> PreparedStatement:
    """Return a prepared statement whose second bind marker is the write timestamp.

    :param name: the name of the second marker.
    """
    columns = [ColumnMetadata("ks", "t", "k", Int32Type), ColumnMetadata("ks", "t", name, LongType)]
    return PreparedStatement(columns, b"id", [0], query, "ks", 5, None, None)


@pytest.mark.parametrize(
    "statement",
    [
        prepared(),
        prepared("INSERT INTO t (k) VALUES (:k) USING TTL 3 AND timestamp :At", "at"),
    ],
)
def test_seconds_warn_once_for_each_statement(statement: PreparedStatement) -> None:
    """A timestamp in seconds gives one warning for each statement, at the application's line."""
    with pytest.warns(RuntimeWarning, match="multiply by 1_000_000") as warned:
        list(map(statement.bind, [(1, SECONDS), (2, SECONDS)]))
    assert [warning.filename for warning in warned] == [__file__]


def test_after_the_first_timestamp_rows_are_bound_by_a_plain_plan() -> None:
    """After a statement's first timestamp was checked, its rows are bound by an ordinary plan.

    To check each timestamp would take longer than to bind the row.
    """
    statement, other = prepared(), prepared(name="v")
    for value in (None, UNSET_VALUE):  # neither is a timestamp that could be checked
        statement.bind((1, value))
    assert type(statement.bind_plan) is not type(other.bind_plan)
    statement.bind((1, MICROSECONDS))
    assert type(statement.bind_plan) is type(other.bind_plan)
    assert statement.bind((1, MICROSECONDS)).values == other.bind((1, MICROSECONDS)).values
    assert statement.bind((1, 2)).routing_key == other.bind((1, 2)).routing_key


def test_the_check_does_not_bring_back_a_plan_that_was_replaced() -> None:
    """A thread may bind a row while another thread gives the statement a plan that encrypts.

    The plan that checks the row must not put a plan with its own encoders in the new plan's place.
    """
    statement = prepared()
    checking_plan = statement.bind_plan
    statement.renew_encryption()
    new_plan = statement.bind_plan
    assert new_plan is not checking_plan
    checking_plan.bind((1, MICROSECONDS), 5)
    assert statement.bind_plan is new_plan
    # While another thread builds a plan, the statement keeps the checking plan.
    with prepared_statements._planning:
        binding = threading.Thread(target=new_plan.bind, args=((1, MICROSECONDS), 5), daemon=True)
        binding.start()
        binding.join(LIMIT)
        assert not binding.is_alive()
        assert statement.bind_plan is new_plan
    new_plan.bind((1, MICROSECONDS), 5)
    assert statement.bind_plan is not new_plan


def test_milliseconds_in_a_batch_warn() -> None:
    """A timestamp in milliseconds that is added to a batch gives a warning."""
    batch = BatchStatement()
    with pytest.warns(RuntimeWarning, match="multiply by 1_000$"):
        batch.add(prepared(), (1, SECONDS * 1000))


def test_many_rows_of_a_batch_warn() -> None:
    """`add_many` warns of timestamps in seconds, and accepts an empty list of rows.

    Only the first row is checked, because it is enough to find out the unit.
    """
    batch = BatchStatement()
    with pytest.warns(RuntimeWarning, match="multiply by 1_000_000"):
        batch.add_many(prepared(), [(1, SECONDS), (2, SECONDS)])
    batch.add_many(prepared(), [])


@pytest.mark.skipif(
    bool(getattr(sys.flags, "context_aware_warnings", False)),
    reason="the warning comes on the driver's thread, in another context",
)
def test_a_query_string_in_a_batch_warns(session: Any, node: Any) -> None:
    """The timestamp of a query string in a batch is checked when the batch is executed."""
    node.prime_prepare(QUERY, [("k", "int"), ("[timestamp]", "bigint")])
    batch = BatchStatement()
    batch.add(QUERY, (1, SECONDS))
    with pytest.warns(RuntimeWarning, match="multiply by 1_000_000"):
        session.execute(batch)


def test_an_execution_warns(session: Any) -> None:
    """`execute_async` warns of a timestamp in seconds, too.

    The execution binds values by position, without `BoundStatement.bind`.
    """
    with pytest.warns(RuntimeWarning, match="older values win over this write"):
        session.execute_async(prepared(), (1, SECONDS))


@pytest.mark.parametrize("value", [MICROSECONDS, 1, None, UNSET_VALUE])
def test_other_values_do_not_warn(value: object) -> None:
    """Microseconds, small numbers, null and unset values give no warning.

    Numbers for a marker that is not a write timestamp give none, either.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = prepared().bind((1, value))
        prepared("SELECT * FROM t WHERE k = ? AND v = ?", "v").bind((1, SECONDS))
    expected = value.to_bytes(8, "big") if isinstance(value, int) else value
    assert list(bound.values) == [(1).to_bytes(4, "big"), expected]


def test_the_values_are_those_of_a_plain_plan() -> None:
    """The plan that checks timestamps binds the same values as the plan of other statements.

    This holds for values by position and by name.
    """
    plan, other = prepared().bind_plan, prepared(name="v").bind_plan
    assert plan.bind((1, MICROSECONDS), 5) == other.bind((1, MICROSECONDS), 5)
    row = {"k": 1, "[timestamp]": MICROSECONDS}
    assert plan.bind_row(row, 5) == other.bind((1, MICROSECONDS), 5)


@pytest.mark.parametrize("value", [SECONDS, datetime.datetime.fromtimestamp(SECONDS)])
@pytest.mark.parametrize("using", ["USING TIMESTAMP %s", "using ttl 3 and timestamp %s"])
def test_literals_warn(value: object, using: str) -> None:
    """A timestamp in seconds, or a datetime, that is formatted into a query gives a warning.

    A datetime becomes a literal in milliseconds, which is right for a column, but not for a write
    timestamp.
    """
    with pytest.warns(RuntimeWarning, match="older values win over this write") as warned:
        bind_params(f"INSERT INTO t (k) VALUES (%s) {using}", (1, value))
    assert warned[0].filename == __file__


def test_literals_in_microseconds_and_of_columns_do_not_warn() -> None:
    """Literals in microseconds, and literals for columns, give no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bind_params("INSERT INTO t (k) VALUES (%s) USING TIMESTAMP %s", (1, MICROSECONDS))
        bind_params("INSERT INTO t (timestamp , k) VALUES (%s, %s)", (SECONDS, 1))
        # The application stores CQL statements in a table, so the value contains USING TIMESTAMP.
        statement = f"it's UPDATE t USING TIMESTAMP {SECONDS}"
        using = "INSERT INTO t (v) VALUES (%s) USING TIMESTAMP %s"
        bind_params(using, (statement, MICROSECONDS))
    with pytest.warns(RuntimeWarning, match=f"the timestamp {SECONDS + 1} "):
        bind_params(using, (statement, SECONDS + 1))
