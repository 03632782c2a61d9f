"""`sync_table` and similar functions send only statements for what the server's schema lacks."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns, connection, management
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.running import Call, Request, SimpleRequest
from cassandra.cqlengine.usertype import UserType
from cassandra.errors import AlreadyExists, InvalidRequest


class Server:
    """A fake server for management operations, whose schema is in `schema`.

    Tests add rows to `schema`.
    """

    def __init__(self) -> None:
        self.schema: dict[str, list[dict[str, Any]]] = {"keyspaces": [{"keyspace_name": "ks"}]}
        self.sent: list[str] = []
        self.connections: list[str | None] = []
        self.timeouts: list[Any] = []
        self.registered_user_types: list[tuple[Any, ...]] = []
        self.schema_agreement_waits = 0
        # Maps a part of a statement to the statement's effect: a function that changes `schema`, or
        # an error that is raised.
        self.effects: dict[str, Callable[[], object] | Exception] = {}

    def answer(self, request: Request) -> Any:
        """Return the response to a request of an operation.

        This is a list of schema rows, or None for a statement that changes the schema.
        """
        self.connections.append(request.connection)
        if isinstance(request, Call):
            return request.function(self.connection())
        if isinstance(request, SimpleRequest):
            return self.change(request)
        assert request.all_pages, "all pages are read: what is missing would be added again"
        table, _, condition = request.text.removeprefix("SELECT * FROM system_schema.").partition(
            " WHERE "
        )
        column_names = [part.removesuffix(" = ?") for part in condition.split(" AND ")]
        requested = dict(zip(column_names, request.values, strict=True))
        return [row for row in self.schema.get(table, []) if requested.items() <= row.items()]

    def change(self, request: SimpleRequest) -> None:
        """Record a statement that changes the schema, and apply its entry in `effects`.

        The entry is called, or raised if it is an error.
        """
        self.sent.append(request.text)
        self.timeouts.append(request.timeout)
        effect = next(
            (effect for part, effect in self.effects.items() if part in request.text), None
        )
        if isinstance(effect, Exception):
            raise effect
        if effect is not None:
            effect()

    def connection(self) -> Any:
        """Return a fake connection to this server.

        The server records the user-defined types that are registered, and counts the waits for
        schema agreement.
        """

        def wait_for_schema_agreement() -> bool:
            self.schema_agreement_waits += 1
            return True

        cluster = SimpleNamespace(
            register_user_type=lambda *args: self.registered_user_types.append(args)
        )
        session = SimpleNamespace(wait_for_schema_agreement=wait_for_schema_agreement)
        return SimpleNamespace(cluster=cluster, session=session)

    def run(self, operation: Any) -> Any:
        """Run an operation of the mapper, and return its result.

        An operation is a generator of requests, to which this server responds.
        """
        try:
            request = next(operation)
            while True:
                try:
                    answer = self.answer(request)
                # Throw the error into the operation, because the operation may handle errors of its
                # requests.
                except Exception as error:
                    request = operation.throw(error)
                else:
                    request = operation.send(answer)
        except StopIteration as end:
            return end.value

    async def arun(self, operation: Any) -> Any:
        """Run an operation like `run`, for the asyncio API."""
        return self.run(operation)

    def add_server_columns(self, table: str, *rows: tuple[Any, ...]) -> None:
        """Add columns to the server's schema.

        :param rows: for each column, (name, type, kind, position, clustering order).
        """
        names = ("column_name", "type", "kind", "position", "clustering_order")
        self.schema.setdefault("columns", []).extend(
            {"keyspace_name": "ks", "table_name": table, **dict(zip(names, row, strict=True))}
            for row in rows
        )

    def add_server_type(self, type_name: str, /, **fields: str) -> None:
        """Add a user-defined type to the server's schema."""
        self.schema.setdefault("types", []).append(
            {
                "keyspace_name": "ks",
                "type_name": type_name,
                "field_names": list(fields),
                "field_types": list(fields.values()),
            }
        )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Yield the fake server that the management functions use, with the default keyspace "ks"."""
    fake_server = Server()
    monkeypatch.setattr(management, "run", fake_server.run)
    monkeypatch.setattr(management, "arun", fake_server.arun)
    monkeypatch.setenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT, "1")
    connection.set_default_keyspace("ks")
    yield fake_server
    connection.set_default_keyspace(None)


# Columns of a table in the server's schema: name, type, kind, position and clustering order.
KEY = ("id", "int", "partition_key", 0, "none")
NAME = ("name", "text", "regular", -1, None)


# A model with an index.
class Person(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text(index=True)


class Street(UserType):
    name = columns.Text()


class Address(UserType):
    street = columns.UserDefinedType(Street)
    number = columns.Integer()


class Home(Model):
    id = columns.Integer(primary_key=True)
    address = columns.UserDefinedType(Address)
    former = columns.List(columns.UserDefinedType(Address))


CREATE = 'CREATE TABLE IF NOT EXISTS ks.person ("id" int, "name" text, PRIMARY KEY (("id")))'
INDEX = 'CREATE INDEX IF NOT EXISTS person_name_idx ON ks.person ("name")'


# -- keyspaces -------------------------------------------------------------------------------------

SIMPLE = (
    "CREATE KEYSPACE IF NOT EXISTS \"Ks\" WITH replication = {'class': 'SimpleStrategy', "
    "'replication_factor': '3'} AND durable_writes = true"
)
NETWORK = (
    "CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'NetworkTopologyStrategy', "
    "'dc1': '2'} AND durable_writes = false"
)


async def test_keyspaces_are_created_and_dropped(server: Server) -> None:
    """Keyspaces are created and dropped with the same statements in both APIs."""
    assert management.create_keyspace_simple("Ks", 3) == [SIMPLE]
    assert await management.acreate_keyspace_simple("Ks", 3) == [SIMPLE]
    assert management.create_keyspace_network_topology("k", {"dc1": 2}, durable_writes=False) == [
        NETWORK
    ]
    assert await management.acreate_keyspace_network_topology(
        "k", {"dc1": 2}, durable_writes=False
    ) == [NETWORK]
    management.drop_keyspace("Ks")
    await management.adrop_keyspace("Ks")
    assert server.sent == [SIMPLE] * 2 + [NETWORK] * 2 + ['DROP KEYSPACE IF EXISTS "Ks"'] * 2
    # The connection None means the default connection.
    assert set(server.connections) == {None}
    # Schema changes have a longer timeout (seconds) than other requests.
    assert set(server.timeouts) == {60.0}
    assert management.DDL_TIMEOUT == 60.0


def test_keyspaces_on_several_connections(server: Server) -> None:
    """With several connections, each statement is executed on each connection."""
    statements = management.create_keyspace_simple("Ks", 3, connections=["a", "b"])
    assert statements == [SIMPLE, SIMPLE]
    assert server.sent == [SIMPLE, SIMPLE]
    assert server.connections == ["a", "b"]


def test_a_dry_run_of_a_keyspace_prints(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run prints the statements that would create a keyspace, and sends none."""
    assert management.create_keyspace_simple("Ks", 3, dry_run=True) == [SIMPLE]
    assert management.create_keyspace_network_topology(
        "k", {"dc1": 2}, durable_writes=False, connections=["a"], dry_run=True
    ) == [NETWORK]
    assert capsys.readouterr().out == f"{SIMPLE};\n{NETWORK};\n"
    assert server.sent == []


