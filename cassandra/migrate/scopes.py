"""Finds out which names of a file are imported from the driver, or refer to objects of the driver.

`Scopes` collects the bindings of all names by scope: assignments, imports, parameters, loops and so
on. Its method `value` returns what an expression stands for: a `Named`, `Instance`, `Method` or
`UserDefined`, or None if that is not known. If a name has several bindings, its value is only known
if all bindings have the same value. Bindings to None are ignored. We never guess.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from cassandra.migrate import names

# The classes whose objects we follow through the application's code.
CLUSTER = "cassandra.cluster.Cluster"
SESSION = "cassandra.cluster.Session"
FUTURE = "cassandra.cluster.ResponseFuture"
PREPARED = "cassandra.query.PreparedStatement"
# `Instance.owner` is the name of a class, which may have one of the prefixes below. LIVE marks an
# object that the application has got from the driver's metadata, and has not created itself.
LIVE = "live "
METADATA = LIVE + "cassandra.metadata.Metadata"
KEYSPACE = LIVE + "cassandra.metadata.KeyspaceMetadata"
TABLE = LIVE + "cassandra.metadata.TableMetadata"
HOST = LIVE + "cassandra.pool.Host"
MAPPING = "mapping of "  # a mapping whose values are objects of the class that follows
EACH = "each of "  # an iterable of objects of the class that follows
PAIRS = "pairs of "  # an iterable of (key, object of the class that follows)
# Classes that start processes.
POOL = "multiprocessing.pool.Pool"
EXECUTOR = "concurrent.futures.ProcessPoolExecutor"

# RETURNED maps (class, method) to the class of the object that the method returns. HELD maps
# (class, attribute) to the class of the attribute's value.
RETURNED = {
    (CLUSTER, "connect"): SESSION,
    (CLUSTER, "__enter__"): CLUSTER,
    (SESSION, "__enter__"): SESSION,
    (SESSION, "execute"): "cassandra.cluster.ResultSet",
    (SESSION, "execute_async"): FUTURE,
    (SESSION, "prepare"): PREPARED,
    (PREPARED, "bind"): "cassandra.query.BoundStatement",
    (FUTURE, "result"): "cassandra.cluster.ResultSet",
    (METADATA, "get_host"): HOST,
    (METADATA, "all_hosts"): EACH + HOST,
    (POOL, "__enter__"): POOL,
    (EXECUTOR, "__enter__"): EXECUTOR,
} | {
    (MAPPING + kind, method): returned
    for kind in (KEYSPACE, TABLE)
    for method, returned in (("get", kind), ("values", EACH + kind), ("items", PAIRS + kind))
}
HELD = {
    (CLUSTER, "metadata"): METADATA,
    (SESSION, "cluster"): CLUSTER,
    (METADATA, "keyspaces"): MAPPING + KEYSPACE,
    (KEYSPACE, "tables"): MAPPING + TABLE,
    (KEYSPACE, "user_types"): MAPPING,
    (KEYSPACE, "functions"): MAPPING,
    (KEYSPACE, "aggregates"): MAPPING,
    (KEYSPACE, "views"): MAPPING,
    (KEYSPACE, "indexes"): MAPPING,
    (TABLE, "columns"): MAPPING,
    (TABLE, "indexes"): MAPPING,
}
# Classes of the standard library whose objects are also represented by an `Instance`. The key is a
# public name of the class, and the value is the name in `Instance.owner`.
OTHERS = {
    "multiprocessing.Pool": POOL,
    POOL: POOL,
    EXECUTOR: EXECUTOR,
    "concurrent.futures.process.ProcessPoolExecutor": EXECUTOR,
}
# Builtin functions that return an iterable over the elements of their argument.
PASSES_ON = {"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"}


@dataclass(frozen=True)
class Named:
    """A module, class or function that was imported, or is an attribute of an imported object.

    :param name: the full, dotted name.
    """

    name: str


@dataclass(frozen=True)
class Instance:
    """An object of a class of the driver, or of a class derived from it.

    :param owner: the class of the driver, possibly with prefixes such as `MAPPING`.
    :param user_class: the application's class, if the object's class is derived from `owner`;
        otherwise None.
    """

    owner: str
    user_class: ast.ClassDef | None = None


@dataclass(frozen=True)
class Method:
    """A method of an object of the driver. `owner` is the object's class, as in `Instance`."""

    owner: str
    name: str


