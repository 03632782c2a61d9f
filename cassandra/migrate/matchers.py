"""Matchers: how a difference shows in a program's source.

Each says for one fact whether it is that difference, by the code in short, and how severe it is. A
matcher that is not sure says nothing: a false alarm costs more than a difference that is missed.
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
    """Return the value of a constant, `...` of any other expression.

    :param value: the expression.
    """
    return value.value if isinstance(value, ast.Constant) else ...


def named_text(value: ast.expr) -> str:
    """Return the last part of a dotted name, an empty text for any other expression.

    :param value: the expression.
    """
    return value.attr if isinstance(value, ast.Attribute) else ""


@functools.cache
def homes(callees: tuple[str, ...]) -> frozenset[str]:
    """Return the names by which functions and methods of the driver are defined.

    :param callees: the names that programs know.
    """
    found = set()
    for callee in callees:
        kind, _, method = callee.rpartition(".")
        is_method = isinstance(names.find(kind), type)
        found.add(f"{names.home(kind)}.{method}" if is_method else names.home(callee))
    return frozenset(found)


@dataclass(frozen=True)
class Matcher:
    """Finds a difference in a source.

    :param severity: ``breaks``, ``differs`` or ``note``.
    """

    severity: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the code in short if a fact is this difference, an empty text if not.

        :param fact: the fact.
        :param program: the facts about all files.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class MissingName(Matcher):
    """A name that this driver does not have.

    :param is_private: whether its last part, or its module, begins with an underscore.
    :param besides: names that other entries of the table have.
    """

    is_private: bool
    besides: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name if it is missing."""
        if not isinstance(fact, Name) or fact.is_there is not False or fact.name in self.besides:
            return ""
        parts = fact.name.split(".")
        if parts[-1] in program.stored and not fact.is_import:
            return ""  # the program has put it there
        # A program may have modules of its own below the package, backends of a framework say.
        if any(".".join(parts[:end]) in program.own_modules for end in range(2, len(parts) + 1)):
            return ""
        is_private = any(part.startswith("_") for part in parts)
        return fact.name if is_private == self.is_private else ""


@dataclass(frozen=True)
class NameOf(Matcher):
    """A name that this driver treats otherwise.

    :param names: the names.
    :param is_import: True for imports alone, False for all else.
    """

    names: tuple[str, ...]
    is_import: bool

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name if it is one of these, or in one of these modules."""
        if not isinstance(fact, Name) or fact.is_import is not self.is_import:
            return ""
        known = any(fact.name == one or fact.name.startswith(one + ".") for one in self.names)
        return fact.name if known else ""


@dataclass(frozen=True)
class ModuleOf(Matcher):
    """An import of a module of others.

    :param names: the modules.
    :param is_alone: whether it concerns programs that do not import the driver, too.
    """

    names: tuple[str, ...]
    is_alone: bool = False

    def match(self, fact: Fact, program: Program) -> str:
        """Return the module's name if it is one of these."""
        # A module of others alone says nothing: it counts in programs that use the driver.
        if not isinstance(fact, Module) or not (self.is_alone or names.PACKAGE in program.imports):
            return ""
        known = any(fact.name == one or fact.name.startswith(one + ".") for one in self.names)
        return fact.name if known else ""


@dataclass(frozen=True)
class PrivateAttribute(Matcher):
    """A private attribute of one of the driver's objects, which objects here do not have."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return the class and the attribute."""
        if not isinstance(fact, Attribute) or fact.is_there is not False:
            return ""
        # Names with two underscores around them are those of Python.
        if not fact.name.startswith("_") or fact.name.endswith("__"):
            return ""
        if fact.name in program.stored or fact.name in program.defined:
            return ""
        return f"{fact.owner.rpartition('.')[2]}.{fact.name}"


# What tests ask of objects whose annotations name one of the driver's classes: these are mocks.
OF_MOCKS = re.compile(
    "assert_.*|call_args(_list)?|call_count|called|configure_mock|attach_mock|method_calls|"
    "mock_add_spec|mock_calls|reset_mock|return_value|side_effect"
)


@dataclass(frozen=True)
class MissingAttribute(Matcher):
    """A public attribute of one of the driver's objects, which objects here do not have.

    :param owners: classes of which programs have objects as the driver makes them. An object of
        another class, a policy say, may be one of the program's own with attributes of its own.
    """

    owners: tuple[str, ...]

    def match(self, fact: Fact, program: Program) -> str:
        """Return the class and the attribute."""
        if not isinstance(fact, Attribute) or fact.is_there is not False or fact.is_own:
            return ""
        if fact.owner not in homes(self.owners) or OF_MOCKS.fullmatch(fact.name):
            return ""
        if fact.name.startswith("_") or fact.name in program.stored | program.defined:
            return ""
        return f"{fact.owner.rpartition('.')[2]}.{fact.name}"


