/* The memory layout of objects of the classes in `cassandra._accel.bases`: the head of every Python
 * object, followed by a pointer for each attribute (a "field"). A pointer is NULL if the attribute
 * was not set, or was deleted.
 *
 * Each macro lists the attributes that a class adds to its base class. It calls the macro FIELD
 * with the name of the struct and each attribute. `fields.pxd` declares those of them that compiled
 * code reads. */
#ifndef TURBOCQL_BASES_H
#define TURBOCQL_BASES_H

#include <Python.h>
#include <stddef.h>
#include <structmember.h>

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
#define TURBOCQL_OF_SETTINGS(FIELD, S) \
    FIELD(S, consistency_level) FIELD(S, custom_payload) FIELD(S, fetch_size) \
    FIELD(S, is_idempotent) FIELD(S, retry_policy) FIELD(S, vector_type)
#define TURBOCQL_OF_STATEMENT(FIELD, S) \
    FIELD(S, _routing_key) FIELD(S, _serial_consistency_level) FIELD(S, keyspace) \
    FIELD(S, table)
#define TURBOCQL_OF_BOUND(FIELD, S) \
    FIELD(S, block) FIELD(S, prepared_statement)
#define TURBOCQL_OF_PREPARED(FIELD, S) \
    FIELD(S, _home) FIELD(S, _is_lwt) FIELD(S, bind_plan) FIELD(S, needed_values) \
    FIELD(S, protocol_version) FIELD(S, query_id) FIELD(S, result_metadata_and_id) \
    FIELD(S, routing_key_indexes) FIELD(S, serial_consistency_level) FIELD(S, table) \
    FIELD(S, table_keyspace)
#define TURBOCQL_OF_CALL(FIELD, S) \
    FIELD(S, custom_payload) FIELD(S, paging_state) FIELD(S, profile) FIELD(S, target) \
    FIELD(S, timeout) FIELD(S, trace)
#define TURBOCQL_OF_PROFILE(FIELD, S) \
    FIELD(S, _is_shown) FIELD(S, _settings_at_hand)
#define TURBOCQL_OF_ENGINE(FIELD, S) \
    FIELD(S, attends) FIELD(S, closed) FIELD(S, core) FIELD(S, keyspace) FIELD(S, pools_by_id) \
    FIELD(S, timers)
#define TURBOCQL_OF_CORE(FIELD, S) \
    FIELD(S, home) FIELD(S, on_latency) FIELD(S, wire_format)
#define TURBOCQL_OF_POOL(FIELD, S) \
    FIELD(S, connections) FIELD(S, shards)
#define TURBOCQL_OF_CONNECTION(FIELD, S) \
    FIELD(S, streams) FIELD(S, version) FIELD(S, wire_format)
#define TURBOCQL_OF_RESULT(FIELD, S) \
    FIELD(S, _answer) FIELD(S, _begun) FIELD(S, _history) FIELD(S, _next) FIELD(S, _page) \
    FIELD(S, _request) FIELD(S, _row_factory) FIELD(S, _session)
#define TURBOCQL_OF_HOST(FIELD, S) \
    FIELD(S, is_up)
#define TURBOCQL_OF_METADATA(FIELD, S) \
    FIELD(S, placement_version)
#define TURBOCQL_OF_PLANNING(FIELD, S) \
    FIELD(S, _planner)
#define TURBOCQL_OF_TIME(FIELD, S) \
    FIELD(S, nanosecond_time)
#define TURBOCQL_OF_DAY(FIELD, S) \
    FIELD(S, days_from_epoch)
#define TURBOCQL_OF_DURATION(FIELD, S) \
    FIELD(S, days) FIELD(S, months) FIELD(S, nanoseconds)
#define TURBOCQL_OF_SET(FIELD, S) \
    FIELD(S, _items)
#define TURBOCQL_OF_MAP(FIELD, S) \
    FIELD(S, _index) FIELD(S, _keys) FIELD(S, _values)
