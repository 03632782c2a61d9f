"""Finds facts that no single expression shows, as `Noticed` objects.

An example is a callback of a future that calls `Session.execute`, which waits for a response. The
module `forks` finds the facts about forked processes.
"""

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
    Scope,
    Scopes,
    UserDefined,
    Value,
    own_nodes,
)

# The values of `Noticed.kind`.
CALLBACK = "callback"  # a callback waits for a response
CHANGE = "change"  # a mapping of the schema metadata is changed
STRUCT = "struct"  # a `try` handles `struct.error`, which this driver does not raise
EVENTLET = "eventlet"  # eventlet patches the standard library
# The kind for an update of a list by `column__remove`. The name of the column follows.
LIST_REMOVE = "list-remove "

ADDS_CALLBACKS = ("add_callback", "add_errback", "add_callbacks")  # methods of `ResponseFuture`
# (class, method) of the calls that wait for a response.
BLOCKS = {
    (SESSION, "execute"),
    (SESSION, "prepare"),
    (SESSION, "set_keyspace"),
    (FUTURE, "result"),
    (CLUSTER, "connect"),
    (CLUSTER, "refresh_schema_metadata"),
}
# CHANGES has the methods that change a dict. SENDS has (class, method) of the calls that bind or
# send values.
CHANGES = {"pop", "clear", "update", "setdefault", "popitem"}
SENDS = {(SESSION, "execute"), (SESSION, "execute_async"), (PREPARED, "bind")}


