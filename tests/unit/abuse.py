"""A program for a child process that calls the compiled modules with wrong arguments.

It calls all public functions and classes. Any exception is allowed, but the process must not crash.
The program prints the name of each part, such as `statements`, that has finished.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from cassandra import _impl, cqltypes as t
from cassandra.engine.call_options import CallOptions
from cassandra.engine.request_bodies import ExecuteBody
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.columnar.layouts import layout_of
from cassandra.protocol.messages.results import VOID_BODY
from cassandra.protocol.opcodes import RESULT
from cassandra.query import BoundStatement, PreparedStatement

# This is an int (7) and a text ("x"), each after its length.
ROW = bytes.fromhex("00000004000000070000000178")


class Liar:
    """A container with three elements whose `__len__` returns another length.

    `__index__` returns the next of `numbers` at each call, and begins again after the last one.
    """

    def __init__(self, length: int = 1, *numbers: int) -> None:
        self.length = length
        self.numbers = itertools.cycle(numbers or (0, 1 << 40, -5))

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return iter([1, 2, 3])

    def __getitem__(self, key: object) -> int:
        return 1

    def __index__(self) -> int:
        return next(self.numbers)

    __int__ = __index__

    def __le__(self, other: object) -> bool:
        return True

    __lt__ = __ge__ = __gt__ = __le__


# These are wrong arguments. Functions are called with each of them, and attributes are set to each
# of them.
BAD: list[Any] = [
    None, (), [], {}, "", b"", 0, -1, 1 << 70, 1.5, "text", b"bytes", (None,), [None], (1, 2), [1, 2], [(1,)], [None, (1, 2, 3, 4, 5)],  # noqa: E501
    object(), type(None), int, Liar(), Liar(0), Liar(1000), memoryview(bytearray(3)),
]  # fmt: skip


def metadata() -> ResultMetadata:
    """Return the metadata of rows like ROW: an int column and a text column."""
    return ResultMetadata(
        [ColumnMetadata("k", "t", "a", t.Int32Type), ColumnMetadata("k", "t", "b", t.UTF8Type)]
    )


def prepared() -> PreparedStatement:
    """Return a prepared statement with a marker for each column of `metadata`."""
    columns = metadata().columns
    return PreparedStatement(columns, b"id", [0], "INSERT", "k", 4, metadata(), None)


def encode_request(statement: Any) -> None:
    """Encode a bound statement, and decode its response."""
    # A caller may have damaged the prepared statement, whose attributes are used for binding.
    bound = statement.bind((1, "x")) if isinstance(statement, PreparedStatement) else statement
    # These represent the objects of a session, and have only the attributes that are read.
    profile = SimpleNamespace(
        consistency_level=1,
        serial_consistency_level=None,
        load_balancing_policy=SimpleNamespace(make_query_plan=lambda *_: []),
        retry_policy=None,
        speculative_execution_policy=None,
    )
    session = SimpleNamespace(
        default_fetch_size=100,
        timestamp_generator=None,
        use_client_timestamp=True,
        _default_vector_type="list",
    )
    # Use the wire formats of version 4, and of version 5 with metadata IDs.
    for wire_format in (4, 0x105):
        engine: Any = SimpleNamespace(core=SimpleNamespace(wire_format=wire_format, home=None))
        request = _impl.happy_path.bound_request(
            _impl.happy_path.RequestBase,
            ExecuteBody,
            session,
            engine,
            bound,
            bound,
            CallOptions(cast(Any, profile), 1.0),
            lambda done: None,
        )
        request.request_body.render(
            SimpleNamespace(wire_format=wire_format, version=wire_format & 0xFF)
        )


def _identity(thing: Any) -> Any:
    """Return the argument."""
    return thing


def object_of(kind: Any) -> Any:
    """Return an instance of the class `kind` whose `__init__` was never called."""
    return kind.__new__(kind)


def call_all(methods: dict[str, tuple[Any, ...]], thing: Any) -> None:
    """Call each method of `thing` that `methods` names, with the arguments in `methods`."""
    for name, arguments in methods.items():
        drained(getattr(thing, name)(*arguments))


def attributes(thing: object) -> list[str]:
    """Return the names of the attributes of `thing` that are not methods, such as its slots."""
    return [
        name
        for name in dir(type(thing))
        if not name.startswith("__") and not callable(getattr(thing, name, None))
    ]


def overwrite_attributes(
    make_object: Callable[[], Any], use_object: Callable[[Any], object]
) -> None:
    """Set each attribute of a new object to each bad value, and use the object."""
    for name in attributes(make_object()):
        for value in BAD:
            damaged = make_object()
            with contextlib.suppress(Exception):
                setattr(damaged, name, value)
            with contextlib.suppress(Exception):
                use_object(damaged)


def statements() -> None:
    """Overwrite the attributes of prepared and bound statements."""
    overwrite_attributes(prepared, encode_request)
    overwrite_attributes(lambda: prepared().bind((1, "x")), encode_request)
    overwrite_attributes(lambda: BoundStatement(prepared()), encode_request)


def requests() -> None:
    """Overwrite attributes of requests and their parts, and pass malformed envelopes to them."""

    def make() -> Any:
        request = _impl.happy_path.RequestBase(session(), None, request_body(), lambda done: None)
        request._plan = iter(["host"])
        return request

    def request_body() -> Any:
        body = ExecuteBody(prepared(), prepared().bind((1, "x")).block)
        body.consistency = 1
        body.page_size = 100
        return body

    def session() -> Any:
        """Return an object with the attributes of an engine's session that requests read."""
        streams = _impl.happy_path.StreamTable(
            _impl.frame.FrameWriter(4), lambda call: call, lambda: None
        )
        connection = SimpleNamespace(
            wire_format=4, version=4, streams=streams, endpoint="e", peer_version=4
        )
        core = SimpleNamespace(on_latency=None, user_types={})
        pool = SimpleNamespace(connections=[connection], shards=None)
        return SimpleNamespace(
            pools_by_id={}, pools={"host": pool}, core=core, connection=connection, timers=None
        )

    def use(request: Any) -> None:
        """Send the request, overwrite the attributes of its attempts, and pass bad responses."""
        owner = session()
        request.session = request.session or owner
        with contextlib.suppress(Exception):
            request.try_next_host()
        for attempt in list(request.attempts or ()):
            overwrite_attributes(
                partial(_identity, attempt),
                lambda target: request.on_answer(target, owner.connection, RESULT, 0, VOID_BODY),
            )
            for body in BAD:
                with contextlib.suppress(Exception):
                    request.on_answer(attempt, owner.connection, RESULT, 0, body)
        request.end()

    # These are attributes of requests, of their attempts (in `use`) and of their bodies.
    overwrite_attributes(make, use)
    overwrite_attributes(
        request_body, lambda body: body.render(SimpleNamespace(wire_format=0x105, version=5))
    )
    # Pass objects without a stream table as connections.
    for connection in (SimpleNamespace(streams=value) for value in BAD):
        with contextlib.suppress(Exception):
            _impl.happy_path.first_with_room([connection])
    for envelope in BAD:
        # Pass envelopes that have the wrong type, wrong items or a wrong stream ID.
        streams = session().connection.streams
        for _ in range(3):
            streams.send(SimpleNamespace(), 1, 0, b"")
        for envelopes in (
            [envelope],
            [(envelope,) * 5],
            [(1, envelope, envelope, envelope, envelope)],
        ):
            with contextlib.suppress(Exception):
                streams.dispatch(session().connection, envelopes)


