"""`ChangedTypes`: what happens to prepared statements after schema changes.

The first tests use fakes of the preparer. The other tests use a fake node.
"""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.aio import Session
from cassandra.cluster import Cluster
from cassandra.cqltypes import Int32Type, ListType, UserType, UTF8Type
from cassandra.engine.prepare.changed_types import LATER_CHECKS, ChangedTypes
from cassandra.engine.request import MOST_PREPARES
from cassandra.errors import BindColumnsChanged, ConnectionException
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, Udt, error, schema_change
from tests.unit.engine.faults import connected
from tests.unit.engine.partners import engine_settings, fake_connection, run_loop_turns, spawn
from tests.unit.metadata.schema.rows import schema
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

STREET, CITY, ZIP = ("street", "text"), ("city", "text"), ("zip", "int")
INSERT = "INSERT INTO ks.t (k, a) VALUES (?, ?)"


def type_changed(name: str = "address", change: str = "UPDATED", keyspace: str = "ks") -> Any:
    """Return a SCHEMA_CHANGE event about a user-defined type."""
    return {
        "target_type": "TYPE",
        "change_type": change,
        "keyspace": keyspace,
        "type": name,
    }


def table_changed(change: str, table: str = "t", keyspace: str = "ks") -> Any:
    """Return a SCHEMA_CHANGE event about a table."""
    return {
        "target_type": "TABLE",
        "change_type": change,
        "keyspace": keyspace,
        "table": table,
    }


def keyspace_changed(change: str, keyspace: str = "ks") -> Any:
    """Return a SCHEMA_CHANGE event about a keyspace."""
    return {"target_type": "KEYSPACE", "change_type": change, "keyspace": keyspace}


def statement_with(cql_type: Any, table: str = "t") -> PreparedStatement:
    """Return a prepared statement with one bind marker, of this type."""
    columns = [ColumnMetadata("ks", table, "a", cql_type)]
    return PreparedStatement(columns, b"id", None, INSERT, "ks", 5, None, None)


# ADDRESS is ks.address. PERSON is ks.person, whose field `a` is a list of addresses. OTHER is the
# type with the name "address" in another keyspace.
ADDRESS = UserType.make_udt_class("ks", "address", ["street"], [UTF8Type])
PERSON = UserType.make_udt_class("ks", "person", ["a"], [ListType.apply_parameters([ADDRESS])])
OTHER = UserType.make_udt_class("other", "address", ["street"], [UTF8Type])
STATEMENTS = {
    "int": statement_with(Int32Type),
    "address": statement_with(ADDRESS),
    "person": statement_with(PERSON),
    "other": statement_with(OTHER, "t2"),
}


class ChangedTypesHarness:
    """A `ChangedTypes` with fakes of everything that it uses.

    `renewed` lists the calls of `renew`, which prepares statements again. Each call is a list of
    the statements' names in STATEMENTS. `revoked` lists the names of statements that were given ids
    that no server has. `noted` lists the changes that were noted for statements which are being
    prepared. `agreements` counts how often the harness was asked to wait for schema agreement.
    `statements` has the statements that exist.
    """

    def __init__(self, **settings: Any) -> None:
        self.renewed: list[list[str]] = []
        self.revoked: list[str] = []
        self.noted: list[Callable[[Any], bool]] = []
        self.statements = STATEMENTS
        self.agreements = 0
        self.keyspaces: dict[str, Any] = {}
        metadata: Any = SimpleNamespace(keyspaces=self.keyspaces)
        self.control: Callable[[], Any] = fake_connection
        preparer: Any = SimpleNamespace(
            note_change=lambda affects: self.noted.append(affects),
            statements_where=self.statements_where,
            renew=self.renew,
            revoke_ids=self.revoke_ids,
        )
        self.changed_types = ChangedTypes(
            engine_settings(**{"schema_event_refresh_window": 0.0} | settings),
            metadata,
            preparer,
            self.agree,
            lambda: self.control(),
            spawn,
        )

    async def statements_where(self, is_wanted: Callable[[Any], bool]) -> list[Any]:
        return [statement for statement in self.statements.values() if is_wanted(statement)]

    async def renew(self, statements: list[Any]) -> None:
        names = {id(statement): name for name, statement in self.statements.items()}
        self.renewed.append([names[id(statement)] for statement in statements])

    async def revoke_ids(self, is_wanted: Callable[[Any], bool]) -> None:
        self.revoked += [
            name for name, statement in self.statements.items() if is_wanted(statement)
        ]

    async def agree(self, connection: Any) -> bool:
        self.agreements += 1
        return True


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (type_changed(), ["address", "person"]),
        (type_changed("person"), ["person"]),
        (type_changed(keyspace="other"), ["other"]),
        (type_changed("unused"), []),
        # Servers garble names with letters beyond Latin-1. A name that is not ASCII may therefore
        # mean any type.
        (type_changed("\xc3\x9cn"), ["address", "person"]),
        (type_changed(keyspace="\xc3\x9cn"), ["address", "person", "other"]),
    ],
)
async def test_the_statements_that_use_a_changed_type_are_renewed(
    event: Any, names: list[str]
) -> None:
    """When a type changes, exactly the statements that use the type are prepared again (renewed).

    A statement may use the type inside of another type.
    """
    harness = ChangedTypesHarness()
    await harness.changed_types.after_ddl(event)
    assert harness.renewed == [names]
    assert harness.agreements == 0  # the session has already waited for schema agreement


