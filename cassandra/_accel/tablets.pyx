"""ScyllaDB's tablets: the compiled twin of `cassandra.metadata.placement.tablets`.

The tablets of a table are stored in chunks of up to 256, as arrays of numbers. A tablet with three
replicas takes about 40 bytes. Chunks and the tuple of chunks never change: to add a tablet, we
create one or two new chunks and a new tuple.
"""

cimport cython

from cpython.bytes cimport (
    PyBytes_AS_STRING,
    PyBytes_Check,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
)
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from cassandra._accel.bind cimport ValuesBlock
from cassandra._accel.checks cimport bytes_of, unpicklable
from cassandra._accel.fields cimport BoundBase, PreparedBase, value_of, with_fields
from cassandra._accel.ring cimport NOBODY, token_at
from cassandra._accel.threads cimport add, load, store
from cassandra._accel.wbuf cimport get_be32, get_be64

import uuid as _uuid

from cassandra.query.bound import BoundStatement as _BoundStatementClass
from cassandra.query.prepared import PreparedStatement as _PreparedStatementClass

__all__ = ["TabletMap", "split_payload", "token_of_statement", "version_block"]

cdef enum:
    FULL = 256           # tablets in a chunk
    MOST_HOSTS = 0xFFFF
    MOST_TABLETS = 1 << 30

cdef object _UUID = _uuid.UUID
cdef type _BoundStatement = with_fields(_BoundStatementClass, BoundBase)
cdef type _PreparedStatement = with_fields(_PreparedStatementClass, PreparedBase)


cdef class Chunk:
    """Some tablets of a table, in the order of their tokens."""

    def __cinit__(self, Py_ssize_t size, Py_ssize_t width):
        cdef Py_ssize_t cell_count
        if not 0 < size <= MOST_TABLETS or not 0 <= width <= MOST_REPLICAS:
            raise ValueError(f"{size} tablets with {width} replicas")
        cell_count = max(size * width, 1)
        self.firsts = <int64_t*> malloc(max(size, 1) * sizeof(int64_t))
        self.lasts = <int64_t*> malloc(max(size, 1) * sizeof(int64_t))
        self.versions = <uint64_t*> malloc(max(size, 1) * sizeof(uint64_t))
        self.hosts = <uint16_t*> malloc(cell_count * sizeof(uint16_t))
        self.shards = <uint16_t*> malloc(cell_count * sizeof(uint16_t))
        if self.firsts == NULL or self.lasts == NULL or self.versions == NULL:
            raise MemoryError
        if self.hosts == NULL or self.shards == NULL:
            raise MemoryError
        self.size = size
        self.width = width

    def __dealloc__(self):
        free(self.firsts)
        free(self.lasts)
        free(self.versions)
        free(self.hosts)
        free(self.shards)

    cdef Py_ssize_t _find(self, int64_t token) noexcept nogil:
        """Return the index of the tablet with `token`; -1 if there is no such tablet."""
        cdef Py_ssize_t low = 0
        cdef Py_ssize_t count = self.size
        cdef Py_ssize_t half
        while count > 0:
            half = count >> 1
            if self.lasts[low + half] < token:
                low += half + 1
                count -= half + 1
            else:
                count = half
        return low if low < self.size and self.firsts[low] < token else -1

    cdef Py_ssize_t _first_after(self, int64_t token) noexcept:
        """Return the index of the first tablet whose last token is greater than `token`."""
        cdef Py_ssize_t low = 0
        cdef Py_ssize_t count = self.size
        cdef Py_ssize_t half
        while count > 0:
            half = count >> 1
            if self.lasts[low + half] <= token:
                low += half + 1
                count -= half + 1
            else:
                count = half
        return low

    cdef void _take(self, Py_ssize_t to, Chunk other, Py_ssize_t start, Py_ssize_t count) noexcept:
        """Copy `count` tablets of `other` from index `start` to index `to`; `other` is not wider.
        """
        cdef Py_ssize_t i
        cdef Py_ssize_t row
        cdef size_t size
        memcpy(self.firsts + to, other.firsts + start, count * sizeof(int64_t))
        memcpy(self.lasts + to, other.lasts + start, count * sizeof(int64_t))
        memcpy(self.versions + to, other.versions + start, count * sizeof(uint64_t))
        if self.width == other.width:
            size = count * self.width * sizeof(uint16_t)
            memcpy(self.hosts + to * self.width, other.hosts + start * self.width, size)
            memcpy(self.shards + to * self.width, other.shards + start * self.width, size)
            return
        for row in range(count):
            for i in range(self.width):
                self.hosts[(to + row) * self.width + i] = (
                    other.hosts[(start + row) * other.width + i] if i < other.width else NOBODY
                )
                self.shards[(to + row) * self.width + i] = (
                    other.shards[(start + row) * other.width + i] if i < other.width else 0
                )

    cdef void _put(self, Py_ssize_t index, const TabletFields* tablet) noexcept:
        cdef Py_ssize_t i
        self.firsts[index] = tablet.first
        self.lasts[index] = tablet.last
        self.versions[index] = tablet.version
        for i in range(self.width):
            self.hosts[index * self.width + i] = tablet.hosts[i] if i < tablet.width else NOBODY
            self.shards[index * self.width + i] = tablet.shards[i] if i < tablet.width else 0

    cdef tuple _numbers(self, Py_ssize_t index):
        cdef Py_ssize_t i
        cdef const uint16_t* row = self.hosts + index * self.width
        return tuple([row[i] for i in range(self.width) if row[i] != NOBODY])


