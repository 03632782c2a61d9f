"""Test encrypted columns in bind plans, row plans and column plans.

A policy of the cluster encrypts the columns' values in the client, so the server only sees blobs.
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
from cassandra.cqltypes import (
    BytesType,
    FrozenType,
    Int32Type,
    ListType,
    SetType,
    TupleType,
    UTF8Type,
)
from cassandra.cqltypes.failures import EncodeTypeError
from cassandra.errors import DecodeError
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.columnar.layouts import layout_of
from cassandra.protocol.encrypted import bound_columns, decrypting
from cassandra.query.typed_rows import TypedRows
from cassandra.sentinels import UNSET_VALUE
from cassandra.util import Duration
from tests.conftest import Implementation
from tests.unit.protocol.pages import dumped, page_of
from tests.unit.protocol.wire import FakeColumn

KEY = bytes(range(32))
IV = bytes(range(16))
# the CQL types of the encrypted columns
TYPES = {"c": "int", "d": "text", "v": "vector<float, 2>"}


def column_of(name: str) -> ColDesc:
    """Return the description of a column of the table `ks.t`."""
    return ColDesc("ks", "t", name)


def policy_of(policy_class: Any = AES256ColumnEncryptionPolicy, **settings: Any) -> Any:
    """Return a policy that encrypts the columns of TYPES.

    :param policy_class: the class of the policy.
    :param settings: arguments of its constructor.
    """
    policy = policy_class(**settings)
    for name, cql_type in TYPES.items():
        policy.add_column(column_of(name), KEY, cql_type)
    return policy


@pytest.fixture(params=[AES256ColumnEncryptionPolicy, AESGCMColumnEncryptionPolicy])
def policy(request: pytest.FixtureRequest) -> Any:
    """Return a policy of each class in turn, which encrypts the columns of TYPES."""
    return policy_of(request.param)


class ReversingPolicy(ColumnEncryptionPolicy):
    """An application's policy, whose ciphertext is a star followed by the reversed value.

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
    """Return columns as a server describes them: "k" is an int, and encrypted columns are blobs.

    :param names: the names of the columns; each letter of a string is a name.
    :param others: the types of further columns that are not blobs.
    """
    types = {"k": Int32Type, **others}
    return [ColumnMetadata("ks", "t", name, types.get(name, BytesType)) for name in names]


def plan_of(
    implementation: Implementation, columns: Sequence[ColumnMetadata], key: Sequence[int] = (0,)
) -> Any:
    """Return a bind plan.

    :param key: the indexes of the partition key's columns.
    """
    fake_columns = [
        FakeColumn(described.name, described.type.build_codec(implementation.codecs))
        for described in columns
    ]
    return implementation.bind.BindPlan(fake_columns, key)


def row_plan(implementation: Implementation, metadata: ResultMetadata) -> Any:
    """Return a row plan, which decrypts rows if `decrypting` returned the metadata."""
    codecs = [column.type.build_codec(implementation.codecs) for column in metadata.columns]
    return implementation.rows.RowPlan(metadata.names, codecs)


def column_plan(implementation: Implementation, metadata: ResultMetadata) -> Any:
    """Return a reader of columns, which decrypts pages if `decrypting` returned the metadata."""
    types = [column.type for column in metadata.page_columns]
    return metadata.page_reader(
        implementation.column_buffers.ColumnPlan(
            metadata.names,
            [cql_type.build_codec(implementation.codecs) for cql_type in types],
            [layout_of(cql_type) for cql_type in types],
        )
    )


def test_values_are_encrypted_as_they_are_bound(
    implementation: Implementation, policy: Any
) -> None:
    """A value is encoded and encrypted when it is bound, and decrypted when its row is read."""
    plan = plan_of(implementation, bound_columns(columns(), policy))
    block = plan.bind((1, 1000, "ada", [0.5, 1.5]), version=4)
    k, c, d, v = block.values()
    assert k == b"\0\0\0\1"
    assert policy.decrypt(column_of("c"), c) == b"\0\0\x03\xe8"
    assert policy.decrypt(column_of("d"), d) == b"ada"
    assert policy.decrypt(column_of("v"), v) == b"\x3f\0\0\0\x3f\xc0\0\0"
    metadata = decrypting(ResultMetadata(columns()), policy)
    assert row_plan(implementation, metadata).tuples(block.data, offset=0, row_count=1) == [
        (1, 1000, "ada", [0.5, 1.5])
    ]


