"""``python -m cassandra.bulk``; see `cassandra.bulk.cli`."""

from __future__ import annotations

import gc
import sys

from cassandra.bulk.cli import main

if __name__ == "__main__":
    # Whole tables make many objects, but hardly any reference cycles. This process does nothing
    # else, so the garbage collector may skip imported objects, and run rarely.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.exit(main())
