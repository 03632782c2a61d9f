"""Facts, by which a program's source tells of the driver, and which `matchers` look at.

Names are dotted. A driver's class has the name of the module that defines it here, however the
program has imported it: ``cassandra.cluster.Session``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Program:
    """The knowledge of all files together.

    :param imports: top-level modules that some file imports.
    :param defined: names of the program's own functions and classes.
    :param stored: names of attributes that the program sets itself.
    :param lists: names of the mapper's columns that are lists.
    :param other_columns: names of the mapper's other columns.
    :param own_modules: modules in the package ``cassandra`` that the program brings itself.
    :param forks: whether processes may be forks; False if it starts new interpreters.
    """

    imports: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    other_columns: set[str] = field(default_factory=set)
    own_modules: set[str] = field(default_factory=set)
    forks: bool = True


@dataclass
class Fact:
    """Something at one place of a file.

    :param node: where it is.
    :param is_guarded: whether the program goes on if it fails: in ``try`` with a handler for it,
        or for type checkers only.
    """

    node: ast.expr | ast.stmt | ast.alias
    is_guarded: bool


@dataclass
class Name(Fact):
    """A name of the driver's modules and classes, imported or reached by attributes.

    :param name: the name, as the program has it.
    :param is_there: whether this driver has it. None if that cannot be said.
    :param is_import: whether an import statement names it.
    """

    name: str
    is_there: bool | None
    is_import: bool


@dataclass
class Module(Fact):
    """An import of a module of others.

    :param name: the module.
    """

    name: str


@dataclass
class Attribute(Fact):
    """An attribute of one of the driver's objects.

    :param owner: the object's class.
    :param name: the attribute.
    :param is_there: whether objects of the class have it here. None if that cannot be said.
    :param is_own: whether the object is of a class of the program's that is derived from it.
    """

    owner: str
    name: str
    is_there: bool | None
    is_own: bool = False


@dataclass
class Stored(Fact):
    """A value that the program gives an attribute of one of the driver's objects.

    :param owner: the object's class.
    :param name: the attribute.
    :param value: the value. None if it is not known.
    :param is_refused: whether the driver takes the name for a misspelt setting.
    """

    owner: str
    name: str
    value: ast.expr | None
    is_refused: bool


@dataclass
class Call(Fact):
    """A call of a function, class or method.

    :param callee: the called name, empty if it is not known.
    :param method: the last part of the name, as the program has it.
    :param arguments: the positional arguments.
    :param keywords: the arguments by name.
    :param unknown: names of arguments that this driver's function does not take.
    """

    callee: str
    method: str
    arguments: Sequence[ast.expr]
    keywords: Mapping[str, ast.expr]
    unknown: Sequence[str]


@dataclass
class Text(Fact):
    """A text in the source.

    :param value: the text.
    :param callee: the function that gets it as an argument, empty if none does.
    """

    value: str
    callee: str


@dataclass
class ClassAttribute(Fact):
    """A name that a class of the program defines.

    :param bases: the classes of the driver that it is derived from.
    :param name: the name.
    """

    bases: Sequence[str]
    name: str


@dataclass
class Derived(Fact):
    """A class that is derived from one of the driver's.

    :param base: the driver's class.
    """

    base: str


@dataclass
class Noticed(Fact):
    """Something that more than one expression says together.

    :param kind: which one: the name that a matcher asks for.
    :param shown: the program's code in short.
    """

    kind: str
    shown: str


LONGEST = 50  # characters of code that a finding shows


def short(node: ast.AST) -> str:
    """Return the code of an expression, cut if it is long.

    :param node: the expression.
    """
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
