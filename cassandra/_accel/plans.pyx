# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, binding=True
"""Query plans over the replicas of a partition, compiled; `cassandra.policies.plans` is its reference and explains it."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc

from cassandra._accel.bind cimport ValuesBlock
from cassandra._accel.ring cimport NOBODY, ReplicaMap, token_at

from cassandra.query.prepared import BoundStatement as _BoundStatementClass

cdef object _BoundStatement = _BoundStatementClass


cdef extern from "Python.h":
    ctypedef struct PyObject
    PyObject* PyTuple_GET_ITEM_REF "PyTuple_GET_ITEM" (object, Py_ssize_t)


cdef enum:
    TIERS = 4


cdef class Router:
    """A `ReplicaMap` with the tier of each host: 0 is the nearest, up to 3; 255 leaves a host out.

    seed: of the generator that shuffles; not 0.
    """

    cdef ReplicaMap _map
    cdef bytes _tiers
    cdef uint64_t _state

    def __init__(self, replica_map, tiers, seed):
        if len(tiers) != len(replica_map.hosts()):
            raise ValueError(f"{len(replica_map.hosts())} hosts have {len(tiers)} tiers")
        self._map = replica_map
        self._tiers = bytes(tiers)
        self._state = (seed & 0xFFFFFFFFFFFFFFFF) or 1

    def route(self, key, shuffle):
        """(the replicas of a serialized key, nearer tiers first; how many of them are of the nearest tier that has any).

        shuffle: each tier in a random order, in place of the ring's.
        """
        cdef ReplicaMap map_ = self._map
        cdef Py_ssize_t nearest = 0
        cdef tuple replicas = self._route(map_._place_of(key), &nearest, shuffle, None)
        return replicas, nearest

    cdef tuple _route(self, Py_ssize_t position, Py_ssize_t* nearest, bint shuffle, in_flight):
        cdef ReplicaMap map_ = self._map
        cdef const uint16_t* row = map_._row(position)
        cdef uint16_t here[64]
        cdef uint16_t* order = here
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t i
        cdef tuple found
        cdef object host
        if row == NULL:
            return ()
        if map_._width > 64:
            order = <uint16_t*> malloc(map_._width * sizeof(uint16_t))
            if order == NULL:
                raise MemoryError
        try:
            count = self._arrange(row, map_._width, order, nearest, shuffle)
            if in_flight is not None and nearest[0] > 1:
                self._prefer(order, in_flight)
            found = PyTuple_New(count)
            for i in range(count):
                host = <object> PyTuple_GET_ITEM_REF(map_._hosts, order[i])
                Py_INCREF(host)
                PyTuple_SET_ITEM(found, i, host)
        finally:
            if order != here:
                free(order)
        return found

    def plan(self, key, shuffle, child, working_keyspace, query, in_flight=None):
        """`replica_plan` of what `route` gives.

        in_flight: gives the requests under way to a host; of the first two at the shortest distance the one with fewer is first.
        """
        cdef ReplicaMap map_ = self._map
        cdef Py_ssize_t nearest = 0
        cdef tuple replicas = self._route(map_._place_of(key), &nearest, shuffle, in_flight)
        return _plan_of(replicas, child, working_keyspace, query)

    cdef int _prefer(self, uint16_t* order, in_flight) except -1:
        """Put the less busy one of the first two hosts first."""
        cdef object first = <object> PyTuple_GET_ITEM_REF(self._map._hosts, order[0])
        cdef object second = <object> PyTuple_GET_ITEM_REF(self._map._hosts, order[1])
        cdef uint16_t moved
        if first.is_up is not False and second.is_up is not False and in_flight(second) < in_flight(first):
            moved = order[0]
            order[0] = order[1]
            order[1] = moved
        return 0

    cdef Py_ssize_t _arrange(
        self, const uint16_t* row, Py_ssize_t width, uint16_t* order, Py_ssize_t* nearest, bint shuffle
    ) noexcept:
        cdef const uint8_t* tiers = <const uint8_t*> PyBytes_AS_STRING(self._tiers)
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t start
        cdef Py_ssize_t i
        cdef int tier
        for tier in range(TIERS):
            start = count
            for i in range(width):
                if row[i] == NOBODY:
                    break
                if tiers[row[i]] == tier:
                    order[count] = row[i]
                    count += 1
            if count == start:
                continue
            if shuffle and count - start > 1:
                self._shuffle(order + start, count - start)
            if nearest[0] == 0:
                nearest[0] = count
        return count

    cdef void _shuffle(self, uint16_t* hosts, Py_ssize_t count) noexcept nogil:
        """Fisher and Yates, with a new draw when most bits of the last one are used."""
        cdef uint64_t bits = 0
        cdef Py_ssize_t last = count - 1
        cdef Py_ssize_t other
        cdef uint16_t moved
        while last > 0:
            if bits < <uint64_t> 0x100000000:
                bits = self._draw()
            other = <Py_ssize_t> (bits % <uint64_t> (last + 1))
            bits //= <uint64_t> (last + 1)
            moved = hosts[last]
            hosts[last] = hosts[other]
            hosts[other] = moved
            last -= 1

    cdef inline uint64_t _draw(self) noexcept nogil:
        """The next number of Marsaglia's xorshift, the upper 53 of its 64 bits."""
        cdef uint64_t state = self._state
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        self._state = state
        return (state * <uint64_t> 0x2545F4914F6CDD1D) >> 11