def test_nulls_and_unset_values_are_not_encrypted(
    implementation: Implementation, policy: Any
) -> None:
    """A null is not encrypted: servers see a null, and rows and columns have a null."""
    plan = plan_of(implementation, bound_columns(columns(), policy))
    block = plan.bind((1, None, UNSET_VALUE), version=4)
    assert block.values() == [b"\0\0\0\1", None, UNSET_VALUE, UNSET_VALUE]
    assert plan.bind_row({"k": 1, "c": None}, version=4) == plan.bind([1, None], version=4)
    metadata = decrypting(ResultMetadata(columns()), policy)
    body = plan.bind((1, None, None, None), version=4).data
    assert row_plan(implementation, metadata).tuples(body, offset=0, row_count=1) == [
        (1, None, None, None)
    ]
    # In this row, only the first column, "k", has a value.
    page = column_plan(implementation, metadata).read(body, offset=0, row_count=1)
    assert [column.null_count for column in page.children] == [0, 1, 1, 1]


@pytest.mark.parametrize("missing", ["numpy.ma.masked", "pandas.NA", "pandas.NaT"])
def test_nulls_of_other_libraries(
    implementation: Implementation, policy: Any, missing: str
) -> None:
    """Missing values of other libraries must be bound as null, which is never encrypted."""
    module, _, name = missing.rpartition(".")
    value = getattr(pytest.importorskip(module), name)
    plan = plan_of(implementation, bound_columns(columns("kc"), policy))
    assert plan.bind((1, value), version=4) == plan.bind((1, None), version=4)


def test_empty_texts_are_encrypted(implementation: Implementation, policy: Any) -> None:
    """An empty text is encrypted, so its ciphertext is not empty."""
    plan = plan_of(implementation, bound_columns(columns("kd"), policy))
    body = plan.bind((1, ""), version=4).data
    # The length and the value of "k" take 8 bytes, and the length of "d" takes 4. The remaining
    # bytes are the ciphertext of the empty text.
    assert len(body) > 8 + 4
    metadata = decrypting(ResultMetadata(columns("kd")), policy)
    assert row_plan(implementation, metadata).tuples(body, offset=0, row_count=1) == [(1, "")]


def test_many_rows_of_many_columns(implementation: Implementation) -> None:
    """If every second of 40 columns is encrypted, all ways to read rows return the bound values."""
    policy = AES256ColumnEncryptionPolicy()
    names = [f"c{index}" for index in range(40)]
    for name in names[::2]:
        policy.add_column(column_of(name), KEY, "int")
    server_columns = columns(names, **dict.fromkeys(names[1::2], Int32Type))
    rng = random.Random(5)
    rows = []
    for row_number in range(50):
        other_values = [rng.choice([None, rng.getrandbits(31)]) for _ in names[1:]]
        rows.append((row_number, *other_values))
    block = plan_of(implementation, bound_columns(server_columns, policy)).bind_many(
        rows, version=4
    )
    body = b"".join(bound.data for bound in block.rows())
    metadata = decrypting(ResultMetadata(server_columns), policy)
    decrypting_plan = row_plan(implementation, metadata)
    assert decrypting_plan.tuples(body, offset=0, row_count=50) == rows
    assert list(decrypting_plan.iterate(body, offset=0, row_count=50)) == rows
    assert decrypting_plan.dicts(body, offset=0, row_count=50) == [
        dict(zip(names, row, strict=True)) for row in rows
    ]
    assert decrypting_plan.columns(body, offset=0, row_count=50) == [
        list(column) for column in zip(*rows, strict=True)
    ]
    plain_metadata = ResultMetadata(columns(names, **dict.fromkeys(names, Int32Type)))
    # Compare the columns with columns of a page that is not encrypted.
    plain_block = plan_of(implementation, plain_metadata.columns).bind_many(rows, version=4)
    plain_body = b"".join(bound.data for bound in plain_block.rows())
    plain_plan = column_plan(implementation, plain_metadata)
    expected = plain_plan.read(plain_body, offset=0, row_count=50)
    page = column_plan(implementation, metadata).read(b"head" + body, offset=4, row_count=50)
    assert dumped(page) == dumped(expected)


def test_both_implementations_encrypt_alike(compiled: Implementation) -> None:
    """Both implementations encrypt to the same bytes.

    With a fixed initialization vector, encryption is deterministic.
    """
    encrypting_columns = bound_columns(columns(), policy_of(iv=IV))
    values = (1, 2, "ada", [1.0, 2.0])
    python_plan = plan_of(Implementation("python"), encrypting_columns)
    compiled_plan = plan_of(compiled, encrypting_columns)
    python_block = python_plan.bind(values, version=4)
    assert python_block.data == compiled_plan.bind(values, version=4).data


