"""Encrypted columns in bind plans, row plans and column plans, in both implementations.

The last argument of `bind` and of similar methods is the protocol version.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from cassandra.column_encryption.policies import (
    AES256ColumnEncryptionPolicy,
    AESGCMColumnEncryptionPolicy,
)
from cassandra.cqltypes import BytesType, Int32Type, ListType, UTF8Type
from cassandra.errors import DecodeError
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.columnar.layouts import layout_of
from cassandra.protocol.encrypted import bound_columns, decrypting
from cassandra.query.typed_rows import TypedRows
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.unit.protocol.pages import dumped, page_of
from tests.unit.protocol.wire import FakeColumn

KEY = bytes(range(32))
IV = bytes(range(16))
TYPES = {"c": "int", "d": "text", "v": "vector<float, 2>"}


def column_of(name: str) -> ColDesc:
    return ColDesc("ks", "t", name)


def policy_of(kind: Any = AES256ColumnEncryptionPolicy, **settings: Any) -> Any:
    policy = kind(**settings)
    for name, cql in TYPES.items():
        policy.add_column(column_of(name), KEY, cql)
    return policy


@pytest.fixture(params=[AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy])
def policy(request: pytest.FixtureRequest) -> Any:
    return policy_of(request.param)


class ReversingPolicy(ColumnEncryptionPolicy):
    """An application's policy. Its ciphertext is a star followed by the reversed value.

    Columns may be added to `columns` at any time.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {"c": Int32Type}

    def contains_column(self, coldesc: ColDesc) -> bool:
        return coldesc.col in self.columns

    def column_type(self, coldesc: ColDesc) -> Any:
        return self.columns[coldesc.col]

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        return b"*" + obj_bytes[::-1]

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        assert encrypted_bytes[:1] == b"*", "no star"
        return encrypted_bytes[:0:-1]


def columns(names: Sequence[str] = "kcdv", **others: Any) -> list[ColumnMetadata]:
    """Return columns as a server describes them: "k" is an int, and the encrypted ones are
    blobs.
    """
    kinds = {"k": Int32Type, **others}
    return [ColumnMetadata("ks", "t", name, kinds.get(name, BytesType)) for name in names]


def plan_of(
    implementation: Implementation, columns: Sequence[ColumnMetadata], key: Sequence[int] = (0,)
) -> Any:
    fake_columns = [
        FakeColumn(described.name, described.type.build_codec(implementation.codecs))
        for described in columns
    ]
    return implementation.bind.BindPlan(fake_columns, key)


def row_plan(implementation: Implementation, metadata: ResultMetadata) -> Any:
    codecs = [column.type.build_codec(implementation.codecs) for column in metadata.columns]
    return implementation.rows.RowPlan(metadata.names, codecs)


def column_plan(implementation: Implementation, metadata: ResultMetadata) -> Any:
    """Return a reader of whole columns for `metadata`. It decrypts them if the metadata was made by
    `decrypting`.
    """
    kinds = [column.type for column in metadata.page_columns]
    return metadata.page_reader(
        implementation.column_buffers.ColumnPlan(
            metadata.names,
            [kind.build_codec(implementation.codecs) for kind in kinds],
            [layout_of(kind) for kind in kinds],
        )
    )


def test_values_are_encrypted_as_they_are_bound(
    implementation: Implementation, policy: Any
) -> None:
    plan = plan_of(implementation, bound_columns(columns(), policy))
    block = plan.bind((1, 1000, "ada", [0.5, 1.5]), 4)
    k, c, d, v = block.values()
    assert k == b"\0\0\0\1"
    assert policy.decrypt(column_of("c"), c) == b"\0\0\x03\xe8"
    assert policy.decrypt(column_of("d"), d) == b"ada"
    assert policy.decrypt(column_of("v"), v) == b"\x3f\0\0\0\x3f\xc0\0\0"
    metadata = decrypting(ResultMetadata(columns()), policy)
    assert row_plan(implementation, metadata).tuples(block.data, 0, 1) == [
        (1, 1000, "ada", [0.5, 1.5])
    ]


def test_nulls_and_unset_values_are_not_encrypted(
    implementation: Implementation, policy: Any
) -> None:
    plan = plan_of(implementation, bound_columns(columns(), policy))
    block = plan.bind((1, None, UNSET_VALUE), 4)
    assert block.values() == [b"\0\0\0\1", None, UNSET_VALUE, UNSET_VALUE]
    assert plan.bind_row({"k": 1, "c": None}, 4) == plan.bind([1, None], 4)
    metadata = decrypting(ResultMetadata(columns()), policy)
    body = plan.bind((1, None, None, None), 4).data
    assert row_plan(implementation, metadata).tuples(body, 0, 1) == [(1, None, None, None)]
    # Only the first column, "k", has a value.
    page = column_plan(implementation, metadata).read(body, 0, 1)
    assert [column.null_count for column in page.children] == [0, 1, 1, 1]


