"""Test that the compiled codecs behave like the pure Python codecs.

The tests encode and decode random values of nested types, and random and mutated bytes.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import inspect
import ipaddress
import pickle
import random
import socket
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cassandra import cqltypes as t
from cassandra.cqltypes import codecs as reference
from cassandra.errors import DecodeError
from cassandra.util.temporal import Date, Duration, Time
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import (
    ADDRESS,
    ALSO_WRITTEN,
    CONTAINERS,
    SCALARS,
    list_of,
    map_of,
    set_of,
    tuple_of,
    vector_of,
    without_unit,
)


def ints(bits: int) -> st.SearchStrategy[int]:
    """Return a strategy for signed integers with this number of bits."""
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def durations() -> st.SearchStrategy[Duration]:
    """Return a strategy for durations.

    Their months, days and nanoseconds have the same sign.
    """
    positive = st.builds(
        Duration, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
    )
    negative = st.builds(
        Duration, st.integers(-(2**31), 0), st.integers(-(2**31), 0), st.integers(-(2**63), 0)
    )
    return positive | negative


# For each type, a strategy for its values.
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    t.AsciiType: st.text(st.characters(max_codepoint=127)),
    t.UTF8Type: st.text(),
    t.BytesType: st.binary(),
    t.BooleanType: st.booleans(),
    t.ByteType: ints(8),
    t.ShortType: ints(16),
    t.Int32Type: ints(32),
    t.LongType: ints(64),
    t.IntegerType: st.integers() | st.integers(-(1 << 300), 1 << 300),
    t.FloatType: st.floats(width=32, allow_nan=False),
    t.DoubleType: st.floats(allow_nan=False),
    t.DecimalType: st.decimals(allow_nan=False, allow_infinity=False)
    | st.builds(
        lambda sign, digits, exponent: decimal.Decimal((sign, tuple(digits), exponent)),
        st.integers(0, 1),
        st.lists(st.integers(0, 9), min_size=1, max_size=60),
        st.integers(-1000, 1000),
    ),
    t.UUIDType: st.uuids(),
    t.TimeUUIDType: st.uuids(version=1),
    # Write IPv6 addresses as the operating system writes them, for example "::ffff:0.0.0.0".
    t.InetAddressType: st.ip_addresses().map(
        lambda ip: socket.inet_ntop(
            socket.AF_INET if ip.version == 4 else socket.AF_INET6, ip.packed
        )
    ),
    t.TimestampType: st.datetimes().map(
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    ),
    t.SimpleDateType: st.builds(Date, ints(32)),
    t.TimeType: st.builds(Time, st.integers(0, Time.DAY - 1)),
    t.DurationType: durations(),
}


def typed_values(depth: int) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    """Return a strategy for pairs of a type and the strategy for the type's values.

    :param depth: how many containers may be nested; 0 for only scalars.
    """
    scalars = st.sampled_from(
        # Hypothesis needs the same order in each process.
        sorted(VALUES.items(), key=lambda type_and_values: str(type_and_values[0]))
    )
    if depth == 0:
        return scalars
    inner_types = typed_values(depth - 1)

    def lists(type_and_values: Any) -> Any:
        cqltype, values = type_and_values
        return list_of(cqltype), st.lists(values, max_size=5)

    def vectors(type_and_values: Any) -> Any:
        cqltype, values = type_and_values
        return vector_of(cqltype, 3), st.lists(values, min_size=3, max_size=3)

    def fields(types_and_values: Any) -> Any:
        """Return the types of fields, and a strategy for tuples of values or None."""
        types = [cqltype for cqltype, _ in types_and_values]
        return types, st.tuples(*[st.none() | values for _, values in types_and_values])

    def tuples(types_and_values: Any) -> Any:
        types, values = fields(types_and_values)
        return tuple_of(*types), values

    def udts(types_and_values: Any) -> Any:
        types, values = fields(types_and_values)
        names = [f"f{number}" for number in range(len(types))]
        return t.UserType.make_udt_class("ks", "random", names, types), values

    nested = (
        inner_types.map(lists)
        | inner_types.map(vectors)
        | st.lists(inner_types, min_size=1, max_size=3).map(tuples)
    )
    return scalars | nested | st.lists(inner_types, min_size=1, max_size=3).map(udts)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_round_trip_of_nested_types(implementation: Implementation, data: st.DataObject) -> None:
    """Both implementations encode a value to equal bytes, and decode these to an equal value."""
    cqltype, values = data.draw(typed_values(2))
    value = data.draw(values)
    codec = cqltype.build_codec(implementation.codecs)
    body = codec.encode(value)
    assert body == cqltype.build_codec(reference).encode(value)
    assert codec.decode(body) == value
    assert codec.encode(codec.decode(body)) == body


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_round_trip_of_sets_and_maps(implementation: Implementation, data: st.DataObject) -> None:
    """Sets and maps with keys of any type are equal after encoding and decoding."""
    key_type, keys = data.draw(
        st.sampled_from(sorted(VALUES.items(), key=lambda item: str(item[0])))
    )
    pairs = data.draw(
        st.lists(
            st.tuples(keys, st.none() | st.integers(0, 9)), unique_by=lambda pair: repr(pair[0])
        )
    )
    # Some keys are equal in Python, but are encoded differently (-0.0 and 0.0, 1.0 and 1.00). A
    # dict has only one of them.
    mapping = dict(pairs)
    map_codec = map_of(key_type, t.Int32Type).build_codec(implementation.codecs)
    decoded_map = map_codec.decode(map_codec.encode(mapping))
    assert dict(decoded_map.items()) == mapping
    assert all(decoded_map[key] == value for key, value in decoded_map.items())
    set_codec = set_of(key_type).build_codec(implementation.codecs)
    decoded_set = set_codec.decode(set_codec.encode(set(mapping)))
    assert set(decoded_set) == set(mapping)
    # If the decoded set is encoded and decoded again, its order stays the same.
    assert list(decoded_set) == list(set_codec.decode(set_codec.encode(list(decoded_set))))


def outcome(function: Any, argument: Any) -> tuple[str, str]:
    """Call a function, and return the class and the repr of its result.

    If the function raises an error, return the error's class and message.
    """
    try:
        result = function(argument)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error).__name__, str(error)
    return type(result).__name__, repr(result)


# Each type appears once, and always in the same order.
TYPES = list(
    dict.fromkeys(
        [cqltype for cqltype, _, _ in [*SCALARS, *ALSO_WRITTEN, *CONTAINERS]]
        + [list_of(cqltype) for cqltype in VALUES]
        + [set_of(cqltype) for cqltype in VALUES]
        + [vector_of(cqltype, 3) for cqltype in VALUES]
        + [map_of(t.Int32Type, cqltype) for cqltype in VALUES]
        + [map_of(t.Int32Type, list_of(t.UTF8Type)), list_of(ADDRESS)]
        + [list_of(vector_of(t.FloatType, 3)), tuple_of(t.DoubleType, t.Int32Type)]
    )
)


class Shouting(str):
    """A string that encodes itself otherwise."""

    def encode(self, *arguments: Any) -> bytes:
        """Return upper-case letters."""
        return super().encode(*arguments).upper()


# Values that a conversion may accept although something is lost: a number that is too large, a
# unit, an imaginary part, a mask, or what a subclass of a usual class does.
ODD_VALUES: list[Any] = [
    decimal.Decimal("1E+400"),
    decimal.Decimal("1E-400"),
    decimal.Decimal("NaN"),
    decimal.Decimal("sNaN"),
    fractions.Fraction(1, 3),
    fractions.Fraction(10**400),
    1 + 2j,
    numpy.longdouble("1e400"),
    numpy.longdouble("1.5"),
    numpy.complex128(1 + 2j),
    numpy.complex64(2),
    without_unit(5),
    numpy.timedelta64(1, "M"),
    numpy.datetime64("NaT", "s"),
    numpy.datetime64(5, "Y"),
    numpy.ma.masked,
    numpy.ma.array(numpy.zeros(3, "f4"), mask=True),
    pandas.NaT,
    pandas.NA,
    numpy.float16(1.5),
    numpy.float32(0.1),
    numpy.float64(1e39),
    numpy.int64(1 << 40),
    numpy.uint64((1 << 64) - 1),
    numpy.bool_(True),
    numpy.str_("1.5"),
    numpy.bytes_(b"1.5"),
    numpy.array(5.0),
    numpy.array([5.0]),
    Shouting("a"),
]


@pytest.mark.slow
# NumPy before 2.3 still takes its booleans for integers.
@pytest.mark.filterwarnings("ignore:In future, it will be an error for 'np.bool' scalars")
def test_both_implementations_accept_and_refuse_the_same_values(compiled: Implementation) -> None:
    """Both implementations encode values of many classes to the same bytes.

    If one implementation refuses a value, the other implementation raises the same error.
    """
    values: list[Any] = [value for _, value, _ in [*SCALARS, *ALSO_WRITTEN, *CONTAINERS]]
    # Each value is bound to each type, so most of these values are refused by most types.
    values += [
        1.5,
        float("nan"),
        1e39,
        -1,
        2**31,
        2**63,
        10**400,
        "abc",
        "\ud800",
        b"abc",
        True,
        object,
        [1, 2, 3],
        [1, None, "x"],
    ]
    values += [
        {1, 2},
        {"a": 1},
        range(3),
        ipaddress.ip_address("::1"),
        datetime.date(2020, 2, 29),
        datetime.timedelta(1),
        [[1, 2], [3]],
    ]
    # An odd value may also be an element of a container: each conversion of many elements at once
    # must give the result of the conversions one by one.
    for odd in ODD_VALUES:
        values += [odd, [odd] * 3, [1, odd, 2], {1: odd, 2: 1}, [[odd] * 3], (odd, None)]
    for cqltype in TYPES:
        compiled_codec = cqltype.build_codec(compiled.codecs)
        python_codec = cqltype.build_codec(reference)
        for value in values:
            compiled_outcome = outcome(compiled_codec.encode, value)
            python_outcome = outcome(python_codec.encode, value)
            assert compiled_outcome == python_outcome, (cqltype, value)


def mutated(body: bytes, rng: random.Random) -> bytes:
    """Return `body` with up to three changes.

    A change replaces, removes or inserts bytes, or writes an extreme value over a length.
    """
    changed = bytearray(body)
    for _ in range(rng.randint(1, 3)):
        offset = rng.randrange(len(changed) + 1)
        mutation = rng.randrange(5)
        if mutation == 0:
            changed[offset : offset + 1] = bytes([rng.randrange(256)])
        elif mutation == 1:
            del changed[offset:]
        elif mutation == 2:
            changed[offset:offset] = rng.randbytes(rng.randint(1, 4))
        elif mutation == 3:
            # These are lengths: -1 (null), the largest and the smallest number, 2, and -2 (unset).
            changed[offset : offset + 4] = rng.choice(
                [
                    b"\xff\xff\xff\xff",
                    b"\x7f\xff\xff\xff",
                    b"\x80\x00\x00\x00",
                    b"\x00\x00\x00\x02",
                    b"\xff\xff\xff\xfe",
                ]
            )
        else:
            del changed[offset : offset + rng.randint(1, 4)]
    return bytes(changed)


def test_both_implementations_decode_mutated_bytes_alike(compiled: Implementation) -> None:
    """Both implementations decode mutated bytes to equal values, or raise the same error.

    Each type decodes the encoded values of all types, unchanged and with changes.
    """
    rng = random.Random(20261120)
    encoded_values = [bytes.fromhex(expected) for _, _, expected in [*SCALARS, *CONTAINERS]]
    for cqltype in TYPES:
        compiled_codec = cqltype.build_codec(compiled.codecs)
        python_codec = cqltype.build_codec(reference)
        for body in encoded_values:
            for data in (body, mutated(body, rng), mutated(body, rng)):
                compiled_outcome = outcome(compiled_codec.decode, data)
                python_outcome = outcome(python_codec.decode, data)
                assert compiled_outcome == python_outcome, (cqltype, data)


@settings(max_examples=500, deadline=None)
@given(data=st.binary(max_size=64), number=st.integers(0, len(TYPES) - 1))
@pytest.mark.slow
def test_random_bytes_are_a_value_or_a_clear_error(
    implementation: Implementation, data: bytes, number: int
) -> None:
    """Decoding random bytes raises no other error than DecodeError."""
    codec = TYPES[number].build_codec(implementation.codecs)
    try:
        value = codec.decode(data)
    except DecodeError:
        return
    # Every decoded value must have a working repr.
    repr(value)


def public_attributes(cls: Any) -> set[str]:
    return {attribute for attribute in dir(cls) if not attribute.startswith("_")}


def parameters_of(function: Any) -> list[tuple[Any, ...]]:
    """Return the name, kind and default of each parameter, without its annotation."""
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(function).parameters.values()
    ]


def test_both_implementations_have_the_same_names_and_signatures(compiled: Implementation) -> None:
    """Both implementations have the same functions, with the same parameters.

    The compiled classes have at least the public attributes of the Python classes.
    """
    assert list(reference.__all__) == list(compiled.codecs.__all__)
    for name in reference.__all__:
        compiled_item, python_item = getattr(compiled.codecs, name), getattr(reference, name)
        if name in ("Codec", "TypeCalls"):
            assert public_attributes(python_item) <= public_attributes(compiled_item)
        else:
            assert parameters_of(compiled_item) == parameters_of(python_item)


def test_both_implementations_describe_types_alike(compiled: Implementation) -> None:
    """Compiled and pure Python codecs have the same attributes, as far as the driver uses them."""
    for cqltype in TYPES:
        compiled_codec = cqltype.build_codec(compiled.codecs)
        python_codec = cqltype.build_codec(reference)
        for name in (
            "cql_name",
            "fixed_size",
            "empty_is_value",
            "legacy_empty",
            "width",
            "struct_code",
        ):
            assert getattr(compiled_codec, name) == getattr(python_codec, name), (cqltype, name)


def test_only_functions_can_create_compiled_codecs(compiled: Implementation) -> None:
    """A compiled codec can be created only by a function of its module.

    Its class cannot be called, and a codec cannot be pickled. An object that only `__new__` has
    created is refused.
    """
    codecs = compiled.codecs
    for codec in (
        codecs.int32(),
        codecs.list_of(codecs.int32()),
        codecs.vector_of(codecs.text(), 2),
        codecs.map_of(codecs.text(), codecs.text()),
    ):
        # Calling the class does not create a codec.
        with pytest.raises(TypeError, match="made by the functions"):
            type(codec)()
        # `__new__` creates an object without a type, which cannot be used.
        codec_class: Any = type(codec)
        uninitialised = codec_class.__new__(codec_class)
        with pytest.raises(TypeError, match="is not a codec of this module"):
            uninitialised.encode([1])
        with pytest.raises(TypeError, match="is not a codec of this module"):
            uninitialised.decode(b"")
        with pytest.raises(TypeError, match="is not a codec of this module"):
            codecs.list_of(uninitialised)
        with pytest.raises(TypeError, match="pickle the type"):
            pickle.dumps(codec)


def test_compiled_codecs_contain_only_compiled_codecs(compiled: Implementation) -> None:
    """A compiled container codec refuses None and pure Python codecs as its elements."""
    codecs = compiled.codecs
    wrong_calls: list[Callable[[], Any]] = [
        lambda: codecs.list_of(None),
        lambda: codecs.list_of(None, "list<int>"),
        lambda: codecs.map_of(codecs.text(), None, "x"),
        lambda: codecs.tuple_of([None], "x"),
        lambda: codecs.udt("u", ["a"], [reference.int32()], tuple),
        lambda: codecs.vector_of(None, 3),
        lambda: codecs.list_of(reference.int32()),
    ]
    for create in wrong_calls:
        with pytest.raises(TypeError, match="is not a codec of this module"):
            create()


def test_impossible_codecs_are_refused(implementation: Implementation) -> None:
    """A vector's dimension and size in bytes are limited, and each field needs name and codec."""
    codecs = implementation.codecs
    for dimension in (0, -1, 1 << 31):
        with pytest.raises(ValueError, match="cannot have"):
            codecs.vector_of(codecs.int32(), dimension)
    with pytest.raises(ValueError, match="cannot have"):
        # The size in bytes of such a vector does not fit 64 bits.
        codecs.vector_of(codecs.vector_of(codecs.int64(), 2_000_000_000), 2_000_000_000)
    with pytest.raises(ValueError, match="1 names of fields and 2 fields"):
        codecs.udt("u", ["a"], [codecs.int32()] * 2, tuple)


