"""Matchers decide which facts about an application show a difference between the drivers.

The method `match` of a matcher returns the application's code, shortened, if a fact shows the
difference; otherwise it returns "". If a matcher cannot be sure, it does not match, because a false
alarm costs more than a missed difference.
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

# The severities of findings. BREAKS: the code fails with this driver. DIFFERS: the code behaves
# differently. NOTE: the finding is only worth knowing.
BREAKS = "breaks"
DIFFERS = "differs"
NOTE = "note"
SEVERITIES = (BREAKS, DIFFERS, NOTE)


def constant(value: ast.expr | None) -> object:
    """Return the value of a constant; `...` (Ellipsis) if the expression is not a constant.

    :param value: the expression.
    """
    return value.value if isinstance(value, ast.Constant) else ...


def named_text(value: ast.expr) -> str:
    """Return the last part of a dotted name: "QUORUM" for ``ConsistencyLevel.QUORUM``.

    Return "" for any other expression.

    :param value: the expression.
    """
    return value.attr if isinstance(value, ast.Attribute) else ""


@functools.cache
def definition_names(callees: tuple[str, ...]) -> frozenset[str]:
    """Return the names under which functions and methods are defined, for comparison with facts.

    An application may import a function from another module than the one that defines it. Facts
    have the name in the defining module.

    :param callees: the public names, as applications use them.
    """
    definitions = set()
    for callee in callees:
        owner, _, method = callee.rpartition(".")
        is_method = isinstance(names.find(owner), type)
        definitions.add(f"{names.home(owner)}.{method}" if is_method else names.home(callee))
    return frozenset(definitions)


@dataclass(frozen=True)
class Matcher:
    """The base class of matchers.

    :param severity: the severity of the findings: ``breaks``, ``differs`` or ``note``.
    """

    severity: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the application's code, shortened, if a fact shows the difference; otherwise "".

        :param fact: the fact.
        :param program: what is known about all files of the application.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class MissingName(Matcher):
    """Matches a name that this driver does not have.

    :param is_private: True matches private names only (a part of the dotted name begins with an
        underscore). False matches public names only.
    :param besides: names that do not match, because another entry of the table reports them.
    """

    is_private: bool
    besides: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name if this driver does not have it; otherwise ""."""
        # `is_there` is None if we cannot know if this driver has the name. Only False matches.
        if not isinstance(fact, Name) or fact.is_there is not False or fact.name in self.besides:
            return ""
        parts = fact.name.split(".")
        if parts[-1] in program.stored and not fact.is_import:
            return ""  # the application may have set this attribute itself
        # The application may itself have added modules to the package `cassandra`, such as a
        # framework's backend: names in these modules are not missing.
        if any(".".join(parts[:end]) in program.own_modules for end in range(2, len(parts) + 1)):
            return ""
        is_private = any(part.startswith("_") for part in parts)
        return fact.name if is_private == self.is_private else ""


@dataclass(frozen=True)
class NameOf(Matcher):
    """Matches names of the driver.

    :param names: the names. Names inside these modules and classes match, too.
    :param is_import: True matches imports only. False matches all other uses only.
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
    """Matches the import of a module that is not part of the driver.

    :param names: the modules. Modules and names inside them match, too.
    :param is_alone: True to match even if the application does not import the driver at all.
    """

    names: tuple[str, ...]
    is_alone: bool = False

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name of the module if it is in `names`; otherwise ""."""
        # Unless `is_alone` is True, the module only matters if the application also imports the
        # driver.
        if not isinstance(fact, Module) or not (self.is_alone or names.PACKAGE in program.imports):
            return ""
        matches = any(
            fact.name == module or fact.name.startswith(module + ".") for module in self.names
        )
        return fact.name if matches else ""


@dataclass(frozen=True)
class PrivateAttribute(Matcher):
    """Matches a private attribute that objects of this driver do not have."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return "Class.attribute" if the application uses such an attribute; otherwise ""."""
        # `is_there` is None if we cannot know if this driver has the attribute. Only False matches.
        if not isinstance(fact, Attribute) or fact.is_there is not False:
            return ""
        # Names with two leading and two trailing underscores belong to Python itself.
        if not fact.name.startswith("_") or fact.name.endswith("__"):
            return ""
        # If the application itself sets or defines an attribute with this name, the code may use
        # the application's attribute, and not an attribute of the driver.
        if fact.name in program.stored or fact.name in program.defined:
            return ""
        return f"{fact.owner.rpartition('.')[2]}.{fact.name}"


