# Codecs of the types that contain others: list, set, map, tuple, user-defined types, vector.

cdef bint MAPS_HAVE_FIELDS = reads_plainly(OrderedMapSerializedKey, KeyedMapBase)
cdef bint SETS_HAVE_FIELDS = reads_plainly(SortedSet, SetBase)
cdef object READ_SET = SortedSet._read


# For `turbocql_enter`: a deeply nested value raises a RecursionError, as in Python, before it can
# exhaust the C stack.
cdef const char* ENCODING = " while encoding a nested value"
cdef const char* DECODING = " while decoding a nested value"


# Reads the length field at *p and moves *p past it; returns -1 for a null. Raises an error for a
# length above `left`, and for any negative length except -1. By the specification ([bytes] in
# native_protocol_v5.spec, section 3), other negative lengths also mean null, but servers only write
# -1, so any other negative length means damaged data.
cdef inline Py_ssize_t take(const uint8_t** p, Py_ssize_t* left) except -2:
    cdef Py_ssize_t size
    if left[0] < 4:
        return refuse_length(left[0], 0)
    size = <int32_t> get_be32(p[0])
    p[0] += 4
    left[0] -= 4
    if size > left[0] or size < -1:
        return refuse_length(left[0], size)
    return size


cdef Py_ssize_t refuse_length(Py_ssize_t left, Py_ssize_t size) except -2:
    if size == 0:
        coerce.truncated(f"truncated: {left} bytes left of a 4-byte length")
    if size < 0:
        coerce.truncated(f"an item has the negative length {size}")
    coerce.truncated(f"truncated: an item claims {size} bytes, {left} are left")


# Reads the [int] count with which a collection begins. Raises an error if this many elements, of at
# least `smallest` bytes, do not fit.
cdef Py_ssize_t count_of(
    Codec codec, const uint8_t* data, Py_ssize_t size, Py_ssize_t smallest
) except -1:
    cdef Py_ssize_t count
    if size < 4:
        malformed(codec.cql_name, f"truncated: {size} bytes of a 4-byte count")
    count = <int32_t> get_be32(data)
    if count < 0:
        malformed(codec.cql_name, f"the negative count {count}")
    if count > (size - 4) // smallest:
        malformed(codec.cql_name, f"claims {count} elements, which {size - 4} bytes cannot hold")
    return count


# Returns a reference to the element at `index` of a list or tuple that had `count` elements. Raises
# an error if the size of the list has changed.
cdef inline object element_at(object sequence, Py_ssize_t index, Py_ssize_t count):
    if PyList_CheckExact(sequence):
        if PyList_GET_SIZE(sequence) != count:
            refuse_value(sequence, f"changed its size from {count} while it was being encoded")
        return <object> PyList_GET_ITEM(sequence, index)
    # turbocql_readable returned a list or a tuple, and the size of a tuple never changes.
    return <object> PyTuple_GET_ITEM(sequence, index)


cdef inline Py_ssize_t size_of(object sequence) noexcept:
    return PyList_GET_SIZE(sequence) if PyList_CheckExact(sequence) else PyTuple_GET_SIZE(sequence)


cdef inline bint is_sequence(object value) noexcept:
    return PyList_CheckExact(value) or PyTuple_CheckExact(value)


# -- list and set (native_protocol_v5.spec 5.12, 5.14) ---------------------------------------------

