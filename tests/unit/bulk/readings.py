"""`Reading` options for tests of the readers of files."""

from __future__ import annotations

from typing import Any

from cassandra.bulk.chunks import Column, Reading
from cassandra.bulk.texts import Formats
from cassandra.cqltypes import Int32Type, UTF8Type

COLUMNS = (Column("id", Int32Type), Column("name", UTF8Type))


def reading(**changes: Any) -> Reading:
    """Return a reader's options for rows of COLUMNS; `changes` replaces fields of `Reading`."""
    return Reading(
        format=None,
        columns=COLUMNS,
        mapping={},
        formats=Formats(),
        header=True,
        delimiter=None,
        quote='"',
    )._replace(**changes)