@pytest.mark.parametrize("missing", ["numpy.ma.masked", "pandas.NA", "pandas.NaT"])
def test_nulls_of_other_libraries(
    implementation: Implementation, policy: Any, missing: str
) -> None:
    """Missing values of other libraries are bound as null, which is never encrypted."""
    module, _, name = missing.rpartition(".")
    value = getattr(pytest.importorskip(module), name)
    plan = plan_of(implementation, bound_columns(columns("kc"), policy))
    assert plan.bind((1, value), 4) == plan.bind((1, None), 4)


def test_empty_texts_are_encrypted(implementation: Implementation, policy: Any) -> None:
    plan = plan_of(implementation, bound_columns(columns("kd"), policy))
    body = plan.bind((1, ""), 4).data
    # The length and the value of "k" have 8 bytes, and the length of "d" has 4. The rest is the
    # ciphertext of the empty text, which is not empty.
    assert len(body) > 8 + 4
    metadata = decrypting(ResultMetadata(columns("kd")), policy)
    assert row_plan(implementation, metadata).tuples(body, 0, 1) == [(1, "")]


def test_many_rows_of_many_columns(implementation: Implementation) -> None:
    """If every second of 40 columns is encrypted, rows, columns and iteration return the values
    that were bound.
    """
    policy = AES256ColumnEncryptionPolicy()
    names = [f"c{index}" for index in range(40)]
    for name in names[::2]:
        policy.add_column(column_of(name), KEY, "int")
    server_columns = columns(names, **dict.fromkeys(names[1::2], Int32Type))
    rng = random.Random(5)
    rows = [tuple(rng.choice([None, rng.getrandbits(31)]) for _ in names[1:]) for _ in range(50)]
    # Put the number of the row into the first column.
    rows = [(index, *row) for index, row in enumerate(rows)]
    block = plan_of(implementation, bound_columns(server_columns, policy)).bind_many(rows, 4)
    body = b"".join(bound.data for bound in block.rows())
    metadata = decrypting(ResultMetadata(server_columns), policy)
    decrypting_plan = row_plan(implementation, metadata)
    assert decrypting_plan.tuples(body, 0, 50) == rows
    assert list(decrypting_plan.iterate(body, 0, 50)) == rows
    assert decrypting_plan.dicts(body, 0, 50) == [
        dict(zip(names, row, strict=True)) for row in rows
    ]
    assert decrypting_plan.columns(body, 0, 50) == [
        list(column) for column in zip(*rows, strict=True)
    ]
    plain_metadata = ResultMetadata(columns(names, **dict.fromkeys(names, Int32Type)))
    plain_block = plan_of(implementation, plain_metadata.columns).bind_many(rows, 4)
    page = column_plan(implementation, plain_metadata).read(
        b"".join(bound.data for bound in plain_block.rows()), 0, 50
    )
    assert dumped(column_plan(implementation, metadata).read(b"head" + body, 4, 50)) == dumped(page)


def test_both_implementations_encrypt_alike(compiled: Implementation) -> None:
    described = bound_columns(columns(), policy_of(iv=IV))
    values = (1, 2, "ada", [1.0, 2.0])
    python, cython = (
        plan_of(lane, described).bind(values, 4) for lane in (Implementation("python"), compiled)
    )
    assert python.data == cython.data


def test_a_routing_key_is_made_of_encrypted_bytes(implementation: Implementation) -> None:
    policy = policy_of(iv=IV)
    block = plan_of(implementation, bound_columns(columns("cd"), policy), [0]).bind((7, "x"), 4)
    assert block.routing_key([0]) == policy.encode_and_encrypt(column_of("c"), 7)
    assert block.routing_key([1, 0]) == implementation.bind.composite_key(
        [
            policy.encode_and_encrypt(column_of("d"), "x"),
            policy.encode_and_encrypt(column_of("c"), 7),
        ]
    )


def test_a_value_that_does_not_fit_is_not_shown(
    implementation: Implementation, policy: Any
) -> None:
    plan = plan_of(implementation, bound_columns(columns(), policy))
    # no int, and an int with too many bits
    for value in ("hunter2", 1 << 77):
        with pytest.raises(
            TypeError,
            match=r'column "c" \(int, \w+\): ks\.t\.c is encrypted and takes int: this (str|int) ',
        ) as info:
            plan.bind((1, value), 4)
        assert str(value) not in str(info.value)


