"""The token ring and the owners of its ranges: the compiled twin of
`cassandra.metadata.placement.ring`.

We find replicas by walking along the ring from each token, as the server does. A row of replicas is
an array of 16-bit host numbers, and all rows are as long as the longest. A hash table finds equal
rows, which are stored once. The tuples that callers get are created at each look-up. One keyspace
on a thousand nodes with 256 tokens takes a few megabytes.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport (
    INT64_MAX,
    INT64_MIN,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
)
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memset

from cassandra._accel.checks cimport bytes_of, unpicklable
from cassandra._accel.murmur3 cimport murmur3_of

from operator import index as _index


cdef extern from "Python.h":
    ctypedef struct PyObject
    PyObject* PyTuple_GET_ITEM_REF "PyTuple_GET_ITEM" (object, Py_ssize_t)


cdef struct Token:
    int64_t token
    uint32_t owner


cdef int _by_token(const void* a, const void* b) noexcept nogil:
    cdef const Token* left = <const Token*> a
    cdef const Token* right = <const Token*> b
    if left.token != right.token:
        return -1 if left.token < right.token else 1
    # If two hosts have the same token, the first host keeps it.
    return -1 if left.owner < right.owner else (1 if left.owner > right.owner else 0)


cdef inline uint64_t _unsigned(int64_t token) noexcept nogil:
    """Return a token as an unsigned number, in the same order: the least token becomes 0."""
    return <uint64_t> token ^ <uint64_t> 0x8000000000000000


cdef int64_t token_at(const uint8_t* key, Py_ssize_t size) noexcept nogil:
    cdef int64_t token = murmur3_of(key, size)
    return INT64_MAX if token == INT64_MIN else token


cdef inline int64_t _token_of(bytes key) noexcept:
    return token_at(<const uint8_t*> PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))


def _murmur3(data):
    """Return the signed 64-bit hash of `data`.

    `cassandra.murmur3` exports this function if the compiled modules are available.

    :param data: any object with a buffer of bytes.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return murmur3_of(<const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def token_of(key):
    """Return the Murmur3Partitioner's token of a serialized partition key."""
    return _token_of(bytes_of(key))


cdef int _check_count(Py_ssize_t hosts) except -1:
    if hosts > NOBODY:
        raise ValueError(f"a ring holds at most {NOBODY} hosts, but there are {hosts}")
    return 0


cdef class TokenRing:
    """The tokens of the Murmur3Partitioner.

    `texts` has for each host the texts of its tokens, as they are in the system tables.
    """

    def __init__(self, texts):
        cdef Py_ssize_t room = 0
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t i
        cdef Py_ssize_t size = 0
        cdef uint32_t host = 0
        cdef Token* pairs
        texts = [tuple(values) for values in texts]
        _check_count(len(texts))
        for values in texts:
            room += len(values)
        pairs = <Token*> malloc(max(room, 1) * sizeof(Token))
        try:
            if pairs == NULL:
                raise MemoryError
            for values in texts:
                for text in values:
                    try:
                        pairs[count].token = int(text)
                    except OverflowError:
                        raise OverflowError(
                            "a token of the Murmur3Partitioner has 64 bits, but one has more"
                        ) from None
                    pairs[count].owner = host
                    count += 1
                host += 1
            # No other thread has `pairs` yet.
            with nogil:
                qsort(pairs, count, sizeof(Token), _by_token)
            free(self._tokens)
            free(self._owners)
            free(self._first)
            # Clear the pointers, so that nothing is freed twice if an allocation below fails.
            self._tokens = NULL
            self._owners = NULL
            self._first = NULL
            self._size = 0
            self._tokens = <int64_t*> malloc(max(count, 1) * sizeof(int64_t))
            self._owners = <uint16_t*> malloc(max(count, 1) * sizeof(uint16_t))
            if self._tokens == NULL or self._owners == NULL:
                raise MemoryError
            for i in range(count):
                if i and pairs[i].token == pairs[i - 1].token:
                    continue
                self._tokens[size] = pairs[i].token
                self._owners[size] = <uint16_t> pairs[i].owner
                size += 1
            self._size = size
            self._sort_in()
        finally:
            free(pairs)

    def __dealloc__(self):
        free(self._tokens)
        free(self._owners)
        free(self._first)

    cdef int _sort_in(self) except -1:
        """Fill `_first`, with so many upper bits that about one token has each value of them."""
        cdef int bits = 1
        cdef Py_ssize_t index = 0
        cdef Py_ssize_t value
        while (<Py_ssize_t> 1 << bits) < self._size and bits < 24:
            bits += 1
        self._shift = 64 - bits
        free(self._first)
        self._first = <uint32_t*> malloc(((<Py_ssize_t> 1 << bits) + 1) * sizeof(uint32_t))
        if self._first == NULL:
            raise MemoryError
        for value in range((<Py_ssize_t> 1 << bits) + 1):
            while (
                index < self._size
                and <Py_ssize_t> (_unsigned(self._tokens[index]) >> self._shift) < value
            ):
                index += 1
            self._first[value] = <uint32_t> index
        return 0

    cdef Py_ssize_t _position(self, int64_t token) noexcept nogil:
        cdef const uint32_t* first
        cdef Py_ssize_t low
        cdef Py_ssize_t count
        cdef Py_ssize_t half
        if self._first == NULL:  # `__init__` never ran, or failed
            return 0
        # Tokens are usually spread evenly, so one or two tokens are left to search. `_first` has
        # one more entry than there are values of the upper bits, so first[1] exists.
        first = self._first + (_unsigned(token) >> self._shift)
        low = first[0]
        count = <Py_ssize_t> first[1] - low
        while count > 0:
            half = count >> 1
            if self._tokens[low + half] < token:
                low += half + 1
                count -= half + 1
            else:
                count = half
        return low if low < self._size else 0

    def __reduce__(self):
        raise unpicklable(self)

    def position(self, token):
        """Return the position of the first token that is not less than `token`; 0 past the last
        token.
        """
        return self._position(token)

    def position_of(self, key):
        """Return the same position for the token of a serialized partition key."""
        return self._position(_token_of(bytes_of(key)))

    def tokens(self):
        """Return all tokens in ascending order."""
        return [self._tokens[i] for i in range(self._size)]

    def owners(self):
        """Return the number of the host that owns each token, in the order of the tokens."""
        return [self._owners[i] for i in range(self._size)]

    def __len__(self):
        return self._size


cdef class ReplicaMap:
    """The replicas at each position of a ring, for one replication setting.

    Created by `simple_map` and the similar functions.
    """

    def __init__(self, ring, hosts, rows):
        cdef uint16_t* row
        cdef Py_ssize_t index
        cdef Py_ssize_t i
        cdef _Rows replica_rows
        hosts = tuple(hosts)
        _check_count(len(hosts))
        # Convert to numbers once, because the caller's own objects may change from here on.
        rows = [tuple(map(_index, numbers)) for numbers in rows]
        replica_rows = _Rows(len(rows), max(map(len, rows), default=0))
        for index in range(len(rows)):
            row = replica_rows.start()
            for i, host in enumerate(rows[index]):
                if not 0 <= host < len(hosts):
                    raise IndexError(f"there is no host {host}")
                row[i] = host
            replica_rows.keep(index)
        self._take(ring, hosts, replica_rows)

    cdef int _take(self, ring, tuple hosts, replica_rows) except -1:
        cdef _Rows rows = <_Rows?> replica_rows
        if self._sets != NULL:
            raise TypeError("a map of replicas is made once")  # plans may have addresses of rows
        self._ring = ring
        self._own = ring if isinstance(ring, TokenRing) else None
        self._hosts = hosts
        self._width = rows.width
        self._position_count = rows.row_count
        self._set_count = rows.count
        self._sets = rows.sets
        self._set_at = rows.set_at
        rows.sets = NULL
        rows.set_at = NULL
        return 0

    def __cinit__(self, *arguments, **named):
        self._hosts = ()

    def __dealloc__(self):
        free(self._sets)
        free(self._set_at)

    cdef const uint16_t* _row(self, Py_ssize_t position) noexcept nogil:
        """Return the row of replicas at `position`; NULL if there are no replicas.

        A map with one row has the same replicas at all positions.
        """
        if self._position_count <= 0 or self._width == 0 or position < 0:
            return NULL
        if self._position_count == 1:
            position = 0
        elif position >= self._position_count:
            return NULL
        # `_set_at` and `_sets` come from one `_Rows`, so each number in `_set_at` is the number of
        # a set in `_sets`.
        return self._sets + <Py_ssize_t> self._set_at[position] * self._width

    cdef Py_ssize_t _place_of(self, key) except -1:
        """Return the position on the ring that a serialized key belongs to."""
        cdef Py_ssize_t position
        if self._own is not None:
            return self._own._position(_token_of(bytes_of(key)))
        position = self._ring.position_of(key)
        if position < 0:
            raise IndexError(f"there is no place {position} on a ring")
        return position

    def __reduce__(self):
        raise unpicklable(self)

    def at(self, position):
        """Return the hosts that hold the range of the token at `position`, primary first."""
        return self._at(position)

    cdef tuple _at(self, Py_ssize_t position):
        cdef const uint16_t* row = self._row(position)
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t i
        cdef tuple hosts
        cdef object host
        if position < 0:
            raise IndexError(f"there is no place {position} on a ring")
        if row != NULL:
            while count < self._width and row[count] != NOBODY:
                count += 1
        hosts = PyTuple_New(count)
        for i in range(count):
            host = <object> PyTuple_GET_ITEM_REF(self._hosts, row[i])
            Py_INCREF(host)
            PyTuple_SET_ITEM(hosts, i, host)
        return hosts

    def row(self, position):
        """Return the numbers of the hosts that `at` returns."""
        cdef const uint16_t* row
        cdef Py_ssize_t i
        if position < 0:
            raise IndexError(f"there is no place {position} on a ring")
        row = self._row(position)
        if row == NULL:
            return ()
        return tuple([row[i] for i in range(self._width) if row[i] != NOBODY])

    def of_token(self, token):
        """Return the hosts that hold the partitions with this token."""
        if self._own is not None:
            return self._at(self._own._position(token))
        return self._at(self._ring.position(token))

    def of_key(self, key):
        """Return the hosts that hold the partition with this serialized key."""
        return self._at(self._place_of(key))

    def position_of(self, key):
        """Return the position on the ring that a serialized key belongs to."""
        return self._place_of(key)

    def hosts(self):
        """Return all hosts; the number of a host is its index."""
        return self._hosts

    def sets(self):
        """Return the number of different sets of replicas."""
        return self._set_count


cdef enum:
    MOST_PLACES = 0x7FFFFFFF


cdef class _Rows:
    """Rows of replicas during construction; equal rows are stored once."""

    cdef Py_ssize_t width
    cdef Py_ssize_t row_count
    cdef Py_ssize_t count
    cdef Py_ssize_t _capacity
    cdef Py_ssize_t _slots
    cdef uint16_t* sets
    cdef uint32_t* set_at
    cdef uint32_t* _table  # 0 for a free slot, else the set's number plus 1

    def __cinit__(self, Py_ssize_t row_count, Py_ssize_t width):
        if not 0 <= row_count <= MOST_PLACES or not 0 <= width <= NOBODY:
            raise ValueError(f"{row_count} rows of {width} replicas")
        self.row_count = row_count
        self.width = width
        self._capacity = 64
        self._slots = 256
        self.sets = <uint16_t*> malloc(max(self._capacity * width, 1) * sizeof(uint16_t))
        self.set_at = <uint32_t*> calloc(max(row_count, 1), sizeof(uint32_t))
        self._table = <uint32_t*> calloc(self._slots, sizeof(uint32_t))
        if self.sets == NULL or self.set_at == NULL or self._table == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.sets)
        free(self.set_at)
        free(self._table)

    cdef uint16_t* start(self) except? NULL:
        """Fill the memory of the next row with NOBODY and return it."""
        cdef uint16_t* grown
        if self.count == self._capacity:
            grown = <uint16_t*> realloc(
                self.sets, max(2 * self._capacity * self.width, 1) * sizeof(uint16_t)
            )
            if grown == NULL:
                raise MemoryError
            self.sets = grown
            self._capacity *= 2
        memset(self.sets + self.count * self.width, 0xFF, self.width * sizeof(uint16_t))
        return self.sets + self.count * self.width

    cdef int keep(self, Py_ssize_t position) except -1:
        """Store the row that `start` returned, and that the caller has filled, for `position`."""
        cdef Py_ssize_t size = self.width * sizeof(uint16_t)
        cdef const uint16_t* row = self.sets + self.count * self.width
        cdef const uint16_t* existing
        cdef Py_ssize_t slot = self._hash(row) & (self._slots - 1)
        while self._table[slot]:
            existing = self.sets + <Py_ssize_t> (self._table[slot] - 1) * self.width
            if memcmp(existing, row, size) == 0:
                self.set_at[position] = self._table[slot] - 1
                return 0
            slot = (slot + 1) & (self._slots - 1)
        self._table[slot] = <uint32_t> (self.count + 1)
        self.set_at[position] = <uint32_t> self.count
        self.count += 1
        if self.count * 2 > self._slots:
            self._grow_table()
        return 0

    cdef int _grow_table(self) except -1:
        cdef Py_ssize_t slot
        cdef Py_ssize_t i
        cdef uint32_t* grown = <uint32_t*> calloc(self._slots * 4, sizeof(uint32_t))
        if grown == NULL:
            raise MemoryError
        free(self._table)
        self._table = grown
        self._slots *= 4
        for i in range(self.count):
            slot = self._hash(self.sets + i * self.width) & (self._slots - 1)
            while self._table[slot]:
                slot = (slot + 1) & (self._slots - 1)
            self._table[slot] = <uint32_t> (i + 1)
        return 0

    cdef inline uint64_t _hash(self, const uint16_t* row) noexcept nogil:
        cdef uint64_t h = 0x9E3779B97F4A7C15
        cdef Py_ssize_t i
        for i in range(self.width):
            h = (h ^ row[i]) * <uint64_t> 0x100000001B3
            h ^= h >> 29
        return h