async def test_other_changes_renew_nothing() -> None:
    """If something is new, or a keyspace or an unused table changes, no statement is touched."""
    harness = ChangedTypesHarness()
    function = {"target_type": "FUNCTION", "change_type": "DROPPED", "keyspace": "ks"}
    for event in (
        type_changed(change="CREATED"),
        table_changed("CREATED"),
        keyspace_changed("CREATED"),
        keyspace_changed("UPDATED"),
        table_changed("DROPPED", "unused"),
        table_changed("DROPPED", keyspace="other"),
        function,
    ):
        await harness.changed_types.after_ddl(event)
        harness.changed_types.on_event(event)
    await asyncio.sleep(sum(LATER_CHECKS) + 0.1)
    assert (harness.renewed, harness.revoked) == ([], [])


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (table_changed("DROPPED"), ["int", "address", "person"]),
        (table_changed("DROPPED", "t2"), ["other"]),
        (table_changed("DROPPED", "\xc3\x9cn"), ["int", "address", "person", "other"]),
        (keyspace_changed("DROPPED"), ["int", "address", "person", "other"]),
        (keyspace_changed("DROPPED", "other"), []),
        (type_changed(change="DROPPED"), ["address", "person"]),
    ],
)
async def test_statements_of_dropped_tables_and_types_are_prepared_before_they_execute(
    event: Any, names: list[str]
) -> None:
    """After DROP, exactly the affected statements lose the id under which servers know them."""
    harness = ChangedTypesHarness()
    await harness.changed_types.after_ddl(event)
    assert harness.revoked == names
    harness.changed_types.on_event(event)
    await run_loop_turns()
    assert harness.revoked == 2 * names


@pytest.mark.parametrize("change", ["DROPPED", "UPDATED"])
@pytest.mark.parametrize("window", [0.0, 30.0, -1.0])
async def test_types_are_compared_with_the_schema_after_events_about_tables(
    change: str, window: float
) -> None:
    """If the schema has another type for a column after an event, its statement is renewed.

    Frozen types are not other types.
    """
    harness = ChangedTypesHarness(schema_event_refresh_window=window)
    columns = {"a": SimpleNamespace(cql_type="frozen<address>")}
    harness.keyspaces["ks"] = SimpleNamespace(
        user_types={}, tables={"t": SimpleNamespace(columns=columns)}, views={}
    )
    harness.changed_types.on_event(table_changed(change))
    await asyncio.sleep(max(window, 0.0) + sum(LATER_CHECKS) + 0.1)
    assert harness.renewed == 2 * [["int", "person"]]
    await harness.changed_types.catch_up()
    assert harness.renewed[2:] == [["int", "person"]]
    # The names of custom types are not compared.
    columns["a"].cql_type = "'org.apache.cassandra.db.marshal.CompositeType(UTF8Type)'"
    await harness.changed_types.catch_up()
    assert harness.renewed[3:] == [[]]


