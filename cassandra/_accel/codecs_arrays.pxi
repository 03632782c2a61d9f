# Encodes arrays of numbers (objects with the buffer protocol), and decodes numbers into arrays.

cdef enum Sort:
    SORT_NONE = 0
    SORT_SIGNED = 1
    SORT_UNSIGNED = 2
    SORT_REAL = 3


# The elements of a buffer: their type, and where they are in memory.
cdef struct Elements:
    Sort sort
    Py_ssize_t size     # bytes of an element
    bint big            # True if the elements are big-endian in memory
    uint8_t* start
    Py_ssize_t stride
    Py_ssize_t count


# Describes the elements of a one-dimensional buffer. The sort is SORT_NONE if the elements are not
# numbers.
cdef Elements elements_in(const Py_buffer* view) noexcept:
    cdef Elements elements
    cdef const char* form = view.format
    cdef char letter = c"B"
    elements.sort = SORT_NONE
    elements.size = view.itemsize
    elements.big = not TURBOCQL_LITTLE
    elements.start = <uint8_t*> view.buf
    elements.count = 0
    elements.stride = view.itemsize
    if view.ndim != 1 or view.itemsize <= 0 or view.suboffsets != NULL and view.suboffsets[0] >= 0:
        return elements
    if form != NULL:
        if form[0] == c"<" or form[0] == c">" or form[0] == c"!":
            elements.big = form[0] != c"<"
            form += 1
        elif form[0] == c"=" or form[0] == c"@":
            form += 1
        if strlen(form) != 1:
            return elements
        letter = form[0]
    if letter in b"bhilqn":
        elements.sort = SORT_SIGNED
    elif letter in b"BHILQN":
        elements.sort = SORT_UNSIGNED
    elif letter == c"f" or letter == c"d":
        elements.sort = SORT_REAL
    if elements.size not in (1, 2, 4, 8) or (
        elements.sort == SORT_REAL and elements.size != (4 if letter == c"f" else 8)
    ):
        elements.sort = SORT_NONE
    elements.count = view.shape[0] if view.shape != NULL else view.len // view.itemsize
    if view.strides != NULL:
        elements.stride = view.strides[0]
    return elements


# Returns True if the elements are bytes. Then the buffer may be the memory of a moment of NumPy.
cdef inline bint is_bytes(const Elements* source) noexcept:
    return source.size == 1 and source.sort == SORT_UNSIGNED


# Encodes the elements of `source` with `codec`, and writes them at `to`, `gap` bytes apart. Returns
# False if the types are incompatible or an element is out of range. The caller then encodes the
# elements one by one, and its error names the first element that does not fit.
cdef bint convert(Number codec, const Elements* source, uint8_t* to, Py_ssize_t gap) except -1:
    cdef Kind kind = codec.kind
    cdef bint real = kind == KIND_FLOAT32 or kind == KIND_FLOAT64
    cdef bint swap = not source.big
    cdef Py_ssize_t i
    cdef uint8_t raw[8]
    cdef uint8_t* p
    cdef int64_t integer
    if source.sort == SORT_NONE or (source.sort == SORT_REAL and not real):
        return False
    if source.size == codec.width and source.sort == (SORT_REAL if real else SORT_SIGNED):
        if gap == codec.width and source.stride == codec.width:
            turbocql_copy(to, source.start, source.count, codec.width, swap)
        else:
            turbocql_copy_strided(
                to, gap, source.start, source.stride, source.count, codec.width, swap
            )
        return True
    if source.size == 8 and source.stride == 8 and source.big != TURBOCQL_LITTLE:
        # Fast loops for NumPy's default types: doubles bound as floats, and int64 bound as int.
        if kind == KIND_FLOAT32 and source.sort == SORT_REAL and gap == 4:
            return turbocql_narrow_floats(to, source.start, source.count)
        if kind == KIND_INT32 and source.sort == SORT_SIGNED:
            return turbocql_narrow_integers(to, gap, source.start, source.count)
    for i in range(source.count):
        turbocql_copy_one(raw, source.start + i * source.stride, source.size, swap)
        p = to + i * gap
        if source.sort == SORT_REAL:
            if not store_real(kind, p, get_float(raw, source.size)):
                return False
            continue
        integer = get_integer(raw, source.size, source.sort == SORT_SIGNED)
        if source.sort == SORT_UNSIGNED and integer < 0:
            return False  # an unsigned number that does not fit 64 bits with a sign
        if real:
            store_real(kind, p, <double> integer)
        elif not store_integer(kind, p, integer):
            return False
    return True


