"""Query plans over the replicas of a partition: the compiled twin of `cassandra.policies.plans`.

A plan stores the numbers of hosts, and looks a host up only when the caller asks for it: most
callers need only the first host.
"""

cimport cython

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from cassandra._accel.bind cimport ValuesBlock
from cassandra._accel.checks cimport item_of, size_of, unpicklable
from cassandra._accel.fields cimport (
    BoundBase, HostBase, Kind, MetadataBase, PlanningBase, PreparedBase, has_fields, reads_plainly,
    value_of, with_fields
)
from cassandra._accel.ring cimport NOBODY, ReplicaMap, token_at
from cassandra._accel.tablets cimport Chunk, TabletMap, token_in
from cassandra._accel.threads cimport IS_FREE_THREADED

from cassandra.metadata.host import Host as _HostClass
from cassandra.policies.plan_limit import limited as _limited
from cassandra.query.bound import BoundStatement as _BoundStatementClass
from cassandra.query.prepared import PreparedStatement as _PreparedStatementClass

cdef enum:
    TIERS = 8
    FEW = 12  # replicas that fit into a plan without an allocation

cdef type _Host = with_fields(_HostClass, HostBase)
cdef type _BoundStatement = with_fields(_BoundStatementClass, BoundBase)
cdef type _PreparedStatement = with_fields(_PreparedStatementClass, PreparedBase)


cdef ReplicaMap _NOBODY = ReplicaMap.__new__(ReplicaMap)


cdef inline bint _is_down(host) except -1:
    if type(host) is _Host:
        return value_of(&(<HostBase> host).is_up, host, "is_up") is False
    return host.is_up is False


