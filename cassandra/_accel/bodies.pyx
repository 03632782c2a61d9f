"""Bodies of QUERY, EXECUTE, BATCH and PREPARE: the compiled twin of `cassandra.protocol.bodies`.

A small body is built in a buffer on the stack, and copied to a bytes object at the end. A larger
body is written directly into the bytes object that is returned, which grows as needed and is
truncated at the end. This saves a second copy, which would be as slow as the first.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from cassandra._accel.bind cimport RowsBlock, ValuesBlock
from cassandra._accel.checks cimport exact_bytes
from cassandra._accel.wbuf cimport get_be32, put_be16, put_be32, put_be64

from operator import index as _index

from cassandra.consistency import constant_of as _constant_of
from cassandra.errors import UnsupportedOperation
from cassandra.sentinels import UNSET_VALUE

MAX_SHORT = 0xFFFF

cdef object _unset = UNSET_VALUE

cdef enum:
    NULL_MARK = 0xFFFFFFFF
    UNSET_MARK = 0xFFFFFFFE
    MOST_RESERVED = 1 << 20
    FLAG_VALUES = 0x01
    FLAG_SKIP_METADATA = 0x02
    FLAG_PAGE_SIZE = 0x04
    FLAG_PAGING_STATE = 0x08
    FLAG_SERIAL_CONSISTENCY = 0x10
    FLAG_TIMESTAMP = 0x20
    FLAG_NAMED_VALUES = 0x40
    FLAG_KEYSPACE = 0x80
    FLAG_NOW_IN_SECONDS = 0x100


cdef extern from "Python.h":
    # We use pointers instead of Cython's object references: a bytes object can be resized only
    # while there is a single reference to it.
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t size) except NULL
    int resize_bytes "_PyBytes_Resize"(PyObject** bytes_object, Py_ssize_t size) except -1
    char* start_of "PyBytes_AS_STRING"(PyObject* bytes_object)

cdef enum:
    OBUF_INLINE = 2048
    OBUF_LIMIT = 0x7FFFFFFF

cdef struct obuf:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity
    PyObject* owner             # the bytes object with `data`; NULL while `data` is inline_data
    uint8_t inline_data[OBUF_INLINE]


cdef inline void obuf_open(obuf* b) noexcept:
    b.data = b.inline_data
    b.size = 0
    b.capacity = OBUF_INLINE
    b.owner = NULL


cdef inline void obuf_close(obuf* b) noexcept:
    Py_XDECREF(b.owner)
    b.owner = NULL


cdef int obuf_grow(obuf* b, Py_ssize_t extra) except -1:
    cdef Py_ssize_t needed
    cdef Py_ssize_t capacity = b.capacity * 2
    if extra < 0 or extra > OBUF_LIMIT - b.size:
        raise OverflowError(
            f"a body of {b.size} + {extra} bytes is longer than the protocol's limit of 2 GiB"
        )
    needed = b.size + extra
    if capacity < needed:
        capacity = needed
    if b.owner == NULL:
        b.owner = new_bytes(NULL, capacity)
        memcpy(start_of(b.owner), b.inline_data, b.size)
    else:
        resize_bytes(&b.owner, capacity)
    b.data = <uint8_t*> start_of(b.owner)
    b.capacity = capacity
    return 0


cdef inline int obuf_reserve(obuf* b, Py_ssize_t extra) except -1:
    if b.capacity - b.size < extra:
        obuf_grow(b, extra)
    return 0


cdef inline uint8_t* obuf_extend(obuf* b, Py_ssize_t extra) except NULL:
    """Append `extra` bytes; returns their address, which is valid until the next call."""
    cdef uint8_t* start
    if b.capacity - b.size < extra or extra < 0:
        obuf_grow(b, extra)
    start = b.data + b.size
    b.size += extra
    return start


cdef inline int obuf_write(obuf* b, const void* source, Py_ssize_t size) except -1:
    memcpy(obuf_extend(b, size), source, size)
    return 0


cdef bytes obuf_bytes(obuf* b):
    """Return the bytes that were written."""
    if b.owner == NULL:
        return PyBytes_FromStringAndSize(<char*> b.data, b.size)
    resize_bytes(&b.owner, b.size)
    # Add a reference for the caller: obuf_close releases the reference of `owner`.
    return <bytes> b.owner


cdef int64_t _number(object number, int64_t low, int64_t high, str message) except? -1:
    """Convert `number` to a C integer from `low` to `high`; ValueError if it is out of range.

    :param message: the error's message, in which {} is replaced by the number.
    """
    cdef int64_t value
    if type(number) is not int:
        number = _integer(number, message)
    try:
        value = number
    except OverflowError:
        raise ValueError(message.format(number)) from None
    if value < low or value > high:
        raise ValueError(message.format(number))
    return value


cdef object _integer(object number, str message):
    """Return `number` as an int; TypeError for a float, even a whole one."""
    try:
        return _index(number)
    except TypeError:
        complaint = message.partition(";")[0].format(repr(number))
        raise TypeError(f"{complaint}; it has to be an integer{_constant_of(number)}") from None


cdef int _short(obuf* out, object number, str what) except -1:
    cdef str message = "{} " + what + "; the protocol has room for 65535"
    cdef int64_t value = _number(number, 0, 0xFFFF, message)
    put_be16(obuf_extend(out, 2), <uint16_t> value)
    return 0


cdef int _count(obuf* out, Py_ssize_t count, str what) except -1:
    if count > 0xFFFF:
        raise ValueError(f"{count} {what}; the protocol has room for 65535")
    put_be16(obuf_extend(out, 2), <uint16_t> count)
    return 0


cdef int _consistency(obuf* out, object level, str what) except -1:
    """Append a consistency level; for an int, this is faster than `_short`."""
    cdef int64_t value = -1
    if type(level) is int:
        try:
            value = level
        except OverflowError:
            pass
        if 0 <= value <= 0xFFFF:
            put_be16(obuf_extend(out, 2), <uint16_t> value)
            return 0
    return _short(out, level, what)


cdef int _string(obuf* out, object text, str what) except -1:
    cdef Py_ssize_t size
    cdef const char* data
    cdef uint8_t* p
    if not isinstance(text, str):
        raise TypeError(f"{what} is {text!r} ({type(text).__name__}); it has to be a str")
    data = PyUnicode_AsUTF8AndSize(text, &size)
    if size > 0xFFFF:
        raise ValueError(f"{what} of {size} bytes; the protocol has room for 65535")
    p = obuf_extend(out, size + 2)
    put_be16(p, <uint16_t> size)
    memcpy(p + 2, data, size)
    return 0


cdef object _bytes_of(object value, str what):
    """Return `value` if it is bytes, or a bytes copy of a bytearray or memoryview; else TypeError.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{what} is {value!r} ({type(value).__name__}); it has to be bytes")