cdef inline double get_float(const uint8_t* raw, Py_ssize_t size) noexcept:
    cdef uint32_t bits32
    cdef uint64_t bits64
    cdef float single
    cdef double real
    if size == 4:
        bits32 = get_be32(raw)
        memcpy(&single, &bits32, 4)
        return single
    bits64 = get_be64(raw)
    memcpy(&real, &bits64, 8)
    return real


cdef inline int64_t get_integer(const uint8_t* raw, Py_ssize_t size, bint is_signed) noexcept:
    if size == 8:
        return <int64_t> get_be64(raw)
    if size == 4:
        return <int64_t> <int32_t> get_be32(raw) if is_signed else <int64_t> get_be32(raw)
    if size == 2:
        return <int64_t> <int16_t> get_be16(raw) if is_signed else <int64_t> get_be16(raw)
    return <int64_t> <int8_t> raw[0] if is_signed else <int64_t> raw[0]


cdef inline bint store_real(Kind kind, uint8_t* p, double real) noexcept:
    cdef float single
    cdef uint32_t bits32
    cdef uint64_t bits64
    if kind == KIND_FLOAT32:
        single = <float> real
        if isinf(single) and not isinf(real):
            return False
        memcpy(&bits32, &single, 4)
        put_be32(p, bits32)
    else:
        memcpy(&bits64, &real, 8)
        put_be64(p, bits64)
    return True


cdef inline bint store_integer(Kind kind, uint8_t* p, int64_t integer) noexcept:
    if not turbocql_low[<int> kind] <= integer <= turbocql_high[<int> kind]:
        return False
    if kind == KIND_INT32:
        put_be32(p, <uint32_t> integer)
    elif kind == KIND_INT64:
        put_be64(p, <uint64_t> integer)
    elif kind == KIND_INT16:
        put_be16(p, <uint16_t> integer)
    else:
        p[0] = <uint8_t> integer
    return True


# Returns True if `value` has a buffer that we may read. Returns False for bytes, and for masked
# arrays, because their buffer does not contain the mask.
cdef inline bint is_array(object value) except -1:
    return PyObject_CheckBuffer(value) and not PyBytes_Check(value) and not (
        turbocql_maybe_masked(value) and masked_array(value) is not None
    )


# Opens the buffer of `value`; returns False if that fails.
cdef bint open_array(object value, Py_buffer* view) except -1:
    try:
        PyObject_GetBuffer(value, view, PyBUF_FULL_RO)
    except (BufferError, TypeError, ValueError):
        return False
    return True


# -- decoding into a buffer of the caller ----------------------------------------------------------

# Copies `count` encoded numbers, which are `gap` bytes apart at `data`, to the buffer `out`. The
# items of `out` must be numbers of the same kind and size.
cdef Py_ssize_t store_into(
    Number codec, str name, const uint8_t* data, Py_ssize_t gap, Py_ssize_t count, object out
) except -1:
    cdef Py_buffer view
    cdef Elements target
    cdef bint swap
    cdef Sort sort = SORT_REAL if codec.kind >= KIND_FLOAT32 else SORT_SIGNED
    try:
        PyObject_GetBuffer(out, &view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_ND)
    except (BufferError, ValueError):
        raise TypeError(unsuitable(codec, name, out)) from None
    try:
        target = elements_in(&view)
        if target.sort != sort or target.size != codec.width:
            raise TypeError(unsuitable(codec, name, out))
        if target.count < count:
            raise ValueError(f"{name}: {count} elements do not fit a buffer of {target.count}")
        swap = not target.big
        if data < target.start + count * codec.width and target.start < data + count * gap:
            # `out` overlaps the memory that we read. Copy the data first, because the loops below
            # must not overwrite data that they have not read yet.
            apart = PyBytes_FromStringAndSize(<const char*> data, (count - 1) * gap + codec.width)
            data = <const uint8_t*> PyBytes_AS_STRING(apart)
        if gap == codec.width:
            turbocql_copy(target.start, data, count, codec.width, swap)
        else:
            turbocql_copy_strided(target.start, codec.width, data, gap, count, codec.width, swap)
    finally:
        PyBuffer_Release(&view)
    return count


cdef str unsuitable(Number codec, str name, object out):
    view = memoryview(out)
    return (
        f"{name}: the buffer to decode into must be writable, contiguous, of one dimension and of "
        f"the format {codec.struct_code!r}; it has the format {view.format!r}, "
        f"{view.ndim} dimensions"
    )
