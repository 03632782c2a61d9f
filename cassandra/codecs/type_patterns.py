"""Parses the names of CQL types and columns for which converters are registered.

A `TypePattern` matches the types of columns. ``frozen`` is ignored, because it does not change
values. A user-defined type without a keyspace matches the types with this name in all keyspaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._misspelt import nearest
from cassandra.cqltypes.base import CassandraTypeType
from cassandra.cqltypes.containers import VectorType, _Wrapper
from cassandra.cqltypes.parse import cqltype_to_python, lookup_cqltype
from cassandra.cqltypes.scalars import SCALARS
from cassandra.cqltypes.udt import UserType
from cassandra.util.cql_text import protect_name, split_names

if TYPE_CHECKING:
    from cassandra.cqltypes.base import _CassandraType

_ALIASES = {"varchar": "text"}  # another name of a type, and its usual name
# The number of parameters that a type has in angle brackets; None for any number.
_PARAMETER_COUNTS: dict[str, int | None] = {
    "list": 1,
    "set": 1,
    "map": 2,
    "tuple": None,
    "vector": 2,
}
# The words for each value of `_PARAMETER_COUNTS` in an error message.
_COUNTED = {1: "one type", 2: "two types", None: "its types"}
_WRAPPERS = frozenset({"frozen", "reversed"})  # types with the same values as their inner type


class TypePattern(NamedTuple):
    """A CQL type, or all user-defined types with the same name.

    :param name: the type's name.
    :param keyspace: the keyspace of a user-defined type; None for all keyspaces, and for other
        types.
    :param parameters: the patterns of the type's parameters.
    :param dimension: the dimension of a vector, otherwise 0.
    :param is_user_type: True for a user-defined type.
    """

    name: str
    keyspace: str | None = None
    parameters: tuple[TypePattern, ...] = ()
    dimension: int = 0
    is_user_type: bool = False

    def matches(self, cql_type: Any) -> bool:
        """Return True if the pattern matches `cql_type`, a class of `cassandra.cqltypes`."""
        cql_type = bare(cql_type)
        if issubclass(cql_type, UserType):
            return (
                self.is_user_type
                and self.name == cql_type.typename
                and self.keyspace in (None, cql_type.keyspace)
            )
        if self.is_user_type or self.name != _name_of(cql_type):
            return False
        # Here the names are equal. Compare the parameters, too.
        subtypes = cql_type.subtypes
        return (
            self.dimension == getattr(cql_type, "vector_size", 0)
            and len(self.parameters) == len(subtypes)
            and all(
                parameter.matches(subtype)
                for parameter, subtype in zip(self.parameters, subtypes, strict=True)
            )
        )

    @property
    def precision(self) -> int:
        """How precise the pattern is: the number of keyspaces that it names.

        If two patterns match a type, the registry uses the pattern with the higher precision.
        """
        return (self.keyspace is not None) + sum(
            parameter.precision for parameter in self.parameters
        )

    def __str__(self) -> str:
        name = protect_name(self.name) if self.is_user_type else self.name
        if self.keyspace is not None:
            name = f"{protect_name(self.keyspace)}.{name}"
        parameters = [*map(str, self.parameters)]
        if self.dimension:
            parameters.append(str(self.dimension))
        return f"{name}<{', '.join(parameters)}>" if parameters else name


def bare(cql_type: type[_CassandraType]) -> type[_CassandraType]:
    """Return a type without ``frozen``, and without the reversed order of clustering columns."""
    while issubclass(cql_type, _Wrapper) and cql_type.subtypes:
        cql_type = cql_type.subtypes[0]
    return cql_type


def _name_of(cql_type: Any) -> str:
    # A type of a server plug-in has no CQL name. In CQL it is written as its Java class, in quotes.
    name = cql_type.typename or f"'{cql_type.cass_parameterized_type(full=True)}'"
    return _ALIASES.get(name, name)


def pattern_of(cql_type: object) -> TypePattern:
    """Return the pattern for a type.

    :param cql_type: a type in CQL, or a class of `cassandra.cqltypes`.
    :raises TypeError: if `cql_type` is neither a string nor such a class.
    :raises ValueError: if `cql_type` is not the name of a type.
    """
    if isinstance(cql_type, CassandraTypeType):
        return _pattern_of_class(cql_type)
    if not isinstance(cql_type, str):
        raise TypeError(
            "a CQL type is named by a string such as 'list<text>', or by a class of "
            f"cassandra.cqltypes, not by {cql_type!r} ({type(cql_type).__name__})"
        )
    try:
        patterns = _make_patterns(cqltype_to_python(cql_type), cql_type)
    except ValueError as error:
        raise ValueError(f"{cql_type!r} is not a CQL type: {error}") from None
    if len(patterns) != 1:
        raise ValueError(f"{cql_type!r} is not a CQL type: it names {len(patterns)} types")
    return patterns[0]


def _pattern_of_class(cql_type: Any) -> TypePattern:
    """Return the pattern for a class of `cassandra.cqltypes`."""
    cql_type = bare(cql_type)
    if issubclass(cql_type, UserType):
        return TypePattern(cql_type.typename, cql_type.keyspace or None, is_user_type=True)
    parameters = tuple(map(_pattern_of_class, cql_type.subtypes))
    name = _name_of(cql_type)
    parameter_count = _PARAMETER_COUNTS.get(name, 0)
    if name in _PARAMETER_COUNTS and not parameters and parameter_count != 0:
        raise ValueError(f"{name} has no parameters: write 'list<text>', for example")
    dimension = cql_type.vector_size if issubclass(cql_type, VectorType) else 0
    return TypePattern(name, None, parameters, dimension)


def _make_patterns(parsed: list[Any], text: str) -> list[TypePattern]:
    """Return the patterns for parsed types.

    :param parsed: names, each followed by the list of its parameters if it has any: ``map<text,
        list<int>>`` is ["map", ["text", "list", ["int"]]].
    :param text: the CQL, for errors.
    """
    patterns: list[TypePattern] = []
    items: list[Any] = []
    for item in parsed:
        # With blanks beside the dot, the parser returns a keyspace and the name after it as several
        # items: join them.
        previous = items[-1] if items else None
        if (
            isinstance(item, str)
            and isinstance(previous, str)
            and (item.startswith(".") or previous.endswith("."))
        ):
            items[-1] += item
        else:
            items.append(item)
    for index, item in enumerate(items):
        if isinstance(item, list):
            if index == 0 or isinstance(items[index - 1], list):
                raise ValueError("it has brackets without a name before them")
            continue
        next_item = items[index + 1] if index + 1 < len(items) else None
        parameters = next_item if isinstance(next_item, list) else None
        patterns.append(_make_pattern(item, parameters, text))
    return patterns


def _make_pattern(name: str, parameters: list[Any] | None, text: str) -> TypePattern:
    """Return the pattern for a parsed type.

    :param parameters: the parsed types in the brackets after the name; None without brackets.
    :param text: the CQL, for errors.
    """
    lower_name = name.lower()
    if lower_name in _WRAPPERS:
        # Leave out ``frozen``: ``frozen<list<int>>`` has the same values as ``list<int>``.
        inner_patterns = _make_patterns(parameters or [], text)
        if len(inner_patterns) != 1:
            raise ValueError(f"{lower_name} takes one type")
        return inner_patterns[0]
    if lower_name == "vector":
        return _vector_pattern(parameters or [], text)
    if lower_name in _PARAMETER_COUNTS:
        inner_patterns = _make_patterns(parameters or [], text)
        expected = _PARAMETER_COUNTS[lower_name]
        if not inner_patterns or (expected is not None and len(inner_patterns) != expected):
            raise ValueError(f"{lower_name} takes {_COUNTED[expected]} in brackets")
        return TypePattern(lower_name, None, tuple(inner_patterns))
    if parameters is not None:
        raise ValueError(f"{name} takes no types in brackets")
    if name.startswith("'"):  # the Java class of a server plug-in
        return TypePattern(name)
    return _scalar_or_user_type(name)


def _vector_pattern(parameters: list[Any], text: str) -> TypePattern:
    """Return the pattern for a vector.

    :param parameters: the parsed content of the brackets: the element type, and then the dimension
        as a string of digits.
    :param text: the CQL, for errors.
    """
    *element, dimension = parameters or [None]
    inner_patterns = _make_patterns(element, text)
    has_dimension = isinstance(dimension, str) and dimension.isdecimal() and int(dimension) >= 1
    if len(inner_patterns) != 1 or not has_dimension:
        raise ValueError("vector takes a type and a dimension, as in vector<float, 3>")
    return TypePattern("vector", None, tuple(inner_patterns), int(dimension))


def _scalar_or_user_type(name: str) -> TypePattern:
    """Return the pattern for a type without parameters."""
    scalar_name = _ALIASES.get(name.lower(), name.lower())
    try:
        lookup_cqltype(scalar_name)
    except KeyError:
        pass
    else:
        return TypePattern(scalar_name)
    # There is no built-in type with this name, so it is the name of a user-defined type.
    parts = split_names(name)
    if len(parts) > 2:
        raise ValueError(f"{name} has more parts than a keyspace and a name")
    keyspace = parts[0] if len(parts) == 2 else None
    # Raise an error if the name resembles the name of a built-in type, because it is probably
    # misspelt.
    if keyspace is None and '"' not in name:
        suggestion = nearest(scalar_name, [*_SCALARS, *_PARAMETER_COUNTS], 0.85)
        if suggestion is not None:
            raise ValueError(
                f"there is no type {name}; did you mean {suggestion}? (A user-defined type of this "
                f"name is written with its keyspace, or as '\"{name}\"')"
            )
    return TypePattern(parts[-1], keyspace, is_user_type=True)


# The names of the built-in types without parameters, for the suggestion above.
_SCALARS = sorted({cls.typename for cls in SCALARS} - {"empty"})


def column_key(column: object) -> tuple[str, str, str]:
    """Return (keyspace, table, column) of a column.

    :param column: ``keyspace.table.column`` in CQL, where names without quotes are lower case; or a
        tuple of the three names as the server stores them.
    :raises TypeError: if `column` is neither a string nor a tuple.
    :raises ValueError: if `column` does not have three names.
    """
    if isinstance(column, str):
        try:
            names = split_names(column)
        except ValueError as error:
            raise ValueError(f"{column!r} is not a column: {error}") from None
    elif isinstance(column, tuple) and all(isinstance(name, str) for name in column):
        names = list(column)
    else:
        raise TypeError(
            "a column is named by a string 'keyspace.table.column' or a tuple of three strings, "
            f"not by {column!r} ({type(column).__name__})"
        )
    if len(names) != 3 or not all(names):
        raise ValueError(
            f"a column is named as 'keyspace.table.column', but {column!r} has {len(names)} names"
        )
    return names[0], names[1], names[2]
