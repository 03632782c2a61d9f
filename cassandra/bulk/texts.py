"""Converts strings and JSON values to CQL values and back, for CSV and JSON lines files.

A reader is a function that converts a string or JSON value of a column to a CQL value. A load makes
one reader per column.

In a CSV field, collections, tuples, user-defined types and vectors are written as JSON: ``[1, 2]``,
``{"a": 1}``. A set is written as a list. If the keys of a map are not strings, they are converted
to strings. Timestamps without a UTC offset are read as UTC.

A reader accepts the formats that the guide lists. They are the same on every Python version. For
everything else, a reader raises one of READING_ERRORS, because guessing would silently change
values. Blanks around a value are ignored, unless the column is of a text type.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra.cqltypes.composite import DynamicParts
from cassandra.util.daterange import DateRange
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, MillisTimestamp, Time

if TYPE_CHECKING:
    from typing import NoReturn

Reader = Callable[[Any], Any]  # converts a field of a file to a value of a column

# A reader raises one of these for a value that it does not accept.
READING_ERRORS = (ValueError, TypeError, OverflowError)

# The strings that mean True, and the strings that mean False, in lower case.
_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_BLANKS = " \t"  # the characters that are ignored around a value
_LONG_INTEGER_BITS = 14_000  # an integer with fewer bits has less than 4300 decimal digits
_LONGEST_SHOWN = 200  # the maximum number of a value's characters in an error message
# The range of `datetime` in milliseconds since 1970: from 0001-01-01 to the end of 9999. Timestamps
# outside this range become `MillisTimestamp`.
_FIRST_MILLIS = -62_135_596_800_000
_LAST_MILLIS = 253_402_300_799_999

# These patterns allow ASCII digits only, because `int` and `float` accept the digits of all
# scripts.
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_UUID = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|[0-9a-fA-F]{32}"
)
_BLOB = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})*)")
_DATE = re.compile(r"([+-]?[0-9]{4,7})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"(?:([Zz])|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)
# Matches the part after the seconds if `datetime.fromisoformat` accepts that part. It accepts less
# before Python 3.11, so there are two patterns.
_BEHIND_SECONDS = re.compile(
    r"(?:\.[0-9]{3}|\.[0-9]{6})?(?:[+-][0-9]{2}:[0-5][0-9])?"
    if sys.version_info < (3, 11)
    else r"(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:?[0-5][0-9])?"
)
_DURATION = re.compile(
    r"([+-]?)(?=.)(?:([0-9]+)y)?(?:([0-9]+)mo)?(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?"
    r"(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?(?:([0-9]+)[u\xb5\u03bc]s)?(?:([0-9]+)ns)?",
    re.IGNORECASE,
)
# The value of each unit in `_DURATION`, from years to nanoseconds, as (months, days, nanoseconds).
_UNITS = (
    (12, 0, 0),
    (1, 0, 0),
    (0, 7, 0),
    (0, 1, 0),
    (0, 0, 3_600_000_000_000),
    (0, 0, 60_000_000_000),
    (0, 0, 1_000_000_000),
    (0, 0, 1_000_000),
    (0, 0, 1_000),
    (0, 0, 1),
)


@dataclass(frozen=True)
class Formats:
    """Options for how values are written as strings.

    :param null: the string that means null, or a sequence of such strings.
    :param date: a format of `datetime.datetime.strptime` for dates, or a sequence of formats: the
        first format that fits is used. "iso" means ISO 8601, and so does None.
    :param timestamp: a format for timestamps, or a sequence of formats; "ms" means milliseconds
        since 1970. None means ``["iso", "ms"]``.
    """

    null: str | Sequence[str] = ""
    date: str | Sequence[str] | None = None
    timestamp: str | Sequence[str] | None = None

    @property
    def nulls(self) -> tuple[str, ...]:
        """The strings that mean null."""
        return (self.null,) if isinstance(self.null, str) else tuple(self.null)


def means_null(text: str, nulls: Collection[str], ignores_blanks: bool) -> bool:
    """Return True if a CSV field means null.

    :param text: the field.
    :param nulls: the strings that mean null in the field's column.
    :param ignores_blanks: True if the field may have blanks around the null: see the function
        `ignores_blanks`.
    """
    return text in nulls or (ignores_blanks and text.strip(_BLANKS) in nulls)


def ignores_blanks(cql_type: Any) -> bool:
    """Return True if blanks around a CSV field are not part of its value.

    Blanks are part of the value in columns of text types and of custom types.

    :param cql_type: the column's type.
    """
    return text_reader(cql_type, Formats()) is not str


def formats_of(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the formats of the option ``date_format`` or ``timestamp_format`` as a tuple.

    :param value: a format or several formats, as the application has passed them; None gives ().
    """
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def short_repr(value: object) -> str:
    """Return a value's repr for an error message: shortened, and without raising an error.

    :param value: any object of the application.
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"this {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def hiding(read: Reader, type_name: str) -> Reader:
    """Return a reader that works like `read`, but does not show the value in error messages.

    It is for encrypted columns.

    :param read: the reader of the column.
    :param type_name: the name of the CQL type.
    """

    def hidden(value: Any) -> object:
        """Convert the value. If that fails, raise an error that does not show the value."""
        try:
            return read(value)
        except READING_ERRORS:
            description = _DESCRIBED.get(type_name, f"of type {type_name}")
            raise ValueError(
                f"this {type(value).__name__} is not {description} (values of encrypted columns "
                "are not shown)"
            ) from None

    return hidden


def _form_of(cql_type: Any) -> str:
    """Return the name of the CQL type whose file format applies to `cql_type`.

    This is the type's own name, unless the type sets `_text_form`.
    """
    return getattr(cql_type, "_text_form", "") or str(cql_type.typename)


def text_reader(cql_type: Any, formats: Formats) -> Reader:
    """Return a function that converts a string to a CQL value.

    :param cql_type: the column's type.
    :param formats: how values are written.
    """
    type_name = _form_of(cql_type)
    # Types with subtypes are written as JSON. The exception are types of servers that the driver
    # does not know: they are blobs, even if they have subtypes.
    if type_name in _CONTAINERS or (cql_type.subtypes and type_name not in _SCALARS):
        return json_reader(cql_type, formats)
    if type_name == "date" and formats.date is not None:
        return partial(_formatted_date, formats_of(formats.date))
    if type_name == "timestamp" and formats.timestamp is not None:
        return partial(_formatted_timestamp, formats_of(formats.timestamp))
    return _SCALARS.get(type_name, str)  # str for texts, and for custom types


def usual_kind(cql_type: Any, formats: Formats) -> str:
    """Return the kind of a column for the compiled CSV reader: "int" or "date", for example.

    The compiled reader itself converts fields of these kinds, with the same result as
    `text_reader`. For all other columns the kind is "": the compiled reader then calls the function
    that `text_reader` returns.

    :param cql_type: the column's type.
    :param formats: how values are written.
    """
    type_name = _form_of(cql_type)
    if cql_type.subtypes or (type_name == "date" and formats.date is not None):
        return ""
    if type_name == "timestamp" and formats.timestamp is not None:
        return ""
    return _USUAL_KINDS.get(type_name, "")


def json_reader(cql_type: Any, formats: Formats) -> Reader:
    """Return a function that converts a JSON value to a CQL value. JSON's null becomes None.

    :param cql_type: the column's type.
    :param formats: the formats of values that are strings in JSON.
    """
    type_name = _form_of(cql_type)
    if type_name in _SCALARS:
        return _scalar_reader(type_name, text_reader(cql_type, formats))
    subreaders = tuple(json_reader(subtype, formats) for subtype in cql_type.subtypes or ())
    names = getattr(cql_type, "fieldnames", None)
    if type_name == "dynamic composite":
        return _nullable(partial(_dynamic, dict(zip(names or (), subreaders, strict=False))))
    if names:
        return _nullable(partial(_user_type, dict(zip(names, subreaders, strict=True))))
    if type_name in ("list", "set") or getattr(cql_type, "vector_size", None) is not None:
        return _nullable(partial(_elements, subreaders[0]))
    if type_name == "map":
        return _nullable(partial(_pairs, *subreaders))
    if type_name == "tuple":
        return _nullable(partial(_tuple, subreaders))
    # Values of frozen<T> are written like values of T, so use the reader of T.
    if type_name in ("frozen", "reversed") and subreaders:
        return subreaders[0]
    return _scalar_reader(type_name, str)  # a text, or a value of a custom type


def _nullable(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; raise ValueError if a name occurs twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {short_repr(duplicate)} stands twice in an object")
    return result


class _NegativeZero(Decimal):
    """The JSON number ``-0`` as a Decimal, because an int would lose the sign."""

    __slots__ = ()


def _signed_integer(text: str) -> int | Decimal:
    return _NegativeZero(text) if text == "-0" else int(text)


def _long_integer(text: str) -> int | Decimal:
    return _NegativeZero(text) if text == "-0" else int(Decimal(text))


# Numbers with a decimal point become Decimal, because float would lose digits.
_DECODER = json.JSONDecoder(parse_float=Decimal, object_pairs_hook=_object_without_duplicates)
_SIGNED_DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_int=_signed_integer, object_pairs_hook=_object_without_duplicates
)
_LONG_DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_int=_long_integer, object_pairs_hook=_object_without_duplicates
)
_HAS_NEGATIVE_ZERO = re.compile(r"-0(?![0-9.eE])")


def parsed_json(text: str) -> Any:
    """Parse JSON; numbers with a decimal point become Decimal.

    :param text: the JSON string.
    :raises ValueError: if it is not JSON, has a name twice in an object, or is nested too deeply.
    """
    # The signed decoder keeps the sign of -0, which an int would lose. It is slower, because it
    # calls a Python function for each integer, so use it only if the string has a -0.
    is_signed = "-0" in text and _HAS_NEGATIVE_ZERO.search(text) is not None
    try:
        return (_SIGNED_DECODER if is_signed else _DECODER).decode(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ArithmeticError as error:
        raise ValueError(f"it has a number that is out of range: {error!r}") from None
    except ValueError as error:
        if "digits" not in str(error):
            raise
    # Python refuses to parse integers of more than about 4300 digits, but a varint may be longer.
    # Parse them by way of Decimal, which has no such limit.
    return _LONG_DECODER.decode(text)


def _parsed(text: str) -> object:
    """Parse the JSON of a CSV field; if it is not JSON, the error says which types need JSON."""
    try:
        return parsed_json(text)
    except ValueError as error:
        raise ValueError(
            f"{short_repr(text)} is not JSON, as collections, tuples, user-defined types and "
            f"vectors are written: {error}{_advice_on_json(text)}"
        ) from None


def _advice_on_json(text: str) -> str:
    """Return what to write instead of a string that is not JSON; "" if there is no advice."""
    if _OMITTED_NUMBERS.search(text) is not None:
        return "; numbers were left out where NumPy printed ...: write json.dumps(array.tolist())"
    if _NUMBERS_OF_NUMPY.fullmatch(text) is not None:
        return "; these are numbers as NumPy prints them: write json.dumps(array.tolist())"
    if text.lstrip().startswith(("tensor(", "array(")):
        return "; this is how arrays are printed: write json.dumps(array.tolist())"
    if _NUMBERS_WITHOUT_BRACKETS.fullmatch(text) is not None:
        return "; a list of JSON is written in brackets and with commas, [1, 2]"
    if _SET_OF_PYTHON.fullmatch(text) is not None:
        return "; this is how Python prints a set: write json.dumps(list(value))"
    # The str() of a Python list puts strings in single quotes, which JSON does not allow.
    if _WORDS_OF_PYTHON.search(text) is not None:
        return "; this is how Python prints a value: write json.dumps(value)"
    if text.lstrip().startswith("{") and '"' not in text:
        return '; the names and strings of a JSON object have double quotes, {"name": 1}'
    return ""


# For `_advice_on_json`: patterns of strings that are not JSON. The first pattern matches numbers in
# brackets with blanks between them.
_NUMBERS_OF_NUMPY = re.compile(r"\s*\[\s*[-+.\deE]+(?:\s+[-+.\deE]+)+\s*\]\s*")
_OMITTED_NUMBERS = re.compile(r"\d\.?\s+\.\.\.\s+[-+]?\d")
_NUMBERS_WITHOUT_BRACKETS = re.compile(
    r"\s*[-+]?[.\d][-+.\deE]*(?:(?:\s*,\s*|\s+)[-+]?[.\d][-+.\deE]*)+\s*"
)
# Matches the str() of a Python set. The first element of the set is a string, a number, a word, or
# a call such as Decimal('1').
_SET_OF_PYTHON = re.compile(
    r"\s*(?:set\(\)|\{(?:['\"]|[-+.\d]|[A-Za-z_.]+\(|None\b|True\b|False\b)[^:]*\})\s*", re.DOTALL
)
_WORDS_OF_PYTHON = re.compile(r"'|\b(?:None|True|False|nan|inf)\b")


def _scalar_reader(type_name: str, read: Reader) -> Reader:
    """Return a reader of JSON scalars with a fast path for the usual JSON type of `type_name`.

    For an int column, for example, the usual JSON type is the integer.
    """
    usual_type: type[Any] = str
    read_usual: Reader = read
    if read is str:
        read_usual = _same
    elif type_name in _INTEGERS:
        usual_type, read_usual = int, _same
    elif type_name in _REALS:
        usual_type, read_usual = Decimal, _real

    def scalar(value: Any) -> object:
        # Compare the exact type: a bool is an int in Python, but must not be read as a number.
        if type(value) is usual_type:
            return read_usual(value)
        return None if value is None else _converted_scalar(type_name, read, value)

    return scalar


def _same(value: Any) -> object:
    return value


def _real(value: Decimal) -> float:
    return _finite(float(value), value)


def _converted_scalar(type_name: str, read: Reader, value: object) -> object:
    """Convert a JSON scalar to a value of a CQL type.

    The JSON type must fit exactly: a boolean is not a number, and a fraction is not an integer.
    """
    if isinstance(value, _NegativeZero) and type_name not in _REALS:
        value = 0
    if isinstance(value, str):
        return read(value)
    if isinstance(value, bool):
        if type_name == "boolean":
            return value
    elif isinstance(value, int):
        if type_name in _INTEGERS or type_name == "decimal":
            return value
        if type_name in _REALS:
            return _finite(float(value), value)
        if type_name == "timestamp":
            return _since_epoch(value)
    elif isinstance(value, Decimal):
        if type_name == "decimal":
            return value
        if type_name in _REALS:
            return _finite(float(value), value)
        if type_name == "timestamp":
            if value == value.to_integral_value():
                raise ValueError(
                    f"{value} is not a timestamp: write the milliseconds since 1970 without a "
                    "fraction and an exponent"
                )
            raise ValueError(
                f"{value} is not a timestamp: milliseconds since 1970 have no fraction. Are these "
                "seconds?"
            )
    elif isinstance(value, float):
        if type_name in _REALS:
            return value  # the JSON parser returns a float only for NaN and infinity
        # Refuse NaN and infinity, which CQL decimals do not have. If `value` is finite, the
        # difference is 0; otherwise it is NaN.
        if type_name == "decimal" and value - value == 0:
            return Decimal(repr(value))
    if type_name not in _SCALARS and type_name not in _TEXTS:
        return value  # a custom type: only its codec can check the value
    raise TypeError(
        f"{short_repr(value)} ({type(value).__name__}) is not {_DESCRIBED[type_name]}"
        + _advice_on(type_name, value)
    )


def _advice_on(type_name: str, value: object) -> str:
    """Return advice for a JSON value that does not fit its column's type; "" without advice."""
    is_whole = isinstance(value, Decimal) and value == value.to_integral_value()
    if type_name in _INTEGERS and is_whole:
        return (
            ": write it without a fraction and an exponent (pandas writes integers as 1.0 if a "
            "value is missing: write the file from frame.convert_dtypes(), or load the frame)"
        )
    if type_name in _TEXTS and isinstance(value, (dict, list)):
        return ": to store it as a text of JSON, write json.dumps(value) into the line"
    if type_name in _TEXTS:
        return ": write it in quotes"
    return ""