@cython.final
cdef class ListCodec(Codec):
    """list and set: an [int] count, then [bytes] for each element."""

    cdef Codec element
    cdef bint is_set
    cdef bint numbers

    cdef int write(self, wbuf* out, object value) except -1:
        cdef Py_ssize_t count, i
        cdef Codec element = self.element
        if not is_sequence(value):
            if self.numbers and is_array(value) and self.write_array(out, value):
                return 0
            if value is EMPTY:
                return 0
            value = members_of(value, self.cql_name)
        sequence = turbocql_readable(value)
        count = size_of(sequence)
        if self.numbers:
            return self.write_numbers(out, sequence, count)
        wbuf_int32(out, count)
        i = 0
        turbocql_enter(ENCODING)
        try:
            for i in range(count):
                write_bytes(element, out, element_at(sequence, i, count))
        except Exception as error:
            locate(error, f"element {i} of {self.cql_name}")
            raise
        finally:
            Py_LeaveRecursiveCall()
        return 0

    # Encodes a list of numbers: reserves memory for all elements, and then encodes runs of simple
    # numbers with one call each. (`numbers` is set, so `element` is a Number.)
    cdef int write_numbers(self, wbuf* out, object sequence, Py_ssize_t count) except -1:
        cdef Number element = <Number> self.element
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t size, written
        cdef Py_ssize_t gap = 4 + element.width
        cdef uint8_t* p
        if count > 0x7FFFFFFF // gap:
            raise OverflowError(
                f"{self.cql_name}: {count} elements go beyond the protocol's limit of 2 GiB"
            )
        p = wbuf_extend(out, 4 + count * gap)
        put_be32(p, <uint32_t> count)
        p += 4
        try:
            while True:
                # User code of an earlier element may have changed the list, and `put_plain` does
                # not check its size. If it changed, `element_at` raises the error.
                if size_of(sequence) != count:
                    element_at(sequence, 0, count)
                # Element `i` must be written at `p`. Nulls before this element took less than `gap`
                # bytes, so pass the address that element 0 would have if all elements had taken
                # `gap` bytes.
                size = put_plain(element, sequence, i, count, p - i * gap, gap) - i
                i += size
                p += size * gap
                if i == count:
                    break
                written = turbocql_pack_nulls(sequence, i, count, p)
                if written:
                    p += 4 * written
                    i += written
                else:
                    p = self.put_other(p, sequence, i, count)
                    i += 1
                if i == count:
                    break
        except Exception as error:
            locate(error, f"element {i} of {self.cql_name}")
            raise
        # Nulls and empty values took less than we reserved, so set the real size. `p` is still
        # valid, because no other code uses the buffer.
        out.size = p - out.data
        return 0

    # Writes the element at `index`, which is neither None nor a number that `put_plain` writes.
    # Returns the address after the element. (This is a separate function, because that makes the
    # loop above faster.)
    cdef uint8_t* put_other(
        self, uint8_t* p, object sequence, Py_ssize_t index, Py_ssize_t count
    ) except NULL:
        cdef Number element = <Number> self.element
        cdef Py_ssize_t size
        item = element_at(sequence, index, count)
        if is_null(element, item):
            put_be32(p, 0xFFFFFFFF)
            return p + 4
        size = put_number(element, p + 4, item)
        put_be32(p, <uint32_t> size)
        return p + 4 + size

    # Encodes an array through its buffer; returns False if that is not possible.
    cdef bint write_array(self, wbuf* out, object value) except -1:
        cdef Number element = <Number> self.element
        cdef Py_buffer view
        cdef Elements source
        cdef Py_ssize_t start = out.size
        cdef Py_ssize_t gap = 4 + element.width
        cdef Py_ssize_t i
        cdef uint8_t* p
        if not open_array(value, &view):
            return False
        try:
            source = elements_in(&view)
            if source.sort == SORT_NONE or source.count > 0x7FFFFFFF // gap:
                return False
            if is_bytes(&source) and is_single_moment(value):
                return False
            p = wbuf_extend(out, 4 + source.count * gap)
            put_be32(p, <uint32_t> source.count)
            p += 4
            if not convert(element, &source, p + 4, gap):
                out.size = start
                return False
            for i in range(source.count):
                put_be32(p + i * gap, <uint32_t> element.width)
            return True
        finally:
            PyBuffer_Release(&view)

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef Py_ssize_t count = count_of(self, data, size, 4)
        cdef Py_ssize_t left = size - 4
        cdef Py_ssize_t length
        cdef Py_ssize_t i = 0
        cdef Codec element = self.element
        cdef Kind kind = element.kind
        cdef Py_ssize_t width = element.width
        cdef bint numbers = self.numbers
        cdef Py_ssize_t first = 0
        cdef const uint8_t* p = data + 4
        # The items of the new list are NULL until we set them. No other code gets the list before
        # that. After an error, the list is deallocated, which allows items that are NULL.
        items = PyList_New(count)
        if numbers and kind >= KIND_FLOAT32:
            first = turbocql_unpack_floats(
                items, min(count, left // (4 + width)), p, 4 + width, kind == KIND_FLOAT32
            )
            p += first * (4 + width)
            left -= first * (4 + width)
        turbocql_enter(DECODING)
        try:
            for i in range(first, count):
                if numbers and left >= 4 + width and get_be32(p) == <uint32_t> width:
                    item = get_number(kind, p + 4)
                    p += 4 + width
                    left -= 4 + width
                else:
                    length = take(&p, &left)
                    item = element.read_nullable(p, length, page)
                    if length > 0:
                        p += length
                        left -= length
                Py_INCREF(item)
                PyList_SET_ITEM(items, i, item)
        except Exception as error:
            locate(error, f"element {i} of {self.cql_name}")
            raise
        finally:
            Py_LeaveRecursiveCall()
        if left:
            return malformed(self.cql_name, f"{left} bytes left over after {count} elements")
        return sorted_set(items) if self.is_set else items

    def deserialize_into(self, data, out):
        """Decode plain numbers into `out`; see `Codec.deserialize_into`."""
        cdef Py_buffer view
        if not self.numbers:
            return Codec.deserialize_into(self, data, out)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.store(<const uint8_t*> view.buf, view.len, out)
        finally:
            PyBuffer_Release(&view)

    cdef Py_ssize_t store(self, const uint8_t* data, Py_ssize_t size, object out) except -1:
        cdef Py_ssize_t count = count_of(self, data, size, 4)
        cdef Py_ssize_t gap = 4 + self.element.width
        cdef Py_ssize_t i
        cdef Page page
        cdef bint regular = size - 4 == count * gap
        if regular:
            for i in range(count):
                if get_be32(data + 4 + i * gap) != <uint32_t> self.element.width:
                    regular = False
                    break
        if not regular:
            page.lacking = 0
            # If the data are malformed, `read` raises an error that says where. Otherwise the
            # reason is null or empty elements.
            self.read(data, size, &page)
            malformed(
                self.cql_name, "has null or empty elements, which a buffer of numbers cannot hold"
            )
        return store_into(<Number> self.element, self.cql_name, data + 8, gap, count, out)


# Creates a SortedSet from the new list `items`. If the elements are sorted and distinct, the list
# becomes the set's field directly; otherwise `SortedSet._read` sorts them.
cdef object sorted_set(object items):
    cdef Py_ssize_t count = PyList_GET_SIZE(items)
    cdef Py_ssize_t i
    if not SETS_HAVE_FIELDS:
        return READ_SET(items)
    arrived = PyList_GetSlice(items, 0, count)
    try:
        PyList_Sort(items)
        for i in range(1, count):
            if PyList_GET_SIZE(items) != count:
                return READ_SET(arrived)
            # Hold references to both elements, because the comparison may run user code.
            left = <object> PyList_GET_ITEM(items, i - 1)
            right = <object> PyList_GET_ITEM(items, i)
            if not PyObject_RichCompareBool(left, right, Py_LT):
                return READ_SET(arrived)
    except TypeError:
        return READ_SET(arrived)
    result = turbocql_new(SortedSet)
    turbocql_put(&(<SetBase> result)._items, items)
    return result


# -- map (native_protocol_v5.spec 5.13) ------------------------------------------------------------

@cython.final
cdef class MapCodec(Codec):
    """map: an [int] count, then [bytes] key and [bytes] value for each entry."""

    cdef Codec key
    cdef Codec value
    cdef object encode_key

    cdef int write(self, wbuf* out, object value) except -1:
        cdef Py_ssize_t count
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t cursor = 0
        cdef bint at_key = True
        cdef PyObject* key
        cdef PyObject* item
        if PyDict_CheckExact(value):
            # Iterate over a copy, because user code of an element may change the dict.
            pairs = PyDict_Copy(value)
            count = PyDict_Size(pairs)
            wbuf_int32(out, count)
            turbocql_enter(ENCODING)
            try:
                while PyDict_Next(pairs, &cursor, &key, &item):
                    at_key = True
                    write_bytes(self.key, out, <object> key)
                    at_key = False
                    write_bytes(self.value, out, <object> item)
                    i += 1
            except Exception as error:
                locate(error, f"{'key' if at_key else 'value'} {i} of {self.cql_name}")
                raise
            finally:
                Py_LeaveRecursiveCall()
            return 0
        if value is EMPTY:
            return 0
        # `pairs` returns new lists of equal length, which no other code has.
        keys, values = coerce.pairs(value, self.cql_name)
        count = PyList_GET_SIZE(keys)
        wbuf_int32(out, count)
        turbocql_enter(ENCODING)
        try:
            for i in range(count):
                at_key = True
                write_bytes(self.key, out, <object> PyList_GET_ITEM(keys, i))
                at_key = False
                write_bytes(self.value, out, <object> PyList_GET_ITEM(values, i))
        except Exception as error:
            locate(error, f"{'key' if at_key else 'value'} {i} of {self.cql_name}")
            raise
        finally:
            Py_LeaveRecursiveCall()
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef Py_ssize_t count = count_of(self, data, size, 8)
        cdef Py_ssize_t left = size - 4
        cdef Py_ssize_t length
        cdef Py_ssize_t i = 0
        cdef bint at_key = True
        cdef const uint8_t* p = data + 4
        keys = PyList_New(count)  # its items are NULL until we set them, as in ListCodec.read
        values = PyList_New(count)
        turbocql_enter(DECODING)
        try:
            for i in range(count):
                at_key = True
                length = take(&p, &left)
                item = self.key.read_nullable(p, length, page)
                if length > 0:
                    p += length
                    left -= length
                Py_INCREF(item)
                PyList_SET_ITEM(keys, i, item)
                at_key = False
                length = take(&p, &left)
                item = self.value.read_nullable(p, length, page)
                if length > 0:
                    p += length
                    left -= length
                Py_INCREF(item)
                PyList_SET_ITEM(values, i, item)
        except Exception as error:
            locate(error, f"{'key' if at_key else 'value'} {i} of {self.cql_name}")
            raise
        finally:
            Py_LeaveRecursiveCall()
        if left:
            return malformed(self.cql_name, f"{left} bytes left over after {count} pairs")
        if not MAPS_HAVE_FIELDS:
            return OrderedMapSerializedKey._of(keys, values, self.encode_key)
        mapping = turbocql_new(OrderedMapSerializedKey)
        turbocql_put(&(<KeyedMapBase> mapping)._keys, keys)
        turbocql_put(&(<KeyedMapBase> mapping)._values, values)
        turbocql_put(&(<KeyedMapBase> mapping)._index, None)
        turbocql_put(&(<KeyedMapBase> mapping)._encode_key, self.encode_key)
        return mapping


# -- tuple and user-defined types (native_protocol_v5.spec 5.21, 6) --------------------------------

@cython.final
cdef class TupleCodec(Codec):
    """tuple and user-defined types: [bytes] for each field. Fields at the end may be missing."""

    cdef tuple fields       # a Codec for each field; `tuple_codec` checks their class
    cdef tuple names        # the names of the fields; None for the CQL type tuple
    cdef object make        # returns the decoded value; None for the CQL type tuple
    # The class of named tuples that `make` creates from values in the order of the fields, or None.
    cdef object tuple_class

    cdef str where(self, Py_ssize_t index):
        if self.names is None:
            return f"item {index} of {self.cql_name}"
        return f'field "{self.names[index]}" of {self.cql_name}'

    cdef int write(self, wbuf* out, object value) except -1:
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.fields)
        cdef Py_ssize_t value_count
        cdef Py_ssize_t i = 0
        if (
            not (
                PyTuple_CheckExact(value)
                or (self.tuple_class is not None and type(value) is self.tuple_class)
            )
            or PyTuple_GET_SIZE(value) > count
        ):
            if value is EMPTY:
                return 0
            if self.names is None:
                value = tuple(coerce.tuple_items(value, self.cql_name, count))
            else:
                value = tuple(coerce.udt_items(value, self.cql_name, self.names))
        value_count = PyTuple_GET_SIZE(value)
        if self.names is None and value_count:
            # Write a tuple with fewer items as it is. With nulls after its items, it would be
            # another partition key than the same tuple in a CQL literal or from other drivers. CQL
            # has no tuples without items, and its tools cannot read them, so such a tuple gets
            # nulls.
            count = value_count
        turbocql_enter(ENCODING)
        try:
            for i in range(count):
                if i < value_count:
                    write_bytes(
                        <Codec> PyTuple_GET_ITEM(self.fields, i),
                        out,
                        <object> PyTuple_GET_ITEM(value, i),
                    )
                else:
                    wbuf_int32(out, -1)
        except Exception as error:
            locate(error, self.where(i))
            raise
        finally:
            Py_LeaveRecursiveCall()
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.fields)
        cdef Py_ssize_t left = size
        cdef Py_ssize_t length
        cdef Py_ssize_t i = 0
        cdef const uint8_t* p = data
        cdef bint cut = False
        items = PyTuple_New(count)
        turbocql_enter(DECODING)
        try:
            for i in range(count):
                if left == 0:
                    if not cut:
                        cut = True
                        lack(self, page, count - i)
                    # The value was written before the last fields were added to the type.
                    item = None
                else:
                    length = take(&p, &left)
                    item = (<Codec> PyTuple_GET_ITEM(self.fields, i)).read_nullable(
                        p, length, page
                    )
                    if length > 0:
                        p += length
                        left -= length
                Py_INCREF(item)
                PyTuple_SET_ITEM(items, i, item)
        except Exception as error:
            locate(error, self.where(i))
            raise
        finally:
            Py_LeaveRecursiveCall()
        if left:
            return malformed(self.cql_name, f"{left} bytes left over after {count} fields")
        return items if self.make is None else self.make(items)


# For a vector of more bytes than this, check the number of elements before we allocate memory.
cdef enum:
    COUNTED_FIRST = 65536


# -- vector ----------------------------------------------------------------------------------------

@cython.final
cdef class VectorCodec(Codec):
    """vector: the elements one after the other, with lengths (unsigned vints) if their size varies.
    """

    cdef Codec element
    cdef Py_ssize_t dimension
    cdef bint numbers       # True if the elements are numbers of a fixed size
    cdef object read_as     # decode as: None for a list, "array" or "numpy"
    cdef object model       # an empty array.array to clone, or the function numpy.empty
    cdef object dtype       # the dtype of NumPy arrays

    cdef int refuse_count(self, object value, Py_ssize_t count) except -1:
        refuse_value(value, f"has {count} elements, {self.cql_name} takes {self.dimension}")

    def encode(self, value):
        """Encode any iterable that has `dimension` elements, none of which is null."""
        if not self.numbers:
            return Codec.encode(self, value)
        if self.fixed_size > COUNTED_FIRST:
            value = self.counted(value)
        # The size is known, so write directly into the new bytes object. No other code gets it
        # before it is complete.
        result = PyBytes_FromStringAndSize(NULL, self.fixed_size)
        self.fill(<uint8_t*> PyBytes_AS_STRING(result), value)
        return result

    cdef int write(self, wbuf* out, object value) except -1:
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t start
        cdef Py_ssize_t size
        cdef Codec element = self.element
        if self.numbers:
            if self.fixed_size > COUNTED_FIRST:
                value = self.counted(value)
            return self.fill(wbuf_extend(out, self.fixed_size), value)
        sequence = self.sequence_of(value)
        turbocql_enter(ENCODING)
        try:
            for i in range(self.dimension):
                item = element_at(sequence, i, self.dimension)
                if is_null(element, item):
                    raise EncodeTypeError("null is not allowed in a vector")
                start = out.size
                element.write(out, item)
                size = out.size - start
                if element.fixed_size < 0:
                    self.insert_length(out, start, size)
                elif size != element.fixed_size:
                    raise EncodeTypeError("an empty value is not allowed in a vector")
        except Exception as error:
            locate(error, f"element {i} of {self.cql_name}")
            raise
        finally:
            Py_LeaveRecursiveCall()
        return 0

    # Inserts the length before the element of `size` bytes at `offset`. The size of the length
    # itself was not known before.
    cdef int insert_length(self, wbuf* out, Py_ssize_t offset, Py_ssize_t size) except -1:
        cdef uint8_t length[9]
        cdef Py_ssize_t taken = put_uvint(length, <uint64_t> size)
        cdef Py_ssize_t i
        cdef uint8_t* p
        wbuf_extend(out, taken)
        p = out.data + offset
        memmove(p + taken, p, size)
        memcpy(p, length, taken)
        return 0

    # Checks the number of elements before we allocate memory for a large vector. Returns `value`,
    # or its elements as a list if it has no length.
    cdef object counted(self, object value):
        self.refuse_null(value)
        if isinstance(value, (str, bytes, dict)) or not hasattr(type(value), "__len__"):
            items = elements_of(value, self.cql_name)
        else:
            items = value
        try:
            count = len(items)
        except TypeError:  # an array without dimensions
            items = elements_of(value, self.cql_name)
            count = len(items)
        if count != self.dimension:
            self.refuse_count(value, count)
        return items

    cdef int refuse_null(self, object value) except -1:
        # A masked array whose elements are all masked means null, too. Check this first, because
        # its hidden elements may be values that could be encoded.
        if turbocql_maybe_missing(value):
            coerce.refuse_missing(
                value, f"a collection of elements for {self.cql_name}", self.cql_name
            )
        return 0

    cdef object sequence_of(self, object value):
        self.refuse_null(value)
        items = value if is_sequence(value) else elements_of(value, self.cql_name)
        items = turbocql_readable(items)
        if size_of(items) != self.dimension:
            self.refuse_count(value, size_of(items))
        return items

    # Encodes a vector of numbers at `p`, where there is space for all of them.
    cdef int fill(self, uint8_t* p, object value) except -1:
        cdef Number element = <Number> self.element
        cdef Py_ssize_t count = self.dimension
        cdef Py_ssize_t width = element.width
        cdef Py_ssize_t i = 0
        if not is_sequence(value) and is_array(value) and self.fill_from_array(p, value):
            return 0
        sequence = self.sequence_of(value)
        try:
            while True:
                # Check the size, as in `ListCodec.write_numbers`.
                if size_of(sequence) != count:
                    element_at(sequence, 0, count)
                i = put_plain(element, sequence, i, count, p, width)
                if i == count:
                    break
                item = element_at(sequence, i, count)
                if is_null(element, item):
                    raise EncodeTypeError("null is not allowed in a vector")
                if put_number(element, p + i * width, item) != width:
                    raise EncodeTypeError("an empty value is not allowed in a vector")
                i += 1
        except Exception as error:
            locate(error, f"element {i} of {self.cql_name}")
            raise
        return 0

    cdef bint fill_from_array(self, uint8_t* p, object value) except -1:
        cdef Py_buffer view
        cdef Elements source
        if not open_array(value, &view):
            return False
        try:
            source = elements_in(&view)
            if source.sort == SORT_NONE or (is_bytes(&source) and is_single_moment(value)):
                return False
            if source.count != self.dimension:
                self.refuse_count(value, source.count)
            return convert(<Number> self.element, &source, p, self.element.width)
        finally:
            PyBuffer_Release(&view)

    cdef int check_size(self, Py_ssize_t size) except -1:
        if size != self.fixed_size:
            malformed(
                self.cql_name,
                f"takes {self.fixed_size} bytes ({self.dimension} elements of "
                f"{self.element.fixed_size}), got {size}",
            )
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef Py_ssize_t i = 0
        cdef Py_ssize_t left = size
        cdef Py_ssize_t length = self.element.fixed_size
        cdef bint packed = length >= 0
        cdef Codec element = self.element
        if packed:
            self.check_size(size)
            if self.numbers:
                return self.read_numbers(data)
        elif self.dimension > size:
            # The length of each element has at least one byte.
            return malformed(self.cql_name, f"{size} bytes cannot hold {self.dimension} elements")
        items = PyList_New(self.dimension)
        turbocql_enter(DECODING)
        try:
            for i in range(self.dimension):
                if not packed:
                    length = self.take_length(&data, &left)
                item = element.read_nullable(data, length, page)
                data += length
                left -= length
                Py_INCREF(item)
                PyList_SET_ITEM(items, i, item)
        except Exception as error:
            locate(error, f"element {i} of {self.cql_name}")
            raise
        finally:
            Py_LeaveRecursiveCall()
        if left:
            return malformed(
                self.cql_name, f"{left} bytes left over after {self.dimension} elements"
            )
        return items

    cdef Py_ssize_t take_length(self, const uint8_t** p, Py_ssize_t* left) except -1:
        cdef uint64_t size = 0
        cdef Py_ssize_t taken = get_uvint(p[0], left[0], &size)
        if taken == 0:
            coerce.truncated("truncated within the length of an element")
        p[0] += taken
        left[0] -= taken
        if size > <uint64_t> left[0]:
            coerce.truncated(f"truncated: an element claims {size} bytes, {left[0]} are left")
        return <Py_ssize_t> size

    cdef object read_numbers(self, const uint8_t* data):
        cdef Py_ssize_t i
        cdef Py_ssize_t width = self.element.width
        cdef Kind kind = self.element.kind
        if self.read_as is not None:
            return self.read_array(data, width)
        numbers = PyList_New(self.dimension)
        if kind >= KIND_FLOAT32:
            turbocql_unpack_floats(numbers, self.dimension, data, width, kind == KIND_FLOAT32)
        else:
            for i in range(self.dimension):
                item = get_number(kind, data)
                data += width
                Py_INCREF(item)
                PyList_SET_ITEM(numbers, i, item)
        # A number refers to nothing, so hide the list from the garbage collector, as Python does
        # with tuples of numbers. Otherwise the collector would read each number of a page twice,
        # which takes as long as decoding the page. If an application adds containers to such a
        # list, they are never freed too early, but a reference cycle through the list is never
        # found.
        PyObject_GC_UnTrack(<void*> numbers)
        return numbers

    cdef object read_array(self, const uint8_t* data, Py_ssize_t width):
        cdef Py_buffer view
        if self.read_as == "array":
            numbers = arrays.clone(self.model, self.dimension, False)
            turbocql_copy(
                <uint8_t*> (<arrays.array> numbers).data.as_chars,
                data,
                self.dimension,
                width,
                TURBOCQL_LITTLE,
            )
            return numbers
        numbers = self.model(self.dimension, self.dtype)
        PyObject_GetBuffer(numbers, &view, PyBUF_WRITABLE)
        try:
            if view.len < self.dimension * width:
                raise TypeError(
                    f"{self.cql_name}: numpy.empty gave {view.len} bytes "
                    f"for {self.dimension} elements of {width}"
                )
            turbocql_copy(<uint8_t*> view.buf, data, self.dimension, width, TURBOCQL_LITTLE)
        finally:
            PyBuffer_Release(&view)
        return numbers

    def deserialize_into(self, data, out):
        """Decode plain numbers into `out`; see `Codec.deserialize_into`."""
        cdef Py_buffer view
        if not self.numbers:
            return Codec.deserialize_into(self, data, out)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            self.check_size(view.len)
            return store_into(
                <Number> self.element,
                self.cql_name,
                <const uint8_t*> view.buf,
                self.element.width,
                self.dimension,
                out,
            )
        finally:
            PyBuffer_Release(&view)


# -- the order of sets and maps --------------------------------------------------------------------

# An element of a set, or a key and its value, in the bytes of the collection.
cdef struct Entry:
    const uint8_t* key      # the bytes of the element, or of the key
    Py_ssize_t key_size
    const uint8_t* begin    # where the length of the element, or of the key, is
    Py_ssize_t size         # of all parts of the entry, with their lengths

ctypedef int (*Comparison)(const void*, const void*) noexcept nogil


# Compares two entries by the bytes of their keys; of equal keys, the earlier one is less.
cdef int by_bytes(const void* left, const void* right) noexcept nogil:
    cdef const Entry* a = <const Entry*> left
    cdef const Entry* b = <const Entry*> right
    cdef Py_ssize_t shared = min(a.key_size, b.key_size)
    cdef int order = memcmp(a.key, b.key, shared) if shared > 0 else 0
    if order == 0 and a.key_size != b.key_size:
        return -1 if a.key_size < b.key_size else 1
    if order == 0:
        return -1 if a.begin < b.begin else a.begin > b.begin
    return order


# Compares two entries whose keys are signed integers of the same size.
cdef int by_signed_integer(const void* left, const void* right) noexcept nogil:
    cdef const Entry* a = <const Entry*> left
    cdef const Entry* b = <const Entry*> right
    if (a.key[0] ^ b.key[0]) & 0x80:
        return -1 if a.key[0] & 0x80 else 1
    return by_bytes(left, right)


# Sorts the entries of a set or map, and removes those whose key another entry repeats later.
# Returns the new size of the collection in bytes. Returns -1, and changes nothing, if the entries
# cannot be compared here.
cdef Py_ssize_t sort_entries(
    uint8_t* data, Py_ssize_t size, int parts, Comparison compare
) except -2:
    cdef Py_ssize_t count = <int32_t> get_be32(data) if size >= 4 else 0
    cdef Py_ssize_t offset = 4
    cdef Py_ssize_t kept = 0
    cdef Py_ssize_t length, i
    cdef bint is_sorted = True
    cdef int part
    cdef Entry* entries
    cdef uint8_t* copy
    if count <= 1:
        return size
    entries = <Entry*> PyMem_Malloc(count * sizeof(Entry))
    copy = <uint8_t*> PyMem_Malloc(size)
    try:
        if entries == NULL or copy == NULL:
            raise MemoryError()
        memcpy(copy, data, size)
        for i in range(count):
            entries[i].begin = copy + offset
            for part in range(parts):
                length = <int32_t> get_be32(copy + offset) if offset + 4 <= size else -1
                if length < 0 or length > size - offset - 4:
                    return size  # a null, which servers refuse: leave the collection as it is
                if part == 0:
                    entries[i].key = copy + offset + 4
                    entries[i].key_size = length
                offset += 4 + length
            entries[i].size = copy + offset - entries[i].begin
            # Integers of different sizes are compared by Python.
            if compare == by_signed_integer and (
                entries[i].key_size != entries[0].key_size or entries[i].key_size == 0
            ):
                return -1
            if i > 0 and compare(&entries[i - 1], &entries[i]) > 0:
                is_sorted = False
        if not is_sorted:
            qsort(entries, count, sizeof(Entry), compare)
        offset = 4
        for i in range(count):
            # Of entries with the same key, keep the last.
            if (
                i + 1 < count
                and entries[i].key_size == entries[i + 1].key_size
                and memcmp(entries[i].key, entries[i + 1].key, entries[i].key_size) == 0
            ):
                continue
            memcpy(data + offset, entries[i].begin, entries[i].size)
            offset += entries[i].size
            kept += 1
        put_be32(data, <uint32_t> kept)
        return offset
    finally:
        PyMem_Free(entries)
        PyMem_Free(copy)


