"""Bodies of QUERY, EXECUTE, BATCH and PREPARE (native_protocol_v5.spec, sections 4.1.4 to 4.1.7).

In an envelope, the body follows the header and the custom payload. The values of a statement are
either a `ValuesBlock`, whose bytes are copied unchanged, or a sequence whose items are bytes, None
(null) or UNSET_VALUE (not set).

The functions raise `UnsupportedOperation` for a feature that the protocol version lacks, and
ValueError for a number or string that is too large for its field. The compiled version of this
module is ``cassandra._accel.bodies``.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from cassandra.consistency import constant_of
from cassandra.errors import UnsupportedOperation
from cassandra.protocol.bind import RowsBlock
from cassandra.protocol.opcodes import (
    FLAG_KEYSPACE,
    FLAG_NAMED_VALUES,
    FLAG_NOW_IN_SECONDS,
    FLAG_PAGE_SIZE,
    FLAG_PAGING_STATE,
    FLAG_SERIAL_CONSISTENCY,
    FLAG_SKIP_METADATA,
    FLAG_TIMESTAMP,
    FLAG_VALUES,
    PREPARE_FLAG_KEYSPACE,
)
from cassandra.protocol.params import QueryParams
from cassandra.protocol.primitives import (
    NULL_VALUE,
    UNSET_MARK,
    int32_pack,
    int64_pack,
    uint8_pack,
    uint16_pack,
    uint32_pack,
)
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.protocol.params import Values

MAX_SHORT = 0xFFFF  # the greatest number that a [short] can hold

# Small numbers encoded in advance, as [short] and as [int]: a look-up is cheaper than packing.
_KEPT_SHORTS = 256
_SHORTS = tuple(uint16_pack(count) for count in range(_KEPT_SHORTS))
_LENGTHS = tuple(int32_pack(size) for size in range(1024))


def _integer(number: SupportsIndex, complaint: str) -> int:
    """Return `number` as an int; raise TypeError for a float, even for a whole one such as 2.0.

    :param complaint: the beginning of the error's message.
    """
    try:
        # operator.index() accepts only integers. int() would turn 1.9 into 1, and would accept a
        # timestamp in seconds (a float) where microseconds are expected.
        return index(number)
    except TypeError:
        raise TypeError(f"{complaint}; it has to be an integer{constant_of(number)}") from None


def _bytes_of(value: object, what: str) -> bytes:
    """Return `value` as bytes; raise TypeError unless it is bytes, a bytearray or a memoryview.

    :param what: what the value is, for the error message.
    """
    # Do not convert a subclass of bytes: bytes() would call the __bytes__ that it may define.
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{what} is {value!r} ({type(value).__name__}); it has to be bytes")


def _short(number: int, what: str) -> bytes:
    """Encode a [short].

    :param what: follows the number in an error message, for example "values in one statement".
    """
    # Almost every number is an int. Call `_integer` for other classes only, because formatting its
    # message takes time.
    if type(number) is not int:
        number = _integer(number, f"{number!r} {what}")
    if 0 <= number < _KEPT_SHORTS:
        return _SHORTS[number]
    if not 0 <= number <= MAX_SHORT:
        raise ValueError(f"{number} {what}; the protocol has room for {MAX_SHORT}")
    return uint16_pack(number)


def _int32(number: int, what: str) -> bytes:
    """Encode an [int].

    :param what: names the number in an error message.
    """
    if type(number) is not int:
        number = _integer(number, f"{what} is {number!r}")
    if not -0x80000000 <= number <= 0x7FFFFFFF:
        raise ValueError(f"{what} is {number}; the protocol has a signed number of 32 bits")
    return int32_pack(number)


def _int64(number: int, what: str) -> bytes:
    """Encode a [long]; `what` names the number in an error message."""
    if type(number) is not int:
        number = _integer(number, f"{what} is {number!r}")
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{what} is {number}; the protocol has a signed number of 64 bits")
    return int64_pack(number)


def _byte(number: int, what: str) -> bytes:
    """Encode a [byte]; `what` names the number in an error message."""
    if type(number) is not int:
        number = _integer(number, f"{what} is {number!r}")
    if not 0 <= number <= 0xFF:
        raise ValueError(f"{what} is {number}; the protocol has an unsigned number of 8 bits")
    return uint8_pack(number)


def _string(text: str, what: str) -> bytes:
    """Encode a [string]; `what` names the string in an error message."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is {text!r} ({type(text).__name__}); it has to be a str")
    data = text.encode()
    if len(data) > MAX_SHORT:
        raise ValueError(f"{what} of {len(data)} bytes; the protocol has room for {MAX_SHORT}")
    return uint16_pack(len(data)) + data


