"""Python values as CQL literals, for statements whose parameters are put into the text.

Prepared statements do not come here. `Encoder.mapping` says which method makes the literal of which
class; subclasses use their parents' entry, so that a named tuple is a tuple and a subclass of str
is quoted.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import types
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cassandra._lazy import lazy_names
from cassandra.cqltypes.coerce import blob_bytes
from cassandra.cqltypes.missing import is_missing_type
from cassandra.util.daterange import DateRange
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.orderedmap import OrderedMap, OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, Time, ms_timestamp_from_datetime

T = TypeVar("T")


def cql_quote(term: Any) -> str:
    """`term` as a quoted CQL string."""
    return "'" + str(term).replace("'", "''") + "'"


class ValueSequence(list[T]):
    """A sequence of values for ``IN``: its literal has parentheses."""


class Encoder:
    """Makes CQL literals. `mapping` (class to method) may be changed and added to."""

    mapping: dict[type, Callable[[Any], str]]

    def __init__(self) -> None:
        self.mapping = {
            type(None): self.cql_encode_none,
            bool: self.cql_encode_bool,
            int: self.cql_encode_object,
            float: self.cql_encode_float,
            decimal.Decimal: self.cql_encode_object,
            str: self.cql_encode_str,
            bytes: self.cql_encode_bytes,
            bytearray: self.cql_encode_bytes,
            memoryview: self.cql_encode_bytes,
            uuid.UUID: self.cql_encode_object,
            datetime.datetime: self.cql_encode_datetime,
            datetime.date: self.cql_encode_date,
            datetime.time: self.cql_encode_time,
            Date: self.cql_encode_date_ext,
            Time: self.cql_encode_time,
            Duration: self.cql_encode_object,
            dict: self.cql_encode_map_collection,
            OrderedDict: self.cql_encode_map_collection,
            OrderedMap: self.cql_encode_map_collection,
            OrderedMapSerializedKey: self.cql_encode_map_collection,
            list: self.cql_encode_list_collection,
            tuple: self.cql_encode_tuple,
            set: self.cql_encode_set_collection,
            frozenset: self.cql_encode_set_collection,
            SortedSet: self.cql_encode_set_collection,
            types.GeneratorType: self.cql_encode_list_collection,
            ValueSequence: self.cql_encode_sequence,
            Point: self.cql_encode_str_quoted,
            LineString: self.cql_encode_str_quoted,
            Polygon: self.cql_encode_str_quoted,
            DateRange: self.cql_encode_str_quoted,
        }

    def _method(self, kind: type) -> Callable[[Any], str]:
        mapping = self.mapping
        found = mapping.get(kind)
        if found is not None:
            return found
        if is_missing_type(kind):
            return self.cql_encode_none
        if issubclass(kind, enum.Enum) and not any(
            one in mapping for one in kind.__mro__ if issubclass(one, enum.Enum)
        ):
            return self.cql_encode_member
        for parent in kind.__mro__:
            if parent in mapping:
                return mapping[parent]
            if parent.__module__ == "ipaddress":
                return self.cql_encode_ipaddress
        if issubclass(kind, Mapping):
            return self.cql_encode_map_collection
        return self.cql_encode_object

    def cql_encode_all_types(self, val: Any, as_text_type: bool = False) -> str:
        """The literal of any value (`as_text_type` is accepted for older callers: literals are
        always str).
        """
        return self._method(type(val))(val)

    def cql_encode_none(self, val: Any) -> str:
        """``NULL``."""
        return "NULL"

    def cql_encode_bool(self, val: bool) -> str:
        """``true`` or ``false``."""
        return "true" if val else "false"

    def cql_encode_member(self, val: enum.Enum) -> str:
        """The literal of the value of an enum's member."""
        return self.cql_encode_all_types(val.value)

    def cql_encode_object(self, val: Any) -> str:
        """The str() of a value that needs no quotes."""
        if isinstance(val, int):
            return int.__repr__(val)  # an IntEnum's own str() is its name
        return str(val)

    def cql_encode_float(self, val: float) -> str:
        """The shortest text that reads back as the same number; ``NaN`` and ``Infinity`` by name."""
        if math.isnan(val):
            return "NaN"
        if math.isinf(val):
            return "Infinity" if val > 0 else "-Infinity"
        return float.__repr__(val)

    def cql_encode_str(self, val: str) -> str:
        """Quoted text."""
        return cql_quote(val)

    cql_encode_unicode = cql_encode_str

    def cql_encode_str_quoted(self, val: Any) -> str:
        """The quoted str() of a value."""
        return cql_quote(val)

    def cql_encode_bytes(self, val: bytes | bytearray | memoryview) -> str:
        """``0x`` and the bytes in hex."""
        return "0x" + blob_bytes(val).hex()

    def cql_encode_datetime(self, val: datetime.datetime) -> str:
        """Milliseconds since 1970; a naive datetime is taken as UTC."""
        return str(ms_timestamp_from_datetime(val))

    def cql_encode_date(self, val: datetime.date) -> str:
        """A quoted ``YYYY-MM-DD``, which suits columns of date and of timestamp."""
        return f"'{val.isoformat()}'"

    def cql_encode_date_ext(self, val: Date) -> str:
        """The day as the unsigned number that CQL counts days with: text has no years beyond 9999."""
        return str(val.days_from_epoch + (1 << 31))

    def cql_encode_time(self, val: Time | datetime.time) -> str:
        """A quoted ``HH:MM:SS.nnnnnnnnn``."""
        return f"'{Time(val)}'"

    def cql_encode_ipaddress(self, val: Any) -> str:
        """A quoted address: of the module `ipaddress`, which is not imported for the sake of those
        who never use it.
        """
        return f"'{val.compressed}'"

    def cql_encode_sequence(self, val: Iterable[Any]) -> str:
        """``(a, b)``, for ``IN``."""
        return f"({', '.join([self.cql_encode_all_types(item) for item in val])})"

    cql_encode_tuple = cql_encode_sequence

    def cql_encode_map_collection(self, val: Any) -> str:
        """``{key: value, ...}``."""
        encode = self.cql_encode_all_types
        return (
            "{" + ", ".join([f"{encode(key)}: {encode(item)}" for key, item in val.items()]) + "}"
        )

    def cql_encode_list_collection(self, val: Iterable[Any]) -> str:
        """``[a, b]``."""
        return f"[{', '.join([self.cql_encode_all_types(item) for item in val])}]"

    def cql_encode_set_collection(self, val: Iterable[Any]) -> str:
        """``{a, b}``."""
        return "{" + ", ".join([self.cql_encode_all_types(item) for item in val]) + "}"


__getattr__ = lazy_names(__name__)
