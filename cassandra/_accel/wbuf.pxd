# The growing buffer that every compiled encoder appends to.
#
# It is a C struct on the stack of the function that encodes. It contains WBUF_INLINE bytes; if they
# are not enough, it allocates a block. Each call has its own buffer, so no buffer is shared: not by
# two threads, and not with a user's __index__ or __iter__ that binds values during an encode. The
# buffer is freed when the call ends.
#
# Use:
#     cdef wbuf out
#     wbuf_open(&out)
#     try:
#         # wbuf_extend, wbuf_int32, ...: a pointer from wbuf_extend is valid until the next call.
#         return wbuf_bytes(&out)
#     finally:
#         wbuf_close(&out)

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    WBUF_INLINE = 2048
    WBUF_LIMIT = 0x7FFFFFFF     # [bytes] lengths are signed 32 bits on the wire

cdef struct wbuf:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity
    uint8_t inline_data[WBUF_INLINE]


cdef inline void wbuf_open(wbuf* b) noexcept:
    b.data = b.inline_data
    b.size = 0
    b.capacity = WBUF_INLINE


cdef inline void wbuf_close(wbuf* b) noexcept:
    if b.data != b.inline_data:
        PyMem_Free(b.data)
    b.data = b.inline_data
    b.size = 0
    b.capacity = WBUF_INLINE


cdef inline int wbuf_grow(wbuf* b, Py_ssize_t extra) except -1:
    cdef Py_ssize_t needed
    cdef Py_ssize_t capacity
    cdef uint8_t* grown
    if extra < 0 or extra > WBUF_LIMIT - b.size:
        raise OverflowError(
            f"a value of {b.size} + {extra} bytes is longer than the protocol's limit of 2 GiB"
        )
    needed = b.size + extra
    capacity = b.capacity * 2
    if capacity < needed:
        capacity = needed
    if b.data == b.inline_data:
        grown = <uint8_t*> PyMem_Malloc(capacity)
        if grown == NULL:
            raise MemoryError()
        memcpy(grown, b.inline_data, b.size)
    else:
        grown = <uint8_t*> PyMem_Realloc(b.data, capacity)
        if grown == NULL:
            raise MemoryError()
    b.data = grown
    b.capacity = capacity
    return 0


# Reserves `extra` more bytes, without using them.
cdef inline int wbuf_reserve(wbuf* b, Py_ssize_t extra) except -1:
    if b.capacity - b.size < extra or extra < 0:
        wbuf_grow(b, extra)
    return 0


# Appends `extra` bytes and returns their address, which is valid until the next call on this
# buffer. The caller fills them.
cdef inline uint8_t* wbuf_extend(wbuf* b, Py_ssize_t extra) except NULL:
    cdef uint8_t* start
    if b.capacity - b.size < extra or extra < 0:
        wbuf_grow(b, extra)
    start = b.data + b.size
    b.size += extra
    return start


cdef inline void put_be16(uint8_t* p, uint16_t v) noexcept:
    p[0] = <uint8_t> (v >> 8)
    p[1] = <uint8_t> v


cdef inline void put_be32(uint8_t* p, uint32_t v) noexcept:
    p[0] = <uint8_t> (v >> 24)
    p[1] = <uint8_t> (v >> 16)
    p[2] = <uint8_t> (v >> 8)
    p[3] = <uint8_t> v


cdef inline void put_be64(uint8_t* p, uint64_t v) noexcept:
    put_be32(p, <uint32_t> (v >> 32))
    put_be32(p + 4, <uint32_t> v)


cdef inline uint16_t get_be16(const uint8_t* p) noexcept:
    return <uint16_t> ((p[0] << 8) | p[1])


cdef inline uint32_t get_be32(const uint8_t* p) noexcept:
    return (
        (<uint32_t> p[0] << 24)
        | (<uint32_t> p[1] << 16)
        | (<uint32_t> p[2] << 8)
        | <uint32_t> p[3]
    )


cdef inline uint64_t get_be64(const uint8_t* p) noexcept:
    return (<uint64_t> get_be32(p) << 32) | <uint64_t> get_be32(p + 4)


cdef inline int wbuf_int32(wbuf* b, int32_t value) except -1:
    put_be32(wbuf_extend(b, 4), <uint32_t> value)
    return 0


cdef inline int wbuf_write(wbuf* b, const void* source, Py_ssize_t size) except -1:
    cdef uint8_t* target = wbuf_extend(b, size)
    if size > 0:
        memcpy(target, source, size)
    return 0


cdef inline bytes wbuf_bytes(wbuf* b):
    return PyBytes_FromStringAndSize(<char*> b.data, b.size)
