"""Facts: what the source of an application shows about its use of the driver.

`reader` collects the facts. `matchers` decide which facts show that the application uses something
that differs between this driver and the driver that the application was written for
(cassandra-driver or scylla-driver).

Names of modules, classes and functions are full, dotted names. A class of the driver always has the
same name, such as ``cassandra.cluster.Session``, even if the application has imported the class
from another module.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Program:
    """What the check knows about all files of the application together.

    :param imports: the top-level modules that at least one file imports.
    :param defined: names of the application's own functions and classes.
    :param stored: names of variables and attributes that the application assigns.
    :param lists: names of columns of cqlengine models that are lists.
    :param other_columns: names of all other columns of cqlengine models.
    :param own_modules: modules that the application itself adds to the package ``cassandra``.
    :param start_methods: the start methods of `multiprocessing` that the application sets, such as
        "spawn"; empty if it keeps the default.
    """

    imports: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    other_columns: set[str] = field(default_factory=set)
    own_modules: set[str] = field(default_factory=set)
    start_methods: set[str] = field(default_factory=set)

    @property
    def forks(self) -> bool:
        """True if child processes may be forks of their parent, which is the default on Linux."""
        return not self.start_methods or "fork" in self.start_methods


@dataclass
class Fact:
    """The base class of facts. Each fact belongs to one location in a file.

    :param node: the syntax node that shows the fact.
    :param is_guarded: True if the application can cope with a failure of this code. For example,
        the code is in a ``try`` with a suitable handler, or under ``if TYPE_CHECKING``.
    """

    node: ast.expr | ast.stmt | ast.alias
    is_guarded: bool


@dataclass
class Name(Fact):
    """A name of the driver that the application imports, or uses as an attribute.

    For example, it imports ``cassandra.cluster`` and uses ``cassandra.cluster.Cluster``.

    :param name: the full, dotted name by which the application refers to it.
    :param is_there: True if this driver has the name, False if it does not, None if we cannot know.
    :param is_import: True if an import statement has the name.
    """

    name: str
    is_there: bool | None
    is_import: bool


@dataclass
class Module(Fact):
    """An import of a module that is not part of the driver.

    :param name: the name of the module.
    """

    name: str


@dataclass
class Attribute(Fact):
    """Access to an attribute of a driver object.

    :param owner: the object's class.
    :param name: the attribute.
    :param is_there: True if objects of the class have the attribute in this driver, False if they
        do not, None if we cannot know.
    :param is_own: True if the object belongs to an application's class that is derived from
        `owner`.
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
    :param value: the assigned expression; None if it is not known.
    :param is_refused: True if this driver raises an error for the assignment, because it treats the
        name as a misspelt setting.
    """

    owner: str
    name: str
    value: ast.expr | None
    is_refused: bool


@dataclass
class Call(Fact):
    """A call of a function, class or method.

    :param callee: the full name of the called function; "" if it is not known.
    :param method: the last part of the name that the application calls: "execute" for
        ``session.execute(...)``.
    :param arguments: the positional arguments.
    :param keywords: the keyword arguments, by name.
    :param unknown: the names of keyword arguments that this driver's function does not accept.
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
    :param callee: the name of the function that gets the string as an argument; for a keyword
        argument, "function:keyword". "" if the string is not an argument.
    """

    value: str
    callee: str


@dataclass
class ClassAttribute(Fact):
    """A name that is defined in the body of an application's class.

    :param bases: the classes of the driver that the application's class is derived from.
    :param name: the defined name.
    """

    bases: Sequence[str]
    name: str


@dataclass
class Derived(Fact):
    """An application's class that is derived from a class of the driver.

    :param base: the class of the driver.
    """

    base: str


@dataclass
class Noticed(Fact):
    """A fact that no single expression shows, such as a callback that blocks.

    :param kind: the kind of fact, which the matcher `NoticedAs` compares.
    :param code: the application's code, shortened.
    """

    kind: str
    code: str


LONGEST = 50  # the maximum number of characters of code in a finding


def short(node: ast.AST) -> str:
    """Return the code of an expression; cut it if it is longer than `LONGEST`.

    :param node: the syntax node of the expression.
    """
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