#define TURBOCQL_OF_KEYED_MAP(FIELD, S) \
    FIELD(S, _encode_key)

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

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_SETTINGS(TURBOCQL_POINTER, _)
} turbocql_SettingsBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_SETTINGS(TURBOCQL_POINTER, _)
    TURBOCQL_OF_STATEMENT(TURBOCQL_POINTER, _)
} turbocql_StatementBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_SETTINGS(TURBOCQL_POINTER, _)
    TURBOCQL_OF_STATEMENT(TURBOCQL_POINTER, _)
    TURBOCQL_OF_BOUND(TURBOCQL_POINTER, _)
} turbocql_BoundBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_SETTINGS(TURBOCQL_POINTER, _)
    TURBOCQL_OF_PREPARED(TURBOCQL_POINTER, _)
} turbocql_PreparedBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_CALL(TURBOCQL_POINTER, _)
} turbocql_CallBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_PROFILE(TURBOCQL_POINTER, _)
} turbocql_ProfileBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_ENGINE(TURBOCQL_POINTER, _)
} turbocql_EngineBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_CORE(TURBOCQL_POINTER, _)
} turbocql_CoreBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_POOL(TURBOCQL_POINTER, _)
} turbocql_PoolBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_CONNECTION(TURBOCQL_POINTER, _)
} turbocql_ConnectionBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_RESULT(TURBOCQL_POINTER, _)
} turbocql_ResultBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_HOST(TURBOCQL_POINTER, _)
} turbocql_HostBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_METADATA(TURBOCQL_POINTER, _)
} turbocql_MetadataBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_PLANNING(TURBOCQL_POINTER, _)
} turbocql_PlanningBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_TIME(TURBOCQL_POINTER, _)
} turbocql_TimeBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_DAY(TURBOCQL_POINTER, _)
} turbocql_DayBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_DURATION(TURBOCQL_POINTER, _)
} turbocql_DurationBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_SET(TURBOCQL_POINTER, _)
} turbocql_SetBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_MAP(TURBOCQL_POINTER, _)
} turbocql_MapBase;

typedef struct {
    PyObject_HEAD
    TURBOCQL_OF_MAP(TURBOCQL_POINTER, _)
    TURBOCQL_OF_KEYED_MAP(TURBOCQL_POINTER, _)
} turbocql_KeyedMapBase;

/* Returns the value of a field. If the field is empty, looks up the attribute of the same name,
 * which a class may define; returns NULL with an exception if there is none. In a free-threaded
 * build another thread may replace the value at the same time, so we read the field by
 * PyMember_GetOne, which is safe. */
static inline PyObject *turbocql_value_of(PyObject **field, PyObject *owner, PyObject *name) {
#ifdef Py_GIL_DISABLED
    PyMemberDef member = {"", T_OBJECT_EX, (char *)field - (char *)owner, 0, NULL};
    PyObject *value = PyMember_GetOne((const char *)owner, &member);
    if (value != NULL)
        return value;
    PyErr_Clear();
#else
    if (*field != NULL) {
        Py_INCREF(*field);
        return *field;
    }
#endif
    return PyObject_GetAttr(owner, name);
}

/* Returns the value of a field, or None if it is empty. */
static inline PyObject *turbocql_field_or_none(PyObject **field, PyObject *owner) {
#ifdef Py_GIL_DISABLED
    PyMemberDef member = {"", T_OBJECT_EX, (char *)field - (char *)owner, 0, NULL};
    PyObject *value = PyMember_GetOne((const char *)owner, &member);
    if (value != NULL)
        return value;
    PyErr_Clear();
    value = Py_None;
#else
    PyObject *value = *field != NULL ? *field : Py_None;
    (void)owner;
#endif
    Py_INCREF(value);
    return value;
}

/* Sets a field of a new object. No other thread may know the object yet. */
static inline void turbocql_put(PyObject **field, PyObject *value) {
    Py_INCREF(value);
    *field = value;
}

#endif