def _finite(number: float, original: object) -> float:
    """Return `number`; raise ValueError if it is infinite, because `original` is too large."""
    if number - number != 0:
        raise ValueError(f"{original} is too large for a floating-point number")
    return number


def _elements(read: Reader, value: object) -> list[Any]:
    """Convert a JSON array, or a string with a JSON array, to the elements of a collection.

    The collection is a list, set or vector.
    """
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, list):
        raise TypeError(
            f"{short_repr(value)} is not a list of JSON, as a list, set or vector is written"
        )
    return [read(element) for element in value]


def _pairs(read_key: Reader, read: Reader, value: object) -> dict[Any, Any] | _Pairs:
    """Convert a JSON object, a JSON array of pairs, or a string with either, to a map."""
    value = _parsed(value) if isinstance(value, str) else value
    pairs: Any = value.items() if isinstance(value, dict) else value
    if not isinstance(value, dict) and not (
        isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    ):
        raise TypeError(
            f"{short_repr(value)} is not an object of JSON, nor a list of pairs, as a map is"
        )
    pairs_read = [(read_key(key), read(item)) for key, item in pairs]
    try:
        result = dict(pairs_read)
    except TypeError:  # a key cannot be hashed, for example because it is a list
        return _Pairs(pairs_read)
    if len(result) == len(pairs_read):
        return result
    # Keys that are equal in Python, such as -0.0 and 0.0, may be different keys for a server. Such
    # keys have different reprs. If two keys also have the same repr, the map has a key twice, which
    # is an error.
    if len({repr(key) for key, _ in pairs_read}) == len(pairs_read):
        return _Pairs(pairs_read)
    raise ValueError(f"{short_repr(value)} has a key of the map twice")


