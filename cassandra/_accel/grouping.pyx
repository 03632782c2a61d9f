"""Group the rows of a load into requests, compiled; `cassandra.bulk.grouping` is the reference.

We read everything that we need from the block first: application code may run later (an owner's
look-up, the garbage collector), and may add to the block. Rows in a block never move.
"""

cimport cython

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcmp, memcpy

from cassandra._accel.bind cimport RowsBlock
from cassandra._accel.checks cimport unpicklable
from cassandra._accel.murmur3 cimport murmur3_of
from cassandra._accel.ring cimport NOBODY, ReplicaMap, token_at
from cassandra._accel.wbuf cimport (
    get_be32,
    put_be16,
    wbuf,
    wbuf_close,
    wbuf_extend,
    wbuf_open,
    wbuf_write,
)

from cassandra.bulk import groups as _groups

__all__ = ["Group", "request_waves"]

cdef enum:
    MOST_OF_A_PART = 0xFFFF  # largest size of one of several partition key columns, in bytes


cdef struct Row:
    Py_ssize_t offset      # where the row begins in the block: with its size, before its values
    Py_ssize_t size        # bytes of its values
    Py_ssize_t name        # where the row's primary key begins in `_Rows.names`
    Py_ssize_t name_size
    Py_ssize_t key         # where the row's routing key begins in `_Rows.keys`
    Py_ssize_t key_size    # -1 if the row has no routing key
    int64_t token
    Py_ssize_t wave
    Py_ssize_t next        # number of the next row of its partition or group, or -1


cdef struct Part:          # a partition of one wave, or a group: a linked list of rows
    Py_ssize_t first       # number of its first row
    Py_ssize_t last
    Py_ssize_t size        # bytes of its rows
    Py_ssize_t count       # rows


cdef struct Filled:        # the group that collects the rows of one set of replicas (owner)
    Py_ssize_t group       # number of the group plus 1; 0 for none
    Py_ssize_t partitions


cdef void* _allocate(Py_ssize_t count, Py_ssize_t size) except NULL:
    cdef void* memory = PyMem_Calloc(max(count, 1), size)
    if memory == NULL:
        raise MemoryError()
    return memory


cdef inline Py_ssize_t _slots_for(Py_ssize_t count) noexcept:
    """Return the size of a hash table for `count` items: a power of two, at most half full."""
    cdef Py_ssize_t slots = 8
    while slots < 2 * count:
        slots *= 2
    return slots


# A group contains nothing that could refer back to the group. Tracking thousands of groups would
# only slow down the garbage collector.
@cython.no_gc
@cython.final
cdef class Group:
    """Rows that are sent in one request (see the Python twin)."""

    cdef readonly RowsBlock block
    cdef public int tries
    cdef Py_ssize_t* _rows
    cdef Py_ssize_t _count

    def __cinit__(self, *arguments, **named):
        self.block = RowsBlock.__new__(RowsBlock)

    def __init__(self, block, rows):
        cdef RowsBlock source = <RowsBlock?> block
        cdef list numbers = list(rows)
        cdef Py_ssize_t index
        if self._rows != NULL:
            raise TypeError("a group is made once")
        self.block = source.take(numbers)
        self._rows = <Py_ssize_t*> _allocate(len(numbers), sizeof(Py_ssize_t))
        for index in range(len(numbers)):
            self._rows[index] = numbers[index]
        self._count = len(numbers)

    def __dealloc__(self):
        PyMem_Free(self._rows)

    def __len__(self):
        return self._count

    @property
    def rows(self):
        """The numbers of the group's rows."""
        cdef Py_ssize_t index
        return [self._rows[index] for index in range(self._count)]

    @property
    def size(self):
        """The bytes of the values of all rows."""
        return self.block.used - 4 * self.block._count

    def single_rows(self):
        """Return a group for each of its rows."""
        cdef Group group
        cdef Py_ssize_t index
        cdef list groups = []
        for index in range(self._count):
            group = Group(self.block, [index])
            group._rows[0] = self._rows[index]
            groups.append(group)
        return groups

    def __reduce__(self):
        raise unpicklable(self)


cdef Group _group(RowsBlock source, const Row* rows, const Part* part):
    """Create the group of the rows in the linked list `part`."""
    cdef Group group = Group.__new__(Group)
    cdef RowsBlock block = group.block
    cdef Py_ssize_t index = part.first
    cdef Py_ssize_t size
    block.width = source.width
    block.has_unset = source.has_unset
    group._rows = <Py_ssize_t*> _allocate(part.count, sizeof(Py_ssize_t))
    block.start = <uint8_t*> PyMem_Malloc(part.size + 4 * part.count)
    if block.start == NULL:
        raise MemoryError()
    block.room = part.size + 4 * part.count
    while group._count < part.count:
        size = rows[index].size + 4
        memcpy(block.start + block.used, source.start + rows[index].offset, size)
        block.used += size
        block._count += 1
        group._rows[group._count] = index
        group._count += 1
        index = rows[index].next
    return group


