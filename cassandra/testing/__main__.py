"""``python -m cassandra.testing``; see :mod:`cassandra.testing.cli`."""

from __future__ import annotations

import sys

from cassandra._command_words import run_command
from cassandra.testing.cli import main

if __name__ == "__main__":
    sys.exit(run_command(main))