class _Pairs(list[Any]):
    """A map as a list of pairs, because its keys cannot be hashed or are equal in Python.

    It can be bound as a map, because binding only calls its method `items`.
    """

    def items(self) -> list[Any]:
        """Return the (key, value) pairs, as `dict.items` does."""
        return self


def _tuple(readers: Sequence[Reader], value: object) -> tuple[Any, ...]:
    """Convert a JSON array, or a string with a JSON array, to a tuple.

    The tuple may have fewer values than its type.
    """
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, list) or len(value) > len(readers):
        raise TypeError(
            f"{short_repr(value)} is not a list of JSON with {len(readers)} values at most"
        )
    return tuple(read(item) for read, item in zip(readers, value, strict=False))


def _dynamic(readers: Mapping[str, Reader], value: object) -> object:
    """Convert hexadecimal digits, or a JSON array of pairs, to a value of a dynamic composite.

    A pair has the alias of a part, and the value of the part. An unload writes the bytes of the
    value in hexadecimal digits, because the values that a server returns have no aliases.

    :param readers: the reader of each alias.
    """
    if isinstance(value, str):
        if value[:2].lower() == "0x":
            return _blob(value)
        value = _parsed(value)
    names = list(readers)  # a list, because the first item of a pair may be of any type
    if not isinstance(value, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and pair[0] in names for pair in value
    ):
        raise TypeError(
            f"{short_repr(value)} is neither bytes in hexadecimal digits nor a list of JSON with "
            f"pairs of an alias ({', '.join(names)}) and a value, as a dynamic composite is written"
        )
    return [(alias, readers[alias](item)) for alias, item in value]