@pytest.mark.parametrize("window", [0.0, 2.0, -1.0])
async def test_many_events_cause_one_renewal_when_the_nodes_agree(window: float) -> None:
    """After two hundred events in quick succession, each statement is prepared again only once.

    The driver collects the events for a random time, and waits until the nodes agree on the schema.
    With the window -1, it does not read the schema after events, but it still prepares statements
    again.
    """
    harness = ChangedTypesHarness(schema_event_refresh_window=window)
    for _ in range(100):
        harness.changed_types.on_event(type_changed())
        harness.changed_types.on_event(type_changed(keyspace="other"))
    await until_on_loop(lambda: harness.renewed)
    assert harness.renewed == [["address", "person", "other"]]
    assert harness.agreements == 1


async def test_statements_that_a_server_has_described_as_before_are_renewed_again() -> None:
    """If a server still describes a statement with the old fields, the driver tries again later.

    A server may report the change of a type before it drops the statement from its cache. Then the
    response to the first PREPARE after the change has the old fields.
    """
    harness = ChangedTypesHarness()
    fields = SimpleNamespace(field_names=["street"], field_types=["text", "int"])
    harness.keyspaces["ks"] = SimpleNamespace(user_types={"address": fields}, tables={}, views={})
    harness.changed_types.on_event(type_changed())
    await until_on_loop(lambda: harness.renewed)
    await asyncio.sleep(LATER_CHECKS[0] + 0.1)
    assert harness.renewed == [["address", "person"]]
    # From now on, the schema has a field that the statements lack.
    fields.field_names.append("city")
    await asyncio.sleep(sum(LATER_CHECKS))
    assert harness.renewed == 2 * [["address", "person"]]


@pytest.mark.parametrize(
    "event", [type_changed(), table_changed("DROPPED"), table_changed("UPDATED")]
)
async def test_statements_that_are_being_prepared_learn_of_a_change(event: Any) -> None:
    """They are not among the statements in use yet, and are compared with the schema later."""
    harness = ChangedTypesHarness()
    harness.statements = {}
    harness.changed_types.on_event(event)
    (affects,) = harness.noted
    assert affects(STATEMENTS["address"])
    assert not affects(STATEMENTS["other"])
    await run_loop_turns()
    # The statement was prepared, and the server has described it as before.
    harness.statements = {"address": STATEMENTS["address"]}
    fields = SimpleNamespace(field_names=["street", "city"], field_types=["text", "text"])
    harness.keyspaces["ks"] = SimpleNamespace(user_types={"address": fields}, tables={}, views={})
    await until_on_loop(lambda: harness.renewed)
    assert harness.renewed[0] == ["address"]


async def test_an_event_about_an_unused_type_sends_nothing() -> None:
    """An event about a type that no statement uses causes no query.

    The driver does not even query the nodes' schema versions to wait for agreement.
    """
    harness = ChangedTypesHarness()
    harness.changed_types.on_event(type_changed("unused"))
    await run_loop_turns()
    assert (harness.renewed, harness.agreements) == ([], 0)


async def test_without_a_control_connection_statements_are_renewed_all_the_same() -> None:
    """Without a control connection, the driver prepares statements again at once.

    It does not wait for schema agreement.
    """

    def raise_error() -> Any:
        raise ConnectionException("there is none")

    harness = ChangedTypesHarness()
    harness.control = raise_error
    harness.changed_types.on_event(type_changed())
    await until_on_loop(lambda: harness.renewed)
    assert (harness.renewed, harness.agreements) == ([["address", "person"]], 0)


async def test_the_event_about_a_statement_of_our_own_is_forgotten() -> None:
    """After an ALTER TYPE of the session itself, each statement is prepared again only once.

    The server also sends an event about the change, here before the response to the ALTER TYPE.
    """
    harness = ChangedTypesHarness()
    harness.changed_types.on_event(type_changed())
    await harness.changed_types.after_ddl(type_changed())
    await run_loop_turns()
    assert harness.renewed == [["address", "person"]]


