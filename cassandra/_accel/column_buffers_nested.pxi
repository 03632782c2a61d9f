# Columns of collections, tuples, user-defined types and vectors, and of Python objects. Included by
# column_buffers.pyx.

# -- nested types ----------------------------------------------------------------------------------

# Reads the length of the [bytes] at `p`, which is `left` bytes before the end of its container. A
# negative length other than -1 means damaged data (see `take` in cqltypes/codecs/base.py).
cdef inline int32_t item_size(const uint8_t* p, Py_ssize_t left) except -2:
    cdef int32_t size
    if left < 4:
        raise DecodeError("truncated")
    size = <int32_t> get_be32(p)
    if size < -1 or size > left - 4:
        raise DecodeError("a length beyond the end, or negative")
    return size


# Builds a column of lists, sets or maps.
cdef object collection(
    Node node,
    const uint8_t* base,
    Cell* cells,
    Py_ssize_t count,
    Py_ssize_t nulls,
    object validity,
    Spent* spent,
):
    cdef bint is_map = node.kind == NODE_MAP
    cdef Cells items = new_cells(count)
    cdef Cells values = new_cells(count) if is_map else items
    cdef Block offsets = new_block((count + 1) * 4, False)
    cdef int32_t* starts = <int32_t*> offsets.data
    cdef uint32_t pos, end
    cdef int64_t number, item
    cdef int32_t size
    cdef Py_ssize_t i
    cdef int side
    cdef Node child, key_node
    for i in range(count):
        starts[i] = <int32_t> items.count
        if cells[i].size < 0:
            continue
        pos = cells[i].start
        end = pos + <uint32_t> cells[i].size
        if cells[i].size < 4:
            raise DecodeError("truncated")
        number = <int32_t> get_be32(base + pos)
        pos += 4
        if number < 0 or number * (8 if is_map else 4) > end - pos:
            raise DecodeError("a count that the bytes cannot hold")
        for item in range(number):
            for side in range(2 if is_map else 1):
                size = item_size(base + pos, end - pos)
                pos += 4
                (values if side else items).add(pos, size)
                if size > 0:
                    pos += <uint32_t> size
        if pos != end:
            raise DecodeError("bytes left over")
    starts[count] = <int32_t> items.count
    child = <Node> node.children[0]
    if not is_map:
        inner = build(child, base, items.items, items.count, spent)
        return _ColumnArray(node.layout, count, nulls, (validity, offsets), (inner,))
    key_node = <Node> child.children[0]
    keys = build(key_node, base, items.items, items.count, spent)
    if keys.null_count:
        raise DecodeError("a key is null, which a column of maps cannot hold")
    inner = build(<Node> child.children[1], base, values.items, values.count, spent)
    entries = _ColumnArray(child.layout, items.count, 0, (None,), (keys, inner))
    return _ColumnArray(node.layout, count, nulls, (validity, offsets), (entries,))


# Missing fields are counted for the limit in batches of this size, because checking the limit is
# slow.
cdef enum:
    MOST_UNCHARGED = 1 << 16


# Builds a column of tuples or UDTs: one child column for each field.
cdef object structure(
    Node node,
    const uint8_t* base,
    Cell* cells,
    Py_ssize_t count,
    Py_ssize_t nulls,
    object validity,
    Spent* spent,
):
    cdef int64_t missing = 0
    cdef int64_t present = 0
    cdef Py_ssize_t width = len(node.children)
    cdef Cells fields
    cdef uint32_t pos, end
    cdef int32_t size
    cdef Py_ssize_t i, field
    # Each field that is present has a length of four bytes. So we know the smallest possible number
    # of missing fields, and can check the limit before we allocate memory for them.
    for i in range(count):
        if cells[i].size > 0:
            present += cells[i].size >> 2
    if count * <int64_t> width - present > limits.null_cells:
        raise too_many_nulls(node.layout.cql_name)
    charge(node, spent, nulls * <int64_t> width)
    fields = new_cells(count * width)
    for i in range(count):
        pos = end = 0
        if cells[i].size >= 0:
            pos = cells[i].start
            end = pos + <uint32_t> cells[i].size
        for field in range(width):
            size = -1
            # If the value ends early, it was written before the last fields were added to the type.
            # These fields are null.
            if pos < end:
                size = item_size(base + pos, end - pos)
                pos += 4
            elif cells[i].size >= 0:
                missing += 1
            fields.items[field * count + i].start = pos
            fields.items[field * count + i].size = size
            if size > 0:
                pos += <uint32_t> size
        if pos != end:
            raise DecodeError("bytes left over")
        if missing > MOST_UNCHARGED:
            charge(node, spent, missing)
            missing = 0
    charge(node, spent, missing)
    children = [
        build(<Node> node.children[field], base, fields.items + field * count, count, spent)
        for field in range(width)
    ]
    return _ColumnArray(node.layout, count, nulls, (validity,), tuple(children))


# Builds a column of vectors: one child column with all elements of all vectors.
cdef object vector(
    Node node,
    const uint8_t* base,
    Cell* cells,
    Py_ssize_t count,
    Py_ssize_t nulls,
    object validity,
    Spent* spent,
):
    cdef Node child = <Node> node.children[0]
    cdef int64_t dimension = node.dimension
    cdef int64_t size = child.wire_size
    cdef int64_t vector_size = size * dimension
    cdef Cells items
    cdef Py_ssize_t i
    cdef int64_t item
    if dimension and count > LIMIT // dimension // (child.width if child.width else 8):
        raise _too_large(node.layout)
    if nulls:
        charge(
            node,
            spent,
            nulls * dimension // (8 if size >= 0 and child.kind == NODE_NUMBER else 1),
        )
    if size >= 0:
        for i in range(count):
            if cells[i].size >= 0 and cells[i].size != vector_size:
                raise DecodeError(f"takes {vector_size} bytes")
    if size >= 0 and child.kind == NODE_NUMBER:
        block = matrix(base, cells, count, dimension, size, nulls > 0)
        inner = array_of(child, count * dimension, 0, (None, block))
    else:
        items = new_cells(count * dimension)
        for i in range(count):
            if cells[i].size < 0:
                items.add_nulls(dimension)
            elif size >= 0:
                for item in range(dimension):
                    items.add(<uint32_t> (cells[i].start + item * size), <int32_t> size)
            else:
                vector_items(base, cells[i], dimension, items)
        inner = build(child, base, items.items, items.count, spent)
    return _ColumnArray(node.layout, count, nulls, (validity,), (inner,))


# Returns the numbers of all vectors. If `gaps` is set, there are nulls, which become zeros. Their
# memory is allocated as zeros and never written, so the system need not provide it.
cdef Block matrix(
    const uint8_t* base,
    const Cell* cells,
    Py_ssize_t count,
    Py_ssize_t dimension,
    Py_ssize_t width,
    bint gaps,
):
    cdef Py_ssize_t step = dimension * width
    cdef Block block = new_block(count * step, gaps)
    cdef Py_ssize_t i
    for i in range(count):
        if cells[i].size >= 0:
            turbocql_copy(
                block.data + i * step, base + cells[i].start, dimension, width, TURBOCQL_LITTLE
            )
    return block


# Appends the cells of a vector whose elements each have an unsigned vint as their length.
cdef int vector_items(const uint8_t* base, Cell cell, int64_t dimension, Cells items) except -1:
    cdef uint32_t pos = cell.start
    cdef uint32_t end = pos + <uint32_t> cell.size
    cdef uint64_t size = 0
    cdef Py_ssize_t taken
    cdef int64_t item
    if dimension > cell.size:
        raise DecodeError("truncated")
    for item in range(dimension):
        taken = get_uvint(base + pos, end - pos, &size)
        if taken == 0 or size > end - pos - <uint32_t> taken:
            raise DecodeError("truncated")
        pos += <uint32_t> taken
        items.add(pos, <int32_t> size)
        pos += <uint32_t> size
    if pos != end:
        raise DecodeError("bytes left over")
    return 0


# -- Python objects, the same as in rows -----------------------------------------------------------

cdef list objects(
    Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count, Spent* spent
):
    cdef list values = []
    cdef Py_ssize_t i
    cdef object codec = node.codec
    cdef bint native = is_made(codec)
    for i in range(count):
        if native:
            values.append(
                (<Codec> codec).read_nullable(base + cells[i].start, cells[i].size, &spent.page)
            )
        elif cells[i].size < 0:
            values.append(None)
        else:
            data = PyBytes_FromStringAndSize(<const char*> base + cells[i].start, cells[i].size)
            values.append(codec.decode_nullable(data))
    return values
