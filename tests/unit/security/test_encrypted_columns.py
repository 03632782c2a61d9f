"""Encrypted columns, used through `Cluster` with every API.

The tests check the bytes that a fake node receives, and the values that the driver returns.
"""

from __future__ import annotations

import asyncio
import dataclasses
import decimal
import enum
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.codecs import Converter
from cassandra.column_encryption.policies import (
    AES256ColumnEncryptionPolicy,
    AESGCMColumnEncryptionPolicy,
)
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.cqltypes import BytesType, EncodeValueError, Int32Type, UTF8Type
from cassandra.errors import DecodeError
from cassandra.limits import limits
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from cassandra.protocol import (
    LazyProtocolHandler,
    NumpyProtocolHandler,
    ProtocolHandler,
    ResultMessage,
)
from cassandra.query import BatchStatement, dict_factory, ordered_dict_factory, tuple_factory
from cassandra.sentinels import UNSET_VALUE
from cassandra.testing.fake import FakeCluster, FakeNode, Request, paged, rows, void
from cassandra.testing.fake.answers import Answer
from cassandra.testing.fake.primitives import Opcode
from tests.unit.handlers import handler_of
from tests.unit.metadata.schema.rows import keyspace

KEY = bytes(range(32))
IV = bytes(range(16))
INSERT = "INSERT INTO ks.t (k, c, d) VALUES (?, ?, ?)"
SELECT = "SELECT k, c, d FROM ks.t WHERE k = ?"
READ = "SELECT k, c, d FROM ks.t"
BLOBS = [("k", "int"), ("c", "blob"), ("d", "blob")]
C, D = ColDesc("ks", "t", "c"), ColDesc("ks", "t", "d")


