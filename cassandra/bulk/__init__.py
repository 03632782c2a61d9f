"""Bulk loading and unloading: write files and data frames into tables, and tables into files.

The entry points are the methods of sessions that start with `cassandra.cluster.Session.load`, the
same methods in `cassandra.aio`, and the command ``python -m cassandra.bulk``.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.report import LoadError, LoadReport, RowFailure
from cassandra.bulk.scan_options import ScanOptions, UnloadOptions

# Type checkers must not see a plain `def __getattr__`: they would then accept every name.
globals()["__getattr__"] = lazy_names(__name__)

__all__ = [
    "LoadError", "LoadOptions", "LoadReport", "RowFailure", "ScanOptions", "UnloadOptions",
]  # fmt: skip