def objects_and_calls() -> list[tuple[Callable[[], Any], dict[str, tuple[Any, ...]]]]:
    """Return pairs of a function that creates an object of a compiled class, and a dict of calls.

    The calls succeed on such an object. The dict maps the name of a method to its arguments.
    """
    codecs = [_impl.codecs.int32(), _impl.codecs.text()]
    names = ["a", "b"]
    layouts = [layout_of(t.Int32Type), layout_of(t.UTF8Type)]
    ring = _impl.ring.TokenRing([["1", "5"], ["3"]])
    replicas = _impl.ring.simple_map(ring, ["x", "y"], 2, 2)
    page = (ROW, 0, 1)
    return [
        (lambda: _impl.rows.RowPlan(names, codecs), dict.fromkeys(("tuples", "dicts", "columns", "named_tuples", "iterate"), page)),  # noqa: E501
        (lambda: _impl.column_buffers.ColumnPlan(names, codecs, layouts), {"read": page}),
        (lambda: _impl.bind.BindPlan(metadata().columns, [0]), {"bind": ((1, "x"), 4), "bind_row": ({"a": 1, "b": "x"}, 4)}),  # noqa: E501
        (lambda: _impl.bind.ValuesBlock(2, ROW), {"values": (), "routing_key": ([0, 1],)}),
        (lambda: _impl.bind.RowsBlock(2, [ROW]), {"rows": (), "row": (0,), "append": (_impl.bind.ValuesBlock(2, ROW),)}),  # noqa: E501
        (lambda: _impl.ring.TokenRing([["1", "5"], ["3"]]), {"position": (2,), "owners": ()}),
        (lambda: _impl.ring.ReplicaMap(ring, ["x", "y"], [(0, 1), (1,)]), {"at": (1,), "of_key": (b"k",), "row": (0,)}),  # noqa: E501
        (lambda: _impl.plans.Router(replicas, [0, 1], 1), {"route": (b"key", True)}),
        (lambda: _impl.frame.FrameReader(4), {"feed": (b"\x84\0\0\1\x08\0\0\0\1x",)}),
        (lambda: _impl.frame.FrameWriter(5), {"add": (1, 7, 0, b"body"), "take": ()}),
    ]  # fmt: skip


