"""Bulk loading and unloading: whole files and data frames into tables, and back.

The entry points are `cassandra.cluster.Session.load` and its twin in `cassandra.aio`.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.bulk.options import LoadOptions
from cassandra.bulk.report import LoadError, LoadReport, RowFailure
from cassandra.bulk.scan_options import ScanOptions, UnloadOptions

# Define `__getattr__` in a way that type checkers do not see: they would allow every name.
globals()["__getattr__"] = lazy_names(__name__)

__all__ = [
    "LoadError", "LoadOptions", "LoadReport", "RowFailure", "ScanOptions", "UnloadOptions",
]  # fmt: skip
