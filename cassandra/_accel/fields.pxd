# Declares the attributes of the classes in `bases` that compiled code reads as fields of a C struct
# (see bases.h and docs/twins.rst).
#
# Call `has_fields` or `with_fields` before you read a field. A subclass may have a property of the
# same name, and objects of the pure Python version's classes have no such fields.

from cpython.object cimport PyObject

from cassandra._accel.bases cimport Kind, reads_plainly
from cassandra._accel.threads cimport load_pointer

cdef extern from "Python.h":
    PyObject* _type_of "(PyObject *)Py_TYPE"(object)

cdef extern from "bases.h":
    void turbocql_put(PyObject**, object) noexcept
    # Returns the attribute `name` of `owner`, which is stored in `field`. Other threads may replace
    # it at the same time.
    object value_of "turbocql_value_of"(PyObject** field, object owner, str name)
    # Like `value_of`, but returns None if the field is empty, and does not look up the name.
    object field_or_none "turbocql_field_or_none"(PyObject** field, object owner)

    ctypedef class cassandra._accel.bases.ColumnBase [object turbocql_ColumnBase]:
        cdef PyObject* cql_type
        cdef PyObject* is_reversed
        cdef PyObject* is_static
        cdef PyObject* mask
        cdef PyObject* name
        cdef PyObject* table

    ctypedef class cassandra._accel.bases.TableBase [object turbocql_TableBase]:
        cdef PyObject* _error
        cdef PyObject* _names
        cdef PyObject* _options
        cdef PyObject* _row
        cdef PyObject* _scylladb
        cdef PyObject* clustering_key
        cdef PyObject* columns
        cdef PyObject* keyspace_name
        cdef PyObject* name
        cdef PyObject* partition_key
        cdef PyObject* dropped_columns
        cdef PyObject* indexes
        cdef PyObject* is_compact_storage
        cdef PyObject* is_cql_compatible
        cdef PyObject* triggers
        cdef PyObject* views
        cdef PyObject* virtual

    ctypedef class cassandra._accel.bases.SettingsBase [object turbocql_SettingsBase]:
        cdef PyObject* consistency_level
        cdef PyObject* custom_payload
        cdef PyObject* fetch_size
        cdef PyObject* is_idempotent
        cdef PyObject* retry_policy
        cdef PyObject* vector_type

    ctypedef class cassandra._accel.bases.StatementBase [object turbocql_StatementBase]:
        cdef PyObject* consistency_level
        cdef PyObject* custom_payload
        cdef PyObject* fetch_size
        cdef PyObject* is_idempotent
        cdef PyObject* retry_policy
        cdef PyObject* vector_type
        cdef PyObject* _routing_key
        cdef PyObject* _serial_consistency_level
        cdef PyObject* keyspace
        cdef PyObject* table

    ctypedef class cassandra._accel.bases.BoundBase [object turbocql_BoundBase]:
        cdef PyObject* consistency_level
        cdef PyObject* custom_payload
        cdef PyObject* fetch_size
        cdef PyObject* is_idempotent
        cdef PyObject* retry_policy
        cdef PyObject* vector_type
        cdef PyObject* _routing_key
        cdef PyObject* _serial_consistency_level
        cdef PyObject* keyspace
        cdef PyObject* table
        cdef PyObject* block
        cdef PyObject* prepared_statement

    ctypedef class cassandra._accel.bases.PreparedBase [object turbocql_PreparedBase]:
        cdef PyObject* consistency_level
        cdef PyObject* custom_payload
        cdef PyObject* fetch_size
        cdef PyObject* is_idempotent
        cdef PyObject* retry_policy
        cdef PyObject* vector_type
        cdef PyObject* _home
        cdef PyObject* _is_lwt
        cdef PyObject* bind_plan
        cdef PyObject* needed_values
        cdef PyObject* protocol_version
        cdef PyObject* query_id
        cdef PyObject* result_metadata_and_id
        cdef PyObject* routing_key_indexes
        cdef PyObject* serial_consistency_level
        cdef PyObject* table
        cdef PyObject* table_keyspace

    ctypedef class cassandra._accel.bases.CallBase [object turbocql_CallBase]:
        cdef PyObject* custom_payload
        cdef PyObject* paging_state
        cdef PyObject* profile
        cdef PyObject* target
        cdef PyObject* timeout
        cdef PyObject* trace

    ctypedef class cassandra._accel.bases.ProfileBase [object turbocql_ProfileBase]:
        cdef PyObject* _is_shown
        cdef PyObject* _settings_at_hand

    ctypedef class cassandra._accel.bases.EngineBase [object turbocql_EngineBase]:
        cdef PyObject* attends
        cdef PyObject* closed
        cdef PyObject* core
        cdef PyObject* keyspace
        cdef PyObject* pools_by_id
        cdef PyObject* timers

    ctypedef class cassandra._accel.bases.CoreBase [object turbocql_CoreBase]:
        cdef PyObject* home
        cdef PyObject* on_latency
        cdef PyObject* wire_format

    ctypedef class cassandra._accel.bases.PoolBase [object turbocql_PoolBase]:
        cdef PyObject* connections
        cdef PyObject* shards

    ctypedef class cassandra._accel.bases.ConnectionBase [object turbocql_ConnectionBase]:
        cdef PyObject* streams
        cdef PyObject* version
        cdef PyObject* wire_format

    ctypedef class cassandra._accel.bases.ResultBase [object turbocql_ResultBase]:
        cdef PyObject* _answer
        cdef PyObject* _begun
        cdef PyObject* _history
        cdef PyObject* _next
        cdef PyObject* _page
        cdef PyObject* _request
        cdef PyObject* _row_factory
        cdef PyObject* _session

    ctypedef class cassandra._accel.bases.HostBase [object turbocql_HostBase]:
        cdef PyObject* is_up

    ctypedef class cassandra._accel.bases.MetadataBase [object turbocql_MetadataBase]:
        cdef PyObject* placement_version

    ctypedef class cassandra._accel.bases.PlanningBase [object turbocql_PlanningBase]:
        cdef PyObject* _planner

    ctypedef class cassandra._accel.bases.TimeBase [object turbocql_TimeBase]:
        cdef PyObject* nanosecond_time

    ctypedef class cassandra._accel.bases.DayBase [object turbocql_DayBase]:
        cdef PyObject* days_from_epoch

    ctypedef class cassandra._accel.bases.DurationBase [object turbocql_DurationBase]:
        cdef PyObject* days
        cdef PyObject* months
        cdef PyObject* nanoseconds

    ctypedef class cassandra._accel.bases.SetBase [object turbocql_SetBase]:
        cdef PyObject* _items

    ctypedef class cassandra._accel.bases.KeyedMapBase [object turbocql_KeyedMapBase]:
        cdef PyObject* _index
        cdef PyObject* _keys
        cdef PyObject* _values
        cdef PyObject* _encode_key


cdef inline bint has_fields(Kind kind, object owner) except -1:
    """Return True if the fields of `owner` may be read directly."""
    cdef PyObject* cls = _type_of(owner)
    if cls == load_pointer(&kind.plain) or cls == load_pointer(&kind.also_plain):
        return True
    return cls != load_pointer(&kind.other) and kind.meet(type(owner))


cdef inline type with_fields(object kind, type base):
    """Return `kind` if the fields of its objects may be read directly.

    Otherwise return a new class without objects, so that ``type(x) is with_fields(...)`` is False.
    """
    return <type> kind if reads_plainly(kind, base) else type("Nobody", (), {})
