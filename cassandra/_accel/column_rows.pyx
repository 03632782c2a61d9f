"""Creates the columns of tables from pages of system_schema.columns: the compiled twin of
`cassandra.metadata.schema.column_rows`, which explains how it works.

`ColumnMetadata` objects are created without a call of their class: we set the fields of their base
class directly (see `fields.pxd`).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from cassandra._accel.checks cimport exact_bytes, unpicklable
from cassandra._accel.fields cimport (
    ColumnBase, TableBase, reads_plainly, turbocql_put, value_of
)
from cassandra._accel.wbuf cimport get_be32

from cassandra.errors import DecodeError
from cassandra.metadata.schema.column_rows import USUAL_FLAGS
from cassandra.metadata.schema.column_rows import bad_position as _bad_position
from cassandra.metadata.schema.column_rows import bad_text as _bad_text
from cassandra.metadata.schema.column_rows import in_positions as _in_positions
from cassandra.metadata.schema.column_rows import unknown_kind as _unknown_kind
from cassandra.metadata.schema.elements import ColumnMetadata as _ColumnClass
from cassandra.metadata.schema.snapshot import NOTHING
from cassandra.metadata.schema.snapshot import TableSource as _SourceClass
from cassandra.metadata.schema.tables import TableMetadataV3 as _TableClass

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)

cdef extern from "objects.h":
    bint turbocql_is_this_ascii(PyObject*, const uint8_t*, Py_ssize_t) noexcept
    object turbocql_new(object)

cdef enum:
    MET = 256      # entries of `Texts._met`
    CELLS = 7      # columns of a row; the indexes of the used columns follow
    NAME = 2
    ORDER = 3
    KIND = 4
    POSITION = 5
    TYPE = 6

cdef object _usual_flags = USUAL_FLAGS
cdef type _Column = _ColumnClass
cdef type _Source = _SourceClass
cdef type _Table = _TableClass
cdef bint _has_fields = reads_plainly(_Column, ColumnBase) and reads_plainly(_Table, TableBase)


cdef struct Cell:
    const uint8_t* data
    Py_ssize_t size  # negative for null


cdef inline bint _is(Cell* cell, const char* text, Py_ssize_t size) noexcept:
    return cell.size == size and memcmp(cell.data, text, size) == 0


cdef inline const uint8_t* _read(const uint8_t* p, const uint8_t* end, Cell* cell) noexcept:
    """Read the [bytes] at `p`; returns where the next one begins, or NULL if it goes past `end`.

    Returns NULL for NULL too, so that a caller can check after several calls.
    """
    if p == NULL or end - p < 4:
        return NULL
    cell.size = <int32_t> get_be32(p)
    cell.data = p + 4
    if cell.size > end - cell.data:
        return NULL
    return cell.data + cell.size if cell.size > 0 else cell.data


cdef int _past_the_end() except -1:
    raise DecodeError("a row of system_schema.columns goes past the end of its page")


def note_runs(rows_of, body, offset, count):
    """Store in `rows_of` where the rows of each table are, among the `count` rows at `offset`.

    `rows_of` is a dict by keyspace of dicts by table. Their values are tuples (page, offset, number
    of rows, ...), with these three items for each run of consecutive rows. Tables whose names are
    not valid UTF-8 are left out. Raises DecodeError if rows go past the end of the page; the tables
    before them are stored.
    """
    cdef dict by_keyspace = rows_of
    cdef bytes page = exact_bytes(body, "a page")
    cdef const uint8_t* first = <const uint8_t*> PyBytes_AS_STRING(page)
    cdef const uint8_t* end = first + PyBytes_GET_SIZE(page)
    cdef const uint8_t* p = first + _offset(page, offset)
    cdef const uint8_t* start
    cdef const uint8_t* previous = NULL
    cdef Py_ssize_t previous_size = 0
    cdef Py_ssize_t left = count
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t rows = 0
    cdef Cell keyspace
    cdef Cell table
    cdef Cell other
    cdef int cell
    names = None
    while left > 0:
        left -= 1
        start = p
        keyspace.size = table.size = -1  # in case the row is truncated
        keyspace.data = table.data = NULL
        p = _read(p, end, &keyspace)
        p = _read(p, end, &table)
        if p == NULL:
            _past_the_end()
        if (
            previous == NULL
            or p - start != previous_size
            or memcmp(start, previous, previous_size) != 0
        ):
            if names is not None:
                _note(by_keyspace, names, page, begin, rows)
            previous, previous_size, begin, rows = start, p - start, start - first, 0
            try:
                names = (_decode(&keyspace), _decode(&table))
            except UnicodeDecodeError:
                names = None
        rows += 1
        for cell in range(CELLS - 2):  # no-cython-lint: counts only
            p = _read(p, end, &other)
        if p == NULL:
            _past_the_end()
    if names is not None:
        _note(by_keyspace, names, page, begin, rows)


cdef int _note(dict rows_of, tuple names, bytes page, Py_ssize_t begin, Py_ssize_t rows) except -1:
    cdef tuple runs
    tables = rows_of.get(names[0])
    if tables is None:
        tables = rows_of[names[0]] = {}
    runs = (<dict?> tables).get(names[1])
    if runs is None:
        (<dict> tables)[names[1]] = (page, begin, rows)
    else:
        (<dict> tables)[names[1]] = (*runs, page, begin, rows)
    return 0


cdef Py_ssize_t _offset(bytes page, start) except -1:
    cdef Py_ssize_t offset = start
    if offset < 0 or offset > PyBytes_GET_SIZE(page):
        _past_the_end()
    return offset


cdef inline object _decode(Cell* cell):
    return PyUnicode_DecodeUTF8(<const char*> cell.data, max(cell.size, 0), NULL)


cdef bytes _bytes(Cell* cell):
    return None if cell.size < 0 else PyBytes_FromStringAndSize(<const char*> cell.data, cell.size)


cdef class Texts:
    """Decodes strings, and returns the same object for equal strings."""

    cdef dict _known  # the strings by their UTF-8 bytes
    # A hash table for a faster look-up of some of the strings. It needs no references, because
    # `_known` never drops a string.
    cdef PyObject* _met[MET]

    def __cinit__(self):
        self._known = {}

    # Without this method, the class would accept any arguments.
    def __init__(self):
        pass

    def __reduce__(self):
        raise unpicklable(self)

    cdef str _text(self, Cell* cell, str name):
        """Return the string in `cell`: a column's name (`name` is None), or the type of column
        `name`.
        """
        cdef PyObject** met
        cdef str text
        if cell.size < 0:
            raise _bad_text(None, name)
        met = &self._met[_hash(cell) & (MET - 1)]
        if met[0] == NULL or not turbocql_is_this_ascii(met[0], cell.data, cell.size):
            text = self._looked_up(cell, name)
            met[0] = <PyObject*> text
        return <str> met[0]

    cdef str _looked_up(self, Cell* cell, str name):
        key = _bytes(cell)
        text = self._known.get(key)
        if text is None:
            try:
                text = self._known[key] = _decode(cell)
            except UnicodeDecodeError as error:
                raise _bad_text(error, name) from None
        return text


cdef inline size_t _hash(Cell* cell) noexcept:
    """Compute a hash of the size, the first four bytes and the last four bytes."""
    cdef uint32_t first = 0
    cdef uint32_t last = 0
    if cell.size >= 4:
        memcpy(&first, cell.data, 4)
        memcpy(&last, cell.data + cell.size - 4, 4)
    elif cell.size > 0:
        memcpy(&first, cell.data, cell.size)
    first = first * <uint32_t> 0x9E3779B1 + last
    return (first * <uint32_t> 0x85EBCA6B + <uint32_t> cell.size) >> 16


def columns_of(table, runs, texts):
    """Return (partition key, clustering key, all columns by name) of `table`.

    `runs` says where the table's rows are (see `note_runs`). The columns are in the same order as
    in cassandra-driver: the primary key, and then the others by name, which is how the server sends
    them. Raises DecodeError if a cell is not a valid string or number, and ValueError for a null or
    an unknown kind of column.
    """
    cdef Texts decoder = <Texts?> texts
    cdef list partition_key = []
    cdef list partition_positions = []
    cdef list clustering_key = []
    cdef list clustering_positions = []
    cdef list others = []
    cdef bytes page
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef Py_ssize_t left
    cdef Cell cells[CELLS]
    cdef int cell
    cdef int position
    cdef str name
    cdef str cql_type
    cdef dict columns
    cdef Py_ssize_t index
    runs = tuple(runs)
    for index in range(0, len(runs), 3):
        body, offset, count = runs[index], runs[index + 1], runs[index + 2]
        page = exact_bytes(body, "a page")
        p = <const uint8_t*> PyBytes_AS_STRING(page)
        end = p + PyBytes_GET_SIZE(page)
        p += _offset(page, offset)
        left = count
        while left > 0:
            left -= 1
            for cell in range(CELLS):
                p = _read(p, end, &cells[cell])
            if p == NULL:
                _past_the_end()
            name = decoder._text(&cells[NAME], None)
            if cells[POSITION].size != 4:
                raise _bad_position(name, _bytes(&cells[POSITION]))
            position = <int32_t> get_be32(cells[POSITION].data)
            cql_type = decoder._text(&cells[TYPE], name)
            if _is(&cells[KIND], "regular", 7):
                others.append(_column(table, name, cql_type, False, False))
            elif _is(&cells[KIND], "clustering", 10):
                is_reversed = _is(&cells[ORDER], "desc", 4)
                column = _column(table, name, cql_type, False, is_reversed)
                clustering_key = _with(clustering_key, column)
                clustering_positions.append(position)
            elif _is(&cells[KIND], "partition_key", 13):
                partition_key = _with(partition_key, _column(table, name, cql_type, False, False))
                partition_positions.append(position)
            elif _is(&cells[KIND], "static", 6):
                others.append(_column(table, name, cql_type, True, False))
            else:
                raise _unknown_kind(name, _bytes(&cells[KIND]))
    if len(partition_key) > 1:
        partition_key = _in_positions(list(zip(partition_positions, partition_key)))
    if len(clustering_key) > 1:
        clustering_key = _in_positions(list(zip(clustering_positions, clustering_key)))
    columns = {}
    _add(columns, partition_key)
    _add(columns, clustering_key)
    _add(columns, others)
    return partition_key, clustering_key, columns


cdef int _add(dict columns, list these) except -1:
    for column in these:
        if _has_fields:
            columns[value_of(&(<ColumnBase> column).name, column, "name")] = column
        else:
            columns[column.name] = column
    return 0


cdef inline list _with(list columns, column):
    """Return a list with `column` appended.

    For an empty list, return a new list of one item: unlike append(), it allocates no spare memory.
    That matters for the keys of thousands of tables.
    """
    if len(columns) == 0:
        return [column]
    columns.append(column)
    return columns


cdef object _column(table, str name, str cql_type, bint is_static, bint is_reversed):
    cdef object column
    if not _has_fields:
        return _Column(table, name, cql_type, is_static, is_reversed)
    column = turbocql_new(_Column)
    turbocql_put(&(<ColumnBase> column).table, table)
    turbocql_put(&(<ColumnBase> column).name, name)
    turbocql_put(&(<ColumnBase> column).cql_type, cql_type)
    turbocql_put(&(<ColumnBase> column).is_static, is_static)
    turbocql_put(&(<ColumnBase> column).is_reversed, is_reversed)
    turbocql_put(&(<ColumnBase> column).mask, None)
    return column


def plain_table(source):
    """Create the `TableMetadata` of a simple table, without its indexes.

    Returns None if the table has triggers, dropped columns, masks, unusual flags or the like, or if
    its rows are damaged. `note_runs` must have been called for the pages of its columns.
    """
    if type(source) is not _Source or not _has_fields:
        return None
    names, row, pages = source.names, source.row, source.columns
    flags_at, extensions_at = names.flags, names.extensions
    if (
        pages is None
        or flags_at is None
        or source.virtual
        or source.error is not None
        or source.triggers
        or source.dropped
        or source.masks
        or source.scylla
        or row[flags_at] != _usual_flags
        or (extensions_at is not None and row[extensions_at])
    ):
        return None
    keyspace = source.keyspace
    name = source.name
    tables = pages.rows_of.get(keyspace)
    runs = tables.pop(name, None) if tables is not None else None
    if runs is None:
        return None
    table = turbocql_new(_Table)
    try:
        partition_key, clustering_key, columns = columns_of(table, runs, pages.texts)
    except (DecodeError, ValueError):
        partition_key = None
    if not partition_key:
        tables[name] = runs  # put them back: the slow path needs them, and will raise the error
        return None
    # Set all attributes of the class; a new attribute must be added here.
    turbocql_put(&(<TableBase> table).keyspace_name, keyspace)
    turbocql_put(&(<TableBase> table).name, name)
    turbocql_put(&(<TableBase> table)._names, names)
    turbocql_put(&(<TableBase> table)._row, row)
    turbocql_put(&(<TableBase> table).partition_key, partition_key)
    turbocql_put(&(<TableBase> table).clustering_key, clustering_key)
    turbocql_put(&(<TableBase> table).columns, columns)
    turbocql_put(&(<TableBase> table)._options, None)
    turbocql_put(&(<TableBase> table)._error, None)
    turbocql_put(&(<TableBase> table)._scylladb, False)
    turbocql_put(&(<TableBase> table).triggers, NOTHING)
    turbocql_put(&(<TableBase> table).indexes, NOTHING)
    turbocql_put(&(<TableBase> table).views, NOTHING)
    turbocql_put(&(<TableBase> table).dropped_columns, NOTHING)
    turbocql_put(&(<TableBase> table).virtual, False)
    turbocql_put(&(<TableBase> table).is_compact_storage, False)
    turbocql_put(&(<TableBase> table).is_cql_compatible, True)
    return table


__all__ = ["Texts", "columns_of", "note_runs", "plain_table"]