def test_a_routing_key_is_made_of_encrypted_bytes(implementation: Implementation) -> None:
    """The routing key consists of encrypted bytes, from which servers compute a row's token."""
    policy = policy_of(iv=IV)
    block = plan_of(implementation, bound_columns(columns("cd"), policy), [0]).bind(
        (7, "x"), version=4
    )
    assert block.routing_key([0]) == policy.encode_and_encrypt(column_of("c"), 7)
    assert block.routing_key([1, 0]) == implementation.bind.composite_key(
        [
            policy.encode_and_encrypt(column_of("d"), "x"),
            policy.encode_and_encrypt(column_of("c"), 7),
        ]
    )


@pytest.mark.parametrize(
    ("cql_type", "value"),
    [
        ("set<int>", [3, 1]),
        ("map<text, int>", {"b": 1, "a": 2}),
        ("list<frozen<set<int>>>", [[3, 1]]),
        ("frozen<set<int>>", [3, 1]),
    ],
)
@pytest.mark.parametrize("is_complete", [True, False])
def test_encrypted_keys_with_sets_and_maps_keep_their_bytes(
    implementation: Implementation, is_complete: bool, cql_type: str, value: Any
) -> None:
    """The bytes of an encrypted set or map in a partition key have no elements to sort."""
    policy = policy_of(iv=IV)
    policy.add_column(column_of("k"), KEY, cql_type)
    bound = bound_columns([ColumnMetadata("ks", "t", "k", BytesType)], policy, is_complete)
    block = implementation.bind.BindPlan(bound, [0]).bind((value,), version=4)
    assert block.values() == [policy.encode_and_encrypt(column_of("k"), value)]