class Table:
    """The rows that a fake node stores.

    `insert` adds the rows of a request, and `select` returns all rows.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def insert(self, request: Request) -> Answer:
        """Add the rows of an EXECUTE or of a BATCH."""
        statements: list[Any] = [statement.values for statement in request.statements] or [
            request.values
        ]
        for k, *encrypted_values in statements:
            self.rows.append((int.from_bytes(k, "big"), *encrypted_values))
        return void()

    def select(self, request: Request) -> Answer:
        """Return all rows, whatever the condition of the query."""
        return rows(BLOBS, self.rows)


@pytest.fixture(params=[3, 4, 5])
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    """Yield a node that stores the rows of INSERT, and returns them to SELECT and READ."""
    with FakeNode(max_version=request.param) as node:
        table = Table()
        node.prime_prepare(INSERT, BLOBS, pk_indexes=[0])
        node.prime_prepare(SELECT, BLOBS[:1], result=BLOBS, pk_indexes=[0])
        node.prime(INSERT, table.insert)
        node.prime(Opcode.BATCH, table.insert)
        node.prime(SELECT, table.select)
        node.prime(READ, table.select)
        node.table = table  # type: ignore[attr-defined]
        yield node
        assert node.malformed == []


@pytest.fixture(params=[AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy])
def policy(request: pytest.FixtureRequest) -> Any:
    """Return a policy that encrypts the columns `c` (an int) and `d` (a text)."""
    new_policy = request.param()
    new_policy.add_column(C, KEY, "int")
    new_policy.add_column(D, KEY, "text")
    return new_policy


@pytest.fixture
def session(node: FakeNode, policy: Any) -> Iterator[Session]:
    """Yield a session with an encryption policy, whose rows are tuples."""
    settings: Any = {"port": node.port, "column_encryption_policy": policy}
    with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
        session.row_factory = tuple_factory
        yield session


def stored_rows_of(node: FakeNode) -> list[tuple[Any, ...]]:
    """Return the rows as the node has received them, with encrypted values."""
    stored_rows: list[tuple[Any, ...]] = node.table.rows  # type: ignore[attr-defined]
    return stored_rows


def decrypted_rows(node: FakeNode, policy: Any) -> list[tuple[Any, ...]]:
    """Return the stored rows with decrypted values.

    The values are bytes in CQL encoding.
    """
    return [
        (
            k,
            None if c is None else policy.decrypt(C, c),
            None if d is None else policy.decrypt(D, d),
        )
        for k, c, d in stored_rows_of(node)
    ]


ROWS: list[tuple[Any, ...]] = [(1, 1000, "ada"), (2, None, ""), (3, -1, None)]


def fill(session: Any) -> None:
    """Insert ROWS."""
    prepared = session.prepare(INSERT)
    for row in ROWS:
        session.execute(prepared, row)


def test_prepared_statements_encrypt_and_decrypt(
    session: Session, node: FakeNode, policy: Any
) -> None:
    """Prepared statements store encrypted values, and reads return the original values."""
    fill(session)
    # In CQL, an int has four bytes: 1000 is 0x3e8, and all bits of -1 are set.
    assert decrypted_rows(node, policy) == [
        (1, b"\0\0\x03\xe8", b"ada"),
        (2, None, b""),
        (3, b"\xff\xff\xff\xff", None),
    ]
    prepared = session.prepare(SELECT)
    for _ in range(2):  # for the second response, the driver uses cached columns
        assert session.execute(prepared, (1,)).all() == ROWS
        assert session.execute_async(prepared, (1,)).result().all() == ROWS
        assert session.execute(READ).all() == ROWS


def test_the_asyncio_api_encrypts_and_decrypts(node: FakeNode, policy: Any) -> None:
    """The asyncio API, too, encrypts values, and decrypts them in each kind of result."""

    async def read_in_each_way() -> list[Any]:
        settings: Any = {"port": node.port, "column_encryption_policy": policy}
        async with aio.Cluster([node.address], **settings) as cluster:
            session = await cluster.connect()
            session.row_factory = tuple_factory
            insert, select = await session.prepare(INSERT), await session.prepare(SELECT)
            for row in ROWS:
                await session.execute(insert, row)
            return [
                (await session.execute(select, (1,))).current_rows,
                (await session.execute(select, (1,))).current_rows,
                (await session.execute(READ)).current_rows,
                [tuple(row.values()) async for row in await rows_as_dicts(session, select)],
                list((await (await session.execute(select, (1,))).to_arrow()).to_pydict().values()),
            ]

    async def rows_as_dicts(session: Any, select: Any) -> Any:
        session.row_factory = dict_factory
        return await session.execute(select, (1,))

    *results, columns = asyncio.run(read_in_each_way())
    # The first four calls return rows; the last call returns columns.
    assert results == [ROWS] * 4
    assert columns == [list(column) for column in zip(*ROWS, strict=True)]


def test_a_value_may_be_encrypted_by_the_application(
    session: Session, node: FakeNode, policy: Any
) -> None:
    """The driver does not encrypt literals in a query string, so the application must do that."""
    query = "INSERT INTO ks.t (k, c) VALUES (%s, %s)"
    value = policy.encode_and_encrypt(C, 1000)
    session.execute(query, (1, value))
    assert node.requests[-1].query == f"INSERT INTO ks.t (k, c) VALUES (1, 0x{value.hex()})"


def test_simple_statements_with_markers_are_encrypted(
    session: Session, node: FakeNode, policy: Any
) -> None:
    """A simple statement with bind markers is prepared, so the driver can encrypt its values.

    The response to PREPARE says to which columns the values belong.
    """
    session.execute(INSERT, (1, 1000, "ada"))
    assert decrypted_rows(node, policy) == [(1, b"\0\0\x03\xe8", b"ada")]


def test_batches_are_encrypted(session: Session, node: FakeNode, policy: Any) -> None:
    """A batch encrypts the values of each of its statements, however they are added."""
    prepared = session.prepare(INSERT)
    batch = BatchStatement()
    batch.add(prepared, (1, 1000, "ada"))
    batch.add(prepared.bind({"k": 2, "c": None, "d": ""}))
    batch.add_many(prepared, [(3, -1, None), {"k": 4, "c": 4, "d": "x"}])
    session.execute(batch)
    # In the last row, the values are an int and a text, not the blobs that the server stores.
    assert decrypted_rows(node, policy)[3] == (4, b"\0\0\0\4", b"x")
    assert session.execute(READ).all() == [*ROWS, (4, 4, "x")]


def test_tables_in_a_batch_are_encrypted(session: Session, node: FakeNode) -> None:
    """The values of pandas and Arrow tables are converted to the types of the encrypted columns.

    The types are int and text. The server describes these columns as blobs, a type that the driver
    must not use for the conversion.
    """
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    # A pandas column with nulls holds floats, so `c` is a float column. `astype` below makes it an
    # int column.
    frame = pandas.DataFrame({"k": [3], "c": [-1.0], "d": [None]})
    table = pyarrow.table({"k": [1, 2], "c": [1000, None], "d": ["ada", ""]})
    batch = BatchStatement()
    batch.add_many(session.prepare(INSERT), table)
    batch.add_many(session.prepare(INSERT), frame.astype({"c": int}))
    session.execute(batch)
    assert session.execute(READ).all() == ROWS


def test_concurrent_statements_encrypt_and_decrypt(session: Session, node: FakeNode) -> None:
    """`execute_concurrent_with_args` encrypts and decrypts values as `execute` does."""
    results = execute_concurrent_with_args(session, session.prepare(INSERT), ROWS)
    assert all(result.success for result in results)
    assert sorted(session.execute(READ).all()) == ROWS
    outcomes = execute_concurrent_with_args(session, session.prepare(SELECT), [(1,), (2,)])
    assert [sorted(result.result_or_exc) for result in outcomes] == [ROWS, ROWS]


def test_unset_values_are_sent_as_unset(session: Session, node: FakeNode) -> None:
    """Unset values of encrypted columns are sent as unset, not encrypted."""
    if session.cluster.protocol_version < 4:
        pytest.skip("version 3 has no unset values")
    node.prime(INSERT, void())
    session.execute(session.prepare(INSERT), (1, UNSET_VALUE))
    values = node.requests[-1].values
    # The row has no value for the third column, so that value is unset, and was not encrypted.
    assert values[1] is values[2]
    assert repr(values[1]) == "NOT_SET"


@dataclass
class TypedRow:
    """A row with the types of the original values."""

    k: int
    c: int | None
    d: str | None


# Row factories, and a function that converts their rows to tuples of values. The third factory puts
# the names of the three columns before the values of each row.
FACTORIES: list[tuple[Any, Callable[[Any], Any]]] = [
    (dict_factory, lambda row: tuple(row.values())),
    (ordered_dict_factory, lambda row: tuple(row.values())),
    (lambda names, values: [(*names, *row) for row in values], lambda row: row[3:]),
]


@pytest.mark.parametrize(("factory", "to_tuple"), FACTORIES)
def test_row_factories_get_decrypted_values(
    session: Session, factory: Any, to_tuple: Callable[[Any], Any]
) -> None:
    """Each row factory gets decrypted values.

    `to_tuple` converts a row of the factory back to a tuple.
    """
    fill(session)
    session.row_factory = factory
    for statement in (READ, session.prepare(SELECT).bind((1,))):
        assert [to_tuple(row) for row in session.execute(statement)] == ROWS


def test_typed_rows_have_decrypted_values(session: Session) -> None:
    """Rows of a `row_type` have decrypted values."""
    fill(session)
    for statement in (READ, session.prepare(SELECT).bind((1,))):
        result = session.execute(statement, row_type=TypedRow)
        assert list(result) == [TypedRow(*row) for row in ROWS]


class Letter(enum.Enum):
    A = "a"


@dataclasses.dataclass
class MisfittingRow:
    k: int
    c: int | None
    d: Letter


def test_errors_of_typed_rows_do_not_show_encrypted_values(session: Session) -> None:
    """The error for a value that does not fit its field names the field only."""
    fill(session)
    result = session.execute(READ, row_type=MisfittingRow)
    with pytest.raises(ValueError, match=r'row 0, column "d": this str does not fit the') as info:
        result.all()
    assert "ada" not in str(info.value)
    assert info.value.__cause__ is None


@pytest.mark.parametrize("is_bound", [True, False])
def test_errors_of_converters_are_not_taken_for_wrong_keys(
    session: Session, is_bound: bool
) -> None:
    """The error says that a converter has failed, and shows neither the value nor its error."""

    def fail(value: Any) -> Any:
        raise LookupError(f"no code for {value}")

    fill(session)
    converter = Converter(to_cql=fail) if is_bound else Converter(from_cql=fail)
    session.cluster.codecs.register_column("ks.t.d", converter)
    error_class: Any = EncodeValueError if is_bound else DecodeError
    prepared, result = session.prepare(INSERT), session.execute(READ)
    with pytest.raises(error_class, match=r"fail has raised LookupError") as info:
        prepared.bind((1, 2, "secret")) if is_bound else result.all()
    assert "secret" not in str(info.value)
    assert "ada" not in str(info.value)
    assert "another key" not in str(info.value)


def test_a_limit_is_not_taken_for_a_wrong_key(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a number beyond the limit names the limit."""
    column = ColDesc("ks", "t", "n")
    policy.add_column(column, KEY, "decimal")
    encrypted = policy.encode_and_encrypt(column, decimal.Decimal("1" * 60_000))
    monkeypatch.setattr(limits, "decimal_bytes", 20_000)
    with FakeNode() as node:
        node.prime(READ, rows([("n", "blob")], [(encrypted,)]))
        settings: Any = {"port": node.port, "column_encryption_policy": policy}
        with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
            result = session.execute(READ)
            with pytest.raises(DecodeError, match=r"bytes, but .*limits\.decimal_bytes"):
                result.all()