cdef int _long_string(obuf* out, object text) except -1:
    cdef Py_ssize_t size
    cdef const char* data
    cdef uint8_t* p
    if isinstance(text, str):
        data = PyUnicode_AsUTF8AndSize(text, &size)
    else:
        text = _bytes_of(text, "a query")
        data = PyBytes_AS_STRING(text)
        size = PyBytes_GET_SIZE(text)
    p = obuf_extend(out, size + 4)
    put_be32(p, <uint32_t> size)
    memcpy(p + 4, data, size)
    return 0


cdef int _add_bytes(obuf* out, object data) except -1:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
    cdef uint8_t* p = obuf_extend(out, size + 4)
    put_be32(p, <uint32_t> size)
    memcpy(p + 4, PyBytes_AS_STRING(data), size)
    return 0


cdef object _unset_unsupported(int version):
    return UnsupportedOperation(
        f"UNSET_VALUE needs protocol version 4 or higher; the connection speaks version {version}"
    )


cdef int _add_value(obuf* out, object value, int version) except -1:
    if type(value) is bytes:
        return _add_bytes(out, value)
    if value is None:
        put_be32(obuf_extend(out, 4), NULL_MARK)
    elif value is _unset:
        if version < 4:
            raise _unset_unsupported(version)
        put_be32(obuf_extend(out, 4), UNSET_MARK)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _add_bytes(out, bytes(value))
    else:
        raise TypeError(
            f"a value is {value!r} ({type(value).__name__}); "
            "it has to be bytes, None or UNSET_VALUE"
        )
    return 0