def long_string(text: str | bytes) -> bytes:
    """Return `text` as a [long string]: an [int] length and the string in UTF-8."""
    data = text.encode() if isinstance(text, str) else _bytes_of(text, "a query")
    return int32_pack(len(data)) + data


def _unset_unsupported(version: int) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"UNSET_VALUE needs protocol version 4 or higher; the connection speaks version {version}"
    )


def _add_value(parts: list[bytes], value: object, version: int) -> None:
    """Append one [value]: its length as an [int], and its bytes."""
    if value is None:
        parts.append(NULL_VALUE)
    elif value is UNSET_VALUE:
        # The length -2 means "not set" since version 4 (native_protocol_v4.spec, section 3). On
        # version 3, a server reads any negative length as null, and would delete the column's
        # value.
        if version < 4:
            raise _unset_unsupported(version)
        parts.append(UNSET_MARK)
    elif type(value) is bytes:
        parts.append(int32_pack(len(value)))
        parts.append(value)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _add_value(parts, bytes(value), version)
    else:
        raise TypeError(
            f"a value is {value!r} ({type(value).__name__}); it has to be bytes, "
            "None or UNSET_VALUE"
        )


def _add_values(parts: list[bytes], values: Any, names: Sequence[str] | None, version: int) -> None:
    """Append <n>[name_1]<value_1>... of a `ValuesBlock` or of a sequence of values.

    If `names` is None, write the count and the values without names.
    """
    values_type = type(values)
    if values_type is not list and values_type is not tuple:
        # Only a ValuesBlock (Python or compiled) has this attribute.
        has_unset: bool | None = getattr(values, "has_unset", None)
        if has_unset is None:
            # The count is written before the values, but an iterator has no len(). So copy it.
            values = tuple(values)
        elif names is None:
            if has_unset and version < 4:
                raise _unset_unsupported(version)
            parts.append(_short(values.count, "values in one statement"))
            parts.append(values.data)
            return
        else:
            values = values.values()
    if names is not None:
        _add_named_values(parts, values, names, version)
        return
    count = len(values)
    # Small counts and lengths were encoded at import, because a look-up is faster than packing.
    parts.append(
        _SHORTS[count] if count < _KEPT_SHORTS else _short(count, "values in one statement")
    )
    lengths = _LENGTHS
    # Do not keep `parts.append` in a local variable: since Python 3.11 that would be slower here.
    for value in values:
        if type(value) is bytes:
            try:
                parts.append(lengths[len(value)])
            except IndexError:
                parts.append(int32_pack(len(value)))
            parts.append(value)
        elif value is None:
            parts.append(NULL_VALUE)
        else:
            _add_value(parts, value, version)


def _add_named_values(
    parts: list[bytes], values: Sequence[Any], names: Sequence[str], version: int
) -> None:
    """Append the number of values, followed by the name and the bytes of each value."""
    parts.append(_short(len(values), "values in one statement"))
    if len(names) != len(values):
        raise ValueError(f"{len(values)} values and {len(names)} names for them")
    # Either all values have a name, or none has. Each name comes before its value
    # (native_protocol_v5.spec, section 4.1.4).
    for name, value in zip(names, values, strict=True):
        parts.append(_string(name, "a value's name"))
        _add_value(parts, value, version)


def _add_flags(parts: list[bytes], flags: int, version: int) -> None:
    parts.append(uint32_pack(flags) if version >= 5 else uint8_pack(flags))


