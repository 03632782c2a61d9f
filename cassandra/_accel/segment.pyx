# cython: language_level=3, boundscheck=True, nonecheck=True, wraparound=False, initializedcheck=False, cdivision=True, binding=True
"""Segments of protocol 5: the compiled twin of `cassandra.protocol.segment`, which says what they are.

The CRC32 is zlib's, which is faster than a table in C would be; the CRC24 of a header's few bytes is computed here.
"""

import zlib as _zlib

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.buffer cimport PyBUF_READ
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from cassandra._accel.checks cimport exact_bytes
from cassandra.errors import CrcException
from cassandra.protocol.compression import WORTH_COMPRESSING as _WORTH_COMPRESSING

MAX_PAYLOAD = (1 << 17) - 1
CRC24_INIT = 0x875060
CRC24_POLY = 0x1974F0B
HEADER_SIZE = 6
LZ4_HEADER_SIZE = 8
TRAILER_SIZE = 4
CRC32_INITIAL = _zlib.crc32(b"\xfa\x2d\x55\xca")

cdef enum:
    C_MAX_PAYLOAD = 131071
    C_INIT = 0x875060
    C_POLY = 0x1974F0B

cdef object _crc32 = _zlib.crc32
cdef object _seed = CRC32_INITIAL
cdef Py_ssize_t _worth_compressing = _WORTH_COMPRESSING

# Filled once, while the module is imported; only read afterwards.
cdef uint32_t _table[256]


cdef void _fill_table() noexcept:
    cdef uint32_t crc
    cdef int value, bit
    for value in range(256):
        crc = <uint32_t> value << 16
        for bit in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= C_POLY
        _table[value] = crc & 0xFFFFFF


_fill_table()


cdef uint32_t crc24_of(uint64_t value, int length) noexcept:
    cdef uint32_t crc = C_INIT
    cdef int index
    for index in range(length):
        crc = ((crc << 8) & 0xFFFFFF) ^ _table[((crc >> 16) ^ <uint32_t> value) & 0xFF]
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
    return _crc32(PyMemoryView_FromMemory(<char*> data, size, PyBUF_READ), _seed)


cdef bytes _segment(const uint8_t* payload, Py_ssize_t size, uint64_t head, int length):
    """Header of `length` bytes, its checksum, payload, its checksum."""
    cdef uint32_t crc = crc32_of(payload, size)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, length + 3 + size + 4)
    cdef uint8_t* p = <uint8_t*> PyBytes_AS_STRING(made)
    put_le(p, head, length)
    put_le(p + length, crc24_of(head, length), 3)
    memcpy(p + length + 3, payload, size)
    put_le(p + length + 3 + size, crc, 4)
    return made


cdef bytes segment_of(const uint8_t* payload, Py_ssize_t size, bint self_contained, object algorithm):
    cdef uint64_t head
    cdef bytes packed
    cdef Py_ssize_t packed_size
    if algorithm is None:
        head = <uint64_t> size | (<uint64_t> self_contained << 17)
        return _segment(payload, size, head, 3)
    if size >= _worth_compressing and algorithm.compress_segment is not None:
        packed = exact_bytes(
            algorithm.compress_segment(PyMemoryView_FromMemory(<char*> payload, size, PyBUF_READ)), "a compressed segment"
        )
        packed_size = PyBytes_GET_SIZE(packed)
        if packed_size < size:
            head = <uint64_t> packed_size | (<uint64_t> size << 17) | (<uint64_t> self_contained << 34)
            return _segment(<const uint8_t*> PyBytes_AS_STRING(packed), packed_size, head, 5)
    head = <uint64_t> size | (<uint64_t> self_contained << 34)
    return _segment(payload, size, head, 5)


def crc24(value, length):
    """The CRC24 of the low `length` bytes of `value`, least significant byte first."""
    return crc24_of(value, length)


def crc32(data):
    """The CRC32 of a payload, with the seed of section 2.1."""
    return _crc32(data, _seed)


def encode_segment(payload, self_contained):
    """One uncompressed segment of at most `MAX_PAYLOAD` bytes."""
    cdef bytes data = exact_bytes(payload, "a payload")
    return segment_of(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), self_contained, None)


def encode_lz4_segment(payload, self_contained, algorithm):
    """Return one segment of the LZ4 format.

    A payload that does not shrink is stored as it is, with an uncompressed length of 0.
    """
    cdef bytes data = exact_bytes(payload, "a payload")
    return segment_of(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), self_contained, algorithm)


def decode_header(data, offset, lz4):
    """Return (payload bytes on the wire, uncompressed bytes, is it self-contained).

    The uncompressed bytes are 0 if the payload is stored as it is.

    :raises CrcException: if the header is damaged.
    """
    cdef int length = 5 if lz4 else 3
    cdef uint64_t head = int.from_bytes(data[offset:offset + length], "little")
    cdef uint32_t expected = int.from_bytes(data[offset + length:offset + length + 3], "little")
    cdef uint32_t found = crc24_of(head, length)
    if found != expected:
        raise CrcException(f"the header of a segment has the CRC24 {found:06x}, its checksum says {expected:06x}")
    if lz4:
        return head & C_MAX_PAYLOAD, (head >> 17) & C_MAX_PAYLOAD, bool(head >> 34 & 1)
    return head & C_MAX_PAYLOAD, 0, bool(head >> 17 & 1)


def check_payload(payload, expected):
    """Raise `CrcException` if the payload's CRC32 is not `expected`."""
    found = _crc32(payload, _seed)
    if found != expected:
        raise CrcException(
            f"the payload of a segment ({len(payload)} bytes) has the CRC32 {found:08x}, its checksum says {expected:08x}"
        )


def encode_envelopes(envelopes, algorithm):
    """All `envelopes`, in order, in as few segments as they fit (see the Python twin)."""
    cdef list parts = []
    cdef list waiting = []
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t start, length
    cdef bytes envelope
    for item in envelopes:
        envelope = exact_bytes(item, "an envelope")
        length = PyBytes_GET_SIZE(envelope)
        if size + length > C_MAX_PAYLOAD and waiting:
            parts.append(encode_lz4_segment(b"".join(waiting), True, algorithm))
            waiting = []
            size = 0
        if length > C_MAX_PAYLOAD:
            for start in range(0, length, C_MAX_PAYLOAD):
                parts.append(
                    segment_of(
                        <const uint8_t*> PyBytes_AS_STRING(envelope) + start,
                        min(length - start, C_MAX_PAYLOAD), False, algorithm,
                    )
                )
        else:
            waiting.append(envelope)
            size += length
    if waiting:
        parts.append(encode_lz4_segment(b"".join(waiting), True, algorithm))
    return b"".join(parts)