cdef class _Rows:
    """All rows of a block, with their keys."""

    cdef Py_ssize_t count
    cdef Row* rows
    cdef wbuf names
    cdef wbuf keys
    cdef Py_ssize_t* order  # row numbers by wave

    def __cinit__(self):
        wbuf_open(&self.names)
        wbuf_open(&self.keys)

    def __dealloc__(self):
        PyMem_Free(self.rows)
        PyMem_Free(self.order)
        wbuf_close(&self.names)
        wbuf_close(&self.keys)

    cdef int read(self, RowsBlock block, tuple partition, tuple positions) except -1:
        """Read the rows; `positions` are those of the primary key, the partition key's first."""
        cdef Py_ssize_t last = max(positions) if positions else -1
        cdef Py_ssize_t parts = len(partition)
        cdef Py_ssize_t width = len(positions)
        # Offsets of the values of a row, including their lengths.
        cdef Py_ssize_t* value_starts = NULL
        cdef Py_ssize_t* key_positions = NULL
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t index = 0
        cdef Py_ssize_t i
        self.rows = <Row*> _allocate(block._count, sizeof(Row))
        try:
            value_starts = <Py_ssize_t*> _allocate(last + 2, sizeof(Py_ssize_t))
            key_positions = <Py_ssize_t*> _allocate(width, sizeof(Py_ssize_t))
            for i in range(width):
                key_positions[i] = positions[i]
            # Below this line, only errors run Python code, and an error ends the loop.
            for index in range(block._count):
                self.rows[index].offset = pos
                self.rows[index].size = get_be32(block.start + pos)
                self._read_row(
                    block,
                    pos + 4,
                    &self.rows[index],
                    value_starts,
                    last,
                    key_positions,
                    width,
                    parts,
                )
                pos += 4 + self.rows[index].size
                self.count = index + 1
        finally:
            PyMem_Free(value_starts)
            PyMem_Free(key_positions)
        return 0

    cdef int _read_row(
        self,
        RowsBlock block,
        Py_ssize_t pos,
        Row* row,
        Py_ssize_t* value_starts,
        Py_ssize_t last,
        const Py_ssize_t* key_positions,
        Py_ssize_t width,
        Py_ssize_t parts,
    ) except -1:
        cdef const uint8_t* data = block.start
        cdef Py_ssize_t end = pos + row.size
        cdef Py_ssize_t size, start, i
        cdef uint8_t* p
        cdef bint lacks = parts == 0  # True if the row has no routing key
        value_starts[0] = pos
        for i in range(last + 1):
            if end - pos < 4:
                raise ValueError(f"a block of {block.width} values ends in the middle of one")
            size = max(<Py_ssize_t> <int32_t> get_be32(data + pos), 0) + 4
            if size > end - pos:
                raise ValueError(f"a block of {block.width} values ends in the middle of one")
            pos += size
            value_starts[i + 1] = pos
        row.name = self.names.size
        row.key = self.keys.size
        for i in range(width):
            # The name includes each value's length, so that null differs from an empty value.
            start = value_starts[key_positions[i]]
            wbuf_write(&self.names, data + start, value_starts[key_positions[i] + 1] - start)
            if i < parts:
                size = <int32_t> get_be32(data + start)
                if size < 0 or (parts > 1 and size > MOST_OF_A_PART):
                    lacks = True
                elif parts == 1:
                    wbuf_write(&self.keys, data + start + 4, size)
                else:
                    p = wbuf_extend(&self.keys, 2)
                    put_be16(p, <uint16_t> size)
                    wbuf_write(&self.keys, data + start + 4, size)
                    wbuf_extend(&self.keys, 1)[0] = 0
        row.name_size = self.names.size - row.name
        if lacks:
            self.keys.size = row.key
            row.key_size = -1
        else:
            row.key_size = self.keys.size - row.key
            row.token = token_at(self.keys.data + row.key, row.key_size)
        return 0

    cdef Py_ssize_t number_waves(self) except -1:
        """Assign a wave to each row; returns the number of waves.

        A wave contains each primary key only once. Waves are sent one after the other.
        """
        cdef Py_ssize_t slots = _slots_for(self.count)
        cdef Py_ssize_t* table = <Py_ssize_t*> _allocate(slots, sizeof(Py_ssize_t))
        cdef Py_ssize_t waves = 1 if self.count else 0
        cdef Py_ssize_t index, slot
        cdef Row* row
        cdef Row* previous
        for index in range(self.count):
            row = &self.rows[index]
            slot = murmur3_of(self.names.data + row.name, row.name_size) & (slots - 1)
            while table[slot]:
                previous = &self.rows[table[slot] - 1]
                if previous.name_size == row.name_size and not memcmp(
                    self.names.data + previous.name, self.names.data + row.name, row.name_size
                ):
                    row.wave = previous.wave + 1
                    waves = max(waves, row.wave + 1)
                    break
                slot = (slot + 1) & (slots - 1)
            table[slot] = index + 1  # the last row so far with this key
        PyMem_Free(table)
        return waves

    cdef Py_ssize_t* sort(self, Py_ssize_t waves) except NULL:
        """Fill `order` with the row numbers by wave (a counting sort).

        Returns where each wave begins in `order`. The caller must free that memory.
        """
        cdef Py_ssize_t* begins = <Py_ssize_t*> _allocate(waves + 2, sizeof(Py_ssize_t))
        cdef Py_ssize_t index
        try:
            self.order = <Py_ssize_t*> _allocate(self.count, sizeof(Py_ssize_t))
        except BaseException:
            PyMem_Free(begins)
            raise
        for index in range(self.count):
            begins[self.rows[index].wave + 2] += 1
        for index in range(waves):
            begins[index + 2] += begins[index + 1]
        for index in range(self.count):
            self.order[begins[self.rows[index].wave + 1]] = index
            begins[self.rows[index].wave + 1] += 1
        return begins


