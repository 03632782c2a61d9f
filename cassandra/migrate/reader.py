"""Reads one file: the facts that its source says about the driver."""

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
from cassandra.migrate.scopes import LIVE, Function, Instance, Method, Named, Own, Scopes, Value

COLUMNS = "cassandra.cqlengine.columns"
# Handlers with which a program goes on without an import or a distribution that is missing.
SAVES_IMPORTS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
SAVES_NAMES = {"AttributeError", "Exception", "BaseException"}
SAVES_VERSIONS = {"PackageNotFoundError", "DistributionNotFound"} | SAVES_IMPORTS

# Functions that look a dotted name up, and those that look for a name in a module or class.
LOOK_UP = ("patch", "import_module", "__import__", "setattr")
LOOK_INSIDE = ("patch.object", "monkeypatch.setattr", "wrap_function_wrapper")
CONSTRUCTORS = ("__init__", "__new__")


def survey(tree: ast.Module, program: Program) -> None:
    """Add one file's facts to `program`.

    :param tree: the file.
    :param program: the facts so far.
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
            program.stored.add(node.id)  # of a class, perhaps
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
            program.stored.update(noticed.texts(node.args[1:2]))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "set_start_method":
            program.forks = noticed.texts(node.args[:1]) == ["fork"]
    _survey_columns(tree, program)


def _survey_columns(tree: ast.Module, program: Program) -> None:
    if not any(
        isinstance(node, (ast.Import, ast.ImportFrom)) and "cqlengine" in ast.unparse(node)
        for node in ast.walk(tree)
    ):
        return
    scopes = Scopes(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for one in node.body:
            if not isinstance(one, (ast.Assign, ast.AnnAssign)):
                continue
            if not isinstance(one.value, ast.Call):
                continue
            kind = scopes.value(one.value.func, scopes.by_node[node])
            if isinstance(kind, Named) and kind.name.startswith(COLUMNS):
                to = program.lists if kind.name.endswith(".List") else program.other_columns
                to.update(_assigned(one))


def read(tree: ast.Module) -> list[Fact]:
    """Return the facts of a file.

    :param tree: the file.
    """
    reader = _Reader(tree)
    reader.visit(tree)
    return reader.facts


class _Reader(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.scopes = Scopes(tree)
        self.scope = self.scopes.root
        self.facts: list[Fact] = []
        self._saved: list[set[str]] = []  # the errors that are handled around here
        self._callees: dict[int, str] = {}  # of texts that are arguments

    def _is_saved(self, handlers: set[str]) -> bool:
        return any(handlers & saved for saved in self._saved)

    # Imports.

    def _name(self, node: ast.expr | ast.alias | ast.stmt, name: str, *, is_import: bool) -> None:
        saves = SAVES_IMPORTS if is_import else SAVES_NAMES
        self.facts.append(Name(node, self._is_saved(saves), name, names.is_there(name), is_import))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if names.is_ours(alias.name):
                self._name(alias, alias.name, is_import=True)
            else:
                self.facts.append(Module(alias, self._is_saved(SAVES_IMPORTS), alias.name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        if not names.is_ours(node.module):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                self.facts.append(Module(alias, self._is_saved(SAVES_IMPORTS), name))
        elif names.is_there(node.module) is False:
            self._name(node, node.module, is_import=True)
        else:
            for alias in node.names:
                if alias.name == "*":
                    self._name(node, node.module, is_import=True)
                else:
                    self._name(alias, f"{node.module}.{alias.name}", is_import=True)

    # Scopes and guards.

    def _inside(self, node: ast.AST, body: Iterable[ast.AST]) -> None:
        outer, self.scope = self.scope, self.scopes.by_node[node]
        for one in body:
            self.visit(one)
        self.scope = outer

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements but for texts that are documentation."""
        return [
            one
            for one in body
            if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        ]

    def visit_Module(self, node: ast.Module) -> None:
        for one in self._body(node.body):
            self.visit(one)

    def visit_FunctionDef(self, node: Function) -> None:
        for one in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
            if one is not None:
                self.visit(one)
        # Guards around a definition are not around its calls.
        saved, self._saved = self._saved, []
        self._inside(node, self._body(node.body))
        self._saved = saved

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for one in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(one)
        self._add(forks.in_class(node, self.scopes, self.scope))
        bases = [one for one in dict.fromkeys(self.scopes.bases(node)) if one]
        for base in bases:
            self.facts.append(Derived(node, False, base))
        if bases:
            for statement in node.body:
                for name in _assigned(statement):
                    self.facts.append(ClassAttribute(statement, False, bases, name))
        self._inside(node, self._body(node.body))

    def visit_Try(self, node: ast.Try) -> None:
        handled = {name for one in node.handlers for name in noticed.handled(one)}
        self._saved.append(handled)
        for one in node.body:
            self.visit(one)
        self._saved.pop()
        self._add(noticed.struct_errors(node, self.scopes, self.scope))
        # What a handler or the rest does is done because of this try.
        for part in (node.handlers, node.orelse, node.finalbody):
            for statement in part:
                self.visit(statement)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        test = ast.unparse(node.test)
        saves = SAVES_NAMES if "hasattr(" in test else set()
        if test.endswith("TYPE_CHECKING"):
            saves = SAVES_IMPORTS | SAVES_NAMES
        if isinstance(node, ast.If):
            self._add(forks.in_if(node, self.scopes, self.scope))
        self.visit(node.test)
        self._saved.append(saves)
        for one in node.body if isinstance(node, ast.If) else [node.body]:
            self.visit(one)
        self._saved.pop()
        for one in node.orelse if isinstance(node, ast.If) else [node.orelse]:
            self.visit(one)

    visit_IfExp = visit_If

    def visit_With(self, node: ast.With) -> None:
        calls = [one.context_expr for one in node.items if isinstance(one.context_expr, ast.Call)]
        self._saved.append(
            {
                ast.unparse(kind).rpartition(".")[2]
                for call in calls
                if ast.unparse(call.func).rpartition(".")[2] in ("suppress", "raises")
                for kind in call.args
            }
        )
        self.generic_visit(node)
        self._saved.pop()

    # Expressions.

    def visit_Attribute(self, node: ast.Attribute) -> None:
        base = self.scopes.value(node.value, self.scope)
        if isinstance(base, Named) and names.is_ours(base.name):
            if names.is_there(base.name) and _can_be_asked(base.name):
                self._name(node, f"{base.name}.{node.attr}", is_import=False)
        elif isinstance(base, Instance):
            owner = base.owner.removeprefix(LIVE)
            if names.is_ours(owner):
                there = names.has_attribute(owner, node.attr)
                self._attribute(node, owner, there, is_own=base.own is not None)
        elif base is None and isinstance(node.value, ast.Name) and node.value.id == "self":
            self._own_attribute(node)
        self.generic_visit(node)

    def _attribute(
        self, node: ast.Attribute, owner: str, is_there: bool | None, *, is_own: bool
    ) -> None:
        guarded = self._is_saved(SAVES_NAMES)
        self.facts.append(Attribute(node, guarded, owner, node.attr, is_there, is_own))

    def _own_attribute(self, node: ast.Attribute) -> None:
        """Add an attribute of ``self`` in a class all of whose bases are known."""
        scope = self.scope.of_class()
        if scope is None or not isinstance(scope.node, ast.ClassDef):
            return
        bases = list(self.scopes.bases(scope.node))
        if not bases or "" in bases or node.attr in scope.bindings:
            return
        there = [names.has_attribute(base, node.attr) for base in bases]
        is_there = True if True in there else None if None in there else False
        self._attribute(node, bases[0], is_there, is_own=True)

    # What is stored.

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._store(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store(node.target, node.value)
        self.generic_visit(node)

    def _store(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, ast.Tuple) else []
            is_pairwise = len(values) == len(target.elts)
            for at, one in enumerate(target.elts):
                self._store(one, values[at] if is_pairwise else None)
        elif isinstance(target, ast.Attribute):
            self._store_as(target, target.value, target.attr, value)

    def _store_as(
        self, node: ast.expr, holder: ast.expr, name: str, value: ast.expr | None
    ) -> None:
        """Add a value that an attribute gets, if `holder` is one of the driver's objects."""
        base = self.scopes.value(holder, self.scope)
        if isinstance(holder, ast.Name) and holder.id == "self":
            base = self.scopes.self_of(self.scope)
        if isinstance(base, Instance) and names.is_ours(base.owner):
            # A class of the program's may have attributes with such names.
            is_refused = base.own is None and names.refuses(base.owner, name)
            guarded = self._is_saved(SAVES_NAMES)
            value = self.scopes.constant(value, self.scope) if value is not None else None
            self.facts.append(Stored(node, guarded, base.owner, name, value, is_refused))

    def visit_Call(self, node: ast.Call) -> None:
        called = self.scopes.value(node.func, self.scope)
        keywords = arguments(node, self.scopes, self.scope)
        dotted = self._call(node, node.func, called, node.args, keywords)
        if isinstance(called, Named) and called.name == "functools.partial" and node.args:
            first = node.args[0]
            self._call(node, first, self.scopes.value(first, self.scope), node.args[1:], keywords)
        elif dotted == "setattr" and len(node.args) == 3:
            for name in noticed.texts(node.args[1:2]):
                self._store_as(node, node.args[0], name, node.args[2])
        self._note_texts(node, dotted)
        self._add(noticed.in_call(node, called, keywords, self.scopes, self.scope))
        self._add(forks.in_call(node, called, self.scopes, self.scope))
        self._look_up(node, dotted)
        self.generic_visit(node)

    def _call(
        self,
        node: ast.Call,
        function: ast.expr,
        called: Value,
        given: list[ast.expr],
        keywords: dict[str, ast.expr],
    ) -> str:
        """Add a call of a function, and return the function's name."""
        callee, dotted = "", ast.unparse(function)
        if isinstance(called, Own) and isinstance(called.node, ast.ClassDef):
            callee, given, keywords = self._passed_on(called.node, given, keywords)
        elif isinstance(called, Named):
            kind, _, last = called.name.rpartition(".")
            if last in CONSTRUCTORS and names.is_ours(kind):  # Cluster.__init__(self, ...)
                callee, given = names.home(kind), given[1:]
            else:
                callee = names.home(called.name) if names.is_ours(called.name) else called.name
            dotted = callee
        elif isinstance(called, Method):  # or super().__init__(...)
            callee = f"{called.owner}.{called.name}"
            if called.name in CONSTRUCTORS:
                callee = dotted = called.owner
        unknown: list[str] = []
        if names.is_ours(callee):
            taken = names.parameters(callee)
            if taken is not None:
                unknown = [name for name in keywords if name not in taken]
        # Settings are held against constants.
        given = [self.scopes.constant(one, self.scope) for one in given]
        keywords = {name: self.scopes.constant(one, self.scope) for name, one in keywords.items()}
        method = dotted.rpartition(".")[2]
        self.facts.append(Call(node, False, callee, method, given, keywords, unknown))
        return dotted

    def _passed_on(
        self, node: ast.ClassDef, given: list[ast.expr], keywords: dict[str, ast.expr]
    ) -> tuple[str, list[ast.expr], dict[str, ast.expr]]:
        """Return the driver's class that a class of the program's hands its arguments to, and
        which: an empty text if it does something else with them.
        """
        bases = set(self.scopes.bases(node))
        if len(bases) != 1 or "" in bases or node.decorator_list or node.keywords:
            return "", given, keywords
        for one in self.scopes.line(node):
            for statement in one.body:
                if getattr(statement, "name", "") not in CONSTRUCTORS:
                    continue
                passed = noticed.passed_on(statement, keywords)
                if passed is None:
                    return "", given, keywords
                given, keywords = [], passed
        return bases.pop(), given, keywords

    def _note_texts(self, node: ast.Call, dotted: str) -> None:
        """Remember which function, and which argument, gets each text."""
        for one in node.args:
            self._callees[id(one)] = dotted
        for word in node.keywords:
            given = word.value
            for one in given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]:
                self._callees[id(one)] = f"{dotted}:{word.arg}"

    def _look_up(self, node: ast.Call, dotted: str) -> None:
        """Add the names in texts that are looked up when the program runs: of mocks, say."""
        if any(word.arg in ("create", "raising") for word in node.keywords):
            return
        given = node.args[0] if node.args else None
        name = given.value if isinstance(given, ast.Constant) else ""
        found = self.scopes.value(given, self.scope)
        if isinstance(found, Named):
            name = found.name
        if given is None or not isinstance(name, str) or not names.is_ours(name):
            return
        second = node.args[1] if len(node.args) > 1 else None
        inside = second.value if isinstance(second, ast.Constant) else None
        last = dotted.rpartition(".")[2]
        if dotted.endswith(LOOK_INSIDE) and isinstance(inside, str):
            self._name(node, f"{name}.{inside}", is_import=True)
        elif isinstance(given, ast.Constant) and "." in name and last in LOOK_UP:
            self._name(given, name, is_import=True)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            guarded = self._is_saved(SAVES_VERSIONS)
            self.facts.append(Text(node, guarded, node.value, self._callees.get(id(node), "")))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._add(noticed.changes(node, self.scopes, self.scope))
        self.generic_visit(node)

    def _add(self, facts: Iterable[Fact]) -> None:
        self.facts.extend(facts)


def _can_be_asked(name: str) -> bool:
    """Return True if a name is a module or class: other objects may get attributes later."""
    found = names.find(name)
    return isinstance(found, (type, type(ast)))


def _assigned(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a class gives a value, or a type."""
    if isinstance(statement, ast.Assign):
        return [one.id for one in statement.targets if isinstance(one, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []
