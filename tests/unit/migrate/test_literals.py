"""Test keyword arguments that a program passes in a dict, as in ``f(**{"a": 1})``."""

from __future__ import annotations

import ast

import pytest

from cassandra.migrate.literals import arguments
from cassandra.migrate.scopes import Scopes


def arguments_of_last(program_text: str) -> list[str]:
    """Return the names of the arguments that the last call of a program certainly passes."""
    tree = ast.parse(program_text)
    scopes = Scopes(tree)
    last_statement = tree.body[-1]
    assert isinstance(last_statement, ast.Expr)
    assert isinstance(last_statement.value, ast.Call)
    return sorted(arguments(last_statement.value, scopes, scopes.root))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(a=1, **{'b': 2})", ["a", "b"]),
        ("f(**dict(a=1, **{'b': 2}))", ["a", "b"]),
        ("k = {'a': 1}\nf(**k)", ["a"]),
        ("k = dict(a=1)\nprint(k['a'], k.get('a'), 'a' in k, {**k})\nf(**k)", ["a"]),
        # `others` and `c` are unknown, and may replace the key "a" before them.
        ("f(**{'a': 1, **others, 'b': 2, c: 3})", ["b"]),
        # In the cases below, the dict is unknown or may have been changed.
        ("f(**k)", []),
        ("f(**g())", []),
        ("f(**dict(others))", []),
        ("k = {'a': 1}\nk['a'] = 2\nf(**k)", []),
        ("k = {'a': 1}\ndel k['a']\nf(**k)", []),
        ("k = {'a': 1}\nk.update(b=2)\nf(**k)", []),
        ("k = {'a': 1}\nk |= others\nf(**k)", []),
        ("k = {'a': 1}\nchange(k)\nf(**k)", []),
        ("k = {'a': 1}\nif b:\n    k = {'c': 1}\nf(**k)", []),
        ("k = {'a': 1}\nj = k\nf(**j)", []),
    ],
)
def test_arguments_of_dicts(text: str, expected: list[str]) -> None:
    """Arguments from a dict are known only if the dict cannot have changed."""
    assert arguments_of_last(text) == expected