cdef class _Wave:
    """The requests of one wave."""

    cdef _Rows rows
    cdef Part* parts
    cdef Py_ssize_t part_count
    cdef Part* groups
    cdef Py_ssize_t group_count
    cdef Filled* filled
    cdef Py_ssize_t most_bytes
    cdef Py_ssize_t most_partitions

    def __cinit__(self, _Rows rows):
        self.rows = rows
        self.most_bytes = _groups.MOST_BYTES
        self.most_partitions = _groups.MOST_PARTITIONS

    def __dealloc__(self):
        PyMem_Free(self.parts)
        PyMem_Free(self.groups)
        PyMem_Free(self.filled)

    cdef int split(self, const Py_ssize_t* order, Py_ssize_t count, bint alone) except -1:
        """Collect the rows of each partition in `parts`.

        A row without a routing key forms a group by itself. If `alone`, every row does.
        """
        cdef Py_ssize_t slots = _slots_for(count)
        cdef Py_ssize_t* table = <Py_ssize_t*> _allocate(slots, sizeof(Py_ssize_t))
        cdef Py_ssize_t i, index, slot
        cdef Row* row
        cdef Row* first_row
        cdef Part* part
        try:
            self.parts = <Part*> _allocate(count, sizeof(Part))
            self.groups = <Part*> _allocate(count, sizeof(Part))
            for i in range(count):
                index = order[i]
                row = &self.rows.rows[index]
                row.next = -1
                if alone or row.key_size < 0:
                    self.begin(index)
                    continue
                slot = row.token & (slots - 1)
                while table[slot]:
                    part = &self.parts[table[slot] - 1]
                    first_row = &self.rows.rows[part.first]
                    if (
                        first_row.token == row.token
                        and first_row.key_size == row.key_size
                        and not memcmp(
                            self.rows.keys.data + first_row.key,
                            self.rows.keys.data + row.key,
                            row.key_size,
                        )
                    ):
                        self.rows.rows[part.last].next = index
                        part.last = index
                        part.size += row.size
                        part.count += 1
                        break
                    slot = (slot + 1) & (slots - 1)
                else:
                    part = &self.parts[self.part_count]
                    part.first = part.last = index
                    part.size = row.size
                    part.count = 1
                    self.part_count += 1
                    table[slot] = self.part_count
        finally:
            PyMem_Free(table)
        return 0

    cdef Part* begin(self, Py_ssize_t index) noexcept:
        """Begin a group with a row. There is memory for as many groups as rows."""
        cdef Part* group = &self.groups[self.group_count]
        group.first = group.last = index
        group.size = self.rows.rows[index].size
        group.count = 1
        self.group_count += 1
        return group

    cdef int join(self, owners, bint by_replica) except -1:
        """Join the partitions into groups; with `by_replica`, partitions of the same replicas."""
        cdef ReplicaMap replicas = <ReplicaMap> owners if type(owners) is ReplicaMap else None
        cdef dict numbers = {}
        cdef Py_ssize_t index, number, room
        cdef bint is_sparse
        if replicas is not None and replicas._own is None:
            replicas = None
        # If one key occurs many times, there is a wave for each of its rows. If each wave had an
        # entry for each set of replicas, that would take rows x sets. So a wave with few
        # partitions numbers only the sets that occur in it.
        is_sparse = replicas is not None and self.part_count * 4 < replicas._set_count
        if replicas is None or is_sparse:
            room = self.part_count
        else:
            room = max(replicas._set_count, 1)
        self.filled = <Filled*> _allocate(room, sizeof(Filled))
        for index in range(self.part_count):
            number = -1
            if not by_replica or owners is None:
                pass
            elif replicas is not None:
                number = _owner(replicas, self.rows.rows[self.parts[index].first].token)
                if is_sparse and number >= 0:
                    number = numbers.setdefault(number, len(numbers))
            else:
                number = self._other_owner(
                    owners, &self.rows.rows[self.parts[index].first], numbers
                )
            if number >= room:
                raise IndexError(f"the set {number} of {room} sets of replicas")
            self.add(&self.parts[index], &self.filled[number] if number >= 0 else NULL)
        return 0

    cdef Py_ssize_t _other_owner(self, owners, Row* row, dict numbers) except -2:
        """Return a number for the replicas of a row's partition by `owners`; -1 for none."""
        cdef bytes key = PyBytes_FromStringAndSize(
            <char*> self.rows.keys.data + row.key, row.key_size
        )
        cdef tuple hosts = tuple([id(host) for host in owners.of_key(key)])
        if not hosts:
            return -1
        return numbers.setdefault(hosts, len(numbers))

    cdef void add(self, const Part* part, Filled* filled) noexcept:
        """Add a partition to the group of its owner if it fits; otherwise begin a new group.

        A large partition is split into several groups.
        """
        cdef Row* rows = self.rows.rows
        cdef Py_ssize_t index = part.first
        cdef Py_ssize_t left = part.count
        cdef Py_ssize_t next
        cdef Part* group
        if filled != NULL and filled.group:
            group = &self.groups[filled.group - 1]
            if (
                filled.partitions < self.most_partitions
                and group.size + part.size <= self.most_bytes
            ):
                rows[group.last].next = part.first
                group.last = part.last
                group.size += part.size
                group.count += part.count
                filled.partitions += 1
                return
        group = NULL
        while left > 0:
            next = rows[index].next
            if group == NULL or group.size + rows[index].size > self.most_bytes:
                group = self.begin(index)
            else:
                rows[group.last].next = index
                group.last = index
                group.size += rows[index].size
                group.count += 1
            index = next
            left -= 1
        if filled != NULL:
            filled.group = self.group_count
            filled.partitions = 1


