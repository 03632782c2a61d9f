"""Columns for text, blobs, numbers, identifiers and addresses."""

from __future__ import annotations

import decimal
import ipaddress
import math
import uuid
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from cassandra._habits import stack_level
from cassandra.cqlengine.columns.base import BaseValueManager, Column, plain, reads_rows_as_they_are
from cassandra.cqlengine.copies import snapshot
from cassandra.cqlengine.errors import ValidationError

__all__ = [
    "UUID",
    "Ascii",
    "BaseFloat",
    "BigInt",
    "Blob",
    "Boolean",
    "Bytes",
    "Counter",
    "CounterValueManager",
    "Decimal",
    "Double",
    "Float",
    "Inet",
    "Integer",
    "SmallInt",
    "Text",
    "TimeUUID",
    "TinyInt",
    "VarInt",
]

_Value = TypeVar("_Value")


class Text(Column[str]):
    """A column for text.

    :param min_length: minimum number of characters; by default 1 if the column is required.
    :param max_length: maximum number of characters.
    :param kwargs: the settings of `Column`, by name.
    :raises ValueError: if a length is negative, or `max_length` is less than `min_length`.
    """

    db_type = "text"

    def __init__(
        self, min_length: int | None = None, max_length: int | None = None, **kwargs: Any
    ) -> None:
        # If the column is required, treat an empty string as missing, although servers could store
        # it.
        if min_length is None and kwargs.get("required"):
            min_length = 1
        for name, length in (("min_length", min_length), ("max_length", max_length)):
            if isinstance(length, str):
                raise TypeError(f"{name} is a number, not {length!r}")
            if length is not None and length < 0:
                raise ValueError(f"{name} is not allowed to be negative, but is {length}")
        if min_length is not None and max_length is not None and max_length < min_length:
            raise ValueError(
                f"max_length must be greater or equal to min_length, but {max_length} < "
                f"{min_length}"
            )
        self.min_length = min_length
        self.max_length = max_length
        super().__init__(**kwargs)

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, (str, bytearray)):
            raise ValidationError(f"{self.label} {value!r} ({type(value)}) is not a string")
        # If there is a minimum length, a value of None is an error too.
        if self.min_length and (value is None or len(value) < self.min_length):
            raise ValidationError(
                f"{self.label} {value!r} is shorter than {self.min_length} characters, the "
                "column's min_length (max_length= sets the greatest length)"
            )
        if self.max_length is not None and value is not None and len(value) > self.max_length:
            raise ValidationError(
                f"{self.label} {value!r} is longer than {self.max_length} characters"
            )
        if value is None or (type(value) is str and value.isascii()):
            return value
        try:
            if isinstance(value, bytearray):
                return value.decode()
            value.encode()  # fails for lone surrogates
        except UnicodeError:
            raise ValidationError(f"{self.label} {value!r} is not UTF-8") from None
        return value

    def to_filter(self, value: object) -> object:
        if not self._converts_as_stock:
            # The application has a column class of its own (for enums or JSON, for example), whose
            # methods convert the value.
            return super().to_filter(value)
        # Do not check the length: the string may be a pattern of LIKE, which is shorter or longer
        # than the values.
        if not isinstance(value, str):
            raise ValidationError(f"{self.label} {value!r} ({type(value)}) is not a string")
        # `wire` is None if the value is bound as it is.
        to_bound = self.wire
        return value if to_bound is None else to_bound(value)


class Ascii(Text):
    """A column for text of ASCII characters."""

    db_type = "ascii"

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is not None and not value.isascii():
            raise ValidationError(f"{self.label} {value!r} has characters that are not ASCII")
        return value


class Blob(Column[bytes]):
    """A column for bytes."""

    db_type = "blob"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
            raise ValidationError(f"{self.label} {value!r} ({type(value)}) is not bytes")
        return value

    @plain
    def to_database(self, value: object) -> object:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise ValidationError(f"{self.label} {value!r} ({type(value)}) is not bytes")
        return bytearray(value)

    def _stock_copier(self) -> Callable[[Any], Any]:
        return snapshot  # an application may assign a bytearray, which can change in place


