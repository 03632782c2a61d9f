"""Features of Cassandra 6, on a node of its newest alpha version.

The features are transactions (Accord), constraints, comments and new system tables. `tox -e
cassandra6` also runs all other integration tests on this version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, InvalidRequest, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ServerError, Session
from cassandra.metadata import TableMetadata
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

# A transaction that transfers an amount if the payer has enough. Its parameters are: payer, least
# balance, amount, payer, amount, payee.
TRANSFER = """
    BEGIN TRANSACTION
      LET payer = (SELECT balance FROM accounts WHERE id = ?);
      SELECT payer.balance;
      IF payer.balance >= ? THEN
        UPDATE accounts SET balance -= ? WHERE id = ?;
        UPDATE accounts SET balance += ? WHERE id = ?;
      END IF
    COMMIT TRANSACTION
"""


@pytest.fixture(scope="module")
def cluster(transactional_node: LocalCluster) -> Iterator[Cluster]:
    """Yield a cluster at QUORUM, because tables that allow transactions refuse LOCAL_ONE."""
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM)
    with connect(transactional_node, execution_profiles={EXEC_PROFILE_DEFAULT: profile}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Session:
    """Return a session in a new keyspace with the table `accounts`, which allows transactions."""
    session = cluster.connect()
    keyspace = new_keyspace_name()
    create_keyspace(session, keyspace)
    session.set_keyspace(keyspace)
    session.execute(
        "CREATE TABLE accounts (id int PRIMARY KEY, balance int) WITH transactional_mode = 'full'"
    )
    return session


def open_accounts(session: Session, *, payer: int, payee: int) -> None:
    """Write the accounts 1 (the payer) and 2 (the payee) with these balances."""
    for account, balance in ((1, payer), (2, payee)):
        session.execute("INSERT INTO accounts (id, balance) VALUES (%s, %s)", (account, balance))


def balances(session: Session) -> dict[int, int]:
    """Return the balances of all accounts, by their ids."""
    return {row.id: row.balance for row in session.execute("SELECT id, balance FROM accounts")}


def transfer_of(amount: int) -> tuple[int, ...]:
    """Return the parameters with which TRANSFER moves `amount` from account 1 to account 2."""
    payer, payee = 1, 2
    least_balance = amount
    return payer, least_balance, amount, payer, amount, payee


def test_version_and_new_system_tables_are_known(cluster: Cluster, session: Session) -> None:
    """The driver connects to Cassandra 6, and reads its schema with the new system tables."""
    (host,) = cluster.metadata.all_hosts()
    assert host.release_version == "6.0-alpha2"
    assert cluster.protocol_version == 5
    assert session.get_pool_state()
    assert cluster.metadata.token_map is not None
    assert "system_cluster_metadata" in cluster.metadata.keyspaces
    assert "cluster_metadata_log" in cluster.metadata.keyspaces["system_views"].tables


def test_an_unprepared_transaction(session: Session) -> None:
    """A SELECT in a transaction returns the values before the updates of the transaction."""
    open_accounts(session, payer=10, payee=0)
    result = session.execute(
        "BEGIN TRANSACTION "
        "LET payer = (SELECT balance FROM accounts WHERE id = %s); "
        "SELECT payer.balance; "
        "IF payer.balance >= %s THEN UPDATE accounts SET balance -= %s WHERE id = %s; END IF "
        "COMMIT TRANSACTION",
        (1, 4, 4, 1),  # payer, least balance, amount, payer
    )
    assert result.column_names == ["payer.balance"]
    (balance_before_update,) = result.one()
    assert balance_before_update == 10
    assert balances(session) == {1: 6, 2: 0}


def test_a_prepared_transaction(session: Session) -> None:
    """A transaction's bind markers have the names of their columns; an unmet IF changes nothing."""
    open_accounts(session, payer=10, payee=0)
    transfer = session.prepare(TRANSFER)
    assert [column.name for column in transfer.column_metadata] == [
        "id", "balance", "balance", "id", "balance", "id",
    ]  # fmt: skip
    for _ in range(3):
        session.execute(transfer, transfer_of(4))
    # The third transfer is not executed, because the payer has only 2 left.
    assert balances(session) == {1: 2, 2: 8}


