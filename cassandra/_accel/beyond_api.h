/* Everything that the compiled code uses of CPython beyond its documented C API is in this file. For
 * each such use there is an alternative with the documented API only. A build with
 * TURBOCQL_PLAIN_C=1 uses all the alternatives (see docs/twins.rst).
 *
 * "Gains" below are in machine instructions. Those "of an insert" are measured by
 * `benchmarks/instructions.py` on Python 3.11, where an insert takes 23,500 instructions. With all
 * the alternatives it takes 27,100.
 */
#ifndef TURBOCQL_BEYOND_API_H
#define TURBOCQL_BEYOND_API_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* -- digits of integers ------------------------------------------------------------------------
 *
 * Why: to encode a list of integers or a UUID without a call for each number. The layout is that of
 * the headers of 3.10 and 3.11 (digits after a size, whose sign is the number's) and of 3.12 and
 * 3.13 (a tag with the sign and the count of digits). From 3.14 on, objects.h uses documented calls
 * instead.
 *
 * Gains: encoding a list of 1,000 bigints takes 52,700 instructions instead of 95,700.
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
 * Why: for UUIDs, varints and decimals. From 3.13 on there are documented functions. 3.10 to 3.12
 * have equivalent private ones. The alternative calls the methods of int.
 *
 * Gains, together with the digits: encoding a UUID takes 1,670 instructions instead of 4,600, and
 * decoding one takes 1,960 instead of 5,220. Decoding a varint of 13 bytes takes 2,160 instead of
 * 6,650, and encoding one takes 2,000 instead of 5,200.
 */
/* Writes `number` as 16 big-endian bytes. Returns -1 with an exception if it is negative or needs
 * more bytes. */
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

/* Returns a number of bytes that is enough for the two's complement of the int `number`. Returns 0
 * if only the methods of int can convert it. */
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

/* Writes the two's complement of the int `number` as `size` big-endian bytes. `size` must be the
 * result of turbocql_int_room. Returns -1 with an exception after an error. */
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

/* Returns the integer that `size` big-endian bytes encode. */
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
 * Why: a vector has hundreds of floats. PyFloat_FromDouble first looks for an unused float, of
 * which CPython keeps at most 100, and calls a function that fills in the header. Instead, we
 * allocate the float with PyObject_Malloc, which matches float's tp_free, and copy the header of
 * another new float. We use PyFloat_FromDouble if float has another tp_free or size, and while a
 * tracer of new objects is set. Tried on 3.10 to 3.13 and on 3.15.
 *
 * Gains: decoding and freeing a vector of 768 floats takes 92,800 instructions instead of 124,200,
 * and a list of 1,000 doubles takes 118,300 instead of 176,700.
 */
#if !defined(TURBOCQL_PLAIN_C) && !defined(Py_GIL_DISABLED) && !defined(Py_REF_DEBUG) \
    && !defined(Py_TRACE_REFS) && PY_VERSION_HEX < 0x03100000
#define TURBOCQL_COPIES_FLOATS 1
#endif

/* Returns 1 if turbocql_new_float may copy the header of another float, else 0. */
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

/* Returns a new float. `model` is a copy of another new float, or NULL if its header must not be
 * copied. */
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
 * Why: with this slot, `await` gets the result without a StopIteration. The slot is documented, but
 * must be set when the class is created, and Cython has no syntax for it. We set it afterwards,
 * before the first object is created. The alternative is `__next__`. Tried on 3.10 to 3.15.
 *
 * Gains: 2,140 of the instructions of an insert (9 %).
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
 * Why: if the future that a task waits for is not asyncio's own, the task needs two look-ups and a
 * call to find out whether it failed. So we call the task's wake-up method with a completed asyncio
 * future instead of our own. This function returns 1 if `callback` is that method of a task of the
 * class `kind`. It compares the method's name, which is the same on 3.10 to 3.15. If the name
 * differs, and in the alternative, the method is called like any other callback.
 *
 * Gains: 1,320 of the instructions of an insert (5.6 %).
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

/* -- the record of the running loop -------------------------------------------------------------
 *
 * Why: each request makes sure that the session's loop runs in the calling thread. Up to 3.11,
 * `asyncio._get_running_loop` asks the system for the process's id each time, in case the process is
 * a fork. But asyncio puts a new object, its record, into the thread's dictionary whenever a loop
 * starts or stops to run. So the same loop runs as long as the record is the same and the process
 * was not forked. This function returns the record, borrowed; NULL if there is none, from 3.12 on,
 * and in the alternative. Then asyncio is asked. Tried on 3.10 and 3.11.
 *
 * Gains: one system call for each request of the asyncio API, 0.1 to 0.3 us.
 */
static inline PyObject *turbocql_loop_record(void) {
#if defined(TURBOCQL_PLAIN_C) || PY_VERSION_HEX >= 0x030C0000
    return NULL;
#else
    static PyObject *name = NULL;
    PyObject *threads_own = PyThreadState_GetDict();
    PyObject *record;
    if (name == NULL)
        name = PyUnicode_InternFromString("__asyncio_running_event_loop__");
    if (name == NULL || threads_own == NULL) {
        PyErr_Clear();
        return NULL;
    }
    record = PyDict_GetItemWithError(threads_own, name);
    if (record == NULL)
        PyErr_Clear();
    return record;
#endif
}

#endif
