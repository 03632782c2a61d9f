"""The cost of decoding a result, a page of 5,000 rows or one row, beside the drivers on PyPI.

python -m benchmarks.rows
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib.peers_messages import compare

# Nanoseconds of the compiled lane.
TARGETS = {
    "page 5000 x 5, tuples": 2_200_000.0,
    "1 x 3, named tuple": 1_500.0,
    "1 x 3, named tuple, metadata skipped": 1_500.0,
}

if __name__ == "__main__":
    compare("rows", TARGETS, __doc__)
