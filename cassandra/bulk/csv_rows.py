"""Reads CSV fields directly into bound rows; the compiled version is ``cassandra._accel.csv_rows``.

This pure Python version has no such reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.bulk.csv_fields import CsvReader, Field
    from cassandra.protocol.bind import BindPlan

__all__ = ["csv_reader"]


def csv_reader(
    plan: BindPlan,
    version: int,
    fields: Sequence[Field],
    width: int,
    delimiter: str,
    quote: str,
) -> CsvReader | None:
    """Return None, because only the compiled version of this function returns a reader.

    Without such a reader, the csv module reads strings, which are then converted to values.

    :param plan: how values are bound.
    :param version: the protocol version.
    :param fields: the field of each bind marker.
    :param width: the number of fields of a line.
    :param delimiter: the delimiter of fields.
    :param quote: the quote character of fields.
    """
    return None
