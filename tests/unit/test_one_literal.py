"""Tests that text is recognised as exactly one CQL literal, or one call of a function."""

from __future__ import annotations

import pytest

from cassandra._one_literal import is_one_literal

LITERALS = (
    "5", "-5", "1.5", "5.", "-1.5E+10", "1e5", "NaN", "nan", "-Infinity", "True", "false",
    "''", "'a''b'", "'; DROP --'", "'\n'", "0x", "0xAB12", "550e8400-e29b-41d4-a716-446655440000",
    "1h30m", "-1mo2d3ns", "P1Y2M3DT4H5M6S", "PT5S", "P3W",
    "[]", "{}", "[1, 'a']", "[1,2 , 3]", "{1, 2}", "{1: 2, 'a': [3]}", "{[]: 1}", "(1, null)",
    "{street: 'x', \"A b\": {c: []}}", "{a: NULL, true: 1}", "[[[]]]",
    "now()", "(now())", "toDate(now())", "ks.f (1, [2, null], {a: g()})", "f('a', 'b')",
)  # fmt: skip
OTHER_TEXTS = (
    "", " ", "5 ", " 5", "5\n", "+5", "--5", "- 5", ".5", "5abc", "5.5.5", "1e", "inf",
    "\u0661", "1\u017f", "'", "'a'b'", "'a' 'b'", "'a' --", '"a"', "0xa", "0xg",
    "550e8400-e29b-41d4-a716-44665544000", "P", "-P", "PT", "P1DT", "null", "NULL",
    "x", "now", "now(", "now())", "f(), x = 1", "f(a)", "f(a: 1)", "f(1,)", "f() + 1", "a.b.f()",
    "f(1]", "[f(])", ".f()", "1f()", "'f'()", "f()()",
    "?", ":a", "%s", "7/2", "2020-01-05", "12:00", "1 + 1", "5, 6",
    "5; DROP", "/* */ 5", "5 -- x", "[", "]", "[1", "[1]]", "[1}", "[1,]", "[,1]",
    "[1 2]", "[5abc]", "[1] ", "[]; x", "()", "[x]", "[nullx]", "[a: 1]",
    "{a}", "{a: }", "{a:]", "{a: b}", "{: 1}", "{1: 2: 3}", "{}}", "{1: 2}, x = {}",
    "[" * 10_000, "[" * 10_000 + "]" * 9_999,
)  # fmt: skip


@pytest.mark.parametrize("text", LITERALS)
def test_literals(text: str) -> None:
    assert is_one_literal(text)
    # A literal in another literal's place.
    assert is_one_literal(f"[{text}, {{'a': {text}}}]")


@pytest.mark.parametrize("text", OTHER_TEXTS)
def test_other_texts(text: str) -> None:
    assert not is_one_literal(text)


def test_deep_literals() -> None:
    assert is_one_literal("[" * 10_000 + "]" * 10_000)