def _add_optional_fields(params: QueryParams, version: int, tail: list[bytes]) -> int:
    """Append to `tail` the optional fields at the end of QUERY, EXECUTE and BATCH.

    :returns: the flags of the fields that were appended.
    """
    flags = 0
    # The order of the fields is fixed (native_protocol_v5.spec, section 4.1.4). The flags only say
    # which of the fields are present.
    if params.serial_consistency is not None:
        flags |= FLAG_SERIAL_CONSISTENCY
        tail.append(_short(params.serial_consistency, "is not a serial consistency level"))
    if params.timestamp is not None:
        flags |= FLAG_TIMESTAMP
        tail.append(_int64(params.timestamp, "timestamp"))
    if params.keyspace is not None:
        if version < 5:
            raise UnsupportedOperation(
                "a keyspace for one request needs protocol version 5 or higher; "
                f"the connection speaks version {version}"
            )
        flags |= FLAG_KEYSPACE
        tail.append(_string(params.keyspace, "a keyspace name"))
    if params.now_in_seconds is not None:
        if version < 5:
            raise UnsupportedOperation(
                "now_in_seconds needs protocol version 5 or higher; "
                f"the connection speaks version {version}"
            )
        flags |= FLAG_NOW_IN_SECONDS
        tail.append(_int32(params.now_in_seconds, "now_in_seconds"))
    return flags


def _add_query_params(parts: list[bytes], params: QueryParams, version: int) -> None:
    """Append <query_parameters>: the consistency level, the flags and the optional fields."""
    parts.append(_short(params.consistency, "is not a consistency level"))
    flags_index = len(parts)
    parts.append(b"")  # replaced below by the flags, which are not known yet
    flags = 0
    # Without values, leave out the flag and the count. But if there are names, call `_add_values`,
    # so that names without values raise an error.
    if params.values is not None and (len(params.values) or params.value_names):
        flags |= FLAG_VALUES
        if params.value_names is not None:
            flags |= FLAG_NAMED_VALUES
        _add_values(parts, params.values, params.value_names, version)
    if params.skip_metadata:
        flags |= FLAG_SKIP_METADATA
    page_size = params.page_size
    if page_size is not None and type(page_size) is not int:
        page_size = _integer(page_size, f"page_size is {page_size!r}")
    # A page size of zero or less means no paging; leaving out the field means the same.
    if page_size is not None and page_size > 0:
        flags |= FLAG_PAGE_SIZE
        parts.append(_int32(page_size, "page_size"))
    if params.paging_state is not None:
        flags |= FLAG_PAGING_STATE
        state = _bytes_of(params.paging_state, "paging_state")
        parts.append(int32_pack(len(state)))
        parts.append(state)
    flags |= _add_optional_fields(params, version, parts)
    # Since version 5 the flags have 4 bytes; before, they have 1 byte (section 4.1.4).
    parts[flags_index] = uint32_pack(flags) if version >= 5 else uint8_pack(flags)


def query_body(query: str | bytes, params: QueryParams, version: int) -> bytes:
    """Return the body of a QUERY."""
    parts = [long_string(query)]
    _add_query_params(parts, params, version)
    return b"".join(parts)


def query_of_fields(
    query: str | bytes,
    consistency: int,
    values: Values,
    page_size: int | None,
    paging_state: bytes | None,
    serial_consistency: int | None,
    timestamp: int | None,
    keyspace: str | None,
    now_in_seconds: int | None,
    skip_metadata: bool,
    version: int,
) -> bytes:
    """Return the body of a QUERY; its parameters are separate arguments, named as in `QueryParams`.

    So the compiled version need not read them from an object.
    """
    params = QueryParams(
        consistency, values, None, skip_metadata, page_size, paging_state, serial_consistency,
        timestamp, keyspace, now_in_seconds,
    )  # fmt: skip
    return query_body(query, params, version)


def query_params_body(params: QueryParams, version: int) -> bytes:
    """Return <query_parameters> without the query or statement id that comes before them."""
    parts: list[bytes] = []
    _add_query_params(parts, params, version)
    return b"".join(parts)