def test_arrow_numpy_and_pandas_results_are_decrypted(session: Session) -> None:
    """Tables of Arrow, NumPy and pandas have decrypted values of the original types."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("numpy")
    pytest.importorskip("pandas")
    fill(session)
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    for statement in (READ, session.prepare(SELECT).bind((1,))):
        table = session.execute(statement).to_arrow()
        assert table.schema.types == [pyarrow.int32(), pyarrow.int32(), pyarrow.string()]
        assert list(table.to_pydict().values()) == columns
        arrays = session.execute(statement).to_numpy()
        assert arrays["c"].dtype == "int32"
        assert [arrays[name].tolist() for name in "kcd"] == columns
        frame = session.execute(statement).to_pandas()
        assert frame["k"].tolist() == columns[0]
        # Leave out the nulls, which pandas represents differently for each dtype.
        assert frame["c"].dropna().tolist() == [1000, -1]
        assert frame["d"].dropna().tolist() == ["ada", ""]


def test_column_types_are_blob_and_notebooks_show_the_values(session: Session) -> None:
    """`column_types` has the server's type blob, while a notebook shows the decrypted values.

    cassandra-driver returns the server's types, too.
    """
    fill(session)
    for statement in (READ, session.prepare(SELECT).bind((1,))):
        result = session.execute(statement)
        assert result.column_types == [Int32Type, BytesType, BytesType]
        assert "1000" in result._repr_html_()


@pytest.mark.parametrize("version", [3, 4, 5])
def test_paged_results_are_decrypted(policy: Any, version: int) -> None:
    """Values on all pages of a result are decrypted. There are ten rows on pages of three."""
    encrypted_rows = [(k, policy.encode_and_encrypt(C, k), None) for k in range(10)]
    expected = [(k, k, None) for k in range(10)]
    with FakeNode(max_version=version) as node:
        node.prime_prepare(SELECT, BLOBS[:1], result=BLOBS, pk_indexes=[0])
        for text in (SELECT, READ):
            node.prime(text, paged(BLOBS, encrypted_rows))
        settings: Any = {"port": node.port, "column_encryption_policy": policy}
        with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
            session.row_factory, session.default_fetch_size = tuple_factory, 3
            for statement in (READ, session.prepare(SELECT).bind((1,))):
                assert list(session.execute(statement)) == expected
                table = session.execute(statement).to_arrow()
                assert [tuple(row.values()) for row in table.to_pylist()] == expected


# -- handlers --------------------------------------------------------------------------------------


class PassesThePolicy(ResultMessage):
    """A handler's result class, written for cassandra-driver.

    It passes the encryption policy to its base class.
    """

    policies: list[Any] = []

    def recv_results_rows(
        self,
        f: BinaryIO,
        protocol_version: int,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        self.policies.append(column_encryption_policy)
        super().recv_results_rows(
            f, protocol_version, user_type_map, result_metadata, column_encryption_policy
        )


class RowByRow(ResultMessage):
    """A handler's result class that reads each row itself."""

    @staticmethod
    def recv_row(f: BinaryIO, colcount: int) -> list[bytes | None]:
        return ResultMessage.recv_row(f, colcount)


