"""Binds values again if the column types of a prepared statement have changed on the server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.cqltypes.codecs.base import begin_page
from cassandra.cqltypes.failures import locate, shown
from cassandra.cqltypes.udt import UserType
from cassandra.engine.prepare.same_values import has_same_values, is_readable_as, is_same_value
from cassandra.errors import BindColumnsChanged
from cassandra.protocol.bind import column_label
from cassandra.protocol.column_specs import with_registered_classes
from cassandra.protocol.marker_names import usual_name
from cassandra.query.prepared import PreparedStatement
from cassandra.query.sent_values import block_of
from cassandra.query.statement import query_head
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.protocol.bind import ValuesBlock
    from cassandra.protocol.column_specs import ColumnMetadata, UserTypes

log = Log("cassandra.cluster")


def changes_of(old_columns: Sequence[ColumnMetadata], new_columns: Sequence[ColumnMetadata]) -> str:
    """Describe the differences between old and new bind columns for an error message.

    Returns "" if there are no differences. New fields of a user-defined type are no difference,
    because values that were bound without them are still valid.
    """
    if len(old_columns) != len(new_columns):
        return f"{len(old_columns)} columns -> {len(new_columns)}"
    return ", ".join(
        f"{old.name} {_type_name(old.type)} -> {new.name} {_type_name(new.type)}"
        f"{_changed_fields(old.type, new.type)}"
        for old, new in zip(old_columns, new_columns, strict=True)
        if not _have_same_name(old, new) or not is_readable_as(old.type, new.type)
    )


def _have_same_name(old: ColumnMetadata, new: ColumnMetadata) -> bool:
    """Return True if two bind markers have the same name.

    Cassandra 6 names some of them otherwise than the version before an upgrade.
    """
    return old.name == new.name or usual_name(old.name) == usual_name(new.name)


def _changed_fields(old: Any, new: Any) -> str:
    """Describe which fields of user-defined types differ, if the types have the same names."""
    if _type_name(old) != _type_name(new):
        return ""
    if issubclass(old, UserType) and _fields_of(old) != _fields_of(new):
        return f" (fields {_fields_of(old)} -> {_fields_of(new)})"
    return "".join(map(_changed_fields, old.subtypes, new.subtypes))


def _fields_of(udt: type[UserType]) -> str:
    """Return the names and types of a user-defined type's fields."""
    fields = zip(udt.fieldnames, map(_type_name, udt.subtypes), strict=True)
    return ", ".join(f"{name} {type_name}" for name, type_name in fields)


def adopt_columns(
    statements: Iterable[PreparedStatement],
    columns: Sequence[ColumnMetadata],
    user_types: UserTypes,
) -> None:
    """Let statements bind values for the current types of their columns.

    Statements for which `changes_of` finds differences are not changed, because values that are
    already bound may no longer be valid. Statements for which user code raises an error are not
    changed, either.

    :param columns: the bind columns that the server has now.
    :param user_types: the classes that are registered for user-defined types.
    """
    current_columns: list[ColumnMetadata] | None = None
    for statement in statements:
        old_columns = statement.column_metadata
        if _have_same_types(old_columns, columns) or changes_of(old_columns, columns):
            continue
        if current_columns is None:
            # The response to the PREPARE may have been decoded without the classes that the
            # application has registered for user-defined types, so put these classes into the
            # column types.
            current_columns = [
                column._replace(type=with_registered_classes(column.type, user_types))
                for column in columns
            ]
        if not _have_same_types(old_columns, current_columns):
            try:
                # Keep the names by which the application binds values.
                statement.renew_columns(
                    [
                        new if new.name == old.name else new._replace(name=old.name)
                        for old, new in zip(old_columns, current_columns, strict=True)
                    ]
                )
            # A user's encryption policy or converter has raised an error. The error must not fail
            # the request, because the values of the request need no new fields.
            except Exception as error:
                log.warning(
                    "%s cannot bind values of new fields yet: %s",
                    query_head(statement.query_string),
                    error,
                )