async def test_after_missed_events_the_schema_decides() -> None:
    """`catch_up` prepares statements again whose types have other fields in the schema.

    Events may have been missed, so the schema shows which types have changed.
    """
    harness = ChangedTypesHarness()
    await harness.changed_types.catch_up()
    # The schema does not have the keyspace yet, so no statement is prepared again.
    assert harness.renewed == [[]]
    address = SimpleNamespace(field_names=["street", "city"], field_types=["text", "text"])
    person = SimpleNamespace(field_names=["a"], field_types=["frozen<list<address>>"])
    harness.keyspaces["ks"] = SimpleNamespace(
        user_types={"address": address, "person": person}, tables={}, views={}
    )
    # Now the schema has the field `city`, which the statements lack.
    await harness.changed_types.catch_up()
    # Without `city`, the schema and the statements agree, so no statement is prepared again.
    address.field_names.remove("city")
    await harness.changed_types.catch_up()
    # The type was dropped and created again, and its field has another type.
    address.field_types[0] = "int"
    await harness.changed_types.catch_up()
    assert harness.renewed[1:] == [["address", "person"], [], ["address", "person"]]


def marker_statement(name: str) -> PreparedStatement:
    """Return a prepared statement of ks.t with one bind marker of this name."""
    columns = [ColumnMetadata("ks", "t", name, Int32Type)]
    return PreparedStatement(columns, b"id", None, INSERT, "ks", 5, None, None)


@pytest.mark.parametrize(
    ("marker", "is_revoked"),
    [("a", False), ("b", True), ("in(a)", True), ("[limit]", False), ("[ttl]", False)],
)
@pytest.mark.parametrize("report", ["missed", "altered", "other table"])
@pytest.mark.parametrize("kind", ["table", "view"])
async def test_statements_that_cannot_be_compared_are_prepared_again(
    kind: str, report: str, marker: str, is_revoked: bool
) -> None:
    """The schema does not tell whether the type of such a marker has changed.

    A marker need not be called like a column, and applications may read a part of the schema only.
    """
    harness = ChangedTypesHarness()
    columns = {"a": SimpleNamespace(cql_type="int")}
    tables = {"t": SimpleNamespace(columns=columns)}
    places = {"tables": tables, "views": {}} if kind == "table" else {"tables": {}, "views": tables}
    harness.keyspaces["ks"] = SimpleNamespace(user_types={}, **places)
    harness.statements = {marker: marker_statement(marker)}
    if report == "missed":
        await harness.changed_types.catch_up()
        # Any statement that is being prepared may have missed the events, too.
        assert [affects(STATEMENTS["other"]) for affects in harness.noted] == [True]
    else:
        table = "t" if report == "altered" else "t2"
        harness.changed_types.on_event(table_changed("UPDATED", table))
        await run_loop_turns()
    assert harness.revoked == ([marker] if is_revoked and report != "other table" else [])


# -- on a fake node ------------------------------------------------------------------------------


def prime_address(node: FakeNode, *fields: tuple[str, Any]) -> None:
    """Let the node describe the bind marker `a` of INSERT as ks.address with these fields."""
    columns: list[Any] = [("k", "int"), ("a", Udt("ks", "address", fields))]
    node.prime_prepare(INSERT, columns, pk_indexes=[0])


async def alter(session: Session, node: FakeNode, *fields: tuple[str, Any]) -> None:
    """Execute an ALTER TYPE, after which the node describes the type with these fields."""
    prime_address(node, *fields)
    node.prime(re.compile("ALTER"), schema_change("UPDATED", "TYPE", "ks", "address"))
    await session.execute("ALTER TYPE ks.address ADD ...")


def executed_values(node: FakeNode) -> list[Any]:
    """Return the encoded values of the column `a` in the EXECUTE requests so far."""
    return [request.values[1] for request in node.requests if request.opcode == Opcode.EXECUTE]


def stored_values(node: FakeNode) -> list[Any]:
    """Return the encoded values of the column `a` that the node has accepted.

    The node refuses an EXECUTE or a BATCH with an id that it does not know.
    """
    statements = [
        statement
        for request in node.requests
        for statement in ([request] if request.opcode == Opcode.EXECUTE else request.statements)
    ]
    return [statement.values[1] for statement in statements if statement.query is not None]


def prepare_count(node: FakeNode) -> int:
    return node.count(Opcode.PREPARE)


