"""Tests of the encoder, which turns Python values into CQL literals."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import uuid
from collections import OrderedDict, UserString, namedtuple
from typing import Any

import pytest

from cassandra.cqltypes import EncodeTypeError
from cassandra.encoder import Encoder, ValueSequence, cql_quote
from cassandra.util.daterange import OPEN_BOUND, DateRange, DateRangeBound
from cassandra.util.geometry import LineString, Point, Polygon
from cassandra.util.orderedmap import OrderedMap
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, Time


class Text(str):
    __slots__ = ()


class Number(enum.IntEnum):
    ONE = 1


class Zone(str, enum.Enum):
    NORTH = "it's north"


class Plain(enum.Enum):
    WORD = "word"
    DAY = datetime.date(2026, 1, 2)


Pair = namedtuple("Pair", ["a", "b"])

LITERALS: list[tuple[Any, str]] = [
    (None, "NULL"),
    (True, "true"),
    (5, "5"),
    (Number.ONE, "1"),
    (Zone.NORTH, "'it''s north'"),
    (Plain.WORD, "'word'"),
    (Plain.DAY, "'2026-01-02'"),
    ([Plain.WORD], "['word']"),
    (0.1, "0.1"),
    (float("nan"), "NaN"),
    (float("-inf"), "-Infinity"),
    (decimal.Decimal("1.50"), "1.50"),
    ("it's", "'it''s'"),
    (Text("x'); DROP"), "'x''); DROP'"),
    (b"\x00\xff", "0x00ff"),
    (bytearray(b"a"), "0x61"),
    (memoryview(b"a"), "0x61"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (datetime.datetime(1970, 1, 1, 0, 0, 1, 2999), "1002"),
    (datetime.date(2020, 2, 29), "'2020-02-29'"),
    (Date(-1), "2147483647"),
    (datetime.time(1, 2, 3, 4), "'01:02:03.000004'"),
    (datetime.time(1, 2, 3), "'01:02:03'"),
    (decimal.Decimal("1.10"), "1.10"),
    (Time(1), "'00:00:00.000000001'"),
    (Duration(1, 2, 3), "1mo2d3ns"),
    (Duration(-1, 0, 0), "-1mo0d0ns"),
    (ipaddress.ip_address("::1"), "'::1'"),
    ([1, "a"], "[1, 'a']"),
    ((1, None), "[1, NULL]"),
    (Pair(1, 2), "[1, 2]"),
    ([(1, 2)], "[[1, 2]]"),
    ({1}, "{1}"),
    (frozenset(["a"]), "{'a'}"),
    (SortedSet([2, 1]), "{1, 2}"),
    ({"a": 1}, "{'a': 1}"),
    (OrderedDict([("b", [1]), ("a", [])]), "{'b': [1], 'a': []}"),
    (OrderedMap([([1], 2)]), "{[1]: 2}"),
    (ValueSequence([1, "a"]), "(1, 'a')"),
    (Point(1.0, 2.0), "'POINT (1.0 2.0)'"),
    (LineString([(1.0, 2.0), (3.0, 4.0)]), "'LINESTRING (1.0 2.0, 3.0 4.0)'"),
    (Polygon([(0.0, 0.0), (1.0, 0.0), (0.0, 0.0)]), "'POLYGON ((0.0 0.0, 1.0 0.0, 0.0 0.0))'"),
    (DateRange(DateRangeBound(0, "YEAR"), OPEN_BOUND), "'[1970 TO *]'"),
]


@pytest.mark.parametrize(("value", "literal"), LITERALS)
def test_literals(value: Any, literal: str) -> None:
    """Each value must become the expected literal, by `as_text_type`, too."""
    assert Encoder().cql_encode_all_types(value) == literal
    assert Encoder().cql_encode_all_types(value, as_text_type=True) == literal


class Money:
    """A number that is not a subclass of float."""

    def __float__(self) -> float:
        return 1.5

    def __repr__(self) -> str:
        return "1.50 EUR"


class Address:
    """An address of another library."""

    compressed = "1.2.3.4'"


def test_the_methods_for_numbers_take_numbers_of_other_classes() -> None:
    """Applications map their own classes to the methods for floats and decimals."""
    encoder = Encoder()
    half = fractions.Fraction(1, 2)
    number: Any
    for number, literal in (
        (5, "5"), (2**70, str(2**70)), (1.5, "1.5"), (Money(), "1.5"), (half, "0.5"),
        (decimal.Decimal("1.50"), "1.5"), (decimal.Decimal("-inf"), "-Infinity"),
        (decimal.Decimal("nan"), "NaN"),
    ):  # fmt: skip
        assert encoder.cql_encode_float(number) == literal
    for number, literal in (
        (5, "5"), (1.5, "1.5"), ("12.50", "12.50"), (Money(), "1.5"), (half, "0.5"),
        (decimal.Decimal("1.50"), "1.50"),
    ):  # fmt: skip
        assert encoder.cql_encode_decimal(number) == literal
    with pytest.raises(ValueError, match=r"'x' .* is not a decimal number"):
        encoder.cql_encode_decimal("x")
    with pytest.raises(TypeError):
        encoder.cql_encode_float("1.5")  # type: ignore[arg-type]
    encoder.mapping[Money] = encoder.cql_encode_float
    encoder.mapping[fractions.Fraction] = encoder.cql_encode_decimal
    assert encoder.cql_encode_all_types([Money(), fractions.Fraction(1, 4)]) == "[1.5, 0.25]"


def test_addresses_of_other_libraries_have_the_attribute_compressed() -> None:
    """An object without this attribute is refused, and does not end the `map` around it."""
    encoder = Encoder()
    encoder.mapping[Address] = encoder.mapping[Money] = encoder.cql_encode_ipaddress
    literals = ["1", cql_quote("1.2.3.4'"), "2"]
    assert list(map(encoder.cql_encode_all_types, [1, Address(), 2])) == literals
    with pytest.raises(EncodeTypeError, match=r"1\.50 EUR .*Money.* is not an IP address"):
        list(map(encoder.cql_encode_all_types, [1, Money(), 2]))


def test_an_array_whose_method_is_gone_is_refused() -> None:
    """An object that an application has mapped to the method for arrays may be no array."""
    with pytest.raises(EncodeTypeError, match="has no method tolist or to_list"):
        Encoder()._cql_encode_array(object())


def test_the_entry_of_object_is_for_plain_objects_only() -> None:
    """As in cassandra-driver, `mapping[object]` is not an entry for each class."""
    encoder = Encoder()
    encoder.mapping[object] = lambda value: "'object'"
    assert encoder.cql_encode_all_types(object()) == "'object'"
    assert encoder.cql_encode_all_types(Text("x")) == "'x'"
    with pytest.raises(TypeError, match="has no literal in CQL"):
        encoder.cql_encode_all_types(Address())


def test_a_generator_becomes_a_list_literal() -> None:
    assert Encoder().cql_encode_all_types(number for number in (1, 2)) == "[1, 2]"


class Tensor:
    """An array like those of PyTorch, which are no subclass of NumPy's."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __array__(self) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.content)

    def __repr__(self) -> str:
        return f"tensor({self.content})"

    def tolist(self) -> Any:
        return self.content


