# The interface of codecs for the other compiled modules (bind, rows). All other code uses the
# Python methods `encode` and `decode` (the same as in the Python twin, cassandra/cqltypes/codecs/).

from libc.stdint cimport int64_t, uint8_t, uint64_t

from cassandra._accel.wbuf cimport wbuf

# Kinds whose values a loop may handle without a call per value; others take `write` and `read`.
cdef enum Kind:
    KIND_OTHER = 0
    KIND_INT8 = 1
    KIND_INT16 = 2
    KIND_INT32 = 3
    KIND_INT64 = 4
    KIND_FLOAT32 = 5
    KIND_FLOAT64 = 6
    KIND_TEXT = 7
    KIND_BLOB = 8
    KIND_BOOLEAN = 9
    KIND_UUID = 10
    KIND_TIMESTAMP = 11


# Counters of one page, or of one value that is decoded on its own. The struct lives on the stack of
# the function that reads, and is passed along with each value. So each thread has its own, and so
# has a value whose code reads another value.
cdef struct Page:
    int64_t lacking     # fields that values of tuples and user-defined types lacked


cdef class Codec:
    cdef readonly str cql_name              # "list<int>": used in error messages
    cdef readonly Py_ssize_t fixed_size     # bytes of a value in a vector without lengths, or -1
    cdef readonly bint empty_is_value       # no bytes are a value ('' of text and blob)
    cdef readonly object legacy_empty       # the value of a legacy empty: None, or EMPTY
    cdef readonly Py_ssize_t width          # bytes of every non-empty value, or -1
    cdef readonly str struct_code           # the struct letter of a plain number, or ""
    cdef Kind kind

    # Appends the body of `value` (never its length; `value` is neither None nor UNSET).
    cdef int write(self, wbuf* out, object value) except -1

    # The value of a body of `size` >= 0 bytes. Reads those bytes only; keeps no pointer into them.
    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page)

    # Does the same for a [bytes] whose length field was `size`: None for a negative size, the
    # legacy empty value for zero bytes that are a legacy empty.
    cdef object read_nullable(self, const uint8_t* data, Py_ssize_t size, Page* page)


# Returns True if a function of the module has created `codec`; other objects may be uninitialized.
cdef inline bint is_made(object codec):
    return isinstance(codec, Codec) and (<Codec> codec).cql_name is not None


# Appends [int] length and body; None is length -1.
cdef int write_bytes(Codec codec, wbuf* out, object value) except -1

# Reads the [unsigned vint] at `p`. Returns the bytes taken, or 0 if it is cut short.
cdef Py_ssize_t get_uvint(const uint8_t* p, Py_ssize_t size, uint64_t* number) noexcept