@dataclass(frozen=True)
class UserDefined:
    """A function or class that the file defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


# What an expression stands for; None if that is not known.
Value = Named | Instance | Method | UserDefined | None
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Binding:
    """Code that binds a name to a value: an assignment, an import, a parameter and so on.

    :param kind: how the name's value follows from `node`. ``value``: it is the value of the
        expression. ``annotation``: it is an object of the annotated class. ``context``: it is the
        result of entering the expression by ``with``. ``each``: it is an element of the iterated
        expression. ``second``: it is the second item of such an element. ``own``: it is the defined
        function or class. ``name``: it is the imported `name`. ``unknown``: the value is not known.
    :param scope: the scope of the expression.
    :param node: the expression or definition.
    :param name: the imported name.
    :param default: the default value of a parameter.
    """

    kind: str
    scope: Scope
    node: ast.AST | None = None
    name: str = ""
    default: ast.expr | None = None

    def is_none(self) -> bool:
        """Return True if this binding assigns None.

        Such bindings are ignored, because None is often only the initial value of a name.
        """
        return self.kind == "value" and _is_none_expression(self.node)


@dataclass
class Scope:
    """The scope of names in a module, class or function.

    :param node: the syntax node of the module, class or function.
    :param parent: the enclosing scope; None for a module.
    :param bindings: the bindings in this scope, by name.
    :param attributes: for a class, the bindings of attributes of ``self``, by name.
    :param globals: the names that ``global`` declares in this scope.
    """

    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)

    def module(self) -> Scope:
        """Return the scope of the module that contains this scope."""
        return self if self.parent is None else self.parent.module()

    def of_class(self) -> Scope | None:
        """Return the scope of the innermost class around this scope; None if there is none."""
        scope: Scope | None = self
        while scope is not None and not isinstance(scope.node, ast.ClassDef):
            scope = scope.parent
        return scope

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding of a name.

        If the name is declared ``global``, add it to the module's scope.

        :param name: the name.
        :param binding: the new binding.
        """
        scope = self.module() if name in self.globals else self
        scope.bindings.setdefault(name, []).append(binding)

    def binding_scope(self, name: str) -> Scope | None:
        """Return the scope that binds a name which is used in this scope.

        Return None if no scope binds the name.
        """
        scope: Scope | None = self
        while scope is not None:
            # If a function of a class uses the name, skip the scope of the class: functions do not
            # see the names of the class body.
            if name in scope.bindings and (scope is self or not _is_class(scope)):
                return scope
            scope = scope.parent
        return None


def _is_class(scope: Scope) -> bool:
    return isinstance(scope.node, ast.ClassDef)


