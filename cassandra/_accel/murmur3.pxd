# The hash for the other compiled modules: any bytes, any length, no Python object.

from libc.stdint cimport int64_t, uint8_t

cdef int64_t murmur3_of(const uint8_t* data, Py_ssize_t size) noexcept nogil
