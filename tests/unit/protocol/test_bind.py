"""Test `BindPlan`, which encodes values to the bytes of an EXECUTE request."""

from __future__ import annotations

import uuid
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from cassandra.errors import MissingParameter, UnsupportedOperation
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.unit.protocol.wire import columns


def test_bind_encodes_in_order(implementation: Implementation) -> None:
    """The bytes of a block are the encoded values in order, each after its length of four bytes."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, id="int32", name="text", data="blob"), [0]
    )
    block = plan.bind([7, "é", b""], version=4)
    assert block.count == 3
    assert len(block) == 3
    assert block.data == (
        # This is the number 7.
        b"\x00\x00\x00\x04" + b"\x00\x00\x00\x07"
        # This is é in UTF-8.
        b"\x00\x00\x00\x02" + b"\xc3\xa9"
        # This has no bytes.
        b"\x00\x00\x00\x00"
    )
    assert block.values() == [b"\x00\x00\x00\x07", b"\xc3\xa9", b""]
    assert not block.has_unset


def test_missing_values_are_unset(implementation: Implementation) -> None:
    """Values that are missing at the end are unset, like UNSET_VALUE."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32", c="int32", d="int32"),
        routing_key_indexes=None,
    )
    block = plan.bind((1, None, UNSET_VALUE), version=4)
    # A null is written as the length -1, and an unset value as the length -2.
    assert block.data == (
        b"\x00\x00\x00\x04\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xfe"
    )
    assert block.values() == [b"\x00\x00\x00\x01", None, UNSET_VALUE, UNSET_VALUE]
    assert block.count == 4
    assert block.has_unset
    assert plan.bind([], version=5).data == b"\xff\xff\xff\xfe" * 4


def test_version_3_has_no_unset(implementation: Implementation) -> None:
    """Protocol version 3 has no unset values: each bind marker needs a value, which may be null."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32"), routing_key_indexes=None
    )
    with pytest.raises(ValueError, match=r"Too few .* 1 given, 2 wanted \(a, b\)"):
        plan.bind([1], version=3)
    with pytest.raises(UnsupportedOperation, match="version 3"):
        plan.bind([1, UNSET_VALUE], version=3)
    assert plan.bind([1, None], version=3).count == 2


def test_too_many_values(implementation: Implementation) -> None:
    """The error for too many values says how many were passed and how many are needed."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32"), routing_key_indexes=None
    )
    with pytest.raises(ValueError, match=r"Too many .* 2 given, 1 wanted"):
        plan.bind([1, 2], version=4)


def test_errors_name_column_and_type(implementation: Implementation) -> None:
    """The error for a value that does not fit names the column, its type and the value."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, id="int32", age="int32"), routing_key_indexes=None
    )
    with pytest.raises(
        TypeError, match=r"column \"age\" \(int, \w+\): 'abc' \(str\) is not an integer"
    ):
        plan.bind([1, "abc"], version=4)
    with pytest.raises(ValueError, match=r"column \"age\" \(int, \w+\): 2147483648 "):
        plan.bind([1, 1 << 31], version=4)
    with pytest.raises(TypeError, match='column "id"'):
        plan.bind_row({"id": "x"}, version=4)


def test_names_without_a_marker_are_warned_of(implementation: Implementation) -> None:
    """A key of a row that is not a bind marker must be ignored with one warning per statement.

    There is a warning only if the row has as many keys as the statement has markers, because the
    key is probably misspelled then.
    """

    def plan_of(*names: str, key: tuple[int, ...] = ()) -> Any:
        """Return a plan for text columns with these names, which may occur twice.

        :param key: the indexes of the columns of the partition key.
        """
        text_columns = []
        for name in names:
            text_columns += columns(implementation.codecs, **{name: "text"})
        return implementation.bind.BindPlan(text_columns, list(key))

    # The driver recognizes a statement by its markers, so use markers that no other test has.
    marker = f"id_{uuid.uuid4().hex}"
    plan = plan_of(marker, "name")
    with pytest.warns(RuntimeWarning, match=r"Did you mean 'name' by 'nmae'\?"):
        plan.bind_row({marker: "1", "nmae": "x"}, version=4)
    plan.bind_row({marker: "1", "nmae": "x"}, version=4)
    camel_case = marker.replace("_", "")
    # A missing value of a key column is an error. The warning about the misspelled name comes
    # first.
    with (
        pytest.warns(RuntimeWarning, match=rf"Did you mean '{marker}' by '{camel_case}'\?"),
        pytest.raises(ValueError, match=marker),
    ):
        plan_of(marker, "town", key=(0,)).bind_row({camel_case: "1", "town": "x"}, version=4)
    # There must be no warning for names that are only similar or differ in a number: the additional
    # name may be for another statement.
    for used, unused in (("created_at", "created_to"), ("address1", "address2")):
        plan_of(marker, used).bind_row({marker: "1", unused: "x"}, version=4)
    # There must be no warning if all names have markers.
    plan_of(marker, "street").bind_row({marker: "1"}, version=4)
    plan_of(marker, "street", "street").bind_row({marker: "1", "street": "x"}, version=4)


def test_markers_of_cassandra_6_may_have_their_usual_names(
    implementation: Implementation,
) -> None:
    """Programs that bind mappings go on after an upgrade of the server."""
    types = {"k": "int32", "(c, d)[0]": "int32", "(c, d)[1]": "int32"}
    markers = columns(implementation.codecs, **types)
    plan = implementation.bind.BindPlan(markers, [0])
    expected = plan.bind_row((1, 2, 3), version=4).values()
    usual = {"k": 1, "c": 2, "d": 3}
    rows = [
        usual,
        {"k": 1, "(c, d)[0]": 2, "(c, d)[1]": 3},
        {"k": 1, "(c, d)[0]": 2, "d": 3},
        MappingProxyType(usual),
        SimpleNamespace(**usual),
    ]
    for row in rows:
        assert plan.bind_row(row, version=4).values() == expected
    strict_plan = implementation.bind.BindPlan(markers, [0], True)
    assert strict_plan.bind_row(usual, version=4).values() == expected
    with pytest.raises(ValueError, match="'e'"):
        strict_plan.bind_row(usual | {"e": 4}, version=4)
    with pytest.raises(MissingParameter, match="k"):
        plan.bind_row({"c": 2, "d": 3}, version=4)


def test_bind_row_takes_values_from_a_mapping(implementation: Implementation) -> None:
    """`bind_row` binds a mapping: missing names are unset, and names without a marker are ignored.

    In protocol version 3, a missing name is an error.
    """
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="text"), routing_key_indexes=None
    )
    assert plan.bind_row({"b": "x", "a": 1}, version=4) == plan.bind([1, "x"], version=4)
    assert plan.bind_row({"b": "x"}, version=4) == plan.bind([UNSET_VALUE, "x"], version=4)
    with pytest.raises(KeyError, match="'a'"):
        plan.bind_row({"b": "x"}, version=3)
    assert plan.bind_row({"c": 1, "a": 1}, version=4) == plan.bind([1], version=4)


def test_the_value_of_a_repeated_name_is_bound_twice(implementation: Implementation) -> None:
    """If two bind markers have the same name, the value in a mapping is bound for both."""
    column = columns(implementation.codecs, a="int32")[0]
    plan = implementation.bind.BindPlan([column, column], routing_key_indexes=None)
    assert plan.bind_row({"a": 5}, version=4) == plan.bind([5, 5], version=4)


def test_routing_key(implementation: Implementation) -> None:
    """The routing key is the value of a single key column, or a composite of several values."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="text", c="text"), [2, 0]
    )
    block = plan.bind([1, "b", "cc"], version=4)
    assert block.routing_key([0]) == b"\x00\x00\x00\x01"
    assert block.routing_key([1]) == b"b"
    # The composite must have the values in the order of the indexes (native_protocol_v5.spec,
    # section 4.2.5.4).
    assert block.routing_key([2, 0]) == b"\x00\x02cc\x00\x00\x04\x00\x00\x00\x01\x00"
    assert plan.routing_key_indexes == (2, 0)
    # If a column of the partition key is null or missing, there must be no routing key.
    assert plan.bind([None, "b", "cc"], version=4).routing_key([2, 0]) is None
    assert plan.bind([1], version=4).routing_key([1]) is None
    assert block.routing_key([]) is None