def test_elements_of_a_list_for_in_are_encrypted(implementation: Implementation) -> None:
    """A list for `c IN ?` is encrypted element by element.

    Servers describe the marker as "in(c)", a list of the column's type.
    """
    policy = policy_of(iv=IV)
    blobs = ListType.apply_parameters((BytesType,))
    encrypted_marker = ColumnMetadata("ks", "t", "in(c)", blobs)
    plain_marker = ColumnMetadata("ks", "t", "in(x)", blobs)
    bound = plan_of(
        implementation, bound_columns([encrypted_marker, plain_marker], policy), key=()
    ).bind(([1, 2], [b"1"]), 4)
    expected = [policy.encode_and_encrypt(column_of("c"), value) for value in (1, 2)]
    assert bound.values() == [blobs.to_binary(expected, 4), blobs.to_binary([b"1"], 4)]
    # A null in the list stays a null.
    bound = plan_of(implementation, bound_columns([encrypted_marker], policy), key=()).bind(
        ([1, None],), 4
    )
    assert bound.values() == [blobs.to_binary([expected[0], None], 4)]


def test_nulls_inside_an_encrypted_list_come_back(implementation: Implementation) -> None:
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(column_of("l"), KEY, "list<int>")
    specs = [ColumnMetadata("ks", "t", "l", BytesType)]
    block = plan_of(implementation, bound_columns(specs, policy), key=()).bind(([1, None],), 4)
    metadata = decrypting(ResultMetadata(specs), policy)
    assert row_plan(implementation, metadata).tuples(block.data, 0, 1) == [([1, None],)]


# -- errors ----------------------------------------------------------------------------------------

PLAIN = b"\0\0\0\1"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"", "is encrypted, but this value has no bytes"),
        (b"1234", "cannot be decrypted: 4 bytes are not"),
        (bytes(64), "cannot be decrypted: "),
    ],
)
def test_bytes_that_cannot_be_decrypted(
    implementation: Implementation, policy: Any, broken: bytes, reason: str
) -> None:
    """If bytes cannot be decrypted, the error names the row, the column and the reason, whether a
    page is decoded row by row or column by column.
    """
    metadata = decrypting(ResultMetadata(columns("kc")), policy)
    encrypted = policy.encrypt(column_of("c"), PLAIN)
    body = page_of([(PLAIN, encrypted), (PLAIN, broken)])
    message = rf'row 1, column "c" \(int\): ks\.t\.c {reason}'
    with pytest.raises(DecodeError, match=message):
        row_plan(implementation, metadata).tuples(body, 0, 2)
    with pytest.raises(DecodeError, match=message):
        list(row_plan(implementation, metadata).iterate(body, 0, 2))
    with pytest.raises(DecodeError, match=message):
        column_plan(implementation, metadata).read(body, 0, 2)


def test_a_value_of_another_type(implementation: Implementation, policy: Any) -> None:
    """If a value has another type than the column, the error names the column and the type, but not
    the secret value.
    """
    metadata = decrypting(ResultMetadata(columns("c")), policy)
    body = page_of([(policy.encrypt(column_of("c"), b"secret text"),)])
    with pytest.raises(
        DecodeError, match=r"ks\.t\.c was decrypted to 11 bytes that are not a value of int"
    ) as info:
        row_plan(implementation, metadata).tuples(body, 0, 1)
    assert "secret" not in str(info.value)


def test_a_page_that_is_cut_short(implementation: Implementation, policy: Any) -> None:
    metadata = decrypting(ResultMetadata(columns("kc")), policy)
    body = page_of([(PLAIN, policy.encrypt(column_of("c"), PLAIN))] * 2)
    for size in range(len(body)):
        for plan in (
            row_plan(implementation, metadata).tuples,
            column_plan(implementation, metadata).read,
        ):
            with pytest.raises(DecodeError):
                plan(body[:size], 0, 2)


def test_a_column_that_is_not_a_blob(implementation: Implementation, policy: Any) -> None:
    """If a column in the policy is not a blob on the server, binding and reading raise an error
    with both types. Null may be bound.
    """
    server_columns = columns("kc", c=UTF8Type)
    reason = r"ks\.t\.c is encrypted, so it has to be a blob on the server, but it is text"
    with pytest.raises(TypeError, match=rf'column "c" .*{reason}'):
        plan_of(implementation, bound_columns(server_columns, policy)).bind((1, 2), 4)
    metadata = decrypting(ResultMetadata(server_columns), policy)
    with pytest.raises(DecodeError, match=rf'row 0, column "c" .*{reason}'):
        row_plan(implementation, metadata).tuples(page_of([(PLAIN, b"x")]), 0, 1)
    assert (
        plan_of(implementation, bound_columns(server_columns, policy))
        .bind((1, None), 4)
        .values()[1]
        is None
    )


