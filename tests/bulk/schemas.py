"""Random tables with values of every CQL type.

The same seed gives the same tables and values.
"""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple

from cassandra.util import Date, Duration, Time

EPOCH = datetime.datetime(1970, 1, 1)
LETTERS = "abc ,;\"'\\{}[]:\t\n\réß漢\U0001f600%?0"
# Strings that a reader of files might mistake for another value, for a byte order mark, or for a
# line end.
SPECIAL = (
    "NULL",
    "nan",
    "1e5",
    "true",
    "\\N",
    "[]",
    "{}",
    "\ufeff",
    "\x00",
    "\u2028",
    "\x85",
    "\\.",
)
Maker = Callable[[random.Random], Any]


def _text(rng: random.Random, letters: str = LETTERS) -> str:
    """Return a random string of these letters, or one of SPECIAL. It is never empty.

    In a CSV file, an empty string and null look the same.

    :param letters: if these are not LETTERS, only those strings of SPECIAL are used that consist of
        letters and digits.
    """
    # One string in ten is one of SPECIAL.
    if rng.random() < 0.1:
        return rng.choice([text for text in SPECIAL if letters is LETTERS or text.isalnum()])
    return "".join(rng.choice(letters) for _ in range(rng.choice((1, 1, 3, 20))))


def _signed_integer(rng: random.Random, bits: int) -> int:
    """Return a random signed integer of `bits` bits.

    The limits and the numbers around zero are drawn most often, because errors are likelier there.
    """
    limit = 1 << (bits - 1)
    return rng.choice((0, 1, -1, limit - 1, -limit, rng.randrange(-limit, limit)))


def _real(rng: random.Random) -> float:
    """Return a random float, often one that is hard to write or read."""
    extremes = (5e-324, 1.7976931348623157e308, 2.0**53, 1e22, float("nan"))
    return rng.choice(
        (0.0, -0.0, 1.5, -2.25, float("inf"), float("-inf"), rng.uniform(-9, 9), *extremes)
    )


def _decimal(rng: random.Random) -> Decimal:
    """Return a random decimal, often with a large or negative exponent."""
    digits = rng.choice((0, 1, -10, 12345678901234567890, rng.randrange(-(10**30), 10**30)))
    return Decimal(digits).scaleb(rng.choice((0, -1, -2, -20, 0, 5, 400, -400)))


def _timestamp(rng: random.Random) -> datetime.datetime | int:
    """Return a random timestamp: a datetime, or milliseconds since 1970."""
    if rng.random() < 0.2:  # years that datetime does not support, as milliseconds
        return rng.choice(((1 << 63) - 1, -(1 << 63), 253_402_300_800_000))
    millis = rng.choice((0, 1, -1, 1_711_113_022_222, rng.randrange(-(10**13), 10**14)))
    return EPOCH + datetime.timedelta(milliseconds=millis)


def _duration(rng: random.Random) -> Duration:
    """Return a random duration, whose parts all have the same sign."""
    sign = rng.choice((1, -1))
    return Duration(*(sign * rng.choice((0, 1, 17, 10**6)) for _ in range(3)))


