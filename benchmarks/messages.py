"""Times of encoding requests and decoding small responses, compared with other drivers on PyPI.

    python benchmarks/messages.py

"engine" columns time the internal functions that this driver's engine calls. "api" columns time the
message classes that all measured drivers have. "pure" columns are of drivers without their compiled
modules.
"""

from __future__ import annotations

import sys

from benchmarks._lib.peers_messages import compare
from benchmarks._lib.report import Benchmark

# The most nanoseconds that the compiled modules may take, by case. TARGETS is for the functions of
# the engine, and API_TARGETS for the public classes.
TARGETS = {
    "EXECUTE 12 parameters": 500.0,
    "bind + EXECUTE 10 columns": 1_000.0,
    "BATCH 10 x 2 vec128": 900.0,
    "BATCH 50 x 2 vec128": 4_000.0,
    "BATCH 10 x 10 text": 2_000.0,
    "BATCH 50 x 10 text": 9_000.0,
    "VOID": 300.0,
}
API_TARGETS = {
    "bind + EXECUTE 10 columns": 1_500.0,
    "BATCH 10 x 2 vec128": 1_000.0,
    "VOID": 350.0,
}


def allocations(bench: Benchmark) -> None:
    """Report how many memory blocks an encoded EXECUTE body holds.

    The minimum is one block, the bytes object itself.
    """
    from cassandra._impl import bodies, implementation
    from cassandra.protocol.params import QueryParams

    params = QueryParams(1, [b"x" * 20] * 12, page_size=5000, timestamp=1_700_000_000_000_000)

    def encode_bodies() -> list[bytes]:
        return [bodies.execute_body(b"i" * 16, None, params, 4) for _ in range(1000)]

    encode_bodies()  # fill caches first, so that their blocks are not counted
    blocks_before = sys.getallocatedblocks()
    encoded = encode_bodies()
    blocks = sys.getallocatedblocks() - blocks_before - 1  # without the block of the list itself
    bench.note(f"blocks per kept EXECUTE body, {implementation}: {blocks / len(encoded):.2f}")


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Encoding of requests and decoding of small answers, ns a message",
        duration_text="30 s",
        quick_duration_text="3 s",
        with_peers=True,
    )
    compare("messages", TARGETS, API_TARGETS, bench)
    allocations(bench)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
