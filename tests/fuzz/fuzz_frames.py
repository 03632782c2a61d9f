"""Mutated frames, messages and pages by the million: no crash, no hang, no memory without bound, and only the errors that say so.

    python -m tests.fuzz.fuzz_frames [--count N] [--seed S] [--impl c|python|both]

Both implementations get the same bytes and have to give the same envelopes, or an error of the same class. Every mutation comes from the
seed, so that a finding can be repeated; one is written to the standard output with its bytes in hexadecimal.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from cassandra._impl import twin
from cassandra.errors import DecodeError, ProtocolError
from cassandra.protocol.messages.decode import decode_response
from tests.unit.protocol.test_responses import WHOLE
from tests.unit.protocol.wire import int32, value

SETTINGS: list[tuple[int, str | None]] = [(3, None), (4, None), (4, "lz4"), (4, "snappy"), (5, None), (5, "lz4")]
# A reader may hold one body of this size, so that a forged length costs little; the limit itself is part of what is tested.
MAX_BODY = 1 << 20
MAX_RESIDENT_MB = 1500


def streams() -> list[tuple[int, str | None, bytes]]:
    """One healthy stream for each way of framing."""
    made = []
    for version, algorithm in SETTINGS:
        writer = twin("frame", "python").FrameWriter(version, responses=True)
        writer.set_compression(algorithm)
        if version >= 5:
            writer.enable_segments()
        for stream, size in enumerate((0, 3, 40, 700, 90)):
            writer.add(stream, 8, 0, b"ab" * size)
        made.append((version, algorithm, writer.take()))
    return made


def mutate(data: bytes, source: random.Random) -> bytes:
    """`data` with a few bytes changed, removed, repeated or put in, or cut."""
    out = bytearray(data)
    for _ in range(source.randint(1, 4)):
        if not out:
            break
        pos = source.randrange(len(out))
        kind = source.random()
        if kind < 0.5:
            out[pos] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
        elif kind < 0.65:
            out[pos] ^= 1 << source.randrange(8)
        elif kind < 0.75:
            del out[pos : pos + source.randint(1, 8)]
        elif kind < 0.85:
            out[pos:pos] = source.randbytes(source.randint(1, 8))
        elif kind < 0.95:
            out[pos : pos + 4] = source.choice(
                (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\xff\xff")
            )
        else:
            del out[pos:]
    return bytes(out)


def read(frame: Any, version: int, algorithm: str | None, data: bytes, step: int) -> Any:
    """The envelopes in `data`, or the class of the error."""
    reader = frame.FrameReader(version, MAX_BODY)
    reader.set_compression(algorithm)
    if version >= 5:
        reader.enable_segments()
    out = []
    try:
        for pos in range(0, len(data), step):
            piece = data[pos : pos + step]
            if step % 2:
                out += reader.feed(piece)
                continue
            while piece:
                room = reader.get_buffer(-1)
                size = min(len(room), len(piece))
                room[:size] = piece[:size]
                piece = piece[size:]
                out += reader.buffer_updated(size)
    except ProtocolError as error:
        return type(error)
    return out


def run_frames(frames: list[Any], count: int, source: random.Random) -> None:
    healthy = streams()
    for _ in range(count):
        version, algorithm, data = source.choice(healthy)
        damaged = mutate(data, source)
        step = source.choice((1, 16, 777, 100_000, 100_001)) if len(damaged) < 3000 else 777
        outcomes = [read(frame, version, algorithm, damaged, step) for frame in frames]
        if outcomes[0] != outcomes[-1]:
            sys.exit(f"the implementations differ: v{version} {algorithm} step {step}: {damaged.hex()}")


def run_messages(count: int, source: random.Random) -> None:
    for _ in range(count):
        opcode, body, version = source.choice(WHOLE)
        damaged = mutate(body, source)
        flags = source.choice((0, 0, 0, 2, 4, 8, 14))
        try:
            decode_response(opcode, flags, damaged, version)
        except ProtocolError:
            pass
        except Exception as error:
            sys.exit(f"{type(error).__name__} from opcode {opcode} flags {flags} v{version}: {damaged.hex()}: {error}")


def run_rows(impls: list[str], count: int, source: random.Random) -> None:
    plans = []
    for impl in impls:
        codecs = twin("codecs", impl)
        kinds = [codecs.int32(), codecs.text(), codecs.list_of(codecs.int64()), codecs.uuid(), codecs.timestamp()]
        plans.append(twin("rows", impl).RowPlan(["a", "b", "c", "d", "e"], kinds))
    row = value(int32(1)) + value(b"text") + value(int32(2) + value(bytes(8)) * 2) + value(bytes(16)) + value(bytes(8))
    page = (row + value(None) * 5) * 4
    for _ in range(count):
        damaged = mutate(page, source)
        row_count = source.choice((8, 8, 8, 9, 2**31 - 1))
        method = source.choice(("tuples", "named_tuples", "dicts", "ordered_dicts", "columns"))
        outcomes: list[Any] = []
        for plan in plans:
            try:
                outcomes.append(getattr(plan, method)(damaged, 0, row_count))
            except DecodeError:
                outcomes.append(DecodeError)
        if repr(outcomes[0]) != repr(outcomes[-1]):
            sys.exit(f"the implementations differ in {method} of {row_count} rows: {damaged.hex()}\n{outcomes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="mutations of each of the three kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--impl", choices=("c", "python", "both"), default="both")
    options = parser.parse_args()
    impls = ["python", "c"] if options.impl == "both" else [options.impl]
    source = random.Random(options.seed)
    runs: list[tuple[str, Callable[[], None]]] = [
        ("frames", lambda: run_frames([twin("frame", impl) for impl in impls], options.count, source)),
        ("messages", lambda: run_messages(options.count, source)),
        ("rows", lambda: run_rows(impls, options.count, source)),
    ]
    for name, run in runs:
        start = time.perf_counter()
        run()
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name}: {options.count} mutations in {time.perf_counter() - start:.1f} s, resident {resident} MB at most",
            flush=True,
        )
        if resident > MAX_RESIDENT_MB:
            sys.exit(f"{resident} MB resident")


if __name__ == "__main__":
    main()
