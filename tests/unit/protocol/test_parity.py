"""Tests that the compiled and the Python modules have the same names, signatures and results.

Neither implementation leaks memory.
"""

from __future__ import annotations

import gc
import inspect
import random
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cassandra._impl import twin
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import DecodeError, ProtocolError
from cassandra.protocol.opcodes import HEADER_DIRECTION_TO_CLIENT, QUERY, RESULT
from cassandra.protocol.params import QueryParams
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.unit.protocol.wire import columns, envelope, int32, value

# modules that exist in both Python and Cython
NAMES = ["bind", "bodies", "frame", "rows"]
# This is the type of a batch.
LOGGED = 0
RESPONSE_V4 = HEADER_DIRECTION_TO_CLIENT | 4


def public(module: ModuleType) -> dict[str, Any]:
    """Return the public functions and classes that `module` defines, by name."""
    return {
        name: item
        for name, item in vars(module).items()
        if not name.startswith("_") and getattr(item, "__module__", None) == module.__name__
    }


@pytest.mark.parametrize("name", NAMES)
def test_names_and_signatures(compiled: Implementation, name: str) -> None:
    """The compiled module's names exist in the Python module, with the same parameters."""
    python, compiled_module = twin(name, "python"), getattr(compiled, name)
    assert compiled_module.__file__ is not None
    assert not compiled_module.__file__.endswith(".py")
    # The Python module may have more names: the compiled module has some functions only in C.
    compiled_names = public(compiled_module)
    assert compiled_names
    for name_in_module, compiled_item in compiled_names.items():
        python_item = getattr(python, name_in_module)
        if not isinstance(compiled_item, type):
            assert parameters(compiled_item) == parameters(python_item), name_in_module
            continue
        for method, function in vars(compiled_item).items():
            if callable(function) and not method.startswith("_"):
                expected = parameters(getattr(python_item, method))
                assert parameters(function) == expected, f"{name_in_module}.{method}"
        assert public_attributes(python_item) <= public_attributes(compiled_item)


def public_attributes(cls: type) -> set[str]:
    return {attribute for attribute in dir(cls) if not attribute.startswith("_")}


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """Return the name and the default of each parameter."""
    return [
        (parameter.name, parameter.default)
        for parameter in inspect.signature(function).parameters.values()
    ]


bound_values = st.lists(
    st.one_of(
        st.none(),
        st.just(UNSET_VALUE),
        st.binary(max_size=40),
        st.binary(min_size=1000, max_size=3000),
    ),
    max_size=20,
)
optional_int = st.one_of(st.none(), st.integers(-(1 << 31), (1 << 31) - 1))


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the class and the message of the error that it raises."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@settings(max_examples=200, deadline=None)
@given(
    query=st.text(max_size=30),
    values=bound_values,
    version=st.integers(3, 6),
    page_size=optional_int,
    paging_state=st.one_of(st.none(), st.binary(max_size=10)),
    timestamp=st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1)),
    keyspace=st.one_of(st.none(), st.text(max_size=5)),
    now_in_seconds=optional_int,
    skip_metadata=st.booleans(),
)
def test_bodies_are_equal(
    compiled: Implementation,
    query: str,
    values: list[Any],
    version: int,
    page_size: int | None,
    paging_state: bytes | None,
    timestamp: int | None,
    keyspace: str | None,
    now_in_seconds: int | None,
    skip_metadata: bool,
) -> None:
    """Both implementations must encode requests to the same bytes, or raise the same errors."""
    params = QueryParams(
        ConsistencyLevel.ONE,
        values,
        skip_metadata=skip_metadata,
        page_size=page_size,
        paging_state=paging_state,
        timestamp=timestamp,
    )
    params.keyspace, params.now_in_seconds = keyspace, now_in_seconds
    python_bodies, compiled_bodies = twin("bodies", "python"), compiled.bodies
    metadata_id = b"meta" if skip_metadata else None
    statements = [(True, b"id", values), (False, query, values)] * 2
    encoders: list[Callable[[Any], Any]] = [
        lambda bodies: bodies.query_body(query, params, version=version),
        lambda bodies: bodies.execute_body(b"id", metadata_id, params=params, version=version),
        lambda bodies: bodies.batch_body(LOGGED, statements, params, version=version),
        lambda bodies: bodies.prepare_body(query, keyspace, version=version),
        lambda bodies: bodies.query_params_body(params, version=version),
    ]
    for encode in encoders:
        # Both implementations must return the same bytes, or raise the same error.
        expected = outcome(partial(encode, python_bodies))
        assert outcome(partial(encode, compiled_bodies)) == expected