def execute_head(query_id: bytes, result_metadata_id: bytes | None) -> bytes:
    """Return the beginning of an EXECUTE: the statement's id and, if not None, the metadata id."""
    query_id = _bytes_of(query_id, "the id of a prepared statement")
    # Both ids have a [short] length (native_protocol_v5.spec, section 4.1.6), unlike values, which
    # have an [int] length.
    head = _short(len(query_id), "bytes of a statement's id") + query_id
    if result_metadata_id is not None:
        result_metadata_id = _bytes_of(result_metadata_id, "a result metadata id")
        head += (
            _short(len(result_metadata_id), "bytes of a result metadata id") + result_metadata_id
        )
    return head


def execute_body(
    query_id: bytes,
    result_metadata_id: bytes | None,
    params: QueryParams,
    version: int,
    tablet_version_block: int | None = None,
) -> bytes:
    """Return the body of an EXECUTE.

    :param query_id: the id of the prepared statement.
    :param result_metadata_id: the id of the result metadata that the client knows. None leaves the
        field out before version 5. Version 5 requires the field, so None is written as an empty id,
        which makes the server send its metadata. On version 4, pass an id only if the server has
        accepted ScyllaDB's extension SCYLLA_USE_METADATA_ID.
    :param params: the values and settings of the execution.
    :param version: the protocol version of the connection.
    :param tablet_version_block: the last byte of the body. Pass it only if the server has accepted
        ScyllaDB's extension TABLETS_ROUTING_V2.
    """
    if result_metadata_id is None and version >= 5:
        # The field is required in version 5 (section 4.1.6). An empty id matches no metadata.
        result_metadata_id = b""
    parts = [execute_head(query_id, result_metadata_id)]
    _add_query_params(parts, params, version)
    if tablet_version_block is not None:
        # The byte comes last, and no flag announces it. A server that has not accepted the
        # extension would reject the request.
        parts.append(_byte(tablet_version_block, "a tablet version block"))
    return b"".join(parts)


def execute_of_fields(
    query_id: bytes,
    result_metadata_id: bytes | None,
    consistency: int,
    values: Values,
    page_size: int | None,
    paging_state: bytes | None,
    serial_consistency: int | None,
    timestamp: int | None,
    keyspace: str | None,
    now_in_seconds: int | None,
    skip_metadata: bool,
    version: int,
    tablet_version_block: int | None = None,
) -> bytes:
    """Return the body of an EXECUTE; the arguments are as in `execute_body` and `QueryParams`."""
    params = QueryParams(
        consistency, values, None, skip_metadata, page_size, paging_state, serial_consistency,
        timestamp, keyspace, now_in_seconds,
    )  # fmt: skip
    return execute_body(query_id, result_metadata_id, params, version, tablet_version_block)


def _statement_head(heads: dict[Any, bytes], prepared: bool | int, statement: bytes | str) -> bytes:
    """Return <kind><string_or_id> of a statement in a BATCH.

    For a prepared statement, these bytes are also stored in `heads`, under the statement's id.
    """
    if not prepared:
        return b"\x00" + long_string(statement)  # kind 0: a query string
    statement = _bytes_of(statement, "the id of a prepared statement")
    # kind 1: the id of a prepared statement
    head: bytes = b"\x01" + _short(len(statement), "bytes of a statement's id") + statement
    # Do not store query strings: they may be long, and a batch rarely repeats one.
    heads[statement] = head
    return head


def _add_rows(parts: list[bytes], head: bytes, block: RowsBlock, version: int) -> None:
    """Append one statement for each row of `block`."""
    # The block may have been bound for a higher protocol version than the connection's, so check it
    # again.
    if block.has_unset and version < 4:
        raise _unset_unsupported(version)
    head += _short(block.width, "values in one statement")
    for row in block.rows():
        parts.append(head)
        parts.append(row.data)