@dataclass(frozen=True)
class Setting(Matcher):
    """An argument, or attribute, whose value this driver takes otherwise.

    :param callees: the functions, classes or methods.
    :param name: the argument's name.
    :param values: the constants that it concerns; without any, all values but those of `harmless`.
    :param members: names of an enumeration's members that it concerns as well.
    :param harmless: constants that it does not concern.
    :param is_stored: whether it concerns the attribute of that name, too.
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
            if fact.value is None or fact.owner not in homes(self.callees):
                return ""
            kind = fact.owner.rpartition(".")[2]
            return f"{kind}.{self.name} = {short(fact.value)}" if self._is(fact.value) else ""
        if not isinstance(fact, Call) or fact.callee not in homes(self.callees):
            return ""
        given = fact.keywords.get(self.name) or self._by_position(fact)
        if given is None or not self._is(given):
            return ""
        return f"{fact.method}({self.name}={short(given)})"

    def _by_position(self, call: Call) -> ast.expr | None:
        at = names.position(call.callee, self.name)
        if at is None or len(call.arguments) <= at:
            return None
        # What is in `*args` cannot be read from the source.
        is_known = not any(isinstance(one, ast.Starred) for one in call.arguments[: at + 1])
        return call.arguments[at] if is_known else None

    def _is(self, given: ast.expr) -> bool:
        """Return True if a value is one that it concerns."""
        value = constant(given)
        if self.values:
            return named_text(given) in self.members or any(
                # To Python, True equals 1.
                type(value) is type(one) and value == one
                for one in self.values
            )
        return not any(value is one for one in self.harmless)


@dataclass(frozen=True)
class UnknownSetting(Matcher):
    """An argument, or attribute, by a name that no setting of this driver has."""

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
    :param methods: names that only the driver's methods have. Calls of objects that are not known
        are taken for these, unless the program has functions of that name itself.
    """

    callees: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name of the function."""
        if not isinstance(fact, Call):
            return ""
        is_known = fact.callee in homes(self.callees)
        is_method = (
            not fact.callee
            and fact.method in self.methods
            # A function of that name of the program itself may be the one that is called.
            and fact.method not in program.defined
            and isinstance(fact.node, ast.Call)
            and isinstance(fact.node.func, ast.Attribute)
        )
        return f"{fact.method}()" if is_known or is_method else ""


@dataclass(frozen=True)
class TextOf(Matcher):
    """A text in the source.

    :param pattern: a regular expression for all of it.
    :param callees: the functions that get it, by the ends of their names. Without any, it is a
        text that none of `not_of` gets.
    :param not_of: functions that another entry has.
    """

    pattern: str
    callees: tuple[str, ...] = ()
    not_of: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the text in quotes."""
        if not isinstance(fact, Text) or not re.fullmatch(self.pattern, fact.value):
            return ""
        if self.callees and not fact.callee.endswith(self.callees):
            return ""
        if self.not_of and fact.callee.endswith(self.not_of):
            return ""
        return repr(fact.value)


@dataclass(frozen=True)
class AttributeOfClass(Matcher):
    """A name that a class derived from one of the driver's defines.

    :param base: the driver's class.
    :param name: the name.
    """

    base: str
    name: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name."""
        matches = (
            isinstance(fact, ClassAttribute)
            and not homes((self.base,)).isdisjoint(fact.bases)
            and fact.name == self.name
        )
        return self.name if matches else ""


@dataclass(frozen=True)
class DerivedFrom(Matcher):
    """A class of the program that is derived from one of the driver's, or from one of its heirs.

    :param base: the driver's class.
    """

    base: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the classes."""
        if not isinstance(fact, Derived) or not isinstance(fact.node, ast.ClassDef):
            return ""
        kind, base = names.find(fact.base), names.find(self.base)
        if not isinstance(kind, type) or not isinstance(base, type) or not issubclass(kind, base):
            return ""
        return f"class {fact.node.name}({fact.base.rpartition('.')[2]})"


@dataclass(frozen=True)
class NoticedAs(Matcher):
    """Something that more than one expression says together.

    :param kind: which one.
    :param unless: says of a program that it need not be told.
    """

    kind: str
    unless: Callable[[Program], bool] | None = None

    def match(self, fact: Fact, program: Program) -> str:
        """Return the code in short."""
        if not isinstance(fact, Noticed) or fact.kind != self.kind:
            return ""
        return "" if self.unless is not None and self.unless(program) else fact.shown


@dataclass(frozen=True)
class RemovedFromList(Matcher):
    """``update(column__remove=...)`` of a column that is a list wherever the program has it."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the argument."""
        if not isinstance(fact, Noticed) or not fact.kind.startswith(LIST_REMOVE):
            return ""
        column = fact.kind.removeprefix(LIST_REMOVE)
        # In a program with two models, the column of one may be a set.
        is_list = column in program.lists and column not in program.other_columns
        return fact.shown if is_list else ""