@pytest.mark.parametrize(
    ("cql_type", "value", "equal_value"),
    [
        ("set<int>", [300, 1, 2], [1, 2, 300, 1]),
        ("set<text>", ["b", "a"], ["a", "b"]),
        ("set<duration>", [Duration(2), Duration(1)], [Duration(1), Duration(2)]),
        ("set<frozen<map<text, int>>>", [{"b": 1, "a": 2}, {}], [{}, {"a": 2, "b": 1}]),
        ("map<text, int>", {"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ("map<int, frozen<set<int>>>", {2: [], 1: [3, 1]}, {1: [1, 3], 2: []}),
        ("list<frozen<set<int>>>", [[3, 1]], [[1, 3]]),
        ("tuple<set<int>, map<int, int>>", ([3, 1], {2: 1, 1: 1}), ([1, 3], {1: 1, 2: 1})),
    ],
)
@pytest.mark.parametrize("is_complete", [True, False])
def test_equal_sets_and_maps_have_equal_bytes(
    implementation: Implementation, is_complete: bool, cql_type: str, value: Any, equal_value: Any
) -> None:
    """With a fixed initialization vector, rows are found by a set or map in whatever order."""
    policy = policy_of(iv=IV)
    policy.add_column(column_of("d"), KEY, cql_type)
    plan = plan_of(implementation, bound_columns(columns("kd"), policy, is_complete))
    block = plan.bind((1, value), version=4)
    assert block == plan.bind((1, equal_value), version=4)
    assert block.values()[1] == policy.encode_and_encrypt(column_of("d"), value)
    assert block.values()[1] == policy.encode_and_encrypt(column_of("d"), equal_value)
    # The value that was read finds the row, too.
    metadata = decrypting(ResultMetadata(columns("kd")), policy)
    (row,) = row_plan(implementation, metadata).tuples(block.data, offset=0, row_count=1)
    assert plan.bind(row, version=4) == block


def test_frozen_sets_have_equal_bytes(implementation: Implementation) -> None:
    """A policy may have a class as the type of a column, here a frozen set."""
    policy = ReversingPolicy()
    set_type = SetType.apply_parameters((Int32Type,))
    policy.columns["d"] = FrozenType.apply_parameters((set_type,))
    plan = plan_of(implementation, bound_columns(columns("kd"), policy))
    encrypted = policy.encrypt(column_of("d"), set_type.to_binary([1, 3], 4))
    assert plan.bind((1, [3, 1]), version=4).values()[1] == encrypted


def test_sets_are_sorted_until_they_are_encrypted(implementation: Implementation) -> None:
    """If a policy may encrypt further columns, sets of keys and tuples are in the server's order.

    Once the column is encrypted, the set is in this order before it is encrypted.
    """
    policy = ReversingPolicy()
    set_type = SetType.apply_parameters((Int32Type,))
    pair = TupleType.apply_parameters((set_type, Int32Type))
    markers = [ColumnMetadata("ks", "t", "d", set_type), ColumnMetadata("ks", "t", "(d,k)", pair)]
    plan = implementation.bind.BindPlan(bound_columns(markers, policy, is_complete=False), [0])
    unsorted = plan.bind(([3, 1], ([3, 1], 5)), version=4).values()
    assert unsorted == [set_type.to_binary([1, 3], 4), pair.to_binary(([1, 3], 5), 4)]
    blobs = [ColumnMetadata("ks", "t", "d", BytesType)]
    plan = implementation.bind.BindPlan(bound_columns(blobs, policy, is_complete=False), [0])
    policy.columns["d"] = set_type
    encrypted = policy.encrypt(column_of("d"), set_type.to_binary([1, 3], 4))
    assert plan.bind(([3, 1],), version=4).values() == [encrypted]


def test_a_value_that_does_not_fit_is_not_shown(
    implementation: Implementation, policy: Any
) -> None:
    """The error for a value that does not fit shows the value's class, but not the secret value."""
    plan = plan_of(implementation, bound_columns(columns(), policy))
    # The column is an int: the first value is not a number, and the second does not fit 32 bits.
    for value in ("hunter2", 1 << 77):
        with pytest.raises(
            TypeError,
            match=r'column "c" \(int, \w+\): ks\.t\.c is encrypted and takes int: this (str|int) ',
        ) as info:
            plan.bind((1, value), version=4)
        assert str(value) not in str(info.value)


@pytest.mark.parametrize(
    ("cql_type", "value", "topic"),
    [("timestamp", 1_700_000_123, "units of timestamps"), ("date", 20_240_131, "days of dates")],
)
def test_a_warning_does_not_show_the_value(
    implementation: Implementation, cql_type: str, value: int, topic: str
) -> None:
    """A warning of a probable mistake names the encrypted column, but shows no digit of a value."""
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(column_of("c"), KEY, cql_type)
    plan = plan_of(implementation, bound_columns(columns("kc"), policy))
    with pytest.warns(RuntimeWarning, match=rf"ks\.t\.c: .* {topic}") as caught:
        plan.bind((1, value), version=4)
    assert [str(value)[:3] in str(warning.message) for warning in caught] == [False]


def test_elements_of_a_list_for_in_are_encrypted(implementation: Implementation) -> None:
    """The list for `c IN ?` is encrypted element by element.

    Servers describe the marker as "in(c)", a list of the column's type.
    """
    policy = policy_of(iv=IV)
    blobs = ListType.apply_parameters((BytesType,))
    encrypted_marker = ColumnMetadata("ks", "t", "in(c)", blobs)
    plain_marker = ColumnMetadata("ks", "t", "in(x)", blobs)
    markers = bound_columns([encrypted_marker, plain_marker], policy)
    block = plan_of(implementation, markers, key=()).bind(([1, 2], [b"1"]), version=4)
    encrypted = [policy.encode_and_encrypt(column_of("c"), value) for value in (1, 2)]
    assert block.values() == [blobs.to_binary(encrypted, 4), blobs.to_binary([b"1"], 4)]
    # A null element of the list is not encrypted.
    markers = bound_columns([encrypted_marker], policy)
    block = plan_of(implementation, markers, key=()).bind(([1, None],), version=4)
    assert block.values() == [blobs.to_binary([encrypted[0], None], 4)]


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize("names", [("(k,c)", "in(k,c)"), ("(k, c)", "in((k, c))")])
def test_tuples_of_columns_are_encrypted(
    implementation: Implementation, is_complete: bool, names: tuple[str, str]
) -> None:
    """Values of encrypted columns inside tuples, such as `(k, c) > ?`, are encrypted.

    :param is_complete: whether no column can be added to the policy later.
    :param names: the names of the markers of `(k, c) > ?` and of `(k, c) IN ?`, from Cassandra 5 or
        6.
    """
    policy = policy_of(iv=IV)
    pair = TupleType.apply_parameters((Int32Type, BytesType))
    pairs = ListType.apply_parameters((pair,))
    other_pair = TupleType.apply_parameters((Int32Type, Int32Type))
    server_markers = [
        ColumnMetadata("ks", "t", names[0], pair),
        ColumnMetadata("ks", "t", names[1], pairs),
        ColumnMetadata("ks", "t", "(k,l)", other_pair),
        # This marker has the name of a tuple, but is not a tuple.
        ColumnMetadata("ks", "t", "(k,c)", BytesType),
    ]
    markers = bound_columns(server_markers, policy, is_complete)
    # Markers without encrypted columns stay as they are, unless columns may be added later.
    if is_complete:
        assert markers[2:] == server_markers[2:]
    block = plan_of(implementation, markers, key=()).bind(
        ((1, 5), [(1, 5), (2, None)], (3, 4), b"x"), version=4
    )
    encrypted = policy.encode_and_encrypt(column_of("c"), 5)
    assert block.values() == [
        pair.to_binary((1, encrypted), 4),
        pairs.to_binary([(1, encrypted), (2, None)], 4),
        other_pair.to_binary((3, 4), 4),
        b"x",
    ]


def test_a_tuple_of_one_column_is_encrypted(implementation: Implementation) -> None:
    """The value for `(c) = ?` is encrypted; servers describe this marker as "(c)", a tuple."""
    policy = policy_of(iv=IV)
    single = TupleType.apply_parameters((BytesType,))
    markers = bound_columns([ColumnMetadata("ks", "t", "(c)", single)], policy)
    block = plan_of(implementation, markers, key=()).bind(((5,),), version=4)
    encrypted = policy.encode_and_encrypt(column_of("c"), 5)
    assert block.values() == [single.to_binary((encrypted,), 4)]


@pytest.mark.parametrize("is_complete", [True, False])
def test_names_of_encrypted_columns_may_contain_commas(
    implementation: Implementation, is_complete: bool
) -> None:
    """Servers describe the marker of ``(k, "c,d", e) = ?`` as "(k,c,d,e)".

    :param is_complete: whether no column can be added to the policy later.
    """
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(column_of("c,d"), KEY, "blob")
    tuple_type = TupleType.apply_parameters((BytesType,) * 3)
    for name, position in (("(k,c,d,e)", 1), ("(c,d,k,e)", 0), ("(e,k,c,d)", 2)):
        markers = [ColumnMetadata("ks", "t", name, tuple_type)]
        (marker,) = bound_columns(markers, policy, is_complete)
        values = [b"x"] * 3
        (data,) = plan_of(implementation, [marker], key=()).bind((tuple(values),), 4).values()
        values[position] = policy.encrypt(column_of("c,d"), b"x")
        assert data == tuple_type.to_binary(tuple(values), 4)


@pytest.mark.parametrize("name", ["in(c)", "in((c))"])
def test_tuples_of_one_column_in_a_list_are_encrypted(
    implementation: Implementation, name: str
) -> None:
    """The values for `(c) IN ?` are encrypted; servers describe this marker as a list of tuples."""
    policy = policy_of(iv=IV)
    singles = ListType.apply_parameters((TupleType.apply_parameters((BytesType,)),))
    markers = bound_columns([ColumnMetadata("ks", "t", name, singles)], policy)
    block = plan_of(implementation, markers, key=()).bind(([(5,), (6,)],), version=4)
    encrypted = [policy.encode_and_encrypt(column_of("c"), value) for value in (5, 6)]
    assert block.values() == [singles.to_binary([(value,) for value in encrypted], 4)]


def test_markers_in_a_tuple_are_encrypted(implementation: Implementation) -> None:
    """Cassandra 6 names the markers of `(k, c) > (?, ?)` by their positions."""
    policy = policy_of(iv=IV)
    server_markers = [
        ColumnMetadata("ks", "t", "(k, c)[0]", Int32Type),
        ColumnMetadata("ks", "t", "(k, c)[1]", BytesType),
    ]
    markers = bound_columns(server_markers, policy)
    block = plan_of(implementation, markers, key=()).bind((1, 5), version=4)
    assert block.values()[1] == policy.encode_and_encrypt(column_of("c"), 5)


def test_a_column_may_have_the_name_of_a_marker(implementation: Implementation) -> None:
    """The column itself counts if the policy encrypts one with this name."""
    policy = policy_of(iv=IV)
    column = ColDesc("ks", "t", "(k, c)[0]")
    policy.add_column(column, KEY, "int")
    markers = bound_columns([ColumnMetadata(*column, BytesType)], policy)
    block = plan_of(implementation, markers, key=()).bind((5,), version=4)
    assert block.values() == [policy.encode_and_encrypt(column, 5)]


def test_named_markers_are_encrypted_as_their_columns(implementation: Implementation) -> None:
    """A named marker is encrypted like the columns that it is used for in the statement.

    Servers describe the marker of `SET c = :other` by its own name.
    """
    policy = policy_of(iv=IV)
    blobs = ListType.apply_parameters((BytesType,))
    markers = [
        ColumnMetadata("ks", "t", "other", BytesType),
        ColumnMetadata("ks", "t", "some", blobs),
        ColumnMetadata("ks", "t", "x", BytesType),
    ]
    named = {"other": {"c"}, "some": {"in(c)"}, "x": {"y"}}
    element = ColumnMetadata(*markers[0][:2], "c", BytesType)
    assert bound_columns([element], policy, named={"c": {"value(m)"}}) == [element]
    block = plan_of(implementation, bound_columns(markers, policy, named=named), key=()).bind(
        (5, [6], b"x"), version=4
    )
    encrypted = [policy.encode_and_encrypt(column_of("c"), value) for value in (5, 6)]
    assert block.values() == [encrypted[0], blobs.to_binary(encrypted[1:], 4), b"x"]
    # The marker of a column that is not encrypted may have the name of an encrypted column.
    markers_of_plain = [ColumnMetadata("ks", "t", "c", BytesType)]
    plain = bound_columns(markers_of_plain, policy, named={"c": {"y"}})
    assert plan_of(implementation, plain, key=()).bind((b"x",), version=4).values() == [b"x"]
    # A marker that is used for an encrypted and another column is refused, because the other column
    # must keep its plain value.
    markers = bound_columns(markers[:1], policy, named={"other": {"c", "y"}})
    with pytest.raises(EncodeTypeError, match=r":other stands for c, y of ks\.t, "):
        plan_of(implementation, markers, key=()).bind((b"x",), version=4)


@pytest.mark.parametrize("is_complete", [True, False])
def test_values_of_unknown_columns_are_refused(
    implementation: Implementation, is_complete: bool
) -> None:
    """A named marker whose column is not known may belong to an encrypted column.

    :param is_complete: whether no column can be added to the policy later.
    """
    policy = ReversingPolicy()
    blobs = ListType.apply_parameters((BytesType,))
    unknown = {"x": ["y", "c", "d"], "n": ["c"], "plain": ["d", "y"], "c": ["c"], "twice": ["c"]}
    named = {"twice": ["c"]}

    def bind(name: str, cql_type: Any, value: Any) -> Any:
        markers = [ColumnMetadata("ks", "t", name, cql_type)]
        bound = bound_columns(markers, policy, is_complete, named=named, unknown=unknown)
        return plan_of(implementation, bound, key=()).bind((value,), version=4).values()

    for name, cql_type, value in [
        ("x", BytesType, b"secret"),
        ("x", blobs, [b"secret"]),
        ("twice", BytesType, 5),  # in one position, it belongs to the column "c"
    ]:
        with pytest.raises(
            EncodeTypeError, match=rf":{name} belong to, and ks\.t\.c must not .*: write \?"
        ) as info:
            bind(name, cql_type, value)
        assert "secret" not in str(info.value)
    # An encrypted column is a blob, so numbers are not encrypted.
    assert bind("n", Int32Type, 5) == [b"\0\0\0\5"]
    # The statement names no encrypted column.
    assert bind("plain", BytesType, b"x") == [b"x"]
    # The marker has the name of an encrypted column.
    assert bind("c", BytesType, 5) == [policy.encrypt(column_of("c"), b"\0\0\0\5")]
    assert bind("x", BytesType, None) == [None]


def test_values_of_unknown_columns_are_refused_once_a_column_is_encrypted(
    implementation: Implementation,
) -> None:
    """A policy may encrypt further columns without notice."""
    policy = ReversingPolicy()
    policy.columns = {}
    markers = [ColumnMetadata("ks", "t", "x", BytesType)]
    bound = bound_columns(markers, policy, is_complete=False, unknown={"x": ["d"]})
    plan = plan_of(implementation, bound, key=())
    assert plan.bind((b"x",), version=4).values() == [b"x"]
    policy.columns = {"d": Int32Type}
    with pytest.raises(EncodeTypeError, match=r"ks\.t\.d must not be sent unencrypted"):
        plan.bind((b"x",), version=4)


def test_keys_in_tuples_and_lists_are_refused_by_a_random_cipher(
    implementation: Implementation,
) -> None:
    """With a random cipher, encrypted key columns in tuples and lists are refused.

    The same value has another ciphertext each time, so no row would be found.
    """
    policy = policy_of(AESGCMColumnEncryptionPolicy)
    pair = TupleType.apply_parameters((Int32Type, BytesType))
    # These are the markers of ``c IN ?`` and of ``(k, c) = ?``, and a marker that has the name
    # "other".
    for name, cql_type, value in [
        ("in(c)", ListType.apply_parameters((BytesType,)), [5]),
        ("(k,c)", pair, (1, 5)),
        ("other", BytesType, 5),
    ]:
        marker = ColumnMetadata("ks", "t", name, cql_type)
        markers = bound_columns(
            [marker], policy, key_names=["k", "c", "other"], named={"other": {"c"}}
        )
        with pytest.raises(EncodeTypeError, match="never be found again"):
            plan_of(implementation, markers, key=()).bind((value,), version=4)


def test_nulls_inside_an_encrypted_list_come_back(implementation: Implementation) -> None:
    """An encrypted list is encrypted as a whole, so the nulls among its elements are kept."""
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(column_of("l"), KEY, "list<int>")
    specs = [ColumnMetadata("ks", "t", "l", BytesType)]
    block = plan_of(implementation, bound_columns(specs, policy), key=()).bind(
        ([1, None],), version=4
    )
    metadata = decrypting(ResultMetadata(specs), policy)
    assert row_plan(implementation, metadata).tuples(block.data, offset=0, row_count=1) == [
        ([1, None],)
    ]


# -- errors ----------------------------------------------------------------------------------------

PLAIN = b"\0\0\0\1"


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"", "is encrypted, but this value has no bytes"),
        (b"1234", "cannot be decrypted: 4 bytes are not"),
        (bytes(64), "cannot be decrypted: "),
    ],
)
def test_bytes_that_cannot_be_decrypted(
    implementation: Implementation, policy: Any, damaged: bytes, reason: str
) -> None:
    """The error for bytes that cannot be decrypted names the row, the column and the reason.

    This holds for pages that are decoded by row or by column.
    """
    metadata = decrypting(ResultMetadata(columns("kc")), policy)
    encrypted = policy.encrypt(column_of("c"), PLAIN)
    body = page_of([(PLAIN, encrypted), (PLAIN, damaged)])
    message = rf'row 1, column "c" \(int\): ks\.t\.c {reason}'
    with pytest.raises(DecodeError, match=message):
        row_plan(implementation, metadata).tuples(body, offset=0, row_count=2)
    with pytest.raises(DecodeError, match=message):
        list(row_plan(implementation, metadata).iterate(body, offset=0, row_count=2))
    with pytest.raises(DecodeError, match=message):
        column_plan(implementation, metadata).read(body, offset=0, row_count=2)