cdef class Planner:
    """The query plans of one policy: `routers` has the `Router` of each keyspace, for `metadata` as it was when it was made.

    child: the policy whose plan comes after the replicas.
    """

    cdef object _metadata
    cdef object _view
    cdef object _version
    cdef dict _routers
    cdef object _child

    def __init__(self, metadata, routers, child):
        self._metadata = metadata
        self._view = metadata.view
        self._version = metadata.replication_version
        self._routers = dict(routers)
        self._child = child

    def plan(self, working_keyspace, query, shuffle, in_flight=None):
        """The plan of a statement with a routing key; None where there is no router for it, or it is out of date.

        shuffle, in_flight: as `Router.plan` takes them; without effect where all clients should have the same order.
        """
        cdef Router router
        cdef Py_ssize_t nearest = 0
        cdef Py_ssize_t place
        cdef bint in_disorder = shuffle
        cdef bint bound
        cdef tuple replicas
        metadata = self._metadata
        if metadata.view is not self._view or metadata.replication_version != self._version:
            return None
        keyspace = query.keyspace
        found = self._routers.get(keyspace if keyspace else working_keyspace)
        if found is None:
            return None
        router = <Router> found
        bound = type(query) is _BoundStatement
        place = _place_of_bound(router._map, query) if bound else -1
        if place < 0:
            key = query.routing_key
            if key is None:
                return None
            place = router._map._place_of(key)
        level = query.consistency_level
        if (level is not None and (level == 8 or level == 9)) or (
            query.prepared_statement._is_lwt if bound else query.is_lwt()
        ):
            in_disorder = False
            in_flight = None
        replicas = router._route(place, &nearest, in_disorder, in_flight)
        return _plan_of(replicas, self._child, working_keyspace, query)


cdef Py_ssize_t _place_of_bound(ReplicaMap map_, query) except -2:
    """Where a bound statement's partition key of one column belongs, hashed where its value stands; -1 where it has another key, or none."""
    cdef ValuesBlock block
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t pos
    if map_._own is None or query._routing_key is not None:
        return -1
    values = query.block
    indexes = query.prepared_statement.routing_key_indexes
    if not indexes or len(indexes) != 1 or type(values) is not ValuesBlock:
        return -1
    block = <ValuesBlock> values
    pos = block._find(indexes[0], &size)
    if size < 0:
        return -1
    return map_._own._position(token_at(<const uint8_t*> PyBytes_AS_STRING(block.data) + pos, size))


cdef class _ReplicaPlan:
    """What `replica_plan` gives."""

    cdef tuple _replicas
    cdef Py_ssize_t _at
    cdef object _child
    cdef object _working_keyspace
    cdef object _query
    cdef object _rest
    cdef set _tried  # the replicas that were given out, where there is more than they
    cdef list _left_out  # replicas that were down

    def __iter__(self):
        return self

    def __next__(self):
        cdef object host
        while self._at < PyTuple_GET_SIZE(self._replicas):
            host = self._replicas[self._at]
            self._at += 1
            if host.is_up is not False:
                return host
            if self._left_out is None:
                self._left_out = []
            self._left_out.append(host)
        if self._rest is None:
            child, self._child = self._child, None
            if child is None:
                raise StopIteration
            self._tried = set(self._replicas)
            if self._left_out is not None:
                self._tried.difference_update(self._left_out)
            self._rest = iter(child.make_query_plan(self._working_keyspace, self._query))
            self._query = None
        for host in self._rest:
            if host not in self._tried:
                return host
        self._rest = iter(())
        raise StopIteration


def replica_plan(replicas, child, working_keyspace, query):
    """The replicas that are not down, then what ``child.make_query_plan(working_keyspace, query)`` gives beside them."""
    return _plan_of(tuple(replicas), child, working_keyspace, query)


cdef _ReplicaPlan _plan_of(tuple replicas, child, working_keyspace, query):
    cdef _ReplicaPlan plan = _ReplicaPlan.__new__(_ReplicaPlan)
    plan._replicas = replicas
    plan._child = child
    plan._working_keyspace = working_keyspace
    plan._query = query
    return plan


__all__ = ["Planner", "Router", "replica_plan"]
