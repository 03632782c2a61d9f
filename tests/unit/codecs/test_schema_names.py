"""Tests of the warning about a converter whose type or column is not in the schema."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.codecs import CodecRegistry, Converter
from cassandra.codecs.schema_names import missing_column, missing_type
from cassandra.codecs.type_patterns import pattern_of

CONVERTER: Converter[Any, Any] = Converter(to_cql=str)
# A fake keyspace with a table, a view and a user-defined type, and a schema with this keyspace.
SHOP = SimpleNamespace(
    tables={"carts": SimpleNamespace(columns={"id": 1, "total": 2})},
    views={"by_day": SimpleNamespace(columns={"day": 1})},
    user_types={"money": 1},
)
KEYSPACES = {"shop": SHOP}


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (("shop", "carts", "total"), None),
        (("shop", "by_day", "day"), None),
        (
            ("shop", "carts", "totl"),
            "there is no column 'totl' in table shop.carts; did you mean 'total'?",
        ),
        (
            ("shop", "cart", "total"),
            "there is no table 'cart' in keyspace 'shop'; did you mean 'carts'?",
        ),
        (("market", "carts", "total"), "there is no keyspace 'market'"),
    ],
)
def test_unknown_columns_and_tables_are_explained(
    column: tuple[str, str, str], message: str | None
) -> None:
    assert missing_column(column, KEYSPACES) == message


@pytest.mark.parametrize(
    ("cql_type", "message"),
    [
        ("text", None),
        ("money", None),
        ("list<frozen<shop.money>>", None),
        ("monney", "there is no user-defined type 'monney'; did you mean 'money'?"),
        (
            "map<text, frozen<shop.mony>>",
            "there is no user-defined type 'mony' in keyspace 'shop'; did you mean 'money'?",
        ),
        ("sop.money", "there is no keyspace 'sop'; did you mean 'shop'?"),
    ],
)
def test_unknown_user_defined_types_are_explained(cql_type: str, message: str | None) -> None:
    assert missing_type(pattern_of(cql_type), KEYSPACES) == message


def test_a_registry_warns_of_unknown_names_when_the_schema_is_known() -> None:
    """When the schema becomes known, `check_names` checks the names that were registered before.

    Each unknown name causes one warning.
    """
    metadata: Any = SimpleNamespace(keyspaces={})
    cluster = CodecRegistry(metadata=metadata)
    cluster.register_type("monney", CONVERTER)
    cluster.register_column("shop.carts.total", CONVERTER)
    session = CodecRegistry(cluster)
    metadata.keyspaces = KEYSPACES
    with pytest.warns(
        RuntimeWarning, match="no effect until its name is there: .* 'monney'"
    ) as caught:
        cluster.check_names()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="no column 'x' in table shop"):
        session.register_column("shop.carts.x", CONVERTER)
    # Each warning is given only once, and a known name causes no warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster.check_names()
        session.register_column("shop.carts.id", CONVERTER)
