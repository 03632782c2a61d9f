"""``python -m cassandra.bulk``; see `cassandra.bulk.cli`."""

from __future__ import annotations

import sys

from cassandra.bulk.cli import main

if __name__ == "__main__":
    sys.exit(main())
