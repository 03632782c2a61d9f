"""``python -m cassandra.doctor``; see `cassandra.doctor.cli`."""

from __future__ import annotations

import sys

from cassandra._command_words import run_command
from cassandra.doctor.cli import main

if __name__ == "__main__":
    sys.exit(run_command(main))