def test_arrays_of_other_libraries_become_lists() -> None:
    encode = Encoder().cql_encode_all_types
    assert encode(Tensor([1.5, -0.0])) == "[1.5, -0.0]"
    assert encode([Tensor([1, 2])]) == "[[1, 2]]"
    # This is a tensor without dimensions.
    assert encode(Tensor(7)) == "7"


def test_entries_of_an_encoders_mapping_can_be_replaced() -> None:
    """An entry must affect this encoder, also inside of lists, but no other encoder."""
    encoder = Encoder()
    encoder.mapping[Pair] = lambda pair: f"{{a: {pair.a}}}"
    assert encoder.cql_encode_all_types([Pair(1, 2)]) == "[{a: 1}]"
    assert Encoder().cql_encode_all_types(Pair(1, 2)) == "[1, 2]"
    encoder.mapping[tuple] = encoder.cql_encode_tuple
    assert encoder.cql_encode_all_types((1, (2, "a"))) == "(1, (2, 'a'))"


def test_quoting() -> None:
    """Strings must be quoted and their apostrophes doubled, but not other values."""
    assert cql_quote("a'b") == "'a''b'"
    assert cql_quote(0) == "0"
    assert cql_quote(1.5) == "1.5"
    assert cql_quote(None) == "None"
    assert Encoder().cql_encode_all_types(Point(1, 2)) == "'POINT (1 2)'"
    assert Encoder().cql_encode_unicode("a") == "'a'"


def test_booleans_may_be_mapped_to_the_method_for_objects() -> None:
    """Booleans must become true and false even if they are mapped to the method for objects.

    Applications map them in this way, and so do other drivers. Servers refuse 1 for a boolean.
    """
    encoder = Encoder()
    encoder.mapping[bool] = encoder.cql_encode_object
    assert encoder.cql_encode_all_types([True, False, 1]) == "[true, false, 1]"