def test_a_value_of_another_type(implementation: Implementation, policy: Any) -> None:
    """The error for a decrypted value of another type does not show the value."""
    metadata = decrypting(ResultMetadata(columns("c")), policy)
    body = page_of([(policy.encrypt(column_of("c"), b"secret text"),)])
    with pytest.raises(
        DecodeError, match=r"ks\.t\.c was decrypted to 11 bytes that are not a value of int"
    ) as info:
        row_plan(implementation, metadata).tuples(body, offset=0, row_count=1)
    assert "secret" not in str(info.value)


def test_a_truncated_page_is_an_error(implementation: Implementation, policy: Any) -> None:
    """A page of two rows that is truncated anywhere raises DecodeError, for rows and columns."""
    metadata = decrypting(ResultMetadata(columns("kc")), policy)
    body = page_of([(PLAIN, policy.encrypt(column_of("c"), PLAIN))] * 2)
    read_rows = row_plan(implementation, metadata).tuples
    read_columns = column_plan(implementation, metadata).read
    for size in range(len(body)):
        for read in (read_rows, read_columns):
            with pytest.raises(DecodeError):
                read(body[:size], offset=0, row_count=2)


def test_a_column_that_is_not_a_blob(implementation: Implementation, policy: Any) -> None:
    """If an encrypted column is not a blob on the server, binding or reading a value is an error.

    The error names both types. Null can still be bound.
    """
    server_columns = columns("kc", c=UTF8Type)
    reason = r"ks\.t\.c is encrypted, so it has to be a blob on the server, but it is text"
    with pytest.raises(TypeError, match=rf'column "c" .*{reason}'):
        plan_of(implementation, bound_columns(server_columns, policy)).bind((1, 2), version=4)
    metadata = decrypting(ResultMetadata(server_columns), policy)
    with pytest.raises(DecodeError, match=rf'row 0, column "c" .*{reason}'):
        row_plan(implementation, metadata).tuples(page_of([(PLAIN, b"x")]), offset=0, row_count=1)
    plan = plan_of(implementation, bound_columns(server_columns, policy))
    assert plan.bind((1, None), version=4).values()[1] is None