# A function that makes a random value, for each scalar type.
SCALARS: dict[str, Maker] = {
    "ascii": lambda rng: _text(rng, "abc ,\"'\\\n"),
    "bigint": lambda rng: _signed_integer(rng, 64),
    "blob": lambda rng: rng.randbytes(rng.choice((1, 2, 20))),
    "boolean": lambda rng: rng.random() < 0.5,
    "date": lambda rng: Date(
        rng.choice((0, 1, -1, 20_000, 2**31 - 1, -(2**31), rng.randrange(-700_000, 2_900_000)))
    ),
    "decimal": _decimal,
    "double": _real,
    "duration": _duration,
    "float": lambda rng: rng.choice((0.0, -0.0, 1.5, float("inf"), 0.1, 1e-45, 3e38, float("nan"))),
    "inet": lambda rng: str(
        rng.choice((IPv4Address(rng.getrandbits(32)), IPv6Address(rng.getrandbits(128))))
    ),
    "int": lambda rng: _signed_integer(rng, 32),
    "smallint": lambda rng: _signed_integer(rng, 16),
    "text": _text,
    "time": lambda rng: Time(rng.choice((0, 1, 86_399_999_999_999, rng.randrange(86_400 * 10**9)))),
    "timestamp": _timestamp,
    "timeuuid": lambda rng: uuid.UUID(int=rng.getrandbits(128) & ~(0xF << 76) | 0x1 << 76),
    "tinyint": lambda rng: _signed_integer(rng, 8),
    "uuid": lambda rng: uuid.UUID(int=rng.getrandbits(128), version=4),
    "varint": lambda rng: rng.choice(
        (0, -1, 10**30, -(10**30), rng.getrandbits(70), rng.getrandbits(10_000))
    ),
}  # fmt: skip
# CQL does not allow these types in keys, in the keys of maps and in the elements of sets.
UNORDERED = frozenset({"duration"})


