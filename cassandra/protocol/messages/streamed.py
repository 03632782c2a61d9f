"""Results that a program's own class reads: the documented methods of `ResultMessage`.

A protocol handler may map an opcode to a class of the program, which overrides `recv_body`,
`recv_results_rows`, `recv_results_metadata`, `type_codes` and the like. Each gets a file-like
object at the beginning of its part, and leaves it behind that part. The engine itself never comes
here: `cassandra.protocol.messages.results` reads bytes in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from cassandra.errors import ProtocolError
from cassandra.protocol.column_specs import (
    TYPE_CODES,
    ColumnMetadata,
    ResultMetadata,
    UserTypes,
    read_columns,
    type_from,
)
from cassandra.protocol.encrypted import decrypting
from cassandra.protocol.fileio import read_int, read_string, read_value
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
    from cassandra.protocol.features import ProtocolFeatures

__all__ = ["StreamedResult", "call_reader", "reads_by_itself"]

_VAR_POSITIONAL = 0x04  # inspect.CO_VARARGS; importing inspect would cost every program

# A class that has one of these of its own reads results by itself.
_READERS = frozenset(
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


def reads_by_itself(kind: type[Any]) -> bool:
    """Return True if the message class `kind` reads its bytes in its own way."""
    if issubclass(kind, StreamedResult):
        return kind.reads_streams
    if not issubclass(kind, MessageType):
        return True
    reader: Any = kind.recv_body
    stock: Any = MessageType.recv_body
    return reader.__func__ is not stock.__func__


def call_reader(
    reader: Callable[..., Any],
    f: BinaryIO,
    version: int,
    features: ProtocolFeatures | None,
    *rest: object,
) -> Any:
    """Call a method of a program's class with as many arguments as it takes.

    Other drivers document ``(f, protocol_version, user_type_map, result_metadata,
    column_encryption_policy)``; older programs lack the last, and some have `protocol_features`
    behind the version.
    """
    # A function in C, or a callable object, does not say what it takes: it gets everything.
    code = getattr(getattr(reader, "__func__", reader), "__code__", None)
    if code is None:
        return reader(f, version, *rest)
    names = code.co_varnames[: code.co_argcount]
    arguments = (
        (f, version, features, *rest) if "protocol_features" in names else (f, version, *rest)
    )
    if not code.co_flags & _VAR_POSITIONAL:
        taken = len(names) - (1 if hasattr(reader, "__self__") else 0)
        arguments = arguments[:taken]
    return reader(*arguments)


def _given(rest: Sequence[Any]) -> tuple[ProtocolFeatures | None, Any, Any, Any]:
    """Return the arguments behind the version in a call.

    It is (features, user types, result metadata, policy of column encryption).
    """
    # With the features in front there are four: they, the types, the metadata and the policy.
    features, rest = (rest[0], rest[1:]) if len(rest) > 3 else (None, rest)
    padded = (*rest, None, None, None)
    return features, padded[0], padded[1], padded[2]


class StreamedResult(MessageType):
    """The part of `ResultMessage` that reads from a file-like object.

    :param kind: the kind of result, its number in the protocol: 1 void, 2 rows, 3 a keyspace, 4 a
        prepared statement, 5 a change of the schema.
    """

    type_codes: ClassVar[Mapping[int, Any]] = MappingProxyType(TYPE_CODES)
    """The `cassandra.cqltypes` class of each type's code; a program may replace the mapping."""

    reads_streams: ClassVar[bool] = False

    kind: int
    paging_state: bytes | None
    result_metadata_id: bytes | None
    metadata: ResultMetadata
    column_metadata: Any
    parsed_rows: Any

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if not _READERS.isdisjoint(vars(cls)):
            cls.reads_streams = True

    def __init__(self, kind: int) -> None:
        self.kind = kind

    @classmethod
    def recv_body(cls, f: BinaryIO, protocol_version: int, *rest: Any) -> Any:
        """Return the message whose body begins at `f`.

        :param rest: the classes registered for user-defined types by keyspace and name, the result
            metadata kept for a prepared statement, and the policy of column encryption.
        """
        message = cls(read_int(f))
        features, *others = _given(rest)
        call_reader(message.recv, f, protocol_version, features, *others)
        return message

    def recv(self, f: BinaryIO, protocol_version: int, *rest: Any) -> None:
        """Read the rest behind the kind of the result; see `recv_body`.

        :param f: a file-like reader.
        :param protocol_version: the version of the connection.
        :param rest: further arguments of `recv_body`.
        """
        features, user_types, *others = _given(rest)
        if self.kind == RESULT_KIND_ROWS:
            rows = self.recv_results_rows
            call_reader(rows, f, protocol_version, features, user_types, *others)
        else:
            self.read_other(f.read(), protocol_version, features, user_types)

    def read_other(
        self,
        body: bytes,
        version: int,
        features: ProtocolFeatures | None,
        user_types: UserTypes | None,
    ) -> None:
        """Read a result of another kind than ROWS.

        :param body: the body of the message.
        :param version: the version of the connection.
        :param features: the extensions of the connection.
        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        raise NotImplementedError

    def recv_results_rows(self, f: BinaryIO, protocol_version: int, *rest: Any) -> None:
        """Read metadata and rows; the rows' values are decoded when they are asked for.

        :param f: a file-like reader.
        :param protocol_version: the version of the connection.
        :param rest: further arguments of `recv_body`.
        """
        _, user_types, remembered, encryption = _given(rest)
        self.recv_results_metadata(f, user_types)
        columns = self.column_metadata or remembered or ()
        read = ResultMetadata([ColumnMetadata(*column[:4]) for column in columns])
        self.metadata = decrypting(read, encryption)
        count = read_int(f)
        if count < 0:
            raise ProtocolError(f"a result of {count} rows")
        # A program's own recv_row moves the file by itself, so rows have to be read in turn.
        if type(self).recv_row is not StreamedResult.recv_row:
            codecs = self.metadata.codecs
            self.parsed_rows = [
                tuple(
                    codec.decode_nullable(value)
                    for codec, value in zip(codecs, self.recv_row(f, len(codecs)), strict=True)
                )
                for _ in range(count)
            ]
        else:
            self.take_rows(f.read(), count)

    def take_rows(self, body: bytes, count: int) -> None:
        """Keep the bytes of `count` rows.

        :param body: the bytes of the rows.
        :param count: how many rows they are.
        """
        raise NotImplementedError

    def recv_results_metadata(self, f: BinaryIO, user_type_map: UserTypes | None) -> None:
        """Read <metadata>: sets `column_metadata`, `paging_state` and `result_metadata_id`.

        `column_metadata` is None if the server left the columns out.

        :param f: a file-like reader.
        :param user_type_map: classes registered for UDTs, by keyspace and name.
        """
        flags, count = read_int(f), read_int(f)
        if flags & ROWS_HAS_MORE_PAGES:
            self.paging_state = read_value(f)
        if flags & ROWS_METADATA_CHANGED:
            self.result_metadata_id = f.read(int.from_bytes(f.read(2), "big"))
        if flags & ROWS_NO_METADATA:
            self.column_metadata = None
            return
        is_global = bool(flags & ROWS_GLOBAL_TABLES_SPEC)
        if _function(type(self).read_type) is _READ_TYPE:
            with _Rest(f) as cursor:
                metadata = read_columns(
                    cursor, count, is_global, user_type_map, codes=self.type_codes
                )
            self.column_metadata = list(metadata.columns)
            return
        table = (read_string(f), read_string(f)) if is_global else None
        self.column_metadata = [
            ColumnMetadata(
                *(table or (read_string(f), read_string(f))),
                read_string(f),
                self.read_type(f, user_type_map),
            )
            for _ in range(count)
        ]

    @classmethod
    def read_type(cls, f: BinaryIO, user_type_map: UserTypes | None) -> Any:
        """Return the `cassandra.cqltypes` class whose description begins at `f`.

        :param f: a file-like reader.
        :param user_type_map: classes registered for UDTs, by keyspace and name.
        """
        with _Rest(f) as cursor:
            return type_from(cursor, user_type_map, cls.type_codes)

    @staticmethod
    def recv_row(f: BinaryIO, colcount: int) -> list[bytes | None]:
        """Return the bytes of each value of a row; None for null.

        :param f: a file-like reader.
        :param colcount: how many columns the row has.
        """
        return [read_value(f) for _ in range(colcount)]


class _Rest:
    """The rest of a file-like object, as a cursor; bytes that were not read are given back."""

    __slots__ = ("_cursor", "_f")

    def __init__(self, f: BinaryIO) -> None:
        self._f = f
        self._cursor = Cursor(f.read())

    def __enter__(self) -> Cursor:
        return self._cursor

    def __exit__(self, *_: object) -> None:
        # Back to behind what was used: the program's next method goes on from there.
        self._f.seek(self._cursor.pos - len(self._cursor.data), 1)


def _function(method: Any) -> Any:
    return getattr(method, "__func__", method)


_READ_TYPE = _function(StreamedResult.read_type)
