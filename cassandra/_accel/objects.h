/* Reaching into Python objects where the public API makes a detour: __slots__ of Python classes, integers as bytes, and a
 * list that stays as it is while it is read. Everything falls back to the ordinary way where the short one is not there.
 */
#ifndef TURBOCQL_OBJECTS_H
#define TURBOCQL_OBJECTS_H

#include <Python.h>
#include <stdint.h>
#include <structmember.h>

/* Where instances of exactly `type` keep the slot `name`, or -1: a class changed meanwhile, or without such a slot. */
static Py_ssize_t turbocql_slot(PyObject *type, const char *name) {
    PyObject *found;
    Py_ssize_t offset = -1;
    if (!PyType_Check(type))
        return -1;
    found = PyObject_GetAttrString(type, name);
    if (found == NULL) {
        PyErr_Clear();
        return -1;
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type) {
        PyMemberDescrObject *descriptor = (PyMemberDescrObject *)found;
        /* T_OBJECT_EX: what __slots__ makes. */
        if (descriptor->d_member->type == T_OBJECT_EX && PyDescr_TYPE(descriptor) == (PyTypeObject *)type)
            offset = descriptor->d_member->offset;
    }
    Py_DECREF(found);
    return offset;
}

/* The object in the slot at `offset`, borrowed; NULL (no exception) where it is empty. */
static inline PyObject *turbocql_slot_get(PyObject *object, Py_ssize_t offset) {
    return *(PyObject **)((char *)object + offset);
}

/* Put `value` into a slot of a new object, which nobody else has seen. */
static inline void turbocql_slot_set(PyObject *object, Py_ssize_t offset, PyObject *value) {
    Py_INCREF(value);
    *(PyObject **)((char *)object + offset) = value;
}

/* A new instance of a Python class without running its __init__. */
static inline PyObject *turbocql_new(PyObject *type) {
    return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
}

/* 0 <= `number` < 2**128 as 16 big-endian bytes; -1 with an exception where it is none. */
static inline int turbocql_int_to_16(PyObject *number, uint8_t *to) {
#if PY_VERSION_HEX >= 0x030D0000
    Py_ssize_t needed = PyLong_AsNativeBytes(
        number, to, 16, Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER | Py_ASNATIVEBYTES_REJECT_NEGATIVE);
    if (needed < 0)
        return -1;
    if (needed > 16) {
        PyErr_SetString(PyExc_OverflowError, "a UUID's number does not fit 128 bits");
        return -1;
    }
    return 0;
#else
    return _PyLong_AsByteArray((PyLongObject *)number, to, 16, 0, 0);
#endif
}

/* The integer of `size` big-endian bytes. */
static inline PyObject *turbocql_int_of(const uint8_t *from, size_t size, int is_signed) {
#if PY_VERSION_HEX >= 0x030D0000
    return is_signed ? PyLong_FromNativeBytes(from, size, Py_ASNATIVEBYTES_BIG_ENDIAN)
                     : PyLong_FromUnsignedNativeBytes(from, size, Py_ASNATIVEBYTES_BIG_ENDIAN);
#else
    return _PyLong_FromByteArray(from, size, 0, is_signed);
#endif
}

/* A list or tuple to read from while its elements' own code may run. With the GIL the list itself serves: its size is looked at
 * before each element. Without a GIL other threads may change it at any moment: a tuple of it serves. */
static inline PyObject *turbocql_readable(PyObject *sequence) {
#ifdef Py_GIL_DISABLED
    if (PyList_CheckExact(sequence))
        return PyList_AsTuple(sequence);
#endif
    Py_INCREF(sequence);
    return sequence;
}

#endif
