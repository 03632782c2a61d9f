"""The fake node encodes types and values to the bytes that the protocol specifies."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import re
import uuid
from typing import Any

import pytest

from cassandra.testing.fake.values import Encoded, Udt, encode_row, parse_type

PLACE = Udt("ks", "place", (("x", "int"), ("y", "text")))
MARSHAL = "org.apache.cassandra.db.marshal."  # the package of the server's type classes
# 1.5 seconds after the beginning of 1970
MOMENT = datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)


@pytest.mark.parametrize(
    ("cql_type", "value", "option", "data"),
    [
        ("ascii", "a", "0001", "61"),
        ("bigint", -2, "0002", "fffffffffffffffe"),
        ("blob", b"\0\1", "0003", "0001"),
        ("boolean", True, "0004", "01"),
        ("counter", 5, "0005", "0000000000000005"),
        ("decimal", decimal.Decimal("-1.5"), "0006", "00000001 f1"),
        ("double", 1.0, "0007", "3ff0000000000000"),
        ("float", -2.0, "0008", "c0000000"),
        ("int", 258, "0009", "00000102"),
        ("timestamp", MOMENT, "000b", "00000000000005dc"),
        ("uuid", uuid.UUID(int=1), "000c", "00" * 15 + "01"),
        ("text", "é", "000d", "c3a9"),
        ("varint", 128, "000e", "0080"),
        ("varint", -129, "000e", "ff7f"),
        ("varint", 0, "000e", "00"),
        ("inet", "1.2.3.4", "0010", "01020304"),
        ("date", datetime.date(1970, 1, 2), "0011", "80000001"),
        ("time", datetime.time(0, 0, 1), "0012", "000000003b9aca00"),
        ("smallint", -1, "0013", "ffff"),
        ("tinyint", 7, "0014", "07"),
        ("duration", (1, -1, 2), "0015", "02 01 04"),
        ("list<int>", [1, None], "0020 0009", "00000002 00000004 00000001 ffffffff"),
        ("set<text>", ["a"], "0022 000d", "00000001 00000001 61"),
        ("map<text, frozen<list<tinyint>>>", {"k": [1]}, "0021 000d 0020 0014",
         "00000001 00000001 6b 00000009 00000001 00000001 01"),
        ("tuple<int, text>", (1, None), "0031 0002 0009 000d", "00000004 00000001 ffffffff"),
        (PLACE, {"y": "b"}, "0030 0002 6b73 0005 706c616365 0002 0001 78 0009 0001 79 000d",
         "ffffffff 00000001 62"),
    ],
)  # fmt: skip
def test_types_and_values_are_encoded_as_specified(
    cql_type: Any, value: Any, option: str, data: str
) -> None:
    """A result's metadata describes a type by its `option`, and the rows contain `data`.

    :param option: the option of the type in hexadecimal (native_protocol_v5.spec, section 4.2.5.2).
    :param data: the encoded value in hexadecimal.
    """
    parsed = parse_type(cql_type)
    assert parsed.option(5) == bytes.fromhex(option)
    assert parsed.encode(value) == bytes.fromhex(data)


def custom_option(class_name: str) -> bytes:
    """Return the option of a custom type: zero, and the name of the server's class."""
    return b"\0\0" + len(class_name).to_bytes(2, "big") + class_name.encode()


def test_types_that_older_versions_know_as_custom_ones() -> None:
    """Types that a protocol version does not know are custom types, with their class's name."""
    assert parse_type("duration").option(4) == custom_option(f"{MARSHAL}DurationType")
    assert parse_type("date").option(4) == bytes.fromhex("0011")
    assert parse_type("date").option(3) == custom_option(f"{MARSHAL}SimpleDateType")


@pytest.mark.parametrize(
    ("cql_type", "value", "data"),
    [
        ("vector<float, 2>", [1.0, -2.0], "3f800000 c0000000"),
        ("vector<boolean, 2>", [True, True], "0101"),
        ("vector<tinyint, 2>", [1, 1], "0101 0101"),
        ("vector<smallint, 2>", [1, 1], "020001 020001"),
        ("vector<text, 2>", ["a", ""], "01 61 00"),
        ("vector<vector<int, 2>, 1>", [[1, 2]], "00000001 00000002"),
    ],
)
def test_sizes_precede_vector_elements_of_variable_size(
    cql_type: str, value: Any, data: str
) -> None:
    """In a vector, elements of variable size follow their size.

    Cassandra counts tinyint and smallint among the types of variable size.
    """
    assert parse_type(cql_type).encode(value) == bytes.fromhex(data)


def test_a_vector_is_described_as_a_custom_type() -> None:
    """The metadata of a result describes a vector by the name of the server's class."""
    class_name = f"{MARSHAL}VectorType({MARSHAL}FloatType , 3)"
    assert parse_type("vector<float, 3>").option(5) == custom_option(class_name)


