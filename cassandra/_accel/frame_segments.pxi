# Segments of protocol version 5 (native_protocol_v5.spec, sections 2.1 and 2.2), for the reader and
# the writer of frames: the compiled version of `cassandra.protocol.segment`. The CRC24 of a header
# is computed here. The CRC32 of a payload is computed by zlib, which is faster than a simple table
# in C.

import zlib as _zlib

cdef enum:
    C_CRC24_INIT = 0x875060
    C_CRC24_POLY = 0x1974F0B

cdef enum:
    C_CRC_PART = 5120

cdef object _crc32 = _zlib.crc32
# The initial value for the CRC32 of a payload: the checksum of these four bytes.
cdef object _seed = _zlib.crc32(b"\xfa\x2d\x55\xca")

# Filled when the module is imported, and never changed later, so threads need no lock.
cdef uint32_t _crc24_table[256]


cdef void _fill_crc24_table() noexcept:
    cdef uint32_t crc
    cdef int value, bit
    for value in range(256):
        crc = <uint32_t> value << 16
        for bit in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= C_CRC24_POLY
        _crc24_table[value] = crc & 0xFFFFFF


_fill_crc24_table()


cdef uint32_t crc24_of(uint64_t value, int length) noexcept:
    cdef uint32_t crc = C_CRC24_INIT
    cdef int index
    for index in range(length):
        crc = ((crc << 8) & 0xFFFFFF) ^ _crc24_table[((crc >> 16) ^ <uint32_t> value) & 0xFF]
        value >>= 8
    return crc


cdef uint64_t get_le(const uint8_t* p, int length) noexcept:
    cdef uint64_t value = 0
    cdef int index
    for index in range(length):
        value |= <uint64_t> p[index] << (8 * index)
    return value


cdef void put_le(uint8_t* p, uint64_t value, int length) noexcept:
    cdef int index
    for index in range(length):
        p[index] = <uint8_t> value
        value >>= 8


cdef object crc32_of(const uint8_t* data, Py_ssize_t size):
    cdef Py_ssize_t start = 0
    cdef object crc = _seed
    # zlib releases the GIL for more bytes than this. A thread that reads its own response (see
    # `StreamTable`) must keep the GIL.
    while size - start > C_CRC_PART:
        crc = _crc32(PyMemoryView_FromMemory(<char*> data + start, C_CRC_PART, PyBUF_READ), crc)
        start += C_CRC_PART
    return _crc32(PyMemoryView_FromMemory(<char*> data + start, size - start, PyBUF_READ), crc)


cdef bytes _segment(const uint8_t* payload, Py_ssize_t size, uint64_t head, int length):
    """Return a segment: a header of `length` bytes, the payload, and a checksum after each."""
    cdef uint32_t crc = crc32_of(payload, size)
    cdef bytes segment = PyBytes_FromStringAndSize(NULL, length + 3 + size + 4)
    cdef uint8_t* p = <uint8_t*> PyBytes_AS_STRING(segment)
    put_le(p, head, length)
    put_le(p + length, crc24_of(head, length), 3)
    memcpy(p + length + 3, payload, size)
    put_le(p + length + 3 + size, crc, 4)
    return segment


# Returns a segment with `payload`, which is compressed if there is an algorithm and if compression
# makes it smaller.
cdef bytes segment_of(
    const uint8_t* payload, Py_ssize_t size, bint self_contained, object algorithm
):
    cdef uint64_t head
    cdef bytes packed
    cdef Py_ssize_t packed_size
    if algorithm is None:
        head = <uint64_t> size | (<uint64_t> self_contained << 17)
        return _segment(payload, size, head, 3)
    if size >= _worth_compressing and algorithm.compress_segment is not None:
        packed = exact_bytes(
            algorithm.compress_segment(PyMemoryView_FromMemory(<char*> payload, size, PyBUF_READ)),
            "a compressed segment",
        )
        packed_size = PyBytes_GET_SIZE(packed)
        if packed_size < size:
            head = <uint64_t> packed_size | (<uint64_t> size << 17)
            head |= <uint64_t> self_contained << 34
            return _segment(<const uint8_t*> PyBytes_AS_STRING(packed), packed_size, head, 5)
    head = <uint64_t> size | (<uint64_t> self_contained << 34)
    return _segment(payload, size, head, 5)