cdef class _Walk:
    """The owners of a ring's tokens, in the order in which a walk along the ring passes them."""

    cdef Py_ssize_t size
    cdef Py_ssize_t hosts
    cdef uint16_t* owners
    cdef Py_ssize_t distinct

    def __cinit__(self, ring, Py_ssize_t hosts):
        cdef Py_ssize_t i
        _check_count(hosts)
        listed = tuple(map(_index, ring.owners()))
        self.hosts = hosts
        self.size = len(listed)
        self.owners = <uint16_t*> malloc(max(self.size, 1) * sizeof(uint16_t))
        if self.owners == NULL:
            raise MemoryError
        for i in range(self.size):
            if not 0 <= listed[i] < hosts:
                raise IndexError(f"there is no host {listed[i]}")
            self.owners[i] = listed[i]
        self.distinct = len(set(listed))

    def __dealloc__(self):
        free(self.owners)


cdef ReplicaMap _replica_map(ring, tuple hosts, _Rows rows):
    cdef ReplicaMap replica_map = ReplicaMap.__new__(ReplicaMap)
    replica_map._take(ring, hosts, rows)
    return replica_map


def simple_map(ring, hosts, full, total):
    """Return the map of SimpleStrategy: `total` replicas; the first `full` are not transient."""
    hosts = tuple(hosts)
    cdef _Walk walk = _Walk(ring, len(hosts))
    cdef Py_ssize_t replica_count = max(min(full, total, walk.distinct), 0)
    cdef _Rows rows = _Rows(walk.size, replica_count)
    cdef uint16_t* row
    cdef uint16_t owner
    cdef Py_ssize_t position
    cdef Py_ssize_t step
    cdef Py_ssize_t i
    cdef Py_ssize_t count
    for position in range(walk.size):
        row = rows.start()
        count = 0
        step = position
        while count < replica_count:
            owner = walk.owners[step]
            for i in range(count):
                if row[i] == owner:
                    break
            else:
                row[count] = owner
                count += 1
            step = step + 1 if step + 1 < walk.size else 0
        rows.keep(position)
    return _replica_map(ring, hosts, rows)