# -- an application's own policy -------------------------------------------------------------------


def test_columns_added_to_an_application_s_policy_are_encrypted(
    implementation: Implementation,
) -> None:
    policy = ReversingPolicy()
    # is_complete=False says that the policy's columns may change, so the column is looked up for
    # each value.
    plan = plan_of(implementation, bound_columns(columns("kcd"), policy, is_complete=False))
    assert plan.bind((1, 2, b"x"), 4).values() == [PLAIN, b"*\2\0\0\0", b"x"]
    # A column that is added later is encrypted from then on, never sent as it is.
    policy.columns["d"] = UTF8Type
    assert plan.bind((1, 2, "ab"), 4).values()[2] == b"*ba"
    metadata = decrypting(ResultMetadata(columns("kcd")), policy)
    body = plan.bind((1, 2, "ab"), 4).data
    assert row_plan(implementation, metadata).tuples(body, 0, 1) == [(1, 2, "ab")]


def test_errors_of_a_programs_policy(implementation: Implementation) -> None:
    """An error of an application's policy is raised with the column's name."""
    metadata = decrypting(ResultMetadata(columns("c")), ReversingPolicy())
    for plan in (
        row_plan(implementation, metadata).tuples,
        column_plan(implementation, metadata).read,
    ):
        with pytest.raises(DecodeError, match=r"ks\.t\.c cannot be decrypted: no star"):
            plan(page_of([(b"x",)]), 0, 1)


# -- metadata --------------------------------------------------------------------------------------


def test_metadata_without_encrypted_columns_is_unchanged(policy: Any) -> None:
    metadata = ResultMetadata(columns("kx"))
    assert decrypting(metadata, policy) is metadata
    assert decrypting(metadata, policy=None) is metadata
    server_columns = columns("kx")
    assert all(
        bound is server
        for bound, server in zip(bound_columns(server_columns, policy), server_columns, strict=True)
    )


def test_metadata_of_encrypted_columns(policy: Any) -> None:
    """The types of `columns` are those of the decrypted values, while `types` has those of the
    server.
    """
    source = ResultMetadata(columns("kc"), raw=b"specs", metadata_id=b"1")
    metadata = decrypting(source, policy)
    assert metadata.types == [Int32Type, BytesType]  # `types` has the server's types
    assert [column.type.cql_parameterized_type() for column in metadata.columns] == ["int", "int"]
    # The type is a separate class, which decrypts.
    assert metadata.columns[1].type is not Int32Type
    assert list(metadata.server_columns) == columns("kc")
    second_metadata = decrypting(ResultMetadata(columns("kc")), policy)
    assert second_metadata.columns == metadata.columns  # equal types are created only once
    with_other_id = metadata.with_id(b"2")
    assert with_other_id.metadata_id == b"2"
    assert with_other_id.columns == metadata.columns
    assert metadata.with_id(b"1") is metadata
    assert metadata.with_vectors("list") is metadata
    assert metadata.with_vectors("array") is metadata.with_vectors("array")
    assert metadata.with_vectors("array").columns == metadata.columns
    assert decrypting(metadata, policy).columns == metadata.columns


def test_vectors_as_arrays() -> None:
    """If arrays were chosen for vectors, decrypted vectors are arrays, too."""
    policy = policy_of()
    metadata = decrypting(ResultMetadata(columns("v")), policy).with_vectors("array")
    body = page_of([(policy.encode_and_encrypt(column_of("v"), [0.5, 1.5]),)])
    ((value,),) = metadata.row_plan.tuples(body, 0, 1)
    assert (value.typecode, list(value)) == ("f", [0.5, 1.5])


def test_typed_rows_distinguish_encrypted_columns_from_others() -> None:
    """Typed rows do not mix up encrypted columns with others.

    Two clusters may share a row class, although only one of them has the policy.
    """
    from dataclasses import make_dataclass

    row_class = make_dataclass("Row", [("c", "int | bytes")])
    typed = TypedRows(row_class)
    plain = ResultMetadata(columns("c"), raw=b"specs")
    # Row classes cache how to build their rows by this key, so the keys must differ.
    assert plain.columns_key != decrypting(plain, policy_of()).columns_key
    assert typed.rows_of(decrypting(plain, policy_of()), [(1,)]) == [row_class(1)]