@pytest.mark.parametrize(
    "bad_values",
    [["x"], [1.5], [object()], "text", 5, {"a": 1}, [b"a"] * 65536, [memoryview(b"abc")[::2]]],
    ids=lambda bad_values: str(type(bad_values)),
)
def test_bad_values_fail_alike(compiled: Implementation, bad_values: Any) -> None:
    """For bad values, both implementations raise errors of one class, or encode the same bytes."""
    params = QueryParams(ConsistencyLevel.ONE, bad_values)
    python_outcome, compiled_outcome = (
        outcome(partial(bodies.query_body, "Q", params, version=4))
        for bodies in (twin("bodies", "python"), compiled.bodies)
    )
    # Only the classes of errors are compared, because the messages may differ.
    if isinstance(python_outcome, tuple):
        assert python_outcome[0] is compiled_outcome[0]
    else:
        assert python_outcome == compiled_outcome


def test_blocks_of_either_implementation_go_into_bodies_of_the_other(
    compiled: Implementation,
) -> None:
    """A statement may be bound by compiled code and encoded by Python code, and vice versa."""
    for blocks in (twin("bind", "python"), compiled.bind):
        block = blocks.ValuesBlock(2, value(b"a") + value(None))
        for bodies in (twin("bodies", "python"), compiled.bodies):
            assert (
                bodies.query_params_body(QueryParams(ConsistencyLevel.ONE, block), version=4)
                == b"\x00\x01\x01\x00\x02" + block.data
            )


def test_plans_take_codecs_of_either_implementation(implementation: Implementation) -> None:
    """A compiled plan must be able to use codecs that are written in Python."""
    for codecs_implementation in ("python", implementation.name):
        codecs = twin("codecs", codecs_implementation)
        plan = implementation.bind.BindPlan(
            columns(codecs, a="int32", b="text"), routing_key_indexes=None
        )
        assert plan.bind([1, "x"], version=4).data == value(int32(1)) + value(b"x")
        rows = implementation.rows.RowPlan(("a", "b"), [codecs.int32(), codecs.text()])
        page = value(int32(1)) + value(b"") + value(None) + value(b"x")
        assert rows.tuples(page, offset=0, row_count=2) == [(1, ""), (None, "x")]


def blocks_grown(call: Callable[[], Any], times: int = 300) -> int:
    """Return how many more memory blocks exist after `call` was repeated `times` times.

    `call` first runs 50 times to fill its caches.
    """
    for _ in range(50):
        call()
    gc.collect()
    count_before = sys.getallocatedblocks()
    for _ in range(times):
        call()
    gc.collect()
    return sys.getallocatedblocks() - count_before


def test_nothing_leaks(implementation: Implementation) -> None:
    """Binding, decoding and framing, with good and bad data, must leave no memory allocated."""
    codecs = implementation.codecs
    plan = implementation.bind.BindPlan(columns(codecs, a="int32", b="text"), [0])
    row_plan = implementation.rows.RowPlan(("a", "b"), [codecs.int32(), codecs.text()])
    page = (value(int32(1 << 20)) + value(b"some text")) * 3
    frames = b"".join(
        envelope(RESPONSE_V4, flags=0, stream=stream, opcode=RESULT, body=b"body" * 50)
        for stream in range(5)
    )

    def bind_decode_and_frame() -> None:
        """Use each function of the protocol, with valid and with bad data."""
        block = plan.bind([1 << 20, "text"], version=4)
        block.values()
        block.routing_key([0, 1])
        implementation.bodies.execute_body(
            b"id",
            result_metadata_id=None,
            params=QueryParams(ConsistencyLevel.ONE, block),
            version=4,
        )
        implementation.bodies.batch_body(
            LOGGED, [(True, b"id", [b"v" * 3000])] * 5, QueryParams(ConsistencyLevel.ONE), version=4
        )
        for method in ("tuples", "named_tuples", "dicts", "ordered_dicts", "columns"):
            getattr(row_plan, method)(page, 0, 3)
            with pytest.raises(DecodeError):
                getattr(row_plan, method)(page[:-1], 0, 3)
        list(row_plan.iterate(page, offset=0, row_count=3))
        with pytest.raises(TypeError):
            plan.bind(["x", "y"], version=4)
        reader = implementation.frame.FrameReader(4)
        reader.feed(frames[:100])
        reader.get_buffer(-1)
        reader.feed(frames[100:])
        # There is no version 0, so this is an error.
        with pytest.raises(ProtocolError):
            reader.feed(b"\x00" * 9)
        writer = implementation.frame.FrameWriter(5)
        writer.enable_segments()
        writer.add(stream=1, opcode=QUERY, flags=0, body=b"x" * 200_000)
        writer.take()

    # A leak of one block for each call would increase the count by 300.
    assert blocks_grown(bind_decode_and_frame) < 100