cdef int _add_block(obuf* out, Py_ssize_t count, bytes data, bint has_unset, int version) except -1:
    if has_unset and version < 4:
        raise _unset_unsupported(version)
    _count(out, count, "values in one statement")
    return obuf_write(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef int _add_values(obuf* out, object values, object names, int version) except -1:
    """Append <n>[name_1]<value_1>... of a `ValuesBlock` or of a sequence of values."""
    cdef ValuesBlock block
    cdef Py_ssize_t count_offset, count
    if names is None:
        if isinstance(values, ValuesBlock):
            block = <ValuesBlock> values
            return _add_block(out, block.count, block.data, block.has_unset, version)
        if type(values) is not list and type(values) is not tuple and hasattr(values, "has_unset"):
            data = exact_bytes(values.data, "the data of a block")
            return _add_block(out, values.count, data, values.has_unset, version)
    elif hasattr(values, "has_unset"):
        values = values.values()
    if names is not None:
        return _add_named(out, values, names, version)
    # Write the count at the end, because the code of a value could change the list while the values
    # are encoded.
    count_offset = out.size
    obuf_extend(out, 2)
    count = 0
    if type(values) is list:
        for value in <list> values:
            _add_value(out, value, version)
            count += 1
    else:
        for value in values:
            _add_value(out, value, version)
            count += 1
    if count > 0xFFFF:
        raise ValueError(f"{count} values in one statement; the protocol has room for 65535")
    put_be16(out.data + count_offset, <uint16_t> count)
    return 0


cdef int _add_named(obuf* out, object values, object names, int version) except -1:
    cdef list value_list = list(values)
    cdef list name_list = list(names)
    cdef Py_ssize_t index
    _count(out, len(value_list), "values in one statement")
    if len(name_list) != len(value_list):
        raise ValueError(f"{len(value_list)} values and {len(name_list)} names for them")
    for index in range(len(value_list)):
        _string(out, name_list[index], "a value's name")
        _add_value(out, value_list[index], version)
    return 0


cdef int _tail(
    obuf* out,
    object serial_consistency,
    object timestamp,
    object keyspace,
    object now_in_seconds,
    int version,
) except -1:
    """Append the optional fields with which QUERY, EXECUTE and BATCH end; returns their flags."""
    cdef int flags = 0
    if serial_consistency is not None:
        flags |= FLAG_SERIAL_CONSISTENCY
        _consistency(out, serial_consistency, "is not a serial consistency level")
    if timestamp is not None:
        flags |= FLAG_TIMESTAMP
        put_be64(
            obuf_extend(out, 8),
            <uint64_t> _number(
                timestamp, INT64_MIN, INT64_MAX,
                "timestamp is {}; the protocol has a signed number of 64 bits",
            ),
        )
    if keyspace is not None:
        if version < 5:
            raise _keyspace_unsupported(version)
        flags |= FLAG_KEYSPACE
        _string(out, keyspace, "a keyspace name")
    if now_in_seconds is not None:
        if version < 5:
            raise UnsupportedOperation(
                "now_in_seconds needs protocol version 5 or higher; "
                f"the connection speaks version {version}"
            )
        flags |= FLAG_NOW_IN_SECONDS
        _int32(
            out, now_in_seconds, "now_in_seconds is {}; the protocol has a signed number of 32 bits"
        )
    return flags


cdef object _keyspace_unsupported(int version):
    return UnsupportedOperation(
        "a keyspace for one request needs protocol version 5 or higher; "
        f"the connection speaks version {version}"
    )


cdef int _int32(obuf* out, object value, str message) except -1:
    put_be32(obuf_extend(out, 4), <uint32_t> _number(value, -0x80000000, 0x7FFFFFFF, message))
    return 0


cdef int _byte(obuf* out, object value, str message) except -1:
    cdef int64_t number = _number(value, 0, 0xFF, message)
    obuf_extend(out, 1)[0] = <uint8_t> number
    return 0


cdef int _patch_flags(obuf* out, Py_ssize_t offset, int flags, int version) except -1:
    if version >= 5:
        put_be32(out.data + offset, <uint32_t> flags)
    else:
        out.data[offset] = <uint8_t> flags
    return 0


cdef int _add_query_params(obuf* out, object params, int version) except -1:
    """Append <query_parameters>."""
    return _add_params(
        out, params.consistency, params.values, params.value_names, params.skip_metadata,
        params.page_size, params.paging_state, params.serial_consistency, params.timestamp,
        params.keyspace, params.now_in_seconds, version,
    )


cdef int _add_params(
    obuf* out, object consistency, object values, object names, object skip_metadata,
    object page_size, object paging_state, object serial_consistency, object timestamp,
    object keyspace, object now_in_seconds, int version,
) except -1:
    cdef int flags = 0
    cdef Py_ssize_t flags_offset
    _consistency(out, consistency, "is not a consistency level")
    flags_offset = out.size
    obuf_extend(out, 4 if version >= 5 else 1)
    # For zero values, the flag and the count are left out. But if there are names, write them, so
    # that names without values raise an error.
    if values is not None and (len(values) or names):
        flags |= FLAG_VALUES
        if names is not None:
            flags |= FLAG_NAMED_VALUES
        _add_values(out, values, names, version)
    if skip_metadata:
        flags |= FLAG_SKIP_METADATA
    if page_size is not None and type(page_size) is not int:
        page_size = _integer(page_size, "page_size is {}; ")
    if page_size is not None and page_size > 0:
        flags |= FLAG_PAGE_SIZE
        _int32(out, page_size, "page_size is {}; the protocol has a signed number of 32 bits")
    if paging_state is not None:
        flags |= FLAG_PAGING_STATE
        _add_bytes(out, _bytes_of(paging_state, "paging_state"))
    flags |= _tail(out, serial_consistency, timestamp, keyspace, now_in_seconds, version)
    return _patch_flags(out, flags_offset, flags, version)


cdef int _add_execute_head(obuf* out, object query_id, object metadata_id) except -1:
    if type(query_id) is bytes:
        _add_id(out, query_id, "bytes of a statement's id")
    else:
        _add_id(
            out, _bytes_of(query_id, "the id of a prepared statement"), "bytes of a statement's id"
        )
    if metadata_id is not None:
        _add_id(
            out, _bytes_of(metadata_id, "a result metadata id"), "bytes of a result metadata id"
        )
    return 0


# Appends an id. `value` must be of bytes or of a subclass.
cdef inline int _add_id(obuf* out, object value, str what) except -1:
    _count(out, PyBytes_GET_SIZE(value), what)
    obuf_write(out, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return 0


def long_string(text):
    """Return a [long string]."""
    cdef obuf out
    obuf_open(&out)
    try:
        _long_string(&out, text)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def query_params_body(params, version):
    """Return <query_parameters> without the query or statement id that comes before them."""
    cdef obuf out
    obuf_open(&out)
    try:
        _add_query_params(&out, params, version)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def query_body(query, params, version):
    """Return the body of a QUERY."""
    cdef obuf out
    obuf_open(&out)
    try:
        _long_string(&out, query)
        _add_query_params(&out, params, version)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def query_of_fields(
    query, consistency, values, page_size, paging_state, serial_consistency, timestamp, keyspace,
    now_in_seconds, skip_metadata, version,
):
    """Return the body of a QUERY whose parameters are separate arguments."""
    cdef obuf out
    obuf_open(&out)
    try:
        _long_string(&out, query)
        _add_params(
            &out, consistency, values, None, skip_metadata, page_size, paging_state,
            serial_consistency, timestamp, keyspace, now_in_seconds, version,
        )
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def execute_head(query_id, result_metadata_id):
    """Return the start of an EXECUTE: the statement's id and, if not None, the metadata id."""
    cdef obuf out
    obuf_open(&out)
    try:
        _add_execute_head(&out, query_id, result_metadata_id)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def execute_body(query_id, result_metadata_id, params, version, tablet_version_block=None):
    """Return the body of an EXECUTE (see the Python twin)."""
    cdef int protocol = version
    cdef obuf out
    obuf_open(&out)
    try:
        _add_execute_head(&out, query_id, _metadata_id(result_metadata_id, protocol))
        _add_query_params(&out, params, protocol)
        _add_tablet_version(&out, tablet_version_block)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def execute_of_fields(
    query_id, result_metadata_id, consistency, values, page_size, paging_state, serial_consistency,
    timestamp, keyspace, now_in_seconds, skip_metadata, version, tablet_version_block=None,
):
    """Return the body of an EXECUTE whose parameters are separate arguments."""
    cdef int protocol = version
    cdef obuf out
    obuf_open(&out)
    try:
        _add_execute_head(&out, query_id, _metadata_id(result_metadata_id, protocol))
        _add_params(
            &out, consistency, values, None, skip_metadata, page_size, paging_state,
            serial_consistency, timestamp, keyspace, now_in_seconds, protocol,
        )
        _add_tablet_version(&out, tablet_version_block)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


cdef inline object _metadata_id(object metadata_id, int version):
    """Return the id to write; version 5 requires one, and an empty one matches no metadata."""
    return b"" if metadata_id is None and version >= 5 else metadata_id


cdef int _add_tablet_version(obuf* out, object tablet_version_block) except -1:
    if tablet_version_block is not None:
        _byte(
            out,
            tablet_version_block,
            "a tablet version block is {}; the protocol has an unsigned number of 8 bits",
        )
    return 0


cdef bytes execute_of(
    object query_id, object metadata_id, object values, object consistency, object page_size,
    object paging_state, object serial_consistency, object timestamp, bint skip_metadata,
    int version,
):
    """Return the body of an EXECUTE; for compiled callers."""
    cdef obuf out
    obuf_open(&out)
    try:
        _add_execute_head(&out, query_id, metadata_id)
        _add_params(
            &out, consistency, values, None, skip_metadata, page_size, paging_state,
            serial_consistency, timestamp, None, None, version,
        )
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


cdef int _add_statement(
    obuf* out, object prepared, object statement, object values, int version
) except -1:
    if prepared:
        if type(statement) is not bytes:
            statement = _bytes_of(statement, "the id of a prepared statement")
        obuf_extend(out, 1)[0] = 1
        _count(out, PyBytes_GET_SIZE(statement), "bytes of a statement's id")
        obuf_write(out, PyBytes_AS_STRING(statement), PyBytes_GET_SIZE(statement))
    else:
        obuf_extend(out, 1)[0] = 0
        _long_string(out, statement)
    if values is None:
        put_be16(obuf_extend(out, 2), 0)
    else:
        _add_values(out, values, None, version)
    return 0


cdef int _add_rows(
    obuf* out, object prepared, object statement, RowsBlock block, int version
) except -1:
    """Append one statement for each row of `block`."""
    cdef Py_ssize_t head
    cdef Py_ssize_t pos = 0
    cdef Py_ssize_t size
    cdef const char* id_start
    cdef Py_ssize_t id_size
    cdef uint8_t* p
    if not prepared:
        raise TypeError(
            f"rows for the text {statement!r}; they have to be for a prepared statement"
        )
    if block.has_unset and version < 4:
        raise _unset_unsupported(version)
    statement = _bytes_of(statement, "the id of a prepared statement")
    id_start = PyBytes_AS_STRING(statement)
    id_size = PyBytes_GET_SIZE(statement)
    if id_size > 0xFFFF:
        raise ValueError(f"{id_size} bytes of a statement's id; the protocol has room for 65535")
    if block.width > 0xFFFF:
        raise ValueError(f"{block.width} values in one statement; the protocol has room for 65535")
    head = 5 + id_size
    p = obuf_extend(out, block._count * head + block.used - 4 * block._count)
    while pos < block.used:
        size = get_be32(block.start + pos)
        p[0] = 1
        put_be16(p + 1, <uint16_t> id_size)
        memcpy(p + 3, id_start, id_size)
        put_be16(p + 3 + id_size, <uint16_t> block.width)
        memcpy(p + head, block.start + pos + 4, size)
        p += head + size
        pos += 4 + size
    return 0


def batch_body(batch_type, statements, params, version):
    """Return the body of a BATCH (see the Python twin)."""
    return _batch(
        batch_type, statements, params.consistency, params.serial_consistency, params.timestamp,
        params.keyspace, params.now_in_seconds, version,
    )


def batch_of_fields(
    batch_type, statements, consistency, serial_consistency, timestamp, keyspace, now_in_seconds,
    version,
):
    """Return the body of a BATCH whose parameters are separate arguments."""
    return _batch(
        batch_type, statements, consistency, serial_consistency, timestamp, keyspace,
        now_in_seconds, version,
    )


cdef bytes _batch(
    object batch_type, object statements, object consistency, object serial_consistency,
    object timestamp, object keyspace, object now_in_seconds, int protocol,
):
    cdef Py_ssize_t offset
    cdef int flags
    cdef obuf out
    cdef Py_ssize_t count = len(statements)
    cdef Py_ssize_t total = count
    obuf_open(&out)
    try:
        _byte(
            &out, batch_type, "a batch's type is {}; the protocol has an unsigned number of 8 bits"
        )
        offset = out.size
        obuf_extend(&out, 2)
        count = 0
        for prepared, statement, values in statements:
            if isinstance(values, RowsBlock):
                _add_rows(&out, prepared, statement, <RowsBlock> values, protocol)
                count += (<RowsBlock> values).count
                continue
            _add_statement(&out, prepared, statement, values, protocol)
            count += 1
            if count == 1 and out.size > 256:
                # The statements of a batch usually have similar sizes. We reserve memory for all of
                # them, so that the bytes need not be moved later.
                obuf_reserve(&out, min((out.size + 16) * (total - 1) + 64, MOST_RESERVED))
        if count > 0xFFFF:
            raise ValueError(f"a batch of {count} statements; the protocol has room for 65535")
        put_be16(out.data + offset, <uint16_t> count)
        _consistency(&out, consistency, "is not a consistency level")
        offset = out.size
        obuf_extend(&out, 4 if protocol >= 5 else 1)
        flags = _tail(&out, serial_consistency, timestamp, keyspace, now_in_seconds, protocol)
        _patch_flags(&out, offset, flags, protocol)
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)


def prepare_body(query, keyspace, version):
    """Return the body of a PREPARE; `keyspace` requires version 5."""
    cdef int protocol = version
    cdef obuf out
    if keyspace is not None and protocol < 5:
        raise _keyspace_unsupported(protocol)
    obuf_open(&out)
    try:
        _long_string(&out, query)
        if protocol >= 5:
            put_be32(obuf_extend(&out, 4), 0 if keyspace is None else 1)
            if keyspace is not None:
                _string(&out, keyspace, "a keyspace name")
        return obuf_bytes(&out)
    finally:
        obuf_close(&out)