def udt_bytes(*values: str | None) -> bytes:
    """Return the encoded value of a user-defined type with text fields."""
    return b"".join(
        b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4, "big") + value.encode()
        for value in values
    )


async def test_after_alter_type_new_fields_can_be_bound() -> None:
    """After the session's own ALTER TYPE, new fields can be bound to earlier statements.

    This includes all statements with the same id, and a CQL string that was executed before. Values
    that were bound before are still sent.
    """
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET)
        async with connected(node) as (_, session):
            insert, equal_insert = await session.prepare(INSERT), await session.prepare(INSERT)
            await session.execute(INSERT, (0, ("s",)))
            bound = insert.bind((1, ("s",)))
            with pytest.raises(ValueError, match="has 2 fields"):
                insert.bind((1, ("s", "c")))
            await alter(session, node, STREET, CITY)
            prepares = prepare_count(node)
            # The statement that was bound before sends only the old field.
            await session.execute(bound)
            for statement in (insert, equal_insert, INSERT):
                await session.execute(statement, (1, {"street": "s", "city": "c"}))
            await session.execute(insert, (1, {"street": "s"}))
            assert executed_values(node)[1:] == [
                udt_bytes("s"),
                *3 * [udt_bytes("s", "c")],
                udt_bytes("s", None),
            ]
            assert prepare_count(node) == prepares  # the statements were renewed once, before


async def test_new_fields_can_be_bound_to_a_statement_whose_id_was_revoked() -> None:
    """A node reports the type's table as changed, too, and its event may come first."""
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET)
        async with connected(node, schema_metadata_enabled=False) as (_, session):
            insert, copied = await session.prepare(INSERT), await session.prepare(INSERT)
            copied.query_id = insert.query_id = b"no server's id"
            await alter(session, node, STREET, CITY)
            await session.execute(insert, (1, {"street": "s", "city": "c"}))
            await session.execute(copied, (1, {"street": "s", "city": "c"}))
            assert stored_values(node) == 2 * [udt_bytes("s", "c")]


async def test_after_an_event_new_fields_can_be_bound() -> None:
    """After an event about another client's ALTER TYPE, new fields can be bound."""
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET)
        async with connected(node, schema_event_refresh_window=0) as (_, session):
            insert = await session.prepare(INSERT)
            prepares = prepare_count(node)
            prime_address(node, STREET, CITY)
            node.send_event("SCHEMA_CHANGE", "UPDATED", "TYPE", "ks", "address")
            await until_on_loop(lambda: prepare_count(node) > prepares)
            await until_on_loop(lambda: len(insert.column_metadata[1].type.fieldnames) == 2)
            await session.execute(insert, (1, ("s", "c")))
            assert stored_values(node) == [udt_bytes("s", "c")]


@pytest.mark.parametrize("kind", ["prepared", "bound", "text", "batch"])
async def test_fields_change_their_names_and_another_client_is_first(kind: str) -> None:
    """Values are stored under the names of their fields at once after the event.

    The node knows the id of the statement, because another client has prepared it, and would read
    the value of each field as that of the other field.
    """
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET, CITY)
        async with connected(node, schema_event_refresh_window=3600) as (_, session):
            insert = await session.prepare(INSERT)
            values: Any = (1, {"street": "s", "city": "c"})
            statement: Any = {
                "prepared": insert,
                "bound": insert.bind(values),
                "text": INSERT,
                "batch": BatchStatement().add(insert, values),
            }[kind]
            parameters = values if kind in ("prepared", "text") else None
            await session.execute(INSERT, values)
            query_id = insert.query_id
            prime_address(node, CITY, STREET)
            node.send_event("SCHEMA_CHANGE", "UPDATED", "TYPE", "ks", "address")
            await until_on_loop(lambda: insert.query_id != query_id)
            await session.execute(statement, parameters)
            assert stored_values(node) == [udt_bytes("s", "c"), udt_bytes("c", "s")]


async def prepare_inserts(node: FakeNode, session: Session, count: int) -> list[PreparedStatement]:
    """Prepare different statements that use the type ks.address."""
    columns: list[Any] = [("k", "int"), ("a", Udt("ks", "address", (STREET,)))]
    queries = [f"{INSERT} USING TTL {ttl}" for ttl in range(count)]
    for query in queries:
        node.prime_prepare(query, columns, pk_indexes=[0])
    return [await session.prepare(query) for query in queries]