# -- policies of applications ----------------------------------------------------------------------


def test_columns_added_to_an_application_s_policy_are_encrypted(
    implementation: Implementation,
) -> None:
    """With is_complete=False, columns that are added to the policy later are encrypted, too.

    So a column is looked up for each value, and its values are never sent as plain bytes once the
    column is encrypted.
    """
    policy = ReversingPolicy()
    plan = plan_of(implementation, bound_columns(columns("kcd"), policy, is_complete=False))
    # The policy encrypts a value to "*" and its reversed bytes.
    assert plan.bind((1, 2, b"x"), version=4).values() == [PLAIN, b"*\2\0\0\0", b"x"]
    policy.columns["d"] = UTF8Type
    assert plan.bind((1, 2, "ab"), version=4).values()[2] == b"*ba"
    metadata = decrypting(ResultMetadata(columns("kcd")), policy)
    body = plan.bind((1, 2, "ab"), version=4).data
    assert row_plan(implementation, metadata).tuples(body, offset=0, row_count=1) == [(1, 2, "ab")]


def test_errors_of_an_application_s_policy_name_the_column(
    implementation: Implementation,
) -> None:
    """An error of the application's policy is raised as DecodeError that names the column."""
    metadata = decrypting(ResultMetadata(columns("c")), ReversingPolicy())
    read_rows = row_plan(implementation, metadata).tuples
    read_columns = column_plan(implementation, metadata).read
    for read in (read_rows, read_columns):
        with pytest.raises(DecodeError, match=r"ks\.t\.c cannot be decrypted: no star"):
            read(page_of([(b"x",)]), offset=0, row_count=1)