def _user_type(readers: Mapping[str, Reader], value: object) -> tuple[Any, ...]:
    """Convert a JSON object to the fields of a user-defined type, in the order of `readers`."""
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, dict):
        raise TypeError(
            f"{short_repr(value)} is not an object of JSON, as a user-defined type is written"
        )
    unknown = set(value) - set(readers)
    if unknown:
        raise ValueError(f"the type has no field {sorted(unknown)[0]!r}: {', '.join(readers)}")
    # A missing field is null.
    return tuple(read(value.get(name)) for name, read in readers.items())


# -- scalars ---------------------------------------------------------------------------------------


def _integer(text: str) -> int:
    """Convert a string of digits to an int."""
    text = text.strip(_BLANKS)
    if _INTEGER.fullmatch(text) is None:
        raise _not_a_number(text, "an integer")
    try:
        return int(text)
    except ValueError:  # there are more digits than Python parses by default
        return int(Decimal(text))


def _number(text: str) -> float:
    """Convert a number, or the name of NaN or infinity, to a float."""
    text = text.strip(_BLANKS)
    if _NUMBER.fullmatch(text) is not None:
        return _finite(float(text), short_repr(text))
    if _NO_NUMBER.fullmatch(text) is None:
        raise _not_a_number(text)
    return float(text)