cdef class Router:
    """A `ReplicaMap` with the tier of each host: 0 is the nearest, up to 7; 255 excludes a host.

    `seed` initializes the random generator for shuffling; it must not be 0.
    """

    cdef ReplicaMap _map
    cdef bytes _tiers
    cdef uint64_t _state

    def __cinit__(self, *arguments, **named):
        # Until `__init__` runs, the router has an empty map.
        self._map = _NOBODY
        self._tiers = b""

    def __init__(self, replica_map, tiers, seed):
        tiers = list(tiers)
        if self._map is not _NOBODY:
            raise TypeError("a router is made once")  # another thread may be reading the map
        if len(tiers) != len(replica_map.hosts()):
            raise ValueError(f"{len(replica_map.hosts())} hosts have {len(tiers)} tiers")
        self._map = <ReplicaMap?> replica_map
        self._tiers = bytes([min(tier, TIERS) for tier in tiers])
        self._state = (seed & 0xFFFFFFFFFFFFFFFF) or 1

    def __reduce__(self):
        raise unpicklable(self)

    def route(self, key, shuffle):
        """Return the replicas of a serialized key, nearer tiers first.

        :param shuffle: True puts each tier in a random order, False keeps the ring's order.
        :returns: the replicas, and how many of them are in the nearest tier that has any.
        """
        cdef Py_ssize_t nearest = 0
        cdef ReplicaPlan replicas = self._plan(self._map._place_of(key), &nearest, shuffle, None)
        return replicas._all(), nearest

    def plan_numbers(self, numbers, shuffle, child, working_keyspace, query, in_flight=None):
        """Return the plan of the hosts with these numbers (see `plan`)."""
        cdef Py_ssize_t nearest = 0
        cdef ReplicaPlan plan
        cdef uint16_t row[FEW]
        cdef Py_ssize_t count = 0
        for number in tuple(numbers)[:FEW]:
            if not 0 <= number < PyTuple_GET_SIZE(self._map._hosts):
                raise IndexError(f"there is no host {number}")
            row[count] = number
            count += 1
        plan = self._plan_row(row, count, &nearest, shuffle, in_flight)
        plan._then(child, working_keyspace, query)
        return plan

    def plan(self, key, shuffle, child, working_keyspace, query, in_flight=None):
        """Return `replica_plan` of the replicas that `route` returns.

        :param in_flight: returns the number of requests in flight to a host. If it is given, the
            less loaded of the first two hosts at the shortest distance comes first.
        """
        cdef Py_ssize_t nearest = 0
        cdef Py_ssize_t position = self._map._place_of(key)
        cdef ReplicaPlan replica_plan = self._plan(position, &nearest, shuffle, in_flight)
        replica_plan._then(child, working_keyspace, query)
        return replica_plan

    cdef ReplicaPlan _plan(self, Py_ssize_t position, Py_ssize_t* nearest, bint shuffle, in_flight):
        """Return a plan of the replicas at `position`, without the child policy's hosts."""
        return self._plan_row(
            self._map._row(position), self._map._width, nearest, shuffle, in_flight
        )

    cdef ReplicaPlan _plan_row(
        self, const uint16_t* row, Py_ssize_t width, Py_ssize_t* nearest, bint shuffle, in_flight
    ):
        """Return a plan of the replicas in a row of numbers, without the child policy's hosts."""
        cdef ReplicaPlan plan
        if row == NULL:
            return _plan_over(self._map._hosts, 0)
        # If the map's `__init__` ran after the router's `__init__`, `_tiers` is too short, and
        # `_arrange` would read past its end.
        if PyBytes_GET_SIZE(self._tiers) < PyTuple_GET_SIZE(self._map._hosts):
            raise ValueError(f"{len(self._map._hosts)} hosts have {len(self._tiers)} tiers")
        plan = _plan_over(self._map._hosts, width)
        plan._count = self._arrange(row, width, plan._order, nearest, shuffle)
        if in_flight is not None and nearest[0] > 1:
            plan._prefer(in_flight)
        return plan

    cdef Py_ssize_t _arrange(
        self,
        const uint16_t* row,
        Py_ssize_t width,
        uint32_t* order,
        Py_ssize_t* nearest,
        bint shuffle,
    ) noexcept:
        """Fill `order`, which has room for `width` hosts, with the hosts of a row, by tiers.

        Returns how many hosts it then has, and sets `nearest` to how many of them are in the
        nearest tier that has any.
        """
        cdef const uint8_t* tiers = <const uint8_t*> PyBytes_AS_STRING(self._tiers)
        cdef Py_ssize_t counts[TIERS + 1]
        cdef Py_ssize_t ends[TIERS + 1]
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t i
        cdef int tier
        memset(counts, 0, sizeof(counts))
        for i in range(width):
            if row[i] == NOBODY:
                width = i
                break
            counts[tiers[row[i]]] += 1
        for tier in range(TIERS + 1):
            ends[tier] = count
            count += counts[tier]
        for i in range(width):
            tier = tiers[row[i]]
            order[ends[tier]] = row[i]
            ends[tier] += 1
        for tier in range(TIERS):
            if counts[tier] == 0:
                continue
            if nearest[0] == 0:
                nearest[0] = counts[tier]
            if shuffle and counts[tier] > 1:
                self._shuffle(order + ends[tier] - counts[tier], counts[tier])
        return width - counts[TIERS]

    cdef void _shuffle(self, uint32_t* hosts, Py_ssize_t count) noexcept nogil:
        """Shuffle by Fisher and Yates; the upper 32 bits of each draw choose among the rest."""
        cdef Py_ssize_t last = count - 1
        cdef Py_ssize_t other
        cdef uint32_t moved
        while last > 0:
            other = <Py_ssize_t> (((self._draw() >> 32) * <uint64_t> (last + 1)) >> 32)
            moved = hosts[last]
            hosts[last] = hosts[other]
            hosts[other] = moved
            last -= 1

    cdef inline uint64_t _draw(self) noexcept nogil:
        """Return the next number of Marsaglia's xorshift."""
        cdef uint64_t state = self._state
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        self._state = state
        return state * <uint64_t> 0x2545F4914F6CDD1D


