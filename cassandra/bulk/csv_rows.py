"""The pure Python version of ``cassandra._accel.csv_rows``, the compiled reader of CSV files.

The compiled reader encodes the fields of a CSV file directly into bound rows. There is no such
reader in pure Python, so `csv_reader` in this module always returns None. A load then reads strings
with Python's csv module, converts them to values, and binds the values.
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
