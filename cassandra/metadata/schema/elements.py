"""The smaller parts of keyspaces: columns, indexes, triggers, types, functions and aggregates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._habits import COLUMN, add_habits
from cassandra._imports import import_module
from cassandra._patterns import pattern
from cassandra.cqltypes.scalars import SCALARS
from cassandra.util.cql_text import (
    cql_map,
    cql_string,
    maybe_escape_name,
    protect_names,
    protect_type_or_function,
    protect_value,
)
from cassandra.util.pickles import restore
from cassandra.versions import SignatureDescriptor

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadata
else:
    from cassandra._impl import bases


def _thawed(cql_type: str) -> str:
    """Return `cql_type` as CQL, without the outermost ``frozen<...>``.

    The server stores the types of arguments and results with ``frozen``, but CREATE FUNCTION and
    CREATE AGGREGATE reject ``frozen`` in these types.
    """
    cql_type = _type_as_cql(cql_type)
    return cql_type[len("frozen<") : -1] if cql_type.startswith("frozen<") else cql_type


# The names of types in a type's CQL. Strings are Java classes, and numbers the sizes of vectors.
_TYPE_NAME = pattern(r"""'[^']*'|"(?:[^"]|"")*"|[^<>,\s]+""")
_SCALARS = frozenset({"text", *(cls.typename for cls in SCALARS)})
_CONTAINERS = frozenset({"frozen", "list", "map", "set", "tuple", "vector"})


def _type_as_cql(cql_type: str) -> str:
    """Return a type as servers read it: with quotes for user-defined types named like keywords.

    Servers store ``frozen<json>`` for such a type, and refuse this in a statement.

    :param cql_type: the type as the server stores it.
    """

    def protect(match: re.Match[str]) -> str:
        name = match[0]
        # A container without parameters is a user-defined type of this name.
        is_known = name in _SCALARS or (
            name in _CONTAINERS and cql_type.startswith("<", match.end())
        )
        # Servers store names with capitals in quotes. An application may make other metadata.
        is_stored_so = name[0] in "'\"" or name.isdecimal() or name != name.lower() or "." in name
        if is_known or is_stored_so:
            return name
        return protect_type_or_function(name)

    return _TYPE_NAME.sub(protect, cql_type)


def _target_as_cql(target: str) -> str:
    """Return an index's target in the form for the parentheses of CREATE INDEX.

    ScyllaDB stores the target of a local index as JSON: ``{"pk":["a"],"ck":["b"]}`` becomes ``(a),
    b``.
    """
    # No other target begins with a brace, because names that contain a brace are quoted.
    if not target.startswith("{"):
        return target
    # Import json only here: it is rarely needed, and the import takes as long as building a hundred
    # tables.
    columns = import_module("json").loads(target)
    # "pk" are the columns of the partition key, "ck" is the indexed column.
    partition_key, column = (", ".join(protect_names(columns[part])) for part in ("pk", "ck"))
    return f"({partition_key}), {column}"


class ColumnMask(NamedTuple):
    """The function that masks a column's values (Cassandra 5.0).

    A role without the permission UNMASK gets the result of the function instead of the value.

    :param keyspace: the keyspace of the function.
    :param name: the function's name.
    :param arguments: the arguments of the function after the value, as CQL literals; () by default.
    """

    keyspace: str
    name: str
    arguments: tuple[str, ...] = ()

    def as_cql(self) -> str:
        """Return the CQL that follows the column's type.

        For example: ``MASKED WITH system.mask_inner(1, null)``.
        """
        function = f"{maybe_escape_name(self.keyspace)}.{protect_type_or_function(self.name)}"
        return f"MASKED WITH {function}({', '.join(self.arguments)})"


class DroppedColumn(NamedTuple):
    """A column that was dropped from the table.

    If you add a column with this name again, it must have the same type.

    :param name: the name of the column.
    :param cql_type: the type of the column, as CQL.
    :param dropped_time: the time at which the column was dropped.
    :param is_static: True if the column was static.
    """

    name: str
    cql_type: str
    dropped_time: Any
    is_static: bool


