"""Parses strings that name types: the names of the server's classes, and the names of CQL types.

A class name is ``Name`` or ``Name(parameter, ...)``. Each parameter is again a class name, which
may be preceded by the name of a field (``field:``) or an alias (``alias=>``). The names of
user-defined types and of their fields are written as hex digits.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cassandra._patterns import pattern
from cassandra.cqltypes.base import (
    CassandraTypeType,
    _by_cassname,
    _by_cqlname,
    _CassandraType,
    apache_cassandra_type_prefix,
    public,
    trim_if_startswith,
)
from cassandra.cqltypes.containers import FrozenType, VectorType, _Wrapper
from cassandra.cqltypes.custom import UnrecognizedType, mkUnrecognizedType
from cassandra.cqltypes.scalars import CounterColumnType
from cassandra.cqltypes.udt import UserType

# Real schemas are never nested so deeply. The parser is recursive, so without this limit a hostile
# server could exhaust the stack.
_MAX_DEPTH = 64
# A token of a server's class name: an arrow, a parenthesis or separator, a name, or a quoted text.
_TOKEN = pattern(r"\s*(?:(=>)|([(),:])|([\w.$+\-/]+)|'([^']*)')")

# A node of the parsed string: (name, list of parameters). Each parameter is a tuple (field name or
# None, node). For a name without parentheses, the list is None.
_Node = tuple[str, "list[tuple[str | None, Any]] | None"]


def _split_into_tokens(text: str) -> list[str]:
    """Split a server's class name into names, brackets and separators."""
    tokens = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"unexpected character {text[position:].lstrip()[:1]!r} at {position}")
        # The group that matched has the token without the quotes or spaces around it.
        tokens.append(match[1] or match[2] or match[3] or match[4] or "")
        position = match.end()
    return tokens


class _Reader:
    """A recursive descent parser for the tokens of one type string."""

    __slots__ = ("_position", "_tokens")

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def whole(self) -> _Node:
        """Parse all tokens; return the root node."""
        node = self._read_node(0)
        if self._position < len(self._tokens):
            raise ValueError(f"unexpected {self._peek()!r} after the type")
        return node

    def _read_name(self) -> str:
        name = self._next()
        if not name or name in ("(", ")", ",", ":", "=>"):
            raise ValueError(f"a name is expected, not {name!r}")
        return name

    def _read_node(self, depth: int) -> _Node:
        """Parse a name and its parameters in parentheses; without parentheses, these are None."""
        if depth > _MAX_DEPTH:
            raise ValueError(f"types are nested more than {_MAX_DEPTH} deep")
        name = self._read_name()
        if self._peek() != "(":
            return name, None
        self._next()  # skip the "("
        parameters: list[tuple[str | None, Any]] = []
        while self._peek() != ")":
            field = None
            node = self._read_node(depth + 1)
            if self._peek() in (":", "=>"):
                self._next()
                # The separator shows that the node which we have just parsed is only the name of a
                # field. Parse the field's type.
                field, node = node[0], self._read_node(depth + 1)
            parameters.append((field, node))
            if self._peek() == ",":
                self._next()
            elif self._peek() != ")":
                raise ValueError(f"',' or ')' is expected, not {self._peek()!r}")
        self._next()  # skip the ")"
        return name, parameters


def lookup_casstype_simple(casstype: str) -> type[_CassandraType]:
    """Return the type class for the name of a server class without parameters.

    For an unknown name, return a subclass of `UnrecognizedType`.

    :param casstype: the class name, with or without its Java package.
    """
    short = trim_if_startswith(casstype, apache_cassandra_type_prefix)
    cql_type = _by_cassname.get(short)
    if cql_type is None:
        return mkUnrecognizedType(casstype)
    return cql_type


def _resolve(node: _Node) -> type[_CassandraType]:
    """Return the type class for a parsed class name."""
    name, parameters = node
    base = lookup_casstype_simple(name)
    if parameters is None:
        return base
    if issubclass(base, UserType):
        return _resolve_udt(base, parameters)
    if issubclass(base, VectorType):
        if len(parameters) != 2:
            raise ValueError("VectorType takes 2 parameters")
        (_, element_node), (_, dimension_node) = parameters
        # The parser has made a node for the dimension, too. The node's name is the number.
        dimension, _ = dimension_node
        return base.apply_parameters([_resolve(element_node), dimension])
    subtypes = [_resolve(child) for _, child in parameters]
    fields = [field for field, _ in parameters]
    has_field_names = any(field is not None for field in fields)
    return base.apply_parameters(subtypes, fields if has_field_names else None)


