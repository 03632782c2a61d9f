"""Test that codecs can be shared by threads and used again while they convert a value.

Codecs must neither leak memory nor change the reference counts of their arguments.
"""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import cqltypes as t
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import (
    ADDRESS,
    CONTAINERS,
    INT,
    SCALARS,
    TEXT,
    list_of,
    map_of,
    set_of,
    vector_of,
)


@pytest.mark.slow
def test_a_hundred_threads_share_codecs(implementation: Implementation) -> None:
    """A hundred threads that share codecs get the right results."""
    cases = [
        (cqltype.build_codec(implementation.codecs), value, bytes.fromhex(expected))
        for cqltype, value, expected in [*SCALARS[::4], *CONTAINERS]
    ]
    # Let all threads begin at the same time.
    start = threading.Barrier(100)
    wrong_results: list[Any] = []

    def encode_and_decode(first_case: int) -> None:
        start.wait()
        for turn in range(1000):
            codec, value, body = cases[(first_case + turn) % len(cases)]
            if codec.encode(value) != body or codec.decode(body) != value:
                wrong_results.append((codec, value))

    threads = [threading.Thread(target=encode_and_decode, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong_results


class ActingNumber:
    """A number that calls `action` when it is converted to an int or a float."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self.action = action

    def __index__(self) -> int:
        self.action()
        return 7

    def __float__(self) -> float:
        self.action()
        return 7.0


# Types of collections whose elements are numbers of a fixed size.
NUMBERS = [
    list_of(t.Int32Type),
    list_of(t.FloatType),
    set_of(t.LongType),
    vector_of(t.FloatType, 50),
    vector_of(t.LongType, 50),
]


@pytest.mark.parametrize("cqltype", NUMBERS)
@pytest.mark.parametrize("change", ["clear", "grow", "replace", "shrink"])
def test_a_list_that_changes_while_it_is_encoded(
    implementation: Implementation, cqltype: Any, change: str
) -> None:
    """A list that is changed by the conversion of its number is encoded consistently or refused.

    The error says that the size of the list has changed.
    """
    codec = cqltype.build_codec(implementation.codecs)
    values: list[Any] = []
    actions: dict[str, Callable[[], Any]] = {
        "clear": values.clear,
        "grow": lambda: values.extend(range(1000)),
        "replace": lambda: values.__setitem__(slice(None), [3] * len(values)),
        "shrink": lambda: values.pop(),
    }
    values.extend(
        [ActingNumber(actions[change]) if number == 10 else number for number in range(50)]
    )
    try:
        body = codec.encode(values)
    except ValueError as error:
        assert "changed its size from 50" in str(error)  # noqa: PT017
        # A replacement of the elements does not change the size.
        assert change != "replace"
    else:
        assert len(codec.decode(body)) > 1


@pytest.mark.parametrize("cqltype", NUMBERS)
def test_a_value_that_encodes_in_its_conversion(
    implementation: Implementation, cqltype: Any
) -> None:
    """A codec gives the right results if it is used again while it converts a value."""
    codec = cqltype.build_codec(implementation.codecs)
    plain_numbers = [7.0 if "float" in codec.cql_name else 7] * 50
    inner_results: list[bytes] = []
    encoding_number = ActingNumber(lambda: inner_results.append(codec.encode(plain_numbers)))
    assert codec.encode([encoding_number] * 50) == codec.encode(plain_numbers)
    assert set(inner_results) == {codec.encode(plain_numbers)}


@pytest.mark.parametrize("cqltype", [*NUMBERS, list_of(list_of(INT)), list_of(t.IntegerType)])
def test_an_error_in_a_conversion_is_raised_unchanged(
    implementation: Implementation, cqltype: Any
) -> None:
    """The error of a number's own conversion is raised, with the number's position as a note."""

    def fail() -> None:
        raise RuntimeError("mine")

    codec = cqltype.build_codec(implementation.codecs)
    value: Any = [ActingNumber(fail)] * 50
    if cqltype == list_of(list_of(INT)):
        value = [value]
    with pytest.raises(RuntimeError, match=r"^mine") as caught:
        codec.encode(value)
    # Only from Python 3.11 on do errors have notes.
    if sys.version_info >= (3, 11):
        assert any("element 0 of" in note for note in caught.value.__notes__)


class FailingIterable:
    """An iterable that raises an error after its first element."""

    def __iter__(self) -> Iterator[Any]:
        yield 1
        raise RuntimeError("mine")


def test_an_iterator_that_fails(implementation: Implementation) -> None:
    """An error of the iterator is raised, and the codec can be used again."""
    codec = list_of(INT).build_codec(implementation.codecs)
    with pytest.raises(RuntimeError, match="mine"):
        codec.encode(FailingIterable())
    assert codec.encode(iter([1])).hex() == "00000001" + "00000004" + "00000001"


def test_the_encoder_holds_no_buffer_while_an_element_is_converted(
    implementation: Implementation,
) -> None:
    """While an element is converted, the encoder does not export the buffer of another element.

    If it did, the conversion could not resize a bytearray, which raises BufferError while its
    buffer is exported.
    """
    data = bytearray(b"\x01\x02\x03")
    codec = list_of(list_of(t.ByteType)).build_codec(implementation.codecs)
    # When the iterable is read, `data` gets the number 4, so the third list has one number more.
    body = codec.encode([data, AppendingIterable(data), data])
    assert codec.decode(body) == [[1, 2, 3], [5], [1, 2, 3, 4]]
    # This raises BufferError if the encoder still holds a buffer.
    data.append(9)


class AppendingIterable:
    """An iterable over the number 5, which appends 4 to `data` when it is read."""

    def __init__(self, data: bytearray) -> None:
        self.data = data

    def __iter__(self) -> Iterator[int]:
        self.data.append(4)
        yield 5


def test_a_dict_that_changes_while_it_is_encoded(implementation: Implementation) -> None:
    """If the conversion of a value clears the dict, the dict is encoded with its old entries."""
    mapping: dict[str, Any] = {"a": 1}
    mapping["b"] = ActingNumber(mapping.clear)
    mapping["c"] = 3
    codec = map_of(TEXT, INT).build_codec(implementation.codecs)
    assert dict(codec.decode(codec.encode(mapping)).items()) == {"a": 1, "b": 7, "c": 3}


def test_a_list_changed_by_another_thread(implementation: Implementation) -> None:
    """A list that another thread changes is encoded consistently, or refused.

    The error says that the size of the list has changed.
    """
    shared: list[Any] = list(range(500))
    must_stop = threading.Event()

    def resize_repeatedly() -> None:
        """Give the list 501, 500, 400 and 500 elements, again and again."""
        while not must_stop.is_set():
            shared.append(1)
            shared.pop()
            shared[:] = shared[:400]
            shared.extend(range(100))

    codecs = [
        list_of(element_type).build_codec(implementation.codecs)
        for element_type in (INT, t.DoubleType, t.IntegerType)
    ]
    thread = threading.Thread(target=resize_repeatedly)
    thread.start()
    try:
        for turn in range(300):
            codec = codecs[turn % 3]
            try:
                decoded = codec.decode(codec.encode(shared))
            except ValueError as error:
                assert "changed its size" in str(error)  # noqa: PT017
            else:
                # The other thread never makes the list shorter than 400 elements.
                assert len(decoded) >= 400
    finally:
        must_stop.set()
        thread.join()


# Types with values that fit them, and with some values that are refused.
TYPES_AND_VALUES: list[tuple[Any, Any]] = [
    *[(cqltype, value) for cqltype, value, _ in [*SCALARS, *CONTAINERS]],
    (list_of(INT), "refused"),
    (list_of(INT), [1, "refused"]),
    (list_of(TEXT), ["a", 5]),
    (map_of(TEXT, INT), {"a": "refused"}),
    (ADDRESS, ("a", "refused")),
    (vector_of(INT, 3), [1, 2]),
    (vector_of(t.UUIDType, 2), [uuid.UUID(int=1), "refused"]),
]


@pytest.mark.skipif(
    not hasattr(sys, "gettotalrefcount") and sys.implementation.name != "cpython",
    reason="counts blocks of CPython",
)
@pytest.mark.slow
def test_encoding_and_decoding_leak_no_memory(implementation: Implementation) -> None:
    """Repeated encoding and decoding allocates no further memory, also if it fails."""
    codecs_and_values = [
        (cqltype.build_codec(implementation.codecs), value) for cqltype, value in TYPES_AND_VALUES
    ]

    def encode_and_decode_all() -> None:
        for codec, value in codecs_and_values:
            try:
                body = codec.encode(value)
            except (TypeError, ValueError):
                continue
            codec.decode(body)
            try:
                # Errors must not leak memory, either.
                codec.decode(body[:-1])
            except ValueError:
                continue

    def blocks_after(turns: int) -> int:
        """Encode and decode all values `turns` times, and return the number of allocated blocks."""
        for _ in range(turns):
            encode_and_decode_all()
        gc.collect()
        return sys.getallocatedblocks()

    # The first runs fill Python's free lists. Otherwise these blocks would count as a leak.
    blocks_after(60)
    # Threads of earlier tests may also allocate memory, so measure several times.
    counts = [blocks_after(50) for _ in range(4)]
    # If one of the several hundred calls in each turn leaked one object, there would be 50 more
    # blocks each time.
    assert min(after - before for before, after in itertools.pairwise(counts)) < 40


def test_encoding_keeps_reference_counts_of_its_arguments(implementation: Implementation) -> None:
    """Encoding a value leaves the reference counts of its argument unchanged."""
    for cqltype, value in TYPES_AND_VALUES:
        codec = cqltype.build_codec(implementation.codecs)
        # Count the references to the first element of a collection, or to the value itself.
        subject = value[0] if isinstance(value, (list, tuple)) and value else value
        count_before = sys.getrefcount(subject)
        for _ in range(100):
            try:
                codec.encode(value)
            except (TypeError, ValueError):
                continue
        # If each call lost or kept one reference, the count would differ by 100.
        assert abs(sys.getrefcount(subject) - count_before) < 10, cqltype
