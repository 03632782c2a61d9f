"""If a statement's column types have changed on the server, bound values are encoded again.

The function `take_over` compares a prepared statement with the response of the server that has
prepared it again. The first tests check this function alone. The other tests use a fake node.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.cqltypes import (
    BooleanType,
    DoubleType,
    FloatType,
    Int32Type,
    ListType,
    LongType,
    SimpleDateType,
    TupleType,
    UserType,
    UTF8Type,
)
from cassandra.engine.prepare.reprepare import take_over
from cassandra.errors import BindColumnsChanged
from cassandra.marshal import int32_pack, int64_pack
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.opcodes import BATCH, EXECUTE
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import FakeNode

SELECT = "SELECT v FROM t WHERE k = ?"


def prepared_with(cql_type: Any) -> PreparedStatement:
    """Return a prepared statement with one bind marker `k` of this type."""
    columns = [ColumnMetadata("ks", "t", "k", cql_type)]
    return PreparedStatement(
        columns,
        b"old",
        routing_key_indexes=None,
        query=SELECT,
        keyspace="ks",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )


def answer_with(*columns: tuple[str, Any]) -> Any:
    """Return the server's response when the statement is prepared again.

    :param columns: the names and types of the bind markers.
    """
    return SimpleNamespace(
        bind_metadata=[ColumnMetadata("ks", "t", name, cql_type) for name, cql_type in columns],
        query_id=b"old",
        result_metadata=None,
        result_metadata_id=None,
    )


@pytest.mark.parametrize(
    ("columns", "change"),
    [
        ([("id", Int32Type)], "k int -> id int"),
        ([("k", Int32Type), ("v", Int32Type)], "1 columns -> 2"),
        ([], "1 columns -> 0"),
    ],
)
def test_other_names_or_numbers_of_columns_are_an_error(columns: Any, change: str) -> None:
    """If bind markers have other names or another number, `take_over` raises an error.

    The error is BindColumnsChanged, because the old values cannot be assigned to the new markers.
    """
    statement = prepared_with(Int32Type)
    with pytest.raises(BindColumnsChanged, match=rf"since it was prepared \({change}\)"):
        take_over(statement, answer_with(*columns))
    # The server uses the same id for the new columns, so the old statement must no longer use this
    # id.
    assert statement.query_id != b"old"


def test_markers_that_cassandra_6_names_otherwise_are_the_same() -> None:
    """After an upgrade of the server, the application binds values by the earlier names."""
    pair = TupleType.apply_parameters([Int32Type, Int32Type])
    old_type, new_type = udt(("a", Int32Type)), udt(("a", Int32Type), ("b", Int32Type))
    old_names = ["partition key token", "(c,d)", "c", "in(value(m))", "u.f"]
    new_names = ["token(k)", "(c, d)", "(c, d)[0]", "in(m[?])", "u.'f'"]
    types = [LongType, pair, Int32Type, ListType.apply_parameters([Int32Type]), old_type]
    statement = PreparedStatement(
        [ColumnMetadata("ks", "t", *column) for column in zip(old_names, types, strict=True)],
        b"old",
        routing_key_indexes=None,
        query=SELECT,
        keyspace="ks",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )
    types[-1] = new_type
    assert take_over(statement, answer_with(*zip(new_names, types, strict=True))) is None
    assert statement.query_id == b"old"
    values = dict(zip(old_names, [1, (2, 3), 4, [5], {"a": 6, "b": 7}], strict=True))
    expected = [
        cql_type.serialize(value, 4) for cql_type, value in zip(types, values.values(), strict=True)
    ]
    block: Any = statement.bind(values).block
    assert block.values() == expected


def test_with_other_types_the_values_are_bound_again() -> None:
    """If types have changed, `take_over` returns a `Renewed`, which encodes old values again.

    It encodes values that were bound for the old types as values of the new types.
    """
    statement = prepared_with(Int32Type)
    changes: list[str] = []
    statement.when_changed = lambda: changes.append("changed")
    renewed = take_over(statement, answer_with(("k", LongType)))
    assert renewed is not None
    assert renewed.statement.query_id == b"old"
    assert changes == ["changed"]
    # The server now uses this id for the new columns, so only `renewed.statement` may use the id.
    assert statement.query_id != b"old"
    values = statement.bind([5]).block
    assert renewed.values(values).values() == [LongType.serialize(5, protocol_version=4)]
    assert renewed.values(statement.bind([None]).block).values() == [None]


def test_a_value_that_does_not_fit_the_new_type_is_an_error() -> None:
    """If a bound value does not fit a column's new type, encoding it raises BindColumnsChanged.

    Here, an int does not fit a text column. The error names the column and both types.
    """
    statement = prepared_with(Int32Type)
    renewed = take_over(statement, answer_with(("k", UTF8Type)))
    assert renewed is not None
    with pytest.raises(BindColumnsChanged, match=r"k int -> k text.* prepare it again"):
        renewed.values(statement.bind([5]).block)


@pytest.mark.parametrize(
    ("old_type", "value", "new_type", "words"),
    [
        (DoubleType, 0.1, FloatType, r'"k" would be 0\.1000000014.* instead of 0\.1 \(float\)'),
        (LongType, 2, BooleanType, '"k" has values of another kind'),
        # Without the check, the encoder of a date would warn of such a number.
        (LongType, 20_000, SimpleDateType, '"k" has values of another kind'),
    ],
)
def test_a_value_that_the_new_type_would_alter_is_an_error(
    old_type: Any, value: Any, new_type: Any, words: str
) -> None:
    """If the encoder of the new type would alter a value, BindColumnsChanged is raised.

    No warning is shown in the event loop's thread, which is not the application's.
    """
    statement = prepared_with(old_type)
    renewed = take_over(statement, answer_with(("k", new_type)))
    assert renewed is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BindColumnsChanged, match=rf"{words}.*: prepare it again"):
            renewed.values(statement.bind([value]).block)


def test_values_of_unchanged_columns_keep_their_bytes() -> None:
    """If one column changes, the bytes of the other columns are sent as they are.

    Zero bytes of an int, which old tables may have, would become null if they were encoded again.
    """
    columns = [ColumnMetadata("ks", "t", name, Int32Type) for name in "kv"]
    statement = PreparedStatement(columns, b"old", None, SELECT, "ks", 4, None, None)
    renewed = take_over(statement, answer_with(("k", LongType), ("v", Int32Type)))
    assert renewed is not None
    assert renewed.bind([int32_pack(5), b""]).values() == [int64_pack(5), b""]
    # Zero bytes cannot be encoded for another type.
    with pytest.raises(BindColumnsChanged, match='"k" would be'):
        renewed.bind([b"", int32_pack(5)])


def test_the_classes_of_the_application_are_not_called() -> None:
    """If a user-defined type has a registered class, values are bound again without this class."""

    def refuse(**fields: Any) -> None:
        raise AssertionError(fields)

    old_type = UserType.make_udt_class("ks", "place", ["a", "b"], [Int32Type] * 2, refuse)
    new_type = UserType.make_udt_class("ks", "place", ["b", "a"], [LongType] * 2, refuse)
    statement = prepared_with(ListType.apply_parameters([old_type]))
    renewed = take_over(statement, answer_with(("k", ListType.apply_parameters([new_type]))))
    assert renewed is not None
    block = renewed.values(statement.bind([[(1, 2)]]).block)
    plain = ListType.apply_parameters([udt(("b", LongType), ("a", LongType))])
    assert block.values() == [plain.serialize([(2, 1)], protocol_version=4)]


def udt(*fields: tuple[str, Any]) -> Any:
    """Return a user-defined type with these fields.

    :param fields: pairs of a name and a type.
    """
    names = [name for name, _type in fields]
    types = [cql_type for _name, cql_type in fields]
    return UserType.make_udt_class("ks", "place", names, types)


def test_values_of_a_user_type_fit_if_it_has_a_further_field() -> None:
    """If a user-defined type has a new field at its end, the values need not be bound again.

    A value without the new field is valid: ALTER TYPE adds fields at the end.
    """
    statement = prepared_with(udt(("a", Int32Type)))
    longer = udt(("a", Int32Type), ("b", Int32Type))
    assert take_over(statement, answer_with(("k", longer))) is None


def test_values_are_bound_by_field_name_if_a_user_type_has_another_order() -> None:
    """If a user-defined type has its fields in another order, values are assigned by field names.

    This happens if the type was dropped and created again.
    """
    statement = prepared_with(ListType.apply_parameters([udt(("a", Int32Type), ("b", LongType))]))
    reordered = ListType.apply_parameters([udt(("b", LongType), ("a", Int32Type))])
    renewed = take_over(statement, answer_with(("k", reordered)))
    assert renewed is not None
    values = statement.bind([[(1, 2)]]).block
    assert renewed.values(values).values() == [reordered.serialize([(2, 1)], protocol_version=4)]
    # If the fields have other names, the values cannot be converted.
    renamed = ListType.apply_parameters([udt(("a", Int32Type), ("c", LongType))])
    renewed = take_over(statement, answer_with(("k", renamed)))
    assert renewed is not None
    message = (
        r"k list<frozen<place>> -> k list<frozen<place>> "
        r"\(fields a int, b bigint -> a int, c bigint\).* other names"
    )
    with pytest.raises(BindColumnsChanged, match=message):
        renewed.values(values)


def test_encrypted_columns_are_not_bound_again() -> None:
    """If the type of an encrypted column changes, `take_over` raises BindColumnsChanged.

    Encrypted values depend on the types that the application has configured.
    """
    statement = prepared_with(Int32Type)
    statement.column_encryption_policy = SimpleNamespace(contains_column=lambda column: False)
    with pytest.raises(BindColumnsChanged, match="encrypted"):
        take_over(statement, answer_with(("k", LongType)))


# -- on a node ------------------------------------------------------------------------------------

INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node that can prepare INSERT with two ints."""
    with FakeNode() as fake_node:
        fake_node.prime_prepare(INSERT, [("k", "int"), ("v", "int")], pk_indexes=[0])
        yield fake_node


