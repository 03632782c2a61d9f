"""Facts about a program (its imports, calls and names) quote the code that they describe."""

from __future__ import annotations

import ast

from cassandra.migrate.facts import short


def test_long_code_is_cut() -> None:
    assert short(ast.parse("f( x )").body[0]) == "f(x)"
    cut = short(ast.parse(f"f({'x' * 90})").body[0])
    assert (len(cut), cut[-3:]) == (50, "...")
