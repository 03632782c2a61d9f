"""Reads CSV fields directly into bound rows. The compiled twin is ``cassandra._accel.csv_rows``."""

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
    """Return None: only the compiled implementation of this function returns a fast reader.

    Without such a reader, the csv module reads strings, which are converted to values.

    :param plan: how values are bound.
    :param version: the protocol version.
    :param fields: the field of each bind marker.
    :param width: how many fields a line has.
    :param delimiter: the delimiter of fields.
    :param quote: the quote character of fields.
    """
    return None
