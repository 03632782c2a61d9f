"""Type strings to types: the server's class names, and CQL type names.

A class name is ``Name`` or ``Name(parameter, ...)``, and a parameter is a class name again. If
fields have names, ``field:`` or ``alias=>`` stands before it. Names of user-defined types and of
their fields are in hex, so one may consist of digits only.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable
from typing import Any

from cassandra._patterns import pattern
from cassandra.cqltypes.base import (
    CassandraTypeType,
    _by_cassname,
    _by_cqlname,
    apache_cassandra_type_prefix,
    public,
    trim_if_startswith,
)
from cassandra.cqltypes.containers import FrozenType, VectorType, _Wrapper
from cassandra.cqltypes.custom import UnrecognizedType, mkUnrecognizedType
from cassandra.cqltypes.scalars import CounterColumnType
from cassandra.cqltypes.udt import UserType, with_subtypes

# Deeper than any schema; the parser recurses, and a hostile text must not end the process.
_MAX_DEPTH = 64
_TOKEN = pattern(r"\s*(?:(=>)|([(),:])|([\w.$+\-/]+)|'([^']*)')")

# The name, and its parameters as (field name or None, node).
_Node = tuple[str, "list[tuple[str | None, Any]] | None"]


def _tokens(text: str) -> list[str]:
    tokens = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"unexpected character {text[position:].lstrip()[:1]!r} at {position}")
        tokens.append(match[1] or match[2] or match[3] or match[4] or "")
        position = match.end()
    return tokens


class _Reader:
    """A recursive descent over the tokens of one type string."""

    __slots__ = ("_at", "_tokens")

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def whole(self) -> _Node:
        """Return the node of all tokens."""
        node = self._node(0)
        if self._at < len(self._tokens):
            raise ValueError(f"unexpected {self._peek()!r} after the type")
        return node

    def _name(self) -> str:
        name = self._next()
        if not name or name in ("(", ")", ",", ":", "=>"):
            raise ValueError(f"a name is expected, not {name!r}")
        return name

    def _node(self, depth: int) -> _Node:
        if depth > _MAX_DEPTH:
            raise ValueError(f"types are nested more than {_MAX_DEPTH} deep")
        name = self._name()
        if self._peek() != "(":
            return name, None
        self._next()
        parameters: list[tuple[str | None, Any]] = []
        while self._peek() != ")":
            field = None
            node = self._node(depth + 1)
            if self._peek() in (":", "=>"):
                self._next()
                # A field's name looks like a type. Only the token after it tells them apart.
                field, node = node[0], self._node(depth + 1)
            parameters.append((field, node))
            if self._peek() == ",":
                self._next()
            elif self._peek() != ")":
                raise ValueError(f"',' or ')' is expected, not {self._peek()!r}")
        self._next()
        return name, parameters


def lookup_casstype_simple(casstype: str) -> Any:
    """Return the type of a class name without parameters, with or without its package.

    Unknown names get an unrecognized type.

    :param casstype: the class name.
    """
    short = trim_if_startswith(casstype, apache_cassandra_type_prefix)
    cql_type = _by_cassname.get(short)
    if cql_type is None:
        return mkUnrecognizedType(casstype)
    return cql_type


def _resolve(node: _Node) -> Any:
    name, parameters = node
    base = lookup_casstype_simple(name)
    if parameters is None:
        return base
    if issubclass(base, UserType):
        return _resolve_udt(base, parameters)
    if issubclass(base, VectorType):
        if len(parameters) != 2:
            raise ValueError("VectorType takes 2 parameters")
        # The dimension looks like a class name to the reader: it is taken as text.
        return base.apply_parameters([_resolve(parameters[0][1]), parameters[1][1][0]])
    subtypes = [_resolve(child) for _, child in parameters]
    fields = [field for field, _ in parameters]
    return base.apply_parameters(
        subtypes, fields if any(field is not None for field in fields) else None
    )


def _resolve_udt(base: type[UserType], parameters: list[tuple[str | None, Any]]) -> Any:
    if len(parameters) < 2:
        raise ValueError("UserType has a keyspace and a name")
    raw = [parameters[0][1][0], parameters[1][1][0]]
    types = [_resolve(child) for _, child in parameters[2:]]
    # The keyspace and the name come first, and have no field names.
    names = [None, None, *[field for field, _ in parameters[2:]]]
    if any(name is None for name in names[2:]):
        raise ValueError("a field of a UserType has no name")
    return base.apply_parameters([*raw, *types], names)


def parse_casstype_args(typestring: str) -> Any:
    """Return the type of a class name with parameters.

    :param typestring: the class name.
    :raises ValueError: if it is malformed.
    """
    return _resolve(_Reader(_tokens(typestring)).whole())


def lookup_casstype(casstype: str | type) -> Any:
    """Return the type of a class name, like ``org.apache.cassandra.db.marshal.ListType(...)``.

    The package may be left out. A type is returned as it is.

    :param casstype: the class name.
    :raises ValueError: if the name cannot be parsed.
    """
    if isinstance(casstype, type):
        return casstype
    try:
        return parse_casstype_args(casstype)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the type string {casstype!r} cannot be parsed: {error}") from None


def lookup_cqltype(name: str) -> Any:
    """Return the scalar type of a CQL name (``int``).

    :param name: the name.
    :raises KeyError: if there is none.
    """
    return _by_cqlname[name]


def is_reversed_casstype(data_type: str) -> bool:
    """Return True if a class name is the one of a reversed type.

    :param data_type: the class name.
    """
    return trim_if_startswith(data_type, apache_cassandra_type_prefix).startswith("ReversedType(")


def is_counter_type(t: str | type) -> bool:
    """Return True if `t`, a class or class name, is the counter type, even if reversed.

    :param t: a class of `cassandra.cqltypes`, or a class name.
    """
    kind: type = lookup_casstype(t) if isinstance(t, str) else t
    while issubclass(kind, _Wrapper) and kind.subtypes:
        kind = kind.subtypes[0]
    return issubclass(kind, CounterColumnType)


def cql_typename(casstypename: str) -> str:
    """Return the CQL name of a class name: ``timestamp`` for ``DateType``.

    :param casstypename: the class name, or the class.
    """
    name: str = lookup_casstype(casstypename).cql_parameterized_type()
    return name


# -- CQL types as strings and as nested lists of names ---------------------------------------------

_CQL_TOKEN = pattern(r"\s*([<>,]|'[^']*'|\"(?:[^\"]|\"\")*\"|[^<>,\s]+)")


def cqltype_to_python(cql_string: str) -> Any:
    """Return ``['map', ['text', 'list', ['int']]]`` for ``map<text, list<int>>``.

    :param cql_string: the type, a text.
    :raises ValueError: if brackets do not match, or are nested too deep.
    """
    stack: list[list[Any]] = [[]]
    for token in _CQL_TOKEN.findall(cql_string):
        if token == "<":
            inner: list[Any] = []
            stack[-1].append(inner)
            stack.append(inner)
            if len(stack) > _MAX_DEPTH:
                raise ValueError(f"types are nested more than {_MAX_DEPTH} deep")
        elif token == ">":
            if len(stack) == 1:
                raise ValueError(f"{cql_string!r} closes a bracket that it did not open")
            stack.pop()
        elif token != ",":
            stack[-1].append(token)
    if len(stack) != 1:
        raise ValueError(f"{cql_string!r} leaves a bracket open")
    return stack[0]


def python_to_cqltype(types: Iterable[Any]) -> str:
    """Return the CQL type of names in nested lists: the inverse of `cqltype_to_python`.

    :param types: the nested lists.
    """
    parts: list[str] = []
    for node in types:
        if isinstance(node, str):
            parts.append(node)
        else:
            # A list has the parameters of the name before it.
            parts[-1] += f"<{python_to_cqltype(node)}>"
    return ", ".join(parts)


def strip_frozen(cql: str) -> str:
    """Return `cql` without any ``frozen<...>``.

    :param cql: the type, a text.
    """
    return python_to_cqltype(_without_frozen(cqltype_to_python(cql)))


def _without_frozen(types: list[Any]) -> list[Any]:
    nodes: list[Any] = []
    for index, node in enumerate(types):
        if (
            node == FrozenType.typename
            and index + 1 < len(types)
            and isinstance(types[index + 1], list)
        ):
            continue
        if isinstance(node, list):
            # The parameter of frozen takes the place of both.
            if index and types[index - 1] == FrozenType.typename:
                nodes.extend(_without_frozen(node))
            else:
                nodes.append(_without_frozen(node))
        else:
            nodes.append(node)
    return nodes


def cql_types_from_string(cql_type: str) -> list[str]:
    """Return the names in a CQL type one after the other, without ``frozen``.

    For ``map<text, frozen<a>>`` they are ``['map', 'text', 'a']``.

    :param cql_type: the type, a text.
    """
    return [
        token
        for token in _CQL_TOKEN.findall(cql_type)
        if token not in ("<", ">", ",", FrozenType.typename)
    ]


public(
    lookup_casstype_simple,
    parse_casstype_args,
    lookup_casstype,
    is_reversed_casstype,
    is_counter_type,
    cql_typename,
    cqltype_to_python,
    python_to_cqltype,
    strip_frozen,
    cql_types_from_string,
)


def _pickled(kind: type[Any]) -> Any:
    # A class that a server's type was made into stands under its name in no module.
    if vars(kind).get("_registered", True) or kind is UnrecognizedType:
        return kind.__qualname__
    return _unpickled, (
        kind.cass_parameterized_type(full=True),
        getattr(kind, "mapped_class", None),
    )


def _unpickled(name: str, mapped_class: Any) -> Any:
    kind = lookup_casstype(name)
    return kind if mapped_class is None else with_subtypes(kind, kind.subtypes, mapped_class)


copyreg.pickle(CassandraTypeType, _pickled)