def test_an_application_can_map_its_enum_classes() -> None:
    encoder = Encoder()
    encoder.mapping[Zone] = lambda zone: "zone"
    assert encoder.cql_encode_all_types(Zone.NORTH) == "zone"
    assert encoder.cql_encode_all_types(Plain.WORD) == "'word'"
    encoder.mapping[enum.Enum] = lambda member: "member"
    # An entry for a base class must also be used for its subclasses.
    assert encoder.cql_encode_all_types(Plain.WORD) == "member"


def test_a_duration_with_two_signs_is_refused() -> None:
    for duration in (Duration(-1, 2, 0), Duration(1, 0, -3)):
        with pytest.raises(ValueError, match="mixes positive and negative parts"):
            Encoder().cql_encode_all_types(duration)
    assert Encoder().cql_encode_all_types(Duration(-1, -2, -3)) == "-1mo2d3ns"


@pytest.mark.parametrize(
    ("value", "literal"), [("it's", "'it''s'"), (b"a", "0x61"), (["x"], "['x']"), (5, "5")]
)
def test_a_mapping_without_the_classes_of_texts(value: Any, literal: str) -> None:
    """Strings must be encoded even if an application replaces the mapping.

    Its mapping may have only classes of the application.
    """
    encoder = Encoder()
    encoder.mapping = {}
    assert encoder.cql_encode_all_types(value) == literal


def test_values_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    encode = Encoder().cql_encode_all_types
    assert encode(numpy.array([1, 2])) == "[1, 2]"
    # The nearest parent of these classes with a literal is a class of Python.
    assert encode(numpy.float64(1.5)) == "1.5"
    assert encode(numpy.str_("it's")) == "'it''s'"
    assert encode(numpy.int32(3)) == "3"
    # A value in days becomes a date, which fits a timestamp column, too. A value in a smaller
    # unit becomes the milliseconds since 1970.
    assert encode(numpy.datetime64("1970-01-02")) == "'1970-01-02'"
    assert encode(numpy.datetime64("1970-01-01T00:00:01.002999")) == "1002"
    assert encode(numpy.datetime64("1969-12-31T23:59:59.999")) == "-1"
    assert encode(numpy.datetime64("2020-01-02T03:00")) == "1577934000000"
    with pytest.raises(TypeError, match="write None for a missing value"):
        encode(numpy.datetime64("NaT", "s"))