def _not_a_number(text: str, expected: str = "a number") -> ValueError:
    """Return the error for a string that is not a number, with advice if it has a comma."""
    message = f"{short_repr(text)} is not {expected}"
    if _HAS_COMMA.fullmatch(text) is not None:
        # Refuse commas: "1,500" may mean one and a half or fifteen hundred.
        message += (
            ": a comma may separate decimals or thousands, so it is not read. Convert these numbers"
            " before, as 'Decimal commas' in the guide 'Loading data' does"
        )
    return ValueError(message)


# A number with a comma, whatever the comma means.
_HAS_COMMA = re.compile(r"[+-]?[0-9.,' ]*,[0-9.,' ]*")


def _decimal(text: str) -> Decimal:
    """Convert a number to a Decimal."""
    text = text.strip(_BLANKS)
    if _NUMBER.fullmatch(text) is None:
        raise _not_a_number(text)
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{short_repr(text)} is out of the range of decimals") from None


def _boolean(text: str) -> bool:
    """Convert true, yes, t, y, 1 or their opposites, in upper or lower case, to a bool."""
    lowered = text.strip(_BLANKS).lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError(
        f"{short_repr(text)} is neither true nor false: these are true, yes, t, y and 1, and "
        "false, no, f, n and 0"
    )


def _uuid(text: str) -> UUID:
    text = text.strip(_BLANKS)
    if _UUID.fullmatch(text) is None:
        raise ValueError(f"{short_repr(text)} is not a UUID")
    return UUID(text)


def _blob(text: str) -> bytes:
    digits = _BLOB.fullmatch(text.strip(_BLANKS))
    if digits is None:
        raise ValueError(f"{short_repr(text)} is not a blob in hexadecimal digits, as 0x00ff")
    return bytes.fromhex(digits[1])


def _date(text: str) -> Date:
    """Convert a date in ISO 8601 to a `Date`."""
    parts = _DATE.fullmatch(text.strip(_BLANKS))
    if parts is not None:
        try:
            return _day(int(parts[1]), int(parts[2]), int(parts[3]))
        except ValueError:  # there is no such day, such as February 30
            pass
    raise ValueError(
        f"{short_repr(text)} is not a date, as 2026-11-23; for another form, write date_format, "
        "such as '%d.%m.%Y'"
    )


# The Gregorian calendar repeats every 400 years. We call such a period an era. An era has 146,097
# days.
_ERA_YEARS, _ERA_DAYS = 400, 146_097


def _day(year: int, month: int, day: int) -> Date:
    """Return a day of the Gregorian calendar, also for years that `datetime` does not support."""
    eras, rest = divmod(year, _ERA_YEARS)
    # `rest` may be 0, and `datetime` has no year 0. So take the same day one era later, and
    # subtract one era.
    days = datetime.date(rest + _ERA_YEARS, month, day).toordinal() + (eras - 1) * _ERA_DAYS
    return Date(days - datetime.date(1970, 1, 1).toordinal())


