"""Bind plans, which encode values as the bytes of an EXECUTE request.

The last argument of `bind` and of similar methods is the protocol version.
"""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.errors import UnsupportedOperation
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.unit.protocol.wire import columns


def test_bind_encodes_in_order(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, id="int32", name="text", data="blob"), [0]
    )
    block = plan.bind([7, "é", b""], 4)
    assert block.count == len(block) == 3
    assert block.data == b"\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x02\xc3\xa9\x00\x00\x00\x00"
    assert block.values() == [b"\x00\x00\x00\x07", b"\xc3\xa9", b""]
    assert not block.has_unset


def test_missing_values_are_unset(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32", c="int32", d="int32"),
        routing_key_indexes=None,
    )
    block = plan.bind((1, None, UNSET_VALUE), 4)
    assert (
        block.data
        == b"\x00\x00\x00\x04\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xfe"
    )
    # The length of a null is written as -1, and that of UNSET_VALUE as -2.
    assert block.values() == [b"\x00\x00\x00\x01", None, UNSET_VALUE, UNSET_VALUE]
    assert block.count == 4
    assert block.has_unset
    assert plan.bind([], 5).data == b"\xff\xff\xff\xfe" * 4


def test_version_3_has_no_unset(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32"), routing_key_indexes=None
    )
    with pytest.raises(ValueError, match=r"Too few .* 1 given, 2 wanted \(a, b\)"):
        plan.bind([1], 3)
    with pytest.raises(UnsupportedOperation, match="version 3"):
        plan.bind([1, UNSET_VALUE], 3)
    assert plan.bind([1, None], 3).count == 2


def test_too_many_values(implementation: Implementation) -> None:
    """If there are too many values, the error says how many there are and how many are needed."""
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32"), routing_key_indexes=None
    )
    with pytest.raises(ValueError, match=r"Too many .* 2 given, 1 wanted"):
        plan.bind([1, 2], 4)


def test_errors_name_column_and_type(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, id="int32", age="int32"), routing_key_indexes=None
    )
    with pytest.raises(
        TypeError, match=r"column \"age\" \(int, \w+\): 'abc' \(str\) is not an integer"
    ):
        plan.bind([1, "abc"], 4)
    with pytest.raises(ValueError, match=r"column \"age\" \(int, \w+\): 2147483648 "):
        plan.bind([1, 1 << 31], 4)
    with pytest.raises(TypeError, match='column "id"'):
        plan.bind_row({"id": "x"}, 4)


def test_names_without_a_marker_are_logged(
    implementation: Implementation, caplog: pytest.LogCaptureFixture
) -> None:
    def plan_of(*names: str, key: tuple[int, ...] = ()) -> Any:
        texts = [
            column for name in names for column in columns(implementation.codecs, **{name: "text"})
        ]
        return implementation.bind.BindPlan(texts, list(key))

    # The driver recognises a statement by its markers, so use markers that no other test has.
    marker = f"id_{uuid.uuid4().hex}"
    plan = plan_of(marker, "name")
    for _ in range(2):
        plan.bind_row({marker: "1", "nmae": "x"}, 4)  # as many keys as markers
    (message,) = [record.getMessage() for record in caplog.records]
    assert "Did you mean 'name' by 'nmae'?" in message
    caplog.clear()
    # A key column's missing value is an error; its misspelt key is logged before.
    with pytest.raises(ValueError, match=marker):
        plan_of(marker, "town", key=(0,)).bind_row({f"{marker}s": "1", "town": "x"}, 4)
    (message,) = [record.getMessage() for record in caplog.records]
    assert f"Did you mean '{marker}' by '{marker}s'?" in message
    caplog.clear()
    # Nothing is logged if all names have markers.
    plan_of(marker, "street").bind_row({marker: "1"}, 4)
    plan_of(marker, "street", "street").bind_row({marker: "1", "street": "x"}, 4)
    assert not caplog.records


