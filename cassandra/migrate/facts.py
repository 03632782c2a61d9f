"""Facts about an application's use of the driver, read from its source. `matchers` check them.

Names are dotted. A class of the driver has the name of the module that defines it, even if the
application imported it from another module: ``cassandra.cluster.Session``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Program:
    """Facts about all files together.

    :param imports: top-level modules that any file imports.
    :param defined: names of the application's own functions and classes.
    :param stored: names of attributes that the application sets.
    :param lists: names of cqlengine columns that are lists.
    :param other_columns: names of all other cqlengine columns.
    :param own_modules: modules that the application itself adds to the package ``cassandra``.
    :param forks: True if processes may be started by fork; False if the application starts new
        interpreters.
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
    """A fact at one location of a file.

    :param node: the syntax node.
    :param is_guarded: True if the application handles a failure: the node is in a ``try`` with a
        suitable handler, or only type checkers read it.
    """

    node: ast.expr | ast.stmt | ast.alias
    is_guarded: bool


@dataclass
class Name(Fact):
    """A name in the driver's modules and classes that is imported, or used as an attribute.

    :param name: the name, as the application writes it.
    :param is_there: True if this driver has the name. None if we cannot know.
    :param is_import: True if an import statement names it.
    """

    name: str
    is_there: bool | None
    is_import: bool


@dataclass
class Module(Fact):
    """An import of a module that is not part of the driver.

    :param name: the module.
    """

    name: str


@dataclass
class Attribute(Fact):
    """Access to an attribute of a driver object.

    :param owner: the object's class.
    :param name: the attribute.
    :param is_there: True if objects of the class have the attribute in this driver. None if we
        cannot know.
    :param is_own: True if the object's class is a user's class derived from `owner`.
    """

    owner: str
    name: str
    is_there: bool | None
    is_own: bool = False


@dataclass
class Stored(Fact):
    """An assignment to an attribute of a driver object.

    :param owner: the object's class.
    :param name: the attribute.
    :param value: the assigned value. None if it is not known.
    :param is_refused: True if the driver rejects the name as a misspelt setting.
    """

    owner: str
    name: str
    value: ast.expr | None
    is_refused: bool


@dataclass
class Call(Fact):
    """A call of a function, class or method.

    :param callee: the name of the called function, empty if it is not known.
    :param method: the last part of the name, as the application writes it.
    :param arguments: the positional arguments.
    :param keywords: the arguments by name.
    :param unknown: names of arguments that this driver's function does not accept.
    """

    callee: str
    method: str
    arguments: Sequence[ast.expr]
    keywords: Mapping[str, ast.expr]
    unknown: Sequence[str]


@dataclass
class Text(Fact):
    """A string literal in the source.

    :param value: the string.
    :param callee: the function that the string is passed to, or an empty string.
    """

    value: str
    callee: str


@dataclass
class ClassAttribute(Fact):
    """A name that is defined in a user's class.

    :param bases: the driver's classes that the class is derived from.
    :param name: the name.
    """

    bases: Sequence[str]
    name: str


@dataclass
class Derived(Fact):
    """A user's class that is derived from a class of the driver.

    :param base: the class of the driver.
    """

    base: str


@dataclass
class Noticed(Fact):
    """A pattern that only several expressions together show.

    :param kind: the name of the pattern, which matchers look for.
    :param code: the application's code, shortened.
    """

    kind: str
    code: str


LONGEST = 50  # characters of code that a finding shows


def short(node: ast.AST) -> str:
    """Return the code of an expression, cut if it is long.

    :param node: the syntax node of the expression.
    """
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