def drained(result: object) -> None:
    """Use the result of a call: read up to ten items if it is an iterator, and take its repr."""
    if inspect.isgenerator(result) or hasattr(result, "__next__"):
        list(itertools.islice(result, 10))  # type: ignore[call-overload]
    repr(result)


def calls() -> None:
    """Make each call of `objects_and_calls()` with one of its arguments replaced by a bad value.

    The calls are made on new objects, on objects that were never initialised, and on objects whose
    `__init__` was called again with bad values.
    """
    for make_object, methods in objects_and_calls():
        compiled_class = type(make_object())
        for name, arguments in methods.items():
            # At each position, one argument is bad. The last position is after all arguments: for
            # this position, all arguments are good.
            for position, value in itertools.product(range(len(arguments) + 1), BAD):
                bad_arguments = (
                    [*arguments[:position], value, *arguments[position + 1 :]]
                    if position < len(arguments)
                    else [*arguments]
                )
                for target in (make_object(), object_of(compiled_class)):
                    with contextlib.suppress(Exception):
                        drained(getattr(target, name)(*bad_arguments))
        # Call `__init__` again with bad values. Afterwards the usual calls may raise, but must not
        # crash.
        for value, other in itertools.product(BAD, BAD):
            for arguments in (
                (value,),
                (value, other),
                (value, other, value),
                (other, value, value),
            ):
                target = make_object()
                with contextlib.suppress(Exception):
                    target.__init__(*arguments)
                for name, valid_arguments in methods.items():
                    with contextlib.suppress(Exception):
                        drained(getattr(target, name)(*valid_arguments))
        overwrite_attributes(make_object, partial(call_all, methods))


def functions() -> None:
    """Call every public function of every compiled module with up to six bad arguments."""
    for name in _impl.TWINS:
        module: ModuleType = _impl.twin(name, "c")
        for function_name in sorted(getattr(module, "__all__", None) or vars(module)):
            function = getattr(module, function_name)
            if function_name.startswith("_") or not callable(function) or inspect.isclass(function):
                continue
            for values in itertools.chain(
                [()], ((value,) for value in BAD), itertools.product(BAD, BAD)
            ):
                for bad_arguments in (values, (*values, *values), (*values, *values, *values)):
                    with contextlib.suppress(Exception):
                        drained(function(*bad_arguments))