def test_concurrent_transactions_lose_no_money(session: Session) -> None:
    """Of 50 concurrent transfers of 1, exactly the 40 that the payer can pay are executed."""
    open_accounts(session, payer=40, payee=0)
    transfer = session.prepare(TRANSFER)
    results = session.execute_concurrent_with_args(transfer, [transfer_of(1)] * 50, concurrency=8)
    assert all(success for success, _ in results)
    # The payer had enough for 40 of the 50 transfers.
    assert balances(session) == {1: 0, 2: 40}


async def test_a_transaction_with_asyncio(
    transactional_node: LocalCluster, session: Session
) -> None:
    """Of four concurrent transfers of 5, exactly the two that the payer can pay are executed."""
    open_accounts(session, payer=10, payee=0)
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM)
    async with aio.Cluster(
        transactional_node.contact_points,
        port=transactional_node.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    ) as cluster:
        async_session = await cluster.connect(session.keyspace)
        transfer = await async_session.prepare(TRANSFER)
        await asyncio.gather(*(async_session.execute(transfer, transfer_of(5)) for _ in range(4)))
    # Two of the four transfers of 5 were possible.
    assert balances(session) == {1: 0, 2: 10}


def test_other_statements_on_a_table_with_transactions(session: Session) -> None:
    """Batches, conditional inserts and paged reads work on a table that allows transactions."""
    open_accounts(session, payer=1, payee=2)
    batch = BatchStatement()
    batch.add("INSERT INTO accounts (id, balance) VALUES (%s, %s)", (3, 3))
    batch.add("INSERT INTO accounts (id, balance) VALUES (%s, %s)", (4, 4))
    session.execute(batch)
    conditional = session.execute("INSERT INTO accounts (id, balance) VALUES (3, 5) IF NOT EXISTS")
    assert not conditional.was_applied
    pages = session.execute(SimpleStatement("SELECT id FROM accounts", fetch_size=1))
    assert sorted(row.id for row in pages) == [1, 2, 3, 4]
    session.execute("DELETE FROM accounts WHERE id IN (3, 4)")


@pytest.mark.parametrize("level", ["LOCAL_ONE", "LOCAL_QUORUM", "TWO"])
def test_the_error_for_an_unsupported_consistency_level_names_supported_ones(
    session: Session, level: str
) -> None:
    """A note of the error names QUORUM, which the table supports."""
    statement = SimpleStatement(
        "SELECT * FROM accounts WHERE id = 1",
        consistency_level=ConsistencyLevel.name_to_value[level],
    )
    with pytest.raises(InvalidRequest, match=f"{level} is unsupported with Accord") as refused:
        session.execute(statement)
    assert "QUORUM" in "".join(vars(refused.value)["__notes__"])


# Statements that the server does not support yet: (statement, exception, text of its message).
UNSUPPORTED: list[tuple[str, type[Exception], str]] = [
    ("BEGIN TRANSACTION COMMIT TRANSACTION", InvalidRequest, "contains no reads or writes"),
    (
        "BEGIN TRANSACTION SELECT * FROM plain WHERE id = 1; COMMIT TRANSACTION",
        InvalidRequest,
        "Accord transactions are disabled on table",
    ),
    (
        "BEGIN TRANSACTION INSERT INTO accounts (id, balance) VALUES (9, 9) IF NOT EXISTS; "
        "COMMIT TRANSACTION",
        InvalidRequest,
        "may not specify their own conditions",
    ),
    (
        "BEGIN TRANSACTION LET every = (SELECT * FROM accounts); SELECT every.id; "
        "COMMIT TRANSACTION",
        SyntaxException,
        "no viable alternative",
    ),
    ("DROP KEYSPACE {keyspace}", InvalidRequest, "contains accord tables"),
    (
        "CREATE TABLE hits (id int PRIMARY KEY, n counter) WITH transactional_mode = 'full'",
        ServerError,
        "Counters are not supported with Accord",
    ),
]