def texts(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the values of the string constants among some expressions.

    :param nodes: the expressions.
    """
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def handled(handler: ast.ExceptHandler) -> list[str]:
    """Return the errors that a handler recovers from, as class names without their modules.

    :param handler: the handler. If it ends with ``raise`` or ``exit()``, it does not recover from
        an error, so the result is [].
    """
    last_statement = handler.body[-1]
    if isinstance(last_statement, ast.Raise) or "exit(" in ast.unparse(last_statement):
        return []
    if handler.type is None:
        return ["BaseException"]
    error_types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [ast.unparse(error).rpartition(".")[2] for error in error_types]


def struct_errors(node: ast.Try, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a `Noticed` if a ``try`` handles ``struct.error`` of a call that sends values.

    Yield nothing if another handler of the ``try`` catches the errors that this driver raises
    instead of ``struct.error``.

    :param node: the ``try``.
    :param scopes: the file's scopes.
    :param scope: the scope of the ``try``.
    """
    for handler in node.handlers:
        if handler.type is None or ast.unparse(handler.type) != "struct.error":
            continue
        error_names = {
            error_name
            for other_handler in node.handlers
            for error_name in _error_names(other_handler.type)
        }
        # "" stands for an ``except:`` without a class, which catches all errors.
        if error_names & {"", "Exception", "BaseException", "TypeError", "ValueError"}:
            return
        called_values = [
            scopes.value(call.func, scope)
            for statement in node.body
            for call in ast.walk(statement)
            if isinstance(call, ast.Call)
        ]
        if any(
            isinstance(method, Method) and (method.owner, method.name) in SENDS
            for method in called_values
        ):
            yield Noticed(handler, is_guarded=False, kind=STRUCT, code="except struct.error")  # type: ignore[arg-type]


def _error_names(error_type: ast.expr | None) -> list[str]:
    if isinstance(error_type, ast.Tuple):
        return [word for element in error_type.elts for word in _error_names(element)]
    return [ast.unparse(error_type).rpartition(".")[2] if error_type is not None else ""]


def changes(node: ast.Subscript, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a `Noticed` for code that changes a mapping of the schema metadata.

    The code is ``mapping[key] = ...`` or ``del mapping[key]``.

    :param node: the subscript.
    :param scopes: the file's scopes.
    :param scope: the scope of the subscript.
    """
    if isinstance(node.ctx, ast.Load):
        return
    base = scopes.value(node.value, scope)
    if isinstance(base, Instance) and base.owner.startswith(MAPPING):
        prefix = "del " if isinstance(node.ctx, ast.Del) else ""
        suffix = "" if prefix else " = ..."
        yield Noticed(node, is_guarded=False, kind=CHANGE, code=f"{prefix}{short(node)}{suffix}")


def forwarded_arguments(
    constructor: ast.stmt, keywords: Mapping[str, ast.expr]
) -> dict[str, ast.expr] | None:
    """Return the keyword arguments that an application's constructor forwards to its base class.

    Return None if we cannot know them.

    :param constructor: the constructor of an application's class.
    :param keywords: the keyword arguments of the call.
    """
    if not isinstance(constructor, ast.FunctionDef) or constructor.args.kwarg is None:
        return None
    # `rest` is the name of the parameter ``**rest``. The constructor must use it only once, to call
    # the constructor of the base class.
    rest = constructor.args.kwarg.arg
    uses = [
        name_node
        for name_node in ast.walk(constructor)
        if isinstance(name_node, ast.Name) and name_node.id == rest
    ]
    calls = [
        call
        for call in own_nodes(constructor)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).endswith((".__init__", ".__new__"))
        and any(keyword.arg is None and keyword.value in uses for keyword in call.keywords)
    ]
    # If the constructor uses ``**rest`` in another way, it may change the arguments.
    if len(uses) != 1 or len(calls) != 1:
        return None
    # The constructor does not forward arguments for its own parameters, and it replaces arguments
    # that it passes explicitly.
    consumed_names = {
        parameter.arg for parameter in (*constructor.args.args, *constructor.args.kwonlyargs)
    }
    consumed_names.update(keyword.arg for keyword in calls[0].keywords if keyword.arg is not None)
    return {name: value for name, value in keywords.items() if name not in consumed_names}


def in_call(
    node: ast.Call,
    called: Value,
    keywords: Mapping[str, ast.expr],
    scopes: Scopes,
    scope: Scope,
) -> Iterator[Noticed]:
    """Yield a `Noticed` for each difference that a call shows.

    :param node: the call.
    :param called: the value of the called expression.
    :param keywords: the keyword arguments by name.
    :param scopes: the file's scopes.
    :param scope: the scope of the call.
    """
    if isinstance(called, Method):
        yield from _in_method_call(node, called, scopes, scope)
    elif isinstance(called, Named):
        if called.name == "eventlet.monkey_patch":
            yield Noticed(node, is_guarded=False, kind=EVENTLET, code="eventlet.monkey_patch()")
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        for name in keywords:
            # This may be `update(tags__remove=...)` of a queryset. The matcher `RemovedFromList`
            # checks later if the column is a list.
            if name.endswith("__remove"):
                column = name.removesuffix("__remove")
                yield Noticed(
                    node, is_guarded=False, kind=LIST_REMOVE + column, code=f"update({name}=...)"
                )


def _in_method_call(
    node: ast.Call, called: Method, scopes: Scopes, scope: Scope
) -> Iterator[Noticed]:
    """Yield a `Noticed` for each difference that a call of a driver's method shows."""
    if called.owner == FUTURE and called.name in ADDS_CALLBACKS:
        # A callback that waits for a response would block the event loop.
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        for argument in arguments:
            function = scopes.value(argument, scope)
            if not isinstance(function, UserDefined):
                continue
            blocking_call = _blocking_call_in(function, scopes)
            if blocking_call:
                code = f"{called.name}({short(argument)}): {blocking_call}()"
                yield Noticed(node, is_guarded=False, kind=CALLBACK, code=code)
    elif called.owner.startswith(MAPPING) and called.name in CHANGES:
        # The call changes a mapping of the schema metadata, which this driver does not allow.
        yield Noticed(node, is_guarded=False, kind=CHANGE, code=f"{short(node.func)}()")


def _blocking_call_in(function: UserDefined, scopes: Scopes) -> str:
    """Return the first call in a function that waits for a response; "" if no call does."""
    scope = scopes.by_node.get(function.node)
    if scope is None or isinstance(function.node, ast.ClassDef):
        return ""
    for node in own_nodes(function.node):
        if isinstance(node, ast.Call):
            called = scopes.value(node.func, scope)
            if not isinstance(called, Method) or (called.owner, called.name) not in BLOCKS:
                continue
            # A callback runs when its future is complete, so `result` of that future returns at
            # once. But if this function has created the future, the future may not be complete yet.
            if called.owner != FUTURE or _is_created_here(node.func, scope):
                return short(node.func)
    return ""


def _is_created_here(method: ast.expr, scope: Scope) -> bool:
    """Return True if this function itself has created the future whose method it calls.

    Only then can the method `result` wait: a future that was passed to the callback is complete.
    """
    future = method.value if isinstance(method, ast.Attribute) else None
    if isinstance(future, ast.Name):
        return scope.binding_scope(future.id) is scope
    return isinstance(future, ast.Call)