cdef struct Factor:
    int32_t left  # replicas that the walk must still find
    int32_t repeats  # how many of these may be in a rack that already has a replica
    int32_t transient  # the number of transient replicas, which are the last ones
    int32_t replica_count
    int32_t racks_short  # the number of replicas minus the number of racks


cdef class _Topology:
    """Data centre and rack of each host, and how many replicas each data centre wants."""

    cdef int32_t* datacenter
    cdef int32_t* rack
    # For each rack and each host, the start position plus 1 of the last walk that chose a replica
    # there.
    cdef int32_t* met
    cdef int32_t* met_host
    cdef Factor* factors
    cdef Py_ssize_t count
    cdef Py_ssize_t width

    def __cinit__(self, _Walk walk, datacenters, racks, factors):
        cdef Py_ssize_t hosts = len(datacenters)
        cdef Py_ssize_t i
        if len(racks) != hosts:
            raise ValueError(f"{hosts} hosts have data centres, but {len(racks)} have racks")
        # Convert to numbers once: the caller's objects may return other numbers the second time.
        datacenters = tuple(map(_index, datacenters))
        racks = tuple(map(_index, racks))
        factors = tuple([(full, total) for full, total in factors])
        if len(datacenters) != hosts or len(racks) != hosts or walk.hosts != hosts:
            raise ValueError(f"{walk.hosts} hosts, of which {hosts} have data centres")
        self.count = len(factors)
        self.datacenter = <int32_t*> malloc(max(hosts, 1) * sizeof(int32_t))
        self.rack = <int32_t*> malloc(max(hosts, 1) * sizeof(int32_t))
        self.met = <int32_t*> calloc(max(max(racks, default=0) + 1, 1), sizeof(int32_t))
        self.met_host = <int32_t*> calloc(max(hosts, 1), sizeof(int32_t))
        self.factors = <Factor*> calloc(max(self.count, 1), sizeof(Factor))
        if NULL in (self.datacenter, self.rack, self.met, self.met_host, self.factors):
            raise MemoryError
        for i in range(hosts):
            if racks[i] < 0:
                raise ValueError(f"a rack has the number {racks[i]}")
            self.datacenter[i] = datacenters[i] if 0 <= datacenters[i] < self.count else -1
            self.rack[i] = racks[i]
        self._count_replicas(walk, factors)

    cdef int _count_replicas(self, _Walk walk, factors) except -1:
        cdef Py_ssize_t i
        cdef Py_ssize_t dc
        here = [set() for _ in range(self.count)]
        racks_here = [set() for _ in range(self.count)]
        for host in {walk.owners[i] for i in range(walk.size)}:
            dc = self.datacenter[<Py_ssize_t> host]
            if dc >= 0:
                here[dc].add(host)
                racks_here[dc].add(self.rack[<Py_ssize_t> host])
        for dc, (full, total) in enumerate(factors):
            replica_count = max(min(total, len(here[dc])), 0)
            self.factors[dc].replica_count = replica_count
            self.factors[dc].racks_short = total - len(racks_here[dc])
            # If there are fewer hosts than replicas, transient replicas are left out first.
            self.factors[dc].transient = max(total - full - (total - replica_count), 0)
            self.width += max(self.factors[dc].replica_count - self.factors[dc].transient, 0)
        return 0

    def __dealloc__(self):
        free(self.datacenter)
        free(self.rack)
        free(self.met)
        free(self.met_host)
        free(self.factors)


