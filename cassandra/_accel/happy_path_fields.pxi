# Functions that read attributes of the engine's objects and of profiles, which each request needs.
# If the object's class has the fields of bases.pyx, they are read directly; otherwise, attributes
# are read by name. Included by happy_path.pyx.
#
# The engine's modules import this module, so we cannot import their classes here. A class is
# examined when the first object of the class arrives (see `Kind`).

cdef Kind _engines = Kind(EngineBase)
cdef Kind _cores = Kind(CoreBase)
cdef Kind _pools = Kind(PoolBase)
cdef Kind _connections = Kind(ConnectionBase)


cdef inline object _session_closed(session):
    if has_fields(_engines, session):
        return value_of(&(<EngineBase> session).closed, session, "closed")
    return session.closed


cdef inline object _session_timers(session):
    if has_fields(_engines, session):
        return value_of(&(<EngineBase> session).timers, session, "timers")
    return session.timers


cdef inline double _now_of(session) except -1.0:
    """Return the time by the clock of the session's cluster."""
    timers = _session_timers(session)
    return (<TimerWheel> timers)._now() if type(timers) is TimerWheel else <double> timers.clock()


cdef inline object _session_keyspace(session):
    if has_fields(_engines, session):
        return value_of(&(<EngineBase> session).keyspace, session, "keyspace")
    return session.keyspace


cdef inline object _session_pools_by_id(session):
    if has_fields(_engines, session):
        return value_of(&(<EngineBase> session).pools_by_id, session, "pools_by_id")
    return session.pools_by_id


cdef inline object _session_core(session):
    if has_fields(_engines, session):
        return value_of(&(<EngineBase> session).core, session, "core")
    return session.core


cdef inline object _session_attends(session):
    if has_fields(_engines, session):
        return value_of(&(<EngineBase> session).attends, session, "attends")
    return session.attends


cdef inline object _core_on_latency(core):
    if has_fields(_cores, core):
        return value_of(&(<CoreBase> core).on_latency, core, "on_latency")
    return core.on_latency


cdef inline object _core_home(core):
    if has_fields(_cores, core):
        return value_of(&(<CoreBase> core).home, core, "home")
    return core.home


cdef inline object _core_wire_format(core):
    if has_fields(_cores, core):
        return value_of(&(<CoreBase> core).wire_format, core, "wire_format")
    return core.wire_format


cdef inline object _pool_shards(pool):
    if has_fields(_pools, pool):
        return value_of(&(<PoolBase> pool).shards, pool, "shards")
    return pool.shards


cdef inline object _pool_connections(pool):
    if has_fields(_pools, pool):
        return value_of(&(<PoolBase> pool).connections, pool, "connections")
    return pool.connections


cdef inline object _connection_streams(connection):
    if has_fields(_connections, connection):
        return value_of(&(<ConnectionBase> connection).streams, connection, "streams")
    return connection.streams


cdef inline object _connection_wire_format(connection):
    if has_fields(_connections, connection):
        return value_of(&(<ConnectionBase> connection).wire_format, connection, "wire_format")
    return connection.wire_format


cdef inline object _connection_version(connection):
    if has_fields(_connections, connection):
        return value_of(&(<ConnectionBase> connection).version, connection, "version")
    return connection.version


# The settings of an execution profile that each request needs: their indexes in `_settings_of`.
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

cdef tuple _OF_PROFILES = (
    "consistency_level", "serial_consistency_level", "load_balancing_policy", "retry_policy",
    "speculative_execution_policy", "request_timeout", "row_factory",
    "request_observers",
)
# `_profile_kind` is the class `ExecutionProfile` as soon as the first object of it arrived; before,
# it is a class that has no objects. `_profile_names` is the namespace of `ExecutionProfile`.
cdef type _nobodys_kind = with_fields(object, ProfileBase)
cdef type _profile_kind = _nobodys_kind
cdef object _meeting = _Lock()
cdef bint _profiles_are_met = False
cdef object _profile_names = ()
cdef Py_ssize_t _profile_size = -1  # of `_profile_names` at the last check


cdef tuple _settings_of(profile):
    """Return the settings of `profile`, which caches them until a setting changes."""
    # Use the cache only for the class itself, and only if the class was not changed. In a subclass,
    # or after a change, a setting may be a property.
    if type(profile) is _profile_kind and (
        len(_profile_names) == _profile_size or _has_no_properties()
    ):
        at_hand = field_or_none(&(<ProfileBase> profile)._settings_at_hand, profile)
        if type(at_hand) is tuple and PyTuple_GET_SIZE(at_hand) == MOST_SETTINGS:
            return <tuple> at_hand
        return _put_at_hand(profile)
    if not _profiles_are_met and isinstance(profile, ProfileBase):
        _meet_profiles()
    return tuple([getattr(profile, name) for name in _OF_PROFILES])


cdef tuple _put_at_hand(profile):
    """Read the settings of `profile` by name, and cache them in the profile."""
    settings = tuple([getattr(profile, name) for name in _OF_PROFILES])
    # Another thread may change the profile at the same time. A change first sets the attribute and
    # then clears the cache. So either we see the new value below, or the cache is cleared after we
    # set it.
    if (<ProfileBase> profile)._is_shown == NULL:
        PyObject_GenericSetAttr(profile, "_settings_at_hand", settings)  # __setattr__ clears it
        for i in range(MOST_SETTINGS):
            if getattr(profile, <str> _OF_PROFILES[i]) is not settings[i]:
                PyObject_GenericSetAttr(profile, "_settings_at_hand", None)
                break
        if (<ProfileBase> profile)._is_shown != NULL:
            PyObject_GenericSetAttr(profile, "_settings_at_hand", None)
    return settings


cdef int _meet_profiles() except -1:
    """Import `ExecutionProfile`, once the first object of it arrived."""
    global _profile_kind, _profile_names, _profiles_are_met
    # The module of this class imports our module, so we cannot import it earlier.
    from cassandra.engine.profile import ExecutionProfile
    with _meeting:  # set each variable only once, because other threads may read it
        if not _profiles_are_met:
            _profile_names = ExecutionProfile.__dict__
            share(_profile_names)
            _profile_kind = with_fields(ExecutionProfile, ProfileBase)
            _profiles_are_met = True
    return 0


cdef bint _has_no_properties() except -1:
    """Return True if `ExecutionProfile` itself does not define how its settings are read.

    That is so if the class has no `__getattribute__` and no attribute with a setting's name.
    (Default values are attributes of its base class.) If somebody adds an attribute to the class
    later, the size of its namespace changes, and `_settings_of` calls this function again.
    """
    global _profile_size
    if "__getattribute__" in _profile_names:
        return False
    for name in _OF_PROFILES:
        if name in _profile_names:
            return False
    _profile_size = len(_profile_names)
    return True