cdef class Planner:
    """Creates the query plans of one policy, until the placement in `metadata` changes.

    :param routers: the `Router` of each keyspace.
    :param child: the policy whose plan comes after the replicas.
    :param shuffle: see `Router.route`. It has no effect on a statement for which all clients should
        try the hosts in the same order; nor has `in_flight`.
    :param in_flight: see `Router.plan`.
    :param router_over: returns a router for the tuple of hosts that tablets name. None ignores
        tablets.
    """

    cdef object _metadata
    cdef object _version
    cdef bint _has_fields  # True if the fields of the metadata can be read directly
    cdef dict _routers
    cdef object _child
    cdef bint _shuffle
    cdef object _in_flight
    cdef object _router_over
    cdef TabletMap _tablets
    cdef Router _tablet_router  # over the hosts that tablets name
    # The keyspace of the last plan, and its router: most applications use one keyspace.
    cdef object _keyspace
    cdef Router _router

    def __init__(self, metadata, routers, child, shuffle=True, in_flight=None, router_over=None):
        tablets = getattr(metadata, "tablets", None)
        if router_over is not None and type(tablets) is TabletMap:
            self._tablets = <TabletMap> tablets
        else:
            self._tablets = None
        self._router_over = router_over
        if self._metadata is not None:
            raise TypeError("a planner is made once")  # another thread may be creating a plan
        self._version = metadata.placement_version
        self._metadata = metadata
        self._has_fields = reads_plainly(type(metadata), MetadataBase)
        self._routers = dict(routers)
        self._child = child
        self._shuffle = shuffle
        self._in_flight = in_flight

    def __reduce__(self):
        raise unpicklable(self)

    def plan(self, working_keyspace, query):
        """Return the plan of a statement with a routing key.

        Returns None if there is no router for it, or the router is out of date.
        """
        return self._plan(working_keyspace, query)

    cdef ReplicaPlan _plan(self, working_keyspace, query):
        cdef ReplicaPlan plan
        cdef Py_ssize_t nearest = 0
        cdef Py_ssize_t position = -1
        cdef bint keeps_order = False
        cdef Router router
        if self._placement_version() is not self._version:
            return None
        if self._tablets is not None and self._tablets._is_used():
            keyspace = _keyspace_of(query) or working_keyspace
            if self._tablets._has_keyspace(keyspace):
                return self._plan_tablet(keyspace, working_keyspace, query)
        if type(query) is _BoundStatement:
            router = self._router_of(_keyspace_of(query), working_keyspace)
            if router is None:
                return None
            position = _place_of_bound(router._map, query, &keeps_order)
        else:
            router = self._router_of(query.keyspace, working_keyspace)
            if router is None:
                return None
            keeps_order = _is_serial(query.consistency_level) or query.is_lwt()
        if position < 0:
            key = query.routing_key
            if key is None:
                return None
            position = router._map._place_of(key)
        plan = router._plan(
            position,
            &nearest,
            self._shuffle and not keeps_order,
            None if keeps_order else self._in_flight,
        )
        plan._then(self._child, working_keyspace, query)
        return plan

    cdef inline object _placement_version(self):
        metadata = self._metadata
        if not self._has_fields:
            return metadata.placement_version
        return value_of(
            &(<MetadataBase> metadata).placement_version, metadata, "placement_version"
        )

    cdef ReplicaPlan _plan_tablet(self, keyspace, working_keyspace, query):
        """Return the plan of a statement for a table with tablets, which the ring does not place.
        """
        cdef ReplicaPlan plan
        cdef Chunk chunk
        cdef int64_t token = 0
        cdef Py_ssize_t index = 0
        cdef Py_ssize_t nearest = 0
        cdef bint keeps_order
        cdef Router router
        if not token_in(query, &token):
            return None
        chunk = self._tablets._row(keyspace, _table_of(query), token, &index)
        if chunk is None:
            # Use any host, because its response will contain the tablet.
            plan = _plan_over((), 0)
        else:
            keeps_order = (
                self._tablets._has_leaders(keyspace)
                or _is_serial(query.consistency_level)
                or query.is_lwt()
            )
            # Read the hosts after the row, so that they include all hosts of the row.
            hosts = self._tablets._hosts_now()
            with cython.critical_section(self):
                router = self._tablet_router
                if router is None or router._map._hosts is not hosts:
                    # Keep a reference to the router, because another thread may replace it.
                    router = self._tablet_router = <Router?> self._router_over(hosts)
            if PyTuple_GET_SIZE(router._map._hosts) < _highest(chunk, index) + 1:
                return None
            plan = router._plan_row(
                chunk.hosts + index * chunk.width,
                chunk.width,
                &nearest,
                self._shuffle and not keeps_order,
                None if keeps_order else self._in_flight,
            )
        plan._then(self._child, working_keyspace, query)
        return plan

    cdef Router _router_of(self, keyspace, working_keyspace):
        if keyspace is None or keyspace == "":
            keyspace = working_keyspace
        if IS_FREE_THREADED:  # another thread could see a half-written cache
            return self._routers.get(keyspace)
        if keyspace is not self._keyspace or self._router is None:
            self._router = self._routers.get(keyspace)
            self._keyspace = keyspace
        return self._router


