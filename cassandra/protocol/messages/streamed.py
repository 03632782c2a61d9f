"""The methods of `ResultMessage` with which an application's class reads a result from a file.

An application's protocol handler may map the opcode of RESULT to another class. That class may
override `recv_body`, `recv_results_rows`, `recv_results_metadata`, `type_codes` and so on. Each
method gets a file-like object that is positioned at the first field that the method reads. It must
leave the file after the last of these fields.

The engine does not use these methods for the driver's classes:
`cassandra.protocol.messages.results` reads the bytes of the body directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar

from cassandra._proxies import is_own
from cassandra.errors import ProtocolError
from cassandra.protocol.column_specs import (
    TYPE_CODES,
    ColumnMetadata,
    ResultMetadata,
    UserTypes,
    check_metadata_flags,
    checked_paging_state,
    read_columns,
    type_from,
)
from cassandra.protocol.encrypted import decrypting
from cassandra.protocol.fileio import read_binary_string, read_int, read_string, read_value
from cassandra.protocol.messages.base import MessageType
from cassandra.protocol.opcodes import (
    RESULT_KIND_ROWS,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_HAS_MORE_PAGES,
    ROWS_METADATA_CHANGED,
    ROWS_NO_METADATA,
)
from cassandra.protocol.primitives import Cursor

if TYPE_CHECKING:
    from cassandra.protocol.column_specs import CqlType
    from cassandra.protocol.features import ProtocolFeatures

_Result = TypeVar("_Result")

_VAR_POSITIONAL = 0x04  # inspect.CO_VARARGS; importing inspect would slow down the start

# If a subclass overrides one of these methods, its results must be read by its own methods.
_READING_METHODS = frozenset(
    {
        "read_type",
        "recv",
        "recv_body",
        "recv_prepared_metadata",
        "recv_results_metadata",
        "recv_results_prepared",
        "recv_results_rows",
        "recv_results_schema_change",
        "recv_row",
        "type_codes",
    }
)

# If a subclass overrides one of these, it decides about the types of the columns.
_DESCRIBING_METHODS = frozenset({"read_type", "recv_results_metadata", "type_codes"})


def reads_by_itself(message_type: type[Any]) -> bool:
    """Return True if the message class `message_type` overrides a method that reads from a file."""
    if issubclass(message_type, StreamedResult):
        return _overrides_any(message_type, _READING_METHODS)
    return not issubclass(message_type, MessageType) or not is_own(
        message_type.recv_body, _RECV_BODY
    )


def chooses_types(message_type: type[Any] | None) -> bool:
    """Return True if a class of results overrides a method that reads the types of columns.

    :param message_type: the class; None if there is none.
    """
    return (
        message_type is not None
        and issubclass(message_type, StreamedResult)
        and _overrides_any(message_type, _DESCRIBING_METHODS)
    )


def _overrides_any(message_type: type[StreamedResult], names: frozenset[str]) -> bool:
    """Return True if the class overrides an attribute of `StreamedResult` that is in `names`."""
    # Check the classes for each message, because an application may change them at any time.
    for base in message_type.__mro__:
        if base is StreamedResult:
            break
        if not names.isdisjoint(vars(base)):
            return True
    return False


def call_reader(
    reader: Callable[..., _Result],
    f: BinaryIO,
    version: int,
    features: ProtocolFeatures | None,
    *rest: object,
) -> _Result:
    """Call a method of an application's class with as many arguments as it accepts.

    cassandra-driver documents the parameters ``(f, protocol_version, user_type_map,
    result_metadata, column_encryption_policy)``. Older applications lack the last parameter, and
    some have `protocol_features` after the version.
    """
    # The parameters of a C function or a callable object are unknown, so pass all arguments.
    code = getattr(getattr(reader, "__func__", reader), "__code__", None)
    if code is None:
        return reader(f, version, *rest)
    names = code.co_varnames[: code.co_argcount]
    arguments = (
        (f, version, features, *rest) if "protocol_features" in names else (f, version, *rest)
    )
    if not code.co_flags & _VAR_POSITIONAL:
        # A bound method has already got its first argument, `self` or `cls`.
        accepted_count = len(names) - (1 if hasattr(reader, "__self__") else 0)
        arguments = arguments[:accepted_count]
    return reader(*arguments)


def _parse_arguments(rest: Sequence[Any]) -> tuple[ProtocolFeatures | None, Any, Any, Any]:
    """Interpret the arguments after the version in a call; see `call_reader`.

    :returns: (features, user types, result metadata, column encryption policy); an argument that
        was not passed is None.
    """
    # If there are four arguments, the first argument is the features. Otherwise there are no
    # features.
    features, rest = (rest[0], rest[1:]) if len(rest) > 3 else (None, rest)
    padded = (*rest, None, None, None)
    return features, padded[0], padded[1], padded[2]


class StreamedResult(MessageType):
    """Base of `ResultMessage`, with the methods that read from a file-like object.

    :param kind: the kind of result, a number of the protocol: 1 void, 2 rows, 3 set keyspace, 4
        prepared, 5 schema change.
    """

    type_codes: ClassVar[Mapping[int, Any]] = MappingProxyType(TYPE_CODES)
    """The `cassandra.cqltypes` class of each option id. A subclass may set another mapping."""

    kind: int
    paging_state: bytes | None
    result_metadata_id: bytes | None
    metadata: ResultMetadata
    column_metadata: Any
    parsed_rows: Any

    def __init__(self, kind: int) -> None:
        self.kind = kind

    @classmethod
    def recv_body(cls, f: BinaryIO, protocol_version: int, *rest: Any) -> Any:
        """Read the body of a RESULT from `f`; return the message.

        :param f: a file-like reader.
        :param protocol_version: the version of the connection.
        :param rest: the classes registered for user-defined types, by keyspace and name; the result
            metadata of the executed prepared statement, or None; and the column encryption policy,
            or None.
        """
        message = cls(read_int(f))
        features, *user_types_and_more = _parse_arguments(rest)
        call_reader(message.recv, f, protocol_version, features, *user_types_and_more)
        return message

    def recv(self, f: BinaryIO, protocol_version: int, *rest: Any) -> None:
        """Read the fields after the <kind> of the RESULT; `recv_body` calls this.

        :param f: a file-like reader.
        :param protocol_version: the version of the connection.
        :param rest: further arguments of `recv_body`.
        """
        features, user_types, *metadata_and_encryption = _parse_arguments(rest)
        if self.kind == RESULT_KIND_ROWS:
            read_rows = self.recv_results_rows
            call_reader(
                read_rows, f, protocol_version, features, user_types, *metadata_and_encryption
            )
        else:
            self.read_other(f.read(), protocol_version, features, user_types)

    def read_other(
        self,
        body: bytes,
        version: int,
        features: ProtocolFeatures | None,
        user_types: UserTypes | None,
    ) -> None:
        """Read a RESULT whose kind is not ROWS.

        :param body: the bytes after the <kind>.
        :param version: the version of the connection.
        :param features: the extensions of the connection.
        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        raise NotImplementedError

    def recv_results_rows(self, f: BinaryIO, protocol_version: int, *rest: Any) -> None:
        """Read the metadata and rows of a ROWS result. Values are decoded when they are accessed.

        :param f: a file-like reader.
        :param protocol_version: the version of the connection.
        :param rest: further arguments of `recv_body`.
        """
        _, user_types, cached, encryption = _parse_arguments(rest)
        self.recv_results_metadata(f, user_types)
        columns = self.column_metadata or cached or ()
        # An application may have set its own tuples as columns. Use their first four items.
        plain_metadata = ResultMetadata([ColumnMetadata(*column[:4]) for column in columns])
        self.metadata = decrypting(plain_metadata, encryption)
        count = read_int(f)
        if count < 0:
            raise ProtocolError(f"a result of {count} rows")
        # If the subclass overrides recv_row, only that method knows where a row ends. So read and
        # decode the rows now, one after another.
        if type(self).recv_row is not StreamedResult.recv_row:
            codecs = self.metadata.codecs
            rows = []
            for _ in range(count):
                values = self.recv_row(f, len(codecs))
                rows.append(
                    tuple(
                        codec.decode_nullable(value)
                        for codec, value in zip(codecs, values, strict=True)
                    )
                )
            self.parsed_rows = rows
        else:
            self.take_rows(f.read(), count)  # decoded later, when they are accessed

    def take_rows(self, body: bytes, count: int) -> None:
        """Store the encoded rows, so that they are decoded when they are accessed.

        :param body: the bytes of the rows.
        :param count: the number of rows.
        """
        raise NotImplementedError

    def recv_results_metadata(self, f: BinaryIO, user_type_map: UserTypes | None) -> None:
        """Read <metadata>; set `column_metadata`, `paging_state` and `result_metadata_id`.

        If the server did not send the columns, `column_metadata` becomes None.

        :param f: a file-like reader.
        :param user_type_map: classes registered for UDTs, by keyspace and name.
        """
        flags, count = read_int(f), read_int(f)
        if flags & ROWS_HAS_MORE_PAGES:
            self.paging_state = checked_paging_state(read_value(f))
        if flags & ROWS_METADATA_CHANGED:
            self.result_metadata_id = read_binary_string(f)
        check_metadata_flags(flags)
        if flags & ROWS_NO_METADATA:
            self.column_metadata = None
            return
        is_global = bool(flags & ROWS_GLOBAL_TABLES_SPEC)
        # Unless the subclass overrides read_type, read all columns at once.
        if is_own(type(self).read_type, _READ_TYPE):
            with _RestOfFile(f) as cursor:
                metadata = read_columns(
                    cursor, count, is_global, user_type_map, codes=self.type_codes
                )
            self.column_metadata = list(metadata.columns)
            return
        # The subclass overrides read_type, so read the columns one by one. The keyspace and table
        # come once before all columns, or before each column.
        keyspace = table = ""
        if is_global:
            keyspace, table = read_string(f), read_string(f)
        columns = []
        for _ in range(count):
            if not is_global:
                keyspace, table = read_string(f), read_string(f)
            name = read_string(f)
            columns.append(ColumnMetadata(keyspace, table, name, self.read_type(f, user_type_map)))
        self.column_metadata = columns

    @classmethod
    def read_type(cls, f: BinaryIO, user_type_map: UserTypes | None) -> CqlType:
        """Read the description of a type; return its `cassandra.cqltypes` class.

        :param f: a file-like reader.
        :param user_type_map: classes registered for UDTs, by keyspace and name.
        """
        with _RestOfFile(f) as cursor:
            return type_from(cursor, user_type_map, cls.type_codes)

    @staticmethod
    def recv_row(f: BinaryIO, colcount: int) -> list[bytes | None]:
        """Read a row; return the bytes of each value, or None for a null.

        :param f: a file-like reader.
        :param colcount: the number of columns.
        """
        return [read_value(f) for _ in range(colcount)]


class _RestOfFile:
    """Context manager that returns the rest of a file-like object as a `Cursor`.

    On exit, it moves the file's position to the first byte that the cursor did not read.
    """

    __slots__ = ("_cursor", "_f")

    def __init__(self, f: BinaryIO) -> None:
        self._f = f
        self._cursor = Cursor(f.read())

    def __enter__(self) -> Cursor:
        return self._cursor

    def __exit__(self, *_: object) -> None:
        # Seek back, so that the application's next method continues where the cursor stopped.
        self._f.seek(self._cursor.pos - len(self._cursor.data), 1)


# The driver's own methods, to find out whether a subclass overrides them.
_READ_TYPE = vars(StreamedResult)["read_type"].__func__
_RECV_BODY = vars(MessageType)["recv_body"].__func__