def use_mutating_values() -> None:
    """Encode and decode values that change their container or plan while they are read."""
    plan = _impl.bind.BindPlan([ColumnMetadata("k", "t", "a", t.Int32Type)] * 3)

    class MutatingNumber:
        """A number that calls `mutate` whenever its value or its length is read."""

        def __init__(self, mutate: Callable[[], object]) -> None:
            self.mutate = mutate

        def __index__(self) -> int:
            with contextlib.suppress(Exception):
                self.mutate()
            return 1

        def __len__(self) -> int:
            return self.__index__()

    values: list[Any] = [1, 2, 3]
    for mutate in (values.clear, lambda: values.extend(range(1000)), lambda: plan.__init__([])):
        values[:] = [MutatingNumber(mutate), 2, 3]
        with contextlib.suppress(Exception):
            plan.bind(values, 4)
        for collection_type in (t.ListType, t.SetType):
            values[:] = [MutatingNumber(mutate), 2, MutatingNumber(mutate)] * 100
            with contextlib.suppress(Exception):
                collection_type.apply_parameters((t.Int32Type,)).codec().encode(values)
        values[:] = [MutatingNumber(mutate), 2.5, MutatingNumber(mutate)]
        with contextlib.suppress(Exception):
            t.VectorType.apply_parameters((t.FloatType, 3)).codec().encode(values)
    row: dict[Any, Any] = {"a": 1}
    row["a"] = MutatingNumber(row.clear)
    with contextlib.suppress(Exception):
        plan.bind_row(row, 4)
    # Misuse the buffer of a frame reader: report bytes that were never received, and clear the
    # buffer.
    for size in (3, 10, 70_000):
        reader = _impl.frame.FrameReader(5)
        reader.enable_segments()
        block: Any = reader.get_buffer(-1).obj
        with contextlib.suppress(Exception):
            reader.buffer_updated(3)
        with contextlib.suppress(Exception):
            block.clear()
        with contextlib.suppress(Exception):
            reader.feed(b"x" * size)
    # Pass offsets and counts that have another value each time they are read.
    rows = _impl.rows.RowPlan(["a"], [_impl.codecs.int32()])
    offset: Any
    count: Any
    for offset, count in itertools.product(
        (Liar(1, 0, 1 << 30), Liar(1, 0, -(1 << 30)), 0), (Liar(1, 1, 1 << 20), 1)
    ):
        for name in ("tuples", "dicts", "columns", "iterate"):
            with contextlib.suppress(Exception):
                drained(getattr(rows, name)(ROW, offset, count))
        with contextlib.suppress(Exception):
            _impl.rows.shared_columns([bytes], ROW, offset, count)


class _ActsWhenUsed:
    """Calls `act` whenever it is used.

    Uses are: as a number, in a comparison, in a loop, when a missing attribute is looked up, and
    when the object is freed.
    """

    act: Callable[[], object]

    def __init__(self, act: Callable[[], object]) -> None:
        vars(self).update(act=act)

    def _do(self) -> None:
        with contextlib.suppress(Exception):
            self.act()

    def __float__(self) -> float:
        self._do()
        return 1.5

    def __index__(self) -> int:
        self._do()
        return 1

    def __getattr__(self, name: str) -> Any:
        vars(self)["act"]()
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        self._do()
        return True

    def __hash__(self) -> int:
        self._do()
        return 1

    def __len__(self) -> int:
        self._do()
        return 3

    def __iter__(self) -> Iterator[int]:
        self._do()
        return iter((1, 2, 3))

    def __del__(self) -> None:
        self._do()


def _masked(action: Callable[[], object]) -> Any:
    """Return a number that calls `action` when its `__class__` or its value as a float is read."""

    class MaskedNumber:
        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            action()
            return float

        def __float__(self) -> float:
            action()
            return 2.5

    return MaskedNumber()


def _masked_array(action: Callable[[], object]) -> Any:
    """Return a masked NumPy array that calls `action` when its `ndim` is read.

    Without NumPy, return None.
    """
    try:
        import numpy
    except ImportError:
        return None

    class MaskedArray(numpy.ma.MaskedArray):
        @property
        def ndim(self) -> int:
            action()
            return 0

    return numpy.ma.array(0.0, mask=True).view(MaskedArray)