def change_type(node: FakeNode, cql_type: str) -> None:
    """Let the node forget its statements, and describe INSERT with another type of `v`."""
    node.prime_prepare(INSERT, [("k", "int"), ("v", cql_type)], pk_indexes=[0])
    node.forget_prepared()


def last_values(node: FakeNode) -> list[Any]:
    """Return the values of the last EXECUTE, or of the first statement in the last BATCH."""
    writes = [request for request in node.requests if request.opcode in (EXECUTE, BATCH)]
    request = writes[-1]
    statement = request if request.opcode == EXECUTE else request.statements[0]
    return list(statement.values)


@pytest.mark.parametrize("is_batch", [False, True])
def test_values_are_bound_again_at_each_execution(
    node: FakeNode, session: Session, is_batch: bool
) -> None:
    """If a column's type changes, each execution of a bound statement encodes its values again.

    The bound statement itself keeps its old values.
    """
    statement = session.prepare(INSERT)
    bound = statement.bind((1, 2))
    change_type(node, "bigint")
    for _ in range(3):
        statement_or_batch: Any = bound
        if is_batch:
            statement_or_batch = BatchStatement()
            statement_or_batch.add(bound)
        session.execute(statement_or_batch)
        assert last_values(node) == [
            Int32Type.serialize(1, protocol_version=4),
            LongType.serialize(2, protocol_version=4),
        ]