# Attributes of `unittest.mock` objects. Tests often annotate a mock with a class of the driver,
# which does not have these attributes.
OF_MOCKS = re.compile(
    "assert_.*|call_args(_list)?|call_count|called|configure_mock|attach_mock|method_calls|"
    "mock_add_spec|mock_calls|reset_mock|return_value|side_effect"
)


@dataclass(frozen=True)
class MissingAttribute(Matcher):
    """Matches a public attribute that objects of this driver do not have.

    :param owners: the classes of these objects. It must not contain classes such as policies, from
        which applications derive: the objects may belong to a subclass that has the attribute.
    """

    owners: tuple[str, ...]

    def match(self, fact: Fact, program: Program) -> str:
        """Return "Class.attribute" if the application uses such an attribute; otherwise ""."""
        # `is_there` is None if we cannot know if this driver has the attribute. Only False matches.
        # `is_own` marks objects of an application's subclass, which may have the attribute.
        if not isinstance(fact, Attribute) or fact.is_there is not False or fact.is_own:
            return ""
        if fact.owner not in definition_names(self.owners) or OF_MOCKS.fullmatch(fact.name):
            return ""
        # `PrivateAttribute` reports private names. If the application itself sets or defines an
        # attribute with this name, the code may use the application's attribute.
        if fact.name.startswith("_") or fact.name in program.stored | program.defined:
            return ""
        return f"{fact.owner.rpartition('.')[2]}.{fact.name}"


@dataclass(frozen=True)
class Setting(Matcher):
    """Matches an argument, or the assignment of an attribute, that has certain values.

    :param callees: the functions, classes or methods that have the argument.
    :param name: the name of the argument.
    :param values: the constants that match. If this is empty, all values match except `harmless`.
    :param members: the names of enumeration members that match, too.
    :param harmless: the constants that do not match.
    :param is_stored: True also matches an assignment to the attribute that is called `name`.
    """

    callees: tuple[str, ...]
    name: str
    values: tuple[object, ...] = ()
    members: tuple[str, ...] = ()
    harmless: tuple[object, ...] = (None,)
    is_stored: bool = False

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the argument, or the assignment; "" for no match."""
        if isinstance(fact, Stored):
            if not self.is_stored or fact.name != self.name:
                return ""
            # The callees are constructors. Objects of their classes have attributes with the names
            # of the arguments.
            if fact.value is None or fact.owner not in definition_names(self.callees):
                return ""
            if not self._is_concerned(fact.value):
                return ""
            class_name = fact.owner.rpartition(".")[2]
            return f"{class_name}.{self.name} = {short(fact.value)}"
        if not isinstance(fact, Call) or fact.callee not in definition_names(self.callees):
            return ""
        argument = fact.keywords.get(self.name) or self._by_position(fact)
        if argument is None or not self._is_concerned(argument):
            return ""
        return f"{fact.method}({self.name}={short(argument)})"

    def _by_position(self, call: Call) -> ast.expr | None:
        """Return the argument if the call passes it by position; otherwise None."""
        position = names.position(call.callee, self.name)
        if position is None or len(call.arguments) <= position:
            return None
        # If a `*args` precedes the argument, we cannot know which argument has this position.
        is_known = not any(
            isinstance(argument, ast.Starred) for argument in call.arguments[: position + 1]
        )
        return call.arguments[position] if is_known else None

    def _is_concerned(self, argument: ast.expr) -> bool:
        """Return True if the difference applies to an argument with this value."""
        value = constant(argument)
        if self.values:
            if named_text(argument) in self.members:
                return True
            return any(
                # Compare the types, too, because True == 1 in Python.
                type(value) is type(concerned) and value == concerned
                for concerned in self.values
            )
        # If `values` is empty, all values match except those in `harmless`.
        return not any(value is harmless for harmless in self.harmless)


@dataclass(frozen=True)
class UnknownSetting(Matcher):
    """Matches a keyword argument or attribute that is not a setting of this driver."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the unknown arguments, or the assignment; "" for no match."""
        if isinstance(fact, Stored) and fact.is_refused:
            return f"{fact.owner.rpartition('.')[2]}.{fact.name} = ..."
        if not isinstance(fact, Call) or not fact.unknown:
            return ""
        return f"{fact.method}({', '.join(f'{name}=...' for name in fact.unknown)})"