def _with_changing_item(
    values: list[Any], make_item: Callable[[Any], Any], position: int, count: int, after_null: bool
) -> list[Any]:
    """Put an item at `position` of `values` that replaces their contents while it is encoded.

    With `after_null`, the item before it is a masked NumPy array, which is encoded as a null.

    :param make_item: returns an item that calls the function it gets while it is encoded.
    :param count: the number of items that replace the contents.
    :returns: `values`.
    """

    def replace_contents() -> None:
        values.clear()
        values.extend([object()] * count)

    values[position] = make_item(replace_contents)
    if after_null:
        values[position - 1] = _masked_array(lambda: None)
    return values


def encode_changing_containers() -> None:
    """Encode a container of each item type, while one of the items changes the container."""
    element_types: list[Any] = [
        t.Int32Type,
        t.LongType,
        t.FloatType,
        t.DoubleType,
        t.UTF8Type,
        t.DecimalType,
    ]
    item_makers = (_ActsWhenUsed, _masked, _masked_array)
    # Each pair has the position of the item that changes the container, and the number of items
    # that it leaves there.
    for element_type, make_item, position, count in itertools.product(
        element_types, item_makers, (0, 1, 98, 99), (0, 2, 100, 5000)
    ):
        codecs = [
            t.ListType.apply_parameters((element_type,)).codec(),
            t.SetType.apply_parameters((element_type,)).codec(),
            t.VectorType.apply_parameters((element_type, 100)).codec(),
            t.TupleType.apply_parameters((element_type,) * 100).codec(),
        ]
        for codec, after_null in itertools.product(codecs, (False, True)):
            number = 1.5 if element_type in (t.FloatType, t.DoubleType) else 1
            with contextlib.suppress(Exception):
                codec.encode(
                    _with_changing_item([number] * 100, make_item, position, count, after_null)
                )
        # The key empties the mapping while it is encoded, and its value adds an item.
        mapping: dict[Any, Any] = {number: number for number in range(100)}
        mapping[_ActsWhenUsed(mapping.clear)] = make_item(
            lambda own_mapping=mapping: own_mapping.update({1000: 1})
        )
        for key_and_value_types in ((element_type, t.Int32Type), (t.Int32Type, element_type)):
            with contextlib.suppress(Exception):
                t.MapType.apply_parameters(key_and_value_types).codec().encode(mapping)
    _use_released_buffers()


def _use_released_buffers() -> None:
    """Encode buffers and read rows whose memory is released while they are being read."""
    plan = _impl.bind.BindPlan([ColumnMetadata("k", "t", "a", t.BytesType)] * 3)
    buffer = bytearray(10_000)
    view = memoryview(buffer)

    def release() -> None:
        view.release()
        buffer.clear()

    with contextlib.suppress(Exception):
        plan.bind((_ActsWhenUsed(release), view, buffer), 4)
    with contextlib.suppress(Exception):
        _impl.codecs.list_of(_impl.codecs.int8()).encode([_ActsWhenUsed(release), *view])
    # Call `__init__` of an answer again, with an empty body, while its rows are being read.
    metadata: Any = SimpleNamespace(_row_plan=SimpleNamespace())
    changing_metadata: Any
    answer: Any = None

    class Metadata:
        @property
        def _row_plan(self) -> Any:
            # The answer is changed at the moment when it reads the plan of its rows.
            answer.__init__(metadata, b"", 0)
            return SimpleNamespace(
                named_tuples=lambda *values: values, tuples=lambda *values: values
            )

    changing_metadata = Metadata()
    answer = _impl.happy_path.RowsAnswer(changing_metadata, b"x" * 100_000, 99_990)
    with contextlib.suppress(Exception):
        answer.rows(None)
    # These offsets are outside of the body.
    for offset in (-5, -(1 << 40), 1 << 40, 99_997):
        answer = _impl.happy_path.RowsAnswer(metadata, b"x", offset)
        with contextlib.suppress(Exception):
            answer.rows(None)


def main() -> None:
    """Run the parts named in the arguments, or all parts without arguments."""
    faulthandler.enable()
    assert _impl.implementation == "c"
    for part in (
        statements,
        requests,
        calls,
        functions,
        use_mutating_values,
        encode_changing_containers,
    ):
        if part.__name__ in sys.argv[1:] or not sys.argv[1:]:
            part()
            print(part.__name__, flush=True)


if __name__ == "__main__":
    main()
