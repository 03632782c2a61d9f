/* Access to members of classes of other modules, and conversions between bytes and Python values:
 * the numbers of a list, UUIDs, ASCII texts. This file uses only the documented C API. Everything
 * else comes from `beyond_api.h`. */
#ifndef TURBOCQL_OBJECTS_H
#define TURBOCQL_OBJECTS_H

#include <Python.h>
#include <stdint.h>
#include <math.h>

#include "beyond_api.h"
#include "byteswap.h"
#include "kept_arenas.h"

/* Reads and writes an attribute in a slot of another module's object. `member` is the descriptor
 * that the object's class has for the slot. */
static inline PyObject *turbocql_member(PyObject *member, PyObject *owner) {
    return Py_TYPE(member)->tp_descr_get(member, owner, (PyObject *)Py_TYPE(owner));
}

static inline int turbocql_set_member(PyObject *member, PyObject *owner, PyObject *value) {
    return Py_TYPE(member)->tp_descr_set(member, owner, value);
}

/* Returns a new instance of a Python class, without running its __init__. */
static inline PyObject *turbocql_new(PyObject *type) {
    return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
}

/* Returns 1 if `text`, a str, consists of these ASCII characters; 0 if it has other characters. */
static inline int turbocql_is_this_ascii(PyObject *text, const uint8_t *data, Py_ssize_t size) {
    return PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_GET_LENGTH(text) == size
        && memcmp(PyUnicode_1BYTE_DATA(text), data, (size_t)size) == 0;
}

/* Returns 1 if `value` may be another library's "no value" (see cqltypes/missing.py). We only look
 * at the name of its type, so ordinary values cost two reads of a field. */
static inline int turbocql_named_missing(const char *name) {
    if (name[0] == 'p')
        return strncmp(name, "pandas.", 7) == 0;
    if (name[0] == 'M')
        return strncmp(name, "Masked", 6) == 0;
    return name[0] == 'N' && (strcmp(name, "NAType") == 0 || strcmp(name, "NaTType") == 0);
}

static inline int turbocql_maybe_missing(PyObject *value) {
    const PyTypeObject *type = Py_TYPE(value);
    if (type->tp_flags
        & (Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS
           | Py_TPFLAGS_BYTES_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS))
        return 0;
    if (turbocql_named_missing(type->tp_name))
        return 1;
    /* Subclasses of masked arrays, including NumPy's own subclass for records, have other names. */
    while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        type = type->tp_base;
        if (turbocql_named_missing(type->tp_name))
            return 1;
    }
    return 0;
}

/* Returns a str of bytes that are all ASCII. For a short text, PyUnicode_DecodeUTF8 takes twice as
 * long, mostly to check that the bytes are ASCII. */
static inline PyObject *turbocql_ascii_text(const uint8_t *data, Py_ssize_t size) {
    PyObject *text = PyUnicode_New(size, 127);
    if (text != NULL)
        memcpy(PyUnicode_1BYTE_DATA(text), data, (size_t)size);
    return text;
}

/* Returns 1 if `value`, an object with a buffer, may hold more than the buffer shows, such as a
 * mask. This may be so if its class is written in Python, as the class of masked arrays is. */
static inline int turbocql_maybe_masked(PyObject *value) {
    const PyTypeObject *type = Py_TYPE(value);
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && strcmp(type->tp_name, "array.array") != 0;
}

/* Writes the number with these digits of 30 bits, the lowest first, as 16 big-endian bytes, and
 * returns 1. Returns 0 if the number has more than 128 bits. */
static inline int turbocql_digits_to_16(const uint32_t *digits, Py_ssize_t count, uint8_t *to) {
    uint64_t d[5] = {0, 0, 0, 0, 0}, low, high;
    Py_ssize_t i;
    if (count > 5)
        return 0;
    for (i = 0; i < count; i++)
        d[i] = digits[i];
    if (d[4] > 0xFF)
        return 0;
    low = d[0] | d[1] << 30 | d[2] << 60;
    high = d[2] >> 4 | d[3] << 26 | d[4] << 56;
    for (i = 0; i < 8; i++) {
        to[7 - i] = (uint8_t)(high >> (8 * i));
        to[15 - i] = (uint8_t)(low >> (8 * i));
    }
    return 1;
}

