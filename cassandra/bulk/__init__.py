"""Bulk: whole files and frames into tables.

`cassandra.cluster.Session.load`, and its twin of `cassandra.aio`, are the way in.
"""

from __future__ import annotations

from cassandra._foreign import check_files

check_files()

from cassandra.bulk.options import LoadOptions
from cassandra.bulk.report import LoadError, LoadReport, RowFailure

__all__ = ["LoadError", "LoadOptions", "LoadReport", "RowFailure"]
