# The connections of a pool, by the shard that they lead to. Included by happy_path.pyx.

cdef class ShardTable:
    """The open connections of a pool, by shard (see the Python twin)."""

    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t ignore_msb
    cdef readonly TabletMap tablets
    cdef list _by_shard

    def __cinit__(self, *arguments, **named):
        self._by_shard = []
        self.tablets = _NO_TABLETS

    def __init__(self, count, ignore_msb, tablets):
        if not 0 < count <= 0xFFFF:
            raise ValueError(f"a node has 1 to {0xFFFF} shards, not {count}")
        if not 0 <= ignore_msb < 64:
            raise ValueError(f"0 to 63 bits of a token may be ignored, not {ignore_msb}")
        self.tablets = <TabletMap?> tablets
        self.count = count
        self.ignore_msb = ignore_msb
        # No other code gets these lists, so we may cast their items without a check.
        self._by_shard = [[] for _ in range(count)]

    def __reduce__(self):
        raise unpicklable(self)

    cdef inline Py_ssize_t _shard_of(self, int64_t token) noexcept:
        """Return the shard of a token: (biased token * count) >> 64.

        The product needs more than 64 bits, so it is computed in two halves.
        """
        cdef uint64_t biased = (<uint64_t> token ^ <uint64_t> 0x8000000000000000) << self.ignore_msb
        cdef uint64_t low = (biased & 0xFFFFFFFF) * <uint64_t> self.count
        cdef uint64_t high = (biased >> 32) * <uint64_t> self.count
        return <Py_ssize_t> ((high + (low >> 32)) >> 32)

    def shard_of(self, token):
        """Return the shard that owns a token."""
        return self._shard_of(token)

    def add(self, shard, connection):
        """Add a connection to `shard`."""
        (<list> self._by_shard[self._checked(shard)]).append(connection)

    def remove(self, connection):
        """Remove a connection, if it is in the table."""
        for connections in self._by_shard:
            if connection in connections:
                connections.remove(connection)

    def counts(self):
        """Return the number of connections of each shard."""
        return [len(connections) for connections in self._by_shard]

    def pick(self, shard):
        """Return the least busy connection to `shard` with a free stream, or None."""
        return _first_with_room(<list> self._by_shard[self._checked(shard)])

    cdef object _pick(self, Py_ssize_t shard):
        if not 0 <= shard < PyList_GET_SIZE(self._by_shard):
            return None
        return _first_with_room(<list> self._by_shard[shard])

    cdef Py_ssize_t _checked(self, Py_ssize_t shard) except -1:
        if not 0 <= shard < self.count:
            raise IndexError(f"there is no shard {shard}: the node has {self.count}")
        return shard
