"""Reads millions of randomly damaged frames, messages and pages.

    python -m tests.fuzz.fuzz_frames [--count N] [--seed S] [--impl c|python|both]

Reading them must not crash, hang or use too much memory, and must raise only documented errors.
Both implementations read the same bytes. They must return the same envelopes or rows, or raise
errors of the same class. Otherwise the program prints the bytes in hexadecimal. All mutations
depend only on the seed, so that you can repeat a run.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from lz4 import block

from cassandra._impl import twin
from cassandra.errors import DecodeError, ProtocolError
from cassandra.protocol import segment
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.results import ResultMessage
from cassandra.protocol.opcodes import RESULT
from cassandra.query.row_factories import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from tests.fuzz.kept import Shapes, keep, lines, numbers
from tests.unit.protocol.messages.test_decode import WHOLE
from tests.unit.protocol.wire import envelope, int32, short, string, value

# Each tuple has a protocol version and a compression.
SETTINGS: list[tuple[int, str | None]] = [
    (3, None),
    (4, None),
    (4, "lz4"),
    (4, "snappy"),
    (5, None),
    (5, "lz4"),
]
# The readers accept at most this many bytes of a body. With this low limit, a damaged length cannot
# make them allocate much memory.
MAX_BODY = 1 << 20
# If the process uses more memory, the fuzzer has found an input that wastes memory.
MAX_RESIDENT_MB = 1500


MARSHAL = "org.apache.cassandra.db.marshal."
PAIR = f"{MARSHAL}UserType(ks,{b'pair'.hex()},{b'x'.hex()}:{MARSHAL}Int32Type,{b'y'.hex()}:{MARSHAL}UTF8Type)"  # noqa: E501
PAIR_VALUE = value(int32(1)) + value(b"one")
# Each tuple has the server's name of a custom type, and an encoded value.
CUSTOM_TYPES = [
    (PAIR, PAIR_VALUE),
    (f"{MARSHAL}VectorType({PAIR} , 1)", bytes([len(PAIR_VALUE)]) + PAIR_VALUE),
    (f"{MARSHAL}VectorType({MARSHAL}FloatType , 3)", bytes(12)),
    (
        f"{MARSHAL}MapType({MARSHAL}UTF8Type,{MARSHAL}ListType({MARSHAL}IntegerType))",
        int32(1) + value(b"k") + value(int32(0)),
    ),
    (
        f"{MARSHAL}TupleType({MARSHAL}DecimalType,{MARSHAL}DurationType)",
        value(bytes(5)) + value(bytes(3)),
    ),
]
FACTORIES = [tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory]


def custom_type(name: str, data: bytes) -> bytes:
    """Return the body of a RESULT with one row that has one column of a custom type.

    :param name: the name of the type's class in Cassandra.
    :param data: the encoded value.
    """
    kind_rows, global_table_spec, column_count, row_count = int32(2), int32(1), int32(1), int32(1)
    custom_option = short(0)
    table_spec = string("ks") + string("t")
    column_spec = string("c") + custom_option + string(name)
    metadata = global_table_spec + column_count + table_spec + column_spec
    return kind_rows + metadata + row_count + value(data)


def streams() -> list[tuple[int, str | None, bytes]]:
    """Return the version, compression and bytes of undamaged frames for each of SETTINGS."""
    healthy = []
    for version, algorithm in SETTINGS:
        writer = twin("frame", "python").FrameWriter(version, responses=True)
        writer.set_compression(algorithm)
        if version >= 5:
            writer.enable_segments()
        for stream, size in enumerate((0, 3, 40, 700, 90)):
            writer.add(stream, RESULT, 0, b"ab" * size)
        healthy.append((version, algorithm, writer.take()))
    return healthy


def resegmented(lz4: bool, rng: random.Random) -> bytes:
    """Return damaged envelopes of version 5 in segments with correct checksums.

    If the checksums were wrong, readers would refuse the segments and never read the envelopes.

    :param lz4: True if the segments have the form for compression.
    """
    # 0x85 is version 5 with the bit that marks a response.
    envelopes = b"".join(
        envelope(0x85, 0, stream, RESULT, b"ab" * size)
        for stream, size in enumerate((0, 3, 40, 700, 90))
    )
    envelopes = mutate(envelopes, rng) if rng.random() < 0.8 else envelopes
    out = []
    pos = 0
    while pos < len(envelopes):
        step = rng.choice((1, 5, 9, 100, 1000, 5000))
        payload = envelopes[pos : pos + step]
        pos += step
        # Create the header of a segment (native_protocol_v5.spec, section 2.2). It contains the
        # payload's size (17 bits), with LZ4 also the uncompressed size (17 bits, 0 if not
        # compressed), and then the flag "self-contained".
        header_value, header_length = len(payload), 3
        self_contained = rng.random() < 0.3
        if lz4:
            size, header_length = 0, 5
            if rng.random() < 0.7:
                size = len(payload) if rng.random() < 0.8 else rng.choice((1, 100, 131_071))
                payload = block.compress(payload, store_size=False)
                payload = mutate(payload, rng)[:100_000] if rng.random() < 0.3 else payload
            header_value = len(payload) | size << 17 | self_contained << 34
        else:
            header_value |= self_contained << 17
        out.append(
            header_value.to_bytes(header_length, "little")
            + segment.crc24(header_value, header_length).to_bytes(3, "little")
        )
        out.append(payload + segment.crc32(payload).to_bytes(4, "little"))
    return b"".join(out)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with a few bytes changed, removed or inserted, or with its end cut off."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not out:
            break
        pos = rng.randrange(len(out))
        # This number selects the kind of damage. The first kind has a probability of 50%.
        damage = rng.random()
        if damage < 0.5:
            out[pos] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif damage < 0.65:
            # This flips one bit.
            out[pos] ^= 1 << rng.randrange(8)
        elif damage < 0.75:
            del out[pos : pos + rng.randint(1, 8)]
        elif damage < 0.85:
            out[pos:pos] = rng.randbytes(rng.randint(1, 8))
        elif damage < 0.95:
            # If these bytes are a length, make it the largest length, -1, the smallest length, or
            # 65,535.
            out[pos : pos + 4] = rng.choice(
                (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\xff\xff")
            )
        else:
            del out[pos:]
    return bytes(out)


def read(frame_module: Any, version: int, algorithm: str | None, data: bytes, step: int) -> Any:
    """Return the envelopes in `data`, or the class of the error.

    :param frame_module: the module `frame`, compiled or Python.
    :param version: the protocol version.
    :param algorithm: the compression: "lz4", "snappy" or None.
    :param step: how many bytes the reader gets at once. If the number is odd, they are passed to
        `feed`. If it is even, they are written into the reader's buffer, as asyncio does.
    """
    reader = frame_module.FrameReader(version, MAX_BODY)
    reader.set_compression(algorithm)
    # Since version 5, envelopes are sent in segments.
    if version >= 5:
        reader.enable_segments()
    envelopes = []
    try:
        for pos in range(0, len(data), step):
            chunk = data[pos : pos + step]
            if step % 2:
                envelopes += reader.feed(chunk)
                continue
            while chunk:
                buffer = reader.get_buffer(-1)
                size = min(len(buffer), len(chunk))
                buffer[:size] = chunk[:size]
                chunk = chunk[size:]
                envelopes += reader.buffer_updated(size)
    except ProtocolError as error:
        return type(error)
    return envelopes


def run_frames(
    frame_modules: list[Any], count: int, rng: random.Random, seconds: float | None = None
) -> int:
    """Read `count` damaged streams, or read damaged streams for `seconds`; return their number.

    :param frame_modules: the modules `frame` of the implementations to compare.
    """
    undamaged_streams = streams()
    number = 0
    for number in numbers(count, seconds):  # noqa: B007 - how many there were
        version, algorithm, data = rng.choice(undamaged_streams)
        if version >= 5 and rng.random() < 0.7:
            damaged = resegmented(algorithm is not None, rng)
        else:
            damaged = mutate(data, rng)
        # Do not read long streams in very small steps, which would take too long.
        step = rng.choice((1, 16, 777, 100_000, 100_001)) if len(damaged) < 3000 else 777
        outcomes = [read(module, version, algorithm, damaged, step) for module in frame_modules]
        if outcomes[0] != outcomes[-1]:
            keep("frames", version, algorithm, step, damaged.hex())
            sys.exit(
                f"the implementations differ: v{version} {algorithm} step {step}: {damaged.hex()}"
            )
    return number + 1


def run_messages(
    count: int, rng: random.Random, seconds: float | None = None, grow: bool = False
) -> int:
    """Read `count` damaged messages, or read damaged messages for `seconds`; return their number.

    :param grow: if True, add messages with new outcomes to the corpus.
    """
    shapes = Shapes("messages", grow)
    number = 0
    messages = [
        *WHOLE,
        # The list contains each of CUSTOM_TYPES three times, so that it is chosen more often. The
        # items are (opcode, body, protocol version).
        *((RESULT, custom_type(name, data), 4) for name, data in CUSTOM_TYPES for _ in range(3)),
    ]
    user_types = [None, {}, {"ks": {"pair": dict}}]
    for number in numbers(count, seconds):  # noqa: B007 - how many there were
        opcode, body, version = rng.choice(messages)
        damaged = mutate(body, rng)
        # In most cases there are no flags. The others are tracing (2), a payload (4), warnings (8),
        # or all three.
        flags = rng.choice((0, 0, 0, 2, 4, 8, 14))
        try:
            outcome = read_message(
                opcode, flags, damaged, version, rng.choice(user_types), rng.choice(FACTORIES)
            )
            shapes.see(outcome, damaged, opcode, flags, version)
        except Exception as error:
            keep("messages", opcode, flags, version, damaged.hex())
            sys.exit(
                f"{type(error).__name__} from opcode {opcode} flags {flags} v{version}: "
                f"{damaged.hex()}: {error}"
            )
    return number + 1


def read_message(
    opcode: int, flags: int, body: bytes, version: int, user_types: Any, factory: Any
) -> str:
    """Read a message, and return the name of its class or the message of a documented error.

    :param user_types: the registered classes of user-defined types; None for no classes.
    :param factory: the row factory.
    :raises Exception: any other error, which is a bug that the fuzzer has found.
    """
    try:
        message = decode_response(opcode, flags, body, version, None, user_types)
        if isinstance(message, ResultMessage):
            message.decode(factory)
    except (ProtocolError, DecodeError) as error:
        return str(error)
    return type(message).__name__


def run_rows(impls: list[str], count: int, rng: random.Random, seconds: float | None = None) -> int:
    """Read `count` damaged pages, or read damaged pages for `seconds`; return their number."""
    number = 0
    plans = []
    for impl in impls:
        codecs = twin("codecs", impl)
        column_codecs = [
            codecs.int32(),
            codecs.text(),
            codecs.list_of(codecs.int64()),
            codecs.uuid(),
            codecs.timestamp(),
        ]
        plans.append(twin("rows", impl).RowPlan(["a", "b", "c", "d", "e"], column_codecs))
    # The row contains valid values: int, text, list of two bigint, uuid, timestamp.
    row = (
        value(int32(1))
        + value(b"text")
        + value(int32(2) + value(bytes(8)) * 2)
        + value(bytes(16))
        + value(bytes(8))
    )
    # The page has eight rows, of which every second one has only nulls.
    page = (row + value(None) * 5) * 4
    for number in numbers(count, seconds):  # noqa: B007 - how many there were
        damaged = mutate(page, rng)
        # The last two counts are wrong.
        row_count = rng.choice((8, 8, 8, 9, 2**31 - 1))
        method = rng.choice(
            ("tuples", "named_tuples", "dicts", "ordered_dicts", "columns", "iterate")
        )
        outcomes: list[Any] = []
        for plan in plans:
            try:
                result = getattr(plan, method)(damaged, 0, row_count)
                outcomes.append(list(result) if method == "iterate" else result)
            except DecodeError:
                outcomes.append(DecodeError)
        if repr(outcomes[0]) != repr(outcomes[-1]):
            keep("rows", method, row_count, damaged.hex())
            sys.exit(
                f"the implementations differ in {method} of {row_count} rows: "
                f"{damaged.hex()}\n{outcomes}"
            )
    return number + 1


def replay(impls: list[str]) -> int:
    """Read all frames and messages of the corpus again, and return their number."""
    frame_modules = [twin("frame", impl) for impl in impls]
    kept_frames, kept_messages = lines("frames"), lines("messages")
    for version, algorithm, step, data in kept_frames:
        name = None if algorithm == "None" else algorithm
        outcomes = [
            read(module, int(version), name, bytes.fromhex(data), int(step))
            for module in frame_modules
        ]
        assert outcomes[0] == outcomes[-1], data
    for opcode, flags, version, data in kept_messages:
        for user_types in (None, {"ks": {"pair": dict}}):
            read_message(
                int(opcode),
                int(flags),
                bytes.fromhex(data),
                int(version),
                user_types,
                tuple_factory,
            )
    return len(kept_frames) + len(kept_messages)


def main() -> None:
    """Fuzz frames, messages and rows with the options of the command line, and print counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--count", type=int, default=100_000, help="mutations of each of the three kinds"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--impl", choices=("c", "python", "both"), default="both")
    options = parser.parse_args()
    impls = ["python", "c"] if options.impl == "both" else [options.impl]
    rng = random.Random(options.seed)
    runs: list[tuple[str, Callable[[], object]]] = [
        (
            "frames",
            lambda: run_frames([twin("frame", impl) for impl in impls], options.count, rng),
        ),
        ("messages", lambda: run_messages(options.count, rng)),
        ("rows", lambda: run_rows(impls, options.count, rng)),
    ]
    for name, run in runs:
        start = time.perf_counter()
        run()
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name}: {options.count} mutations in {time.perf_counter() - start:.1f} s, resident "
            f"{resident} MB at most",
            flush=True,
        )
        if resident > MAX_RESIDENT_MB:
            sys.exit(f"{resident} MB resident")


if __name__ == "__main__":
    main()