/* Writes the 16 bytes of a UUID's number, directly from the digits of the int if their layout is
 * known. Returns -1 with an exception, else 0. */
static inline int turbocql_uuid_bytes(PyObject *number, uint8_t *to) {
#if defined(TURBOCQL_DIGITS)
    Py_ssize_t count = TURBOCQL_DIGIT_COUNT(number);
    if (!TURBOCQL_NEGATIVE(number)
        && turbocql_digits_to_16(&TURBOCQL_DIGIT(number, 0), count, to))
        return 0;
#elif PYLONG_BITS_IN_DIGIT == 30 && PY_VERSION_HEX >= 0x030E0000
    /* Documented from 3.14 on; native digits of 30 bits are uint32_t, the lowest first. */
    PyLongExport digits;
    int done;
    if (PyLong_Export(number, &digits) < 0)
        return -1;
    if (digits.digits != NULL) {
        done = !digits.negative
            && turbocql_digits_to_16((const uint32_t *)digits.digits, digits.ndigits, to);
        PyLong_FreeExport(&digits);
        if (done)
            return 0;
    }
#endif
    return turbocql_int_to_16(number, to);
}

/* Packs plain numbers of a list or tuple, from `index` on, as long as they are exact floats (or
 * exact ints) within range, so no user code runs. Each number goes to `to + i * gap`. If `gap` is
 * wider than the number, its length precedes it. Returns the index of the first item that is
 * something else, or `count`. */
#define TURBOCQL_STORE(type, bits, swap)                       \
    do {                                                       \
        type stored = (bits);                                  \
        if (TURBOCQL_LITTLE)                                   \
            stored = swap(stored);                             \
        memcpy(p, &stored, sizeof(stored));                    \
    } while (0)

#define TURBOCQL_LENGTH(width)                                 \
    do {                                                       \
        if (gap != (width)) {                                  \
            uint32_t length = (width);                         \
            if (TURBOCQL_LITTLE)                               \
                length = turbocql_bswap32(length);             \
            memcpy(p, &length, 4);                             \
            p += 4;                                            \
        }                                                      \
    } while (0)

TURBOCQL_UNUSED static Py_ssize_t turbocql_pack_floats(
    PyObject *sequence, Py_ssize_t index, Py_ssize_t count, uint8_t *to, Py_ssize_t gap,
    int single) {
    PyObject **items = PySequence_Fast_ITEMS(sequence);
    for (; index < count; index++) {
        uint8_t *p = to + index * gap;
        double real;
        if (!PyFloat_CheckExact(items[index]))
            break;
        real = PyFloat_AS_DOUBLE(items[index]);
        if (single) {
            float narrow = (float)real;
            uint32_t bits;
            if (isinf(narrow) && !isinf(real))
                break;
            memcpy(&bits, &narrow, 4);
            TURBOCQL_LENGTH(4);
            TURBOCQL_STORE(uint32_t, bits, turbocql_bswap32);
        } else {
            uint64_t bits;
            memcpy(&bits, &real, 8);
            TURBOCQL_LENGTH(8);
            TURBOCQL_STORE(uint64_t, bits, turbocql_bswap64);
        }
    }
    return index;
}

/* Reads packed floats into the first items of the new list `list`. The numbers are `gap` bytes
 * apart. If `gap` is wider than a number, each number has its length in front, and reading stops at
 * the first length that is not the number's width. Returns how many were read; -1 with an
 * exception.
 */
TURBOCQL_UNUSED static Py_ssize_t turbocql_unpack_floats(
    PyObject *list, Py_ssize_t count, const uint8_t *from, Py_ssize_t gap, int single) {
    PyFloatObject header, *model = NULL;
    Py_ssize_t i, width = single ? 4 : 8;
    if (count >= 8 && turbocql_copies_floats()) {
        PyObject *zero = PyFloat_FromDouble(0.0);
        if (zero == NULL)
            return -1;
        header = *(PyFloatObject *)zero;
        model = &header;
        Py_DECREF(zero);
    }
    for (i = 0; i < count; i++) {
        const uint8_t *p = from + i * gap;
        PyObject *item;
        double real;
        if (gap != width) {
            uint32_t length;
            memcpy(&length, p, 4);
            if ((TURBOCQL_LITTLE ? turbocql_bswap32(length) : length) != (uint32_t)width)
                break;
            p += 4;
        }
        if (single) {
            uint32_t bits;
            float narrow;
            memcpy(&bits, p, 4);
            if (TURBOCQL_LITTLE)
                bits = turbocql_bswap32(bits);
            memcpy(&narrow, &bits, 4);
            real = narrow;
        } else {
            uint64_t bits;
            memcpy(&bits, p, 8);
            if (TURBOCQL_LITTLE)
                bits = turbocql_bswap64(bits);
            memcpy(&real, &bits, 8);
        }
        item = turbocql_new_float(model, real);
        if (item == NULL)
            return -1;
        PyList_SET_ITEM(list, i, item);
    }
    if (model != NULL && i >= TURBOCQL_LARGE_VECTOR)
        turbocql_keep_arena(PyList_GET_ITEM(list, 0));
    return i;
}