cdef Py_ssize_t _owner(ReplicaMap replicas, int64_t token) noexcept:
    """Return the number of a token's set of replicas; -1 if it has no replicas."""
    cdef Py_ssize_t position = replicas._own._position(token)
    cdef const uint16_t* row = replicas._row(position)
    if row == NULL or row[0] == NOBODY:
        return -1
    return (row - replicas._sets) // replicas._width


def request_waves(block, keys, by, owners):
    """Return lists of groups; each list contains each primary key only once (see the Python twin).

    :param block: the rows.
    :param keys: the positions of the primary key.
    :param by: "partition", "replica" or None.
    :param owners: knows the replicas of partitions, or None.
    """
    cdef RowsBlock rows_block = <RowsBlock?> block
    cdef _Rows rows = _Rows.__new__(_Rows)
    cdef _Wave wave
    cdef tuple partition = tuple(keys.partition)
    cdef tuple positions = keys.positions
    cdef Py_ssize_t* begins
    cdef Py_ssize_t count, number, index
    cdef list waves = []
    if not all([0 <= position < rows_block.width for position in positions]):
        raise ValueError(f"positions {positions} of {rows_block.width} values")
    rows.read(rows_block, partition, positions)
    count = rows.number_waves() if positions else min(rows.count, 1)
    begins = rows.sort(count)
    try:
        for number in range(count):
            wave = _Wave.__new__(_Wave, rows)
            wave.split(
                rows.order + begins[number],
                begins[number + 1] - begins[number],
                by is None,
            )
            wave.join(owners, by == "replica")
            waves.append(
                [
                    _group(rows_block, rows.rows, &wave.groups[index])
                    for index in range(wave.group_count)
                ]
            )
    finally:
        PyMem_Free(begins)
    return waves
