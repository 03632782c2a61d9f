"""Test how a `PreparedStatement` is built, copied, and changed while threads use it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

import cassandra.query.prepared as prepared_module
from cassandra import ConsistencyLevel
from cassandra.codecs import CodecRegistry, Converter
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.cqltypes import BytesType, Int32Type, UTF8Type
from cassandra.policies import ColDesc
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.converted import ConvertedMetadata
from cassandra.query import PreparedStatement
from cassandra.query.settings import FETCH_SIZE_UNSET
from tests.interrupted_locks import Interrupt, InterruptedLock, is_free

AES256_KEY = b"k" * 32


def prepared(
    *, key_indexes: Any = (0,), type_of_b: Any = UTF8Type, **settings: Any
) -> PreparedStatement:
    """Return a prepared statement with the bind markers a (an int) and b (a text by default).

    :param key_indexes: the positions of the partition key's columns.
    """
    columns = [
        ColumnMetadata("ks", "t", "a", Int32Type),
        ColumnMetadata("ks", "t", "b", type_of_b),
    ]
    return PreparedStatement(
        columns, b"id", key_indexes, "SELECT 1", "own", 5, None, None, **settings
    )


class Name(str):
    """A subclass of str for names of tables."""

    __slots__ = ()


@pytest.mark.parametrize("name", [None, Name("t"), Mock()])
def test_tests_may_pass_other_objects_as_names(name: Any) -> None:
    """A table's name may be any object, such as the mocks of applications' tests."""
    columns = [ColumnMetadata(name, name, "a", Int32Type)]
    statement = PreparedStatement(columns, b"id", [0], "SELECT 1", "own", 5, None, None)
    assert statement.table is name
    assert statement.table_keyspace is name


def test_attributes_of_a_prepared_statement() -> None:
    """A prepared statement takes its attributes from the arguments and from its columns."""
    statement = prepared(key_indexes=[1])
    assert (statement.table_keyspace, statement.table) == ("ks", "t")
    assert statement.keyspace == "own"
    assert statement.query_id == b"id"
    assert statement.query_string == "SELECT 1"
    assert statement.protocol_version == 5
    # The second column is the partition key, so at least two values must be bound.
    assert statement.needed_values == 2
    assert statement.consistency_level is None
    assert statement.serial_consistency_level is None
    assert statement.fetch_size is FETCH_SIZE_UNSET
    assert not statement.is_idempotent
    without_columns = PreparedStatement([], b"id", None, "SELECT 1", "own", 5, None, None)
    assert without_columns.table_keyspace == "own"
    assert without_columns.table is None
    assert without_columns.needed_values == 0


def test_setting_strict_names_replaces_the_bind_plan() -> None:
    """After an assignment to `strict_names`, values are bound by a new plan, which checks names."""
    statement = prepared()
    first_plan = statement.bind_plan
    assert statement.strict_names is False
    statement.strict_names = True
    assert statement.strict_names is True
    assert statement.bind_plan is not first_plan
    with pytest.raises(ValueError, match="values for 'x', but the bind markers are a, b"):
        statement.bind({"a": 1, "b": "x", "x": 5})
    assert statement.bind({"a": 1, "b": "x"}).values == [b"\0\0\0\x01", b"x"]


def test_result_metadata_and_its_id_change_together() -> None:
    """`update_result_metadata` replaces the metadata and its id at the same time.

    A thread that reads `result_metadata_and_id` gets either both old values or both new values.
    """
    statement = prepared()
    metadata: Any = object()
    pair_before = statement.result_metadata_and_id
    statement.update_result_metadata(metadata, b"second")
    assert pair_before == (None, None)
    assert statement.result_metadata_and_id == (metadata, b"second")
    assert statement.result_metadata is metadata
    assert statement.result_metadata_id == b"second"


def test_is_lwt_returns_the_constructor_s_argument() -> None:
    """`is_lwt` returns the argument `is_lwt` of the constructor."""
    assert prepared(is_lwt=True).is_lwt()
    assert not prepared().is_lwt()


def test_repr_of_a_prepared_statement() -> None:
    """The repr shows the query string and the consistency level."""
    statement = prepared()
    assert repr(statement) == '<PreparedStatement query="SELECT 1", consistency=Not Set>'
    statement.consistency_level = ConsistencyLevel.QUORUM
    assert str(statement) == '<PreparedStatement query="SELECT 1", consistency=QUORUM>'


# -- copies ----------------------------------------------------------------------------------------

UPPER: Converter[str, str] = Converter(str.upper, str.lower)


def with_codecs(codecs: CodecRegistry) -> PreparedStatement:
    """Return a prepared statement whose values and result use these converters."""
    statement = prepared(codecs=codecs)
    statement.update_result_metadata(ResultMetadata(statement.column_metadata), b"second")
    return statement


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_uses_and_follows_the_converters(duplicate: Callable[[Any], Any]) -> None:
    """A copy of a prepared statement uses the same converters, and follows their changes."""
    codecs = CodecRegistry()
    codecs.register_type("text", UPPER)
    statement = with_codecs(codecs)
    statement.strict_names = True
    statement.consistency_level = ConsistencyLevel.QUORUM
    # The application's attribute refers to the statement itself.
    statement.__dict__["mark"] = [statement]
    copied = duplicate(statement)
    assert copied is not statement
    assert type(copied) is PreparedStatement
    assert copied.codecs is codecs
    assert copied.strict_names
    assert copied.consistency_level == ConsistencyLevel.QUORUM
    # In a deep copy, the application's attribute refers to the copy.
    assert copied.__dict__["mark"] == [statement if duplicate is copy.copy else copied]
    assert copied.bind((1, "a")).values[1] == b"A"
    assert isinstance(copied.result_metadata, ConvertedMetadata)
    assert copied.result_metadata_id == b"second"
    # The copy also follows later changes of the registry.
    codecs.unregister_type("text")
    assert copied.bind((1, "a")).values[1] == b"a"
    assert type(copied.result_metadata) is ResultMetadata


def test_a_copy_of_a_bound_statement_keeps_the_converters() -> None:
    """A copy of a bound statement uses the same registry of converters as the original."""
    codecs = CodecRegistry()
    bound = with_codecs(codecs).bind((1, "a"))
    for copied in (copy.copy(bound), copy.deepcopy(bound)):
        assert copied.prepared_statement.codecs is codecs
        assert copied.values == bound.values
    copied = copy.deepcopy(bound)
    codecs.register_type("text", UPPER)
    assert copied.bind((1, "a")).values[1] == b"A"
    # The original was bound before the converter was registered, so its value is not converted.
    assert bound.values[1] == b"a"


class Policy:
    """An encryption policy that cannot be copied, because its keys must not be copied."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("keys are not pickled")

    def contains_column(self, column: Any) -> bool:
        return False


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_uses_the_same_encryption_policy(duplicate: Callable[[Any], Any]) -> None:
    """A copied statement has the same encryption policy, not a copy of the policy."""
    policy: Any = Policy()
    assert duplicate(prepared(column_encryption_policy=policy)).column_encryption_policy is policy