def adopt_key(
    statements: Iterable[PreparedStatement],
    columns: Sequence[ColumnMetadata],
    key: Sequence[int] | None,
) -> None:
    """Let statements be routed by the partition key that their table has now.

    If the values of a statement have other types than the columns of the key, the key cannot be
    computed from them. Such a statement is not routed by a key any more.

    :param columns: the bind columns that the server has now.
    :param key: for each column of the partition key, the index of its bind marker; empty if one has
        no marker; None if the partition key is not known.
    """
    if key is None:
        return
    for statement in statements:
        indexes = key if _has_values_of(statement.column_metadata, columns, key) else ()
        if has_key(statement, indexes):
            continue
        try:
            statement.renew_key(indexes or None)
        # A user's encryption policy has raised an error, or the server has sent indexes of columns
        # that do not exist. Ignore the error: the partition key only determines which host gets the
        # request, and any host can execute it.
        except Exception as error:
            log.warning(
                "%s cannot be routed by its new key: %s", query_head(statement.query_string), error
            )


def has_key(statement: PreparedStatement, key: Sequence[int] | None) -> bool:
    """Return True if `statement` is routed by this key, or the key is not known (None)."""
    return key is None or tuple(statement.routing_key_indexes or ()) == tuple(key)


def _has_values_of(
    old_columns: Sequence[ColumnMetadata],
    new_columns: Sequence[ColumnMetadata],
    indexes: Iterable[int],
) -> bool:
    """Return True if values for the old columns at `indexes` are values of the new columns."""
    return len(old_columns) == len(new_columns) and all(
        _have_same_name(old_columns[index], new_columns[index])
        and is_readable_as(old_columns[index].type, new_columns[index].type)
        for index in indexes
        if index < len(new_columns)
    )


def _have_same_types(
    old_columns: Sequence[ColumnMetadata], new_columns: Sequence[ColumnMetadata]
) -> bool:
    return len(old_columns) == len(new_columns) and all(
        old.type is new.type for old, new in zip(old_columns, new_columns, strict=True)
    )


def user_types_of(columns: Iterable[ColumnMetadata]) -> Iterator[type[UserType]]:
    """Yield the user-defined types that the types of `columns` contain, at any depth."""
    types = [column.type for column in columns]
    while types:
        cql_type = types.pop()
        if issubclass(cql_type, UserType):
            yield cql_type
        types.extend(cql_type.subtypes)


def _type_name(cql_type: Any) -> str:
    """Return the name of a type. For a user-defined type, this does not include its fields."""
    name: str = cql_type.cql_parameterized_type()
    return name


