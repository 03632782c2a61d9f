"""Dicts whose content the source shows: arguments that a program passes as ``**settings``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from cassandra.migrate.scopes import Scope, Scopes

# Methods that leave a dict as it is.
READS = {"copy", "get", "items", "keys", "values"}


def arguments(node: ast.Call, scopes: Scopes, scope: Scope) -> dict[str, ast.expr]:
    """Return the arguments by name of a call, with those of dicts that are known.

    :param node: the call.
    :param scopes: the file's scopes.
    :param scope: the scope of the call.
    """
    found: dict[str, ast.expr] = {}
    for word in node.keywords:
        if word.arg is not None:
            found[word.arg] = word.value
        else:
            found.update(content(word.value, scopes, scope))
    return found


def content(node: ast.expr, scopes: Scopes, scope: Scope) -> Mapping[str, ast.expr]:
    """Return what is surely in a dict, by keys that are texts.

    :param node: the expression of the dict.
    :param scopes: the file's scopes.
    :param scope: the scope of the expression.
    """
    if isinstance(node, ast.Dict):
        return _displayed(node)
    if isinstance(node, ast.Call):
        is_dict = isinstance(node.func, ast.Name) and node.func.id == "dict"
        return arguments(node, scopes, scope) if is_dict and not node.args else {}
    if isinstance(node, ast.Name):
        holder = scope.holder(node.id)
        bindings = holder.bindings[node.id] if holder is not None else []
        given = bindings[0].node if len(bindings) == 1 and bindings[0].kind == "value" else None
        # Not the name of another dict, which may change under that name.
        if isinstance(given, (ast.Dict, ast.Call)) and not _changes(scopes, node.id):
            return content(given, scopes, bindings[0].scope)
    return {}


def _displayed(node: ast.Dict) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found.clear()  # what is unpacked here may have the same keys
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            found[key.value] = value
    return found


def _changes(scopes: Scopes, name: str) -> bool:
    """Return True if something may change a dict of this name, or hand it to others that do."""
    nodes = list(ast.walk(scopes.root.node))
    harmless = {id(one) for node in nodes for one in _reads(node)}
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in harmless
        for node in nodes
    )


def _reads(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that a node reads, and does not change."""
    if isinstance(node, ast.keyword) and node.arg is None:
        return [node.value]
    if isinstance(node, ast.Dict):
        return [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [node.value]
    if isinstance(node, ast.Attribute) and node.attr in READS:
        return [node.value]
    if isinstance(node, ast.Compare):
        return node.comparators
    return []
