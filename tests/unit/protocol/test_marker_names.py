"""Test `usual_name`, which translates the names that Cassandra 6 gives to bind markers."""

from __future__ import annotations

import pytest

from cassandra.protocol.marker_names import usual_name


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("in((c))", "in(c)"),
        ("in((c, d))", "in(c,d)"),
        ("(c, d)", "(c,d)"),
        ("(c)", "(c)"),
        ("(c, d)[0]", "c"),
        ("(c, d)[1]", "d"),
        ('("A, b", "x)[0]")[1]', "x)[0]"),
        ('in(("A, b", "Q""q"))', 'in(A, b,Q"q)'),
        ("m[?]", "value(m)"),
        ('"m[?]"[?]', "value(m[?])"),
        ("\"M\"['it''s']", "value(M)"),
        ("l[-1]", "value(l)"),
        ("in(m[?])", "in(value(m))"),
        ("u.'f'", "u.f"),
        ("\"U\".'F ''2'", "U.F '2"),
        ("in(u.'f')", "in(u.f)"),
        ("token(k)", "partition key token"),
        ('token(k, "J, j")', "partition key token"),
    ],
)
def test_names_of_cassandra_6(name: str, usual: str) -> None:
    """The markers have the names that Cassandra 5 gives to them."""
    assert usual_name(name) == usual


@pytest.mark.parametrize(
    "name",
    ["c", "in(c)", "in(c,d)", "(c,d)", "key(m)", "value(l)", "token(k, )", "[ttl]", "arg0(ks.f)",
     "in(A, b)", "a]", "(c, d)[2]", "x[?] y[?]"],
)  # fmt: skip
def test_other_names_are_unchanged(name: str) -> None:
    """These are names of columns, and names that Cassandra 5 and ScyllaDB give to markers."""
    assert usual_name(name) == name