def test_a_policy_that_is_assigned_later_encrypts() -> None:
    """If an application assigns a policy to a statement, the values bound later are encrypted.

    cassandra-driver reads the attribute at each `bind`. If this driver did not, it would send
    values unencrypted that the application believes to be encrypted.
    """
    column = ColDesc("ks", "t", "b")
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(column, AES256_KEY, "text")
    statement = prepared(type_of_b=BytesType)
    assert statement.column_encryption_policy is None
    statement.strict_names = True  # builds the bind plan again
    statement.column_encryption_policy = policy
    assert statement.strict_names
    encrypted = statement.bind((1, "a")).values[1]
    assert encrypted != b"a"
    assert policy.decrypt(column, encrypted) == b"a"
    statement.column_encryption_policy = None
    assert statement.bind((1, b"a")).values[1] == b"a"


@pytest.mark.parametrize(
    ("query", "names", "is_refused"),
    [
        ("UPDATE ks.t SET b = (blob) :other WHERE a = :id", ["other", "id"], False),
        ("INSERT INTO ks.t (a, b) VALUES (:id, (blob) :other)", ["id", "other"], False),
        ("SELECT a FROM ks.t WHERE b BETWEEN :other AND 0xff", ["other"], False),
        ("SELECT a FROM ks.t WHERE :other = b", ["other"], True),
        ("UPDATE ks.t SET b = ?, c = :b WHERE a = 1", ["b", "b"], True),
    ],
)
def test_values_of_named_markers_are_encrypted_or_refused(
    query: str, names: list[str], is_refused: bool
) -> None:
    """No value of an encrypted column is sent in clear, whatever the text of the statement is."""
    column = ColDesc("ks", "t", "b")
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(column, AES256_KEY, "blob")
    columns = [
        ColumnMetadata("ks", "t", name, Int32Type if name == "id" else BytesType) for name in names
    ]
    statement = PreparedStatement(
        columns, b"id", None, query, "ks", 4, None, None, column_encryption_policy=policy
    )
    values = [1 if name == "id" else b"secret" for name in names]
    if is_refused:
        with pytest.raises(TypeError, match="marker"):
            statement.bind(values)
    else:
        encrypted = statement.bind(values).values[names.index("other")]
        assert policy.decrypt(column, encrypted) == b"secret"


