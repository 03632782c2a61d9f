/* The objects of the classes in `cassandra._accel.bases`: an ordinary object's head, and behind it a
 * pointer for each attribute. NULL is an attribute that was not set, or was deleted.
 *
 * The attributes that a class adds to the one it derives from are named here, once; `fields.pxd`
 * names again those that compiled code reads. FIELD is called with each, and the struct's name.
 */
#ifndef TURBOCQL_BASES_H
#define TURBOCQL_BASES_H

#include <Python.h>

#define TURBOCQL_OF_COLUMN(FIELD, S) \
    FIELD(S, cql_type) FIELD(S, is_reversed) FIELD(S, is_static) FIELD(S, mask) FIELD(S, name) \
    FIELD(S, table)
#define TURBOCQL_OF_FAULTY(FIELD, S) \
    FIELD(S, _error)
#define TURBOCQL_OF_COLUMNAR(FIELD, S) \
    FIELD(S, _names) FIELD(S, _options) FIELD(S, _row) FIELD(S, _scylladb) \
    FIELD(S, clustering_key) FIELD(S, columns) FIELD(S, keyspace_name) FIELD(S, name) \
    FIELD(S, partition_key)
#define TURBOCQL_OF_TABLE(FIELD, S) \
    FIELD(S, dropped_columns) FIELD(S, indexes) FIELD(S, is_compact_storage) \
    FIELD(S, is_cql_compatible) FIELD(S, triggers) FIELD(S, views) FIELD(S, virtual)

#define TURBOCQL_POINTER(S, name) PyObject *name;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_COLUMN(TURBOCQL_POINTER, _)
} turbocql_ColumnBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_FAULTY(TURBOCQL_POINTER, _)
} turbocql_FaultyBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_FAULTY(TURBOCQL_POINTER, _)
    TURBOCQL_OF_COLUMNAR(TURBOCQL_POINTER, _)
} turbocql_ColumnarBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_FAULTY(TURBOCQL_POINTER, _)
    TURBOCQL_OF_COLUMNAR(TURBOCQL_POINTER, _)
    TURBOCQL_OF_TABLE(TURBOCQL_POINTER, _)
} turbocql_TableBase;

/* Fill a field of a new object, which nobody else has seen. */
static inline void turbocql_put(PyObject **field, PyObject *value) {
    Py_INCREF(value);
    *field = value;
}

#endif