@cython.final
cdef class OrderedCodec(Codec):
    """Encodes with another codec, and then brings the sets and maps in a value into an order."""

    cdef Codec codec
    cdef object order   # takes the encoded bytes, and returns the bytes in order
    # Compares elements if `order` does so by their bytes, or as signed integers; NULL otherwise.
    cdef Comparison compare
    cdef int parts      # of an entry: 2 for a map, 1 for a set

    cdef int write(self, wbuf* out, object value) except -1:
        cdef Py_ssize_t start = out.size
        cdef Py_ssize_t size
        cdef bytes data
        self.codec.write(out, value)
        if self.compare != NULL:
            size = sort_entries(out.data + start, out.size - start, self.parts, self.compare)
            if size >= 0:
                out.size = start + size
                return 0
        data = self.order(
            PyBytes_FromStringAndSize(<char*> (out.data + start), out.size - start)
        )
        out.size = start
        return wbuf_write(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        return self.codec.read(data, size, page)

    def deserialize_into(self, data, out):
        """Decode numbers into `out`; see `Codec.deserialize_into`."""
        return self.codec.deserialize_into(data, out)


def ordered(codec, order):
    """Return a codec whose values are encoded by `codec`, and then brought into an order.

    :param order: takes the encoded bytes, and returns the bytes in order.
    """
    cdef OrderedCodec new = OrderedCodec.__new__(OrderedCodec)
    new.codec = codec_of(codec)
    new.order = order
    new.parts = 2 if order.is_map else 1
    new.compare = NULL
    if order.key is bytes:
        new.compare = by_bytes
    elif order.key is of_signed:
        new.compare = by_signed_integer
    return describe(new, KIND_OTHER, codec.cql_name, -1, -1, False, codec.legacy_empty)


# -- functions that create codecs, as in the pure Python version -----------------------------------

cdef Codec list_codec(Codec element, str name, bint is_set, object empty):
    cdef ListCodec codec = ListCodec.__new__(ListCodec)
    codec.element = element
    codec.is_set = is_set
    codec.numbers = KIND_INT8 <= element.kind <= KIND_FLOAT64
    return describe(codec, KIND_OTHER, name, -1, -1, False, empty)


def list_of(element, name="", empty=None):
    """Return the codec of list<element>, whose values are decoded as lists."""
    element = codec_of(element)
    return list_codec(element, name or f"list<{element.cql_name}>", False, empty)


def set_of(element, name="", empty=None):
    """Return the codec of set<element>, whose values are decoded as SortedSets."""
    element = codec_of(element)
    return list_codec(element, name or f"set<{element.cql_name}>", True, empty)


def map_of(key, value, name="", empty=None):
    """Return the codec of map<key, value>; decoded values are `OrderedMapSerializedKey` objects."""
    cdef MapCodec codec = MapCodec.__new__(MapCodec)
    codec.key = codec_of(key)
    codec.value = codec_of(value)
    codec.encode_key = key.encode
    name = name or f"map<{key.cql_name}, {value.cql_name}>"
    return describe(codec, KIND_OTHER, name, -1, -1, False, empty)


cdef Codec tuple_codec(object name, object names, object fields, object make, object empty):
    cdef TupleCodec codec = TupleCodec.__new__(TupleCodec)
    codec.fields = tuple(fields)
    codec.names = names
    codec.make = make
    kind = make.args[0] if isinstance(make, partial) and make.args else None
    if (
        isinstance(kind, type)
        and issubclass(kind, tuple)
        and getattr(kind, "_fields", None) == names
    ):
        codec.tuple_class = kind
    for field in codec.fields:
        codec_of(field)
    return describe(codec, KIND_OTHER, name, -1, -1, False, empty)


def tuple_of(fields, name="", empty=None):
    """Return the codec of tuple<fields...>, whose values are decoded as tuples."""
    fields = tuple(fields)
    name = name or f"tuple<{', '.join([field.cql_name for field in fields])}>"
    return tuple_codec(name, None, fields, None, empty)


def udt(name, names, fields, make, empty=None):
    """Return the codec of a user-defined type; a value is decoded as ``make([field values])``."""
    names = tuple(names)
    fields = tuple(fields)
    if len(names) != len(fields):
        raise ValueError(f"{name} has {len(names)} names of fields and {len(fields)} fields")
    return tuple_codec(name, names, fields, make, empty)


def vector_of(element, dimension, as_="list", name="", empty=None):
    """Return the codec of vector<element, dimension>.

    :param as_: how vectors of numbers are decoded: "list", "array" (array.array) or "numpy".
    :raises ValueError: if `as_` has another value, or the dimension is out of range.
    """
    cdef Codec inner = codec_of(element)
    cdef VectorCodec codec = VectorCodec.__new__(VectorCodec)
    cdef Py_ssize_t size
    check_dimension(inner.cql_name, inner.fixed_size, dimension)
    if as_ not in ("list", "array", "numpy"):
        raise ValueError(f"vectors are read as 'list', 'array' or 'numpy', not as {as_!r}")
    codec.element = inner
    codec.dimension = dimension
    codec.numbers = KIND_INT8 <= inner.kind <= KIND_FLOAT64 and inner.fixed_size >= 0
    codec.read_as = None if as_ == "list" or not codec.numbers else as_
    if codec.read_as == "array":
        codec.model = array_module.array(inner.struct_code)
    elif codec.read_as == "numpy":
        import numpy  # optional

        codec.model = numpy.empty
        codec.dtype = numpy.dtype(inner.struct_code)
    size = inner.fixed_size * codec.dimension if inner.fixed_size >= 0 else -1
    return describe(
        codec,
        KIND_OTHER,
        name or f"vector<{inner.cql_name}, {dimension}>",
        size,
        size,
        False,
        empty,
    )