Bytes = Blob  # another name for the class, as in cassandra-driver


# Strings that probably mean False: `Boolean` warns of them, because it stores them as True.
_WORDS_FOR_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})


class Boolean(Column[bool]):
    """A column for true or false; any value is converted with bool().

    A string such as "no" or "false" is stored as True too, with a RuntimeWarning.
    """

    db_type = "boolean"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is None or type(value) is bool:
            return value
        if isinstance(value, str) and value.strip().lower() in _WORDS_FOR_FALSE:
            warnings.warn(
                f"{self.label} {value!r} is stored as True, as any text that is not empty: write "
                "False",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        try:
            return bool(value)
        except (TypeError, ValueError):  # of an array, or of pandas.NA
            raise ValidationError(f"{self.label} {value!r} is neither true nor false") from None

    @reads_rows_as_they_are
    def to_python(self, value: object) -> Any:
        return self.validate(value)


class _ConvertedColumn(Column[_Value]):
    """Base class of columns whose `validate` converts values from the application and from rows."""

    @reads_rows_as_they_are
    def to_python(self, value: object) -> Any:
        return self.validate(value) if value is not None else None

    @plain
    def to_database(self, value: object) -> object:
        return self.validate(value) if value is not None else None


class Integer(_ConvertedColumn[int]):
    """A column for 32-bit integers; it also accepts a string with a number."""

    db_type = "int"
    bits: ClassVar[int | None] = 32

    def validate(self, value: Any) -> Any:
        if value is None:
            return super().validate(value)  # raises ValidationError if the column is required
        if type(value) is not int:
            try:
                value = int(value)
            except (TypeError, ValueError, OverflowError):
                raise ValidationError(
                    f"{self.label} {value!r} can't be converted to integral value"
                ) from None
        bits = self.bits
        # Check the range here, so that the error names the model's column.
        if bits is not None and not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise ValidationError(f"{self.label} {value!r} is out of the range of {self.db_type}")
        return value


class TinyInt(Integer):
    """A column for 8-bit integers."""

    db_type = "tinyint"
    bits = 8


class SmallInt(Integer):
    """A column for 16-bit integers."""

    db_type = "smallint"
    bits = 16


class BigInt(Integer):
    """A column for 64-bit integers."""

    db_type = "bigint"
    bits = 64


class VarInt(_ConvertedColumn[int]):
    """A column for integers of any size."""

    db_type = "varint"

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None or type(value) is int:
            return value
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            raise ValidationError(
                f"{self.label} {value!r} can't be converted to integral value"
            ) from None


class CounterValueManager(BaseValueManager):
    """Holds the value of a counter.

    :param instance: the instance that has the value.
    :param column: the column of the value.
    :param value: the value; None counts as 0.
    """

    def __init__(self, instance: object, column: Column[Any], value: object) -> None:
        # The database has null for a counter that was never incremented. Treat null as 0.
        super().__init__(instance, column, value or 0)
        self.previous_value = 0


class Counter(Integer):
    """A counter column. Saving adds the difference between the new and the old value.

    :param index: True to create a secondary index.
    :param db_field: the column's name in the database, if it differs from the attribute's name.
    :param required: True to refuse None.
    """

    db_type = "counter"
    bits = 64
    is_counter = True
    value_manager = CounterValueManager

    # There are no parameters for keys and defaults: CQL refuses counters in a primary key, and a
    # default would be written as an increment.
    def __init__(
        self, index: bool = False, db_field: str | None = None, required: bool = False
    ) -> None:
        super().__init__(index=index, db_field=db_field, required=required)
        self.default = 0

    @property
    def has_default(self) -> bool:
        """Always False: a new instance has the value 0, but this 0 is never written."""
        return False


class BaseFloat(_ConvertedColumn[float]):
    """Base class of the columns for binary floating point numbers."""

    # The column holds infinity, and the numbers between this one and its negative.
    limit: ClassVar[float] = math.inf

    def validate(self, value: Any) -> Any:
        # Nearly all values are such numbers, and a vector has many of them.
        if type(value) is float and -self.limit < value < self.limit:
            return value
        value = super().validate(value)
        if value is None:
            return None
        number = value
        if type(value) is not float:
            try:
                number = float(value)
            except OverflowError:
                raise self._out_of_range(value) from None
            except (TypeError, ValueError):
                raise ValidationError(f"{self.label} {value!r} is not a valid float") from None
        if -self.limit < number < self.limit or math.isnan(number):
            return number
        # A number that is too large for a float became infinity. Text that means infinity names it.
        if isinstance(value, (str, bytes, bytearray)):
            text = value if isinstance(value, str) else value.decode("ascii")
            is_infinity = "inf" in text.lower()
        else:
            is_infinity = math.isinf(number) and value == number
        if not is_infinity:
            raise self._out_of_range(value)
        return number

    def _out_of_range(self, value: object) -> ValidationError:
        return ValidationError(f"{self.label} {value!r} is out of the range of {self.db_type}")


class Float(BaseFloat):
    """A column for 32-bit floating point numbers."""

    db_type = "float"
    # The greatest number is 2**128 - 2**104. Numbers nearer to 2**128 would be rounded to infinity.
    limit = 2.0**128 - 2.0**103


class Double(BaseFloat):
    """A column for 64-bit floating point numbers."""

    db_type = "double"


class Decimal(_ConvertedColumn[decimal.Decimal]):
    """A column for decimal numbers of any precision."""

    db_type = "decimal"

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        number = value
        if not isinstance(value, decimal.Decimal):
            try:
                # Convert a float from its repr: Decimal(0.1) would have all digits of the binary
                # fraction.
                number = decimal.Decimal(repr(value) if isinstance(value, float) else value)
            except (TypeError, ValueError, decimal.InvalidOperation):
                raise ValidationError(
                    f"{self.label} {value!r} can't be coerced to a decimal"
                ) from None
        if not number.is_finite():
            raise ValidationError(
                f"{self.label} {value!r} has no decimal form in CQL (it is not finite)"
            )
        return number


class UUID(_ConvertedColumn[uuid.UUID]):
    """A column for UUIDs; it also accepts a UUID as a string."""

    db_type = "uuid"

    def validate(self, value: object) -> Any:
        value = super().validate(value)
        if value is None or isinstance(value, uuid.UUID):
            return value
        if isinstance(value, str):
            try:
                return uuid.UUID(value)
            except ValueError:
                pass
        raise ValidationError(f"{self.label} {value!r} is not a valid uuid")


class TimeUUID(UUID):
    """A column for UUIDs of version 1, which are ordered by time."""

    db_type = "timeuuid"


class Inet(Column[str]):
    """A column for IP addresses, as strings; it also accepts objects of `ipaddress`."""

    db_type = "inet"

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        # Raise an error for these types: `ip_address` accepts any int, and any four bytes.
        if isinstance(value, (int, bytes)):
            raise ValidationError(f"{self.label} {value!r} is not an IP address")
        try:
            # Store the normal form. An IPv6 address can be spelt in several ways, and another
            # spelling of the same address must not count as a change.
            address = ipaddress.ip_address(value)
        except ValueError:
            raise ValidationError(f"{self.label} {value!r} is not an IP address") from None
        if getattr(address, "scope_id", None) is not None:
            raise ValidationError(f"{self.label} {value!r} has a zone, which inet cannot store")
        # cassandra-driver stores an IPv4-mapped address (::ffff:1.2.3.4) that is passed as a string
        # as the four bytes of the IPv4 address. Do the same. An object of `ipaddress` keeps all
        # sixteen bytes.
        ipv4_address = getattr(address, "ipv4_mapped", None) if isinstance(value, str) else None
        return str(address if ipv4_address is None else ipv4_address)

    @plain
    def to_database(self, value: object) -> object:
        return value if value is None else str(value)
