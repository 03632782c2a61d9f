"""``python -m cassandra.migrate``; see :mod:`cassandra.migrate.cli`."""

from __future__ import annotations

import sys

from cassandra.migrate.cli import main

if __name__ == "__main__":
    sys.exit(main())