@pytest.mark.parametrize(
    "handler",
    [ProtocolHandler, LazyProtocolHandler, handler_of(PassesThePolicy), handler_of(RowByRow)],
)
def test_protocol_handlers_get_the_policy_of_the_cluster(
    session: Session, policy: Any, handler: Any
) -> None:
    """Results that are read by a protocol handler are decrypted with the cluster's policy."""
    fill(session)
    session.client_protocol_handler = handler
    PassesThePolicy.policies.clear()
    prepared = session.prepare(SELECT)
    for _ in range(2):  # for the second response, the driver uses cached columns
        assert list(session.execute(prepared, (1,)).current_rows) == ROWS
        assert list(session.execute(READ).current_rows) == ROWS
    assert all(passed_policy is policy for passed_policy in PassesThePolicy.policies)
    # The driver must not store the policy in the handler, because other clusters may use the same
    # handler.
    assert handler.column_encryption_policy is None


def test_the_numpy_handler_decrypts(session: Session) -> None:
    """NumpyProtocolHandler returns arrays of decrypted values."""
    pytest.importorskip("numpy")
    fill(session)
    session.client_protocol_handler = NumpyProtocolHandler
    prepared = session.prepare(SELECT)
    for result in (session.execute(READ), session.execute(prepared, (1,))):
        (arrays,) = result.current_rows
        assert arrays["c"].tolist() == [1000, None, -1]