def test_one_object_for_each_encoded_body(compiled: Implementation) -> None:
    """Encoding a body allocates a single object."""
    params = QueryParams(
        ConsistencyLevel.ONE, [b"x" * 20] * 12, page_size=5000, timestamp=1_700_000_000_000_000
    )
    execute = compiled.bodies.execute_body
    # Fill the caches and free lists of the interpreter first.
    encoded = [
        execute(b"i" * 16, result_metadata_id=None, params=params, version=4) for _ in range(1000)
    ]
    del encoded
    count_before = sys.getallocatedblocks()
    if not count_before:
        pytest.skip("this interpreter does not count its blocks: PYTHONMALLOC=malloc")
    encoded = [
        execute(b"i" * 16, result_metadata_id=None, params=params, version=4) for _ in range(1000)
    ]
    # 1000 bodies, and a few objects of the interpreter
    assert 995 <= sys.getallocatedblocks() - count_before <= 1010
    assert len(encoded) == 1000


def test_plans_are_shared_by_threads(implementation: Implementation) -> None:
    """Six threads that share plans must bind and read their own values."""
    codecs = implementation.codecs
    plan = implementation.bind.BindPlan(columns(codecs, a="int64", b="text"), [0])
    rows = implementation.rows.RowPlan(("a", "b"), [codecs.int64(), codecs.text()])
    wrong_rows: list[Any] = []

    def bind_and_read(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            number, text = rng.randrange(1 << 40), "x" * rng.randrange(3000)
            block = plan.bind([number, text], version=4)
            if rows.tuples(block.data, offset=0, row_count=1) != [(number, text)]:
                wrong_rows.append((number, text))

    threads = [threading.Thread(target=bind_and_read, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong_rows == []


@pytest.mark.parametrize("body", [None, "text", bytearray(8)])
def test_a_page_has_to_be_bytes(compiled: Implementation, body: Any) -> None:
    """Compiled code raises TypeError for a page or body that is not bytes."""
    plan = compiled.rows.RowPlan(("a",), [compiled.codecs.int32()])
    for method in ("tuples", "named_tuples", "dicts", "ordered_dicts", "columns", "iterate"):
        with pytest.raises(TypeError):
            getattr(plan, method)(body, 0, 1)
    with pytest.raises(TypeError):
        compiled.frame.FrameWriter(4).add(stream=0, opcode=QUERY, flags=0, body=body)


def test_objects_whose_init_never_ran(compiled: Implementation) -> None:
    """Methods of objects that were created only by __new__ may raise errors, but must not crash."""
    for module, name in (
        ("bind", "ValuesBlock"),
        ("bind", "BindPlan"),
        ("bind", "RowsBlock"),
        ("rows", "RowPlan"),
        ("frame", "FrameReader"),
        ("frame", "FrameWriter"),
    ):
        cls = getattr(getattr(compiled, module), name)
        uninitialised = cls.__new__(cls)
        for method, arguments in (
            ("values", ()), ("routing_key", ([0],)), ("bind", ((), 4)), ("bind", ((1,), 4)),
            ("tuples", (b"", 0, 0)),
            ("tuples", (b"1234", 0, 1)), ("iterate", (b"", 0, 0)), ("feed", (b"123456789",)),
            ("get_buffer", (-1,)), ("buffer_updated", (5,)),
            ("add", (1, 7, 0, b"")), ("take", ()), ("bind_many", ([()], 4)), ("bind_row", ({}, 4)),
            ("rows", ()), ("row", (0,)),
            ("append", (compiled.bind.ValuesBlock(0, b""),)),
        ):  # fmt: skip
            if hasattr(uninitialised, method):
                # `outcome` returns an error instead of raising it.
                outcome(partial(getattr(uninitialised, method), *arguments))
    assert compiled.bind.ValuesBlock.__new__(compiled.bind.ValuesBlock).values() == []