cdef inline object _keyspace_of(query):
    if type(query) is _BoundStatement:
        return value_of(&(<BoundBase> query).keyspace, query, "keyspace")
    return query.keyspace


cdef inline object _table_of(query):
    if type(query) is _BoundStatement:
        return value_of(&(<BoundBase> query).table, query, "table")
    return getattr(query, "table", None)


cdef inline Py_ssize_t _highest(Chunk chunk, Py_ssize_t index) noexcept:
    """Return the greatest host number in a row."""
    cdef Py_ssize_t i
    cdef Py_ssize_t highest = -1
    for i in range(index * chunk.width, (index + 1) * chunk.width):
        if chunk.hosts[i] != NOBODY and chunk.hosts[i] > highest:
            highest = chunk.hosts[i]
    return highest


cdef inline bint _is_serial(level) except -1:
    return level is not None and (level == 8 or level == 9)


cdef Py_ssize_t _place_of_bound(ReplicaMap map_, query, bint* keeps_order) except -2:
    """Return the ring position of a bound statement's partition key, without copying the key.

    Returns -1 if this is not possible: the key has several columns, its value is missing, or the
    application set a routing key. `keeps_order` becomes true if all clients should try the replicas
    in the same order.
    """
    cdef ValuesBlock block
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t pos
    cdef BoundBase bound = <BoundBase> query
    prepared = value_of(&bound.prepared_statement, query, "prepared_statement")
    if type(prepared) is _PreparedStatement:
        is_lwt = value_of(&(<PreparedBase> prepared)._is_lwt, prepared, "_is_lwt")
        indexes = value_of(
            &(<PreparedBase> prepared).routing_key_indexes, prepared, "routing_key_indexes"
        )
    else:
        is_lwt = prepared._is_lwt
        indexes = prepared.routing_key_indexes
    level = value_of(&bound.consistency_level, query, "consistency_level")
    keeps_order[0] = is_lwt or _is_serial(level)
    values = value_of(&bound.block, query, "block")
    if (
        map_._own is None
        or not indexes
        or len(indexes) != 1
        or type(values) is not ValuesBlock
        or value_of(&bound._routing_key, query, "_routing_key") is not None
    ):
        return -1
    block = <ValuesBlock> values
    pos = block._find(indexes[0], &size)
    if size < 0:
        return -1
    return map_._own._position(token_at(<const uint8_t*> PyBytes_AS_STRING(block.data) + pos, size))


@cython.final
@cython.freelist(32)
cdef class ReplicaPlan:
    """The iterator that `replica_plan` returns."""

    cdef tuple _hosts
    cdef uint32_t* _order  # the hosts to try, as indexes in `_hosts`
    cdef uint32_t _few[FEW]
    cdef Py_ssize_t _count
    cdef Py_ssize_t _at  # the next index in `_order`
    cdef Py_ssize_t _given  # the number of hosts that the caller got; now first in `_order`
    cdef object _child
    cdef object _working_keyspace
    cdef object _query
    cdef object _rest
    cdef set _tried  # the replicas that the caller got, which the child's plan must not repeat

    def __dealloc__(self):
        if self._order != self._few:
            free(self._order)

    # Each entry of `_order` is a valid index in `_hosts`: the rows of a map contain only numbers of
    # its hosts, and `plan_numbers` refuses other numbers. Callers keep `index` below `_count`.
    cdef inline object _host(self, Py_ssize_t index):
        return <object> PyTuple_GET_ITEM(self._hosts, self._order[index])

    cdef int _then(self, child, working_keyspace, query) except -1:
        """Set the child policy, whose plan follows the replicas, and the arguments for it."""
        self._child = child
        self._working_keyspace = working_keyspace
        self._query = query
        return 0

    cdef int _prefer(self, in_flight) except -1:
        """Put the less busy of the first two hosts first."""
        cdef object first = self._host(0)
        cdef object second = self._host(1)
        cdef uint32_t moved
        if not _is_down(first) and not _is_down(second) and in_flight(second) < in_flight(first):
            moved = self._order[0]
            self._order[0] = self._order[1]
            self._order[1] = moved
        return 0

    cdef tuple _all(self):
        cdef Py_ssize_t index
        return tuple([self._host(index) for index in range(self._count)])

    def __iter__(self):
        return self

    def __next__(self):
        cdef object host
        while self._at < self._count:
            host = self._host(self._at)
            self._at += 1
            if not _is_down(host):
                self._order[self._given] = self._order[self._at - 1]
                self._given += 1
                return host
        if self._rest is None:
            self._ask_child()
        for host in self._rest:
            if host not in self._tried:
                return host
        self._rest = ()
        raise StopIteration

    cdef int _ask_child(self) except -1:
        cdef Py_ssize_t index
        child, query = self._child, self._query
        self._child = self._query = None
        self._rest = ()
        if child is not None:
            self._tried = {self._host(index) for index in range(self._given)}
            self._rest = _limited(child.make_query_plan(self._working_keyspace, query))
        return 0