def batch_body(
    batch_type: int,
    statements: Sequence[tuple[bool | int, bytes | str, Any]],
    params: QueryParams,
    version: int,
) -> bytes:
    """Return the body of a BATCH.

    :param batch_type: 0 for logged, 1 for unlogged, 2 for counter.
    :param statements: a tuple (is prepared, id or query, values) for each statement. If values is a
        `RowsBlock`, the tuple adds one statement for each row of the block.
    :param params: consistency, serial consistency, timestamp, keyspace and now_in_seconds. Other
        parameters are ignored, because a BATCH has no fields for them.
    """
    # Leave the second part empty: `_finish_batch` replaces it by the number of statements.
    parts = [_byte(batch_type, "a batch's type"), b""]
    count = len(statements)
    heads: dict[Any, bytes] = {}
    lengths = _LENGTHS
    last_statement: Any = None
    # The flag `prepared` of the last statement. No tuple has UNSET_VALUE as this flag, so the first
    # statement always counts as new.
    last_prepared: Any = UNSET_VALUE
    head = b""
    for prepared, statement, values in statements:
        # Most batches repeat one statement, so encode the bytes before its values only once.
        if statement is not last_statement or prepared is not last_prepared:
            cached_head = heads.get(statement) if prepared and type(statement) is bytes else None
            head = cached_head or _statement_head(heads, prepared, statement)
            last_statement, last_prepared = statement, prepared
        if isinstance(values, RowsBlock):
            if not prepared:
                raise TypeError(
                    f"rows for the text {statement!r}; they have to be for a prepared statement"
                )
            # `len(statements)` counts the block as one statement, but it adds a statement for each
            # row.
            count += values.count - 1
            _add_rows(parts, head, values, version)
            continue
        parts.append(head)
        if values is None:
            parts.append(b"\x00\x00")  # no values: a [short] count of 0
        elif type(values) is list and len(values) < _KEPT_SHORTS:
            # This is the loop of `_add_values`, because a call for each statement would be slow.
            parts.append(_SHORTS[len(values)])
            for value in values:
                if type(value) is bytes:
                    try:
                        parts.append(lengths[len(value)])
                    except IndexError:
                        parts.append(int32_pack(len(value)))
                    parts.append(value)
                else:
                    _add_value(parts, value, version)
        else:
            _add_values(parts, values, None, version)
    return _finish_batch(parts, count, params, version)


def batch_of_fields(
    batch_type: int,
    statements: Sequence[tuple[bool | int, bytes | str, Any]],
    consistency: int,
    serial_consistency: int | None,
    timestamp: int | None,
    keyspace: str | None,
    now_in_seconds: int | None,
    version: int,
) -> bytes:
    """Return the body of a BATCH; the arguments are as in `batch_body` and `QueryParams`."""
    params = QueryParams(
        consistency,
        serial_consistency=serial_consistency,
        timestamp=timestamp,
        keyspace=keyspace,
        now_in_seconds=now_in_seconds,
    )
    return batch_body(batch_type, statements, params, version)


def _finish_batch(parts: list[bytes], count: int, params: QueryParams, version: int) -> bytes:
    """Store the number of statements in `parts[1]`, and return the body with its last fields."""
    # Check the number only here, because each row of a RowsBlock counts as a statement. Without
    # this check, struct would raise an error that does not mention statements.
    if count > MAX_SHORT:
        raise ValueError(f"a batch of {count} statements; the protocol has room for {MAX_SHORT}")
    parts[1] = uint16_pack(count)
    parts.append(_short(params.consistency, "is not a consistency level"))
    tail: list[bytes] = []
    _add_flags(parts, _add_optional_fields(params, version, tail), version)
    return b"".join(parts + tail)


def prepare_body(query: str | bytes, keyspace: str | None, version: int) -> bytes:
    """Return the body of a PREPARE; `keyspace` needs version 5."""
    parts = [long_string(query)]
    if version >= 5:
        # Since version 5, flags always follow the query. Earlier versions have no flags here.
        parts.append(uint32_pack(0 if keyspace is None else PREPARE_FLAG_KEYSPACE))
        if keyspace is not None:
            parts.append(_string(keyspace, "a keyspace name"))
    elif keyspace is not None:
        raise UnsupportedOperation(
            "a keyspace for one request needs protocol version 5 or higher; "
            f"the connection speaks version {version}"
        )
    return b"".join(parts)
