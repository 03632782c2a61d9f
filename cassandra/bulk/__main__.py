"""``python -m cassandra.bulk``; see `cassandra.bulk.cli`."""

from __future__ import annotations

import gc
import sys

from cassandra.bulk.cli import main

if __name__ == "__main__":
    # Whole tables make many objects and hardly a circle of them. This process does nothing else:
    # the collector need not look at what was imported, nor so often at what is under way.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.exit(main())