/* Sets `number` to the value of `item`, an exact int. Returns 0 if it does not fit into 64 bits. */
static inline int turbocql_int64(PyObject *item, long long *number) {
    int overflow;
#ifdef TURBOCQL_DIGITS
    Py_ssize_t digits = TURBOCQL_DIGIT_COUNT(item);
    if (digits <= 2) {
        long long magnitude = 0;
        if (digits > 0)
            magnitude = (long long)TURBOCQL_DIGIT(item, 0);
        if (digits > 1)
            magnitude |= (long long)TURBOCQL_DIGIT(item, 1) << 30;
        *number = TURBOCQL_NEGATIVE(item) ? -magnitude : magnitude;
        return 1;
    }
#elif PY_VERSION_HEX >= 0x030E0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)item)) {
        *number = PyUnstable_Long_CompactValue((PyLongObject *)item);
        return 1;
    }
#endif
    *number = PyLong_AsLongLongAndOverflow(item, &overflow);
    return overflow == 0;
}

TURBOCQL_UNUSED static Py_ssize_t turbocql_pack_ints(
    PyObject *sequence, Py_ssize_t index, Py_ssize_t count, uint8_t *to, Py_ssize_t gap,
    int width) {
    PyObject **items = PySequence_Fast_ITEMS(sequence);
    for (; index < count; index++) {
        uint8_t *p = to + index * gap;
        long long number;
        if (!PyLong_CheckExact(items[index]) || !turbocql_int64(items[index], &number))
            break;
        if (width == 4) {
            if (number != (int32_t)number)
                break;
            TURBOCQL_LENGTH(4);
            TURBOCQL_STORE(uint32_t, (uint32_t)number, turbocql_bswap32);
        } else if (width == 8) {
            TURBOCQL_LENGTH(8);
            TURBOCQL_STORE(uint64_t, (uint64_t)number, turbocql_bswap64);
        } else if (width == 2) {
            if (number != (int16_t)number)
                break;
            TURBOCQL_LENGTH(2);
            TURBOCQL_STORE(uint16_t, (uint16_t)number, turbocql_bswap16);
        } else {
            if (number != (int8_t)number)
                break;
            TURBOCQL_LENGTH(1);
            *p = (uint8_t)number;
        }
    }
    return index;
}

/* Writes nulls (the length -1) for the run of None in a list or tuple that begins at `index`; returns
 * how many. */
TURBOCQL_UNUSED static Py_ssize_t turbocql_pack_nulls(
    PyObject *sequence, Py_ssize_t index, Py_ssize_t count, uint8_t *p) {
    PyObject **items = PySequence_Fast_ITEMS(sequence);
    Py_ssize_t end = index;
    for (; end < count && items[end] == Py_None; end++, p += 4)
        memset(p, 0xff, 4);
    return end - index;
}

/* Enters one more level of recursion; -1 with RecursionError if that is too deep. (The error of
 * Py_EnterRecursiveCall would not name the reason.) */
static inline int turbocql_enter(const char *where) {
    return Py_EnterRecursiveCall(where) ? -1 : 0;
}

/* Returns a list or tuple that can be read while code of its elements may run. With the GIL this
 * is the sequence itself: callers check its size before they read an element. Without the GIL,
 * other threads may change a list at any moment, so this is a tuple of its elements. */
static inline PyObject *turbocql_readable(PyObject *sequence) {
#ifdef Py_GIL_DISABLED
    if (PyList_CheckExact(sequence))
        return PyList_AsTuple(sequence);
#endif
    Py_INCREF(sequence);
    return sequence;
}

#endif