async def report_alter_type(node: FakeNode, statements: list[PreparedStatement]) -> None:
    """Send the event about ks.address, and wait until no server knows the statements' ids."""
    old_ids = {statement.query_id for statement in statements}
    node.send_event("SCHEMA_CHANGE", "UPDATED", "TYPE", "ks", "address")
    await until_on_loop(lambda: old_ids.isdisjoint(statement.query_id for statement in statements))


async def test_requests_after_an_event_share_the_prepare_of_a_statement() -> None:
    """All requests in flight need their statements at the same moment."""
    with FakeNode() as node:
        node.schema = schema("ks")
        async with connected(node, schema_event_refresh_window=3600) as (_, session):
            statements = await prepare_inserts(node, session, 4)
            await report_alter_type(node, statements)
            before = prepare_count(node)
            await asyncio.gather(
                *(session.execute(item, (1, ("s",))) for item in statements for _ in range(5))
            )
            assert prepare_count(node) - before == len(statements)
            assert stored_values(node) == 20 * [udt_bytes("s")]


async def test_a_batch_after_an_event_prepares_all_its_statements_at_once() -> None:
    """The server reports only one statement of a batch as unprepared."""
    with FakeNode() as node:
        node.schema = schema("ks")
        async with connected(node, schema_event_refresh_window=3600) as (_, session):
            statements = await prepare_inserts(node, session, 40)
            batch = BatchStatement()
            for statement in statements:
                batch.add(statement, (1, ("s",)))
            # A statement of which the server has reported nothing is not prepared again.
            node.prime_prepare("INSERT INTO ks.t2 (k) VALUES (?)", [("k", "int")], pk_indexes=[0])
            batch.add(await session.prepare("INSERT INTO ks.t2 (k) VALUES (?)"), (1,))
            await report_alter_type(node, statements)
            before = prepare_count(node)
            await session.execute(batch)
            assert prepare_count(node) - before == len(statements)
            assert node.count(Opcode.BATCH) == 2


async def test_a_batch_succeeds_although_its_type_changes_again_and_again() -> None:
    """An id that the driver has replaced does not count as forgotten by the server."""
    with FakeNode() as node:
        node.schema = schema("ks")
        async with connected(node, schema_event_refresh_window=3600) as (_, session):
            statements = await prepare_inserts(node, session, 60)
            batch = BatchStatement()
            for statement in statements:
                batch.add(statement, (1, ("s",)))
            await report_alter_type(node, statements)
            executing = asyncio.ensure_future(session.execute(batch))

            def has_received(requests: int) -> bool:
                return len(node.requests) >= requests or executing.done()

            for _ in range(2 * MOST_PREPARES):
                await until_on_loop(partial(has_received, len(node.requests) + 20))
                node.send_event("SCHEMA_CHANGE", "UPDATED", "TYPE", "ks", "address")
            await executing


async def test_a_table_is_created_again_with_another_type_and_another_client_is_first() -> None:
    """If another client has prepared the CQL first, values still get the type of the new table.

    The node knows the id of the statement, so it would accept the bytes of an int and read them as
    a float. Statements of batches and values that were bound before are no exception. A value that
    the new type cannot hold exactly is refused.
    """
    with FakeNode() as node:
        node.schema = schema("ks")
        node.prime_prepare(INSERT, [("k", "int"), ("a", "int")], pk_indexes=[0])
        async with connected(node) as (_, session):
            insert, equal_insert = await session.prepare(INSERT), await session.prepare(INSERT)
            bound = insert.bind((1, 5))
            batch = BatchStatement().add(equal_insert, (2, 6))
            await session.execute(INSERT, (0, 4))
            # The node answers the PREPARE of another client. It has not forgotten the statement.
            node.prime_prepare(INSERT, [("k", "int"), ("a", "float")], pk_indexes=[0])
            query_id = insert.query_id
            node.send_event("SCHEMA_CHANGE", "DROPPED", "TABLE", "ks", "t")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "t")
            await until_on_loop(lambda: insert.query_id != query_id)
            await session.execute(bound)
            await session.execute(insert, (3, 7))
            await session.execute(INSERT, (0, 8))
            await session.execute(batch)
            assert stored_values(node) == [
                struct.pack(">i", 4),  # before the table was dropped
                *(struct.pack(">f", value) for value in (5, 7, 8, 6)),
            ]
            with pytest.raises(BindColumnsChanged):
                await session.execute(equal_insert, (4, 16_777_217))
            assert len(stored_values(node)) == 5


