"""Encodes Python values as CQL literals, which the driver inserts into a query string for ``%s``.

Prepared statements do not need this, because their values are serialized.

`Encoder.mapping` maps a class to the method that returns the literal. A subclass is encoded like
its parent class: a named tuple like a tuple, and a subclass of str is quoted.

A value must not be able to change the rest of the statement. For literals without quotes, we
therefore never call methods that a subclass may override (``__str__``, ``isoformat``, ``replace``,
...). We call the methods of the base class, or build the literal from numbers. An object of an
unknown class is written by its own ``__str__``, but only if that returns exactly one literal, such
as ``5`` or ``'text'``, or one call of a function, such as ``now()``. Only the methods that an
application puts into `mapping` itself may return other text.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import numbers
import types
import uuid
from collections import OrderedDict, UserString
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, ValuesView
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._lazy import lazy_names
from cassandra._mocks import is_mock
from cassandra._one_literal import is_one_literal
from cassandra.cqltypes.coerce import blob_bytes, duration_parts, refuse_zone, uuid_bytes
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError, shown
from cassandra.cqltypes.missing import is_missing_type
from cassandra.cqltypes.moments import NANOS_OF_DAY, is_whole_days, nanos_since_1970
from cassandra.sentinels import UNSET_VALUE
from cassandra.util.daterange import DateRange
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.orderedmap import OrderedMap, OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, Time, ms_timestamp_from_datetime

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
    from typing import NoReturn, SupportsFloat

__all__ = ["Encoder", "ValueSequence", "cql_quote"]

T = TypeVar("T")


def cql_quote(term: object) -> str:
    """Return a str as a quoted CQL string, and any other value as str() without quotes.

    :param term: the value.
    """
    if not isinstance(term, str):
        return str(term)
    # In a CQL string, only quotes must be escaped, by doubling them. Call the method of str itself,
    # because a subclass may override `replace`.
    return "'" + str.replace(str(term), "'", "''") + "'"


def _digits(number: Any) -> str:
    """Return the digits of an integer, even if its class is a subclass of int."""
    return int.__repr__(index(number))


# The methods for classes of NumPy, by the names of these classes. NumPy itself is not imported.
_METHODS_FOR_NUMPY = {
    "ndarray": "_cql_encode_array",
    "datetime64": "_cql_encode_moment",
    "timedelta64": "_refuse_interval",
    "floating": "_cql_encode_short_float",
}
# The names of methods that convert an array to a list, in the libraries' own spellings.
_METHODS_OF_ARRAYS = ("tolist", "to_list", "to_pylist")


class ValueSequence(list[T]):
    """A sequence of values for ``IN``, written in parentheses."""


class Encoder:
    """Encodes values as CQL literals.

    `mapping` has the method for each class. You may change and extend it.
    """

    mapping: dict[type, Callable[[Any], str]]

    def __init__(self) -> None:
        # Each encoder has its own mapping, so that a change affects only the session of this
        # encoder.
        self.mapping = {
            type(None): self.cql_encode_none,
            bool: self.cql_encode_bool,
            int: self.cql_encode_object,
            float: self.cql_encode_float,
            decimal.Decimal: self.cql_encode_decimal,
            str: self.cql_encode_str,
            bytes: self.cql_encode_bytes,
            bytearray: self.cql_encode_bytes,
            memoryview: self.cql_encode_bytes,
            uuid.UUID: self.cql_encode_uuid,
            datetime.datetime: self.cql_encode_datetime,
            datetime.date: self.cql_encode_date,
            datetime.time: self.cql_encode_time_of_day,
            Date: self.cql_encode_date_ext,
            Time: self.cql_encode_time,
            Duration: self.cql_encode_duration,
            dict: self.cql_encode_map_collection,
            OrderedDict: self.cql_encode_map_collection,
            OrderedMap: self.cql_encode_map_collection,
            OrderedMapSerializedKey: self.cql_encode_map_collection,
            list: self.cql_encode_list_collection,
            # A tuple becomes a list, for list and vector columns, as in cassandra-driver. To write
            # to tuple columns, set ``mapping[tuple] = encoder.cql_encode_tuple``.
            tuple: self.cql_encode_list_collection,
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

    def _method(self, cls: type) -> Callable[[Any], str]:
        """Return the method that encodes values of a class."""
        mapping = self.mapping
        # In most cases the exact class has an entry.
        method = mapping.get(cls)
        if method is not None:
            return method
        if is_missing_type(cls):
            # Values such as pandas.NaT mean null, even if their parent class is in `mapping`.
            return self.cql_encode_none
        # Encode a member of an enum by its value, unless the user has added an entry for its class
        # or for a parent enum class.
        if issubclass(cls, enum.Enum) and not any(
            base in mapping for base in cls.__mro__ if issubclass(base, enum.Enum)
        ):
            return self.cql_encode_member
        # Otherwise use the entry of the nearest parent class. An entry for `object` itself is only
        # for plain objects, as in cassandra-driver.
        for parent in cls.__mro__[:-1]:
            if parent in mapping:
                return mapping[parent]
            if parent.__module__ == "ipaddress":
                return self.cql_encode_ipaddress
            if (
                parent.__module__ == "numpy"
                and parent.__name__ in _METHODS_FOR_NUMPY
                # `numpy.float64` is a subclass of float, which has an entry.
                and not issubclass(cls, float)
            ):
                named: Callable[[Any], str] = getattr(self, _METHODS_FOR_NUMPY[parent.__name__])
                return named
            if parent is datetime.timedelta:
                return self._refuse_interval
            # These are scalars of pyarrow. (Their class of maps is also a sequence.)
            if parent.__module__ == "pyarrow.lib" and hasattr(parent, "as_py"):
                return self._cql_encode_arrow_scalar
        # Check strings and bytes before sequences, because they are sequences, too. (Usually they
        # have an entry, but the application may have replaced the mapping.)
        if issubclass(cls, str):
            return self.cql_encode_str
        if issubclass(cls, UserString):
            return self._cql_encode_user_string
        if issubclass(cls, (bytes, bytearray, memoryview)):
            return self.cql_encode_bytes
        # Encode other containers item by item, because str() of a container is Python syntax.
        if issubclass(cls, Mapping):
            return self.cql_encode_map_collection
        if issubclass(cls, Set):
            return self.cql_encode_set_collection
        # The view of a mapping's values is iterable, but is not a `Sequence`. Without this check,
        # it would be written by its str(), dict_values([1, 2]), which looks like a call of a
        # function in CQL.
        if issubclass(cls, (Sequence, ValuesView)):
            return self.cql_encode_list_collection
        # Encode arrays of other libraries, such as tensors of PyTorch. (NumPy's numbers also have
        # `__array__` and `tolist`, but no length. Frames and tables have columns.)
        if (
            hasattr(cls, "__array__")
            and hasattr(cls, "__len__")
            and any(hasattr(cls, name) for name in _METHODS_OF_ARRAYS)
            and not hasattr(cls, "columns")
        ):
            return self._cql_encode_array
        return self._method_for_unknown()

    def _method_for_unknown(self) -> Callable[[Any], str]:
        """Return the method that encodes objects of unknown classes."""
        # A subclass of Encoder, which the application has written, may override this method. Or the
        # application may have replaced it.
        method = self.cql_encode_object
        if getattr(method, "__func__", None) is not _cql_encode_object:
            return method
        return self._cql_encode_unknown

    def cql_encode_all_types(self, val: object, as_text_type: bool = False) -> str:
        """Return the literal of any value.

        :param val: the value.
        :param as_text_type: accepted for compatibility. Literals are always str.
        """
        return self._method(type(val))(val)

    def cql_encode_none(self, val: object) -> str:
        """Return ``NULL``.

        :param val: the value.
        """
        return "NULL"

    def cql_encode_bool(self, val: bool) -> str:
        """Return ``true`` or ``false``.

        :param val: the value.
        """
        return "true" if val else "false"

    def cql_encode_member(self, val: enum.Enum) -> str:
        """Return the CQL literal of the value of an enum member.

        :param val: the member.
        """
        return self.cql_encode_all_types(val.value)

    def cql_encode_object(self, val: object) -> str:
        """Return the str() of a value that needs no quotes.

        The string is not checked. It becomes part of the statement, even if it is not a literal.

        :param val: the value.
        """
        if isinstance(val, bool):
            return self.cql_encode_bool(val)
        if isinstance(val, int):
            # Do not call str(): for a member of some integer enums, it returns the member's name.
            return int.__repr__(val)
        if val is UNSET_VALUE:
            raise TypeError(
                "UNSET_VALUE has no literal in CQL: prepare the statement, or leave its column out"
            )
        cls = type(val)
        # If the class defines neither str() nor repr(), the result would be like <Money object at
        # 0x7f...>, which is not a literal.
        if cls.__str__ is object.__str__ and cls.__repr__ is object.__repr__:
            self._refuse_object(val, repr(val))
        return str(val)

    def _cql_encode_unknown(self, val: object) -> str:
        """Return the str() of an object of an unknown class, if it is one literal or call."""
        cls = type(val)
        # Refuse these two classes, because CQL would take their str() for another value. The str()
        # of a Fraction is a quotient such as 1/3, and the str() of a pandas.Period may be a year
        # such as 2024, which is a number.
        if isinstance(val, numbers.Rational) and not isinstance(val, numbers.Integral):
            self._refuse_object(val, shown(val), "write float(value) or a decimal.Decimal")
        if cls.__name__ == "Period" and cls.__module__.partition(".")[0] == "pandas":
            self._refuse_object(val, shown(val), "write value.to_timestamp() for its first moment")
        # `str.__str__` converts a str of a subclass, whose own methods could return other text.
        text = str.__str__(self.cql_encode_object(val))
        # In tests of applications, values may be mocks, whose str() is never sent.
        if not is_one_literal(text) and not is_mock(val):
            self._refuse_object(val, shown(val))
        return text

    @staticmethod
    def _refuse_object(val: object, shown_value: str, advice: str = "") -> NoReturn:
        """Raise TypeError for an object that cannot be written as a literal.

        :param val: the object.
        :param shown_value: the object, as the message shows it.
        :param advice: what to do; "" for the advice that fits all classes.
        """
        name = type(val).__name__
        advice = advice or (
            "pass its fields (str, int, UUID, datetime, ...), "
            f"or set session.encoder.mapping[{name}] to a function that returns one"
        )
        raise TypeError(f"{shown_value} has no literal in CQL: {advice}")

    def cql_encode_decimal(self, val: SupportsFloat | str) -> str:
        """Return a decimal's digits, in scientific notation if it is very small or large.

        :param val: the value: a Decimal, an int, a string of digits, or another number, which is
            converted to float.
        :raises ValueError: if a string is no number.
        """
        if isinstance(val, decimal.Decimal):
            return decimal.Decimal.__str__(val)
        if isinstance(val, str):
            try:
                return decimal.Decimal.__str__(decimal.Decimal(val))
            except decimal.InvalidOperation:
                raise EncodeValueError(f"{shown(val)} is not a decimal number") from None
        return self.cql_encode_float(val)

    def cql_encode_uuid(self, val: uuid.UUID) -> str:
        """Return the 36 characters of a UUID.

        :param val: the value.
        """
        return str(uuid.UUID(bytes=uuid_bytes(val)))

    def cql_encode_duration(self, val: Duration) -> str:
        """Return a duration such as ``1mo2d3ns``.

        :param val: the value.
        :raises ValueError: if some parts are positive and others negative, because a duration in
            CQL has a single sign.
        """
        return str(Duration(*duration_parts(val)))

    def cql_encode_float(self, val: SupportsFloat) -> str:
        """Return the shortest string that reads back as the same number, or a name such as ``NaN``.

        :param val: the value: a float, an int, which keeps all its digits, or another number, which
            is converted to float.
        """
        if isinstance(val, int):
            return _digits(val)
        # `math.isfinite` raises TypeError for a string, which `float` would accept.
        if math.isfinite(val):
            return float.__repr__(val if isinstance(val, float) else float(val))
        if math.isnan(val):
            return "NaN"
        return "Infinity" if float(val) > 0 else "-Infinity"

    def cql_encode_str(self, val: str) -> str:
        """Return the quoted string.

        :param val: the value.
        """
        return cql_quote(val)

    cql_encode_unicode = cql_encode_str

    def _cql_encode_user_string(self, val: UserString) -> str:
        """Return the quoted string."""
        # Convert the object to str. If it were encoded as a sequence, each of its items would be a
        # UserString again, without end.
        return self.cql_encode_str(str(val))

    def cql_encode_str_quoted(self, val: object) -> str:
        """Return the quoted str() of a value.

        :param val: the value.
        """
        return cql_quote(str(val))

    def cql_encode_bytes(self, val: bytes | bytearray | memoryview) -> str:
        """Return ``0x`` and the bytes in hex.

        :param val: the value.
        """
        return "0x" + bytes.hex(blob_bytes(val))

    def cql_encode_datetime(self, val: datetime.datetime) -> str:
        """Return the milliseconds since 1970. A naive datetime is taken as UTC.

        :param val: the value.
        """
        return _digits(ms_timestamp_from_datetime(val))

    def cql_encode_date(self, val: datetime.date) -> str:
        """Return a quoted ``YYYY-MM-DD``, which both date and timestamp columns accept.

        :param val: the value.
        """
        return f"'{datetime.date.isoformat(val)}'"

    def cql_encode_date_ext(self, val: Date) -> str:
        """Return the unsigned number of the day, because CQL date strings end with the year 9999.

        :param val: the value.
        """
        # In CQL, the number of the day 1970-01-01 is 2**31.
        return _digits(val.days_from_epoch + (1 << 31))

    def cql_encode_time(self, val: Time | datetime.time) -> str:
        """Return a quoted ``HH:MM:SS.nnnnnnnnn``.

        :param val: the value.
        """
        # Create a new `Time` from the number, because a subclass may override ``__str__``.
        return f"'{Time(index(Time(val).nanosecond_time))}'"

    def cql_encode_time_of_day(self, val: datetime.time) -> str:
        """Return a quoted ``HH:MM:SS``, with microseconds and a UTC offset if there are any.

        :param val: the value.
        """
        return f"'{datetime.time.isoformat(val)}'"

    def cql_encode_ipaddress(
        self, val: IPv4Address | IPv6Address | IPv4Network | IPv6Network
    ) -> str:
        """Return the quoted address of an object of the module `ipaddress`.

        :param val: the value. It may be of a class of another library, which has the address as
            its attribute `compressed`.
        :raises EncodeTypeError: if the object is not an address.
        :raises EncodeValueError: if it has a zone (``fe80::1%eth0``), which inet cannot store.
        """
        address: Any = getattr(val, "network_address", val)
        refuse_zone(address)
        # Create a new object from the numbers of the address, because str() of a user's subclass
        # could return any string. `cls` is the class of the standard library from which the
        # object's class is derived.
        cls: Any = next(
            (base for base in type(val).__mro__ if base.__module__ == "ipaddress"), None
        )
        if cls is None:
            if not hasattr(val, "compressed"):
                raise EncodeTypeError(f"{shown(val)} is not an IP address")
            return self.cql_encode_str_quoted(val.compressed)
        # Only networks and interfaces have a prefix length; it is None for plain addresses.
        prefix = getattr(getattr(val, "network", val), "prefixlen", None)
        packed = bytes(address.packed)
        argument = packed if prefix is None else (packed, index(prefix))
        return f"'{cls(argument).compressed}'"

    def _cql_encode_array(self, val: Any) -> str:
        """Return the list literal of an array of NumPy or another library."""
        # Do not use `tolist` for arrays of datetime64 or timedelta64: for nanoseconds, it returns
        # integers, which servers would take for milliseconds.
        is_of_moments = getattr(getattr(val, "dtype", None), "kind", "") in ("M", "m")
        if is_of_moments:
            return self.cql_encode_all_types(list(val))
        for method in _METHODS_OF_ARRAYS:
            if hasattr(val, method):
                return self.cql_encode_all_types(getattr(val, method)())
        raise EncodeTypeError(f"{shown(val)} has no method {' or '.join(_METHODS_OF_ARRAYS)}")

    def _cql_encode_arrow_scalar(self, val: Any) -> str:
        """Return the literal of a scalar of pyarrow."""
        plain_value = val.as_py()
        # `as_py` converts a map to a list of pairs, so convert the list back to a map. Scalars of
        # older versions of pyarrow are no mappings.
        if type(val).__name__ == "MapScalar" and isinstance(plain_value, list):
            plain_value = OrderedMap(plain_value)
        return self.cql_encode_all_types(plain_value)

    def _cql_encode_short_float(self, val: Any) -> str:
        """Return the literal of a NumPy float whose number of bits differs from Python's floats."""
        # Use the digits that NumPy prints. ``float(val)`` would have more digits (float32), or
        # would lose some (longdouble).
        text = str(val)
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(text) or (
            text if is_one_literal(text) else self.cql_encode_float(float(val))
        )

    def _cql_encode_moment(self, val: Any) -> str:
        """Return the literal of a `numpy.datetime64`: a day, or the milliseconds since 1970."""
        nanos = nanos_since_1970(val)
        if nanos is None:
            raise TypeError(f"{val!r} has no literal in CQL: write None for a missing value")
        if is_whole_days(val):
            # Both date and timestamp columns accept this literal.
            return self.cql_encode_date(Date(nanos // NANOS_OF_DAY).date())
        return _digits(nanos // 1_000_000)

    def _refuse_interval(self, val: Any) -> NoReturn:
        """Raise TypeError for a timedelta, because CQL has no literal for it."""
        advice = (
            "None for a missing value"
            if str(val) == "NaT"
            else "cassandra.util.Duration(months, days, nanoseconds) for a duration column, a "
            "datetime.time for a time column, or int(value.total_seconds()) for a TTL"
        )
        raise TypeError(f"{val!r} has no literal in CQL: write {advice}")

    def cql_encode_sequence(self, val: Iterable[Any]) -> str:
        """Return ``(a, b)``, for ``IN``.

        :param val: the value.
        """
        return f"({', '.join([self.cql_encode_all_types(item) for item in val])})"

    cql_encode_tuple = cql_encode_sequence

    def cql_encode_map_collection(self, val: Mapping[Any, Any]) -> str:
        """Return ``{key: value, ...}``.

        :param val: the value.
        """
        encode = self.cql_encode_all_types
        return (
            "{" + ", ".join([f"{encode(key)}: {encode(item)}" for key, item in val.items()]) + "}"
        )

    def cql_encode_list_collection(self, val: Iterable[Any]) -> str:
        """Return ``[a, b]``.

        :param val: the value.
        """
        return f"[{', '.join([self.cql_encode_all_types(item) for item in val])}]"

    def cql_encode_set_collection(self, val: Iterable[Any]) -> str:
        """Return ``{a, b}``.

        :param val: the value.
        """
        return "{" + ", ".join([self.cql_encode_all_types(item) for item in val]) + "}"


# The driver's own method. `_method_for_unknown` compares with it, to see whether an application has
# replaced the method.
_cql_encode_object = Encoder.cql_encode_object

__getattr__ = lazy_names(__name__)
