"""Walks through the syntax tree of a file, and collects facts about its use of the driver.

The facts are objects of the classes in `facts`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from cassandra.migrate import forks, names, noticed
from cassandra.migrate.facts import (
    Attribute,
    Call,
    ClassAttribute,
    Derived,
    Fact,
    Module,
    Name,
    Program,
    Stored,
    Text,
)
from cassandra.migrate.literals import arguments
from cassandra.migrate.scopes import (
    LIVE,
    Function,
    Instance,
    Method,
    Named,
    Scope,
    Scopes,
    UserDefined,
    Value,
)

COLUMNS = "cassandra.cqlengine.columns"  # the module of the mapper's column classes
# The errors that code must handle so that it can cope with a missing module (SAVES_IMPORTS), a
# missing attribute (SAVES_NAMES), or a distribution that is not installed (SAVES_VERSIONS).
SAVES_IMPORTS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
SAVES_NAMES = {"AttributeError", "Exception", "BaseException"}
SAVES_VERSIONS = {"PackageNotFoundError", "DistributionNotFound"} | SAVES_IMPORTS

# The functions in LOOK_UP get a dotted name as first argument, and look it up. The functions in
# LOOK_INSIDE look up a name, their second argument, in a module or class, their first argument.
LOOK_UP = ("patch", "import_module", "__import__", "setattr")
LOOK_INSIDE = ("patch.object", "monkeypatch.setattr", "wrap_function_wrapper")
CONSTRUCTORS = ("__init__", "__new__")  # a call of these methods counts as a call of their class


def survey(tree: ast.Module, program: Program) -> None:
    """Add to `program` what a file defines, imports and assigns.

    `survey` is called for all files before `read` is called for the first file.

    :param tree: the file.
    :param program: what is known about all files.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            program.imports.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            program.imports.add(node.module.partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            program.defined.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            program.stored.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            program.stored.add(node.id)  # in the body of a class, this is an attribute
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            # setattr(object, "name", value): the second argument is the name.
            program.stored.update(noticed.texts(node.args[1:2]))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "set_start_method":
            program.start_methods.update(noticed.texts(node.args[:1]) or ["unknown"])
    _survey_columns(tree, program)


def _survey_columns(tree: ast.Module, program: Program) -> None:
    """Add the names of the columns of cqlengine models in a file to `program`."""
    # Most files do not import cqlengine. Do not spend time on analysing their scopes.
    if not any(
        isinstance(node, (ast.Import, ast.ImportFrom)) and "cqlengine" in ast.unparse(node)
        for node in ast.walk(tree)
    ):
        return
    scopes = Scopes(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for assignment in node.body:
            if not isinstance(assignment, (ast.Assign, ast.AnnAssign)):
                continue
            if not isinstance(assignment.value, ast.Call):
                continue
            column = scopes.value(assignment.value.func, scopes.by_node[node])
            if isinstance(column, Named) and column.name.startswith(COLUMNS):
                if column.name.endswith(".List"):
                    program.lists.update(_assigned(assignment))
                else:
                    program.other_columns.update(_assigned(assignment))


def read(tree: ast.Module) -> list[Fact]:
    """Return the facts of a file.

    :param tree: the file.
    """
    reader = _Reader(tree)
    reader.visit(tree)
    return reader.facts


class _Reader(ast.NodeVisitor):
    """Visits the nodes of a file, and adds the facts that they show to the list `facts`."""

    def __init__(self, tree: ast.Module) -> None:
        self.scopes = Scopes(tree)
        self.scope = self.scopes.root  # the scope of the node that is visited
        self.facts: list[Fact] = []
        self._guards: list[set[str]] = []  # for each enclosing ``try``, the errors that it handles
        # Maps the id of an argument's node to the name of the function that gets the argument.
        self._callee_of_argument: dict[int, str] = {}

    def _is_guarded_against(self, handlers: set[str]) -> bool:
        """Return True if an enclosing ``try`` handles one of these errors."""
        return any(handlers & saved for saved in self._guards)

    # Imports.

    def _add_name(
        self, node: ast.expr | ast.alias | ast.stmt, name: str, *, is_import: bool
    ) -> None:
        """Add a fact for a name of the driver. The fact says whether this driver has the name."""
        saves = SAVES_IMPORTS if is_import else SAVES_NAMES
        self.facts.append(
            Name(node, self._is_guarded_against(saves), name, names.is_there(name), is_import)
        )

    def visit_Import(self, node: ast.Import) -> None:
        """Add a fact for each imported module, of the driver or of another package."""
        for alias in node.names:
            if names.is_ours(alias.name):
                self._add_name(alias, alias.name, is_import=True)
            else:
                self.facts.append(
                    Module(alias, self._is_guarded_against(SAVES_IMPORTS), alias.name)
                )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Add a fact for each name that is imported from the driver, and for other modules."""
        # A relative import refers to the application's own package, not to the driver.
        if node.level or not node.module:
            return
        if not names.is_ours(node.module):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                self.facts.append(Module(alias, self._is_guarded_against(SAVES_IMPORTS), name))
        elif names.is_there(node.module) is False:
            # If the module itself is missing, report only the module, and not each name that is
            # imported from it.
            self._add_name(node, node.module, is_import=True)
        else:
            for alias in node.names:
                if alias.name == "*":
                    self._add_name(node, node.module, is_import=True)
                else:
                    self._add_name(alias, f"{node.module}.{alias.name}", is_import=True)

    # Scopes and guards.

    def _visit_in_scope(self, node: ast.AST, body: Iterable[ast.AST]) -> None:
        outer, self.scope = self.scope, self.scopes.by_node[node]
        for child in body:
            self.visit(child)
        self.scope = outer

    def _without_docstring(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements without docstrings and other strings, which have no effect."""
        return [
            statement
            for statement in body
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        ]

    def visit_Module(self, node: ast.Module) -> None:
        for statement in self._without_docstring(node.body):
            self.visit(statement)

    def visit_FunctionDef(self, node: Function) -> None:
        """Read a function in the function's own scope."""
        for part in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
            if part is not None:
                self.visit(part)
        # The function runs later, so a ``try`` around its definition does not handle its errors.
        outer_guards, self._guards = self._guards, []
        self._visit_in_scope(node, self._without_docstring(node.body))
        self._guards = outer_guards

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_in_scope(node, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Add facts for the bases and the class attributes of a class, and read its body."""
        for part in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(part)
        self._add_facts(forks.in_class(node, self.scopes, self.scope))
        # Leave out "", which stands for a base that we do not know.
        bases = [base for base in dict.fromkeys(self.scopes.bases(node)) if base]
        for base in bases:
            self.facts.append(Derived(node, is_guarded=False, base=base))
        if bases:
            for statement in node.body:
                for name in _assigned(statement):
                    self.facts.append(
                        ClassAttribute(statement, is_guarded=False, bases=bases, name=name)
                    )
        self._visit_in_scope(node, self._without_docstring(node.body))

    def visit_Try(self, node: ast.Try) -> None:
        """Read a ``try``. Its handlers guard its body."""
        handled = {name for handler in node.handlers for name in noticed.handled(handler)}
        self._guards.append(handled)
        for child in node.body:
            self.visit(child)
        self._guards.pop()
        self._add_facts(noticed.struct_errors(node, self.scopes, self.scope))
        # This ``try`` does not handle errors in its own handlers, ``else`` and ``finally``.
        for part in (node.handlers, node.orelse, node.finalbody):
            for statement in part:
                self.visit(statement)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        """Read an ``if`` or a conditional expression. Its test may guard its body."""
        # If the test contains ``hasattr(...)`` or is ``TYPE_CHECKING``, the body can cope with the
        # same failures as if a ``try`` around it handled the errors below.
        test = ast.unparse(node.test)
        handled_errors = SAVES_NAMES if "hasattr(" in test else set()
        if test.endswith("TYPE_CHECKING"):
            handled_errors = SAVES_IMPORTS | SAVES_NAMES
        if isinstance(node, ast.If):
            self._add_facts(forks.in_if(node, self.scopes, self.scope))
        self.visit(node.test)
        self._guards.append(handled_errors)
        for child in node.body if isinstance(node, ast.If) else [node.body]:
            self.visit(child)
        self._guards.pop()
        for child in node.orelse if isinstance(node, ast.If) else [node.orelse]:
            self.visit(child)

    visit_IfExp = visit_If

    def visit_With(self, node: ast.With) -> None:
        """Read a ``with``. The errors of ``suppress(...)`` and ``raises(...)`` guard its body."""
        calls = [
            item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)
        ]
        self._guards.append(
            {
                ast.unparse(error_type).rpartition(".")[2]
                for call in calls
                if ast.unparse(call.func).rpartition(".")[2] in ("suppress", "raises")
                for error_type in call.args
            }
        )
        self.generic_visit(node)
        self._guards.pop()

    # Expressions.

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Add a fact for an attribute of a module, class or object of the driver.

        Add no fact if we do not know what the expression before the dot is: the attribute may have
        nothing to do with the driver.
        """
        base = self.scopes.value(node.value, self.scope)
        if isinstance(base, Named) and names.is_ours(base.name):
            # Only look up the attribute if this driver has the name before the dot. If it does not,
            # there is already a fact about the missing name.
            if names.is_there(base.name) and _is_module_or_class(base.name):
                self._add_name(node, f"{base.name}.{node.attr}", is_import=False)
        elif isinstance(base, Instance):
            # LIVE marks objects that belong to the driver's metadata. Look up their attributes
            # under the name of their class, without this prefix.
            owner = base.owner.removeprefix(LIVE)
            if names.is_ours(owner):
                exists = names.has_attribute(owner, node.attr)
                self._add_attribute(node, owner, exists, is_own=base.user_class is not None)
        elif isinstance(base, UserDefined) and isinstance(base.node, ast.ClassDef):
            self._attribute_of_class(node, base.node, self.scopes.by_node[base.node])
        # `self` may be an object of a class that the application has derived from a driver class.
        elif base is None and isinstance(node.value, ast.Name) and node.value.id == "self":
            scope = self.scope.of_class()
            if scope is not None and isinstance(scope.node, ast.ClassDef):
                self._attribute_of_class(node, scope.node, scope)
        self.generic_visit(node)

    def _add_attribute(
        self, node: ast.Attribute, owner: str, is_there: bool | None, *, is_own: bool
    ) -> None:
        guarded = self._is_guarded_against(SAVES_NAMES)
        self.facts.append(Attribute(node, guarded, owner, node.attr, is_there, is_own))

    def _attribute_of_class(self, node: ast.Attribute, cls: ast.ClassDef, scope: Scope) -> None:
        """Add a fact for an attribute of a class or of its ``self``, if all its bases are known.

        :param node: the attribute.
        :param cls: the application's class.
        :param scope: the scope of the class.
        """
        bases = list(self.scopes.bases(cls))
        # "" stands for a base that we do not know. An attribute that the class itself defines is
        # not an attribute of the driver.
        if not bases or "" in bases or node.attr in scope.bindings:
            return
        answers = [names.has_attribute(base, node.attr) for base in bases]
        is_there: bool | None = any(answers)
        # No base has the attribute for certain, but for some base we cannot know. So the result is
        # None.
        if not is_there and None in answers:
            is_there = None
        self._add_attribute(node, bases[0], is_there, is_own=True)

    # Assignments.

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._add_stores(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._add_stores(node.target, node.value)
        self.generic_visit(node)

    def _add_stores(self, target: ast.expr, value: ast.expr | None) -> None:
        """Add a fact for each attribute that an assignment sets."""
        if isinstance(target, (ast.Tuple, ast.List)):
            # ``a.x, a.y = 1, 2`` assigns each value to the target at the same position. If the
            # right side is not such a tuple, the assigned values are not known.
            values = value.elts if isinstance(value, ast.Tuple) else []
            is_pairwise = len(values) == len(target.elts)
            for index, element in enumerate(target.elts):
                self._add_stores(element, values[index] if is_pairwise else None)
        elif isinstance(target, ast.Attribute):
            self._add_stored_attribute(target, target.value, target.attr, value)

    def _add_stored_attribute(
        self, node: ast.expr, target_object: ast.expr, name: str, value: ast.expr | None
    ) -> None:
        """Add a fact for the assignment of an attribute, if `target_object` is the driver's."""
        base = self.scopes.value(target_object, self.scope)
        if isinstance(target_object, ast.Name) and target_object.id == "self":
            base = self.scopes.self_of(self.scope)
        if isinstance(base, Instance) and names.is_ours(base.owner):
            # Objects of an application's class accept any attribute, so only check objects of the
            # driver's own classes.
            is_refused = base.user_class is None and names.refuses(base.owner, name)
            is_guarded = self._is_guarded_against(SAVES_NAMES)
            value = self.scopes.constant(value, self.scope) if value is not None else None
            self.facts.append(Stored(node, is_guarded, base.owner, name, value, is_refused))

    def visit_Call(self, node: ast.Call) -> None:
        """Add the facts that a call shows, about its function, arguments and names in strings."""
        called = self.scopes.value(node.func, self.scope)
        keywords = arguments(node, self.scopes, self.scope)
        function_name = self._add_call(node, node.func, called, node.args, keywords)
        if isinstance(called, Named) and called.name == "functools.partial" and node.args:
            first_argument = node.args[0]
            # ``partial(f, ...)`` counts as a call of `f` with the further arguments.
            self._add_call(
                node,
                first_argument,
                self.scopes.value(first_argument, self.scope),
                node.args[1:],
                keywords,
            )
        elif function_name == "setattr" and len(node.args) == 3:
            for name in noticed.texts(node.args[1:2]):
                self._add_stored_attribute(node, node.args[0], name, node.args[2])
        self._note_callees(node, function_name)
        self._add_facts(noticed.in_call(node, called, keywords, self.scopes, self.scope))
        self._add_facts(forks.in_call(node, called, self.scopes, self.scope))
        self._add_looked_up_names(node, function_name)
        self.generic_visit(node)

    def _add_call(
        self,
        node: ast.Call,
        function: ast.expr,
        called: Value,
        arguments: list[ast.expr],
        keywords: dict[str, ast.expr],
    ) -> str:
        """Add a fact for the call of a function, and return the name of the function."""
        callee, function_name = "", ast.unparse(function)
        if isinstance(called, UserDefined) and isinstance(called.node, ast.ClassDef):
            callee, arguments, keywords = self._forwarded_call(called.node, arguments, keywords)
        elif isinstance(called, Named):
            owner, _, last_part = called.name.rpartition(".")
            if last_part in CONSTRUCTORS and names.is_ours(owner):  # Cluster.__init__(self, ...)
                callee, arguments = names.home(owner), arguments[1:]
            else:
                callee = names.home(called.name) if names.is_ours(called.name) else called.name
            function_name = callee
        elif isinstance(called, Method):  # includes super().__init__(...)
            callee = f"{called.owner}.{called.name}"
            if called.name in CONSTRUCTORS:
                callee = function_name = called.owner
        unknown: list[str] = []
        if names.is_ours(callee):
            accepted = names.parameters(callee)
            if accepted is not None:
                unknown = [name for name in keywords if name not in accepted]
        # Matchers compare constants. If an argument is a name that is bound to a constant, replace
        # the name by the constant.
        arguments = [self.scopes.constant(argument, self.scope) for argument in arguments]
        keywords = {
            name: self.scopes.constant(argument, self.scope) for name, argument in keywords.items()
        }
        method = function_name.rpartition(".")[2]
        self.facts.append(
            Call(
                node,
                is_guarded=False,
                callee=callee,
                method=method,
                arguments=arguments,
                keywords=keywords,
                unknown=unknown,
            )
        )
        return function_name

    def _forwarded_call(
        self, node: ast.ClassDef, arguments: list[ast.expr], keywords: dict[str, ast.expr]
    ) -> tuple[str, list[ast.expr], dict[str, ast.expr]]:
        """Return what a call of an application's class passes to the driver's class.

        :returns: (name of the driver's class, positional arguments, keyword arguments). The name is
            "" if the application's class may change the arguments.
        """
        bases = set(self.scopes.bases(node))
        # We cannot follow a call through several bases or an unknown base. A decorator or a
        # metaclass may change what a call of the class does.
        if len(bases) != 1 or "" in bases or node.decorator_list or node.keywords:
            return "", arguments, keywords
        for cls in self.scopes.ancestry(node):
            for statement in cls.body:
                if getattr(statement, "name", "") not in CONSTRUCTORS:
                    continue
                passed_keywords = noticed.forwarded_arguments(statement, keywords)
                if passed_keywords is None:
                    return "", arguments, keywords
                # Drop the positional arguments, because we do not know which of them the
                # constructor passes on.
                arguments, keywords = [], passed_keywords
        return bases.pop(), arguments, keywords

    def _note_callees(self, node: ast.Call, function_name: str) -> None:
        """Record for each argument to which function, and as which keyword, it is passed."""
        for argument in node.args:
            self._callee_of_argument[id(argument)] = function_name
        for keyword in node.keywords:
            value = keyword.value
            for argument in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
                self._callee_of_argument[id(argument)] = f"{function_name}:{keyword.arg}"

    def _add_looked_up_names(self, node: ast.Call, function_name: str) -> None:
        """Add facts for names in strings that the called function looks up.

        An example is ``mock.patch("cassandra.cluster.Cluster")``.
        """
        # If `create` or `raising` is passed, the function accepts a name that does not exist.
        if any(keyword.arg in ("create", "raising") for keyword in node.keywords):
            return
        first_argument = node.args[0] if node.args else None
        # The first argument may be a string with a name, or an expression that refers to a name.
        name = first_argument.value if isinstance(first_argument, ast.Constant) else ""
        target = self.scopes.value(first_argument, self.scope)
        if isinstance(target, Named):
            name = target.name
        if first_argument is None or not isinstance(name, str) or not names.is_ours(name):
            return
        second_argument = node.args[1] if len(node.args) > 1 else None
        inner_name = second_argument.value if isinstance(second_argument, ast.Constant) else None
        last_part = function_name.rpartition(".")[2]
        if function_name.endswith(LOOK_INSIDE) and isinstance(inner_name, str):
            self._add_name(node, f"{name}.{inner_name}", is_import=True)
        elif isinstance(first_argument, ast.Constant) and "." in name and last_part in LOOK_UP:
            self._add_name(first_argument, name, is_import=True)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Add a fact for a string literal, with the function that gets it as an argument."""
        if isinstance(node.value, str):
            guarded = self._is_guarded_against(SAVES_VERSIONS)
            self.facts.append(
                Text(node, guarded, node.value, self._callee_of_argument.get(id(node), ""))
            )

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._add_facts(noticed.changes(node, self.scopes, self.scope))
        self.generic_visit(node)

    def _add_facts(self, facts: Iterable[Fact]) -> None:
        self.facts.extend(facts)


def _is_module_or_class(name: str) -> bool:
    """Return True if a name is a module or class, whose attributes we can look up.

    Attributes of other objects may be set at run time, so we cannot look them up.
    """
    target = names.find(name)
    # `type(ast)` is the class of all modules.
    return isinstance(target, (type, type(ast)))


def _assigned(statement: ast.stmt) -> list[str]:
    """Return the names that a statement in a class body assigns or annotates."""
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []
