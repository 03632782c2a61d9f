"""Frames: the compiled twin of `cassandra.protocol.frame`, which explains how they are read.

There are two differences. An incomplete body is stored in the bytes object that will be returned,
so no body is copied more than once. A writer collects its envelopes in one block of C memory.
"""

from cpython.buffer cimport (
    PyBUF_READ,
    PyBUF_SIMPLE,
    PyBuffer_FillInfo,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.memoryview cimport PyMemoryView_FromMemory, PyMemoryView_FromObject
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from cassandra._accel.checks cimport exact_bytes, unpicklable
from cassandra._accel.threads cimport load_size, store_size
from cassandra._accel.wbuf cimport get_be16, get_be32, put_be16, put_be32

from cassandra.errors import CrcException, ProtocolError
from cassandra.protocol.compression import (
    WORTH_COMPRESSING as _WORTH_COMPRESSING,
    compression as _compression_of,
)
from cassandra.protocol.extras import standing_flags as _standing_flags
from cassandra.protocol.opcodes import MAX_BODY as _MAX_BODY, OPCODE_NAMES as _OPCODE_NAMES

ENVELOPE_HEADER_SIZE = 9
BLOCK_SIZE = 64 * 1024

cdef enum:
    C_HEADER = 9
    C_BLOCK = 65536
    C_MAX_PAYLOAD = 131071
    C_LARGE_BLOCK = 131071 + 8 + 4 + 65536
    C_IN_PLACE_FROM = 32768
    C_TRAILER = 4
    C_COMPRESSED = 1
    OP_ERROR = 0
    OP_STARTUP = 1
    OP_OPTIONS = 5
    C_LZ4_RATIO = 255  # the most bytes of output for a compressed byte

cdef Py_ssize_t _worth_compressing = _WORTH_COMPRESSING

cdef extern from "lz4_block.h":
    Py_ssize_t lz4_inflate "turbocql_lz4_inflate"(
        const uint8_t* data, Py_ssize_t compressed_size, uint8_t* out, Py_ssize_t size
    ) noexcept

include "frame_segments.pxi"


cdef bytes inflated(const uint8_t* data, Py_ssize_t compressed_size, Py_ssize_t size):
    """Return the `size` bytes of an LZ4 block, or None if the block does not hold so many."""
    cdef bytes plain = PyBytes_FromStringAndSize(NULL, size)
    if lz4_inflate(data, compressed_size, <uint8_t*> PyBytes_AS_STRING(plain), size) != size:
        return None
    return plain


cdef class _Window:
    """The unwritten part of a new bytes object, as a writable buffer for the transport.

    No other code has the bytes object yet. The window keeps it alive while the transport writes.
    """

    cdef bytes owner
    cdef char* start
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.owner is None:
            raise BufferError("a window without memory")
        PyBuffer_FillInfo(view, self, self.start, self.size, 0, flags)

    def __releasebuffer__(self, Py_buffer* view):
        pass


cdef class FrameReader:
    """Splits the bytes of a connection, in pieces of any size, into complete envelopes (see the
    Python twin).
    """

    cdef int _version
    cdef int _direction
    cdef Py_ssize_t _max_body
    cdef object _compression
    cdef object _error
    cdef bint _segmented
    cdef bint _lz4                   # True if segments are compressed
    cdef bint _has_lz4_bodies        # True if bodies of version 3 and 4 may be compressed with LZ4
    cdef bint _in_place
    # The upper layer: the start of an incomplete header, or an incomplete body and its header.
    cdef uint8_t _head[9]
    cdef Py_ssize_t _head_size
    cdef bytes _body
    cdef Py_ssize_t _filled
    cdef int _stream
    cdef int _opcode
    cdef int _flags
    cdef int _body_version
    # The lower layer: `_block[_start:_end]` is the start of a segment of `_need` bytes.
    cdef bytearray _block
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef Py_ssize_t _need

    def __init__(self, version, max_body=_MAX_BODY, *, requests=False):
        self._version = version
        self._max_body = max_body
        self._direction = 0 if requests else 0x80

    def __reduce__(self):
        raise unpicklable(self)

    def set_compression(self, algorithm):
        """Expect bodies (version 3 and 4) or segments (5) compressed with "lz4" or "snappy".

        :raises DependencyException: if that library is not installed.
        """
        self._compression = _compression_of(algorithm) if algorithm is not None else None
        self._has_lz4_bodies = algorithm == "lz4"
        if self._segmented:
            self._use_segment_compression()

    def set_max_body(self, max_body):
        """Set the size of the largest body, in bytes, for all headers that are read from now on."""
        self._max_body = max_body

    def enable_segments(self):
        """Read the stream as segments from the next byte on (native_protocol_v5.spec, 2.3.1)."""
        self._segmented = True
        self._use_segment_compression()

    cdef int _use_segment_compression(self) except -1:
        if self._compression is not None and self._compression.decompress_segment is None:
            raise ValueError(
                f"segments cannot be compressed with {self._compression.name}; "
                "protocol 5 has lz4 only"
            )
        self._lz4 = self._compression is not None
        self._need = 0
        return 0

    def feed(self, data):
        """Read the next bytes of the stream; returns the envelopes that they complete.

        Each envelope is a tuple (stream, opcode, flags, body, version).
        """
        cdef list out = []
        cdef Py_buffer view
        cdef Py_ssize_t used
        cdef const uint8_t* start
        if self._error is not None:
            raise self._error
        self._in_place = False
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            start = <const uint8_t*> view.buf
            if not self._segmented:
                self._envelopes(start, view.len, out)
            elif self._start == self._end:
                used = self._segments(start, view.len, out)
                self._keep(start + used, view.len - used)
            else:
                self._keep(start, view.len)
                self._take_segments(out)
        except ProtocolError as error:
            self._error = error
            raise
        finally:
            PyBuffer_Release(&view)
        return out

    def get_buffer(self, sizehint):
        """Return memory into which the transport can write; it must then call `buffer_updated`."""
        cdef _Window window
        if not self._segmented:
            if (
                self._body is not None
                and PyBytes_GET_SIZE(self._body) - self._filled >= C_IN_PLACE_FROM
            ):
                self._in_place = True
                window = _Window.__new__(_Window)
                window.owner = self._body
                window.start = PyBytes_AS_STRING(self._body) + self._filled
                window.size = PyBytes_GET_SIZE(self._body) - self._filled
                return PyMemoryView_FromObject(window)
            if self._block is None:
                self._block = bytearray(C_BLOCK)
            return PyMemoryView_FromObject(self._block)
        self._reserve(1)
        return PyMemoryView_FromObject(self._block)[self._end:]

    def buffer_updated(self, nbytes):
        """Read the `nbytes` bytes that the transport has written to the memory of `get_buffer`.

        Returns the envelopes that they complete, as `feed` does.
        """
        cdef list out = []
        cdef Py_ssize_t size = nbytes
        cdef bytearray block = self._block
        cdef Py_buffer held
        if self._error is not None:
            raise self._error
        try:
            if self._in_place:
                self._in_place = False
                if size < 0 or size > PyBytes_GET_SIZE(self._body) - self._filled:
                    raise ValueError(f"{size} bytes cannot have been written to the buffer")
                self._filled += size
                self._finish_body(out)
            elif block is None or size < 0 or size > PyByteArray_GET_SIZE(block) - self._end:
                raise ValueError(f"{size} bytes cannot have been written to the buffer")
            elif not self._segmented:
                PyObject_GetBuffer(block, &held, PyBUF_SIMPLE)  # nobody can resize it then
                try:
                    self._envelopes(<const uint8_t*> PyByteArray_AS_STRING(block), size, out)
                finally:
                    PyBuffer_Release(&held)
            else:
                self._end += size
                self._take_segments(out)
        except ProtocolError as error:
            self._error = error
            raise
        return out

    # -- segments ----------------------------------------------------------------------------------

    cdef int _reserve(self, Py_ssize_t size) except -1:
        """Make room for `size` bytes after `_end`, and for the rest of an incomplete segment."""
        cdef bytearray block = self._block
        cdef bytearray larger
        cdef Py_ssize_t pending, needed, capacity
        cdef char* p
        if block is None:
            block = self._block = bytearray(C_BLOCK)
        pending = self._end - self._start
        capacity = PyByteArray_GET_SIZE(block)
        if self._end > capacity:
            raise _shrunk()
        if self._end + size <= capacity and self._start + self._need <= capacity:
            return 0
        needed = pending + size
        if self._need > needed:
            needed = self._need
        p = PyByteArray_AS_STRING(block)
        if needed <= capacity:
            memmove(p, p + self._start, pending)
        else:
            larger = bytearray(needed if needed > C_LARGE_BLOCK else C_LARGE_BLOCK)
            memcpy(PyByteArray_AS_STRING(larger), p + self._start, pending)
            self._block = larger
        self._start = 0
        self._end = pending
        return 0

    cdef int _keep(self, const uint8_t* data, Py_ssize_t size) except -1:
        if size > 0:
            self._reserve(size)
            memcpy(PyByteArray_AS_STRING(self._block) + self._end, data, size)
            self._end += size
        return 0

    cdef int _take_segments(self, list out) except -1:
        cdef bytearray block = self._block
        cdef Py_ssize_t start = self._start
        cdef Py_ssize_t end = self._end
        cdef Py_ssize_t used
        cdef Py_buffer held
        if end - start < self._need:
            return 0
        if block is None or end > PyByteArray_GET_SIZE(block):
            raise _shrunk()
        # Export the buffer: until it is released, no code can resize the block.
        PyObject_GetBuffer(block, &held, PyBUF_SIMPLE)
        try:
            used = self._segments(
                <const uint8_t*> PyByteArray_AS_STRING(block) + start, end - start, out
            )
        finally:
            PyBuffer_Release(&held)
        if self._block is not block or self._start != start or self._end != end:
            raise RuntimeError("a reader was used by code that ran while it was reading")
        self._start = start + used
        if self._start == self._end:
            self._start = 0
            self._end = 0
            if PyByteArray_GET_SIZE(block) > C_BLOCK:
                self._block = None
        return 0

    cdef Py_ssize_t _segments(self, const uint8_t* data, Py_ssize_t end, list out) except -1:
        """Pass the payloads of all complete segments in `data` to the upper layer.

        Returns the size of these segments. If an incomplete one follows, sets `_need` to its size.
        """
        cdef int length = 5 if self._lz4 else 3
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t size, plain_size, stop
        cdef uint64_t head
        cdef uint32_t expected, actual
        cdef bint self_contained
        cdef bytes plain
        self._need = 0
        while end - pos >= length + 3:
            head = get_le(data + pos, length)
            expected = <uint32_t> get_le(data + pos + length, 3)
            actual = crc24_of(head, length)
            if actual != expected:
                raise CrcException(
                    f"the header of a segment has the CRC24 {actual:06x}, "
                    f"its checksum says {expected:06x}"
                )
            size = head & C_MAX_PAYLOAD
            if self._lz4:
                plain_size = (head >> 17) & C_MAX_PAYLOAD
                self_contained = (head >> 34) & 1
            else:
                plain_size = 0
                self_contained = (head >> 17) & 1
            stop = pos + length + 3 + size
            if stop + C_TRAILER > end:
                self._need = stop + C_TRAILER - pos
                break
            expected = <uint32_t> get_le(data + stop, 4)
            actual = crc32_of(data + stop - size, size)
            if actual != expected:
                raise CrcException(
                    f"the payload of a segment ({size} bytes) has the CRC32 {actual:08x}, "
                    f"its checksum says {expected:08x}"
                )
            if self_contained and (self._body is not None or self._head_size):
                raise ProtocolError("a self-contained segment came in the middle of an envelope")
            if plain_size:
                plain = inflated(data + stop - size, size, plain_size)
                if plain is None:  # if there is an error, the package raises it
                    plain = exact_bytes(
                        self._compression.decompress_segment(
                            PyMemoryView_FromMemory(<char*> data + stop - size, size, PyBUF_READ),
                            plain_size,
                        ),
                        "a decompressed segment",
                    )
                self._envelopes(
                    <const uint8_t*> PyBytes_AS_STRING(plain), PyBytes_GET_SIZE(plain), out
                )
            else:
                self._envelopes(data + stop - size, size, out)
            if self_contained and (self._body is not None or self._head_size):
                raise ProtocolError("a self-contained segment ends in the middle of an envelope")
            pos = stop + C_TRAILER
        return pos

    # -- envelopes ---------------------------------------------------------------------------------

    cdef int _envelopes(self, const uint8_t* data, Py_ssize_t end, list out) except -1:
        """Read all of `data`: append complete envelopes to `out`, and keep an incomplete one."""
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t length
        cdef int version
        if self._body is not None or self._head_size:
            pos = self._continue(data, end, out)
        while end - pos >= C_HEADER:
            length = <int32_t> get_be32(data + pos + 5)
            version = data[pos] & 0x7F
            # A quick check that almost every header passes. For any other header, `_check_header`
            # decides, and its error says what is wrong. (Version 0 is always invalid, even if the
            # reader's own version is 0, which means any version.)
            if (
                version == 0
                or version != self._version
                or data[pos] != (version | self._direction)
                or length < 0
                or length > self._max_body
            ):
                self._check_header(data + pos)
            if length > end - pos - C_HEADER:
                self._open(data + pos, length)
                pos += C_HEADER
                memcpy(PyBytes_AS_STRING(self._body), data + pos, end - pos)
                self._filled = end - pos
                return 0
            self._give(
                <int16_t> get_be16(data + pos + 2), data[pos + 4], data[pos + 1],
                PyBytes_FromStringAndSize(<const char*> data + pos + C_HEADER, length),
                version, out,
            )
            pos += C_HEADER + length
        if pos < end:
            memcpy(self._head, data + pos, end - pos)
            self._head_size = end - pos
        return 0

    cdef int _open(self, const uint8_t* head, Py_ssize_t length) except -1:
        self._stream = <int16_t> get_be16(head + 2)
        self._opcode = head[4]
        self._flags = head[1]
        self._body_version = head[0] & 0x7F
        self._body = PyBytes_FromStringAndSize(NULL, length)
        self._filled = 0
        return 0

    cdef Py_ssize_t _continue(self, const uint8_t* data, Py_ssize_t end, list out) except -1:
        """Complete the header or body of which a part came earlier; returns the bytes consumed."""
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t size
        if self._head_size:
            pos = C_HEADER - self._head_size
            if pos > end:
                pos = end
            memcpy(self._head + self._head_size, data, pos)
            self._head_size += pos
            if self._head_size < C_HEADER:
                return pos
            self._head_size = 0
            self._check_header(self._head)
            self._open(self._head, <int32_t> get_be32(self._head + 5))
        size = PyBytes_GET_SIZE(self._body) - self._filled
        if size > end - pos:
            size = end - pos
        memcpy(PyBytes_AS_STRING(self._body) + self._filled, data + pos, size)
        self._filled += size
        self._finish_body(out)
        return pos + size

    cdef int _finish_body(self, list out) except -1:
        cdef bytes body = self._body
        if body is None or self._filled < PyBytes_GET_SIZE(body):
            return 0
        self._body = None
        return self._give(self._stream, self._opcode, self._flags, body, self._body_version, out)

    cdef int _give(
        self, int stream, int opcode, int flags, bytes body, int version, list out
    ) except -1:
        if flags & C_COMPRESSED and version < 5:
            if self._compression is None:
                raise ProtocolError(
                    "a compressed body came over a connection that has agreed on no compression"
                )
            plain = self._inflated_body(body) if self._has_lz4_bodies else None
            if plain is None:  # for Snappy, or if the package must raise the error
                plain = self._compression.decompress_body(body, self._max_body)
            body = plain
            flags &= ~C_COMPRESSED
        out.append((stream, opcode, flags, body, version))
        return 0

    cdef bytes _inflated_body(self, bytes body):
        """Return a body that was compressed with LZ4, or None if that is not possible."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(body)
        cdef Py_ssize_t compressed_size = PyBytes_GET_SIZE(body) - 4
        cdef Py_ssize_t size
        if compressed_size < 1:
            return None
        # Check the size that the peer claims before we allocate this much memory.
        size = get_be32(data)
        if size > self._max_body or size > (compressed_size + 1) * C_LZ4_RATIO:
            return None
        return inflated(data + 4, compressed_size, size)

    cdef int _check_header(self, const uint8_t* head) except -1:
        """Raise `ProtocolError` if an envelope's header is not valid on this connection."""
        cdef int version = head[0] & 0x7F
        cdef int opcode = head[4]
        cdef int32_t length = <int32_t> get_be32(head + 5)
        if (head[0] & 0x80) != self._direction or version < 3 or version > 6:
            raise ProtocolError(
                "the peer does not speak the native protocol, or not a version that is known "
                f"here: its message begins {(<const char*> head)[:C_HEADER]!r}"
            )
        # Another version is allowed in one case: a server that does not support the version of our
        # STARTUP answers with an ERROR in a version that it supports.
        if self._version != 0 and self._version != version and (
            opcode != OP_ERROR or self._segmented
        ):
            raise ProtocolError(
                f"a message of protocol version {version} came over a connection of version "
                f"{self._version} ({_OPCODE_NAMES.get(opcode, opcode)})"
            )
        if length < 0 or length > self._max_body:
            raise ProtocolError(
                f"a message claims a body of {length} bytes; the limit is {self._max_body}"
            )
        return 0


# The caller of `get_buffer` gets the bytearray, and may resize it. Returns the error for this case.
cdef object _shrunk():
    return ValueError("the buffer of a reader was made smaller")


cdef class FrameWriter:
    """Queues envelopes, and joins them into one bytes object for each write to the network (see the
    Python twin).
    """

    def __init__(self, version, max_body=_MAX_BODY, *, responses=False):
        self._version = version
        self._max_body = max_body
        self._direction = 0x80 if responses else 0
        self._standing = 0 if responses else _standing_flags(version)

    def __cinit__(self, *arguments, **named):
        self._done = b""

    def __dealloc__(self):
        PyMem_Free(self._data)

    def __reduce__(self):
        raise unpicklable(self)

    @property
    def pending(self):
        """The approximate number of queued bytes."""
        return self._pending()

    cdef Py_ssize_t _pending(self) noexcept:
        return load_size(&self._size) + load_size(&self._done_size)

    def set_compression(self, algorithm):
        """Compress bodies (version 3 and 4) or segments (5) with "lz4" or "snappy".

        :raises DependencyException: if that library is not installed.
        """
        self._compression = _compression_of(algorithm) if algorithm is not None else None
        if self._segmented:
            self._check_compression()

    def enable_segments(self):
        """Put all envelopes that are added from now on into segments."""
        self._check_compression()
        if not self._segmented:
            self._segmented = True
            self._done = self._taken()
            store_size(&self._done_size, PyBytes_GET_SIZE(self._done))

    cdef int _check_compression(self) except -1:
        if self._compression is not None and self._compression.compress_segment is None:
            raise ValueError(
                f"segments cannot be compressed with {self._compression.name}; "
                "protocol 5 has lz4 only"
            )
        return 0

    cdef uint8_t* _reserve(self, Py_ssize_t size) except NULL:
        cdef Py_ssize_t capacity
        cdef uint8_t* grown
        if self._capacity - self._size < size:
            capacity = self._size + size
            if capacity < 2 * self._capacity:
                capacity = 2 * self._capacity
            if capacity < 4096:
                capacity = 4096
            grown = <uint8_t*> PyMem_Realloc(self._data, capacity)
            if grown == NULL:
                raise MemoryError()
            self._data = grown
            self._capacity = capacity
        return self._data + self._size

    cdef bytes _taken(self):
        """Return the queued envelopes as bytes, and empty the queue."""
        cdef bytes envelope = PyBytes_FromStringAndSize(<char*> self._data, self._size)
        self._forget()
        return envelope

    cdef void _forget(self) noexcept:
        """Empty the queue. Free a large block, so that idle connections do not keep it."""
        store_size(&self._size, 0)
        if self._capacity > C_BLOCK:
            PyMem_Free(self._data)
            self._data = NULL
            self._capacity = 0

    def add(self, stream, opcode, flags, body):
        """Queue one envelope.

        :raises ValueError: if the body is larger than the limit, or if stream, opcode or flags do
            not fit their fields. The envelope is not queued then.
        """
        self._add(stream, opcode, flags, exact_bytes(body, "a body"))

    cdef int _add(self, int number, int code, int bits, bytes data) except -1:
        cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
        cdef uint8_t* p
        if code < 0 or code > 0xFF or bits < 0 or bits > 0xFF:
            raise ValueError(f"opcode {code} and flags {bits} are not numbers of 8 bits")
        bits |= self._standing
        if size > self._max_body:
            raise ValueError(
                f"the body of a {_OPCODE_NAMES.get(code, code)} message has {size} bytes; "
                f"the limit is {self._max_body}"
            )
        if number < -0x8000 or number > 0x7FFF:
            raise ValueError(f"stream {number} is not a signed number of 16 bits")
        # STARTUP must not be compressed (native_protocol_v5.spec, section 2.3.2). Neither must
        # OPTIONS, because the server may get it before STARTUP, which sets up the compression.
        if (
            self._compression is not None and not self._segmented and size >= _worth_compressing
            and code != OP_STARTUP and code != OP_OPTIONS and self._version < 5
        ):
            packed = exact_bytes(self._compression.compress_body(data), "a compressed body")
            if PyBytes_GET_SIZE(packed) < size:
                data = packed
                size = PyBytes_GET_SIZE(data)
                bits |= C_COMPRESSED
        p = self._reserve(C_HEADER + size)
        p[0] = <uint8_t> (self._version | self._direction)
        p[1] = <uint8_t> bits
        put_be16(p + 2, <uint16_t> number)
        p[4] = <uint8_t> code
        put_be32(p + 5, <uint32_t> size)
        memcpy(p + C_HEADER, PyBytes_AS_STRING(data), size)
        store_size(&self._size, self._size + C_HEADER + size)
        return 0

    def take(self):
        """Return all queued envelopes as bytes for the network, and empty the queue.

        Returns b"" if no envelope was added since the last call.
        """
        cdef bytes done = self._done
        cdef bytes framed
        if not self._segmented:
            return self._taken()
        framed = self._take_segments()
        if PyBytes_GET_SIZE(done):
            self._done = b""
            store_size(&self._done_size, 0)
            return done + framed
        return framed

    cdef bytes _take_segments(self):
        """Return the queued envelopes in as few segments as possible.

        An envelope that is larger than a payload gets several segments of its own
        (native_protocol_v5.spec, section 1).
        """
        cdef bytes joined
        cdef uint8_t* data = self._data
        cdef Py_ssize_t size = self._size
        cdef Py_ssize_t capacity = self._capacity
        if size == 0:
            return b""
        # Compression may run code that adds envelopes to this writer. So detach the block: added
        # envelopes go to a new block.
        self._data = NULL
        self._capacity = 0
        store_size(&self._size, 0)
        try:
            joined = self._segments_of(data, size)
        except BaseException:
            if self._data == NULL:
                self._data = data
                store_size(&self._size, size)
                self._capacity = capacity
            else:
                PyMem_Free(data)
            raise
        if self._data == NULL and capacity <= C_BLOCK:
            self._data = data
            self._capacity = capacity
        else:
            PyMem_Free(data)
        return joined

    cdef bytes _segments_of(self, const uint8_t* data, Py_ssize_t end):
        cdef list parts = []
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t size, start
        while pos < end:
            size = C_HEADER + <Py_ssize_t> get_be32(data + pos + 5)
            if pos - first + size > C_MAX_PAYLOAD and pos > first:
                parts.append(segment_of(data + first, pos - first, True, self._compression))
                first = pos
            if size > C_MAX_PAYLOAD:
                for start in range(0, size, C_MAX_PAYLOAD):
                    parts.append(
                        segment_of(
                            data + pos + start,
                            min(size - start, C_MAX_PAYLOAD),
                            False,
                            self._compression,
                        )
                    )
                first = pos + size
            pos += size
        if pos > first:
            parts.append(segment_of(data + first, pos - first, True, self._compression))
        return parts[0] if len(parts) == 1 else b"".join(parts)