@pytest.mark.parametrize("is_own", [True, False], ids=["own DDL", "event"])
@pytest.mark.parametrize("is_keyspace", [True, False], ids=["keyspace", "function"])
async def test_a_function_is_created_again_with_another_argument(
    is_own: bool, is_keyspace: bool
) -> None:
    """Arguments are bound for the new function, even if another client has prepared the CQL first.

    The function may be in another keyspace, which may be dropped with it. A marker that is no
    argument of a function does not depend on functions.
    """
    query = "INSERT INTO ks.t (k, a) VALUES (?, fn.f(?))"
    changed: Any = ("KEYSPACE", "fn") if is_keyspace else ("FUNCTION", "fn", "f", ["int"])
    with FakeNode() as node:
        node.schema = schema("ks")
        node.prime_prepare(query, [("k", "int"), ("arg0(fn.f)", "int")], pk_indexes=[0])
        node.prime_prepare(INSERT, [("k", "int"), ("a", "int")], pk_indexes=[0])
        async with connected(node) as (_, session):
            insert, other = await session.prepare(query), await session.prepare(INSERT)
            # The node answers the PREPARE of another client. It has not forgotten the statement.
            node.prime_prepare(query, [("k", "int"), ("arg0(fn.f)", "float")], pk_indexes=[0])
            query_id, other_id = insert.query_id, other.query_id
            for change in ("DROPPED", "CREATED"):
                if is_own:
                    ddl = f"{change} {changed[0]} fn"
                    node.prime(ddl, schema_change(change, *changed))
                    await session.execute(ddl)
                else:
                    node.send_event("SCHEMA_CHANGE", change, *changed)
            await until_on_loop(lambda: insert.query_id != query_id)
            await session.execute(insert, (1, 7))
            assert stored_values(node) == [struct.pack(">f", 7)]
            assert other.query_id == other_id


async def test_preparing_again_renews_the_earlier_statements() -> None:
    """If the application prepares a query again, the earlier statements accept the new fields.

    This helps, for example, without schema events.
    """
    with FakeNode() as node:
        prime_address(node, STREET)
        async with connected(node, schema_metadata_enabled=False) as (_, session):
            insert = await session.prepare(INSERT)
            prime_address(node, STREET, CITY)
            await session.prepare(INSERT)
            await session.execute(insert, (1, ("s", "c")))
            assert executed_values(node) == [udt_bytes("s", "c")]


async def test_a_statement_that_a_node_has_forgotten_is_renewed_by_its_execution() -> None:
    """If a type has a new field, the driver notices it when it must prepare a statement again.

    The next execution can send a value with the new field.
    """
    with FakeNode() as node:
        prime_address(node, STREET)
        async with connected(node) as (_, session):
            insert = await session.prepare(INSERT)
            prime_address(node, STREET, CITY)
            node.forget_prepared()
            await session.execute(insert, (1, ("s",)))
            await session.execute(insert, (1, ("s", "c")))
            assert executed_values(node)[1:] == [udt_bytes("s"), udt_bytes("s", "c")]


async def test_a_failed_renewal_fails_nothing() -> None:
    """If the PREPARE after an ALTER TYPE fails, the ALTER TYPE still succeeds.

    The statement still accepts values of the old fields, and is prepared again before it executes.
    """
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET)
        async with connected(node) as (_, session):
            insert = await session.prepare(INSERT)
            node.prime(Opcode.PREPARE, error(ErrorCode.SERVER_ERROR), times=1)
            await alter(session, node, STREET, CITY)
            with pytest.raises(ValueError, match="has 2 fields"):
                insert.bind((1, ("s", "c")))
            await session.execute(insert, (1, ("s",)))
            await session.execute(insert, (1, ("s", "c")))
            assert stored_values(node) == [udt_bytes("s"), udt_bytes("s", "c")]