cdef ReplicaPlan _plan_over(tuple hosts, Py_ssize_t room):
    """Return an empty plan over `hosts`, with capacity for `room` of them."""
    cdef ReplicaPlan plan = ReplicaPlan.__new__(ReplicaPlan)
    plan._hosts = hosts
    plan._order = plan._few
    if room > FEW:
        plan._order = <uint32_t*> malloc(room * sizeof(uint32_t))
        if plan._order == NULL:
            raise MemoryError
    return plan


def replica_plan(replicas, child, working_keyspace, query):
    """Return an iterator over the replicas that are not down, then over the child policy's plan.

    Replicas are not repeated.
    """
    cdef tuple hosts = tuple(replicas)
    cdef Py_ssize_t index
    cdef ReplicaPlan plan = _plan_over(hosts, PyTuple_GET_SIZE(hosts))
    for index in range(PyTuple_GET_SIZE(hosts)):
        plan._order[index] = <uint32_t> index
    plan._count = PyTuple_GET_SIZE(hosts)
    plan._then(child, working_keyspace, query)
    return plan


@cython.final
@cython.freelist(32)
cdef class Rotation:
    """The iterator that `rotated` returns."""

    cdef tuple _tiers
    cdef tuple _hosts  # the hosts of the current tier
    cdef Py_ssize_t _start
    cdef Py_ssize_t _tier
    cdef Py_ssize_t _place  # the index in `_hosts` of the next host
    cdef Py_ssize_t _left  # the number of hosts of the current tier that are left

    def __cinit__(self, *arguments, **named):
        self._tiers = self._hosts = ()

    cdef int _enter(self, Py_ssize_t tier) except -1:
        cdef tuple hosts
        self._tier = tier
        hosts = tuple(self._tiers[tier])
        self._left = PyTuple_GET_SIZE(hosts)
        self._place = self._start % self._left if self._left else 0
        self._hosts = hosts
        return 0

    def __iter__(self):
        return self

    def __next__(self):
        cdef object host
        while self._left == 0:
            if self._tier + 1 >= PyTuple_GET_SIZE(self._tiers):
                raise StopIteration
            self._enter(self._tier + 1)
        # `_left` is not 0, so there are hosts, and `_place` is the index of one of them, unless the
        # finalizer of a released host called this iterator.
        if self._place >= size_of(<PyObject*> self._hosts):
            raise StopIteration
        host = <object> item_of(<PyObject*> self._hosts, self._place)
        self._left -= 1
        self._place += 1
        if self._place == size_of(<PyObject*> self._hosts):
            self._place = 0
        return host


def rotated(tiers, start):
    """Return the hosts of each tier from position `start` on, nearer tiers first.

    `start` may be past a tier's end, but must not be negative.
    """
    cdef Rotation rotation = Rotation.__new__(Rotation)
    rotation._tiers = tuple(tiers)
    rotation._start = start
    if rotation._start < 0:
        raise ValueError(f"a rotation begins at {start}")
    rotation._tier = -1
    return rotation


cdef Kind _policies = Kind(PlanningBase)


def make_query_plan(policy, working_keyspace=None, query=None):
    """Return the hosts to try for one request, the best first.

    The replicas of the statement's partition come first, then the child policy's plan.
    """
    if has_fields(_policies, policy):
        planner = value_of(&(<PlanningBase> policy)._planner, policy, "_planner")
    else:
        planner = policy._planner
    if query is not None and type(planner) is Planner:
        try:
            plan = (<Planner> planner)._plan(working_keyspace, query)
        except AttributeError:  # `query` is not a statement of this package
            plan = None
        if plan is not None:
            return plan
    return policy._plan_slowly(working_keyspace, query)


__all__ = ["Planner", "Router", "make_query_plan", "replica_plan", "rotated"]
