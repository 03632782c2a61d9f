"""Finds code in which a forked child process uses a cluster or session of its parent.

The connections of a cluster only work in the process that has created the cluster.
"""

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
    Scope,
    Scopes,
    UserDefined,
    Value,
    own_nodes,
)

FORK = "fork"  # the value of `Noticed.kind`

# Names of the class `Process`. Its constructor gets a function that runs in a child process.
PROCESSES = {
    "multiprocessing.Process",
    "multiprocessing.context.ForkProcess",
    "multiprocessing.context.Process",
}
# The methods whose first argument is a function that runs in another process, by their class.
STARTS = {
    POOL: (
        "apply", "apply_async", "imap", "imap_unordered", "map", "map_async", "starmap",
        "starmap_async",
    ),
    EXECUTOR: ("map", "submit"),
}  # fmt: skip
# The keyword arguments whose value is a function that is run in another process.
FUNCTION = ("target", "func", "fn", "initializer")
# The attributes of a cluster or session that a child process may use, although its parent has
# created the object.
HARMLESS = {"shutdown", "is_shutdown"}


def in_call(node: ast.Call, called: Value, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a `Noticed` if a call starts a process that uses its parent's cluster or session.

    :param node: the call.
    :param called: the value of the called expression.
    :param scopes: the file's scopes.
    :param scope: the scope of the call.
    """
    # Collect the functions that this call runs in another process.
    functions_to_run = [keyword.value for keyword in node.keywords if keyword.arg in FUNCTION]
    if isinstance(called, Named) and called.name in PROCESSES:
        # The signature is Process(group, target, ...): the function is the second argument.
        functions_to_run += node.args[1:2]
        for keyword in node.keywords:
            if keyword.arg != "args" or not isinstance(keyword.value, (ast.Tuple, ast.List)):
                continue
            passed_values = [scopes.value(argument, scope) for argument in keyword.value.elts]
            if any(map(_is_shared, passed_values)):
                yield Noticed(
                    node, is_guarded=False, kind=FORK, code=f"Process(args={short(keyword.value)})"
                )
                return
    elif isinstance(called, Method) and called.name in STARTS.get(called.owner, ()):
        # The methods of pools and executors get the function to run as their first argument.
        functions_to_run += node.args[:1]
    else:
        # The call may create a pool, whose `initializer` is called in each process of the pool.
        instance = scopes.value(node, scope)
        if not isinstance(instance, Instance) or instance.owner not in STARTS:
            return
    called_name = ast.unparse(node.func).rpartition(".")[2]
    for argument in functions_to_run:
        function_value = scopes.value(argument, scope)
        if not isinstance(function_value, UserDefined):
            continue
        used_name = _used_by(function_value, scopes)
        if used_name:
            start = "target=" if called_name == "Process" else ""
            yield Noticed(
                node,
                is_guarded=False,
                kind=FORK,
                code=f"{called_name}({start}{short(argument)}), which uses {used_name}",
            )
            return


def in_class(node: ast.ClassDef, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a `Noticed` for a subclass of Process that uses its parent's cluster or session.

    The method `run` of the subclass, which is executed in the child process, is searched for names
    of clusters and sessions.

    :param node: the class.
    :param scopes: the file's scopes.
    :param scope: the scope that contains the class.
    """
    bases = [scopes.value(base, scope) for base in node.bases]
    if not any(isinstance(base, Named) and base.name in PROCESSES for base in bases):
        return
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "run":
            used_name = _used_by(UserDefined(method), scopes)
            if used_name:
                yield Noticed(
                    node,
                    is_guarded=False,
                    kind=FORK,
                    code=f"class {node.name}(Process), which uses {used_name}",
                )


def in_if(node: ast.If, scopes: Scopes, scope: Scope) -> Iterator[Noticed]:
    """Yield a `Noticed` if the child of ``os.fork`` uses its parent's cluster or session.

    :param node: an ``if`` statement, which may test the result of ``os.fork`` (0 means that this
        process is the child).
    :param scopes: the file's scopes.
    :param scope: the scope of the ``if``.
    """
    # Find out which branch the child executes: `if not pid`, `if pid == 0`, or the `else` of `if
    # pid`.
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
    branch_nodes = [branch_node for statement in body for branch_node in ast.walk(statement)]
    assigned_names = {
        branch_node.id
        for branch_node in branch_nodes
        if isinstance(branch_node, ast.Name) and _is_stored(branch_node)
    }
    for name, _ in _uses(branch_nodes, scopes, scope):
        # A name to which the child assigns does not refer to the parent's object any more.
        if name not in assigned_names:
            yield Noticed(
                node, is_guarded=False, kind=FORK, code=f"os.fork(), whose child uses {name}"
            )
            return


def _is_fork(test: ast.expr, scopes: Scopes, scope: Scope) -> bool:
    """Return True if an expression is a call of ``os.fork``, or a name for its result."""
    if isinstance(test, ast.NamedExpr):  # (pid := os.fork())
        test = test.value
    if isinstance(test, ast.Name):
        owner_scope = scope.binding_scope(test.id)
        bindings = owner_scope.bindings[test.id] if owner_scope is not None else []
        return bool(bindings) and all(
            isinstance(binding.node, ast.Call) and _is_fork(binding.node, scopes, binding.scope)
            for binding in bindings
        )
    called = scopes.value(test.func, scope) if isinstance(test, ast.Call) else None
    return isinstance(called, Named) and called.name == "os.fork"


def _used_by(function: UserDefined, scopes: Scopes) -> str:
    """Return the name of a cluster or session of the parent process that a function uses.

    Return "" if the function uses no such object.
    """
    # A class may also be called in the child process. We do not examine its constructor.
    if isinstance(function.node, ast.ClassDef):
        return ""
    function_scope = scopes.by_node[function.node]
    for name, bindings in _uses(list(own_nodes(function.node)), scopes, function_scope):
        # Report only objects that are created in the module or in `__init__`, because this code has
        # run before the fork. Any other function may also be called in the child process, and then
        # creates a separate object there.
        if name not in function_scope.globals and all(
            binding.scope is scopes.root or getattr(binding.scope.node, "name", "") == "__init__"
            for binding in bindings
        ):
            return name
    return ""


def _uses(
    nodes: Iterable[ast.AST], scopes: Scopes, scope: Scope
) -> Iterator[tuple[str, list[Binding]]]:
    """Yield (name, bindings) for each cluster and session that the nodes use."""
    nodes = list(nodes)
    harmless = {
        id(attribute.value)
        for attribute in nodes
        if isinstance(attribute, ast.Attribute) and attribute.attr in HARMLESS
    }
    # Look up the bindings of each name, and of each attribute of `self`.
    owner = scope.of_class()
    for node in nodes:
        if id(node) in harmless or not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        if isinstance(node, ast.Name):
            owner_scope = scope.binding_scope(node.id)
            bindings = owner_scope.bindings[node.id] if owner_scope is not None else []
        elif isinstance(node.value, ast.Name) and node.value.id == "self" and owner is not None:
            bindings = owner.attributes.get(node.attr, [])
        else:
            continue
        if not _is_stored(node) and _is_shared(scopes.value(node, scope)):
            yield ast.unparse(node), [binding for binding in bindings if not binding.is_none()]


def _is_shared(value: Value) -> bool:
    """Return True for a cluster or session, which a child process must not use."""
    return isinstance(value, Instance) and value.owner in (CLUSTER, SESSION)


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    """Return True if the code assigns or deletes the name or attribute, and does not read it."""
    return not isinstance(node.ctx, ast.Load)
