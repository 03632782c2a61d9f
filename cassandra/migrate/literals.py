"""Finds the entries of dicts in the source: the arguments of a call ``call(**settings)``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from cassandra.migrate.scopes import Scope, Scopes

# Methods that read a dict, but do not change it.
READS = {"copy", "get", "items", "keys", "values"}


def arguments(node: ast.Call, scopes: Scopes, scope: Scope) -> dict[str, ast.expr]:
    """Return the keyword arguments of a call by name, including those in known ``**`` dicts.

    :param node: the call.
    :param scopes: the file's scopes.
    :param scope: the scope of the call.
    """
    by_name: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        if keyword.arg is not None:
            by_name[keyword.arg] = keyword.value
        else:
            by_name.update(content(keyword.value, scopes, scope))
    return by_name


def content(node: ast.expr, scopes: Scopes, scope: Scope) -> Mapping[str, ast.expr]:
    """Return the entries of a dict that have string keys, as far as the source shows them.

    If we cannot know the entries, return an empty dict.

    :param node: an expression that creates the dict, or the name of the dict.
    :param scopes: the file's scopes.
    :param scope: the scope of the expression.
    """
    if isinstance(node, ast.Dict):
        return _displayed(node)
    if isinstance(node, ast.Call):
        is_dict = isinstance(node.func, ast.Name) and node.func.id == "dict"
        # Accept only ``dict(a=1)``, because we do not know the entries of ``dict(other)``.
        return arguments(node, scopes, scope) if is_dict and not node.args else {}
    if isinstance(node, ast.Name):
        owner_scope = scope.binding_scope(node.id)
        bindings = owner_scope.bindings[node.id] if owner_scope is not None else []
        if len(bindings) != 1 or bindings[0].kind != "value":
            return {}
        # Accept a name only if it is bound directly to the expression that creates the dict.
        # Otherwise the dict has another name, and code may change it through that name.
        definition = bindings[0].node
        if isinstance(definition, (ast.Dict, ast.Call)) and not _changes(scopes, node.id):
            return content(definition, scopes, bindings[0].scope)
    return {}


def _displayed(node: ast.Dict) -> dict[str, ast.expr]:
    """Return the entries of a dict display, ``{...}``."""
    by_key: dict[str, ast.expr] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            by_key.clear()  # an unpacked dict (**other) may override the entries so far
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            by_key[key.value] = value
    return by_key


def _changes(scopes: Scopes, name: str) -> bool:
    """Return True if the file may change the dict with this name.

    Code that passes the dict to a function may change it, too.
    """
    nodes = list(ast.walk(scopes.root.node))
    harmless = {id(read) for node in nodes for read in _reads(node)}
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in harmless
        for node in nodes
    )


def _reads(node: ast.AST) -> list[ast.expr]:
    """Return the child expressions that `node` reads, but cannot change if they are dicts.

    If such a child is a dict, `node` does not change it.
    """
    if isinstance(node, ast.keyword) and node.arg is None:  # call(**settings)
        return [node.value]
    if isinstance(node, ast.Dict):  # {**settings}
        return [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):  # settings["name"]
        return [node.value]
    if isinstance(node, ast.Attribute) and node.attr in READS:  # settings.get("name")
        return [node.value]
    if isinstance(node, ast.Compare):  # "name" in settings
        return node.comparators
    return []