# -- metadata --------------------------------------------------------------------------------------


def test_metadata_without_encrypted_columns_is_unchanged(policy: Any) -> None:
    """`decrypting` and `bound_columns` return the same objects if no column is encrypted."""
    metadata = ResultMetadata(columns("kx"))
    assert decrypting(metadata, policy) is metadata
    assert decrypting(metadata, policy=None) is metadata
    server_columns = columns("kx")
    bound = bound_columns(server_columns, policy)
    for bound_column, server_column in zip(bound, server_columns, strict=True):
        assert bound_column is server_column


def test_metadata_of_encrypted_columns(policy: Any) -> None:
    """`columns` has the types of the decrypted values, and `types` has the server's types.

    Copies of the metadata still decrypt.
    """
    source = ResultMetadata(columns("kc"), raw=b"specs", metadata_id=b"1")
    metadata = decrypting(source, policy)
    assert metadata.types == [Int32Type, BytesType]  # the server's types
    assert [column.type.cql_parameterized_type() for column in metadata.columns] == ["int", "int"]
    # The type is a separate class, which decrypts and then decodes the value.
    assert metadata.columns[1].type is not Int32Type
    assert list(metadata.server_columns) == columns("kc")
    second_metadata = decrypting(ResultMetadata(columns("kc")), policy)
    assert second_metadata.columns == metadata.columns  # Equal types are created only once.
    with_other_id = metadata.with_id(b"2")
    assert with_other_id.metadata_id == b"2"
    assert with_other_id.columns == metadata.columns
    assert metadata.with_id(b"1") is metadata
    assert metadata.with_vectors("list") is metadata
    assert metadata.with_vectors("array") is metadata.with_vectors("array")
    assert metadata.with_vectors("array").columns == metadata.columns
    assert decrypting(metadata, policy).columns == metadata.columns


def test_vectors_as_arrays() -> None:
    """If the application has chosen arrays for vectors, encrypted vectors become arrays, too."""
    policy = policy_of()
    metadata = decrypting(ResultMetadata(columns("v")), policy).with_vectors("array")
    body = page_of([(policy.encode_and_encrypt(column_of("v"), [0.5, 1.5]),)])
    ((vector,),) = metadata.row_plan.tuples(body, offset=0, row_count=1)
    assert vector.typecode == "f"
    assert list(vector) == [0.5, 1.5]


def test_typed_rows_distinguish_encrypted_columns_from_others() -> None:
    """Typed rows do not confuse encrypted columns with columns that are not encrypted.

    Two clusters may share a row class, although only one of them has the policy.
    """
    from dataclasses import make_dataclass

    row_class = make_dataclass("Row", [("c", "int | bytes")])
    typed = TypedRows(row_class)
    plain = ResultMetadata(columns("c"), raw=b"specs")
    # Row classes cache how to build their rows by this key, so the keys must differ.
    assert plain.columns_key != decrypting(plain, policy_of()).columns_key
    assert typed.rows_of(decrypting(plain, policy_of()), [(1,)]) == [row_class(1)]