class Renewed:
    """A statement whose bind columns have changed on the server.

    `before` is the statement before the change; `statement` is a new statement with the new
    columns. The methods convert values that were bound for the old columns.

    :param before: the statement before the change.
    :param response: the server's response to the new PREPARE.
    :param key: the current positions of the partition key; None if they are not known.
    """

    __slots__ = ("_columns", "before", "changes", "statement")

    def __init__(
        self, before: PreparedStatement, response: Any, key: Sequence[int] | None = None
    ) -> None:
        self.before = before
        self.changes = changes_of(before.column_metadata, response.bind_metadata)
        # `bind` passes values by position, so the names and their order must be unchanged.
        old_columns, new_columns = before.column_metadata, response.bind_metadata
        if len(old_columns) != len(new_columns) or not all(
            map(_have_same_name, old_columns, new_columns)
        ):
            raise self.refusal("by other names")
        if before.column_encryption_policy is not None:
            raise self.refusal("of encrypted columns")
        self.statement = PreparedStatement(
            response.bind_metadata,
            response.query_id,
            before.routing_key_indexes if key is None else key,
            before.query_string,
            before.keyspace,
            before.protocol_version,
            response.result_metadata,
            response.result_metadata_id,
            before.is_lwt(),
            codecs=before.codecs,
        )
        # For each column, a pair: the type for which values are already bound, without the
        # application's classes, and the column with its current type.
        self._columns = [
            (with_registered_classes(old.type, {}), new)
            for old, new in zip(before.column_metadata, response.bind_metadata, strict=True)
        ]

    def refusal(self, reason: str) -> BindColumnsChanged:
        """Return the error for values that cannot be bound again.

        :param reason: the end of a sentence that begins with "values that were bound cannot be
            bound again".
        """
        # The driver has prepared the statement itself, and its cache drops it by `when_changed`.
        is_cached = self.before.when_changed is not None
        return BindColumnsChanged(
            f"the bind columns of {query_head(self.before.query_string)} have changed on the "
            f"server since it was prepared ({self.changes}), and values that were bound cannot be "
            f"bound again {reason}: {'execute' if is_cached else 'prepare'} it again"
        )

    def values(self, block: Any) -> ValuesBlock:
        """Bind the values of `block` for the current types, and return the new block.

        :param block: the values that were bound for the old types.
        :raises BindColumnsChanged: if a value does not fit its current type exactly.
        """
        return self.bind(block.values())

    def bind(self, values: Sequence[Any]) -> ValuesBlock:
        """Bind encoded values for the current types.

        :param values: for each column, the bytes of the old type, None or UNSET_VALUE.
        :raises BindColumnsChanged: if a value does not fit its current type exactly.
        """
        if len(values) != len(self._columns):
            raise self.refusal(f"({len(values)} values for {len(self._columns)} columns)")
        return block_of(
            self._renewed_value(value, old_type, column)
            for value, (old_type, column) in zip(values, self._columns, strict=True)
        )

    def _renewed_value(self, value: Any, old_type: Any, column: ColumnMetadata) -> Any:
        """Encode one value for its current type, or raise BindColumnsChanged.

        The application's classes and converters are not called: they have already converted the
        value when it was first bound.

        :param value: the bytes of the old type, None or UNSET_VALUE.
        :param old_type: the type for which the value was encoded.
        :param column: the column with its current type.
        """
        new_type = column.type
        if value is None or value is UNSET_VALUE or is_readable_as(old_type, new_type):
            return value
        if not _has_all_fields(old_type, new_type):
            raise self.refusal(f'(the fields of "{column.name}" have other names)')
        # Check the types before the value is encoded: the encoder of a timestamp would take any
        # number, and warn of some numbers in the event loop's thread.
        if not has_same_values(old_type, new_type):
            raise self.refusal(f'("{column.name}" has values of another kind)')
        begin_page()
        try:
            decoded = old_type.codec().decode_nullable(value)
            renewed = None if decoded is None else new_type.codec().encode(decoded)
        except (TypeError, ValueError) as error:
            locate(error, column_label(column))
            raise self.refusal(f"({error})") from error
        if not is_same_value(old_type, value, new_type, renewed):
            raise self.refusal(
                f'("{column.name}" would be {shown(new_type.codec().decode_nullable(renewed))} '
                f"instead of {shown(decoded)})"
            )
        return renewed


def _has_all_fields(old: Any, new: Any) -> bool:
    """Return True if all fields of the user-defined types in `old` also exist in `new`."""
    if issubclass(old, UserType) and issubclass(new, UserType):
        # Values are converted by field name, so each old field must exist in the new type.
        if not set(old.fieldnames) <= set(new.fieldnames):
            return False
        new_types = dict(zip(new.fieldnames, new.subtypes, strict=True))
        pairs = [
            (old_type, new_types[name])
            for name, old_type in zip(old.fieldnames, old.subtypes, strict=True)
        ]
        return all(_has_all_fields(old_type, new_type) for old_type, new_type in pairs)
    return all(map(_has_all_fields, old.subtypes, new.subtypes))