def test_rows_of_a_batch_are_bound_again(node: FakeNode, session: Session) -> None:
    """If a column has become a bigint, the values of all rows in a batch are sent with 8 bytes."""
    batch = BatchStatement()
    batch.add_many(session.prepare(INSERT), [(1, 2), (3, 4)])
    change_type(node, "bigint")
    session.execute(batch)
    batches = [request for request in node.requests if request.opcode == BATCH]
    sent_values = [statement.values[1] for statement in batches[-1].statements]
    assert sent_values == [
        LongType.serialize(2, protocol_version=4),
        LongType.serialize(4, protocol_version=4),
    ]


def test_a_value_that_would_be_altered_is_never_sent(node: FakeNode, session: Session) -> None:
    """If a column has become a boolean, the number 2 is not written as true.

    This applies to the rows of a batch, too.
    """
    statement = session.prepare(INSERT)
    batch = BatchStatement()
    batch.add_many(statement, [(1, 0), (1, 2)])
    change_type(node, "boolean")
    for request in (statement.bind((1, 2)), batch):
        with pytest.raises(BindColumnsChanged, match="v int -> v boolean"):
            session.execute(request)
        # The last request has the id that no server knows, and still the value of the old type.
        assert len(last_values(node)[1]) == 4


def test_a_value_of_another_type_is_never_sent(node: FakeNode, session: Session) -> None:
    """If a column has become a text column, an int value raises BindColumnsChanged.

    No EXECUTE is sent.
    """
    bound = session.prepare(INSERT).bind((1, 2))
    change_type(node, "text")
    for _ in range(2):
        count_before = len(node.queries(INSERT))
        with pytest.raises(BindColumnsChanged, match="v int -> v varchar"):
            session.execute(bound)
        later_requests = node.queries(INSERT)[count_before:]
        assert all(request.query is None or request.opcode != EXECUTE for request in later_requests)


def test_after_the_error_a_query_string_is_prepared_again(node: FakeNode, session: Session) -> None:
    """After BindColumnsChanged, the session prepares the query string again at its next call.

    The session has dropped the cached statement, so the next call uses the new type.
    """
    session.execute(INSERT, (1, 2))
    change_type(node, "text")
    with pytest.raises(BindColumnsChanged):
        session.execute(INSERT, (1, 2))
    session.execute(INSERT, (1, "x"))
    assert last_values(node)[1] == b"x"