@pytest.mark.parametrize("what", ["no host", "errors"])
async def test_statements_that_no_host_can_prepare_now_are_prepared_before_they_execute(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all nodes come back from an outage, the schema may be read before hosts are up."""
    with FakeNode() as node:
        node.prime_prepare(INSERT, [("k", "int"), ("a", "int")], pk_indexes=[0])
        async with connected(node) as (cluster, session):
            insert, equal_insert = await session.prepare(INSERT), await session.prepare(INSERT)
            node.prime_prepare(INSERT, [("k", "int"), ("a", "float")], pk_indexes=[0])
            assert cluster._core is not None
            preparer = cluster._core.preparer
            if what == "errors":
                node.prime(Opcode.PREPARE, error(ErrorCode.SERVER_ERROR), times=1)
            with monkeypatch.context() as patch:
                if what == "no host":
                    patch.setattr(preparer, "_sessions", [])
                await preparer.renew([insert])
            for statement in (insert, equal_insert):
                await session.execute(statement, (1, 5))
            assert stored_values(node) == [struct.pack(">f", 5)] * 2


class FailingPolicy:
    """An application's encryption policy that raises an error while `fails` is True."""

    fails = False

    def contains_column(self, column: Any) -> bool:
        if self.fails:
            raise RuntimeError("the key server is down")
        return False


async def test_a_failure_of_the_encryption_policy_fails_nothing() -> None:
    """If the encryption policy raises an error after an ALTER TYPE, the statement stays usable.

    The old fields can still be sent. After the next ALTER TYPE, the statement has all new fields.
    """
    policy = FailingPolicy()
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET)
        async with connected(node, column_encryption_policy=policy) as (_, session):
            insert = await session.prepare(INSERT)
            policy.fails = True
            await alter(session, node, STREET, CITY)
            assert insert.column_metadata[1].type.fieldnames == ("street",)
            policy.fails = False
            await session.execute(insert, (1, ("s",)))
            # After the next ALTER TYPE, the driver prepares the statement again.
            await alter(session, node, STREET, CITY)
            await session.execute(insert, (1, ("s", "c")))


async def test_settings_and_registered_classes_are_kept() -> None:
    """After an ALTER TYPE, a statement keeps `strict_names`, and accepts registered classes.

    The driver prepares the statement again after the ALTER TYPE. Afterwards, an object of the class
    that is registered for the type is still accepted as a value, now with the new field.
    """

    class Address:
        def __init__(self, street: str, city: str | None = None) -> None:
            self.street, self.city = street, city

    with FakeNode() as node:
        node.schema = schema("ks")
        names = {"keyspace_name": "ks", "type_name": "address"}
        fields = {"field_names": ["street"], "field_types": ["text"]}
        node.schema["system_schema.types"] = [names | fields]
        prime_address(node, STREET)
        # Register a class, prepare a statement, and add a field to the type.
        async with connected(node) as (cluster, session):
            await cluster.register_user_type("ks", "address", Address)
            insert = await session.prepare(INSERT)
            insert.strict_names = True
            await alter(session, node, STREET, CITY)
            assert insert.strict_names
            bound = insert.bind((1, Address("s", "c")))
            value = bound.raw_values[1]
            assert isinstance(value, Address)
            assert (value.street, value.city) == ("s", "c")


def test_the_blocking_api_renews_statements_too() -> None:
    """In the blocking API, too, the driver prepares statements again after an ALTER TYPE.

    The next execution sends a value with the new field.
    """
    with FakeNode() as node:
        node.schema = schema("ks")
        prime_address(node, STREET)
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            insert = session.prepare(INSERT)
            prime_address(node, STREET, ZIP)
            node.prime(re.compile("ALTER"), schema_change("UPDATED", "TYPE", "ks", "address"))
            session.execute("ALTER TYPE ks.address ADD zip int")
            session.execute(insert, (1, {"street": "s", "zip": 5}))
            assert executed_values(node) == [udt_bytes("s") + b"\0\0\0\4\0\0\0\5"]
