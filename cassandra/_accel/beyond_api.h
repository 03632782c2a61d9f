/* What compiled code takes from CPython beyond its documented C API: all of it, and nothing else
 * includes or repeats such a thing. Each has a plain way beside it, which TURBOCQL_PLAIN_C=1 at the
 * build takes everywhere (see docs/twins.rst).
 *
 * Instructions are of an insert in `benchmarks/instructions.py` on 3.11, which has 23,500; all
 * plain ways together take 27,100.
 */
#ifndef TURBOCQL_BEYOND_API_H
#define TURBOCQL_BEYOND_API_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* -- digits of integers ------------------------------------------------------------------------
 *
 * Why: a list of integers is packed, and a UUID written, without a call for each number. The layout
 * has been read in the headers of 3.10, 3.11 (ob_digit behind a size with the sign) and 3.12, 3.13
 * (a tag with sign and count). From 3.14 on documented calls take its place, in objects.h.
 *
 * Gains: a list of 1,000 bigints is written in 52,700 instructions instead of 95,700.
 */
#if !defined(TURBOCQL_PLAIN_C) && PYLONG_BITS_IN_DIGIT == 30 && PY_VERSION_HEX < 0x030E0000
#define TURBOCQL_DIGITS 1
#if PY_VERSION_HEX >= 0x030C0000
#define TURBOCQL_DIGIT(number, i) (((PyLongObject *)(number))->long_value.ob_digit[i])
#define TURBOCQL_DIGIT_COUNT(number) \
    ((Py_ssize_t)(((PyLongObject *)(number))->long_value.lv_tag >> 3))
#define TURBOCQL_NEGATIVE(number) ((((PyLongObject *)(number))->long_value.lv_tag & 3) == 2)
#else
#define TURBOCQL_DIGIT(number, i) (((PyLongObject *)(number))->ob_digit[i])
#define TURBOCQL_DIGIT_COUNT(number) Py_ABS(Py_SIZE(number))
#define TURBOCQL_NEGATIVE(number) (Py_SIZE(number) < 0)
#endif
#endif

/* -- integers as bytes, and back ---------------------------------------------------------------
 *
 * Why: UUIDs, varints and decimals. From 3.13 on the calls are documented; 3.10 to 3.12 have the
 * same under private names. The plain way calls the methods of int.
 *
 * Gains, with the digits, in instructions: a UUID is written in 1,670 instead of 4,600, and read in
 * 1,960 instead of 5,220; a varint of 13 bytes is read in 2,160 instead of 6,650, and written in
 * 2,000 instead of 5,200.
 */
/* 0 <= `number` < 2**128 as 16 big-endian bytes; -1 with an exception if it is not. */
static inline int turbocql_int_to_16(PyObject *number, uint8_t *to) {
#if PY_VERSION_HEX >= 0x030D0000
    Py_ssize_t needed = PyLong_AsNativeBytes(
        number,
        to,
        16,
        Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER
            | Py_ASNATIVEBYTES_REJECT_NEGATIVE);
    if (needed < 0)
        return -1;
    if (needed > 16) {
        PyErr_SetString(PyExc_OverflowError, "a UUID's number does not fit 128 bits");
        return -1;
    }
    return 0;
#elif defined(TURBOCQL_PLAIN_C)
    PyObject *made = PyObject_CallMethod(number, "to_bytes", "is", 16, "big");
    if (made == NULL)
        return -1;
    memcpy(to, PyBytes_AS_STRING(made), 16);
    Py_DECREF(made);
    return 0;
#else
    return _PyLong_AsByteArray((PyLongObject *)number, to, 16, 0, 0);
#endif
}

/* Enough bytes for the two's complement of the int `number`, or 0: then only its methods help. */
static inline Py_ssize_t turbocql_int_room(PyObject *number) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyLong_AsNativeBytes(number, NULL, 0, Py_ASNATIVEBYTES_BIG_ENDIAN);
#elif defined(TURBOCQL_DIGITS)
    return (TURBOCQL_DIGIT_COUNT(number) / 4 + 1) * 15 + 1;
#else
    (void)number;
    return 0;
#endif
}

/* The two's complement of the int `number` as `size` big-endian bytes, where `size` is what
 * turbocql_int_room has said; -1 with an exception. */
static inline int turbocql_int_to_signed(PyObject *number, uint8_t *to, Py_ssize_t size) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyLong_AsNativeBytes(number, to, size, Py_ASNATIVEBYTES_BIG_ENDIAN) < 0 ? -1 : 0;
#elif defined(TURBOCQL_DIGITS)
    return _PyLong_AsByteArray((PyLongObject *)number, to, (size_t)size, 0, 1);
#else
    (void)number;
    memset(to, 0, (size_t)size);
    return 0;
#endif
}