cdef class Table:
    """The tablets of one table."""

    def __cinit__(self, tuple chunks):
        cdef Py_ssize_t index
        cdef Chunk chunk
        self.chunks = chunks
        self.lasts = <int64_t*> malloc(max(PyTuple_GET_SIZE(chunks), 1) * sizeof(int64_t))
        if self.lasts == NULL:
            raise MemoryError
        for index in range(PyTuple_GET_SIZE(chunks)):
            chunk = <Chunk?> chunks[index]
            self.lasts[index] = chunk.lasts[chunk.size - 1]
            self.count += chunk.size

    def __dealloc__(self):
        free(self.lasts)

    cdef Py_ssize_t _place(self, int64_t token) noexcept:
        """Return the index of the first chunk whose last token is not less than `token`."""
        cdef Py_ssize_t low = 0
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.chunks)
        cdef Py_ssize_t half
        while count > 0:
            half = count >> 1
            if self.lasts[low + half] < token:
                low += half + 1
                count -= half + 1
            else:
                count = half
        return low

    cdef Chunk _chunk_of(self, int64_t token):
        cdef Py_ssize_t index = self._place(token)
        if index == PyTuple_GET_SIZE(self.chunks):
            return None
        # `__cinit__` checked that each item is a Chunk.
        return <Chunk> <object> PyTuple_GET_ITEM(self.chunks, index)

    cdef Table _with_tablet(self, const TabletFields* tablet):
        """Return a table with this tablet instead of all tablets that overlap it."""
        cdef Py_ssize_t start = self._place(tablet.first)
        cdef Py_ssize_t end = start
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.chunks)
        cdef Py_ssize_t size = 1
        cdef Py_ssize_t width = tablet.width
        cdef Py_ssize_t written = 0
        cdef Py_ssize_t i
        cdef Py_ssize_t index
        cdef bint put = False
        cdef Chunk chunk
        cdef Chunk joined
        # If `tablet` comes after all chunks, it goes into the last chunk.
        if start == count and start > 0:
            start -= 1
        while end < count:
            chunk = <Chunk> <object> PyTuple_GET_ITEM(self.chunks, end)
            if end > start and chunk.firsts[0] >= tablet.last:
                break
            end += 1
        for i in range(start, end):
            chunk = <Chunk> <object> PyTuple_GET_ITEM(self.chunks, i)
            size += chunk.size
            width = max(width, chunk.width)
        joined = Chunk(size, width)
        for i in range(start, end):
            chunk = <Chunk> <object> PyTuple_GET_ITEM(self.chunks, i)
            index = chunk._first_after(tablet.first)
            joined._take(written, chunk, 0, index)
            written += index
            while index < chunk.size and chunk.firsts[index] < tablet.last:
                index += 1  # this tablet overlaps
            if not put and (index < chunk.size or i == end - 1):
                joined._put(written, tablet)
                put = True
                written += 1
            joined._take(written, chunk, index, chunk.size - index)
            written += chunk.size - index
        if not put:
            joined._put(written, tablet)
            written += 1
        joined.size = written
        return Table(self.chunks[:start] + _split(joined) + self.chunks[end:])

    cdef Table _without(self, set gone):
        """Return the table without tablets that have a replica on a host of `gone`.

        `gone` has numbers of hosts. Returns None if no tablets remain.
        """
        cdef Chunk chunk
        cdef Chunk remaining
        cdef Py_ssize_t index
        cdef Py_ssize_t size
        cdef list chunks = []
        for item in self.chunks:
            chunk = <Chunk?> item
            remaining = Chunk(chunk.size, chunk.width)
            size = 0
            for index in range(chunk.size):
                if gone.isdisjoint(chunk._numbers(index)):
                    remaining._take(size, chunk, index, 1)
                    size += 1
            remaining.size = size
            if size == chunk.size:
                chunks.append(chunk)
            elif size:
                chunks.extend(_split(remaining))
        return Table(tuple(chunks)) if chunks else None