def test_memory_for_a_vector_is_allocated_after_its_elements_are_counted(
    implementation: Implementation,
) -> None:
    """A value with too few elements is refused before memory for the vector is allocated.

    A vector of this type has 16 GB.
    """
    codecs = implementation.codecs
    codec = codecs.vector_of(codecs.int64(), 2_000_000_000)
    for value in ([1, 2], (1, 2), numpy.zeros(2, "i8"), range(2)):
        with pytest.raises(ValueError, match="has 2 elements"):
            codec.encode(value)
        with pytest.raises(ValueError, match="has 2 elements"):
            codecs.list_of(codec).encode([value])
    # Test iterators separately, because an iterator can be read only once.
    with pytest.raises(ValueError, match="has 2 elements"):
        codec.encode(iter([1, 2]))
    with pytest.raises(ValueError, match="has 2 elements"):
        codecs.list_of(codec).encode([iter([1, 2])])


def test_large_vectors_are_encoded(implementation: Implementation) -> None:
    """Vectors of 20,000 elements are encoded from an array and from an iterator."""
    codecs = implementation.codecs
    codec = codecs.vector_of(codecs.int32(), 20_000)
    assert codec.encode(numpy.zeros(20_000, "i4")) == bytes(80_000)
    assert codec.encode(iter([0] * 20_000)) == bytes(80_000)
