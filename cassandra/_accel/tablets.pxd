# The interface of tablets for the other compiled modules.

from libc.stdint cimport int64_t, uint16_t, uint64_t

cdef enum:
    MOST_REPLICAS = 64

cdef struct TabletFields:
    int64_t first
    int64_t last
    uint64_t version
    Py_ssize_t width
    uint16_t hosts[MOST_REPLICAS]
    uint16_t shards[MOST_REPLICAS]


cdef class Chunk:
    cdef Py_ssize_t size
    cdef Py_ssize_t width            # the number of items in each row of `hosts` and `shards`
    cdef int64_t* firsts
    cdef int64_t* lasts
    cdef uint64_t* versions
    cdef uint16_t* hosts             # a row for each tablet; NOBODY fills a shorter row
    cdef uint16_t* shards

    cdef Py_ssize_t _find(self, int64_t token) noexcept nogil
    cdef Py_ssize_t _first_after(self, int64_t token) noexcept
    cdef void _take(self, Py_ssize_t to, Chunk other, Py_ssize_t start, Py_ssize_t count) noexcept
    cdef void _put(self, Py_ssize_t index, const TabletFields* tablet) noexcept
    cdef tuple _numbers(self, Py_ssize_t index)


cdef class Table:
    cdef tuple chunks
    cdef int64_t* lasts              # the last token of each chunk
    cdef Py_ssize_t count

    cdef Py_ssize_t _place(self, int64_t token) noexcept
    cdef Chunk _chunk_of(self, int64_t token)
    cdef Table _with_tablet(self, const TabletFields* tablet)
    cdef Table _without(self, set gone)


cdef class TabletMap:
    cdef readonly Py_ssize_t limit
    cdef readonly Py_ssize_t count
    cdef public Py_ssize_t hits
    cdef public Py_ssize_t misses
    cdef readonly tuple hosts
    cdef list _host_ids
    cdef dict _numbers
    cdef dict _known
    cdef int _turn
    cdef dict _tables
    cdef frozenset _with_tablets
    cdef frozenset _leaders
    cdef int _in_use                 # True if any keyspace has tablets; read for each plan

    cdef Chunk _row(self, keyspace, table, int64_t token, Py_ssize_t* index)
    cdef bint _is_used(self) except -1
    cdef bint _has_keyspace(self, keyspace) except -1
    cdef bint _has_leaders(self, keyspace) except -1
    cdef tuple _hosts_now(self)
    cdef int _note_use(self) except -1
    cdef Py_ssize_t _shard_on(self, Chunk chunk, Py_ssize_t index, host) except -2
    cdef int _next_block(self, Chunk chunk, Py_ssize_t index) noexcept
    cdef bint _learn(self, keyspace, table, bytes payload) except -1
    cdef bint _parse(self, bytes payload, TabletFields* tablet) except -1
    cdef object _number_of(self, bytes host_id)
    cdef int _make_room(self, keyspace, table) except -1
    cdef int _forget(self, set gone) except -1
    cdef int _drop(self, keyspace, table) except -1
    cdef int _remove(self, keyspace, table) except -1


# Sets `token` to the token of a statement's partition key. Returns 1, or 0 if the key is not known.
cdef int token_in(statement, int64_t* token) except -1

# Returns the offset after a response's custom payload if the payload has one tablet and nothing
# else; otherwise 0.
cdef Py_ssize_t payload_end(bytes body) noexcept
