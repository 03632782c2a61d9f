# The hash of Cassandra's default partitioner, for bytes of any length, without Python objects. The
# pure Python version is `cassandra.murmur3`, which explains the algorithm.

from libc.stdint cimport int8_t, int64_t, uint8_t, uint64_t


cdef inline uint64_t _rotl(uint64_t x, int r) noexcept nogil:
    return (x << r) | (x >> (64 - r))


cdef inline uint64_t _mix(uint64_t k) noexcept nogil:
    k = (k ^ (k >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    k = (k ^ (k >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return k ^ (k >> 33)


cdef inline uint64_t _word(const uint8_t* p) noexcept nogil:
    return (
        <uint64_t> p[0]
        | (<uint64_t> p[1] << 8)
        | (<uint64_t> p[2] << 16)
        | (<uint64_t> p[3] << 24)
        | (<uint64_t> p[4] << 32)
        | (<uint64_t> p[5] << 40)
        | (<uint64_t> p[6] << 48)
        | (<uint64_t> p[7] << 56)
    )


cdef inline int64_t murmur3_of(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    cdef uint64_t c1 = 0x87C37B91114253D5
    cdef uint64_t c2 = 0x4CF5AD432745937F
    cdef uint64_t h1 = 0
    cdef uint64_t h2 = 0
    cdef uint64_t k1
    cdef uint64_t k2
    cdef Py_ssize_t blocks = size >> 4
    cdef Py_ssize_t left = size & 15
    cdef Py_ssize_t i
    cdef const uint8_t* tail = data + (blocks << 4)
    for i in range(blocks):
        k1 = _word(data + (i << 4))
        k2 = _word(data + (i << 4) + 8)
        h1 = h1 ^ (_rotl(k1 * c1, 31) * c2)
        h1 = (_rotl(h1, 27) + h2) * 5 + <uint64_t> 0x52DCE729
        h2 = h2 ^ (_rotl(k2 * c2, 33) * c1)
        h2 = (_rotl(h2, 31) + h1) * 5 + <uint64_t> 0x38495AB5
    k1 = 0
    k2 = 0
    for i in range(left):
        # The server sign-extends the bytes of the tail.
        if i < 8:
            k1 ^= (<uint64_t> <int64_t> <int8_t> tail[i]) << (i * 8)
        else:
            k2 ^= (<uint64_t> <int64_t> <int8_t> tail[i]) << ((i - 8) * 8)
    if left > 8:
        h2 = h2 ^ (_rotl(k2 * c2, 33) * c1)
    if left > 0:
        h1 = h1 ^ (_rotl(k1 * c1, 31) * c2)
    h1 ^= <uint64_t> size
    h2 ^= <uint64_t> size
    h1 += h2
    h2 += h1
    return <int64_t> (_mix(h1) + _mix(h2))