def test_a_vector_with_the_wrong_number_of_elements_is_refused() -> None:
    """A vector<float, 3> with two elements raises ValueError."""
    with pytest.raises(ValueError, match="2 elements"):
        parse_type("vector<float, 3>").encode([1.0, 2.0])


def test_rows_are_tuples_or_dicts() -> None:
    """A row may be a tuple or a dict; `Encoded` values are sent as they are.

    A tuple that is too short is refused.
    """
    columns = [("k", "int"), ("v", "text")]
    types = [parse_type(cql_type) for _, cql_type in columns]
    assert encode_row(types, columns, (1, None)) == bytes.fromhex("00000004 00000001 ffffffff")
    assert encode_row(types, columns, {"v": "", "k": Encoded(b"\7")}) == bytes.fromhex(
        "00000001 07 00000000"
    )
    with pytest.raises(ValueError, match="k, v"):
        encode_row(types, columns, (1,))


@pytest.mark.parametrize(
    ("cql_type", "value", "error", "message"),
    [
        (PLACE, {"xx": 1, "y": "b"}, ValueError,
         "there is a value for 'xx', but the fields of place are x, y"),
        (PLACE, (1, "b", 2), ValueError, "3 values for the 2 fields of place"),
        (PLACE, "ab", TypeError, r"'ab' \(str\) is not a mapping or a sequence for place"),
        ("tuple<int, int>", (1, 2, 3), ValueError, "3 values for the 2 fields of the tuple"),
        ("tuple<text, text>", "ab", TypeError, r"'ab' \(str\) is not a tuple"),
        ("blob", 5, TypeError, r"5 \(int\) is not bytes"),
        ("blob", [1, 2], TypeError, r"\[1, 2\] \(list\) is not bytes"),
        ("boolean", "false", TypeError, r"'false' \(str\) is not a bool"),
        ("boolean", 0.5, TypeError, r"0.5 \(float\) is not a bool"),
        ("inet", 5, TypeError, r"5 \(int\) is not an address"),
        ("list<text>", "abc", TypeError, r"'abc' \(str\) is not a collection of elements"),
        ("set<text>", {"a": 1}, TypeError, r"\(dict\) is not a collection of elements"),
        ("list<int>", 5, TypeError, r"5 \(int\) is not a collection of elements"),
        ("map<text, text>", ["ab"], TypeError, r"'ab' \(str\) is not a pair of a key and a value"),
        ("map<text, text>", "ab", TypeError, r"'ab' \(str\) is not a mapping"),
        ("vector<int, 2>", b"ab", TypeError, r"b'ab' \(bytes\) is not a sequence of elements"),
        ("list<frozen<tuple<blob>>>", [(b"",), (5,)], TypeError, r"5 \(int\) is not bytes"),
    ],
)  # fmt: skip
def test_values_that_would_be_stored_as_others_are_refused(
    cql_type: Any, value: Any, error: type[Exception], message: str
) -> None:
    """The error names the column, its type, the value, and the part that is wrong."""
    name = "place" if cql_type is PLACE else cql_type
    start = re.escape(f"row 3, column c ({name}): {value!r} ({type(value).__name__}) cannot be ")
    with pytest.raises(error, match=f"^{start}encoded: .*{message}$"):
        encode_row([parse_type(cql_type)], [("c", cql_type)], (value,), 3)


@pytest.mark.parametrize(
    ("cql_type", "value", "data"),
    [
        (PLACE, (1,), "00000004 00000001"),
        (PLACE, {}, "ffffffff ffffffff"),
        ("tuple<int, int>", [1], "00000004 00000001"),
        ("blob", bytearray(b"a"), "61"),
        ("blob", memoryview(b"a"), "61"),
        ("boolean", 0, "00"),
        ("inet", ipaddress.ip_address("1.2.3.4"), "01020304"),
        ("list<int>", {5: 0}.keys(), "00000001 00000004 00000005"),
        ("map<int, int>", [(5, None)], "00000001 00000004 00000005 ffffffff"),
    ],
)
def test_other_forms_of_values(cql_type: Any, value: Any, data: str) -> None:
    """Fields at the end may be missing, and other classes than the usual ones are accepted."""
    assert parse_type(cql_type).encode(value) == bytes.fromhex(data)


@pytest.mark.parametrize("cql_type", ["nothing", "list<int", "bag<int>"])
def test_invalid_types_are_refused(cql_type: str) -> None:
    """The error names the type that is unknown or incomplete."""
    with pytest.raises(ValueError, match=cql_type.partition("<")[0]):
        parse_type(cql_type)


@pytest.mark.parametrize(
    ("name", "cql_type"),
    [("integer", "int"), ("STR", "text"), ("datetime", "timestamp"), ("list<string>", "text")],
)
def test_types_of_python_and_sql_get_advice(name: str, cql_type: str) -> None:
    """A type of Python or SQL raises ValueError, which names the CQL type to write."""
    with pytest.raises(ValueError, match=f"no CQL type is called .*: write '{cql_type}'$"):
        parse_type(name)