cdef void _walk_from(
    _Walk walk, _Topology topology, Py_ssize_t position, uint16_t* row
) noexcept nogil:
    """Find the replicas of the token at `position` in the same way as the server."""
    cdef Py_ssize_t step = position
    cdef Py_ssize_t dc
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t open_datacenters = 0
    cdef int32_t mark = <int32_t> (position + 1)
    cdef uint16_t host
    cdef Factor* factor
    for dc in range(topology.count):
        factor = &topology.factors[dc]
        factor.left = factor.replica_count
        factor.repeats = factor.racks_short
        if factor.left > 0:
            open_datacenters += 1
    while open_datacenters > 0:
        host = walk.owners[step]
        step = step + 1 if step + 1 < walk.size else 0
        dc = topology.datacenter[host]
        if dc < 0:
            continue
        factor = &topology.factors[dc]
        if factor.left == 0 or topology.met_host[host] == mark:
            continue
        if topology.met[topology.rack[host]] == mark:
            if factor.repeats <= 0:
                continue
            factor.repeats -= 1
        topology.met[topology.rack[host]] = mark
        topology.met_host[host] = mark
        if factor.left > factor.transient:
            row[count] = host
            count += 1
        factor.left -= 1
        if factor.left == 0:
            open_datacenters -= 1