def test_bind_row_takes_values_from_a_mapping(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="text"), routing_key_indexes=None
    )
    assert plan.bind_row({"b": "x", "a": 1}, 4) == plan.bind([1, "x"], 4)
    assert plan.bind_row({"b": "x"}, 4) == plan.bind([UNSET_VALUE, "x"], 4)
    with pytest.raises(KeyError, match="'a'"):
        plan.bind_row({"b": "x"}, 3)
    assert plan.bind_row({"c": 1, "a": 1}, 4) == plan.bind([1], 4)


def test_the_value_of_a_repeated_name_is_bound_twice(implementation: Implementation) -> None:
    column = columns(implementation.codecs, a="int32")[0]
    plan = implementation.bind.BindPlan([column, column], routing_key_indexes=None)
    assert plan.bind_row({"a": 5}, 4) == plan.bind([5, 5], 4)


def test_routing_key(implementation: Implementation) -> None:
    """With one key column, the routing key is its value; with several, it is a composite of their
    values.
    """
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="text", c="text"), [2, 0]
    )
    block = plan.bind([1, "b", "cc"], 4)
    assert block.routing_key([0]) == b"\x00\x00\x00\x01"
    assert block.routing_key([1]) == b"b"
    # The composite has the values in the order of the indexes (native_protocol_v5.spec, section
    # 4.2.5.4).
    assert block.routing_key([2, 0]) == b"\x00\x02cc\x00\x00\x04\x00\x00\x00\x01\x00"
    assert plan.routing_key_indexes == (2, 0)
    # If a column of the partition key is null or missing, there is no routing key.
    assert plan.bind([None, "b", "cc"], 4).routing_key([2, 0]) is None
    assert plan.bind([1], 4).routing_key([1]) is None
    assert block.routing_key([]) is None


def test_a_part_of_a_composite_key_has_65535_bytes_at_most(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(columns(implementation.codecs, a="blob", b="blob"), [0, 1])
    block = plan.bind([b"a" * 65536, b"b"], 4)
    assert block.routing_key([0]) == b"a" * 65536
    with pytest.raises(ValueError, match="65536"):
        block.routing_key([0, 1])


def test_a_block_whose_count_and_data_differ_is_refused(implementation: Implementation) -> None:
    for block_data in (b"", b"\x00\x00", b"\x00\x00\x00\x05ab", b"\x7f\xff\xff\xff"):
        with pytest.raises(ValueError, match="block"):
            implementation.bind.ValuesBlock(1, block_data).values()
        with pytest.raises(ValueError, match="block"):
            implementation.bind.ValuesBlock(1, block_data).routing_key([0])
    with pytest.raises((ValueError, IndexError)):
        implementation.bind.ValuesBlock(1, b"\x00\x00\x00\x01a").routing_key([1])


def test_a_routing_index_past_the_markers_is_refused(implementation: Implementation) -> None:
    with pytest.raises(ValueError, match="routing key index 1"):
        implementation.bind.BindPlan(columns(implementation.codecs, a="int32"), [1])


def test_values_are_bound_as_they_were_although_encoding_shortens_the_list(
    implementation: Implementation,
) -> None:
    values: list[object] = [1, 2, 3]

    class ShorteningNumber:
        def __index__(self) -> int:
            del values[1:]
            return 5

    values[0] = ShorteningNumber()
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32", c="int32"), routing_key_indexes=None
    )
    block = plan.bind(values, 4)
    assert block.values() == [b"\x00\x00\x00\x05", b"\x00\x00\x00\x02", b"\x00\x00\x00\x03"]


def test_a_value_may_use_the_plan_while_it_is_bound(implementation: Implementation) -> None:
    plan = implementation.bind.BindPlan(
        columns(implementation.codecs, a="int32", b="int32"), routing_key_indexes=None
    )

    class BindingNumber:
        def __index__(self) -> int:
            # The inner call binds two values, so this number is 2.
            return int(plan.bind([40, 2], 4).count)

    assert plan.bind([BindingNumber(), 9], 4).values() == [b"\x00\x00\x00\x02", b"\x00\x00\x00\x09"]