def _resolve_udt(
    base: type[UserType], parameters: list[tuple[str | None, Any]]
) -> type[_CassandraType]:
    """Return the type class for the parameters of a UserType.

    :param parameters: the keyspace, the type's name and the fields, as tuples (field name or None,
        node).
    """
    if len(parameters) < 2:
        raise ValueError("UserType has a keyspace and a name")
    # The parser has made nodes for the keyspace and the type's name. Their names are the two
    # strings.
    keyspace_and_name = [parameters[0][1][0], parameters[1][1][0]]
    types = [_resolve(child) for _, child in parameters[2:]]
    # The keyspace and the type's name come first. They are not fields, so they have no field names.
    names = [None, None, *[field for field, _ in parameters[2:]]]
    if any(name is None for name in names[2:]):
        raise ValueError("a field of a UserType has no name")
    return base.apply_parameters([*keyspace_and_name, *types], names)


def parse_casstype_args(typestring: str) -> type[_CassandraType]:
    """Return the type class for the name of a server class, which may have parameters.

    :param typestring: the class name.
    :raises ValueError: if the class name is malformed.
    """
    return _resolve(_Reader(_split_into_tokens(typestring)).whole())


def lookup_casstype(casstype: str | type) -> type[_CassandraType]:
    """Return the type class for a name such as ``org.apache.cassandra.db.marshal.ListType(...)``.

    :param casstype: the class name, with or without its Java package; a class is returned as it is.
    :raises ValueError: if the name cannot be parsed.
    """
    if isinstance(casstype, type):
        return casstype
    try:
        return parse_casstype_args(casstype)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the type string {casstype!r} cannot be parsed: {error}") from None


def lookup_cqltype(name: str) -> type[_CassandraType]:
    """Return the type class with the CQL name `name`, for example ``int``.

    :param name: the CQL name, without parameters.
    :raises KeyError: if there is no type with this name.
    """
    return _by_cqlname[name]


def is_reversed_casstype(data_type: str) -> bool:
    """Return True if a class name stands for a reversed type (a descending clustering column).

    :param data_type: the class name.
    """
    return trim_if_startswith(data_type, apache_cassandra_type_prefix).startswith("ReversedType(")


def is_counter_type(t: str | type) -> bool:
    """Return True if `t` is the counter type, or a reversed or frozen counter type.

    :param t: a class of `cassandra.cqltypes`, or a class name.
    """
    cls: type = lookup_casstype(t) if isinstance(t, str) else t
    while issubclass(cls, _Wrapper) and cls.subtypes:
        cls = cls.subtypes[0]
    return issubclass(cls, CounterColumnType)


def cql_typename(casstypename: str) -> str:
    """Return the CQL name for a class name, for example ``timestamp`` for ``DateType``.

    :param casstypename: the class name, or the class.
    """
    return lookup_casstype(casstypename).cql_parameterized_type()


# -- CQL type names as strings, and as nested lists of names ---------------------------------------

# A token of a CQL type name: a bracket, a comma, or a name, of which parts may be quoted. The last
# alternative matches a name with a quote that is left open.
_CQL_TOKEN = pattern(
    r"\s*([<>,]|(?:'[^']*'|\"(?:[^\"]|\"\")*\"|[^<>,\s'\"])+(?=[<>,\s]|$)|[^<>,\s]+)"
)


def cqltype_to_python(cql_string: str) -> list[Any]:
    """Split a CQL type name into nested lists of names.

    For example, ``map<text, list<int>>`` becomes ``['map', ['text', 'list', ['int']]]``.

    :param cql_string: the name of the type.
    :raises ValueError: if the brackets do not match, or are nested too deeply.
    """
    # The last list of the stack belongs to the innermost bracket that is still open.
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
    """Join nested lists of names to a CQL type name; the inverse of `cqltype_to_python`.

    :param types: the nested lists.
    """
    parts: list[str] = []
    for node in types:
        if isinstance(node, str):
            parts.append(node)
        else:
            # A nested list has the parameters of the name that precedes it.
            parts[-1] += f"<{python_to_cqltype(node)}>"
    return ", ".join(parts)


def _raise_key_error(name: str) -> Any:
    raise KeyError(name)


def lookup_parameterized_cqltype(
    name: str, user_type: Callable[[str], type[_CassandraType]] = _raise_key_error
) -> type[_CassandraType]:
    """Return the type class for a CQL name with its parameters, such as ``map<text, int>``.

    :param name: the CQL name.
    :param user_type: called with each name that is no type of CQL, in quotes if the name has them;
        returns the class of the user-defined type. By default, such names raise KeyError.
    :raises KeyError: if there is no type with this name.
    :raises ValueError: if the name cannot be parsed.
    """
    (cql_type,) = _types_of_nodes(cqltype_to_python(name), user_type)
    return cql_type


def _types_of_nodes(
    nodes: Sequence[Any], user_type: Callable[[str], type[_CassandraType]]
) -> list[type[_CassandraType]]:
    """Return the types for names in the format of `cqltype_to_python`.

    In this format, a type's parameters follow its name as a list: ``["map", ["text", "int"]]``.
    """
    types: list[type[_CassandraType]] = []
    index = 0
    while index < len(nodes):
        name, parameters = nodes[index], None
        if index + 1 < len(nodes) and isinstance(nodes[index + 1], list):
            parameters = nodes[index + 1]
            index += 1
        index += 1
        types.append(_type_of_name(name, parameters, user_type))
    return types


