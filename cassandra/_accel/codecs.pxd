# What the other compiled modules (bind, rows) see of a codec. The Python methods `encode` and `decode` (the same as in the
# Python twin, cassandra/cqltypes/codecs.py) are for everybody else.

from libc.stdint cimport uint8_t

from cassandra._accel.wbuf cimport wbuf


cdef class Codec:
    cdef readonly str cql_name              # "list<int>": stands in error messages
    cdef readonly Py_ssize_t fixed_size     # bytes of each value packed in a vector without a length, or -1 (protocol-notes.md)
    cdef readonly bint empty_is_value       # a body of zero bytes is a value ('' of text and blob), not a legacy empty

    # Appends the body of `value` (never its length; `value` is neither None nor UNSET).
    cdef int write(self, wbuf* out, object value) except -1

    # The value of a body of `size` >= 0 bytes. Reads those bytes only; keeps no pointer into them.
    cdef object read(self, const uint8_t* data, Py_ssize_t size)

    # The same for a [bytes] whose length field was `size`: None for a negative size, the legacy empty where it is one.
    cdef object read_nullable(self, const uint8_t* data, Py_ssize_t size)


# Appends [int] length and body; None is length -1.
cdef int write_bytes(Codec codec, wbuf* out, object value) except -1
