"""Values and helpers that need no server: util, encoder, types, marshal, murmur3, timestamps.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import decimal
import fractions
import ipaddress
import itertools
import pickle
import uuid

from cassandra import cqltypes, marshal, metadata, util
from cassandra.encoder import Encoder, cql_quote
from cassandra.query import ValueSequence, bind_params
from cassandra.timestamps import MonotonicTimestampGenerator

STATEMENTS = False  # do not compare the requests that the node receives
ZONE = datetime.timezone(datetime.timedelta(hours=3))
ONE = uuid.UUID("13814000-1dd2-11b2-8080-808080808080")


class _Text(str):
    pass


class _Number:
    def __float__(self):
        return 1.5

    def __repr__(self):
        return "1.5"


class _Address:
    compressed = "1.2.3.4"


# The values that `encoding` encodes, by label.
ODD = {
    "None": None,
    "True": True,
    "0": 0,
    "-5": -5,
    "2**70": 2**70,
    "1.5": 1.5,
    "0.1": 0.1,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1e22": 1e22,
    "text": "it's",
    "empty": "",
    "subclass": _Text("a'b"),
    "bytes": b"\0\xff",
    "bytearray": bytearray(b"a"),
    "memoryview": memoryview(b"b"),
    "decimal": decimal.Decimal("1.50"),
    "decimal exp": decimal.Decimal("1E+5"),
    "uuid": ONE,
    "datetime": datetime.datetime(2020, 1, 2, 3, 4, 5, 678901),
    "datetime zone": datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=ZONE),
    "datetime 1960": datetime.datetime(1960, 1, 1, 1, 1, 1, 500000),
    "date": datetime.date(2020, 2, 29),
    "time": datetime.time(1, 2, 3, 4),
    "timedelta": datetime.timedelta(seconds=1),
    "Date": util.Date(5),
    "Time": util.Time(10**9),
    "Duration": util.Duration(1, 2, 3),
    "list": [1, "a", None],
    "nested": [[1], [2]],
    "tuple": (1, "a"),
    "set": {"a"},
    "frozenset": frozenset([1]),
    "empty list": [],
    "empty set": set(),
    "empty dict": {},
    "dict": {"a": 1, "b": None},
    "OrderedMap": util.OrderedMap([("z", 1), ("a", 2)]),
    "SortedSet": util.sortedset([2, 1]),
    "ValueSequence": ValueSequence([1, "b"]),
    "ip": ipaddress.ip_address("::1"),
    "ip4": ipaddress.ip_address("1.2.3.4"),
    # the encoder also writes the set of its addresses
    "network": ipaddress.ip_network("10.0.0.0/30"),
    "range": range(3),
    "Point": util.Point(1.5, 2),
    "LineString": util.LineString([(1, 2), (3, 4)]),
    "Polygon": util.Polygon([(0, 0), (1, 0), (1, 1), (0, 0)]),
    "object": object,
    "keys": {"a": 1}.keys(),
}


def encoding(context):
    """Encode unusual values as literals of a statement."""
    encoder = Encoder()
    for name, value in ODD.items():
        context.record_call(name, encoder.cql_encode_all_types, value)
        context.record_call(f"{name} as text", encoder.cql_encode_all_types, value, True)
        context.record_call(f"{name} quoted", cql_quote, value)
        context.record_call(f"{name} in a list", encoder.cql_encode_list_collection, [value])
        context.record_call(f"{name} in a tuple", encoder.cql_encode_tuple, (value,))
        context.record_call(f"{name} in a map", encoder.cql_encode_map_collection, {"k": value})
        context.record_call(f"{name} in a sequence", encoder.cql_encode_sequence, [value])
        # bind_params returns a subclass of str in turbocql, so compare it as a str.
        context.record_call(
            f"{name} bound", lambda value=value: str(bind_params("%s", (value,), encoder))
        )
    for name in ("bytes", "date", "datetime", "none", "object", "str", "unicode", "set_collection"):
        for label, value in ODD.items():
            context.record_call(f"{name} of {label}", getattr(encoder, f"cql_encode_{name}"), value)


def encoders_of_programs(context):
    """Replace functions in the mapping of an encoder, as applications do."""
    encoder = Encoder()
    encoder.mapping[tuple] = encoder.cql_encode_tuple
    encoder.mapping[int] = lambda value: f"int:{value}"
    encoder.mapping[_Text] = lambda value: "mine"
    for value in ((1, 2), 5, True, _Text("x"), [1], {"a": 1}):
        context.record_call(f"{value!r}", encoder.cql_encode_all_types, value)
    encoder.mapping[_Number] = encoder.cql_encode_float
    encoder.mapping[fractions.Fraction] = encoder.cql_encode_decimal
    encoder.mapping[_Address] = encoder.cql_encode_ipaddress
    encoder.mapping[object] = lambda value: "an object"
    for value in (_Number(), fractions.Fraction(1, 2), _Address(), object()):
        context.record_call(
            f"in a list {type(value).__name__}", encoder.cql_encode_all_types, [1, value, 2]
        )
    for value in (5, 1.5, _Number()):
        context.record_call(f"float of {value!r}", encoder.cql_encode_float, value)
    context.record("kinds", sorted(kind.__name__ for kind in Encoder().mapping))


def interpolation(context):
    """Insert parameters into a statement as literals."""
    for text, parameters in (
        ("%s", (1,)),
        ("%s %s", (1, "a")),
        ("%(a)s", {"a": 1}),
        ("%%", (1,)),
        ("%%s", ()),
        ("%s", ()),
        ("%s", (1, 2)),
        ("%(a)s", (1,)),
        ("%s", {"a": 1}),
        ("%d", (1,)),
        ("%r", (1,)),
        ("%5s", (1,)),
        ("a", (1,)),
        ("a", {"b": 1}),
        ("100%", (1,)),
        ("%(a)s %(a)s", {"a": "x"}),
        ("%s", "a"),
        ("%s", None),
        ("%s", ([1, 2],)),
        ("%s", ({1},)),
        ("%(a)", {"a": 1}),
        ("%(a)s %%(b)s", {"a": 1, "b": ValueError("has no literal")}),
        ("%(a)s", {"b": ValueError("has no literal")}),
    ):
        context.record_call(f"{text} {parameters}", bind_params, text, parameters, Encoder())


def temporal(context):
    """Create and compare `Date`, `Time` and `Duration`."""
    for value in (
        0,
        5,
        -5,
        2**40,
        "2020-02-29",
        "1600-01-01",
        "9999-12-31",
        "0001-01-01",
        "-0001-01-01",
        "nonsense",
        datetime.date(2020, 1, 1),
        1.5,
        None,
        datetime.datetime(2020, 1, 2, 23),
        "2020-1-2",
    ):
        day = context.record_call(f"Date {value!r}", util.Date, value)
        if day is not None:
            context.record_call(f"Date {value!r} date", day.date)
            context.record_call(f"Date {value!r} seconds", lambda day=day: day.seconds)
            context.record_call(f"Date {value!r} repr", repr, day)
            context.record_call(f"Date {value!r} days", lambda day=day: day.days_from_epoch)
    for value in (
        0,
        1,
        86399999999999,
        86400000000000,
        -1,
        "01:02:03",
        "01:02:03.5",
        "25:00:00",
        "1:2:3",
        "nonsense",
        datetime.time(1, 2, 3, 4),
        None,
        1.5,
        "01:02:03.123456789",
        "01:02",
    ):
        time = context.record_call(f"Time {value!r}", util.Time, value)
        if time is not None:
            context.record_call(f"Time {value!r} time", time.time)
            context.record_call(
                f"Time {value!r} parts",
                lambda t=time: [t.hour, t.minute, t.second, t.nanosecond, t.nanosecond_time],
            )
            context.record_call(f"Time {value!r} repr", repr, time)
    date, same = util.Date(5), util.Date(5)
    context.record(
        "equal",
        [
            date == same,
            date == datetime.date(1970, 1, 6),
            date < util.Date(6),
            hash(date) == hash(same),
            date == 5,
            date == "x",
        ],
    )
    a, b = util.Time(5), util.Time(5)
    context.record(
        "equal times",
        [a == b, a == datetime.time(0), a < util.Time(6), hash(a) == hash(b), a == 5, a == "x"],
    )
    for left, right in (
        (util.Duration(1, 2, 3), util.Duration(1, 2, 3)),
        (util.Duration(), util.Duration(0, 0, 0)),
        (util.Duration(1), util.Duration(2)),
    ):
        context.record(f"{left} {right}", [left == right, left != right, str(left), repr(left)])
    context.record_call("order", lambda: util.Duration(1) < util.Duration(2))


def times(context):
    """Convert between timestamps, datetimes and version 1 UUIDs."""
    for value in (
        0,
        1,
        1.5,
        -1,
        1234567890.123456,
        2**33,
        -62135596800,
        253402300799,
        1e20,
        None,
        "x",
    ):
        context.record_call(f"from {value!r}", util.datetime_from_timestamp, value)
        context.record_call(f"utc ms {value!r}", util.utc_datetime_from_ms_timestamp, value)
        context.record_call(f"max {value!r}", util.max_uuid_from_time, value)
        context.record_call(f"min {value!r}", util.min_uuid_from_time, value)
        context.record_call(f"uuid {value!r}", util.uuid_from_time, value, 5, 6)
    for value in (
        datetime.datetime(2020, 1, 2, 3, 4, 5, 678901),
        datetime.datetime(1960, 1, 1),
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ):
        context.record_call(f"ms {value}", util.ms_timestamp_from_datetime, value)
        context.record_call(f"min {value}", util.min_uuid_from_time, value)
        generated = context.record_call(f"uuid {value}", util.uuid_from_time, value, 5, 6)
        if generated is not None:
            context.record_call(
                f"unix {value}", lambda m=generated: round(util.unix_time_from_uuid1(m), 3)
            )
    context.record_call("wrong clock", util.uuid_from_time, 1, 5, 2**14)
    context.record_call("wrong node", util.uuid_from_time, 1, 2**48, 5)
    context.record_call(
        "uuid4", util.datetime_from_uuid1, uuid.UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
    )
    context.record_call("uuid1", util.datetime_from_uuid1, ONE)
    context.record("extremes", [util.LOWEST_TIME_UUID, util.HIGHEST_TIME_UUID])


def sorted_sets(context):
    """Call each method of `SortedSet`."""
    values, other = util.sortedset([3, 1, 2, 1]), util.SortedSet([2, 3, 4])
    calls = {
        "self": lambda: values,
        "len": lambda: len(values),
        "in": lambda: 2 in values,
        "index": lambda: values[0],
        "slice": lambda: values[1:],
        "or": lambda: values | other,
        "and": lambda: values & other,
        "sub": lambda: values - other,
        "xor": lambda: values ^ other,
        "union": lambda: values.union([9], [8]),
        "intersection": lambda: values.intersection([1, 2], [1]),
        "isdisjoint": lambda: values.isdisjoint([7]),
        "difference": lambda: values.difference([1]),
        "issubset": lambda: values.issubset([1, 2, 3, 4]),
        "issuperset": lambda: values.issuperset([1]),
        "eq set": lambda: values == {1, 2, 3},
        "eq list": lambda: values == [1, 2, 3],
        "lt": lambda: values < util.sortedset([1, 2, 3, 4]),
        "le": lambda: values <= {1, 2, 3},
        "ge": lambda: values >= {1},
        "repr": lambda: repr(values),
        "str": lambda: str(values),
        "hash": lambda: hash(values),
        "reversed": lambda: list(reversed(values)),
        "pickle": lambda: pickle.loads(pickle.dumps(values)),
        "copy": lambda: values.copy(),
        "add": lambda: values.add(0),
        "added": lambda: values,
        "remove": lambda: values.remove(0),
        "remove missing": lambda: values.remove(77),
        "discard": lambda: values.discard(77),
        "pop": lambda: values.pop(),
        "popped": lambda: values,
        "update": lambda: values.update([5, 6]),
        "ior": lambda: values.__ior__({7}),
        "mixed": lambda: util.sortedset([1, "a"]),
        "lists": lambda: util.sortedset([[2], [1]]),
        "sets": lambda: util.sortedset([{1}, {2}]),
        "dicts": lambda: util.sortedset([{"a": 1}, {"b": 1}]),
        "nan": lambda: len(util.sortedset([float("nan"), 1.0])),
        "clear": lambda: values.clear(),
        "empty": lambda: values,
        "symmetric": lambda: values.symmetric_difference([1]),
        "bool": lambda: bool(values),
        "sort": lambda: sorted([util.sortedset([2]), util.sortedset([1])]),
    }
    for name, call in calls.items():
        context.record_call(name, call)


def ordered_maps(context):
    """Call each method of `OrderedMap`."""
    mapping = util.OrderedMap([("b", 2), ("a", 1)])
    calls = {
        "self": lambda: mapping,
        "get": lambda: mapping["a"],
        "missing": lambda: mapping["z"],
        "default": lambda: mapping.get("z", 5),
        "keys": lambda: list(mapping.keys()),
        "len": lambda: len(mapping),
        "items": lambda: list(mapping.items()),
        "eq dict": lambda: mapping == {"a": 1, "b": 2},
        "eq": lambda: mapping == util.OrderedMap([("a", 1), ("b", 2)]),
        "repr": lambda: repr(mapping),
        "str": lambda: str(mapping),
        "unhashable": lambda: util.OrderedMap([([1], 2)])[[1]],
        "dict key": lambda: util.OrderedMap([({"a": 1}, 2)])[{"a": 1}],
        "keyword": lambda: util.OrderedMap(a=1),
        "dict": lambda: util.OrderedMap({"x": 1}),
        "two": lambda: util.OrderedMap({}, {}),
        "pop": lambda: mapping.popitem(),
        "set": lambda: mapping.__setitem__("q", 1),
        "del": lambda: mapping.__delitem__("a"),
        "in": lambda: "a" in mapping,
        "pickle": lambda: pickle.loads(pickle.dumps(mapping)),
        "again": lambda: util.OrderedMap([("a", 1), ("a", 2)]),
        "bool": lambda: bool(util.OrderedMap()),
        "ne": lambda: mapping != {"b": 3},
        "iter": lambda: list(mapping),
        "hash": lambda: hash(mapping),
    }
    for name, call in calls.items():
        context.record_call(name, call)


def geometry(context):
    """Create shapes in several ways, and record the text, repr and equality of each one."""
    shapes = {
        "point": lambda: util.Point(1, 2.5),
        "default": lambda: util.Point(),
        "wkt": lambda: util.Point.from_wkt("POINT (1 2)"),
        "bad": lambda: util.Point.from_wkt("x"),
        "line": lambda: util.LineString([(1, 2), (3, 4)]),
        "no line": lambda: util.LineString(),
        "line wkt": lambda: util.LineString.from_wkt("LINESTRING (1 2, 3 4)"),
        "polygon": lambda: util.Polygon([(0, 0), (1, 0), (1, 1)], [[(2, 2), (3, 3), (2, 3)]]),
        "polygon wkt": lambda: util.Polygon.from_wkt("POLYGON ((0 0, 1 0, 1 1, 0 0))"),
        "distance": lambda: util.Distance(1, 2, 3),
        "distance wkt": lambda: util.Distance.from_wkt("DISTANCE ((1 2) 3)"),
    }
    for name, call in shapes.items():
        value = context.record_call(name, call)
        if value is not None:
            context.record_call(f"{name} text", str, value)
            context.record_call(f"{name} repr", repr, value)
            context.record_call(
                f"{name} equal", lambda v=value, c=call: [v == c(), hash(v) == hash(c()), v == 1]
            )


def ranges(context):
    """Create date ranges of each precision."""
    bound, precision = util.DateRangeBound, util.DateRangePrecision
    when = datetime.datetime(2020, 5, 6, 7, 8, 9, 123456)
    for name in sorted(precision.PRECISIONS):
        rounded = context.record_call(name, bound, when, name)
        if rounded is not None:
            context.record_call(f"{name} text", str, rounded)
            context.record_call(
                f"{name} milliseconds", lambda rounded=rounded: rounded.milliseconds
            )
            context.record_call(f"{name} rounded", rounded.datetime)
            context.record_call(
                f"{name} range", lambda rounded=rounded: str(util.DateRange(rounded, rounded))
            )
            context.record_call(
                f"{name} from", lambda rounded=rounded: str(util.DateRange(lower_bound=rounded))
            )
    context.record_call("both", lambda: util.DateRange(value=1, lower_bound=2))
    context.record_call("open", lambda: str(util.DateRange(value=util.OPEN_BOUND)))
    context.record_call("wrong", bound, when, "century")


def versions(context):
    """Parse and compare version numbers."""
    for left in (
        "1.0",
        "3.11.4",
        "4.0-beta1",
        "4.0",
        "4.0.0",
        "5.0.9",
        "4.0-SNAPSHOT",
        "x",
        "",
        "4.0.0.6816",
        "4.0-beta2",
        "4.1-rc1+build",
    ):
        version = context.record_call(left, util.Version, left)
        if version is None:
            continue
        context.record_call(
            f"{left} parts",
            lambda version=version: [
                version.major,
                version.minor,
                version.patch,
                version.build,
                version.prerelease,
            ],
        )
        for right in ("4.0", "4.0-beta1", "3.9"):
            context.record_call(
                f"{left} {right}",
                lambda version=version, r=right: [
                    version < util.Version(r),
                    version == util.Version(r),
                    version > r,
                    version >= util.Version(r),
                ],
            )


NAMES = (
    "org.apache.cassandra.db.marshal.Int32Type",
    "UTF8Type",
    "Int32Type",
    "ListType(Int32Type)",
    "org.apache.cassandra.db.marshal.MapType(org.apache.cassandra.db.marshal.UTF8Type,"
    "org.apache.cassandra.db.marshal.Int32Type)",
    "TupleType(Int32Type, UTF8Type)",
    "ReversedType(Int32Type)",
    "FrozenType(SetType(UUIDType))",
    "CompositeType(Int32Type,UTF8Type)",
    "com.example.Unknown",
    "UserType(ks,61,62:Int32Type)",
    "VectorType(FloatType, 3)",
    "",
    "Int32Type(",
    "ColumnToCollectionType(61:ListType(Int32Type))",
    "DynamicCompositeType(a=>Int32Type)",
    "EmptyType",
    "CounterColumnType",
    "EmptyType()",
)


def names_of_types(context):
    """Look up types by the names of their Java classes."""
    for name in NAMES:
        kind = context.record_call(name, cqltypes.lookup_casstype, name)
        if kind is not None:
            context.record_call(f"{name} typename", lambda kind=kind: kind.typename)
            context.record_call(f"{name} cql", kind.cql_parameterized_type)
            context.record_call(f"{name} parameters", kind.cass_parameterized_type)
            context.record_call(f"{name} full", kind.cass_parameterized_type, True)
            context.record_call(f"{name} sub", lambda kind=kind: kind.subtypes)
    for text in (
        "int",
        "list<int>",
        "frozen<map<text, list<int>>>",
        "tuple<int, text>",
        "map<text,frozen<set<int>>>",
        '"My Type"',
        "vector<float, 3>",
        "",
    ):
        context.record_call(f"to {text}", cqltypes.cqltype_to_python, text)
        context.record_call(f"strip {text}", cqltypes.strip_frozen, text)
        context.record_call(f"typename {text}", cqltypes.cql_typename, text)


# For each type, by name: values to encode. Some of the values are not valid.
CODED = {
    "Int32Type": (0, -1, 2**31 - 1, 2**31, "x", None, True, 1.0),
    "LongType": (0, -1, 2**63 - 1, 2**63),
    "ShortType": (1, 2**15),
    "ByteType": (1, 128),
    "UTF8Type": ("ä", b"x", 5, ""),
    "AsciiType": ("a", "ä"),
    "BytesType": (b"a", "a", bytearray(b"b")),
    "BooleanType": (True, False, 1, 0, "x"),
    "DoubleType": (1.5, 1, "x"),
    "FloatType": (1.5, 1e300),
    "DecimalType": (decimal.Decimal("1.50"), 5, 1.5, "2.5", decimal.Decimal("-1E+3")),
    "IntegerType": (0, -1, 127, 128, 2**100, -(2**64), 255),
    "UUIDType": (ONE, str(ONE)),
    "TimeUUIDType": (ONE,),
    "InetAddressType": ("1.2.3.4", "::1", "x"),
    "DateType": (datetime.datetime(2020, 1, 2, 3, 4, 5, 678000), datetime.date(2020, 1, 1), 5, "x"),
    "TimestampType": (datetime.datetime(1960, 1, 1, 0, 0, 0, 1000),),
    "SimpleDateType": (util.Date(5), datetime.date(2020, 1, 1), "2020-01-01", 2**31 + 5, "x"),
    "TimeType": (util.Time(5), datetime.time(1, 2), "01:02:03", 5, "x"),
    "DurationType": (util.Duration(1, 2, 3), util.Duration(-1, -2, -3), 5),
    "CounterColumnType": (5,),
    "PointType": (util.Point(1, 2),),
    "ListType(Int32Type)": ([1, 2], [], (1,), {1}, "ab", None, [None]),
    "SetType(UTF8Type)": ({"a"}, ["b"], set()),
    "MapType(UTF8Type, Int32Type)": ({"a": 1}, {}, [1]),
    "TupleType(Int32Type, UTF8Type)": ((1, "a"), (1,), (1, "a", 2), [1, None], ()),
    "VectorType(FloatType, 2)": ([1.0, 2.0], [1.0], (1, 2)),
    "FrozenType(ListType(Int32Type))": ([1],),
    "ReversedType(Int32Type)": (5,),
}
# The programs that run several times, each with its cases.
EACH = {"coding": list(CODED), "decoding": list(CODED)}


def coding(context, name):
    """Serialize and deserialize values of one type in each protocol version."""
    kind = cqltypes.lookup_casstype(name)
    for value in CODED[name]:
        for version in (3, 4, 5):
            encoded = context.record_call(f"{value!r} {version}", kind.to_binary, value, version)
            if encoded is not None:
                context.record_call(f"{value!r} {version} back", kind.from_binary, encoded, version)
        context.record_call(f"{value!r} serialize", kind.serialize, value, 4)


def decoding(context, name):
    """Deserialize bytes that are wrong for most types."""
    cql_type = cqltypes.lookup_casstype(name)
    for data in (
        None,
        b"",
        b"\0",
        b"\1",
        b"\0\0\0\1",
        b"\0" * 8,
        b"\xff" * 8,
        b"\0" * 16,
        b"abc",
        b"\0\0\0\1\0\0\0\4\0\0\0\5",
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
    ):
        context.record_call(f"{data!r}", cql_type.from_binary, data, 4)


def packing(context):
    """Pack and unpack integers."""
    for value in (0, 1, -1, 127, 128, 255, -128, -129, 2**31, 2**63, -(2**63), 2**100):
        context.record_call(f"varint {value}", marshal.varint_pack, value)
        context.record_call(f"zig {value}", marshal.encode_zig_zag, value)
        context.record_call(f"vints {value}", marshal.vints_pack, [value])
        context.record_call(f"uvint {value}", marshal.uvint_pack, value)
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
            context.record_call(f"{name} {value}", getattr(marshal, f"{name}_pack"), value)
    for data in (b"", b"\0", b"\xff", b"\x00\xff", b"\x80", b"\xf0\1\2\3\4", b"\1\2\3\4\5\6\7\10"):
        context.record_call(f"unvarint {data!r}", marshal.varint_unpack, data)
        context.record_call(f"unvints {data!r}", marshal.vints_unpack, data)
        for name in ("int8", "int16", "int32", "int64", "float", "double"):
            context.record_call(f"un{name} {data!r}", getattr(marshal, f"{name}_unpack"), data)


def tokens(context):
    """Compute and compare tokens."""
    for key in (b"", b"a", b"\0\0\0\1", b"\xff" * 17, b"x" * 31, "text"):
        for name in ("Murmur3Token", "MD5Token", "BytesToken"):
            kind = getattr(metadata, name)
            context.record_call(
                f"{name} {key!r}", lambda kind=kind, key=key: kind.from_key(key).value
            )
            context.record_call(
                f"{name} hash {key!r}", lambda kind=kind, key=key: kind.hash_fn(key)
            )
    for name, value in (("Murmur3Token", "5"), ("Murmur3Token", "x"), ("BytesToken", "abcd")):
        kind = getattr(metadata, name)
        context.record_call(
            f"{name} {value}", lambda kind=kind, value=value: kind.from_string(value).value
        )
    token, other = metadata.Murmur3Token(5), metadata.Murmur3Token(7)
    context.record(
        "order",
        [
            token < other,
            token == metadata.Murmur3Token(5),
            hash(token) == hash(metadata.Murmur3Token(5)),
            token != other,
        ],
    )
    context.record_call("text", str, token)
    context.record_call("repr", repr, token)


def quoting(context):
    """Quote names and values for CQL."""
    for name in (
        "abc",
        "Abc",
        "a b",
        "1a",
        "select",
        "SELECT",
        "a-b",
        'a"b',
        "",
        "ä",
        "a1",
        "_a",
        "key",
        "token",
        "vector",
        "json",
        None,
    ):
        for function in ("maybe_escape_name", "protect_name", "is_valid_name", "escape_name"):
            context.record_call(f"{function} {name!r}", getattr(metadata, function), name)
    for value in ("it's", 5, None, True, 1.5, b"x"):
        context.record_call(f"value {value!r}", metadata.protect_value, value)
    context.record_call("names", metadata.protect_names, ["a", "B"])
    context.record("reserved", sorted(metadata.cql_keywords_reserved)[:60])
    context.record("unreserved", len(metadata.cql_keywords_unreserved) > 50)


def replication(context):
    """Create replication strategies from the options of keyspaces."""
    for name, options in (
        ("SimpleStrategy", {"replication_factor": "3"}),
        ("SimpleStrategy", {}),
        ("NetworkTopologyStrategy", {"dc1": "3", "dc2": "1"}),
        ("LocalStrategy", {}),
        ("org.apache.cassandra.locator.SimpleStrategy", {"replication_factor": "2"}),
        ("com.example.Mine", {"a": "b"}),
        ("SimpleStrategy", {"replication_factor": "3/1"}),
        ("EverywhereStrategy", {}),
        ("NetworkTopologyStrategy", {"dc1": "x"}),
        ("NetworkTopologyStrategy", {}),
        ("", {}),
        (None, {}),
    ):
        strategy = context.record_call(
            f"{name} {options}", metadata.ReplicationStrategy.create, name, dict(options)
        )
        if strategy is not None:
            context.record_call(f"{name} {options} export", strategy.export_for_schema)
            context.record_call(f"{name} {options} factor", lambda m=strategy: m.replication_factor)
            context.record_call(f"{name} {options} name", lambda m=strategy: m.name)
            context.record_call(f"{name} {options} equal", lambda m=strategy: m == m)
    for value in ("3", "3/1", 3, "x", "0", None):
        context.record_call(
            f"factor {value!r}",
            lambda v=value: [
                metadata.ReplicationFactor.create(v).all_replicas,
                metadata.ReplicationFactor.create(v).full_replicas,
                metadata.ReplicationFactor.create(v).transient_replicas,
            ],
        )


def clocks(context):
    """Record the timestamps of the monotonic generator."""
    generator = MonotonicTimestampGenerator()
    for now, last in ((10, 5), (5, 10), (7, 7), (0, 0)):
        context.record_call(f"{now} {last}", generator._next_timestamp, now, last)
    many = [generator() for _ in range(1000)]
    context.record("grows", all(a < b for a, b in itertools.pairwise(many)))
    for name in ("warn_on_drift", "warning_threshold", "warning_interval"):
        context.record_call(name, getattr, generator, name)
