"""Fields of CSV to the bytes of bound rows. The compiled twin is ``cassandra._accel.csv_rows``."""

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
    """Return a reader of usual CSV; None if there is none.

    In Python there is none: the csv module reads, and each text becomes a value first.

    :param plan: how values are bound.
    :param version: the version of the protocol.
    :param fields: the field of each bind marker.
    :param width: how many fields a line has.
    :param delimiter: between fields.
    :param quote: around fields.
    """
    return None