cdef tuple _split(Chunk joined):
    """Split a chunk into chunks of at most `FULL` tablets."""
    cdef Py_ssize_t parts = (joined.size + FULL - 1) // FULL
    cdef Py_ssize_t part
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t end
    cdef Chunk chunk
    cdef list chunks = []
    if parts == 1:
        return (joined,)
    for part in range(parts):
        end = joined.size * (part + 1) // parts
        chunk = Chunk(end - start, joined.width)
        chunk._take(0, joined, start, end - start)
        chunks.append(chunk)
        start = end
    return tuple(chunks)


cdef class TabletMap:
    """The known tablets, by keyspace and table (see the Python twin).

    Any thread may change the map, in a critical section. Chunks and tables never change once they
    are in the map, so other threads can go on reading objects that were replaced.
    """

    def __cinit__(self, *arguments, **named):
        self.hosts = ()
        self._host_ids = []
        self._numbers = {}
        self._known = {}
        self._tables = {}
        self._with_tablets = frozenset()
        self._leaders = frozenset()

    def __init__(self, limit=1_000_000):
        if limit < 1:
            raise ValueError(f"a map of tablets has room for one at least, not for {limit}")
        self.limit = limit

    def __reduce__(self):
        raise unpicklable(self)

    # -- look-ups ----------------------------------------------------------------------------------

    def use_keyspaces(self, with_tablets, leaders):
        """Set the keyspaces whose tables have tablets; return True if they have changed.

        :param leaders: the keyspaces in which the first replica of a tablet is its leader.
        """
        named, led = frozenset(with_tablets), frozenset(leaders)
        with cython.critical_section(self):
            previous = self._with_tablets, self._leaders
            self._with_tablets, self._leaders = named, led
            self._note_use()
        return previous != (named, led)

    def has_keyspace(self, keyspace):
        """Return True if the ring does not place the partitions of a keyspace."""
        return self._has_keyspace(keyspace)

    cdef bint _is_used(self) except -1:
        return load(&self._in_use) != 0

    cdef int _note_use(self) except -1:
        store(&self._in_use, len(self._with_tablets) > 0 or len(self._tables) > 0)
        return 0

    cdef bint _has_keyspace(self, keyspace) except -1:
        if not self._is_used():
            return False
        with cython.critical_section(self):
            return keyspace in self._with_tablets or keyspace in self._tables

    def has_leaders(self, keyspace):
        """Return True if the first replica of a tablet of this keyspace is its leader."""
        return self._has_leaders(keyspace)

    cdef bint _has_leaders(self, keyspace) except -1:
        with cython.critical_section(self):
            return keyspace in self._leaders

    cdef tuple _hosts_now(self):
        with cython.critical_section(self):
            return self.hosts

    def find(self, keyspace, table, token):
        """Return (first token, last token, replicas, version) of a token's tablet, or None.

        The first token is not part of the range. Replicas are pairs of host id and shard.
        """
        cdef Py_ssize_t index = 0
        cdef Py_ssize_t i
        cdef Chunk chunk = self._row(keyspace, table, token, &index)
        if chunk is None:
            return None
        replicas = tuple([
            (self._host_ids[chunk.hosts[i]], chunk.shards[i])
            for i in range(index * chunk.width, (index + 1) * chunk.width)
            if chunk.hosts[i] != NOBODY
        ])
        return chunk.firsts[index], chunk.lasts[index], replicas, chunk.versions[index]

    cdef Chunk _row(self, keyspace, table, int64_t token, Py_ssize_t* index):
        """Return the chunk with the tablet of `token`; None if the tablet is not known.

        `index` becomes the tablet's index in the chunk.
        """
        cdef Chunk chunk
        if keyspace is None or table is None:
            return None
        with cython.critical_section(self):
            tables = self._tables.get(keyspace)
            entry = (<dict?> tables).get(table) if tables is not None else None
        if entry is None:
            return None
        chunk = (<Table?> entry)._chunk_of(token)
        if chunk is None:
            return None
        index[0] = chunk._find(token)
        return chunk if index[0] >= 0 else None

    def numbers(self, keyspace, table, token):
        """Return the numbers in `hosts` of a token's replicas, in the server's order, or None."""
        cdef Py_ssize_t index = 0
        cdef Chunk chunk = self._row(keyspace, table, token, &index)
        return chunk._numbers(index) if chunk is not None else None

    def replicas(self, keyspace, table, key):
        """Return the hosts with a replica of a serialized partition key, or None.

        Hosts that are not known are left out.
        """
        cdef bytes key_bytes = bytes_of(key)
        cdef Py_ssize_t index = 0
        cdef Chunk chunk = self._row(
            keyspace,
            table,
            token_at(<const uint8_t*> PyBytes_AS_STRING(key_bytes), PyBytes_GET_SIZE(key_bytes)),
            &index,
        )
        if chunk is None:
            return None
        hosts = self._hosts_now()
        named = [hosts[number] for number in chunk._numbers(index)]
        return tuple([host for host in named if host is not None])

    def shard_on(self, host, keyspace, table, token):
        """Return the shard of `host` that has a token's replica, or None if none is known."""
        cdef Py_ssize_t index = 0
        cdef Py_ssize_t shard
        cdef Chunk chunk = self._row(keyspace, table, token, &index)
        if chunk is None:
            return None
        shard = self._shard_on(chunk, index, host)
        return shard if shard >= 0 else None

    cdef Py_ssize_t _shard_on(self, Chunk chunk, Py_ssize_t index, host) except -2:
        """Return the shard of `host` that has a replica of this tablet; -1 if none is known."""
        cdef Py_ssize_t i
        cdef Py_ssize_t number
        cdef tuple hosts = self._hosts_now()
        for i in range(index * chunk.width, (index + 1) * chunk.width):
            number = chunk.hosts[i]
            if number == NOBODY or number >= PyTuple_GET_SIZE(hosts):
                break
            if <object> PyTuple_GET_ITEM(hosts, number) is host:
                return chunk.shards[i]
        return -1

    def version_of(self, keyspace, table, token):
        """Return the version of a token's tablet, or None if it is not known."""
        cdef Py_ssize_t index = 0
        cdef Chunk chunk = self._row(keyspace, table, token, &index)
        return chunk.versions[index] if chunk is not None else None

    def next_block(self, keyspace, table, token):
        """Return the last byte of an EXECUTE, which has a part of the tablet version we know.

        Each call returns another part of the version, so that the server gets all of it over time.
        """
        cdef Py_ssize_t index = 0
        cdef Chunk chunk = self._row(keyspace, table, token, &index) if token is not None else None
        return self._next_block(chunk, index)

    cdef int _next_block(self, Chunk chunk, Py_ssize_t index) noexcept:
        # Each call returns four bits of the version. Two threads may get the same bits at the same
        # time; later calls return the other bits.
        cdef int turn = (load(&self._turn) + 1) & 15
        store(&self._turn, turn)
        if chunk is None:
            return turn << 4
        return turn << 4 | (<int> (chunk.versions[index] >> (4 * turn)) & 0xF)

    def tally(self, keyspace, table, token):
        """Count a request for a table with tablets: a hit if the tablet is known, else a miss."""
        cdef Py_ssize_t index = 0
        if self._has_keyspace(keyspace):
            if self._row(keyspace, table, token, &index) is not None:
                add(&self.hits, 1)
            else:
                add(&self.misses, 1)

    def tables(self):
        """Return (keyspace, table, number of known tablets) for each table with known tablets."""
        return [
            (keyspace, name, (<Table?> table).count)
            for keyspace, tables in list(self._tables.items())
            for name, table in list(tables.items())
        ]

    # -- updates by the servers --------------------------------------------------------------------

    def learn(self, keyspace, table, payload):
        """Store a tablet that a server reported; return False if the payload cannot be used.

        :param payload: the value of ``tablets-routing-v1`` or ``tablets-routing-v2``.
        """
        if payload is None:
            return False
        return self._learn(keyspace, table, bytes_of(payload))

    cdef bint _learn(self, keyspace, table, bytes payload) except -1:
        cdef TabletFields tablet
        cdef Table existing
        cdef Table updated
        if not keyspace or not table or not self._parse(payload, &tablet):
            return False
        with cython.critical_section(self):
            tables = self._tables.get(keyspace)
            if tables is None:
                tables = self._tables[keyspace] = {}
                self._note_use()
            existing = (<dict?> tables).get(table)
            updated = (existing if existing is not None else Table(()))._with_tablet(&tablet)
            self.count += updated.count - (existing.count if existing is not None else 0)
            tables[table] = updated
            if self.count > self.limit:
                self._make_room(keyspace, table)
        return True

    cdef bint _parse(self, bytes payload, TabletFields* tablet) except -1:
        """Read a CQL tuple: first token, last token, list of (host id, shard), and maybe a version.

        Returns False if the payload is malformed.
        """
        cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(payload)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(payload)
        cdef Py_ssize_t listed
        cdef Py_ssize_t i
        cdef const uint8_t* pair
        cdef int32_t shard
        if size < 32 or <int32_t> get_be32(p) != 8 or <int32_t> get_be32(p + 12) != 8:
            return False
        tablet.first = <int64_t> get_be64(p + 4)
        tablet.last = <int64_t> get_be64(p + 16)
        listed = <int32_t> get_be32(p + 24)
        if listed < 4 or listed > size - 28 or tablet.first >= tablet.last:
            return False
        tablet.width = <int32_t> get_be32(p + 28)
        # Each pair takes 32 bytes: its length, and two values, each after its length.
        if tablet.width < 0 or tablet.width > MOST_REPLICAS or listed != 4 + 32 * tablet.width:
            return False
        tablet.version = 0
        if size == 28 + listed + 12 and <int32_t> get_be32(p + 28 + listed) == 8:
            tablet.version = get_be64(p + 28 + listed + 4)
        elif size != 28 + listed:
            return False
        for i in range(tablet.width):
            pair = p + 32 + 32 * i
            shard = <int32_t> get_be32(pair + 28)
            if (
                <int32_t> get_be32(pair) != 28
                or <int32_t> get_be32(pair + 4) != 16
                or <int32_t> get_be32(pair + 24) != 4
            ):
                return False
            if shard < 0 or shard >= 0xFFFF:
                return False
            tablet.shards[i] = <uint16_t> shard
        # Host ids are read in a second pass, so that a malformed payload adds no hosts.
        for i in range(tablet.width):
            host_id = PyBytes_FromStringAndSize(<const char*> p + 32 + 32 * i + 8, 16)
            number = self._number_of(host_id)
            if number is None:
                return False
            tablet.hosts[i] = number
        return True

    cdef object _number_of(self, bytes host_id):
        """Return the number of a host, which may be new; None if there are too many hosts."""
        # Look up the host by its bytes, because creating a UUID takes longer than all other steps.
        number = self._numbers.get(host_id)
        if number is not None:
            return number
        # Create the UUID before the critical section, which Python code would interrupt.
        uuid = _UUID(bytes=host_id)
        with cython.critical_section(self):
            number = self._numbers.get(host_id)
            if number is None and len(self._host_ids) < MOST_HOSTS:
                # Set the number last: a thread that finds it must also find the id and the host.
                self._host_ids.append(uuid)
                self.hosts = self.hosts + (self._known.get(host_id),)
                number = self._numbers[host_id] = len(self._host_ids) - 1
        return number

    cdef int _make_room(self, keyspace, table) except -1:
        """Forget the tablets of the first other table, or all but the last tablet of this table."""
        cdef Table source
        cdef Chunk chunk
        cdef Chunk remaining
        for other in list(self._tables):
            for name in list(self._tables[other]):
                if (other, name) != (keyspace, table):
                    self._drop(other, name)
                    return 0
        source = <Table?> self._tables[keyspace][table]
        chunk = <Chunk?> source.chunks[PyTuple_GET_SIZE(source.chunks) - 1]
        remaining = Chunk(1, chunk.width)
        remaining._take(0, chunk, chunk.size - 1, 1)
        self._tables[keyspace][table] = Table((remaining,))
        self.count = 1
        return 0

    # -- removal -----------------------------------------------------------------------------------

    def take_hosts(self, hosts):
        """Set the hosts of the cluster, and forget tablets with a replica on any other host.

        A node that replaces another node has a new id, so the tablets of the old node are dropped.
        """
        by_id = {host.host_id: host for host in hosts}
        by_bytes = {host_id.bytes: host for host_id, host in by_id.items() if host_id is not None}
        with cython.critical_section(self):
            self._known = by_bytes
            host_ids = list(self._host_ids)
        gone = {number for number, known_id in enumerate(host_ids) if known_id not in by_id}
        new = tuple([by_id.get(known_id) for known_id in host_ids])
        with cython.critical_section(self):
            # Hosts that were added in the meantime were looked up in the new `_known`.
            new += self.hosts[len(new):]
            # A refresh usually finds the same nodes. If the tuple stays the same, planners keep
            # their router.
            if any([host is not former for host, former in zip(new, self.hosts, strict=True)]):
                self.hosts = new
            if gone:
                self._forget(gone)

    cdef int _forget(self, set gone) except -1:
        # The caller is in a critical section; so are callers of `_drop`, `_remove`, `_make_room`.
        cdef Table table
        cdef Table remaining
        for keyspace, tables in list(self._tables.items()):
            for name, entry in list(tables.items()):
                table = <Table?> entry
                remaining = table._without(gone)
                if remaining is None:
                    self.count -= table.count
                    self._remove(keyspace, name)
                elif remaining.count < table.count:
                    self.count -= table.count - remaining.count
                    tables[name] = remaining
        return 0

    def drop(self, keyspace, table=None):
        """Forget the tablets of a table, or of all tables of a keyspace."""
        with cython.critical_section(self):
            self._drop(keyspace, table)

    cdef int _drop(self, keyspace, table) except -1:
        for name, entry in list(self._tables.get(keyspace, {}).items()):
            if table is None or table == name:
                self.count -= (<Table?> entry).count
                self._remove(keyspace, name)
        return 0

    cdef int _remove(self, keyspace, table) except -1:
        tables = self._tables[keyspace]
        del tables[table]
        if not tables:
            del self._tables[keyspace]
            self._note_use()
        return 0

    def clear(self):
        """Forget all tablets."""
        with cython.critical_section(self):
            self._tables = {}
            self.count = 0
            self._note_use()