def network_map(ring, hosts, datacenters, racks, factors):
    """Return the map of NetworkTopologyStrategy.

    :param datacenters: for each host, the number of its data centre.
    :param racks: for each host, the number of its rack. Racks of different data centres have
        different numbers.
    :param factors: for each data centre (full replicas, all replicas); (0, 0) for a data centre
        without replicas.
    """
    hosts = tuple(hosts)
    datacenters = tuple(map(_index, datacenters))
    racks = tuple(map(_index, racks))
    if len(datacenters) != len(hosts):
        raise ValueError(f"{len(hosts)} hosts, of which {len(datacenters)} have data centres")
    cdef _Walk walk = _Walk(ring, len(hosts))
    cdef _Topology topology = _Topology(walk, datacenters, racks, tuple(factors))
    cdef _Rows rows = _Rows(walk.size, topology.width)
    cdef uint16_t* row
    cdef Py_ssize_t position
    if walk.size >= 0x7FFFFFFF:
        raise ValueError(f"a ring of {walk.size} tokens is too large")
    for position in range(walk.size):
        row = rows.start()
        _walk_from(walk, topology, position, row)
        rows.keep(position)
    return _replica_map(ring, hosts, rows)


def whole_map(ring, hosts):
    """Return the map of EverywhereStrategy: every host that owns a token holds everything."""
    row = tuple(sorted(set(ring.owners())))
    return ReplicaMap(ring, hosts, [row] if row else [])


__all__ = [
    "ReplicaMap",
    "TokenRing",
    "network_map",
    "simple_map",
    "token_of",
    "whole_map",
]