/* The integer of `size` big-endian bytes. */
static inline PyObject *turbocql_int_of(const uint8_t *from, size_t size, int is_signed) {
#if PY_VERSION_HEX >= 0x030D0000
    return is_signed ? PyLong_FromNativeBytes(from, size, Py_ASNATIVEBYTES_BIG_ENDIAN)
                     : PyLong_FromUnsignedNativeBytes(from, size, Py_ASNATIVEBYTES_BIG_ENDIAN);
#elif defined(TURBOCQL_PLAIN_C)
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)from, (Py_ssize_t)size);
    PyObject *made = NULL, *arguments = NULL, *names = NULL;
    PyObject *method = PyObject_GetAttrString((PyObject *)&PyLong_Type, "from_bytes");
    if (bytes != NULL && method != NULL)
        arguments = Py_BuildValue("(Os)", bytes, "big");
    if (arguments != NULL && (!is_signed || (names = Py_BuildValue("{s:O}", "signed", Py_True))))
        made = PyObject_Call(method, arguments, names);
    Py_XDECREF(bytes);
    Py_XDECREF(method);
    Py_XDECREF(arguments);
    Py_XDECREF(names);
    return made;
#else
    return _PyLong_FromByteArray(from, size, 0, is_signed);
#endif
}

/* -- new floats ---------------------------------------------------------------------------------
 *
 * Why: a vector has hundreds of floats. PyFloat_FromDouble first looks for an unused float, of which
 * CPython keeps at most 100, and calls a function that fills the header in. We allocate the float
 * with PyObject_Malloc instead, which is what float's tp_free expects, and copy the header of
 * another new float. PyFloat_FromDouble is used if float has another tp_free or size, and while a
 * tracer of new objects is set. Tried on 3.10 to 3.13 and on 3.15.
 *
 * Gains: a vector of 768 floats is read and freed in 92,800 instructions instead of 124,200, a list
 * of 1,000 doubles in 118,300 instead of 176,700.
 */
#if !defined(TURBOCQL_PLAIN_C) && !defined(Py_GIL_DISABLED) && !defined(Py_REF_DEBUG) \
    && !defined(Py_TRACE_REFS) && PY_VERSION_HEX < 0x03100000
#define TURBOCQL_COPIES_FLOATS 1
#endif

/* Whether the header of a new float may be copied. */
static inline int turbocql_copies_floats(void) {
#ifdef TURBOCQL_COPIES_FLOATS
#if PY_VERSION_HEX >= 0x030D0000
    void *data;
    if (PyRefTracer_GetTracer(&data) != NULL)
        return 0;
#endif
    return PyFloat_Type.tp_free == PyObject_Free
        && PyFloat_Type.tp_basicsize == (Py_ssize_t)sizeof(PyFloatObject);
#else
    return 0;
#endif
}

/* A new float. `model` is a copy of a new float, or NULL if headers must not be copied. */
static inline PyObject *turbocql_new_float(const PyFloatObject *model, double value) {
#ifdef TURBOCQL_COPIES_FLOATS
    PyFloatObject *made;
    if (model != NULL) {
        made = (PyFloatObject *)PyObject_Malloc(sizeof(PyFloatObject));
        if (made == NULL)
            return PyErr_NoMemory();
        *made = *model;
        made->ob_fval = value;
        return (PyObject *)made;
    }
#else
    (void)model;
#endif
    return PyFloat_FromDouble(value);
}

/* -- am_send of a class that Cython makes -------------------------------------------------------
 *
 * Why: `await` takes the result from it without a StopIteration. The slot is documented, but has
 * to be in the class when it is made, and Cython has no name for it: it is set afterwards, before
 * there is an object. The plain way goes over `__next__`. It has been so on 3.10 to 3.15.
 *
 * Gains: 2,140 instructions of an insert, 9 %.
 */
static inline void turbocql_set_send(
    PyObject *type, PySendResult (*send)(PyObject *, PyObject *, PyObject **)) {
#if defined(TURBOCQL_PLAIN_C)
    (void)type;
    (void)send;
#else
    PyAsyncMethods *methods = ((PyTypeObject *)type)->tp_as_async;
    if (methods != NULL)
        methods->am_send = (sendfunc)send;
#endif
}

/* -- the wake-up of a task ----------------------------------------------------------------------
 *
 * Why: asyncio's task asks a future that is not asyncio's own whether it has failed by two look-ups
 * and a call. It is woken with a future of asyncio's own that is done, if `callback` is known to be
 * its wake-up: by the name of the method, which has been looked at on 3.10 to 3.15. Under another
 * name, and in the plain way, it is called like any other callback.
 *
 * Gains: 1,320 instructions of an insert, 5.6 %.
 */
static inline int turbocql_is_wakeup(PyObject *callback, PyObject *kind) {
#if defined(TURBOCQL_PLAIN_C)
    (void)callback;
    (void)kind;
    return 0;
#else
    PyObject *self;
    if (!PyCFunction_CheckExact(callback))
        return 0;
    self = PyCFunction_GET_SELF(callback);
    return self != NULL && (PyObject *)Py_TYPE(self) == kind
        && strcmp(((PyCFunctionObject *)callback)->m_ml->ml_name, "task_wakeup") == 0;
#endif
}

#endif