def _type_of_name(
    name: str, parameters: list[Any] | None, user_type: Callable[[str], type[_CassandraType]]
) -> type[_CassandraType]:
    """Return the type for one name with its parameters."""
    lower_name = name.lower()
    if parameters is None:
        return _by_cqlname[lower_name] if lower_name in _by_cqlname else user_type(name)
    if lower_name == "frozen":
        (cql_type,) = _types_of_nodes(parameters, user_type)
        return cql_type
    if lower_name == "vector":
        *element, dimension = parameters
        return lookup_cqltype(lower_name).apply_parameters(
            [*_types_of_nodes(element, user_type), dimension]
        )
    return lookup_cqltype(lower_name).apply_parameters(_types_of_nodes(parameters, user_type))


def strip_frozen(cql: str) -> str:
    """Return a CQL type name with each ``frozen<x>`` replaced by ``x``.

    :param cql: the name of the type.
    """
    return python_to_cqltype(_without_frozen(cqltype_to_python(cql)))


def _without_frozen(types: list[Any]) -> list[Any]:
    """Remove "frozen" from the nested lists that `cqltype_to_python` returns."""
    result: list[Any] = []
    for index, node in enumerate(types):
        # A nested list has the parameters of the name before it. Skip "frozen" if it has
        # parameters.
        has_parameters = index + 1 < len(types) and isinstance(types[index + 1], list)
        if node == FrozenType.typename and has_parameters:
            continue
        if isinstance(node, list):
            # Replace "frozen" and its parameter list by the items of the list.
            if index and types[index - 1] == FrozenType.typename:
                result.extend(_without_frozen(node))
            else:
                result.append(_without_frozen(node))
        else:
            result.append(node)
    return result


def cql_types_from_string(cql_type: str) -> list[str]:
    """Return a flat list of the names in a CQL type name, without ``frozen``.

    For example, ``map<text, frozen<a>>`` becomes ``['map', 'text', 'a']``.

    :param cql_type: the name of the type.
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


def pickled_type(cls: type[Any]) -> str | tuple[Any, ...]:
    """Return what `copyreg` needs to pickle a type class: its name, or a function call.

    :param cls: a class of `cassandra.cqltypes`.
    """
    # Ordinary classes are pickled by name. A class that was made at run time, for example a class
    # with parameters, is in no module. So pickle what `_unpickled` needs to make the class again.
    return cls.__qualname__ if _is_in_module(cls) else (_unpickled, _parts_of(cls))


def _is_in_module(cls: type[Any]) -> bool:
    """Return False if `cls` was made at run time, for a server's type."""
    return vars(cls).get("_registered", True) or cls is UnrecognizedType


def _parts_of(cls: type[Any]) -> tuple[Any, ...]:
    """Return the arguments of `_unpickled` for a class that was made at run time.

    They have no names of the driver's classes, because another process may have a class of the
    application with such a name. They do not have the subtypes that were made at run time either,
    because cloudpickle would pickle these with all their attributes.
    """
    if issubclass(cls, UnrecognizedType):
        return (cls.cass_parameterized_type(full=True),)
    base = next(filter(_is_in_module, cls.__mro__))
    subtypes = [
        subtype if _is_in_module(subtype) else _parts_of(subtype) for subtype in cls.subtypes
    ]
    if issubclass(cls, UserType):
        return base, subtypes, cls.fieldnames, (cls.keyspace, cls.typename, cls.mapped_class)
    return base, subtypes, cls.fieldnames, getattr(cls, "vector_size", None)


def _unpickled(
    base: Any, subtypes: Sequence[Any] = (), names: Any = None, details: Any = None
) -> type[_CassandraType]:
    """Return the type class that `_parts_of` has taken apart.

    :param base: the class without its parameters, or the name of a server's class.
    :param subtypes: the parameters; a tuple of parts for a class that was made at run time.
    :param names: the names of the fields, or None.
    :param details: the dimension of a vector; the keyspace, the name and the mapped class of a
        user-defined type.
    """
    if isinstance(base, str):
        return lookup_casstype(base)
    types = [_unpickled(*part) if isinstance(part, tuple) else part for part in subtypes]
    cql_type: type[_CassandraType]
    if issubclass(base, UserType):
        keyspace, name, mapped_class = details
        cql_type = base.make_udt_class(keyspace, name, names or (), types, mapped_class)
    elif issubclass(base, VectorType) and types:
        cql_type = base.apply_parameters((*types, details))
    else:
        cql_type = base.apply_parameters(types, names) if types else base
    return cql_type


copyreg.pickle(CassandraTypeType, pickled_type)