class ColumnMetadata(bases.ColumnBase):
    """One column of a table or view.

    :param table_metadata: the table or view that has the column, stored as `table`.
    :param column_name: the name of the column, stored as `name`.
    :param cql_type: the type of the column, as CQL.
    :param is_static: True if the column has one value for each partition.
    :param is_reversed: True for a clustering column in descending order.
    :param mask: a `ColumnMask`, or None.
    """

    __slots__ = ()

    def __init__(
        self,
        table_metadata: TableMetadata | MaterializedViewMetadata,
        column_name: str,
        cql_type: str,
        is_static: bool = False,
        is_reversed: bool = False,
        mask: ColumnMask | None = None,
    ) -> None:
        self.table = table_metadata
        self.name = column_name
        self.cql_type = cql_type
        self.is_static = is_static
        self.is_reversed = is_reversed
        self.mask = mask

    @property
    def typestring(self) -> str:
        """The column's type as CQL."""
        return self.cql_type

    def as_cql(self) -> str:
        """Return the column as in CREATE TABLE: ``name type STATIC``."""
        text = f"{maybe_escape_name(self.name)} {_type_as_cql(self.cql_type)}"
        # The grammar requires this order: STATIC, then MASKED WITH.
        if self.is_static:
            text += " static"
        if self.mask is not None:
            text += f" {self.mask.as_cql()}"
        return text

    def __str__(self) -> str:
        return f"{self.name} {self.cql_type}"

    def __repr__(self) -> str:
        return f"<ColumnMetadata: {self}>"


class IndexMetadata:
    """A secondary index.

    :param keyspace_name: the name of the keyspace.
    :param table_name: the name of the table.
    :param index_name: the name of the index, stored as `name`.
    :param kind: "KEYS", "COMPOSITES" or "CUSTOM".
    :param index_options: ``target`` and further options by name; ``class_name`` for CUSTOM.
    """

    __slots__ = ("index_options", "keyspace_name", "kind", "name", "table_name")

    __setstate__ = restore

    def __init__(
        self,
        keyspace_name: str,
        table_name: str,
        index_name: str,
        kind: str,
        index_options: Mapping[str, str],
    ) -> None:
        self.keyspace_name = keyspace_name
        self.table_name = table_name
        self.name = index_name
        self.kind = kind
        self.index_options = index_options

    def as_cql_query(self) -> str:
        """Return the CREATE INDEX statement, without a semicolon."""
        # Copy the options, because `pop` must not remove the target from the metadata.
        options = dict(self.index_options)
        target = _target_as_cql(options.pop("target", ""))
        table_name = f"{maybe_escape_name(self.keyspace_name)}.{maybe_escape_name(self.table_name)}"
        # The name of the index is written without a keyspace, because an index is always in the
        # keyspace of its table.
        name = maybe_escape_name(self.name)
        # KEYS and COMPOSITES say how the server stores the index. CREATE INDEX has no syntax for
        # them.
        if self.kind != "CUSTOM":
            return f"CREATE INDEX {name} ON {table_name} ({target})"
        class_name = options.pop("class_name", "")
        query = (
            f"CREATE CUSTOM INDEX {name} ON {table_name} ({target}) USING {cql_string(class_name)}"
        )
        if options:
            query += f" WITH OPTIONS = {cql_map(options)}"
        return query

    def export_as_string(self) -> str:
        """Return the CREATE INDEX statement with its semicolon."""
        return self.as_cql_query() + ";"

    def __repr__(self) -> str:
        return f"<IndexMetadata: {self.keyspace_name}.{self.name}>"