@pytest.mark.parametrize("names", ["ab", {"a"}, iter(["a"])])
def test_names_must_be_in_a_list_or_tuple(server: Server, names: Any) -> None:
    """Connections and keyspaces must be named by a list or tuple."""
    with pytest.raises(ValueError, match="connections must be a list or a tuple"):
        management.drop_keyspace("ks", names)
    with pytest.raises(ValueError, match="keyspaces must be a list or a tuple"):
        management.drop_table(Person, names)


def test_without_the_environment_variable_a_warning_is_given(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without CQLENG_ALLOW_SCHEMA_MANAGEMENT in the environment, schema changes warn."""
    monkeypatch.delenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT)
    with pytest.warns(UserWarning, match="CQLENG_ALLOW_SCHEMA_MANAGEMENT environment variable"):
        management.drop_keyspace("ks")
    assert server.sent == ["DROP KEYSPACE IF EXISTS ks"]
    for change_schema in (
        lambda: management.sync_table(Person),
        lambda: management.drop_table(Person),
        lambda: management.sync_type("ks", Street),
    ):
        with pytest.warns(UserWarning, match="CQLENG_ALLOW_SCHEMA_MANAGEMENT"):
            change_schema()


# -- tables ----------------------------------------------------------------------------------------


async def test_a_table_is_created_with_its_indexes(server: Server) -> None:
    """`sync_table` creates a table with its indexes, and sends nothing if the schema has them."""
    server.effects["CREATE TABLE"] = lambda: server.add_server_columns("person", KEY, NAME)
    assert management.sync_table(Person) == [CREATE, INDEX]
    assert server.sent == [CREATE, INDEX]
    # The effect of CREATE TABLE has added the table to the schema, but not its index.
    server.schema["indexes"] = [
        {"keyspace_name": "ks", "table_name": "person", "options": {"target": "name"}},
        {"keyspace_name": "ks", "table_name": "person", "options": None},
    ]
    assert await management.async_table(Person) == []
    assert await management.async_sync_table(Person) == []
    assert server.sent == [CREATE, INDEX]
    assert set(server.timeouts) == {60.0}


def test_columns_are_added(server: Server) -> None:
    """`sync_table` adds columns that the table lacks."""
    server.add_server_columns("person", KEY)
    add_column = 'ALTER TABLE ks.person ADD "name" text'
    assert management.sync_table(Person) == [add_column, INDEX]
    assert server.sent == [add_column, INDEX]


async def test_hidden_columns_of_compact_storage_are_not_columns(server: Server) -> None:
    """`sync_table` compares a static table with compact storage with the columns that CQL shows.

    The schema tables of the server have its columns as static columns, and two hidden columns.
    """
    server.add_server_columns(
        "person",
        KEY,
        ("column1", "text", "clustering", 0, "asc"),
        ("name", "text", "static", -1, "none"),
        ("value", "blob", "regular", -1, "none"),
    )
    table = {"keyspace_name": "ks", "table_name": "person"}
    all_flags: list[Any] = [[], None, {"compound"}, {"dense"}, {"super", "dense"}]
    for flags in all_flags:
        server.schema["tables"] = [{**table, "flags": flags}]
        if not flags:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert management.sync_table(Person) == [INDEX]
                assert await management.async_table(Person) == [INDEX]
        else:
            with pytest.raises(CQLEngineException, match=r"the clustering columns \['column1'\]"):
                management.sync_table(Person)


def test_columns_are_added_to_compact_storage(server: Server) -> None:
    """`sync_table` adds a column that a static table with compact storage lacks."""
    server.add_server_columns(
        "person",
        KEY,
        ("column1", "text", "clustering", 0, "asc"),
        ("age", "int", "static", -1, "none"),
        ("value", "blob", "regular", -1, "none"),
    )
    server.schema["tables"] = [{"keyspace_name": "ks", "table_name": "person", "flags": []}]
    assert management.sync_table(Person) == ['ALTER TABLE ks.person ADD "name" text', INDEX]


def test_a_dry_run_of_a_table_prints(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run prints the statements that would create a table, and sends none."""
    assert management.sync_table(Person, dry_run=True) == [CREATE, INDEX]
    assert capsys.readouterr().out == f"{CREATE};\n{INDEX};\n"
    assert server.sent == []


def test_options_that_differ_are_set(server: Server) -> None:
    """`sync_table` alters only options of `__options__` that differ on the server."""

    class ModelWithComment(Model):
        __options__ = {"comment": "new"}
        id = columns.Integer(primary_key=True)

    server.add_server_columns("model_with_comment", KEY)
    server.schema["tables"] = [
        {
            "keyspace_name": "ks",
            "table_name": "model_with_comment",
            "comment": "old",
            "extensions": None,
        }
    ]
    assert management.sync_table(ModelWithComment) == [
        "ALTER TABLE ks.model_with_comment WITH comment = 'new'"
    ]
    # After the change on the server, there is nothing to alter.
    server.schema["tables"][0]["comment"] = "new"
    assert management.sync_table(ModelWithComment) == []


def test_a_table_is_created_in_all_keyspaces_on_all_connections(server: Server) -> None:
    """With several keyspaces and connections, each connection creates each keyspace's table."""
    server.schema["keyspaces"] = [{"keyspace_name": name} for name in ("k1", "k2")]
    statements = management.sync_table(Person, keyspaces=["k1", "k2"], connections=["a", "b"])
    # Every second statement creates an index. Compare only the CREATE TABLE statements.
    assert [statement.split(" (")[0] for statement in statements[::2]] == [
        "CREATE TABLE IF NOT EXISTS k1.person",
        "CREATE TABLE IF NOT EXISTS k2.person",
    ] * 2
    assert server.sent == statements
    # Sorting does not change the list, because all requests of a connection come before the
    # requests of the next connection.
    assert server.connections == sorted(server.connections, key=str)
    assert set(server.connections) == {"a", "b"}


def test_a_table_is_created_in_its_model_s_keyspace_and_connection(server: Server) -> None:
    """A table is created in the model's keyspace, which must exist, on the model's connection."""

    class Elsewhere(Model):
        __keyspace__ = "Other"
        __connection__ = "far"
        id = columns.Integer(primary_key=True)

    with pytest.raises(CQLEngineException, match="Keyspace 'Other' for model Elsewhere does not"):
        management.sync_table(Elsewhere)
    server.schema["keyspaces"] = [{"keyspace_name": "Other"}]
    (create_table,) = management.sync_table(Elsewhere)
    assert create_table.startswith('CREATE TABLE IF NOT EXISTS "Other".elsewhere (')
    assert set(server.connections) == {"far"}


async def test_differences_that_cannot_be_changed_are_warned_of(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """A column whose type differs on the server causes a warning, and is not changed."""
    server.add_server_columns("person", KEY, ("name", "int", "regular", -1, "none"))
    # The column `name` is text in the model, but int on the server.
    with pytest.warns(UserWarning, match="'?\"?name.*int") as caught:
        management.sync_table(Person)
    (warning,) = caught
    assert warning.filename == __file__  # the line that calls `sync_table`
    assert "name" in caplog.text
    with pytest.warns(UserWarning, match="name") as caught:
        await management.async_sync_table(Person)
    assert caught[0].filename == __file__


def test_a_default_ttl_attribute_warns_that_it_has_no_effect(server: Server) -> None:
    """`__default_ttl__` causes a warning, because it has no effect on the table."""

    class Aged(Model):
        __default_ttl__ = 5
        id = columns.Integer(primary_key=True)

    class AgedWithOption(Aged):
        __options__ = {"default_time_to_live": 5}

    with pytest.warns(UserWarning, match=r"Aged\.__default_ttl__ = 5 has no effect: say __options"):
        management.sync_table(Aged)
    # This model sets the option in `__options__`, so there is no warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        management.sync_table(AgedWithOption)


@pytest.mark.parametrize("call", [management.sync_table, management.drop_table])
def test_objects_that_are_not_models_are_refused(server: Server, call: Any) -> None:
    """`sync_table` and `drop_table` refuse objects that are not model classes."""
    for wrong in (5, Street, "Person"):
        with pytest.raises(
            CQLEngineException, match="Models must be derived from base Model, not"
        ) as caught:
            call(wrong)
        # cassandra-driver raises a ValueError for some of these calls.
        assert isinstance(caught.value, ValueError)


def test_abstract_models_have_no_table(server: Server) -> None:
    """`sync_table` refuses an abstract model."""

    class Base(Model):
        __abstract__ = True
        id = columns.Integer(primary_key=True)

    with pytest.raises(CQLEngineException, match="from abstract model Base"):
        management.sync_table(Base)


async def test_tables_are_dropped(server: Server) -> None:
    """`drop_table` drops the table in each keyspace on each connection."""
    management.drop_table(Person)
    await management.adrop_table(Person, keyspaces=["a", "B"], connections=["x"])
    assert server.sent == [
        "DROP TABLE IF EXISTS ks.person",
        "DROP TABLE IF EXISTS a.person",
        'DROP TABLE IF EXISTS "B".person',
    ]
    # The first table was dropped on the default connection (None), and the other two tables on the
    # connection "x".
    assert server.connections == [None, "x", "x"]
    assert set(server.timeouts) == {60.0}


# -- other processes that sync at the same time ----------------------------------------------------


def test_another_process_has_created_the_table_with_fewer_columns(server: Server) -> None:
    """If CREATE TABLE fails because another process was faster, missing columns are added."""

    def let_other_process_create_table() -> None:
        server.add_server_columns("person", KEY)
        raise AlreadyExists("ks", "person")

    server.effects["CREATE TABLE"] = let_other_process_create_table
    add_column = 'ALTER TABLE ks.person ADD "name" text'
    assert management.sync_table(Person) == [CREATE, add_column, INDEX]
    # Before the columns are read, the nodes must agree on the other process's schema change.
    assert server.schema_agreement_waits == 1


@pytest.mark.parametrize(
    "message",
    ["Column already EXISTS", "Invalid column name: it conflicts with an existing column"],
)
def test_another_process_has_added_the_column(server: Server, message: str) -> None:
    """If ADD fails, but the column exists afterwards, another process was faster: no error."""

    def let_other_process_add_column() -> None:
        server.add_server_columns("person", NAME)
        raise InvalidRequest(message)

    server.add_server_columns("person", KEY)
    server.effects["ADD"] = let_other_process_add_column
    # The error is not raised, and the remaining statements are sent.
    assert management.sync_table(Person)[-1] == INDEX
    assert server.schema_agreement_waits == 1


def test_a_refused_column_that_is_still_missing_is_an_error(server: Server) -> None:
    """If ADD is refused and the column is still missing, an error is raised."""
    server.add_server_columns("person", KEY)
    server.effects["ADD"] = InvalidRequest("conflicts with an existing one of before")
    with pytest.raises(CQLEngineException, match='ADD "name" text was refused, and the column is'):
        management.sync_table(Person)


def test_a_refused_column_is_an_error_even_after_another_was_added(server: Server) -> None:
    """If ADD is refused, the mapper looks for the refused column itself.

    It must not be misled by another column that an earlier ALTER of the same call has added.
    """

    class Pet(Model):
        id = columns.Integer(primary_key=True)
        name = columns.Text()
        owner = columns.Text()

    server.add_server_columns("pet", KEY)
    server.effects['ADD "name"'] = lambda: server.add_server_columns("pet", NAME)
    server.effects['ADD "owner"'] = InvalidRequest("conflicts with an existing one of before")
    with pytest.raises(CQLEngineException, match='ADD "owner" text was refused'):
        management.sync_table(Pet)


def test_other_refusals_are_raised(server: Server) -> None:
    """Other refusals of the server are raised, without a wait for schema agreement."""
    server.effects["CREATE TABLE"] = InvalidRequest("no such type")
    with pytest.raises(InvalidRequest, match="no such type"):
        management.sync_table(Person)
    assert server.schema_agreement_waits == 0


# -- types -----------------------------------------------------------------------------------------

STREET = "CREATE TYPE ks.street (name text)"
ADDRESS = "CREATE TYPE ks.address (street frozen<street>, number int)"


async def test_types_are_created_after_the_types_of_their_fields(server: Server) -> None:
    """`sync_type` creates the types of the fields before the type itself."""
    assert management.get_create_type(Street, "ks") == STREET
    server.effects[STREET] = lambda: server.add_server_type("street", name="text")
    assert management.sync_type("ks", Address) == [STREET, ADDRESS]
    assert server.sent == [STREET, ADDRESS]
    assert server.registered_user_types == [("ks", "street", Street), ("ks", "address", Address)]
    server.add_server_type("address", street="frozen<street>", number="int")
    assert await management.async_type("ks", Address, "far") == []
    assert await management.async_sync_type("ks", Address) == []
    # Both types already exist, so no further statement was sent.
    assert len(server.sent) == 2
    assert "far" in server.connections


def test_missing_fields_are_added_and_different_ones_warned_of(server: Server) -> None:
    """`sync_type` adds missing fields, and warns about fields of another type."""
    server.add_server_type("street", name="int")
    server.add_server_type("address", street="frozen<street>")
    with pytest.warns(UserWarning, match="field 'name' of type int") as caught:
        statements = management.sync_type("ks", Address)
    assert caught[0].filename == __file__
    assert statements == ["ALTER TYPE ks.address ADD number int"]


def test_a_refused_field_that_is_still_missing_is_an_error(server: Server) -> None:
    """If ADD of a field is refused and the field is still missing, an error is raised."""
    server.add_server_type("address", street="frozen<street>")
    server.add_server_type("street", name="text")
    server.effects["ADD number"] = InvalidRequest("a field of this name already exists")
    with pytest.raises(CQLEngineException, match="ADD number int was refused, and the field"):
        management.sync_type("ks", Address)


def test_a_dry_run_registers_nothing(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run of `sync_type` prints statements, and registers no class for the type."""
    assert management.sync_type("ks", Street, dry_run=True) == [STREET]
    assert capsys.readouterr().out == f"{STREET};\n"
    assert server.sent == []
    assert server.registered_user_types == []


def test_another_process_has_created_the_type_with_fewer_fields(server: Server) -> None:
    """If CREATE TYPE fails because another process was faster, missing fields are added."""

    def let_other_process_create_type() -> None:
        server.add_server_type("address", street="frozen<street>")
        raise AlreadyExists("ks", "address")

    server.add_server_type("street", name="text")
    server.effects["CREATE TYPE"] = let_other_process_create_type
    assert management.sync_type("ks", Address) == [ADDRESS, "ALTER TYPE ks.address ADD number int"]
    assert server.registered_user_types[-1] == ("ks", "address", Address)


def test_types_of_a_table_are_created_first_and_once(server: Server) -> None:
    """`sync_table` first creates the user-defined types of the table, each once."""
    server.effects = {
        STREET: lambda: server.add_server_type("street", name="text"),
        ADDRESS: lambda: server.add_server_type("address", street="frozen<street>", number="int"),
    }
    # A type that was created is in the schema, so it is not created a second time.
    street, address, table = management.sync_table(Home)
    assert (street, address) == (STREET, ADDRESS)
    assert table.startswith("CREATE TABLE IF NOT EXISTS ks.home (")


def test_objects_that_are_not_types_are_refused(server: Server) -> None:
    """`sync_type` refuses objects that are not subclasses of UserType."""
    for wrong in (Person, "address", 5):
        with pytest.raises(
            CQLEngineException, match="Types must be derived from base UserType"
        ) as caught:
            management.sync_type("ks", wrong)  # type: ignore[arg-type]
        # cassandra-driver raises TypeError if the argument is not a class.
        assert isinstance(caught.value, TypeError)


def test_statements_are_logged_with_their_connection(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Each statement is logged with its connection, and for types with its keyspace."""
    with caplog.at_level(logging.INFO, "cassandra.cqlengine.management"):
        management.drop_keyspace("ks", ["far"])
        management.sync_type("ks", Street, "near")
    assert [record.getMessage() for record in caplog.records] == [
        "[Connection: far] DROP KEYSPACE IF EXISTS ks",
        f"[Connection: near, Keyspace: ks] {STREET}",
    ]


def test_an_instance_instead_of_a_class_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance instead of a class is refused, and the error names the class to pass."""
    monkeypatch.setenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT, "1")

    class Thing(Model):
        id = columns.Integer(primary_key=True)

    class Part(UserType):
        id = columns.Integer()

    calls: list[tuple[Callable[[Any], Any], Any, str]] = [
        (management.sync_table, Thing(id=1), "sync_table takes the class Thing, not an instance"),
        (management.drop_table, Thing(id=1), "drop_table takes the class Thing, not an instance"),
        (
            lambda part: management.sync_type("ks", part),
            Part(id=1),
            "sync_type takes the class Part, not an instance",
        ),
    ]
    for function, argument, message in calls:
        with pytest.raises(CQLEngineException) as refused:
            function(argument)
        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("models", "advice"),
    [([], r"Call sync_table for each of them\.$"), ("pets", r"Write the class, without quotes\.$")],
)
def test_arguments_that_are_no_models(
    models: Any, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list or a string instead of a model is refused, and the error says what to pass."""
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    with pytest.raises(CQLEngineException, match=advice):
        management.sync_table(models)


def test_several_models_in_one_call(server: Server) -> None:
    """Several models in one call of `sync_table` are refused with advice."""

    class A(Model):
        k = columns.Integer(primary_key=True)

    sync_table: Any = management.sync_table
    with pytest.raises(ValueError, match=r"call sync_table for each model, sync_table\(A\)"):
        sync_table(A, A)


def test_a_user_type_is_synced_by_another_function(server: Server) -> None:
    """A user-defined type is refused by `sync_table`, and the error names `sync_type`."""

    class Address(UserType):
        street = columns.Text()

    sync_table: Any = management.sync_table
    with pytest.raises(management.NotAModel, match=r"Write sync_type\(keyspace, Address\)\."):
        sync_table(Address)
    sync_type: Any = management.sync_type
    with pytest.raises(TypeError, match=r"sync_type\(\) needs type_model: write sync_type\('key"):
        sync_type(Address)


def test_replicas_of_data_centres_are_a_mapping() -> None:
    """The replicas of data centers must be a mapping; the error shows it."""
    create: Any = management.create_keyspace_network_topology
    with pytest.raises(TypeError, match=r"not 3: write \{'dc1': 3\}"):
        create("ks", 3)
