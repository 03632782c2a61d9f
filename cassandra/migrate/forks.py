"""Clusters and sessions that a program uses in forks of the process that made them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from cassandra.migrate.facts import Noticed, short
from cassandra.migrate.scopes import (
    CLUSTER,
    EXECUTOR,
    POOL,
    SESSION,
    Binding,
    Instance,
    Method,
    Named,
    Own,
    Scope,
    Scopes,
    Value,
    own_nodes,
)

FORK = "fork"

PROCESSES = {
    "multiprocessing.Process",
    "multiprocessing.context.ForkProcess",
    "multiprocessing.context.Process",
}
# The first argument of these is called in another process.
STARTS = {
    POOL: (
        "apply", "apply_async", "imap", "imap_unordered", "map", "map_async", "starmap",
        "starmap_async",
    ),
    EXECUTOR: ("map", "submit"),
}  # fmt: skip
FUNCTION = ("target", "func", "fn", "initializer")
# What a child may do with the cluster of its parent: nothing happens then.
HARMLESS = {"shutdown", "is_shutdown"}


def in_call(node: ast.Call, called: Value, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a call that starts a process which uses a cluster or session of its parent.

    :param node: the call.
    :param called: the called name.
    :param scopes: the file's scopes.
    :param scope: the scope of the call.
    """
    functions = [word.value for word in node.keywords if word.arg in FUNCTION]
    if isinstance(called, Named) and called.name in PROCESSES:
        functions += node.args[1:2]
        for word in node.keywords:
            given = word.value.elts if isinstance(word.value, (ast.Tuple, ast.List)) else []
            if word.arg == "args" and any(_is_shared(scopes.value(one, scope)) for one in given):
                yield Noticed(node, False, FORK, f"Process(args={short(word.value)})")
                return
    elif isinstance(called, Method) and called.name in STARTS.get(called.owner, ()):
        functions += node.args[:1]
    else:
        # The `initializer` of a pool is called in each process.
        made = scopes.value(node, scope)
        if not isinstance(made, Instance) or made.owner not in STARTS:
            return
    name = ast.unparse(node.func).rpartition(".")[2]
    for one in functions:
        function = scopes.value(one, scope)
        used = _used_by(function, scopes) if isinstance(function, Own) else ""
        if used:
            start = "target=" if name == "Process" else ""
            yield Noticed(node, False, FORK, f"{name}({start}{short(one)}), which uses {used}")
            return


def in_class(node: ast.ClassDef, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a class of processes that use a cluster or session of their parent.

    :param node: the class.
    :param scopes: the file's scopes.
    :param scope: the scope that it stands in.
    """
    kinds = [scopes.value(base, scope) for base in node.bases]
    if not any(isinstance(one, Named) and one.name in PROCESSES for one in kinds):
        return
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "run":
            used = _used_by(Own(method), scopes)
            if used:
                yield Noticed(node, False, FORK, f"class {node.name}(Process), which uses {used}")


def in_if(node: ast.If, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield the uses of a cluster or session in the child of an ``os.fork``.

    :param node: the ``if`` that tells parent and child apart.
    :param scopes: the file's scopes.
    :param scope: its scope.
    """
    test = node.test
    is_child = False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, is_child = test.operand, True
    elif isinstance(test, ast.Compare) and ast.unparse(test.comparators[0]) == "0":
        is_child = isinstance(test.ops[0], ast.Eq)
        test = test.left
    if not _is_fork(test, scopes, scope):
        return
    body = node.body if is_child else node.orelse
    nodes = [one for statement in body for one in ast.walk(statement)]
    stored = {one.id for one in nodes if isinstance(one, ast.Name) and _is_stored(one)}
    for name, _ in _uses(nodes, scopes, scope):
        if name not in stored:
            yield Noticed(node, False, FORK, f"os.fork(), whose child uses {name}")
            return


def _is_fork(test: ast.expr, scopes: Scopes, scope: Scope) -> bool:
    if isinstance(test, ast.NamedExpr):
        test = test.value
    if isinstance(test, ast.Name):
        holder = scope.holder(test.id)
        bindings = holder.bindings[test.id] if holder is not None else []
        return bool(bindings) and all(
            isinstance(one.node, ast.Call) and _is_fork(one.node, scopes, one.scope)
            for one in bindings
        )
    called = scopes.value(test.func, scope) if isinstance(test, ast.Call) else None
    return isinstance(called, Named) and called.name == "os.fork"


def _used_by(function: Own, scopes: Scopes) -> str:
    """Return the first cluster or session that a function has from the process before the fork."""
    if isinstance(function.node, ast.ClassDef):
        return ""
    inner = scopes.by_node[function.node]
    for name, bindings in _uses(list(own_nodes(function.node)), scopes, inner):
        # Made when the module was read, or with the object: not by a function that may be called in
        # the child.
        if name not in inner.globals and all(
            one.scope is scopes.root or getattr(one.scope.node, "name", "") == "__init__"
            for one in bindings
        ):
            return name
    return ""


def _uses(
    nodes: Iterable[ast.AST], scopes: Scopes, scope: Scope
) -> Iterator[tuple[str, list[Binding]]]:
    """Yield the clusters and sessions that nodes name, and how these get their values."""
    nodes = list(nodes)
    harmless = {
        id(one.value) for one in nodes if isinstance(one, ast.Attribute) and one.attr in HARMLESS
    }
    owner = scope.of_class()
    for one in nodes:
        if id(one) in harmless or not isinstance(one, (ast.Name, ast.Attribute)):
            continue
        if isinstance(one, ast.Name):
            holder = scope.holder(one.id)
            bindings = holder.bindings[one.id] if holder is not None else []
        elif isinstance(one.value, ast.Name) and one.value.id == "self" and owner is not None:
            bindings = owner.attributes.get(one.attr, [])
        else:
            continue
        if not _is_stored(one) and _is_shared(scopes.value(one, scope)):
            yield ast.unparse(one), [given for given in bindings if not given.is_none()]


def _is_shared(value: Value) -> bool:
    return isinstance(value, Instance) and value.owner in (CLUSTER, SESSION)


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)
