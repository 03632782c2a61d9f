# The interface of the ring for the other compiled modules.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef enum:
    NOBODY = 0xFFFF  # ends a row of replicas that is shorter than the widest row

cdef class TokenRing:
    cdef int64_t* _tokens
    cdef uint16_t* _owners
    cdef Py_ssize_t _size
    # For each value of the upper bits of a token, the index of the first token whose upper bits are
    # at least this value. One more entry, the last, has the number of tokens.
    cdef uint32_t* _first
    cdef int _shift

    cdef int _sort_in(self) except -1
    cdef Py_ssize_t _position(self, int64_t token) noexcept nogil


cdef class ReplicaMap:
    cdef object _ring
    cdef TokenRing _own  # `_ring` if it is a TokenRing, else None
    cdef tuple _hosts
    cdef Py_ssize_t _width
    cdef Py_ssize_t _position_count
    cdef Py_ssize_t _set_count
    cdef uint16_t* _sets
    cdef uint32_t* _set_at

    cdef int _take(self, ring, tuple hosts, rows) except -1
    cdef const uint16_t* _row(self, Py_ssize_t position) noexcept nogil
    cdef Py_ssize_t _place_of(self, key) except -1
    cdef tuple _at(self, Py_ssize_t position)


# Returns the Murmur3Partitioner's token of a key of `size` bytes.
cdef int64_t token_at(const uint8_t* key, Py_ssize_t size) noexcept nogil