def _date_text(value: Date) -> str:
    """Return a date in ISO 8601; years beyond 9999 and before 0 have a sign."""
    # Python's dates only have the years 1 to 9999. The calendar repeats every 400 years (an era),
    # so we compute the date within its era, and then add the years of the preceding eras.
    days_since_year_1 = value.days_from_epoch + datetime.date(1970, 1, 1).toordinal() - 1
    eras, day_in_era = divmod(days_since_year_1, _ERA_DAYS)
    day = datetime.date.fromordinal(day_in_era + 1)
    year = day.year + eras * _ERA_YEARS
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{day.month:02d}-{day.day:02d}"


def _time(text: str) -> Time:
    try:
        return Time(text)
    except ValueError:
        raise ValueError(f"{short_repr(text)} is not a time, as 12:30:00.5") from None


def _since_epoch(milliseconds: int) -> datetime.datetime | MillisTimestamp:
    """Return the timestamp of a number of milliseconds since 1970.

    The result is a `MillisTimestamp` if `datetime` does not support the year.
    """
    if _FIRST_MILLIS <= milliseconds <= _LAST_MILLIS:
        return _EPOCH + datetime.timedelta(milliseconds=milliseconds)
    if not -(1 << 63) <= milliseconds < 1 << 63:
        raise ValueError(f"{short_repr(milliseconds)} milliseconds since 1970 are out of range")
    return MillisTimestamp(milliseconds)


def _timestamp(text: str) -> datetime.datetime | MillisTimestamp:
    """Convert a timestamp in ISO 8601, or milliseconds since 1970."""
    # Fast path: Python's parser is faster, so use it for formats that every version reads in the
    # same way.
    if (
        text.isascii()
        and text[4:5] == text[7:8] == "-"
        and text[13:14] == text[16:17] == ":"
        and text[10:11] in (" ", "T")
        # Only some versions of Python read a week ("W") or the hour 24, so exclude these.
        and text[5:6] != "W"
        and text[11:13] != "24"
        and (len(text) == 19 or _BEHIND_SECONDS.fullmatch(text, 19) is not None)
    ):
        try:
            return datetime.datetime.fromisoformat(text)
        except ValueError:
            pass  # the code below reads another format, or raises an error
    stripped = text.strip(_BLANKS)
    # Check integers first: `datetime.fromisoformat` would read 13 digits as a date and time.
    if _INTEGER.fullmatch(stripped) is not None:
        return _since_epoch(_integer(stripped))
    try:
        return _iso_timestamp(stripped)
    except ValueError:
        raise ValueError(
            f"{short_repr(text)} is not a timestamp in ISO 8601, as 2026-11-23 12:30:00.5+01:00, "
            f"nor milliseconds since 1970; {_advice_on_timestamp(stripped)}"
        ) from None


def _advice_on_timestamp(text: str) -> str:
    """Return what to write for a string that is neither ISO 8601 nor a number."""
    zone = _ZONE_NAME.search(text)
    if zone is None:
        return "for another form, write timestamp_format"
    if zone[1] in ("UTC", "GMT"):
        return f"for {zone[1]}, write timestamp_format with %Z, as '%Y-%m-%d %H:%M:%S %Z'"
    return (
        f"the name of a time zone, {zone[1]!r}, is not read: write an offset, as "
        "datetime.replace(tzinfo=zoneinfo.ZoneInfo(name)).isoformat() does"
    )


# Matches the name of a time zone at the end of a string, as CET, Europe/Oslo or [Europe/Oslo].
_ZONE_NAME = re.compile(r"\d\s*\[?([A-Z]{3,5}|[A-Z]\w+(?:/[\w+-]+)+)\]?$")


def _iso_timestamp(text: str) -> datetime.datetime:
    """Convert a timestamp in ISO 8601, without blanks around it."""
    parts = _TIMESTAMP.fullmatch(text)
    if parts is not None:
        year, month, day, hour, minute, second, fraction, utc, sign, hours, minutes = parts.groups()
        # Without an offset, return a datetime without a time zone, which the driver treats as UTC.
        zone = datetime.timezone.utc if utc else None
        try:
            if sign is not None:
                # Refuse such an offset: `timedelta` would accept more than 59 minutes.
                if int(minutes or 0) > 59:
                    raise ValueError("an hour has 60 minutes")
                offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
                zone = datetime.timezone(-offset if sign == "-" else offset)
            return datetime.datetime(
                int(year),
                int(month),
                int(day),
                int(hour or 0),
                int(minute or 0),
                int(second or 0),
                int((fraction or "").ljust(6, "0")[:6]),
                zone,
            )
        except ValueError:
            pass
    raise ValueError(f"{short_repr(text)} is not a timestamp in ISO 8601")


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=datetime.timezone.utc)


