"""The cost of encoding a request: EXECUTE, bind and BATCH, beside the drivers on PyPI.

python -m benchmarks.messages
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib.peers_messages import compare

# Nanoseconds of the compiled lane.
TARGETS = {
    "EXECUTE 12 parameters": 500.0,
    "bind + EXECUTE 10 columns": 1_000.0,
    "BATCH 10 x 2 vec128": 900.0,
    "BATCH 50 x 2 vec128": 4_000.0,
    "BATCH 10 x 10 text": 2_000.0,
    "BATCH 50 x 10 text": 9_000.0,
    "VOID": 300.0,
}


def allocations() -> None:
    """Print how many memory blocks stay for each encoded EXECUTE that is kept: one is the body."""
    from cassandra._impl import bodies, implementation
    from cassandra.protocol.params import QueryParams

    params = QueryParams(1, [b"x" * 20] * 12, page_size=5000, timestamp=1_700_000_000_000_000)
    warm = [bodies.execute_body(b"i" * 16, None, params, 4) for _ in range(1000)]
    del warm
    before = sys.getallocatedblocks()
    more = [bodies.execute_body(b"i" * 16, None, params, 4) for _ in range(1000)]
    grown = sys.getallocatedblocks() - before
    print(f"blocks per kept EXECUTE body, {implementation}: {(grown - 1) / len(more):.2f}")


if __name__ == "__main__":
    compare("messages", TARGETS, __doc__)
    allocations()
