"""Tests that no value of a supported class or a subclass breaks out of its literal."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import re
import uuid
from collections import OrderedDict, deque
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra.cqltypes import EncodeValueError
from cassandra.encoder import Encoder, ValueSequence
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.orderedmap import OrderedMap
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, Time

# This is a complete CQL literal without nested literals.
ATOM = re.compile(
    r"""
      '(?:[^']|'')*'
    | 0x(?:[0-9a-f]{2})*
    | [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
    | -?[0-9]+mo[0-9]+d[0-9]+ns
    | -?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?
    | -?(?:Infinity|s?NaN[0-9]*) | NULL | true | false
    """,
    re.VERBOSE,
)
# These are the marks around and between the parts of a nested literal.
MARK = re.compile(r"[\[\]{}():,]| ")


def is_one_literal(text: str) -> bool:
    """Return True if `text` is one literal, with balanced brackets around nested literals."""
    open_brackets: list[str] = []
    offset = 0
    while offset < len(text):
        atom = ATOM.match(text, offset)
        # This is a string, number or other literal without brackets.
        if atom is not None and atom[0]:
            offset = atom.end()
        elif (mark := MARK.match(text, offset)) is not None:
            offset = mark.end()
            if mark[0] in "[{(":
                open_brackets.append({"[": "]", "{": "}", "(": ")"}[mark[0]])
            elif mark[0] in "]})" and (not open_brackets or open_brackets.pop() != mark[0]):
                return False
            continue
        else:
            return False
        # The text continues after the end of the literal.
        if not open_brackets and offset < len(text):
            return False
    return not open_brackets


EVIL = "1'; DROP KEYSPACE k; --"


class Text(str):
    """A string whose methods also return EVIL. The methods of evil subclasses return it."""

    __slots__ = ()

    def replace(self, *_: Any) -> Any:
        return Text(EVIL)

    def __str__(self) -> str:
        return self

    def __format__(self, form: str) -> str:
        return EVIL


class Plain(enum.Enum):
    TEXT = EVIL
    NUMBER = -1


# These methods and properties turn a value into a string, or into another value.
METHODS = (
    "__str__", "__repr__", "__format__", "__bytes__", "isoformat", "strftime", "replace", "hex",
    "ctime", "encode", "as_tuple", "exploded", "to_eng_string", "capitalize", "translate", "__mod__",  # noqa: E501
)  # fmt: skip
PROPERTIES = (
    "compressed", "exploded", "with_prefixlen", "urn", "hex", "scope_id", "reverse_pointer",
)  # fmt: skip


def subclass_with_evil_texts(original_class: type[Any]) -> type[Any]:
    """Return a subclass whose string conversions return EVIL instead of its value."""

    def return_evil_text(self: Any, *_: Any, **__: Any) -> Any:
        return Text(EVIL)

    attributes: dict[str, Any] = {
        name: return_evil_text
        for name in METHODS
        if hasattr(original_class, name) and name != "__bytes__"
    }
    attributes |= {
        name: property(return_evil_text)
        for name in PROPERTIES
        if isinstance(getattr(original_class, name, None), property) and name != "scope_id"
    }
    attributes["__hash__"] = original_class.__hash__
    return type("Evil", (original_class,), attributes)


ADDRESSES = (
    "1.2.3.4", "::1", "::ffff:1.2.3.4", "fe80::1", "2001:db8::", "::",
)  # fmt: skip
# Each entry has a class and constructor arguments. The test builds each value from the class and
# from a subclass.
CONSTRUCTED: list[tuple[type[Any], tuple[Any, ...]]] = [
    (int, (-5,)),
    (float, (-0.5,)),
    (float, ("nan",)),
    (decimal.Decimal, ("-1.50",)),
    (decimal.Decimal, ("1E+400",)),
    (str, (EVIL,)),
    (bytes, (EVIL.encode(),)),
    (bytearray, (EVIL.encode(),)),
    (uuid.UUID, ("00112233-4455-6677-8899-aabbccddeeff",)),
    (datetime.datetime, (1969, 1, 2, 3, 4, 5, 6)),
    (datetime.date, (2026, 1, 2)),
    (datetime.time, (1, 2, 3, 4)),
    (Date, (-1,)),
    (Time, (1,)),
    (Duration, (-1, -2, -3)),
    (dict, ({"a'": EVIL},)),
    (OrderedDict, ({"a'": EVIL},)),
    (OrderedMap, ({"a'": EVIL},)),
    (list, ([EVIL],)),
    (tuple, ([EVIL, None],)),
    (set, ([EVIL],)),
    (frozenset, ([EVIL],)),
    (SortedSet, ([EVIL],)),
    (ValueSequence, ([EVIL],)),
    (deque, ([EVIL],)),
    (Point, (1.0, 2.0)),
    (LineString, ([(1.0, 2.0), (3.0, 4.0)],)),
    (Polygon, ([(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)],)),
    *(
        (ipaddress.IPv6Address if ":" in address else ipaddress.IPv4Address, (address,))
        for address in ADDRESSES
    ),
    (ipaddress.IPv4Interface, ("1.2.3.4/24",)),
    (ipaddress.IPv6Interface, ("fe80::1/64",)),
    (ipaddress.IPv4Network, ("1.2.3.0/24",)),
    (ipaddress.IPv6Network, ("fe80::/64",)),
]
# Their literals are quoted strings, so a subclass may change what is inside the quotes.
QUOTED = (Point, LineString, Polygon)


@pytest.mark.parametrize(("value_class", "arguments"), CONSTRUCTED)
def test_a_subclass_has_the_literal_of_its_parent(
    value_class: Any, arguments: tuple[Any, ...]
) -> None:
    encode = Encoder().cql_encode_all_types
    literal = encode(value_class(*arguments))
    assert is_one_literal(literal), literal
    evil_literal = encode(subclass_with_evil_texts(value_class)(*arguments))
    assert is_one_literal(evil_literal), evil_literal
    # The literals of the classes in QUOTED, and of str, are quoted strings, whose content may
    # differ for the evil subclass. All other literals must be the same.
    if value_class not in QUOTED and value_class is not str:
        assert evil_literal == literal


@pytest.mark.parametrize(
    "address_class", [ipaddress.ip_address, ipaddress.ip_interface, ipaddress.ip_network]
)
@pytest.mark.parametrize("zone", ["', a = 'x", "eth0"])
def test_an_address_with_a_zone_is_refused(address_class: Any, zone: str) -> None:
    try:
        address = address_class(f"::1%{zone}")
    except ValueError:
        pytest.skip("this Python has no zones there")
    # The constructor has dropped the zone.
    if "%" not in str(address):
        assert is_one_literal(Encoder().cql_encode_all_types(address))
        return
    with pytest.raises(EncodeValueError, match=r"has a zone .*, which inet has no place for"):
        Encoder().cql_encode_all_types([address])


def test_fields_overwritten_with_strings_are_refused() -> None:
    encode = Encoder().cql_encode_all_types
    for value_object in (Date(1), Time(1), Duration(1, 2, 3)):
        # The slots are those of the class from which the public class is derived.
        for name in type(value_object).__mro__[1].__dict__["__slots__"]:
            original = getattr(value_object, name)
            setattr(value_object, name, Text(EVIL))
            with pytest.raises((TypeError, ValueError)):
                encode(value_object)
            setattr(value_object, name, original)
        assert is_one_literal(encode(value_object))


def test_arrays_and_views_become_lists_or_sets() -> None:
    encode = Encoder().cql_encode_all_types
    assert encode({"a'": 1}.keys()) == "{'a'''}"
    assert encode(range(2)) == "[0, 1]"
    numpy = pytest.importorskip("numpy")
    assert encode(numpy.array(['it\'s "so"'])) == "['it''s \"so\"']"
    assert encode(numpy.array([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.uuids(),
    st.decimals(), st.datetimes(), st.dates(), st.times(), st.ip_addresses(),
    st.builds(Date, st.integers(-(1 << 31), (1 << 31) - 1)), st.builds(Time, st.integers(0, 86_399_999_999_999)),  # noqa: E501
    st.builds(Duration, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.sampled_from(Plain),
    st.builds(subclass_with_evil_texts(str), st.text()), st.builds(subclass_with_evil_texts(bytes), st.binary()), st.builds(subclass_with_evil_texts(int), st.integers()),  # noqa: E501
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.lists(inner).map(ValueSequence),
        st.dictionaries(st.text(), inner),
        st.frozensets(st.text()),
    ),
    max_leaves=8,
)


# Parts of which a text of an unknown class may consist.
PARTS = st.sampled_from(
    ("'", "''", "x", "1", "-", ".", ",", " ", ":", "[", "]", "{", "}", "(", ")", ";", "e", "NULL",
     "true", "now()", "/*", "--", "\n", "0x", "P", "d", "%s", "?", "$$", '"')
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(PARTS, max_size=9).map("".join))
def test_an_unknown_class_has_one_literal_or_none(text: str) -> None:
    unknown = type("Unknown", (), {"__str__": lambda self: text})
    try:
        literal = Encoder().cql_encode_all_types(unknown())
    except TypeError:
        return
    assert literal == text
    # One call of a function is taken, too. `is_one_literal` of this module knows no calls, so make
    # lists of their arguments, the inner ones first. Empty the strings, which may have brackets.
    text = re.sub("'(?:[^']|'')*'", "''", text).replace("\n", " ")
    call = re.compile(r"(?:[A-Za-z]\w*\.)?[A-Za-z]\w*\s*\(([^()]*)\)")
    while call.search(text):
        text = call.sub(r"[\1]", text)
    # `is_one_literal` of this module knows lower case only, and no fields of user-defined types.
    assert is_one_literal(re.sub(r"(?:x|e|d|P|true|NULL)+\s*:", "1:", text)) or re.fullmatch(
        r"-?P?[0-9.]+[de]?", text
    )


@pytest.mark.slow
@given(VALUES)
def test_every_literal_is_one(value: Any) -> None:
    literal = Encoder().cql_encode_all_types(value)
    assert is_one_literal(literal), literal
