"""Test that values which an application assigns to a bound statement are sent."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.query import UNSET_VALUE, BatchStatement, BoundStatement
from cassandra.query.sent_values import block_of
from cassandra.testing.fake import NOT_SET, FakeNode, Opcode
from tests.unit.query.test_bound import prepared

ONE, TWO = b"\0\0\0\x01", b"\0\0\0\x02"


def bound() -> BoundStatement:
    """Return a statement that is bound to the values 1, "ada" and null."""
    return prepared().bind((1, "ada", None))


def test_assigning_to_an_item_of_values_changes_the_bound_value() -> None:
    """An assignment to an item of `values` changes the bound value and the raw value.

    Item 0 is the partition key, so an assignment to it also changes the routing key.
    """
    statement = bound()
    statement.values[1] = b"eve"
    assert statement.values == [ONE, b"eve", None]
    assert statement.raw_values == [1, "eve", None]
    statement.values[0] = TWO
    assert statement.routing_key == TWO
    statement.values[2] = UNSET_VALUE
    assert statement.values == [TWO, b"eve", UNSET_VALUE]
    assert statement.block is not None
    assert statement.block.has_unset


def test_assigning_a_list_to_values_replaces_them_and_the_computed_key() -> None:
    """A list that is assigned to `values` replaces all values and the computed routing key.

    A routing key that the application has set stays.
    """
    statement = bound()
    assert statement.routing_key == ONE
    statement.values = [TWO, bytearray(b"eve"), memoryview(b"")]
    assert statement.values == [TWO, b"eve", b""]
    assert statement.routing_key == TWO
    statement.routing_key = b"its own"
    statement.values = [ONE, None, None]
    assert statement.routing_key == b"its own"


def test_two_lists_of_the_same_statement_share_changes() -> None:
    """Changes through two `values` lists of a bound statement both reach the statement."""
    statement = bound()
    first, second = statement.values, statement.values
    first[1] = b"eve"
    second[2] = b""
    assert statement.values == [ONE, b"eve", b""]


# Each of these functions changes a list in place.
WRITES: list[Callable[[Any], Any]] = [
    lambda values: values.append(b"x"),
    lambda values: values.extend([b"x", None]),
    lambda values: values.insert(0, b"x"),
    lambda values: values.pop(),
    lambda values: values.remove(None),
    lambda values: values.reverse(),
    lambda values: values.clear(),
    lambda values: values.__delitem__(0),
    lambda values: values.__iadd__([b"x"]),
    lambda values: values.__imul__(2),
    lambda values: values.__setitem__(slice(0, 2), [b"x"]),
    lambda values: values.sort(key=lambda value: value or b""),
]


@pytest.mark.parametrize("write", WRITES)
def test_each_change_of_the_list_changes_the_values(write: Callable[[Any], Any]) -> None:
    """`values` of a bound statement must behave like a list, and its changes be sent."""
    statement = bound()
    expected = list(statement.values)
    values = statement.values
    assert write(values) == write(expected)
    assert list(values) == expected
    assert statement.values == expected


def test_values_that_are_not_serialized_are_refused() -> None:
    """An assigned value that is not bytes, null or unset raises a TypeError that names it."""
    statement = bound()
    with pytest.raises(TypeError, match=r"values\[1\] is 'eve' \(str\): a serialized value is"):
        statement.values[1] = "eve"
    with pytest.raises(TypeError, match=r"values\[0\] is 5"):
        statement.values = [5]
    assert statement.values == [ONE, b"ada", None]


def test_copies_of_values_are_plain_lists() -> None:
    """Copies, slices and unpickled copies of `values` are plain lists."""
    statement = bound()
    for values in (
        copy.copy(statement.values),
        copy.deepcopy(statement.values),
        pickle.loads(pickle.dumps(statement.values)),
        list(statement.values),
        statement.values[:],
    ):
        # A copy has its own items, so this change does not reach the statement.
        values[0] = b"x"
        assert type(values) is list
    assert statement.values == [ONE, b"ada", None]
    # A statement that was never bound has no values.
    assert BoundStatement(prepared()).values == []


def test_blocks_of_serialized_values() -> None:
    """`block_of` returns a block with these encoded values, which knows if a value is unset."""
    block = block_of([b"ab", None, UNSET_VALUE, b""])
    assert block.values() == [b"ab", None, UNSET_VALUE, b""]
    assert len(block) == 4
    assert block.has_unset
    assert block_of([]).values() == []


INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that prepares INSERT."""
    with FakeNode() as fake:
        fake.prime_prepare(INSERT, [("k", "int"), ("v", "blob")], pk_indexes=[0])
        yield fake


def values_sent(node: FakeNode) -> list[Any]:
    """Return the values of all EXECUTE and BATCH requests that the node received, in order."""
    sent: list[Any] = []
    for request in node.requests:
        if request.opcode == Opcode.EXECUTE:
            sent.append(list(request.values))
        sent += [list(entry.values) for entry in request.statements]
    return sent


def bind_and_replace(statement: Any) -> Any:
    """Bind a row, replace its second value, and return the bound statement."""
    bound_statement = statement.bind((1, b"one"))
    bound_statement.values[1] = b"two"
    return bound_statement


def send_with_blocking_api(session: Session) -> None:
    """Send statements with replaced values through each call of the blocking API."""
    statement = session.prepare(INSERT)
    session.execute(bind_and_replace(statement))
    session.execute_async(bind_and_replace(statement)).result()
    batch = BatchStatement()
    batch.add(bind_and_replace(statement))
    session.execute(batch)
    many_in_one_call = BatchStatement()
    many_in_one_call.add_all([bind_and_replace(statement)] * 2, [None] * 2)
    session.execute(many_in_one_call)
    with_unset = bind_and_replace(statement)
    with_unset.values = [TWO, UNSET_VALUE]
    session.execute(with_unset)


def test_the_blocking_api_sends_assigned_values(node: FakeNode) -> None:
    """Each call of the blocking API must send the values that were assigned."""
    with Cluster([node.address], port=node.port) as cluster:
        send_with_blocking_api(cluster.connect())
    # Two calls send an EXECUTE each, and two batches one and two rows. The last EXECUTE has the
    # unset value.
    assert values_sent(node) == [[ONE, b"two"]] * 5 + [[TWO, NOT_SET]]


async def test_the_asyncio_api_sends_assigned_values(node: FakeNode) -> None:
    """The asyncio API sends the values that were assigned, also in batches."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        statement = await session.prepare(INSERT)
        await session.execute(bind_and_replace(statement))
        batch = BatchStatement()
        batch.add(bind_and_replace(statement))
        await session.execute(batch)
    assert values_sent(node) == [[ONE, b"two"]] * 2
