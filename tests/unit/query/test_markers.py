"""Test `parameters_of`, which tells bind markers from placeholders.

A statement with bind markers is prepared, and a statement with placeholders is formatted.
"""

from __future__ import annotations

import pytest

from cassandra.query.markers import (
    Parameters,
    parameters_of,
    placeholder_names,
    separate_minus_signs,
)
from cassandra.query.statement import bind_params

MARKERS, PLACEHOLDERS, NONE = Parameters.MARKERS, Parameters.PLACEHOLDERS, Parameters.NONE


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM t", NONE),
        ("SELECT * FROM t WHERE k = ?", MARKERS),
        ("SELECT * FROM t WHERE k=:k AND c IN :c LIMIT :n", MARKERS),
        ('SELECT * FROM t WHERE k = :"K k"', MARKERS),
        ("INSERT INTO t (a, b) VALUES (:a,:b)", MARKERS),
        ("SELECT * FROM t WHERE k = %s", PLACEHOLDERS),
        ("SELECT * FROM t WHERE k = %(k)s", PLACEHOLDERS),
        ("SELECT '?', ':x', '%s', 'it''s ?' FROM t", NONE),
        ('SELECT "a?b", "c:d", "e""?" FROM t', NONE),
        ("SELECT a -- what? :b %s\nFROM t", NONE),
        ("SELECT a // what?\nFROM t WHERE k = %s", PLACEHOLDERS),
        ("SELECT a /* ? %s\n:x */ FROM t WHERE k = ?", MARKERS),
        ("CREATE FUNCTION f() AS $$ return a ? b : c; $$", NONE),
        ("INSERT INTO t (m) VALUES ({'a': 1, 'b':2})", NONE),
        ("INSERT INTO t (u) VALUES ({street: 'x', open:true, number :7})", NONE),
        ("INSERT INTO t (m) VALUES ({:k: :v})", MARKERS),
        ("INSERT INTO t (m) VALUES ({'a': ?})", MARKERS),
        ("INSERT INTO t (m) VALUES ({'a':%s})", PLACEHOLDERS),
        ("UPDATE t SET m['a'] = :v WHERE k = 1", MARKERS),
        ("SELECT * FROM t WHERE a LIKE '%s'", NONE),
        ("unclosed 'string ?", NONE),
        ("unclosed /* comment ?", NONE),
        ("", NONE),
    ],
)
def test_the_kind_of_parameters(query: str, expected: Parameters) -> None:
    """`parameters_of` does not look for bind markers and placeholders in strings and comments."""
    assert parameters_of(query) is expected


@pytest.mark.parametrize("query", ["SELECT ? FROM t WHERE k = %s", "SELECT :a, %(b)s"])
def test_both_kinds_are_refused(query: str) -> None:
    """A statement with both bind markers and placeholders raises ValueError."""
    with pytest.raises(ValueError, match="at once"):
        parameters_of(query)


@pytest.mark.parametrize(
    ("template", "literals", "expected"),
    [
        ("b = -%s", ("-1",), "b = - -1"),
        ("b = -%s", ("1",), "b = -1"),
        ("b = %s", ("-1",), "b = -1"),
        ("b = - %s", ("-1",), "b = - -1"),
        ("b = -%(k)s-%(k)s-%(m)s", {"k": "-1", "m": "2"}, "b = - -1- -1-2"),
        ("'%s-%s', -%s", ("-1", "-2", "-3"), "'-1--2', - -3"),
        ('/* -%s */ "-%s" -%%s -%s', ("-1", "-2", "-3"), '/* --1 */ "--2" -%s - -3'),
        ("x --%s", ("-1",), "x ---1"),
        ("$$-%s$$-%s", ("-1", "-Infinity"), "$$--1$$- -Infinity"),
    ],
)
def test_a_negative_literal_after_a_minus_does_not_begin_a_comment(
    template: str, literals: object, expected: str
) -> None:
    """A space is put between a minus sign and a negative literal.

    In CQL, "--" begins a comment.
    """
    assert separate_minus_signs(template, literals) % literals == expected


def test_bind_params_separates_minus_signs() -> None:
    """`bind_params` puts a space between a minus sign and a negative number."""
    query = bind_params("UPDATE t SET b = -%s WHERE a = %s", (-1, -2))
    # In CQL, "--" begins a comment, so a negative number must not directly follow a minus sign.
    assert query == "UPDATE t SET b = - -1 WHERE a = -2"
    # The query keeps its template. Logs show the template, because it contains no values.
    assert query.template == "UPDATE t SET b = -%s WHERE a = %s"  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="not enough arguments"):
        bind_params("-%s -%s", (-1,))
    with pytest.raises(ValueError, match="no parameter is named 'b'"):
        bind_params("-%(a)s -%(b)s", {"a": -1})


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", set()),
        ("%(a)s %(b)s %(a)s", {"a", "b"}),
        ("%%(a)s %%%(b)s %%s", {"b"}),
        ("%(a)5s", {"a"}),
        ("%(a(b)c)s", {"a(b)c"}),
        ("%s", None),
        ("%(a)s %s", None),
        ("%(a)s 100%", None),
        ("%(a%%b)s", None),
        ("%(a)s" + 10_000 * " ", {"a"}),  # too long for the cache
    ],
)
def test_the_names_of_placeholders(query: str, names: set[str] | None) -> None:
    """`placeholder_names` returns None if a placeholder has no name."""
    assert placeholder_names(query) == names
