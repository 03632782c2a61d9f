"""Facts of more than one expression: callbacks that block, changed metadata. `forks` has more."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from cassandra.migrate.facts import Noticed, short
from cassandra.migrate.scopes import (
    CLUSTER,
    FUTURE,
    MAPPING,
    PREPARED,
    SESSION,
    Instance,
    Method,
    Named,
    Own,
    Scope,
    Scopes,
    Value,
    own_nodes,
)

CALLBACK = "callback"
CHANGE = "change"
STRUCT = "struct"
EVENTLET = "eventlet"
LIST_REMOVE = "list-remove "  # and the column's name

ADDS_CALLBACKS = ("add_callback", "add_errback", "add_callbacks")
BLOCKS = {
    (SESSION, "execute"),
    (SESSION, "prepare"),
    (SESSION, "set_keyspace"),
    (FUTURE, "result"),
    (CLUSTER, "connect"),
    (CLUSTER, "refresh_schema_metadata"),
}
CHANGES = {"pop", "clear", "update", "setdefault", "popitem"}
SENDS = {(SESSION, "execute"), (SESSION, "execute_async"), (PREPARED, "bind")}


def texts(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the texts among some expressions.

    :param nodes: the expressions.
    """
    return [
        one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def handled(handler: ast.ExceptHandler) -> list[str]:
    """Return the last parts of the names of the errors after which a program goes on.

    :param handler: the handler. One that raises, or exits, at its end handles none.
    """
    last = handler.body[-1]
    if isinstance(last, ast.Raise) or "exit(" in ast.unparse(last):
        return []
    if handler.type is None:
        return ["BaseException"]
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [ast.unparse(one).rpartition(".")[2] for one in kinds]


def struct_errors(node: ast.Try, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield handlers for ``struct.error`` alone around values that are bound.

    :param node: the ``try``.
    :param scopes: the file's scopes.
    :param scope: the scope of the ``try``.
    """
    for handler in node.handlers:
        if handler.type is None or ast.unparse(handler.type) != "struct.error":
            continue
        kinds = {word for one in node.handlers for word in _words(one.type)}
        if kinds & {"", "Exception", "BaseException", "TypeError", "ValueError"}:
            return
        called = [
            scopes.value(one.func, scope)
            for statement in node.body
            for one in ast.walk(statement)
            if isinstance(one, ast.Call)
        ]
        if any(isinstance(one, Method) and (one.owner, one.name) in SENDS for one in called):
            yield Noticed(handler, False, STRUCT, "except struct.error")  # type: ignore[arg-type]


def _words(kind: ast.expr | None) -> list[str]:
    if isinstance(kind, ast.Tuple):
        return [word for one in kind.elts for word in _words(one)]
    return [ast.unparse(kind).rpartition(".")[2] if kind is not None else ""]


def changes(node: ast.Subscript, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield an assignment to, or a deletion from, a mapping of the schema.

    :param node: the subscript.
    :param scopes: the file's scopes.
    :param scope: the scope of the subscript.
    """
    if isinstance(node.ctx, ast.Load):
        return
    base = scopes.value(node.value, scope)
    if isinstance(base, Instance) and base.owner.startswith(MAPPING):
        done = "del " if isinstance(node.ctx, ast.Del) else ""
        end = "" if done else " = ..."
        yield Noticed(node, False, CHANGE, f"{done}{short(node)}{end}")


def passed_on(
    constructor: ast.stmt, keywords: Mapping[str, ast.expr]
) -> dict[str, ast.expr] | None:
    """Return the arguments by name that a constructor hands to that of the class above, and nobody
    else; None if that cannot be said.

    :param constructor: the constructor.
    :param keywords: its arguments by name.
    """
    if not isinstance(constructor, ast.FunctionDef) or constructor.args.kwarg is None:
        return None
    rest = constructor.args.kwarg.arg
    uses = [one for one in ast.walk(constructor) if isinstance(one, ast.Name) and one.id == rest]
    calls = [
        one
        for one in own_nodes(constructor)
        if isinstance(one, ast.Call)
        and ast.unparse(one.func).endswith((".__init__", ".__new__"))
        and any(word.arg is None and word.value in uses for word in one.keywords)
    ]
    if len(uses) != 1 or len(calls) != 1:
        return None
    taken = {one.arg for one in (*constructor.args.args, *constructor.args.kwonlyargs)}
    taken.update(word.arg for word in calls[0].keywords if word.arg is not None)
    return {name: value for name, value in keywords.items() if name not in taken}


def in_call(
    node: ast.Call,
    called: Value,
    keywords: Mapping[str, ast.expr],
    scopes: Scopes,
    scope: Scope,
) -> Iterator[Noticed]:
    """Yield what a call does that is told of.

    :param node: the call.
    :param called: the called name.
    :param keywords: the arguments by name.
    :param scopes: the file's scopes.
    :param scope: the scope of the call.
    """
    if isinstance(called, Method):
        yield from _of_method(node, called, scopes, scope)
    elif isinstance(called, Named):
        if called.name == "eventlet.monkey_patch":
            yield Noticed(node, False, EVENTLET, "eventlet.monkey_patch()")
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        for name in keywords:
            if name.endswith("__remove"):
                column = name.removesuffix("__remove")
                yield Noticed(node, False, LIST_REMOVE + column, f"update({name}=...)")


def _of_method(node: ast.Call, called: Method, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    if called.owner == FUTURE and called.name in ADDS_CALLBACKS:
        given = [*node.args, *(word.value for word in node.keywords)]
        for one in given:
            function = scopes.value(one, scope)
            blocking = _blocking(function, scopes) if isinstance(function, Own) else ""
            if blocking:
                code = f"{called.name}({short(one)}): {blocking}()"
                yield Noticed(node, False, CALLBACK, code)
    elif called.owner.startswith(MAPPING) and called.name in CHANGES:
        yield Noticed(node, False, CHANGE, f"{short(node.func)}()")


def _blocking(function: Own, scopes: Scopes) -> str:
    """Return the first call in a function that waits for the driver, empty if none does."""
    scope = scopes.by_node.get(function.node)
    if scope is None or isinstance(function.node, ast.ClassDef):
        return ""
    for node in own_nodes(function.node):
        if isinstance(node, ast.Call):
            called = scopes.value(node.func, scope)
            if not isinstance(called, Method) or (called.owner, called.name) not in BLOCKS:
                continue
            if called.owner != FUTURE or _is_new(node.func, scope):
                return short(node.func)
    return ""


def _is_new(method: ast.expr, scope: Scope) -> bool:
    """Return True if a future was made in this function: those of callbacks have their result."""
    future = method.value if isinstance(method, ast.Attribute) else None
    if isinstance(future, ast.Name):
        return scope.holder(future.id) is scope
    return isinstance(future, ast.Call)
