"""Test how names and values are written as CQL."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cassandra import metadata
from cassandra.metadata import (
    is_valid_name,
    maybe_escape_name,
    protect_name,
    protect_names,
    protect_value,
)
from cassandra.util.cql_text import split_names, stored_name, unquoted


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("a", "a"), ("a_1", "a_1"), ("A", '"A"'), ("1a", '"1a"'), ("select", '"select"'),
        ("text", "text"), ("", '""'),
        ('a"b', '"a""b"'), ("a b", '"a b"'), ("a\n", '"a\n"'), ("é", '"é"'), ("vector", "vector"),
        ("default", '"default"'), ("true", '"true"'), ("false", '"false"'), ("null", '"null"'),
        ("cast", '"cast"'), ("scylla_clustering_bound", '"scylla_clustering_bound"'),
    ],
)  # fmt: skip
def test_names_are_quoted_if_necessary(name: str, quoted: str) -> None:
    """Names are quoted if they are not lower-case identifiers, or if they are reserved.

    A name counts as reserved if any version of Cassandra or ScyllaDB reserves it. Names of types,
    such as "text" and "vector", are not reserved.
    """
    assert maybe_escape_name(name) == protect_name(name) == quoted
    assert is_valid_name(name) == (quoted == name)
    assert protect_names([name, "x"]) == [quoted, "x"]


def test_keywords_are_reserved_or_unreserved() -> None:
    assert (
        metadata.cql_keywords == metadata.cql_keywords_reserved | metadata.cql_keywords_unreserved
    )
    assert not metadata.cql_keywords_reserved & metadata.cql_keywords_unreserved


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (None, "NULL"),
        (True, "true"),
        (1, "1"),
        (0.5, "0.5"),
        ("it's", "'it''s'"),
        (b"\x01", "0x01"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_values_as_literals(value: Any, literal: str) -> None:
    """`protect_value` returns the expected literal for each value."""
    assert protect_value(value) == literal


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Shop", ["shop"]),
        ("shop.Item_1", ["shop", "item_1"]),
        ('shop."My.Item"', ["shop", "My.Item"]),
        ('"a""b".c."d"', ['a"b', "c", "d"]),
    ],
)
def test_names_are_split_at_their_dots(text: str, names: list[str]) -> None:
    assert split_names(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a table"),
        ('""', "is not a table"),
        (".", "is not a table"),
        ("a.", "is not a table"),
        ('"a".', "is not a table"),
        (".a", "is not a table"),
        ("a..b", "is not a table"),
        ('"a"b', "is not a table"),
        ('a."b', "a quoted name in 'a.\"b' has no end"),
        ("a.b-c", "'b-c' is not a name without quotes"),
    ],
)
def test_other_text_is_not_split_into_names(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        split_names(text, "a table")


def test_names_without_quotes_may_have_any_characters() -> None:
    assert split_names("a.B-c", any_unquoted=True) == ["a", "b-c"]


@pytest.mark.parametrize(
    ("name", "without_quotes", "stored"),
    [
        ("orders", "orders", "orders"),
        ("Orders", "Orders", "orders"),
        ('"Orders"', "Orders", "Orders"),
        ('"a""b"', 'a"b', 'a"b'),
        ('""', "", ""),
    ],
)
def test_names_without_their_quotes(name: str, without_quotes: str, stored: str) -> None:
    """Only names without quotes are converted to lower case when a server stores them."""
    assert unquoted(name) == without_quotes
    assert stored_name(name) == stored
