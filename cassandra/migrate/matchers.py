"""Matchers: they find differences in the facts about an application.

Each matcher decides whether a fact shows its difference, and how severe it is. A match returns the
code in short. If a matcher is not sure, it does not match: a false alarm costs more than a missed
difference.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from cassandra.migrate import names
from cassandra.migrate.facts import (
    Attribute,
    Call,
    ClassAttribute,
    Derived,
    Fact,
    Module,
    Name,
    Noticed,
    Program,
    Stored,
    Text,
    short,
)
from cassandra.migrate.noticed import LIST_REMOVE

BREAKS = "breaks"
DIFFERS = "differs"
NOTE = "note"
SEVERITIES = (BREAKS, DIFFERS, NOTE)


def constant(value: ast.expr | None) -> object:
    """Return the value of a constant, or `...` for any other expression.

    :param value: the expression.
    """
    return value.value if isinstance(value, ast.Constant) else ...


def named_text(value: ast.expr) -> str:
    """Return the last part of a dotted name, or an empty string for any other expression.

    :param value: the expression.
    """
    return value.attr if isinstance(value, ast.Attribute) else ""


@functools.cache
def definition_names(callees: tuple[str, ...]) -> frozenset[str]:
    """Return the full names under which functions and methods of the driver are defined.

    :param callees: the public names, which applications use.
    """
    definitions = set()
    for callee in callees:
        owner, _, method = callee.rpartition(".")
        is_method = isinstance(names.find(owner), type)
        definitions.add(f"{names.home(owner)}.{method}" if is_method else names.home(callee))
    return frozenset(definitions)


@dataclass(frozen=True)
class Matcher:
    """Finds a difference in a source.

    :param severity: ``breaks``, ``differs`` or ``note``.
    """

    severity: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the code in short if a fact shows this difference, or an empty string.

        :param fact: the fact.
        :param program: the facts about all files together.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class MissingName(Matcher):
    """A name that this driver does not have.

    :param is_private: True to match only private names: the last part, or its module, begins with
        an underscore.
    :param besides: names that other entries of the table handle.
    """

    is_private: bool
    besides: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name if it is missing."""
        if not isinstance(fact, Name) or fact.is_there is not False or fact.name in self.besides:
            return ""
        parts = fact.name.split(".")
        if parts[-1] in program.stored and not fact.is_import:
            return ""  # the application has added the attribute itself
        # An application may add its own modules to the package, for example backends of a
        # framework.
        if any(".".join(parts[:end]) in program.own_modules for end in range(2, len(parts) + 1)):
            return ""
        is_private = any(part.startswith("_") for part in parts)
        return fact.name if is_private == self.is_private else ""


@dataclass(frozen=True)
class NameOf(Matcher):
    """A name that this driver treats differently.

    :param names: the names.
    :param is_import: True to match only imports, False to match all other uses.
    """

    names: tuple[str, ...]
    is_import: bool

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name if it is in `names`, or in a module in `names`."""
        if not isinstance(fact, Name) or fact.is_import is not self.is_import:
            return ""
        matches = any(fact.name == name or fact.name.startswith(name + ".") for name in self.names)
        return fact.name if matches else ""


@dataclass(frozen=True)
class ModuleOf(Matcher):
    """An import of a module that is not part of the driver.

    :param names: the modules.
    :param is_alone: True to match even if the application does not import the driver.
    """

    names: tuple[str, ...]
    is_alone: bool = False

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name of the module if it is in `names`."""
        # A third-party module matters only if the application also uses the driver.
        if not isinstance(fact, Module) or not (self.is_alone or names.PACKAGE in program.imports):
            return ""
        matches = any(
            fact.name == module or fact.name.startswith(module + ".") for module in self.names
        )
        return fact.name if matches else ""


@dataclass(frozen=True)
class PrivateAttribute(Matcher):
    """A private attribute that another driver's objects have, and this driver's objects do not
    have.
    """

    def match(self, fact: Fact, program: Program) -> str:
        """Return the class and the attribute."""
        if not isinstance(fact, Attribute) or fact.is_there is not False:
            return ""
        # Names with two leading and trailing underscores belong to Python.
        if not fact.name.startswith("_") or fact.name.endswith("__"):
            return ""
        if fact.name in program.stored or fact.name in program.defined:
            return ""
        return f"{fact.owner.rpartition('.')[2]}.{fact.name}"


# Attributes that only mocks have. Tests annotate mocks with classes of the driver.
OF_MOCKS = re.compile(
    "assert_.*|call_args(_list)?|call_count|called|configure_mock|attach_mock|method_calls|"
    "mock_add_spec|mock_calls|reset_mock|return_value|side_effect"
)


@dataclass(frozen=True)
class MissingAttribute(Matcher):
    """A public attribute that another driver's objects have, and this driver's objects do not have.

    :param owners: classes whose objects are always created by the driver. Objects of other classes,
        such as policies, may be of a user's class with more attributes.
    """

    owners: tuple[str, ...]

    def match(self, fact: Fact, program: Program) -> str:
        """Return the class and the attribute."""
        if not isinstance(fact, Attribute) or fact.is_there is not False or fact.is_own:
            return ""
        if fact.owner not in definition_names(self.owners) or OF_MOCKS.fullmatch(fact.name):
            return ""
        if fact.name.startswith("_") or fact.name in program.stored | program.defined:
            return ""
        return f"{fact.owner.rpartition('.')[2]}.{fact.name}"


