# Checksums of segments, for the frame reader and writer.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef uint32_t crc24_of(uint64_t value, int length) noexcept
cdef uint64_t get_le(const uint8_t* p, int length) noexcept
cdef bytes segment_of(const uint8_t* payload, Py_ssize_t size, bint self_contained, object algorithm)
cdef object crc32_of(const uint8_t* data, Py_ssize_t size)