def test_a_policy_that_cannot_be_applied_is_not_assigned() -> None:
    """If the new policy raises an error, the statement keeps its old policy, which is None here."""

    class Failing:
        def contains_column(self, column: Any) -> bool:
            raise OSError("no keys")

    policy: Any = Failing()
    statement = prepared()
    with pytest.raises(OSError, match="no keys"):
        statement.column_encryption_policy = policy
    assert statement.column_encryption_policy is None
    # An assignment to `strict_names` builds the bind plan again.
    statement.strict_names = True
    assert statement.bind((1, "a")).values[1] == b"a"


def test_rows_are_decrypted_by_the_first_policy() -> None:
    """Rows are decrypted by the policy of the cluster, whatever policy encrypts bound values."""
    column = ColDesc("ks", "t", "b")
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(column, AES256_KEY, "text")
    row = [ColumnMetadata("ks", "t", "b", BytesType)]
    statement = prepared(type_of_b=BytesType, column_encryption_policy=policy)
    statement.column_encryption_policy = None
    for duplicate in (statement, copy.copy(statement), copy.deepcopy(statement)):
        (read,) = duplicate.columns_as_read(ResultMetadata(row)).columns
        assert read.type.codec().decode(policy.encrypt(column, b"a")) == "a"


def test_a_policy_that_is_assigned_later_reports_its_changes() -> None:
    """A column that is added to an assigned policy is encrypted by the statement, too."""
    column = ColDesc("ks", "t", "b")
    policy = AES256ColumnEncryptionPolicy()
    statement = prepared(type_of_b=BytesType)
    statement.column_encryption_policy = policy
    assert statement.bind((1, b"a")).values[1] == b"a"
    policy.add_column(column, AES256_KEY, "text")
    assert policy.decrypt(column, statement.bind((1, "a")).values[1]) == b"a"


def test_a_pickled_statement_has_no_converters() -> None:
    """An unpickled statement has no converters, so it binds values unchanged."""
    codecs = CodecRegistry()
    codecs.register_type("text", UPPER)
    statement = pickle.loads(pickle.dumps(with_codecs(codecs)))
    assert statement.codecs is None
    assert statement.bind((1, "a")).values[1] == b"a"


def test_another_partition_key_is_required_from_then_on() -> None:
    """After `renew_key`, values of the new key's columns must not be missing."""
    statement = prepared()
    plain_plan = statement.plain_plan
    statement.renew_key([1])
    assert (statement.routing_key_indexes, statement.needed_values) == ([1], 2)
    assert statement.plain_plan is not plain_plan
    with pytest.raises(ValueError, match="the partition key needs a value for 'b'"):
        statement.bind((1,))
    statement.renew_key(None)
    assert statement.bind(()).routing_key is None


def test_a_partition_key_without_columns_changes_nothing() -> None:
    """If the new key has positions without a column, `renew_key` raises, and the old key stays."""
    statement = prepared()
    plan = statement.bind_plan
    with pytest.raises(IndexError):
        statement.renew_key([2])
    assert statement.bind_plan is plan
    assert (statement.routing_key_indexes, statement.needed_values) == ((0,), 1)
    assert statement.bind((7, "x")).routing_key == b"\0\0\0\7"


def test_statements_are_found_by_the_id_that_they_had_at_first() -> None:
    """`statements_with` returns the statements with an id, and forgets those that are freed."""
    statements: list[Any] = [prepared() for _ in range(3)]
    for number, statement in enumerate(statements):
        statement.query_id = b"indexed"
        prepared_module.remember(statement)
        assert set(prepared_module.statements_with(b"indexed")) == set(statements[: number + 1])
    statements[1].query_id = b"another"
    assert set(prepared_module.statements_with(b"indexed")) == {statements[0], statements[2]}
    # A statement that is prepared again usually gets its first id.
    statements[1].query_id = b"indexed"
    assert set(prepared_module.statements_with(b"indexed")) == set(statements)
    del statement
    statements.clear()
    gc.collect()
    assert list(prepared_module.statements_with(b"indexed")) == []
    assert b"indexed" not in prepared_module._references


def test_a_signal_handler_leaves_the_lock_of_the_plans_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a handler has interrupted `exchange_plan`, other threads can prepare statements."""
    statement = prepared()
    plan = statement.bind_plan
    lock = InterruptedLock(prepared_module._planning)
    monkeypatch.setattr(prepared_module, "_planning", lock)
    with pytest.raises(Interrupt):
        statement.exchange_plan(plan, plan)
    assert is_free(lock)


def test_the_owner_of_a_statement_is_known_without_a_lock() -> None:
    """Each execution in another cluster asks, and other threads may build plans for a long time."""
    statement = prepared()
    first, second = object(), object()
    assert statement.claim(first)
    answers: list[bool] = []
    asking = threading.Thread(
        target=lambda: answers.extend((statement.claim(first), statement.claim(second))),
        daemon=True,
    )
    with prepared_module._planning:
        asking.start()
        asking.join(timeout=30)
        assert answers == [True, False]