# -- policies that change, and other clusters ------------------------------------------------------


def test_a_column_may_be_added_after_a_prepare(node: FakeNode) -> None:
    """If a column is added to the policy, statements that are already prepared encrypt it, too."""
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(C, KEY, "int")
    settings: Any = {"port": node.port, "column_encryption_policy": policy}
    with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
        session.row_factory = tuple_factory
        insert, select = session.prepare(INSERT), session.prepare(SELECT)
        insert.strict_names = True
        session.execute(insert, (1, 1000, b"ada"))
        assert session.execute(select, (1,)).one() == (1, 1000, b"ada")
        stored_rows_of(node).clear()
        policy.add_column(D, KEY, "text")
        session.execute(insert, (1, 1000, "ada"))
        assert insert.strict_names
        assert decrypted_rows(node, policy) == [(1, b"\0\0\x03\xe8", b"ada")]
        assert session.execute(select, (1,)).one() == (1, 1000, "ada")


def test_a_cluster_without_the_policy_reads_the_encrypted_bytes(
    session: Session, node: FakeNode
) -> None:
    """Another cluster, which has no encryption policy, reads the bytes that are stored."""
    fill(session)
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as other:
        other.row_factory = tuple_factory
        for statement in (READ, other.prepare(SELECT).bind((1,))):
            assert other.execute(statement).all() == stored_rows_of(node)


class StarPolicy(ColumnEncryptionPolicy):
    """An application's policy whose "ciphertext" is a "*" followed by the value."""

    def contains_column(self, coldesc: ColDesc) -> bool:
        return coldesc in (C, D)

    def column_type(self, coldesc: ColDesc) -> Any:
        return Int32Type if coldesc == C else UTF8Type

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        return b"*" + obj_bytes

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        return encrypted_bytes[1:]


def test_a_policy_that_an_application_defines(node: FakeNode) -> None:
    """Values are encrypted and decrypted by the methods of the application's own policy."""
    settings: Any = {"port": node.port, "column_encryption_policy": StarPolicy()}
    with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
        session.row_factory = tuple_factory
        fill(session)
        assert stored_rows_of(node)[0] == (1, b"*\0\0\x03\xe8", b"*ada")
        assert session.execute(session.prepare(SELECT), (1,)).all() == ROWS
        assert session.execute(READ).all() == ROWS


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_a_policy_of_a_wrong_type_is_refused(cluster_class: Any) -> None:
    """`column_encryption_policy` must be a policy or None."""
    with pytest.raises(TypeError, match="column_encryption_policy must be a ColumnEncryptionPoli"):
        cluster_class(["127.0.0.1"], column_encryption_policy={"c": KEY})
    cluster = cluster_class(["127.0.0.1"], column_encryption_policy=None)
    assert cluster.column_encryption_policy is None


# -- the partition key -----------------------------------------------------------------------------

BY_KEY = "SELECT c FROM ks.t WHERE c = ?"


def test_requests_are_routed_by_the_encrypted_key() -> None:
    """If the partition key is encrypted, its replicas are those of the encrypted bytes."""
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(C, KEY, "int")
    with FakeCluster(3) as nodes:
        for node in nodes.nodes:
            node.schema["system_schema.keyspaces"] = [keyspace("ks")]
            node.prime_prepare(BY_KEY, [("c", "blob")], result=[("c", "blob")], pk_indexes=[0])
        nodes.prime(BY_KEY, rows([("c", "blob")], []))
        settings: Any = {"port": nodes.port, "column_encryption_policy": policy}
        with Cluster(nodes.contact_points, **settings) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            prepared = session.prepare(BY_KEY)
            owners = set()
            for value in range(20):
                bound = prepared.bind((value,))
                key = policy.encode_and_encrypt(C, value)
                assert bound.routing_key == key
                coordinator = session.execute(bound).response_future.coordinator_host
                assert [coordinator] == cluster.metadata.get_replicas("ks", key)
                owners.add(coordinator)
            # Each node owns some of the keys, so it is no coincidence that the requests reached the
            # owners.
            assert len(owners) == 3