def _by_first_format(
    option: str, named_formats: Mapping[str, Reader], formats: tuple[str, ...], text: str
) -> Any:
    """Convert `text` by the first format that fits; raise ValueError if no format fits.

    :param option: the name of the option, for the message.
    :param named_formats: the readers of formats that have a name, such as "iso".
    :param formats: the formats to try.
    """
    stripped = text.strip(_BLANKS)
    problem = ""
    for date_format in formats:
        try:
            if (read := named_formats.get(date_format)) is not None:
                return read(stripped)
            return _parsed_by(date_format.strip(_BLANKS), stripped)
        except ValueError as error:
            problem = str(error)
    if len(formats) == 1:
        # For a single format, the error of `strptime` explains best what is wrong.
        message = f"{short_repr(text)} is not read by {option}={formats[0]!r}: {problem}"
    else:
        listed = ", ".join(map(repr, formats))
        message = f"{short_repr(text)} has none of the formats of {option}, {listed}"
    # If a named format, such as "iso", would fit, suggest it.
    for name, read in named_formats.items():
        with suppress(ValueError):
            read(stripped)
            message += f" ({option}={[*formats, name]!r} would read it as {_FORMAT_NAMES[name]})"
    raise ValueError(message)


def _parsed_by(date_format: str, text: str) -> datetime.datetime:
    """Parse `text` by a format of `datetime.datetime.strptime`."""
    value = datetime.datetime.strptime(text, date_format)
    # For %Z, Python accepts UTC, GMT and the names of this machine's own time zone, and ignores
    # which name it is. So the same file would mean other times on another machine.
    if "%Z" in date_format and value.tzinfo is None and _UTC_NAME.search(text) is None:
        raise ValueError("%Z reads UTC and GMT only; %z reads offsets, as +01:00")
    return value


def _formatted_date(formats: tuple[str, ...], text: str) -> datetime.date | Date:
    """Convert a date that is written in one of the formats of ``date_format``."""
    value = _by_first_format("date_format", {"iso": _date}, formats, text)
    return value.date() if isinstance(value, datetime.datetime) else value


def _formatted_timestamp(
    formats: tuple[str, ...], text: str
) -> datetime.datetime | MillisTimestamp:
    """Convert a timestamp that is written in one of the formats of ``timestamp_format``."""
    named_formats: dict[str, Reader] = {"iso": _iso_timestamp, "ms": _millis}
    value = _by_first_format("timestamp_format", named_formats, formats, text)
    return _in_utc(value) if isinstance(value, datetime.datetime) else value


def _millis(text: str) -> datetime.datetime | MillisTimestamp:
    return _since_epoch(_integer(text))


# The names that every machine reads as UTC.
_UTC_NAME = re.compile(r"\b(?:utc|gmt)\b", re.IGNORECASE)
# The meanings of the named formats, for messages.
_FORMAT_NAMES = {"iso": "ISO 8601", "ms": "milliseconds since 1970"}


def _inet(text: str) -> str:
    return text.strip(_BLANKS)


def _duration(text: str) -> Duration:
    """Convert a duration such as ``1mo2d3h4m5s``."""
    # Group 1 is the sign. The other groups are the counts of the units in the order of `_UNITS`.
    match = _DURATION.fullmatch(text.strip(_BLANKS))
    counts = match.groups()[1:] if match is not None else ()
    if match is None or all(count is None for count in counts):
        raise ValueError(f"{short_repr(text)} is not a duration, as 1mo2d3h4m5s")
    months = days = nanoseconds = 0
    for count, (unit_months, unit_days, unit_nanoseconds) in zip(counts, _UNITS, strict=True):
        if count is not None:
            months += int(count) * unit_months
            days += int(count) * unit_days
            nanoseconds += int(count) * unit_nanoseconds
    sign = -1 if match[1] == "-" else 1
    return Duration(sign * months, sign * days, sign * nanoseconds)


