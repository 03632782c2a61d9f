# Columns of scalars: numbers, texts and bytes, values shown as text, durations. Included by
# column_buffers.pyx.

# -- values of a fixed size ------------------------------------------------------------------------

# Nulls become zeros in these functions.
cdef Block numbers(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Py_ssize_t width = node.width
    cdef Block block = new_block(count * width, False)
    cdef uint64_t v64
    cdef uint32_t v32
    cdef uint16_t v16
    cdef Py_ssize_t i
    if width == 8:
        for i in range(count):
            v64 = 0
            if cells[i].size == 8:
                memcpy(&v64, base + cells[i].start, 8)
                if TURBOCQL_LITTLE:
                    v64 = turbocql_bswap64(v64)
            elif cells[i].size >= 0:
                raise wrong_size(node)
            memcpy(block.data + 8 * i, &v64, 8)
    elif width == 4:
        for i in range(count):
            v32 = 0
            if cells[i].size == 4:
                memcpy(&v32, base + cells[i].start, 4)
                if TURBOCQL_LITTLE:
                    v32 = turbocql_bswap32(v32)
            elif cells[i].size >= 0:
                raise wrong_size(node)
            memcpy(block.data + 4 * i, &v32, 4)
    elif width == 2:
        for i in range(count):
            v16 = 0
            if cells[i].size == 2:
                memcpy(&v16, base + cells[i].start, 2)
                if TURBOCQL_LITTLE:
                    v16 = turbocql_bswap16(v16)
            elif cells[i].size >= 0:
                raise wrong_size(node)
            memcpy(block.data + 2 * i, &v16, 2)
    else:
        for i in range(count):
            block.data[i] = 0
            if cells[i].size == 1:
                block.data[i] = base[cells[i].start]
            elif cells[i].size >= 0:
                raise wrong_size(node)
    return block


cdef Block uuids(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block block = new_block(count * 16, False)
    cdef Py_ssize_t i
    for i in range(count):
        if cells[i].size == 16:
            memcpy(block.data + 16 * i, base + cells[i].start, 16)
        elif cells[i].size >= 0:
            raise wrong_size(node)
        else:
            memset(block.data + 16 * i, 0, 16)
    return block


cdef Block booleans(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block block = new_block((count + 7) >> 3, True)
    cdef Py_ssize_t i
    for i in range(count):
        if cells[i].size == 1:
            block.data[i >> 3] |= (<uint8_t> (base[cells[i].start] != 0)) << (i & 7)
        elif cells[i].size >= 0:
            raise wrong_size(node)
    return block


# native_protocol_v5.spec, section 5.5: a date is an unsigned number of days; 2^31 is 1970-01-01. If
# the highest bit is flipped, it becomes the signed number of days since 1970.
cdef Block dates(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block block = numbers(node, base, cells, count)
    cdef uint32_t* days = <uint32_t*> block.data
    cdef Py_ssize_t i
    for i in range(count):
        days[i] ^= 0x80000000u
    return block


cdef Block times(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block block = numbers(node, base, cells, count)
    cdef int64_t* nanos = <int64_t*> block.data
    cdef Py_ssize_t i
    for i in range(count):
        if not 0 <= nanos[i] < DAY_NANOS:
            raise DecodeError("not within one day")
    return block


# The functions above, by the kind of the node.
ctypedef Block (*Builder)(Node, const uint8_t*, const Cell*, Py_ssize_t)
cdef Builder[5] FIXED
FIXED[<int> NODE_NUMBER] = numbers
FIXED[<int> NODE_BYTES] = uuids
FIXED[<int> NODE_DATE] = dates
FIXED[<int> NODE_TIME] = times
FIXED[<int> NODE_BOOLEAN] = booleans


# -- text and bytes --------------------------------------------------------------------------------

# Returns (offsets, data) of a column of strings or blobs.
cdef tuple variable(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block offsets = new_block((count + 1) * 4, False)
    cdef int32_t* starts = <int32_t*> offsets.data
    cdef int64_t total = 0
    cdef Py_ssize_t i
    cdef Block data
    cdef uint8_t* to
    cdef int32_t size
    for i in range(count):
        starts[i] = <int32_t> total
        if cells[i].size > 0:
            total += cells[i].size
    # The cells do not overlap in the page, so their total size is within the limit for a page.
    starts[count] = <int32_t> total
    data = new_block(total, False)
    to = data.data
    for i in range(count):
        size = cells[i].size
        if size > 0:
            if size <= 16:
                copy_short(to, base + cells[i].start, size)
            else:
                memcpy(to, base + cells[i].start, size)
            to += size
    if node.kind != NODE_BLOB and not turbocql_is_ascii(data.data, total):
        check_text(node, base, cells, count)
    return offsets, data


# Copies 1 to 16 bytes as two (possibly overlapping) copies of a fixed size, which is faster than
# memcpy.
cdef inline void copy_short(uint8_t* to, const uint8_t* source, int32_t size) noexcept nogil:
    cdef uint64_t head, tail
    cdef uint32_t head32, tail32
    if size >= 8:
        memcpy(&head, source, 8)
        memcpy(&tail, source + size - 8, 8)
        memcpy(to, &head, 8)
        memcpy(to + size - 8, &tail, 8)
    elif size >= 4:
        memcpy(&head32, source, 4)
        memcpy(&tail32, source + size - 4, 4)
        memcpy(to, &head32, 4)
        memcpy(to + size - 4, &tail32, 4)
    else:
        to[0] = source[0]
        to[size >> 1] = source[size >> 1]
        to[size - 1] = source[size - 1]


cdef int check_text(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count) except -1:
    cdef Py_ssize_t i
    if node.kind == NODE_ASCII:
        raise DecodeError("not ASCII")
    for i in range(count):
        if cells[i].size > 0 and not turbocql_is_utf8(base + cells[i].start, cells[i].size):
            raise DecodeError("not UTF-8")
    return 0


# -- values shown as text --------------------------------------------------------------------------

cdef tuple shown_values(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block offsets = new_block((count + 1) * 4, False)
    cdef Block data = new_block(0, False)
    cdef int32_t* starts = <int32_t*> offsets.data
    cdef const uint8_t* p
    cdef int32_t size
    cdef Py_ssize_t i
    cdef NodeKind kind = node.kind
    starts[0] = 0
    for i in range(count):
        size = cells[i].size
        if size >= 0:
            p = base + cells[i].start
            if kind == NODE_INET and size == 4:
                show_ipv4(data, p)
            elif kind == NODE_VARINT and size <= 8:
                show_decimal(data, signed_of(p, size), 0)
            elif (
                kind == NODE_DECIMAL
                and 5 <= size <= 12
                and -100_000 < <int32_t> get_be32(p) < 100_000
            ):
                show_decimal(data, signed_of(p + 4, size - 4), <int32_t> get_be32(p))
            else:
                show_object(node, data, p, size)
        starts[i + 1] = <int32_t> data.size
    return offsets, data


cdef int show_object(Node node, Block data, const uint8_t* p, Py_ssize_t size) except -1:
    cdef object cell = PyBytes_FromStringAndSize(<const char*> p, size)
    cdef bytes text
    if node.kind == NODE_INET:
        text = _inet_text(cell).encode()
    elif node.kind == NODE_VARINT:
        text = _show_varint(cell)
    else:
        text = _show_decimal(cell)
    memcpy(data.extend(PyBytes_GET_SIZE(text)), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return 0


cdef int show_ipv4(Block data, const uint8_t* address) except -1:
    cdef uint8_t[16] text
    cdef Py_ssize_t length = 0
    cdef int part, number
    for part in range(4):
        number = address[part]
        if number >= 100:
            text[length] = <uint8_t> (c"0" + number // 100)
            length += 1
        if number >= 10:
            text[length] = <uint8_t> (c"0" + number // 10 % 10)
            length += 1
        text[length] = <uint8_t> (c"0" + number % 10)
        text[length + 1] = c"."
        length += 2
    memcpy(data.extend(length - 1), text, length - 1)
    return 0


# Returns the integer of 1 to 8 bytes in two's complement.
cdef inline int64_t signed_of(const uint8_t* p, Py_ssize_t size) noexcept:
    cdef uint64_t value = <uint64_t> <int64_t> <int8_t> p[0]
    cdef Py_ssize_t i
    for i in range(1, size):
        value = (value << 8) | p[i]
    return <int64_t> value


# Appends unscaled * 10 ** -scale in the format of decimal.Decimal, which is scientific for numbers
# below 0.000001 and for a negative scale.
cdef int show_decimal(Block data, int64_t unscaled, int64_t scale) except -1:
    cdef uint8_t[20] digits
    cdef Py_ssize_t count = 0
    cdef uint64_t left = <uint64_t> unscaled if unscaled >= 0 else ~(<uint64_t> unscaled) + 1
    cdef int64_t point, i
    cdef bint scientific
    while left or not count:
        digits[19 - count] = <uint8_t> (c"0" + left % 10)
        left //= 10
        count += 1
    point = count - scale  # the number of digits before the decimal point
    scientific = scale < 0 or point <= -6
    if unscaled < 0:
        data.extend(1)[0] = c"-"
    if scientific:
        put_digits(data, digits + 20 - count, 1, count)
        data.extend(1)[0] = c"E"
        data.extend(1)[0] = c"+" if point > 0 else c"-"
        show_decimal(data, point - 1 if point > 0 else 1 - point, 0)
    elif point <= 0:
        memcpy(data.extend(2), <const uint8_t*> b"0.", 2)
        for i in range(-point):
            data.extend(1)[0] = c"0"
        memcpy(data.extend(count), digits + 20 - count, count)
    else:
        put_digits(data, digits + 20 - count, point, count)
    return 0


# Appends `count` digits, with a decimal point after the first `point` digits if more digits follow.
cdef int put_digits(
    Block data, const uint8_t* digits, Py_ssize_t point, Py_ssize_t count
) except -1:
    memcpy(data.extend(point), digits, point)
    if count > point:
        data.extend(1)[0] = c"."
        memcpy(data.extend(count - point), digits + point, count - point)
    return 0


# Builds a column of varints as int64, or of Arrow decimals.
cdef Block wide_numbers(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Py_ssize_t width = node.width
    cdef Block block = new_block(count * width, True)
    cdef const uint8_t* p
    cdef int32_t size
    cdef int64_t value
    cdef Py_ssize_t i
    for i in range(count):
        size = cells[i].size
        if size < 0:
            continue
        p = base + cells[i].start
        if node.kind == NODE_VARINT64:
            if size <= 8:
                value = signed_of(p, size)
            else:
                value = _fixed_varint(PyBytes_FromStringAndSize(<const char*> p, size))
            memcpy(block.data + 8 * i, &value, 8)
            continue
        if size < 5:
            raise DecodeError("takes at least 5 bytes")
        if size <= 12 and <int32_t> get_be32(p) == node.scale and TURBOCQL_LITTLE:
            value = signed_of(p + 4, size - 4)
            if node.bound == 0 or -node.bound < value < node.bound:
                memset(block.data + width * i, 0xFF if value < 0 else 0, width)
                memcpy(block.data + width * i, &value, 8)
                continue
        fixed = exact_bytes(
            _fixed_decimal(PyBytes_FromStringAndSize(<const char*> p, size), node.layout),
            "a decimal's bytes",
        )
        if PyBytes_GET_SIZE(fixed) != width:
            raise ValueError(f"a decimal has {PyBytes_GET_SIZE(fixed)} bytes, not {width}")
        memcpy(block.data + width * i, PyBytes_AS_STRING(fixed), width)
    return block


# -- duration --------------------------------------------------------------------------------------

# Builds a column of 16 bytes for each duration: months and days (32 bits each), and nanoseconds (64
# bits).
cdef Block durations(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block block = new_block(count * 16, True)
    cdef int64_t[3] parts
    cdef uint64_t number = 0
    cdef const uint8_t* p
    cdef Py_ssize_t left, taken, part, i
    for i in range(count):
        if cells[i].size < 0:
            continue
        p = base + cells[i].start
        left = cells[i].size
        for part in range(3):
            taken = get_uvint(p, left, &number)
            if taken == 0:
                raise DecodeError("truncated")
            parts[part] = <int64_t> ((number >> 1) ^ (~(number & 1) + 1))
            p += taken
            left -= taken
        if left or not (
            -2147483648 <= parts[0] <= 2147483647 and -2147483648 <= parts[1] <= 2147483647
        ):
            raise DecodeError("not three numbers in their ranges")
        (<int32_t*> block.data)[4 * i] = <int32_t> parts[0]
        (<int32_t*> block.data)[4 * i + 1] = <int32_t> parts[1]
        (<int64_t*> block.data)[2 * i + 1] = parts[2]
    return block


cdef object duration_parts(
    Node node,
    const uint8_t* base,
    Cell* cells,
    Py_ssize_t count,
    Py_ssize_t nulls,
    object validity,
):
    cdef Block combined = durations(node, base, cells, count)
    cdef Block months = new_block(4 * count, False)
    cdef Block days = new_block(4 * count, False)
    cdef Block nanos = new_block(8 * count, False)
    cdef Py_ssize_t i
    for i in range(count):
        (<int32_t*> months.data)[i] = (<int32_t*> combined.data)[4 * i]
        (<int32_t*> days.data)[i] = (<int32_t*> combined.data)[4 * i + 1]
        (<int64_t*> nanos.data)[i] = (<int64_t*> combined.data)[2 * i + 1]
    parts = [
        array_of(<Node> child, count, 0, (None, part))
        for child, part in zip(node.children, (months, days, nanos))
    ]
    return _ColumnArray(node.layout, count, nulls, (validity,), tuple(parts))
