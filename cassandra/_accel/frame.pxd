# The writer of a connection, for compiled callers.

from libc.stdint cimport uint8_t


cdef class FrameWriter:
    cdef int _version
    cdef int _direction
    cdef int _standing
    cdef Py_ssize_t _max_body
    cdef object _compression
    cdef bint _segmented
    cdef bytes _done
    cdef Py_ssize_t _done_size       # the size of `_done`, which other threads read
    cdef uint8_t* _data
    cdef Py_ssize_t _size
    cdef Py_ssize_t _capacity

    cdef Py_ssize_t _pending(self) noexcept
    cdef int _add(self, int number, int code, int bits, bytes data) except -1
    cdef int _check_compression(self) except -1
    cdef uint8_t* _reserve(self, Py_ssize_t size) except NULL
    cdef bytes _taken(self)
    cdef void _forget(self) noexcept
    cdef bytes _take_segments(self)
    cdef bytes _segments_of(self, const uint8_t* data, Py_ssize_t end)
