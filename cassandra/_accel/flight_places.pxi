# Where the engine's own objects keep what each request looks at. Included by flight.pyx.
#
# Their classes are in modules that import this one, so they are met when the first object of theirs
# is. An object of another class is asked by name.

cdef enum:  # of EngineSession
    E_CLOSED
    E_TIMERS
    E_KEYSPACE
    E_POOLS
    E_CORE
    E_ATTENDS

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
    MOST_PLACES = 6


# Of one class. One object, which never changes: whoever takes another one gets the class that it is
# for with it.
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


cdef tuple _OF_ENGINES = ("closed", "timers", "keyspace", "pools_by_id", "core", "attends")
cdef tuple _OF_CORES = ("on_latency", "wire_format")
cdef tuple _OF_POOLS = ("shards", "connections")
cdef tuple _OF_CONNECTIONS = ("streams", "wire_format", "version")
cdef _Places _engine_places = _places_of(object, _OF_ENGINES)
cdef _Places _core_places = _places_of(object, _OF_CORES)
cdef _Places _pool_places = _places_of(object, _OF_POOLS)
cdef _Places _connection_places = _places_of(object, _OF_CONNECTIONS)


cdef int _meet_engine(engine) except -1:
    global _engine_places
    _engine_places = _places_of(type(engine), _OF_ENGINES)
    return 0


cdef int _meet_core(core) except -1:
    global _core_places
    _core_places = _places_of(type(core), _OF_CORES)
    return 0


cdef int _meet_pool(pool) except -1:
    global _pool_places
    _pool_places = _places_of(type(pool), _OF_POOLS)
    return 0


cdef int _meet_connection(connection) except -1:
    global _connection_places
    _connection_places = _places_of(type(connection), _OF_CONNECTIONS)
    return 0


cdef inline object _of(owner, _Places places, int which, str name):
    """`owner.name`, which instances of `places.kind` have in a slot."""
    if type(owner) is places.kind:
        return slot_value(owner, places.at[which], name)
    return getattr(owner, name)


# The settings of an execution profile that each request looks at, in the order of `_settings_of`.
cdef enum:
    S_CONSISTENCY
    S_SERIAL
    S_BALANCING
    S_RETRY
    S_SPECULATION
    S_TIMEOUT
    S_ROW_FACTORY
    S_OBSERVERS
    MOST_SETTINGS

cdef enum:
    C_UNKNOWN = 0xFFFFFFFF  # no class has so many versions

cdef tuple _OF_PROFILES = (
    "consistency_level", "serial_consistency_level", "load_balancing_policy", "retry_policy",
    "speculative_execution_policy", "request_timeout", "row_factory",
    "request_observers",
)
cdef type _profile_kind = object     # ExecutionProfile, once one was met
cdef unsigned int _profile_version = C_UNKNOWN
cdef Py_ssize_t _settings_at = -1
cdef Py_ssize_t _shown_at = -1


cdef tuple _settings_of(profile):
    """Return the settings of `profile`, which keeps them at hand as long as none is changed."""
    cdef PyObject* at_hand
    # Not of a subclass, nor of a class that was changed: a setting of theirs may be a property.
    if type(profile) is _profile_kind and turbocql_type_version(_profile_kind) == _profile_version:
        at_hand = turbocql_slot_get(profile, _settings_at)
        if at_hand != NULL and type(<object> at_hand) is tuple:
            return <tuple> at_hand
        return _put_at_hand(profile)
    if _profile_kind is object and "_settings_at_hand" in type(profile).__dict__:
        _meet_profiles(type(profile))
    return tuple([getattr(profile, name) for name in _OF_PROFILES])


cdef tuple _put_at_hand(profile):
    found = tuple([getattr(profile, name) for name in _OF_PROFILES])
    # The tuple is new to the garbage collector, which may have run any code of the program, and let
    # other threads in. From here on nothing does, so that no change is missed.
    if turbocql_slot_get(profile, _shown_at) == NULL:
        for i in range(MOST_SETTINGS):
            if getattr(profile, <str> _OF_PROFILES[i]) is not found[i]:
                return found
        PyObject_GenericSetAttr(profile, "_settings_at_hand", found)  # its own one forgets them
    return found


cdef int _meet_profiles(type kind) except -1:
    global _profile_kind, _profile_version, _settings_at, _shown_at
    _settings_at = slot_in(kind, "_settings_at_hand")
    _shown_at = slot_in(kind, "_is_shown")
    _profile_kind = kind
    if _settings_at >= 0 and _shown_at >= 0 and not _has_properties(kind):
        _profile_version = turbocql_type_version(kind) or C_UNKNOWN
    return 0


cdef bint _has_properties(type kind) except -1:
    if kind.__getattribute__ is not object.__getattribute__:
        return True
    for base in kind.__mro__:
        for name in _OF_PROFILES:
            if hasattr(base.__dict__.get(name), "__set__"):
                return True
    return False