# These sets group CQL types by the form of their values in files: strings, containers, and two
# kinds of numbers.
_TEXTS = frozenset({"ascii", "text", "varchar", "inet"})
_CONTAINERS = frozenset({"list", "set", "map", "tuple"})
_INTEGERS = frozenset({"int", "bigint", "smallint", "tinyint", "varint", "counter"})
_REALS = frozenset({"float", "double"})
# The functions that convert a string to a value, by CQL type. Text types need none.
_SCALARS: dict[str, Reader] = {
    **dict.fromkeys(_INTEGERS, _integer),
    **dict.fromkeys(_REALS, _number),
    **dict.fromkeys(("uuid", "timeuuid"), _uuid),
    "decimal": _decimal,
    "boolean": _boolean,
    "blob": _blob,
    "date": _date,
    "inet": _inet,
    "time": _time,
    "timestamp": _timestamp,
    "duration": _duration,
}
# What a value of each CQL type is, for error messages.
_DESCRIBED = {
    **dict.fromkeys(_INTEGERS, "an integer"),
    **dict.fromkeys(_REALS, "a number"),
    **dict.fromkeys(("uuid", "timeuuid"), "a UUID, which is a text"),
    **dict.fromkeys(_TEXTS, "a text"),
    "decimal": "a number",
    "boolean": "true or false",
    "blob": "a blob, which is a text in hexadecimal digits",
    "date": "a date, which is a text in ISO 8601",
    "time": "a time of day, which is a text",
    "timestamp": "a timestamp",
    "duration": "a duration, which is a text",
}

# The kinds of fields that the compiled CSV reader converts, by CQL type: see `usual_kind`.
_USUAL_KINDS = {
    **dict.fromkeys(("int", "bigint", "smallint", "tinyint", "counter"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("text", "varchar"), "text"),
    "boolean": "boolean",
    "uuid": "uuid",
    "date": "date",
    "timestamp": "timestamp",
}


# -- from values to strings ------------------------------------------------------------------------


def text_of(value: object, null: str = "") -> str:
    """Return a string for a value, in a format that `text_reader` can read.

    :param value: a value of any CQL type.
    :param null: the string for null.
    :raises TypeError: if the value cannot be written so that it can be read again.
    """
    if value is None:
        return null
    if isinstance(value, str):
        return value
    json_value = json_of(value, refuse_other)
    return json_value if isinstance(json_value, str) else json.dumps(json_value, ensure_ascii=False)


def json_of(
    value: Any,
    other: Callable[[Any], Any] = str,
    writers: Mapping[type[Any], Callable[[Any], Any]] | None = None,
) -> object:
    """Return a value as a JSON value; values without a JSON type become strings.

    :param value: a value of any CQL type.
    :param other: called with a value that has no CQL type. It returns what to write instead, or
        raises an exception, like `refuse_other`.
    :param writers: maps a class to the function that converts its values. It takes precedence over
        the conversions of this function.
    """
    if writers and (write := writers.get(type(value))) is not None:
        return write(value)
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        # By default, Python refuses to write integers of more than 4300 digits. Decimal has no such
        # limit, so write a string. Readers also accept an integer as a string.
        return value if value.bit_length() < _LONG_INTEGER_BITS else str(Decimal(value))
    if isinstance(value, float):
        # JSON has no NaN or infinity, so write these as strings. The difference is 0 only for
        # finite numbers.
        return value if value - value == 0 else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"0x{bytes(value).hex()}"
    if isinstance(value, datetime.datetime):
        return _in_utc(value).isoformat(" ")
    if isinstance(value, DynamicParts):
        return f"0x{value.encoded.hex()}"
    if isinstance(value, Date):
        return _date_text(value)
    if isinstance(value, _WRITTEN_BY_STR):
        return str(value)
    if isinstance(value, Mapping) or hasattr(value, "items"):
        return {
            _json_key(key, other, writers): json_of(item, other, writers)
            for key, item in value.items()
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, value, strict=True)
        return {name: json_of(item, other, writers) for name, item in fields}
    # Other iterables become arrays, too, unless the caller has passed `other`: then that function
    # decides.
    if isinstance(value, _ELEMENTS) or (other is str and isinstance(value, Iterable)):
        return [json_of(element, other, writers) for element in value]
    return other(value)


def refuse_other(value: object) -> NoReturn:
    """Raise TypeError for a value that no reader of CSV or JSON would understand.

    :param value: a value that has no CQL type.
    :raises TypeError: always.
    """
    cls = type(value)
    raise TypeError(
        f"a value of the class {cls.__module__}.{cls.__qualname__} cannot be written as CSV or JSON"
    )


def _json_key(
    key: object,
    other: Callable[[Any], Any],
    writers: Mapping[type[Any], Callable[[Any], Any]] | None,
) -> str:
    """Return a key of a map as the name of a field in a JSON object."""
    # The names in a JSON object must be strings. A load converts them back to keys of the map.
    json_value = json_of(key, other, writers)
    return json_value if isinstance(json_value, str) else json.dumps(json_value, ensure_ascii=False)


# Values of these classes are written by str(). `text_reader`, or a server, can read the result.
_WRITTEN_BY_STR = (
    *(Date, Time, Duration, Decimal, UUID),
    *(Point, LineString, Polygon, DateRange),
)
# Values of these classes are written as JSON arrays.
_ELEMENTS = (list, tuple, set, frozenset, SortedSet)
