"""``python -m cassandra.bulk``; see `cassandra.bulk.cli`."""

from __future__ import annotations

import gc
import sys

from cassandra._command_words import run_command
from cassandra.bulk.cli import main

if __name__ == "__main__":
    # Reading or writing whole tables creates many objects, but hardly any reference cycles, so the
    # garbage collector would find little. Let it run rarely, and never look at imported objects
    # (`freeze`).
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.exit(run_command(main))