class TriggerMetadata:
    """A trigger.

    :param table_metadata: the table, stored as `table`.
    :param trigger_name: the name of the trigger, stored as `name`.
    :param options: a mapping with ``class``, the Java class that the trigger runs.
    """

    __slots__ = ("name", "options", "table")

    def __init__(
        self,
        table_metadata: TableMetadata,
        trigger_name: str,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.table = table_metadata
        self.name = trigger_name
        self.options = options

    def as_cql_query(self) -> str:
        """Return the CREATE TRIGGER statement, without a semicolon."""
        where = (
            f"{maybe_escape_name(self.table.keyspace_name)}.{maybe_escape_name(self.table.name)}"
        )
        class_name = protect_value((self.options or {}).get("class"))
        return f"CREATE TRIGGER {maybe_escape_name(self.name)} ON {where} USING {class_name}"

    def export_as_string(self) -> str:
        """Return the CREATE TRIGGER statement with its semicolon."""
        return self.as_cql_query() + ";"

    def __repr__(self) -> str:
        return f"<TriggerMetadata: {self.name}>"


class UserType:
    """A user-defined type.

    :param keyspace: the name of the keyspace.
    :param name: the name of the type.
    :param field_names: the names of the fields, in order.
    :param field_types: the types of the fields as CQL, in the same order.
    :raises ValueError: if the two lists differ in length.
    """

    __slots__ = ("field_names", "field_types", "keyspace", "name")

    __setstate__ = restore

    def __init__(
        self, keyspace: str, name: str, field_names: Sequence[str], field_types: Sequence[str]
    ) -> None:
        # The server stores names and types in two lists. If their lengths differ, we cannot tell
        # which type belongs to which field.
        if len(field_names) != len(field_types):
            raise ValueError(
                f"type {keyspace}.{name} has {len(field_names)} field names and {len(field_types)} "
                "types"
            )
        self.keyspace = keyspace
        self.name = name
        self.field_names = list(field_names)
        self.field_types = list(field_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the CREATE TYPE statement, without a semicolon.

        :param formatted: True writes each field on a separate line.
        """
        fields = [
            f"{maybe_escape_name(name)} {_type_as_cql(cql_type)}"
            for name, cql_type in zip(self.field_names, self.field_types, strict=True)
        ]
        newline, indent = ("\n", "    ") if formatted else ("", "")
        separator = f",{newline}{indent}" if formatted else ", "
        type_name = f"{maybe_escape_name(self.keyspace)}.{protect_type_or_function(self.name)}"
        return f"CREATE TYPE {type_name} ({newline}{indent}{separator.join(fields)}{newline})"

    def export_as_string(self) -> str:
        """Return the formatted CREATE TYPE statement with its semicolon."""
        return self.as_cql_query(formatted=True) + ";"

    def __repr__(self) -> str:
        return f"<UserType: {self.keyspace}.{self.name}>"


class Function:
    """A user-defined function.

    :param keyspace: the name of the keyspace.
    :param name: the name of the function.
    :param argument_types: the types of the arguments as CQL, in order.
    :param argument_names: the names of the arguments, in the same order.
    :param return_type: the type of the result, as CQL.
    :param language: the language of the body, for example "java" or "lua".
    :param body: the source code of the function.
    :param called_on_null_input: False if the result is null when an argument is null.
    :param deterministic: True if equal arguments give equal results (DataStax Enterprise).
    :param monotonic: True if the function is monotonic in all its arguments (DataStax Enterprise).
    :param monotonic_on: a sequence with the name of the argument in which the function is
        monotonic, or an empty sequence (DataStax Enterprise).
    :raises ValueError: if the arguments have more names than types, or fewer.
    """

    __slots__ = (
        "argument_names", "argument_types", "body", "called_on_null_input", "deterministic",
        "keyspace", "language", "monotonic", "monotonic_on", "name", "return_type",
    )  # fmt: skip

    __setstate__ = restore

    def __init__(
        self,
        keyspace: str,
        name: str,
        argument_types: Sequence[str],
        argument_names: Sequence[str],
        return_type: str,
        language: str,
        body: str,
        called_on_null_input: bool,
        deterministic: bool = False,
        monotonic: bool = False,
        monotonic_on: Sequence[str] = (),
    ) -> None:
        if len(argument_names) != len(argument_types):
            counts = f"{len(argument_names)} argument names and {len(argument_types)} types"
            raise ValueError(f"function {keyspace}.{name} has {counts}")
        self.keyspace = keyspace
        self.name = name
        self.argument_types = list(argument_types)
        self.argument_names = list(argument_names)
        self.return_type = return_type
        self.language = language
        self.body = body
        self.called_on_null_input = called_on_null_input
        self.deterministic = deterministic
        self.monotonic = monotonic
        self.monotonic_on = list(monotonic_on)

    @property
    def signature(self) -> str:
        """``name(type,type)``, the key in `KeyspaceMetadata.functions`."""
        # Functions may be overloaded, so a name only identifies a function together with its types.
        return SignatureDescriptor.format_signature(self.name, self.argument_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the CREATE FUNCTION statement, without a semicolon.

        :param formatted: True writes each clause on a separate line.
        """
        names = protect_names(self.argument_names)
        arguments = [
            f"{name} {_thawed(cql_type)}"
            for name, cql_type in zip(names, self.argument_types, strict=True)
        ]
        function_name = f"{maybe_escape_name(self.keyspace)}.{protect_type_or_function(self.name)}"
        # A string between $$ needs no escapes, but cannot contain $$ or end in $.
        fits_dollars = "$$" not in self.body and not self.body.endswith("$")
        body = f"$${self.body}$$" if fits_dollars else cql_string(self.body)
        clauses = [
            f"CREATE FUNCTION {function_name}({', '.join(arguments)})",
            "CALLED ON NULL INPUT" if self.called_on_null_input else "RETURNS NULL ON NULL INPUT",
            f"RETURNS {_thawed(self.return_type)}",
        ]
        if self.deterministic:
            clauses.append("DETERMINISTIC")
        if self.monotonic_on:
            # The clause takes the name of one argument.
            clauses.append(f"MONOTONIC ON {maybe_escape_name(self.monotonic_on[0])}")
        elif self.monotonic:
            # No argument is named, so the function is monotonic in all its arguments.
            clauses.append("MONOTONIC")
        clauses += [f"LANGUAGE {self.language}", f"AS {body}"]
        return ("\n    " if formatted else " ").join(clauses)

    def export_as_string(self) -> str:
        """Return the formatted CREATE FUNCTION statement with its semicolon."""
        return self.as_cql_query(formatted=True) + ";"

    def __repr__(self) -> str:
        return f"<Function: {self.keyspace}.{self.signature}>"


class Aggregate:
    """A user-defined aggregate.

    :param keyspace: the name of the keyspace.
    :param name: the name of the aggregate.
    :param argument_types: the types of the arguments as CQL, in order.
    :param state_func: the name of the function that computes the next state from the state and the
        arguments of a row.
    :param state_type: the type of the state, as CQL.
    :param final_func: the name of the function that computes the result from the last state, or
        None.
    :param initial_condition: the first state as a CQL literal; None for null.
    :param return_type: the type of the result, as CQL.
    :param deterministic: True if equal rows give equal results (DataStax Enterprise).
    :param reduce_func: the name of the function that joins two states, or None (ScyllaDB).
    """

    __slots__ = (
        "argument_types", "deterministic", "final_func", "initial_condition", "keyspace", "name",
        "reduce_func", "return_type", "state_func", "state_type",
    )  # fmt: skip

    __setstate__ = restore

    def __init__(
        self,
        keyspace: str,
        name: str,
        argument_types: Sequence[str],
        state_func: str,
        state_type: str,
        final_func: str | None,
        initial_condition: str | None,
        return_type: str,
        deterministic: bool = False,
        reduce_func: str | None = None,
    ) -> None:
        self.keyspace = keyspace
        self.name = name
        self.argument_types = list(argument_types)
        self.state_func = state_func
        self.state_type = state_type
        self.final_func = final_func
        self.initial_condition = initial_condition
        self.return_type = return_type
        self.deterministic = deterministic
        self.reduce_func = reduce_func  # only ScyllaDB has it

    @property
    def signature(self) -> str:
        """``name(type,type)``, the key in `KeyspaceMetadata.aggregates`."""
        return SignatureDescriptor.format_signature(self.name, self.argument_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the CREATE AGGREGATE statement, without a semicolon.

        :param formatted: True writes each clause on a separate line.
        """
        aggregate_name = f"{maybe_escape_name(self.keyspace)}.{protect_type_or_function(self.name)}"
        clauses = [
            f"CREATE AGGREGATE {aggregate_name}({', '.join(map(_thawed, self.argument_types))})",
            # The grammar requires this order of clauses. Function names have no keyspace, because
            # they are always in the keyspace of the aggregate.
            f"SFUNC {protect_type_or_function(self.state_func)}",
            f"STYPE {_thawed(self.state_type)}",
        ]
        if self.reduce_func:
            clauses.append(f"REDUCEFUNC {protect_type_or_function(self.reduce_func)}")
        if self.final_func:
            clauses.append(f"FINALFUNC {protect_type_or_function(self.final_func)}")
        # Without INITCOND the state starts as null.
        if self.initial_condition is not None:
            clauses.append(f"INITCOND {self.initial_condition}")
        if self.deterministic:
            clauses.append("DETERMINISTIC")
        return ("\n    " if formatted else " ").join(clauses)

    def export_as_string(self) -> str:
        """Return the formatted CREATE AGGREGATE statement with its semicolon."""
        return self.as_cql_query(formatted=True) + ";"

    def __repr__(self) -> str:
        return f"<Aggregate: {self.keyspace}.{self.signature}>"


# Applications import these classes from `cassandra.metadata`, so reprs and pickles must name that
# module.
for _class in (
    ColumnMask,
    DroppedColumn,
    ColumnMetadata,
    IndexMetadata,
    TriggerMetadata,
    UserType,
    Function,
    Aggregate,
):
    _class.__module__ = "cassandra.metadata"
del _class


add_habits(ColumnMetadata, COLUMN)