class Column(NamedTuple):
    """A column of a table, or a field of a user type.

    `make` takes a random generator and returns a random value of `cql_type`.
    """

    name: str
    cql_type: str
    make: Maker


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Schema:
    """Two tables with the same columns, ``source`` and ``target``, and their user types.

    :param seed: the same seed gives the same schema, and the same rows.
    :param keyspace: the keyspace in which the caller creates the schema.
    """

    FIELDS = ("Zip Code", "class", "_x", "plain", "def", "a.b", "ü")

    def __init__(self, seed: int, keyspace: str) -> None:
        self.rng = rng = random.Random(seed)
        self.keyspace = keyspace
        # This dictionary contains the fields of each user type.
        self.types: dict[str, list[Column]] = {}
        for name in ("inner", "Outer type"):
            fields = rng.sample(self.FIELDS, 3)
            self.types[name] = [self._column(field, 1) for field in fields]
        key_types = [name for name in SCALARS if name not in UNORDERED]
        rng.shuffle(key_types)
        self.partition = [
            Column("p", key_types[0], SCALARS[key_types[0]]),
            Column("P 2", "int", SCALARS["int"]),
        ]
        self.clustering = [Column("c", key_types[1], SCALARS[key_types[1]])]
        scalar_types = list(SCALARS)
        rng.shuffle(scalar_types)
        self.values = [
            Column(f"v {number}", cql_type, SCALARS[cql_type])
            for number, cql_type in enumerate(scalar_types)
        ]
        self.values += [self._column(f"n{number}", 2, is_nested=True) for number in range(8)]
        # This static list is not frozen. If two writes with the same timestamp set it, Cassandra
        # keeps the elements of both.
        self.static = Column("s", "list<text>", lambda rng: [_text(rng) for _ in range(2)])
        # This is the order of the clustering column.
        self.order = rng.choice(("ASC", "DESC"))

    @property
    def columns(self) -> list[Column]:
        """Return all columns; the columns of the primary key come first."""
        return [*self.partition, *self.clustering, self.static, *self.values]

    def _column(self, name: str, depth: int, is_nested: bool = False) -> Column:
        return Column(name, *self._type(depth, is_nested))

    def _type(
        self, depth: int, is_nested: bool = False, is_ordered: bool = False
    ) -> tuple[str, Maker]:
        """Return a random CQL type and a function that returns its values.

        :param depth: how many types may be nested in each other; 0 for a scalar type.
        :param is_nested: True if the type must be a container, not a scalar.
        :param is_ordered: True if the type is for the keys of a map or the elements of a set, so
            that it must contain no type of UNORDERED.
        """
        rng = self.rng
        if not depth or (not is_nested and rng.random() < 0.4):
            scalars = [name for name in SCALARS if not (is_ordered and name in UNORDERED)]
            scalar = rng.choice(scalars)
            return scalar, SCALARS[scalar]
        containers = ["list", "map", "set", "tuple", "vector"]
        user_types = [] if is_ordered else list(self.types)
        container = rng.choice([*containers, *user_types])
        if container in user_types:
            fields = self.types[container]
            return f"frozen<{_quoted(container)}>", lambda rng: {
                field.name: field.make(rng) if rng.random() < 0.8 else None for field in fields
            }
        if container == "tuple":
            inner = [self._type(depth - 1, is_ordered=is_ordered) for _ in range(3)]
            return f"frozen<tuple<{', '.join(cql for cql, _ in inner)}>>", lambda rng: tuple(
                make(rng) if rng.random() < 0.8 else None for _, make in inner
            )
        if container == "vector":
            element = rng.choice(["float", "int", "bigint", "text"])
            make = SCALARS[element]
            return f"vector<{element}, 3>", lambda rng: [make(rng) for _ in range(3)]
        # Only the outermost type of a column may be a collection that is not frozen.
        is_frozen = depth < 2 or rng.random() < 0.5

        def frozen(cql_type: str) -> str:
            return f"frozen<{cql_type}>" if is_frozen else cql_type

        key, make_key = self._type(depth - 1, is_ordered=is_ordered or container != "list")
        if container == "map":
            value, make_value = self._type(depth - 1, is_ordered=is_ordered)
            # The keys may be dictionaries, which are not hashable, so they cannot be the keys of a
            # dictionary. The value is a list of pairs instead.
            return frozen(f"map<{key}, {value}>"), lambda rng: _Pairs(
                (key_value, make_value(rng))
                for key_value in _without_duplicates(make_key(rng) for _ in _random_range(rng))
            )
        return frozen(f"{container}<{key}>"), lambda rng: [
            make_key(rng) for _ in _random_range(rng)
        ]

    def statements(self) -> list[str]:
        """Return the statements that create the types and the tables."""
        statements = []
        for name, fields in self.types.items():
            field_list = ", ".join(f"{_quoted(field.name)} {field.cql_type}" for field in fields)
            statements.append(f"CREATE TYPE {_quoted(name)} ({field_list})")
        partition = ", ".join(_quoted(column.name) for column in self.partition)
        clustering = ", ".join(_quoted(column.name) for column in self.clustering)
        for table in ("source", "target"):
            column_list = ", ".join(
                f"{_quoted(column.name)} {column.cql_type}"
                + (" static" if column is self.static else "")
                for column in self.columns
            )
            primary_key = f"PRIMARY KEY (({partition}), {clustering})"
            order = f"CLUSTERING ORDER BY ({clustering} {self.order})"
            statements.append(f"CREATE TABLE {table} ({column_list}, {primary_key}) WITH {order}")
        return statements

    def insert(self) -> str:
        """Return the INSERT statement that writes a row of `rows` into ``source``."""
        names = ", ".join(_quoted(column.name) for column in self.columns)
        return f"INSERT INTO source ({names}) VALUES ({', '.join('?' * len(self.columns))})"

    def rows(self, count: int) -> list[list[Any]]:
        """Return `count` random rows.

        About a fifth of the values outside the key are null.
        """
        rng = self.rng
        key_size = len(self.partition) + len(self.clustering)
        return [
            [
                column.make(rng) if index < key_size or rng.random() < 0.8 else None
                for index, column in enumerate(self.columns)
            ]
            for _ in range(count)
        ]


def _random_range(rng: random.Random) -> range:
    """Return a range as long as a random collection.

    The caller creates one element in each iteration.
    """
    return range(rng.choice((1, 1, 2, 5)))


def _without_duplicates(values: Iterable[Any]) -> list[Any]:
    """Return the values without repetitions.

    Two values are the same if their `repr` is. So values without a hash, such as dicts, are
    allowed.
    """
    return list({repr(value): value for value in values}.values())


class _Pairs(list[Any]):
    """The value of a map as a list of (key, value) pairs, because its keys may not be hashable."""

    def items(self) -> list[Any]:
        """Return the (key, value) pairs."""
        return self
