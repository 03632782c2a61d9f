# Where the engine's own objects keep what each request looks at. Included by flight.pyx.
#
# Their classes are in modules that import this one, so they are met when the first object of theirs is. An object of another class
# is asked by name.

cdef enum:  # of EngineSession
    E_CLOSED
    E_TIMERS
    E_KEYSPACE
    E_POOLS
    E_CORE

cdef enum:  # of Core
    O_LATENCY
    O_WIRE_FORMAT

cdef enum:  # of HostPool
    P_SHARDS
    P_CONNECTIONS

cdef enum:  # of Connection
    C_STREAMS
    C_WIRE_FORMAT
    C_VERSION

cdef enum:
    MOST_PLACES = 5


# Of one class. One object, which never changes: whoever takes another one gets the class that it is for with it.
cdef class _Places:
    cdef type kind
    cdef Py_ssize_t at[MOST_PLACES]


cdef _Places _places_of(type kind, tuple names):
    cdef _Places made = _Places.__new__(_Places)
    cdef int i = 0
    for name in names:
        made.at[i] = slot_in(kind, name)
        i += 1
    made.kind = kind
    return made


cdef _Places _engine_places = _places_of(object, ("closed", "timers", "keyspace", "pools_by_id", "core"))
cdef _Places _core_places = _places_of(object, ("on_latency", "wire_format"))
cdef _Places _pool_places = _places_of(object, ("shards", "connections"))
cdef _Places _connection_places = _places_of(object, ("streams", "wire_format", "version"))


cdef int _meet_engine(engine) except -1:
    global _engine_places
    _engine_places = _places_of(type(engine), ("closed", "timers", "keyspace", "pools_by_id", "core"))
    return 0


cdef int _meet_core(core) except -1:
    global _core_places
    _core_places = _places_of(type(core), ("on_latency", "wire_format"))
    return 0


cdef int _meet_pool(pool) except -1:
    global _pool_places
    _pool_places = _places_of(type(pool), ("shards", "connections"))
    return 0


cdef int _meet_connection(connection) except -1:
    global _connection_places
    _connection_places = _places_of(type(connection), ("streams", "wire_format", "version"))
    return 0


cdef inline object _of(owner, _Places places, int which, str name):
    """`owner.name`, which instances of `places.kind` have in a slot."""
    return slot_value(owner, places.at[which], name) if type(owner) is places.kind else getattr(owner, name)