cdef inline object _indexes_of(prepared):
    if type(prepared) is _PreparedStatement:
        return value_of(
            &(<PreparedBase> prepared).routing_key_indexes, prepared, "routing_key_indexes"
        )
    return prepared.routing_key_indexes


cdef int token_in(statement, int64_t* token) except -1:
    cdef ValuesBlock block
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t pos
    if (
        type(statement) is _BoundStatement
        and value_of(&(<BoundBase> statement)._routing_key, statement, "_routing_key") is None
    ):
        prepared = value_of(
            &(<BoundBase> statement).prepared_statement, statement, "prepared_statement"
        )
        indexes = _indexes_of(prepared)
        if not indexes:
            return 0
        values = value_of(&(<BoundBase> statement).block, statement, "block")
        if len(indexes) == 1 and type(values) is ValuesBlock:
            block = <ValuesBlock> values
            pos = block._find(indexes[0], &size)
            if size >= 0:
                token[0] = token_at(<const uint8_t*> PyBytes_AS_STRING(block.data) + pos, size)
                return 1
    key = getattr(statement, "routing_key", None)
    if not PyBytes_Check(key):
        return 0
    token[0] = token_at(<const uint8_t*> PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    return 1


def token_of_statement(statement):
    """Return the token of a statement's partition key, or None if it is not known."""
    cdef int64_t token = 0
    return token if token_in(statement, &token) else None


def version_block(version, index):
    """Return the byte that tells a server a part of the tablet version that the client knows.

    :param version: the tablet's version, or None if the tablet is not known.
    :param index: selects four bits of the version: 0 to 15, from the least significant bits.
    """
    return index << 4 | (version >> 4 * index & 0xF if version is not None else 0)


cdef Py_ssize_t payload_end(bytes body) noexcept:
    cdef const char* p = PyBytes_AS_STRING(body)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    cdef Py_ssize_t value
    if size < 26 or memcmp(p, b"\0\1\0\x12tablets-routing-v", 21) != 0:
        return 0
    if p[21] != c"1" and p[21] != c"2":
        return 0
    value = <int32_t> get_be32(<const uint8_t*> p + 22)
    return 26 + value if 0 <= value <= size - 26 else 0


def split_payload(body):
    """Split a body that begins with a custom payload that has one tablet and nothing else.

    :returns: the payload's value and the rest of the body; None for any other body.
    """
    cdef Py_ssize_t end = payload_end(<bytes?> body)
    return (body[26:end], body[end:]) if end else None
