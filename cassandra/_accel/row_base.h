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

static PyType_Slot turbocql_row_slots[] = {
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