@dataclass(frozen=True)
class Setting(Matcher):
    """An argument or attribute whose value this driver interprets differently.

    :param callees: the functions, classes or methods.
    :param name: the argument's name.
    :param values: the constants to match. If empty, all values match except those in `harmless`.
    :param members: names of enumeration members to match as well.
    :param harmless: constants that do not match.
    :param is_stored: True to match an assignment to the attribute of that name, too.
    """

    callees: tuple[str, ...]
    name: str
    values: tuple[object, ...] = ()
    members: tuple[str, ...] = ()
    harmless: tuple[object, ...] = (None,)
    is_stored: bool = False

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the argument, or the assignment."""
        if isinstance(fact, Stored):
            if not self.is_stored or fact.name != self.name:
                return ""
            if fact.value is None or fact.owner not in definition_names(self.callees):
                return ""
            class_name = fact.owner.rpartition(".")[2]
            return (
                f"{class_name}.{self.name} = {short(fact.value)}"
                if self._is_concerned(fact.value)
                else ""
            )
        if not isinstance(fact, Call) or fact.callee not in definition_names(self.callees):
            return ""
        argument = fact.keywords.get(self.name) or self._by_position(fact)
        if argument is None or not self._is_concerned(argument):
            return ""
        return f"{fact.method}({self.name}={short(argument)})"

    def _by_position(self, call: Call) -> ast.expr | None:
        position = names.position(call.callee, self.name)
        if position is None or len(call.arguments) <= position:
            return None
        # The source does not show the content of `*args`.
        is_known = not any(
            isinstance(argument, ast.Starred) for argument in call.arguments[: position + 1]
        )
        return call.arguments[position] if is_known else None

    def _is_concerned(self, argument: ast.expr) -> bool:
        """Return True if the difference concerns this value."""
        value = constant(argument)
        if self.values:
            return named_text(argument) in self.members or any(
                # In Python, True equals 1.
                type(value) is type(concerned) and value == concerned
                for concerned in self.values
            )
        return not any(value is harmless for harmless in self.harmless)


@dataclass(frozen=True)
class UnknownSetting(Matcher):
    """An argument or attribute whose name is not a setting of this driver."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the arguments, or the assignment."""
        if isinstance(fact, Stored) and fact.is_refused:
            return f"{fact.owner.rpartition('.')[2]}.{fact.name} = ..."
        if not isinstance(fact, Call) or not fact.unknown:
            return ""
        return f"{fact.method}({', '.join(f'{name}=...' for name in fact.unknown)})"


@dataclass(frozen=True)
class CallOf(Matcher):
    """A call of a function or method.

    :param callees: the functions and methods.
    :param methods: method names that only this driver has. Calls on unknown objects match, too,
        unless the application defines functions with that name.
    """

    callees: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name of the function."""
        if not isinstance(fact, Call):
            return ""
        is_known = fact.callee in definition_names(self.callees)
        is_method = (
            not fact.callee
            and fact.method in self.methods
            # The application's own function of that name may be the called one.
            and fact.method not in program.defined
            and isinstance(fact.node, ast.Call)
            and isinstance(fact.node.func, ast.Attribute)
        )
        return f"{fact.method}()" if is_known or is_method else ""


@dataclass(frozen=True)
class TextOf(Matcher):
    """A string literal in the source.

    :param pattern: a regular expression that must match the whole string.
    :param callees: the functions that the string is passed to, by the ends of their names. If
        empty, the string matches unless it is passed to a function in `not_of`.
    :param not_of: functions that another entry handles.
    """

    pattern: str
    callees: tuple[str, ...] = ()
    not_of: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the string in quotes."""
        if not isinstance(fact, Text) or not re.fullmatch(self.pattern, fact.value):
            return ""
        if self.callees and not fact.callee.endswith(self.callees):
            return ""
        if self.not_of and fact.callee.endswith(self.not_of):
            return ""
        return repr(fact.value)


@dataclass(frozen=True)
class AttributeOfClass(Matcher):
    """A name that is defined in a subclass of one of the driver's classes.

    :param base: the driver's class.
    :param name: the name.
    """

    base: str
    name: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name."""
        matches = (
            isinstance(fact, ClassAttribute)
            and not definition_names((self.base,)).isdisjoint(fact.bases)
            and fact.name == self.name
        )
        return self.name if matches else ""


@dataclass(frozen=True)
class DerivedFrom(Matcher):
    """A user's class that is derived, directly or not, from a class of the driver.

    :param base: the driver's class.
    """

    base: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the names of the classes."""
        if not isinstance(fact, Derived) or not isinstance(fact.node, ast.ClassDef):
            return ""
        kind, base = names.find(fact.base), names.find(self.base)
        if not isinstance(kind, type) or not isinstance(base, type) or not issubclass(kind, base):
            return ""
        return f"class {fact.node.name}({fact.base.rpartition('.')[2]})"


@dataclass(frozen=True)
class NoticedAs(Matcher):
    """A pattern that only several expressions together show.

    :param kind: the name of the pattern.
    :param unless: returns True for applications that this does not concern.
    """

    kind: str
    unless: Callable[[Program], bool] | None = None

    def match(self, fact: Fact, program: Program) -> str:
        """Return the code in short."""
        if not isinstance(fact, Noticed) or fact.kind != self.kind:
            return ""
        return "" if self.unless is not None and self.unless(program) else fact.code


@dataclass(frozen=True)
class RemovedFromList(Matcher):
    """``update(column__remove=...)`` for a column name that the application uses only for lists."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the argument."""
        if not isinstance(fact, Noticed) or not fact.kind.startswith(LIST_REMOVE):
            return ""
        column = fact.kind.removeprefix(LIST_REMOVE)
        # If an application has two models, the column may be a set in one of them.
        is_list = column in program.lists and column not in program.other_columns
        return fact.code if is_list else ""
