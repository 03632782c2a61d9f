"""Random models with random values can be created, read, updated, filtered and deleted."""

from __future__ import annotations

import datetime
import decimal
import itertools
import uuid
from typing import Any

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.util import Date, Duration, Time

from .conftest import synced

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, Phase, given, settings, strategies as st  # noqa: E402

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
DATETIMES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


def whole(bits: int) -> Any:
    """Return a strategy for signed integers of at most `bits` bits."""
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


# Column classes with Hypothesis strategies for their values.
SCALARS: list[tuple[Any, Any]] = [
    (columns.Ascii, st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=9)),
    (columns.BigInt, whole(64)),
    (columns.Blob, st.binary(max_size=20)),
    (columns.Boolean, st.booleans()),
    (columns.Date, st.integers(-100_000, 100_000).map(Date)),
    (columns.DateTime, DATETIMES),
    (
        columns.Decimal,
        st.decimals(
            allow_nan=False, allow_infinity=False, places=3, max_value=10**9, min_value=-(10**9)
        ),
    ),
    (columns.Double, st.floats(allow_nan=False)),
    (columns.Float, st.floats(allow_nan=False, width=32)),
    # Leave out IPv4-mapped IPv6 addresses: servers return them as IPv4 addresses.
    (
        columns.Inet,
        st.ip_addresses()
        .filter(lambda address: getattr(address, "ipv4_mapped", None) is None)
        .map(str),
    ),
    (columns.Integer, whole(32)),
    (columns.SmallInt, whole(16)),
    (columns.Text, TEXT),
    (columns.Time, st.integers(0, 86_399_999_999_999).map(Time)),
    (columns.TinyInt, whole(8)),
    (columns.UUID, st.uuids()),
    (columns.VarInt, st.integers()),
]
OTHERS: list[tuple[Any, Any]] = [
    (
        columns.Duration,
        st.builds(Duration, st.integers(0, 99), st.integers(0, 99), st.integers(0, 10**15)),
    ),
    (columns.TimeUUID, st.builds(uuid.uuid1, st.just(5), st.integers(0, 99))),
]
# The columns that may be part of a primary key, items of sets, or keys of maps.
KEYS = [
    (column_class, values)
    for column_class, values in SCALARS
    if column_class not in (columns.Double, columns.Float, columns.Decimal)
]


def column_and_value_strategies(depth: int = 2) -> Any:
    """Return a Hypothesis strategy for columns with values that fit them.

    The strategy draws pairs: a function that returns a new column, and a strategy for the column's
    values.

    :param depth: how deep collections may be nested.
    """
    scalar = st.sampled_from(SCALARS + OTHERS).map(lambda pair: (pair[0], pair[1]))
    if not depth:
        return scalar
    inner_pairs = column_and_value_strategies(depth - 1)
    keys = st.sampled_from(KEYS)
    return st.one_of(
        scalar,
        inner_pairs.map(
            lambda pair: (
                lambda: columns.List(pair[0]() if callable(pair[0]) else pair[0]),
                st.lists(pair[1], max_size=4),
            )
        ),
        keys.map(lambda pair: (lambda: columns.Set(pair[0]), st.sets(pair[1], max_size=4))),
        st.tuples(keys, inner_pairs).map(
            lambda two_pairs: (
                lambda: columns.Map(two_pairs[0][0], two_pairs[1][0]()),
                st.dictionaries(two_pairs[0][1], two_pairs[1][1], max_size=4),
            )
        ),
        st.tuples(inner_pairs, inner_pairs).map(
            lambda two_pairs: (
                lambda: columns.Tuple(two_pairs[0][0](), two_pairs[1][0]()),
                st.tuples(st.none() | two_pairs[0][1], two_pairs[1][1]),
            )
        ),
    )


_numbers = itertools.count()


# Hypothesis must not shrink a failing example: each attempt would create a table on the node.
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
    database=None,
)
@given(st.data())
def test_random_models(data: Any) -> None:
    """Rows of a model with random columns are read as they were created, saved and updated."""
    # Draw a model: a partition key, a clustering column, and up to five other columns.
    drawn_columns = data.draw(st.lists(column_and_value_strategies(), min_size=1, max_size=5))
    key_column, keys = data.draw(st.sampled_from(KEYS))
    order_column, orders = data.draw(st.sampled_from(KEYS))
    names = [f"c{number}" for number in range(len(drawn_columns))]
    attributes: dict[str, Any] = {
        "__table_name__": f"random_{next(_numbers)}",
        "k": key_column(primary_key=True),
        "o": order_column(
            primary_key=True, clustering_order=data.draw(st.sampled_from(["asc", "desc"]))
        ),
        **{
            name: make_column() for name, (make_column, _) in zip(names, drawn_columns, strict=True)
        },
    }
    model: Any = type("Random", (Model,), attributes)
    synced(model)

    def draw_values() -> dict[str, Any]:
        return {
            name: data.draw(st.none() | strategy)
            for name, (_, strategy) in zip(names, drawn_columns, strict=True)
        }

    def draw_key(strategy: Any) -> Any:
        # Draw no empty key, because the server refuses an empty partition key.
        return data.draw(strategy.filter(lambda drawn: drawn not in ("", b"")))

    for _ in range(3):
        key = {"k": draw_key(keys), "o": draw_key(orders)}
        created = model.create(**key, **draw_values())
        stored = model.get(**key)
        assert_same_row(model, stored, created)
        for name, value in draw_values().items():
            setattr(stored, name, value)
        stored.save()
        saved = model.get(**key)
        assert_same_row(model, saved, stored)
        changes = draw_values()
        saved.update(**changes)
        updated = model.objects(k=key["k"], o__in=[key["o"]])[0]
        assert_same_row(model, updated, saved)
        # Set all columns to null, without reading the row.
        model.objects(**key).update(**dict.fromkeys(names))
        empty = model.objects(model.k == key["k"], model.o >= key["o"]).allow_filtering()
        assert all(
            model.__mapping__.columns[column_name].is_null(getattr(row, column_name))
            for row in empty
            if row.o == key["o"]
            for column_name in names
        )
        stored.delete()
        assert model.objects(**key).first() is None


def assert_same_row(model: Any, stored: Any, created: Any) -> None:
    """Check that an instance that was read equals the instance that was written.

    :param model: the class of both instances.
    :param stored: the instance that was read.
    :param created: the instance that was written.
    """
    for name, column in model.__mapping__.columns.items():
        written_value, read_value = getattr(created, name), getattr(stored, name)
        if column.is_null(written_value) or written_value == ():
            assert column.is_null(read_value) or read_value == (), name
        else:
            # When a row is read, the mapper applies `to_python`, which turns a null collection in a
            # tuple into an empty collection. Apply `to_python` to the written value as well, so
            # that both are equal.
            assert normalized(read_value) == normalized(column.to_python(written_value)), name


def normalized(value: Any) -> Any:
    """Return a value whose decimals are normalized, so that equal decimals have the same digits."""
    if isinstance(value, (tuple, list)):
        return type(value)(normalized(item) for item in value)
    if isinstance(value, dict):
        return {key: normalized(item) for key, item in value.items()}
    if isinstance(value, decimal.Decimal):
        return value.normalize()
    return value