class Scopes(ast.NodeVisitor):
    """All scopes of a file, with the bindings of their names.

    :param tree: the file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.root = Scope(tree, None)
        self.by_node: dict[ast.AST, Scope] = {tree: self.root}
        self._scope = self.root  # the scope of the node that is visited
        # The names whose values are being computed, as (id of the scope, name), to detect
        # recursion.
        self._in_progress: set[tuple[int, str]] = set()
        self.visit(tree)

    # Bindings.

    def _unknown(self) -> Binding:
        return Binding("unknown", self._scope)

    def _bind_target(self, target: ast.expr, binding: Binding) -> None:
        """Add a binding to the target of an assignment.

        A target is a name, an attribute of ``self``, or a tuple or list of targets.
        """
        if isinstance(target, ast.Name):
            self._scope.bind(target.id, binding)
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, self._unknown())
        # For a tuple or list of targets, the items of the assigned value are not known.
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._bind_target(element, self._unknown())
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            owner = self._scope.of_class()
            if owner is not None and target.value.id in ("self", "cls"):
                owner.attributes.setdefault(target.attr, []).append(binding)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind the targets of an assignment."""
        for target in node.targets:
            if (
                isinstance(target, ast.Tuple)
                and isinstance(node.value, ast.Tuple)
                and len(target.elts) == len(node.value.elts)
            ):
                for element, value in zip(target.elts, node.value.elts, strict=True):
                    self._bind_target(element, Binding("value", self._scope, value))
            else:
                self._bind_target(target, Binding("value", self._scope, node.value))
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Bind the target of an annotated assignment."""
        if node.value is not None:
            self._bind_target(node.target, Binding("value", self._scope, node.value))
        else:
            self._bind_target(node.target, Binding("annotation", self._scope, node.annotation))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Bind the target of ``+=``, ``-=`` and so on to an unknown value."""
        self._bind_target(node.target, self._unknown())
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Bind the name of a ``:=``."""
        self._bind_target(node.target, Binding("value", self._scope, node.value))
        self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """Bind the names of a loop."""
        self._bind_each(node.target, node.iter)
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Bind the names of a comprehension in the surrounding scope, for simplicity."""
        self._bind_each(node.target, node.iter)
        self.generic_visit(node)

    def _bind_each(self, target: ast.expr, iterated: ast.expr) -> None:
        """Bind the target of a loop.

        Two names, as in ``for a, b in ...``, get the items of pairs.
        """
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            self._bind_target(target, Binding("each", self._scope, iterated))
            return
        first_target, second_target = target.elts
        self._bind_target(first_target, self._unknown())
        if isinstance(iterated, ast.Call) and getattr(iterated.func, "id", "") == "enumerate":
            self._bind_each(second_target, iterated.args[0] if iterated.args else iterated)
        else:
            # The iterable yields pairs, like `dict.items()`. We may know the class of the second
            # item.
            self._bind_target(second_target, Binding("second", self._scope, iterated))

    def visit_withitem(self, node: ast.withitem) -> None:
        """Bind the name of a ``with``."""
        if node.optional_vars is not None:
            self._bind_target(
                node.optional_vars, Binding("context", self._scope, node.context_expr)
            )
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Bind the name of the caught error to an unknown value."""
        if node.name:
            self._scope.bind(node.name, self._unknown())
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        """Record the names that ``global`` declares: they are bound in the module's scope."""
        self._scope.globals.update(node.names)

    def visit_Import(self, node: ast.Import) -> None:
        """Bind imported modules."""
        for alias in node.names:
            if alias.asname:
                self._scope.bind(alias.asname, Binding("name", self._scope, name=alias.name))
            else:
                top_package = alias.name.partition(".")[0]
                # ``import a.b`` binds ``a``.
                self._scope.bind(top_package, Binding("name", self._scope, name=top_package))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind imported names."""
        for alias in node.names:
            bound_name = alias.asname or alias.name
            if node.level or not node.module:  # from the application's own package
                self._scope.bind(bound_name, self._unknown())
            elif alias.name == "*":
                for name in names.public(node.module):
                    self._scope.bind(
                        name, Binding("name", self._scope, name=f"{node.module}.{name}")
                    )
            else:
                name = f"{node.module}.{alias.name}"
                self._scope.bind(bound_name, Binding("name", self._scope, name=name))

    # Scopes.

    def _enter(self, node: ast.AST) -> Scope:
        scope = Scope(node, self._scope)
        self.by_node[node] = scope
        return scope

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Bind the class, and the names in its body."""
        self._scope.bind(node.name, Binding("own", self._scope, node))
        self._visit_in_scope(self._enter(node), node.body)
        for part in [*node.bases, *node.keywords, *node.decorator_list]:
            self.visit(part)

    def visit_FunctionDef(self, node: Function) -> None:
        """Bind the function, its parameters and the names in its body."""
        is_decorated = bool(node.decorator_list)
        # A decorator may replace the function by any other object.
        binding = self._unknown() if is_decorated else Binding("own", self._scope, node)
        self._scope.bind(node.name, binding)
        scope = self._enter(node)
        self._bind_parameters(scope, node.args)
        self._visit_in_scope(scope, node.body)
        for part in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
            if part is not None:
                self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Bind the parameters of a lambda."""
        scope = self._enter(node)
        self._bind_parameters(scope, node.args)
        self._visit_in_scope(scope, [node.body])

    def _bind_parameters(self, scope: Scope, arguments: ast.arguments) -> None:
        """Bind the parameters of a function in its scope."""
        by_position = [*arguments.posonlyargs, *arguments.args]
        required_count = len(by_position) - len(arguments.defaults)
        # Only the last parameters have defaults.
        defaults = [*[None] * required_count, *arguments.defaults, *arguments.kw_defaults]
        for parameter, default in zip([*by_position, *arguments.kwonlyargs], defaults, strict=True):
            binding = Binding("unknown", scope, default=default)
            if parameter.annotation is not None:
                # An annotation is evaluated in the scope around the function, not in the function's
                # scope.
                binding = Binding("annotation", self._scope, parameter.annotation, default=default)
            scope.bind(parameter.arg, binding)
        for variadic in (arguments.vararg, arguments.kwarg):
            if variadic is not None:
                scope.bind(variadic.arg, Binding("unknown", scope))

    def _visit_in_scope(self, scope: Scope, body: list[ast.stmt] | list[ast.expr]) -> None:
        outer, self._scope = self._scope, scope
        for node in body:
            self.visit(node)
        self._scope = outer

    # Values.

    def value(self, node: ast.AST | None, scope: Scope) -> Value:
        """Return the value of an expression if it has to do with the driver.

        Return None for any other value, and for a value that is not known.

        :param node: the expression.
        :param scope: the scope that contains the expression.
        """
        if isinstance(node, ast.Name):
            owner_scope = scope.binding_scope(node.id)
            if owner_scope is None:
                return None
            return self._common_value(owner_scope.bindings[node.id], owner_scope, node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope)
        if isinstance(node, ast.Call):
            return self._call_result(node, scope)
        if isinstance(node, ast.Subscript):
            base = self.value(node.value, scope)
            # For mapping["key"] or sequence[0], return an element of the container.
            return self._element_of(base, MAPPING if not _is_number(node.slice) else EACH)
        if isinstance(node, ast.Lambda):
            return UserDefined(node)
        return None

    def constant(self, node: ast.expr, scope: Scope) -> ast.expr:
        """Return the constant that a name stands for; return any other expression unchanged.

        The name must have a single binding: to a constant, or as a parameter with a constant
        default.

        :param node: the expression.
        :param scope: the scope that contains the expression.
        """
        owner_scope = scope.binding_scope(node.id) if isinstance(node, ast.Name) else None
        if owner_scope is None or not isinstance(node, ast.Name):
            return node
        first_binding, *other_bindings = owner_scope.bindings[node.id]
        default = first_binding.node if first_binding.kind == "value" else first_binding.default
        return default if isinstance(default, ast.Constant) and not other_bindings else node

    def _common_value(self, bindings: list[Binding], owner_scope: Scope, name: str) -> Value:
        """Return the value of a name, if all its bindings have the same value; otherwise None.

        Bindings to None do not count.
        """
        # The value of a name may depend on the name itself, as in ``x = x.parent``. If the name's
        # value is being computed already, return None to end the recursion.
        key = (id(owner_scope), name)
        if key in self._in_progress:
            return None
        self._in_progress.add(key)
        try:
            values: list[Value] = [
                self._bound_value(binding) for binding in bindings if not binding.is_none()
            ]
        finally:
            self._in_progress.discard(key)
        return values[0] if values and all(value == values[0] for value in values) else None

    def _bound_value(self, binding: Binding) -> Value:
        """Return the value that a binding gives to its name; see `Binding.kind`."""
        if binding.kind == "name":
            return Named(binding.name)
        if binding.kind == "own":
            return UserDefined(binding.node)  # type: ignore[arg-type]
        if binding.kind == "value":
            return self.value(binding.node, binding.scope)
        if binding.kind == "context":
            # `__enter__` of the classes in RETURNED returns the object itself, unless an
            # application's subclass overrides this method.
            entered_object = self.value(binding.node, binding.scope)
            is_same = (
                isinstance(entered_object, Instance)
                and RETURNED.get((entered_object.owner, "__enter__")) == entered_object.owner
                and not self._user_bindings(entered_object, "__enter__")[0]
            )
            return entered_object if is_same else None
        if binding.kind == "each":
            return self._element_of(self.value(binding.node, binding.scope), EACH)
        if binding.kind == "second":
            return self._element_of(self.value(binding.node, binding.scope), PAIRS)
        if binding.kind == "annotation":
            return self._annotated_object(binding.node, binding.scope)
        return None

    def _annotated_object(self, node: ast.AST | None, scope: Scope) -> Value:
        """Return an object of the annotated class, also for "X", X | None and Optional[X]."""
        # Parse an annotation that is a string.
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            # ``X | None`` means X. For any other union, we do not know which class it is.
            sides = [side for side in (node.left, node.right) if not _is_none_expression(side)]
            return self._annotated_object(sides[0], scope) if len(sides) == 1 else None
        if isinstance(node, ast.Subscript):
            generic = self.value(node.value, scope)
            is_optional = isinstance(generic, Named) and generic.name == "typing.Optional"
            return self._annotated_object(node.slice, scope) if is_optional else None
        return self._instance_of(self.value(node, scope))

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        """Return the value of an attribute expression."""
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            owner = scope.of_class()
            if owner is not None and isinstance(owner.node, ast.ClassDef):
                bindings = owner.attributes.get(node.attr, []) + owner.bindings.get(node.attr, [])
                if bindings:
                    return self._common_value(bindings, owner, f"self.{node.attr}")
                # The class does not define the attribute, but may inherit it from the driver.
                return self._attribute_of(self.self_of(scope), node.attr)
        base = self.value(node.value, scope)
        if isinstance(base, Named):
            return Named(f"{base.name}.{node.attr}")
        return self._attribute_of(base, node.attr)

    def _attribute_of(self, base: Value, name: str) -> Value:
        """Return the value of an attribute of an object."""
        if not isinstance(base, Instance):
            return None
        bindings, owner_scope = self._user_bindings(base, name)
        if owner_scope is not None:
            return self._common_value(bindings, owner_scope, f"self.{name}")
        # The attribute is defined by the driver's class. If HELD has it, its value is an object of
        # another driver class, as for `session.cluster`. Treat any other attribute as a method.
        owner = HELD.get((base.owner, name))
        return Instance(owner) if owner is not None else Method(base.owner, name)

    def _user_bindings(self, base: Instance, name: str) -> tuple[list[Binding], Scope | None]:
        """Return (bindings, scope) of an attribute that an application's class defines.

        Return ([], None) if none of the application's classes of the object defines the attribute.
        """
        for cls in self.ancestry(base.user_class):
            scope = self.by_node[cls]
            bindings = scope.attributes.get(name, []) + scope.bindings.get(name, [])
            if bindings:
                return bindings, scope
        return [], None

    def _instance_of(self, cls: Value) -> Value:
        """Return the value of an object of class `cls`; None if we do not know the class."""
        if isinstance(cls, UserDefined) and isinstance(cls.node, ast.ClassDef):
            bases = set(self.bases(cls.node))
            # "" stands for a base that we do not know.
            return Instance(bases.pop(), cls.node) if len(bases) == 1 and "" not in bases else None
        if isinstance(cls, Named) and cls.name in OTHERS:
            return Instance(OTHERS[cls.name])
        if not isinstance(cls, Named) or not names.is_ours(cls.name):
            return None
        return Instance(names.home(cls.name)) if isinstance(names.find(cls.name), type) else None

    def self_of(self, scope: Scope) -> Value:
        """Return the value of ``self`` in a method.

        Return None if the method's class is not derived from a class of the driver.

        :param scope: the scope of the method.
        """
        owner = scope.of_class()
        if owner is None or not isinstance(owner.node, ast.ClassDef):
            return None
        return self._instance_of(UserDefined(owner.node))

    def bases(self, node: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        """Yield the classes of the driver that an application's class is derived from.

        Yield "" for each base that we do not know.

        :param node: the application's class.
        :param depth: the number of recursive calls so far: how many classes of the application were
            followed to reach this class.
        """
        for base in node.bases:
            base_value = self.value(base, self.by_node[node].parent or self.root)
            if isinstance(base_value, Named) and names.is_ours(base_value.name):
                yield names.home(base_value.name)
            elif (
                isinstance(base_value, UserDefined)
                and isinstance(base_value.node, ast.ClassDef)
                # Limit the depth: in faulty code, classes may be derived from each other in a
                # circle.
                and depth < 20
            ):
                yield from self.bases(base_value.node, depth + 1)
            elif not isinstance(base, ast.Name) or base.id != "object":
                yield ""

    def ancestry(self, node: ast.ClassDef | None) -> list[ast.ClassDef]:
        """Return an application's class and its ancestors in the application, the nearest first.

        :param node: the class.
        """
        ancestors: list[ast.ClassDef] = []
        pending = [node] if node is not None else []
        while pending:
            cls = pending.pop(0)
            # A class may be reached in several ways. In faulty code, it may even be its own base.
            if cls in ancestors:
                continue
            ancestors.append(cls)
            for base in cls.bases:
                base_value = self.value(base, self.by_node[cls].parent or self.root)
                base_node = base_value.node if isinstance(base_value, UserDefined) else None
                if isinstance(base_node, ast.ClassDef):
                    pending.append(base_node)
        return ancestors

    def _element_of(self, container: Value, prefix: str) -> Value:
        """Return an element of a mapping or iterable.

        :param prefix: the prefix that `container` must have: `MAPPING`, `EACH` or `PAIRS`.
        """
        if not isinstance(container, Instance) or not container.owner.startswith(prefix):
            return None
        element_class = container.owner.removeprefix(prefix)
        return Instance(element_class) if element_class else None

    def _call_result(self, node: ast.Call, scope: Scope) -> Value:
        """Return the value of a call's result, as far as we can infer it; otherwise None."""
        called = self.value(node.func, scope)
        if isinstance(node.func, ast.Name) and called is None:
            return self._builtin_result(node, node.func.id, scope)
        if not isinstance(called, Named):
            return self._result_of_callable(called)
        if called.name == "functools.partial":
            # If the partial has arguments of its own, the positions of other arguments change. So
            # treat it like its function only if it has none.
            return self.value(node.args[0], scope) if len(node.args) == 1 else None
        if called.name == "multiprocessing.get_context":
            method_arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            # Only forked processes have copies of their parent's objects, so only the start method
            # "fork" matters.
            is_fork = not method_arguments or getattr(method_arguments[0], "value", "") == "fork"
            return Named("multiprocessing") if is_fork else None
        instance = self._instance_of(called)
        if isinstance(instance, Instance) and instance.owner == EXECUTOR:
            for keyword in node.keywords:
                # If the executor has another context than one for forks, or a limit of tasks per
                # child, it may start new interpreters instead of forks.
                if keyword.arg == "max_tasks_per_child" or (
                    keyword.arg == "mp_context" and self.value(keyword.value, scope) is None
                ):
                    return None
        return instance

    def _builtin_result(self, node: ast.Call, name: str, scope: Scope) -> Value:
        """Return the value of the result of a builtin function, such as super() or next()."""
        # If a scope binds the name, it does not refer to the builtin function.
        if scope.binding_scope(name) is not None:
            return None
        if name == "super":
            return self._super(scope)
        argument = self.value(node.args[0], scope) if node.args else None
        if isinstance(argument, Instance) and argument.owner.startswith((EACH, PAIRS)):
            if name in PASSES_ON:
                return argument
            if name == "next":
                return self._element_of(argument, EACH)
        return None

    def _super(self, scope: Scope) -> Value:
        """Return the value of ``super()``.

        The value is like ``self``, but its attributes are looked up in the next class of the
        inheritance chain: an application's class, or else the driver's class.
        """
        instance = self.self_of(scope)
        if not isinstance(instance, Instance):
            return None
        # The first class of the ancestry is the class of `self`.
        next_classes = self.ancestry(instance.user_class)[1:]
        return Instance(instance.owner, next_classes[0] if next_classes else None)

    def _result_of_callable(self, called: Value) -> Value:
        """Return the value of a call's result, as far as we can infer it; otherwise None.

        :param called: a method of the driver, or a function or class of the application.
        """
        if isinstance(called, Method):
            returned_class = RETURNED.get((called.owner, called.name))
            return Instance(returned_class) if returned_class is not None else None
        if isinstance(called, UserDefined) and isinstance(called.node, ast.FunctionDef):
            return self._result_of_function(called.node)
        return self._instance_of(called)

    def _result_of_function(self, node: ast.FunctionDef) -> Value:
        """Return the value of a function's result, if each ``return`` has the same value.

        Otherwise None.
        """
        scope = self.by_node[node]
        nodes = list(own_nodes(node))
        # Calling a generator function returns a generator instead of the value of ``return``.
        if any(isinstance(child, (ast.Yield, ast.YieldFrom)) for child in nodes):
            return None
        bindings = [
            Binding("value", scope, child.value) for child in nodes if isinstance(child, ast.Return)
        ]
        return self._common_value(bindings, scope, "return")


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in a function, without the nodes of nested functions and classes.

    :param node: the function.
    """
    pending: list[ast.AST] = [node]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        pending = [*node.body]
    elif isinstance(node, ast.Lambda):
        pending = [node.body]
    while pending:
        child = pending.pop(0)
        yield child
        # Yield the definition of a nested function or class, but do not search its body.
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(child))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_none_expression(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