def test_aesgcm_is_refused_for_a_partition_key(node: FakeNode) -> None:
    """An AESGCM policy is refused for a partition key.

    AESGCM encrypts equal values to different bytes, so a row could not be found by its key.
    """
    policy = AESGCMColumnEncryptionPolicy()
    settings: Any = {"port": node.port, "column_encryption_policy": policy}
    node.prime_prepare(BY_KEY, [("c", "blob")], result=[("c", "blob")], pk_indexes=[0])
    with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
        if cluster.protocol_version < 4:
            pytest.skip("version 3 does not report the partition key")
        prepared_earlier = session.prepare(BY_KEY)
        policy.add_column(C, KEY, "int")
        for prepared in (prepared_earlier, session.prepare(BY_KEY)):
            with pytest.raises(
                TypeError, match=r"ks\.t\.c is a column of the primary key, and AESGCM"
            ):
                prepared.bind((1,))
        assert session.prepare(INSERT).bind((1, 1, b"x")).values[1] is not None


@pytest.mark.parametrize(("iv", "warning_count"), [(None, 1), (IV, 0)])
def test_a_partition_key_without_iv_is_warned_about(
    node: FakeNode, caplog: pytest.LogCaptureFixture, iv: bytes | None, warning_count: int
) -> None:
    """If a partition key is encrypted without a fixed `iv`, there is a warning.

    Another process would encrypt the same key to different bytes, and would not find the row.
    """
    policy = AES256ColumnEncryptionPolicy(iv=iv)
    policy.add_column(C, KEY, "int")
    settings: Any = {"port": node.port, "column_encryption_policy": policy}
    node.prime_prepare(BY_KEY, [("c", "blob")], result=[("c", "blob")], pk_indexes=[0])
    with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
        if cluster.protocol_version < 4:
            pytest.skip("version 3 does not report the partition key")
        session.prepare(INSERT)
        session.prepare(BY_KEY)
    messages = [
        record.getMessage() for record in caplog.records if "without iv=" in record.getMessage()
    ]
    assert len(messages) == warning_count
    assert all(
        message.startswith("ks.t.c is encrypted and a column of the partition")
        for message in messages
    )


# -- errors and secrets ----------------------------------------------------------------------------


def test_a_wrong_key_names_row_and_column(session: Session, node: FakeNode) -> None:
    """If a value cannot be decrypted, the error names its row and its column."""
    fill(session)
    policy_with_wrong_key = AESGCMColumnEncryptionPolicy()
    policy_with_wrong_key.add_column(C, bytes(32), "int")
    settings: Any = {"port": node.port, "column_encryption_policy": policy_with_wrong_key}
    with Cluster([node.address], **settings) as cluster, cluster.connect() as reader:
        prepared = reader.prepare(SELECT)
        for statement in (READ, prepared.bind((1,))):
            with pytest.raises(
                DecodeError, match=r'row 0, column "c" \(int\): ks\.t\.c cannot be decrypted: '
            ):
                reader.execute(statement).all()


def test_values_and_keys_show_nowhere(
    node: FakeNode, policy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Keys and bound values do not appear in logs, reprs and errors."""
    caplog.set_level(logging.DEBUG)
    secret, value = b"a key that nobody shall ever see", "a name that nobody shall see"
    policy.add_column(D, secret, "text")
    policy.add_column(C, secret, "int")
    settings: Any = {"port": node.port, "column_encryption_policy": policy}
    with Cluster([node.address], **settings) as cluster, cluster.connect() as session:
        prepared = session.prepare(INSERT)
        bound = prepared.bind((1, 5, value))
        session.execute(bound)
        texts = [repr(bound), str(bound), repr(prepared), repr(vars(cluster)), repr(policy)]
        with pytest.raises(TypeError) as caught:
            prepared.bind((1, value, value))
        texts.append(str(caught.value))
        texts.append(repr(session.execute(prepared, (1, 5, value)).response_future.query))
    texts.append(caplog.text)
    for text in texts:
        assert value not in text
        assert secret.decode() not in text
        assert secret.hex() not in text
