/* The base class of rows that are named tuples. It is written in C, because Cython cannot create
 * subclasses of `tuple`, whose instances have no fixed size. */
#ifndef TURBOCQL_ROW_BASE_H
#define TURBOCQL_ROW_BASE_H

#include <Python.h>

static PyObject *turbocql_row_item(PyObject *row, PyObject *key) {
    /* The error of `tuple` would only say that a text is not an index. */
    if (PyUnicode_Check(key)) {
        PyErr_Format(
            PyExc_TypeError,
            "a row has its columns as attributes and by position, not by name: write row%s%U, or "
            "have rows as dicts: session.row_factory = cassandra.query.dict_factory",
            PyUnicode_IsIdentifier(key) ? "." : "._fields to see the attribute of ", key);
        return NULL;
    }
    return PyTuple_Type.tp_as_mapping->mp_subscript(row, key);
}

/* Reads an attribute. If a row has no such attribute, the method `_raise_missing` of its class raises
 * the error, which names the columns. A `__getattr__` of the class would do the same, but Python would
 * then need 40 % longer for each column that an application reads. */
static PyObject *turbocql_row_attribute(PyObject *row, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(row, name);
    PyObject *type, *error, *traceback, *none;
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError) || !PyUnicode_Check(name))
        return value;
    /* Names with an underscore belong to protocols that Python or a library looks for. */
    if (PyUnicode_GetLength(name) == 0 || PyUnicode_ReadChar(name, 0) == '_')
        return NULL;
    PyErr_Fetch(&type, &error, &traceback);
    none = PyObject_CallMethod(row, "_raise_missing", "O", name);
    if (none == NULL) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return NULL;
    }
    Py_DECREF(none);
    PyErr_Restore(type, error, traceback);
    return NULL;
}

static PyType_Slot turbocql_row_slots[] = {
    {Py_tp_getattro, turbocql_row_attribute},
    {Py_mp_subscript, turbocql_row_item},
    {Py_tp_doc, "The base class of rows that are named tuples."},
    {0, NULL},
};

/* The sizes are 0, so the class inherits them from `tuple`. It also inherits everything that the
 * garbage collector needs. */
static PyType_Spec turbocql_row_spec = {
    "cassandra._accel.rows.RowBase",
    0,
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    turbocql_row_slots,
};

static PyObject *turbocql_row_base(void) {
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyTuple_Type);
    PyObject *base;
    if (bases == NULL)
        return NULL;
    base = PyType_FromSpecWithBases(&turbocql_row_spec, bases);
    Py_DECREF(bases);
    return base;
}

#endif