@pytest.mark.parametrize(("statement", "error", "message"), UNSUPPORTED)
def test_statements_that_the_server_does_not_support(
    session: Session, statement: str, error: type[Exception], message: str
) -> None:
    """Each unsupported statement raises the exception that fits the server's error."""
    session.execute("CREATE TABLE IF NOT EXISTS plain (id int PRIMARY KEY)")
    with pytest.raises(error, match=message):
        session.execute(statement.replace("{keyspace}", str(session.keyspace)))


@pytest.fixture(scope="module")
def guests(cluster: Cluster, session: Session) -> TableMetadata:
    """Create a table with constraints, masks and comments; return the table's metadata."""
    session.execute(
        "CREATE TABLE guests (id int CHECK id > 0 PRIMARY KEY, name text CHECK LENGTH() < 5, "
        "mail text NOT NULL, card text MASKED WITH mask_inner(1, 1) CHECK REGEXP() = '4.*')"
    )
    session.execute("COMMENT ON TABLE guests IS 'who comes'")
    session.execute("COMMENT ON COLUMN guests.mail IS 'never shown'")
    assert session.keyspace is not None
    cluster.refresh_table_metadata(session.keyspace, "guests")
    table: TableMetadata = cluster.metadata.keyspaces[session.keyspace].tables["guests"]
    return table


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0, "Ann", "a@b", None), "does not satisfy value constraint for column 'id'"),
        ((1, "Annabel", "a@b", None), "has a length of 7 and it should be < 5"),
        ((1, "Ann", None, None), "mail"),
        ((1, "Ann", "a@b", "5"), "does not match regular expression|REGEXP"),
    ],
)
@pytest.mark.usefixtures("guests")
def test_constraints_refuse_rows(session: Session, row: tuple[Any, ...], message: str) -> None:
    insert = session.prepare("INSERT INTO guests (id, name, mail, card) VALUES (?, ?, ?, ?)")
    with pytest.raises(InvalidRequest, match=message):
        session.execute(insert, row)


def test_an_export_says_that_constraints_are_missing(
    session: Session, guests: TableMetadata
) -> None:
    """The export of a table warns in a comment that it omits the CHECK constraints.

    The driver does not know the constraints: they are not in the schema tables that it reads.
    """
    exported = guests.export_as_string()
    assert exported.startswith("-- CHECK constraints and transactional_mode are not")
    assert "card text MASKED WITH system.mask_inner(1, 1)" in exported
    assert "comment = 'who comes'" in exported
    # The server can execute the export, whose first line is a CQL comment.
    session.execute(exported.replace(".guests", ".copied"))
    described = session.execute("DESCRIBE TABLE guests").one().create_statement
    # The server's own description has the constraints and comments that the driver's export omits.
    assert "CHECK LENGTH() < 5" in described
    assert "COMMENT ON COLUMN" in described


def test_an_export_with_fast_path_recreates_the_table(cluster: Cluster, session: Session) -> None:
    """The exported CREATE TABLE keeps the option fast_path of Cassandra 6."""
    assert session.keyspace is not None
    session.execute("CREATE TABLE fast (id int PRIMARY KEY) WITH fast_path = 'simple'")
    cluster.refresh_table_metadata(session.keyspace, "fast")
    tables = cluster.metadata.keyspaces[session.keyspace].tables
    exported = tables["fast"].export_as_string()
    session.execute("DROP TABLE fast")
    session.execute(exported)
    cluster.refresh_table_metadata(session.keyspace, "fast")
    assert tables["fast"].options["fast_path"] == {"kind": "SIMPLE"}