@dataclass(frozen=True)
class CallOf(Matcher):
    """Matches a call of a function or method.

    :param callees: the functions and methods.
    :param methods: names of methods that only drivers have. A call of such a method matches even if
        the class of the object is not known. It does not match if the application defines a
        function or class with this name.
    """

    callees: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name of the function, as in ``execute()``; "" for no match."""
        if not isinstance(fact, Call):
            return ""
        is_known = fact.callee in definition_names(self.callees)
        # True for a method call on an object whose class is not known.
        is_method = (
            not fact.callee
            and fact.method in self.methods
            # If the application defines this name itself, the call may be of that function.
            and fact.method not in program.defined
            and isinstance(fact.node, ast.Call)
            and isinstance(fact.node.func, ast.Attribute)
        )
        return f"{fact.method}()" if is_known or is_method else ""


@dataclass(frozen=True)
class TextOf(Matcher):
    """Matches a string literal.

    :param pattern: a regular expression that must match the whole string.
    :param callees: endings of function names. If this is not empty, the string must be an argument
        of such a function.
    :param not_of: endings of function names. A string that is an argument of such a function does
        not match, because another entry of the table reports it.
    """

    pattern: str
    callees: tuple[str, ...] = ()
    not_of: tuple[str, ...] = ()

    def match(self, fact: Fact, program: Program) -> str:
        """Return the string in quotes; "" for no match."""
        if not isinstance(fact, Text) or not re.fullmatch(self.pattern, fact.value):
            return ""
        # Only strings that are passed to these functions count.
        if self.callees and not fact.callee.endswith(self.callees):
            return ""
        # Strings that are passed to these functions do not count.
        if self.not_of and fact.callee.endswith(self.not_of):
            return ""
        return repr(fact.value)


@dataclass(frozen=True)
class AttributeOfClass(Matcher):
    """Matches a name that an application's subclass of a driver class defines in its body.

    :param base: the class of the driver.
    :param name: the defined name.
    """

    base: str
    name: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the name if such a subclass defines it; otherwise ""."""
        matches = (
            isinstance(fact, ClassAttribute)
            and not definition_names((self.base,)).isdisjoint(fact.bases)
            and fact.name == self.name
        )
        return self.name if matches else ""


@dataclass(frozen=True)
class DerivedFrom(Matcher):
    """Matches an application's class that is derived from a class of the driver, or its subclass.

    :param base: the class of the driver.
    """

    base: str

    def match(self, fact: Fact, program: Program) -> str:
        """Return the names of both classes, ``class MyPolicy(RetryPolicy)``; "" for no match."""
        if not isinstance(fact, Derived) or not isinstance(fact.node, ast.ClassDef):
            return ""
        derived_class, base_class = names.find(fact.base), names.find(self.base)
        if (
            not isinstance(derived_class, type)
            or not isinstance(base_class, type)
            or not issubclass(derived_class, base_class)
        ):
            return ""
        return f"class {fact.node.name}({fact.base.rpartition('.')[2]})"


@dataclass(frozen=True)
class NoticedAs(Matcher):
    """Matches a `Noticed` of a certain kind.

    A `Noticed` is a fact that no single expression shows.

    :param kind: the kind of the fact.
    :param unless: called with the `Program`. If it returns True, nothing matches.
    """

    kind: str
    unless: Callable[[Program], bool] | None = None

    def match(self, fact: Fact, program: Program) -> str:
        """Return the application's code in short; "" for no match."""
        if not isinstance(fact, Noticed) or fact.kind != self.kind:
            return ""
        return "" if self.unless is not None and self.unless(program) else fact.code


@dataclass(frozen=True)
class RemovedFromList(Matcher):
    """Matches ``update(column__remove=...)`` if the column is a list in all models that have it."""

    def match(self, fact: Fact, program: Program) -> str:
        """Return the call with the argument; "" for no match."""
        if not isinstance(fact, Noticed) or not fact.kind.startswith(LIST_REMOVE):
            return ""
        column = fact.kind.removeprefix(LIST_REMOVE)
        # We do not know which model is updated. So the column must be a list in all models that
        # have a column of this name.
        is_list = column in program.lists and column not in program.other_columns
        return fact.code if is_list else ""