def test_a_part_of_a_composite_key_has_65535_bytes_at_most(implementation: Implementation) -> None:
    """A part of a composite routing key has at most 65,535 bytes; a single value has no limit.

    A composite has the length of each part in two bytes.
    """
    plan = implementation.bind.BindPlan(columns(implementation.codecs, a="blob", b="blob"), [0, 1])
    block = plan.bind([b"a" * 65536, b"b"], version=4)
    assert block.routing_key([0]) == b"a" * 65536
    with pytest.raises(ValueError, match="65536"):
        block.routing_key([0, 1])


def test_a_block_whose_count_and_data_differ_is_refused(implementation: Implementation) -> None:
    """Reading a value past the end of a block's data, or past its count, raises an error."""
    values_block = implementation.bind.ValuesBlock
    for block_data in (b"", b"\x00\x00", b"\x00\x00\x00\x05ab", b"\x7f\xff\xff\xff"):
        with pytest.raises(ValueError, match="block"):
            values_block(count=1, data=block_data).values()
        with pytest.raises(ValueError, match="block"):
            values_block(count=1, data=block_data).routing_key([0])
    with pytest.raises((ValueError, IndexError)):
        values_block(count=1, data=b"\x00\x00\x00\x01a").routing_key([1])


def test_a_routing_index_past_the_markers_is_refused(implementation: Implementation) -> None:
    """A routing key index without a bind marker is refused."""
    with pytest.raises(ValueError, match="routing key index 1"):
        implementation.bind.BindPlan(columns(implementation.codecs, a="int32"), [1])


def test_values_are_bound_as_they_were_although_encoding_shortens_the_list(
    implementation: Implementation,
) -> None:
    """`bind` copies the list first, so a value may shorten the list while it is encoded."""
    values: list[object] = [1, 2, 3]

    class ShorteningNumber:
        def __index__(self) -> int:
            del values[1:]
            return 5

    values[0] = ShorteningNumber()
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32", c="int32"), routing_key_indexes=None
    )
    block = plan.bind(values, version=4)
    assert block.values() == [b"\x00\x00\x00\x05", b"\x00\x00\x00\x02", b"\x00\x00\x00\x03"]


def test_a_value_may_use_the_plan_while_it_is_bound(implementation: Implementation) -> None:
    """A plan may be called again while it encodes a value, because it stores no state of a call."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32"), routing_key_indexes=None
    )

    class BindingNumber:
        def __index__(self) -> int:
            # This call binds two values, so `count` is 2.
            return int(plan.bind([40, 2], version=4).count)

    assert plan.bind([BindingNumber(), 9], version=4).values() == [
        b"\x00\x00\x00\x02",
        b"\x00\x00\x00\x09",
    ]