class Written:
    """An application's object, which is written by its `__str__`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def test_an_object_is_written_by_its_own_str_or_repr() -> None:
    """An object with `__str__` or `__repr__` must be written by it; others have no literal."""

    class WithRepr:
        def __repr__(self) -> str:
            return "{street: 'x', number: 5}"

    # This class is named like a class of NumPy.
    class datetime64:
        def __str__(self) -> str:
            return "3"

    encode = Encoder().cql_encode_all_types
    assert encode(Written("'it''s'")) == "'it''s'"
    assert encode([Written("-1.5")]) == "[-1.5]"
    assert encode(WithRepr()) == "{street: 'x', number: 5}"
    assert encode(datetime64()) == "3"
    with pytest.raises(TypeError, match=r"set session\.encoder\.mapping\[object\] to a function"):
        encode(object())


@pytest.mark.parametrize(
    "text", ["50, owner = 'eve'", "3, 1", "now(), 1", "7/2", "2020-01-05", "x"]
)
def test_an_object_whose_text_is_not_one_literal_is_refused(text: str) -> None:
    encoder = Encoder()
    refusal = r"Written.* has no literal in CQL.*session\.encoder\.mapping\[Written\]"
    for value in (Written(text), [Written(text)], {"a": Written(text)}, {Written(text): 1}):
        with pytest.raises(TypeError, match=refusal):
            encoder.cql_encode_all_types(value)
    # The driver trusts the entries of an application, and its own encoders.
    encoder.mapping[Written] = encoder.cql_encode_object
    assert encoder.cql_encode_all_types([Written(text)]) == f"[{text}]"

    class OwnEncoder(Encoder):
        def cql_encode_object(self, val: object) -> str:
            return str(val)

    assert OwnEncoder().cql_encode_all_types(Written(text)) == text


@pytest.mark.parametrize("target", ["encoder", "class"])
def test_the_method_for_objects_can_be_replaced(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    encoder = Encoder()
    if target == "encoder":
        monkeypatch.setattr(encoder, "cql_encode_object", lambda val: f"<{val}>")
    else:
        monkeypatch.setattr(Encoder, "cql_encode_object", lambda self, val: f"<{val}>")
    assert encoder.cql_encode_all_types([Written("x")]) == "[<x>]"


def test_values_of_a_mapping_and_user_strings() -> None:
    encode = Encoder().cql_encode_all_types
    assert encode({"a": 1, "b": 2}.values()) == "[1, 2]"
    assert encode([UserString("it's")]) == "['it''s']"


def test_a_text_of_an_own_class_is_read_once() -> None:
    """The text that is checked must be the text that is written."""

    class Changing(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "1; DROP"

    literal = Encoder().cql_encode_all_types(Written(Changing("1")))
    assert type(literal) is str
    assert literal == "1"


def test_numbers_whose_text_would_be_arithmetic_are_refused() -> None:
    encode = Encoder().cql_encode_all_types
    for number in (fractions.Fraction(7, 2), fractions.Fraction(7)):
        with pytest.raises(TypeError, match=r"Fraction.* has no literal in CQL: write float"):
            encode(number)
    with pytest.raises(TypeError, match=r"1j.* has no literal in CQL"):
        encode(1j)


def test_paths_are_refused() -> None:
    with pytest.raises(TypeError, match=r"PurePosixPath.* has no literal in CQL"):
        Encoder().cql_encode_all_types(pathlib.PurePosixPath("3, 1"))


def test_short_and_long_floats_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    encode = Encoder().cql_encode_all_types
    assert encode(numpy.float32(0.1)) == "0.1"
    assert encode([numpy.float32("inf"), numpy.float16("-inf")]) == "[Infinity, -Infinity]"
    assert encode(numpy.float32("nan")) == "NaN"
    assert encode(numpy.longdouble("1.5")) == "1.5"
    evil = type("Evil", (numpy.float32,), {"__str__": lambda self: "1; DROP"})
    assert encode(evil(1.5)) == "1.5"
    with pytest.raises(TypeError, match="has no literal in CQL"):
        encode(numpy.complex64(1j))


def test_the_usual_floats_of_numpy_are_floats() -> None:
    """They have all of their digits in NumPy's old formats, and the entry of floats."""
    numpy = pytest.importorskip("numpy")
    number = numpy.float64(0.1) + numpy.float64(0.2)
    encoder = Encoder()
    with numpy.printoptions(legacy="1.13"):
        assert encoder.cql_encode_all_types(number) == "0.30000000000000004"
    encoder.mapping[float] = lambda val: f"{val:.1f}"
    assert encoder.cql_encode_all_types([number]) == "[0.3]"


def test_values_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    encode = Encoder().cql_encode_all_types
    assert encode(pandas.Series([1, 2])) == "[1, 2]"
    for period in (pandas.Period("2020", "Y"), pandas.Period("2020-01", "M")):
        with pytest.raises(TypeError, match=r"write value\.to_timestamp\(\)"):
            encode(period)
    for frame in (pandas.DataFrame({"a": [1]}), [pandas.DataFrame()]):
        with pytest.raises(TypeError, match=r"DataFrame.* has no literal in CQL"):
            encode(frame)


def test_values_of_polars() -> None:
    polars = pytest.importorskip("polars")
    encode = Encoder().cql_encode_all_types
    assert encode(polars.Series(["it's", None])) == "['it''s', NULL]"
    assert encode(polars.Series([1000]).cast(polars.Datetime("ms"))) == "[1000]"
    with pytest.raises(TypeError, match=r"DataFrame.* has no literal in CQL"):
        encode(polars.DataFrame({"a": [1]}))


def test_values_of_pyarrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    encode = Encoder().cql_encode_all_types
    assert encode(pyarrow.array([1, 2])) == "[1, 2]"
    assert encode(pyarrow.chunked_array([["a"], ["b"]])) == "['a', 'b']"
    assert encode(pyarrow.scalar("NULL")) == "'NULL'"
    assert encode(pyarrow.scalar(5)) == "5"
    assert encode(pyarrow.scalar(datetime.date(2020, 1, 2))) == "'2020-01-02'"
    assert encode(pyarrow.scalar([1])) == "[1]"
    map_type = pyarrow.map_(pyarrow.string(), pyarrow.int32())
    assert encode(pyarrow.scalar([("a", 1)], map_type)) == "{'a': 1}"
    assert encode(pyarrow.scalar(None, map_type)) == "NULL"
    with pytest.raises(TypeError, match=r"Table.* has no literal in CQL"):
        encode(pyarrow.table({"a": [1]}))
