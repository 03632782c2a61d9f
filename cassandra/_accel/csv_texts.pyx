"""Converts pages of rows to lines of CSV: the compiled twin of `cassandra.bulk.csv_texts`.

Numbers, strings, booleans, UUIDs, blobs, dates and timestamps are converted without creating Python
objects. If a page is damaged, the Python code converts it again and raises the error.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, strlen

from cassandra._accel.checks cimport exact_bytes
from cassandra._accel.codecs cimport (
    KIND_BLOB,
    KIND_BOOLEAN,
    KIND_FLOAT32,
    KIND_FLOAT64,
    KIND_INT8,
    KIND_INT16,
    KIND_INT32,
    KIND_INT64,
    KIND_TEXT,
    KIND_TIMESTAMP,
    KIND_UUID,
    Codec,
    Page,
    is_made,
)
from cassandra._accel.rows cimport check_rows
from cassandra._accel.wbuf cimport (
    get_be16,
    get_be32,
    get_be64,
    wbuf,
    wbuf_bytes,
    wbuf_close,
    wbuf_extend,
    wbuf_open,
    wbuf_write,
)

from cassandra.bulk.csv_texts import csv_line
from cassandra.bulk.csv_texts import csv_lines as _csv_lines
from cassandra.bulk.texts import text_of as _text_of

__all__ = ["csv_line", "csv_lines"]

cdef extern from "Python.h":
    ctypedef struct PyObject
    int Py_DTSF_ADD_DOT_0
    char* PyOS_double_to_string(double, char, int, int, int*) except NULL
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef extern from "utf8.h" nogil:
    bint turbocql_is_ascii(const uint8_t*, size_t) noexcept
    bint turbocql_is_utf8(const uint8_t*, size_t) noexcept

cdef enum:
    A_DAY = 86_400_000     # milliseconds
    MOST_DIGITS = 20       # characters of a 64-bit integer, with its sign

# The years 1 to 9999, which `datetime` supports, in days since 1970.
cdef int64_t FIRST_DAY = -719_162
cdef int64_t LAST_DAY = 2_932_896
cdef const char* HEX = b"0123456789abcdef"


cdef class _Lines:
    """Writes the fields of the lines."""

    cdef tuple codecs
    cdef Py_ssize_t width
    cdef Page page

    cdef int add(self, wbuf* out, Py_ssize_t column, const uint8_t* p, Py_ssize_t size) except -1:
        """Append a value as a field; a null becomes an empty field."""
        cdef Codec codec = <Codec> self.codecs[column]
        if codec.kind == KIND_TEXT and size >= 0:
            if not turbocql_is_ascii(p, size) and not turbocql_is_utf8(p, size):
                raise ValueError("no UTF-8")
            return self.add_text(out, p, size)
        if size < 0:
            return self.add_text(out, NULL, 0)
        if size == 0:
            return self.add_other(out, codec, p, size)
        if codec.kind == KIND_INT32 and size == 4:
            return _add_integer(out, <int32_t> get_be32(p))
        if codec.kind == KIND_INT64 and size == 8:
            return _add_integer(out, <int64_t> get_be64(p))
        if codec.kind == KIND_INT16 and size == 2:
            return _add_integer(out, <int16_t> get_be16(p))
        if codec.kind == KIND_INT8 and size == 1:
            return _add_integer(out, <int8_t> p[0])
        if (codec.kind == KIND_FLOAT64 and size == 8) or (
            codec.kind == KIND_FLOAT32 and size == 4
        ):
            return _add_real(out, p, size)
        if codec.kind == KIND_BOOLEAN and size == 1:
            return wbuf_write(out, b"true", 4) if p[0] else wbuf_write(out, b"false", 5)
        if codec.kind == KIND_UUID and size == 16:
            return _add_uuid(out, p)
        if codec.kind == KIND_BLOB:
            return _add_blob(out, p, size)
        if codec.kind == KIND_TIMESTAMP and size == 8:
            if _add_moment(out, <int64_t> get_be64(p)):
                return 0
        elif size == 4 and type(codec).__name__ == "DateCodec":
            if _add_day(out, <int64_t> get_be32(p) - (<int64_t> 1 << 31)):
                return 0
        return self.add_other(out, codec, p, size)

    cdef int add_other(self, wbuf* out, Codec codec, const uint8_t* p, Py_ssize_t size) except -1:
        """Append a value of any type: decode it, and convert the Python object to text."""
        cdef Py_ssize_t length = 0
        cdef const char* data
        text = _text_of(codec.read_nullable(p, size, &self.page))
        data = PyUnicode_AsUTF8AndSize(text, &length)
        return self.add_text(out, <const uint8_t*> data, length)

    cdef int add_text(self, wbuf* out, const uint8_t* p, Py_ssize_t size) except -1:
        """Append a string as a field, in quotes if necessary."""
        cdef uint8_t* to
        cdef Py_ssize_t i
        cdef Py_ssize_t length = 1
        if size == 0:
            # In a file of one column, write quotes, because an empty line is not read as a row.
            return wbuf_write(out, b'""', 2) if self.width == 1 else 0
        if not _wants_quotes(p, size):
            return wbuf_write(out, p, size)
        to = wbuf_extend(out, 2 * size + 2)
        to[0] = 34
        for i in range(size):
            to[length] = p[i]
            length += 1
            if p[i] == 34:
                to[length] = 34
                length += 1
        to[length] = 34
        out.size -= 2 * size + 2 - (length + 1)
        return 0


cdef bint _wants_quotes(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        if p[i] == 44 or p[i] == 34 or p[i] == 10 or p[i] == 13:
            return True
    return False


cdef int _add_integer(wbuf* out, int64_t number) except -1:
    cdef uint8_t[MOST_DIGITS] digits
    cdef int start = MOST_DIGITS
    cdef uint64_t rest = <uint64_t> number if number >= 0 else 0 - <uint64_t> number
    while True:
        start -= 1
        digits[start] = <uint8_t> (48 + rest % 10)
        rest //= 10
        if rest == 0:
            break
    if number < 0:
        start -= 1
        digits[start] = 45
    return wbuf_write(out, &digits[start], MOST_DIGITS - start)


cdef int _add_real(wbuf* out, const uint8_t* p, Py_ssize_t size) except -1:
    cdef double value
    cdef float small
    cdef uint64_t bits
    cdef uint32_t few
    cdef char* text
    if size == 8:
        bits = get_be64(p)
        memcpy(&value, &bits, 8)
    else:
        few = get_be32(p)
        memcpy(&small, &few, 4)
        value = small
    # Write the number in the same format as repr().
    text = PyOS_double_to_string(value, b"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    try:
        return wbuf_write(out, text, strlen(text))
    finally:
        PyMem_Free(text)


cdef int _add_uuid(wbuf* out, const uint8_t* p) except -1:
    cdef uint8_t* to = wbuf_extend(out, 36)
    cdef int i
    for i in range(16):
        if i == 4 or i == 6 or i == 8 or i == 10:
            to[0] = 45
            to += 1
        to[0] = HEX[p[i] >> 4]
        to[1] = HEX[p[i] & 15]
        to += 2
    return 0


cdef int _add_blob(wbuf* out, const uint8_t* p, Py_ssize_t size) except -1:
    cdef uint8_t* to = wbuf_extend(out, 2 + 2 * size)
    cdef Py_ssize_t i
    to[0] = 48
    to[1] = 120
    for i in range(size):
        to[2 + 2 * i] = HEX[p[i] >> 4]
        to[3 + 2 * i] = HEX[p[i] & 15]
    return 0


cdef inline void _put_digits(uint8_t* to, int64_t number, int count) noexcept nogil:
    while count > 0:
        count -= 1
        to[count] = <uint8_t> (48 + number % 10)
        number //= 10


cdef bint _add_day(wbuf* out, int64_t days) except -1:
    """Append a date in ISO 8601; returns False if it is outside the years 1 to 9999."""
    cdef uint8_t* to
    cdef int64_t era, of_era, year, of_year, month
    if days < FIRST_DAY or days > LAST_DAY:
        return False
    # The computation uses years that begin in March, and eras of 400 years that begin with year 0.
    days += 719_468
    era = days // 146_097
    of_era = days - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    to = wbuf_extend(out, 10)
    _put_digits(to + 8, of_year - (153 * month + 2) // 5 + 1, 2)
    month += 3 if month < 10 else -9
    _put_digits(to, year + era * 400 + (month <= 2), 4)
    _put_digits(to + 5, month, 2)
    to[4] = to[7] = 45
    return True


cdef bint _add_moment(wbuf* out, int64_t millis) except -1:
    """Append a timestamp in ISO 8601 and UTC; return False if its year is not from 1 to 9999."""
    cdef int64_t days = millis // A_DAY
    cdef int64_t rest = millis - days * A_DAY
    cdef uint8_t* to
    if rest < 0:
        days -= 1
        rest += A_DAY
    if not _add_day(out, days):
        return False
    to = wbuf_extend(out, 9)
    to[0] = 32
    to[3] = to[6] = 58
    _put_digits(to + 1, rest // 3_600_000, 2)
    _put_digits(to + 4, rest // 60_000 % 60, 2)
    _put_digits(to + 7, rest // 1000 % 60, 2)
    if rest % 1000:
        to = wbuf_extend(out, 7)
        to[0] = 46
        _put_digits(to + 1, rest % 1000 * 1000, 6)
    wbuf_write(out, b"+00:00", 6)
    return True


cdef int _add_rows(
    _Lines lines, wbuf* out, bytes body, Py_ssize_t offset, Py_ssize_t count
) except -1:
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(body) + offset
    cdef const uint8_t* end = <const uint8_t*> PyBytes_AS_STRING(body) + PyBytes_GET_SIZE(body)
    cdef Py_ssize_t row, column, size
    for row in range(count):  # no-cython-lint: counts only
        for column in range(lines.width):
            if end - p < 4:
                raise ValueError("a length goes past the end")
            size = <int32_t> get_be32(p)
            p += 4
            if size > end - p:
                raise ValueError("a value goes past the end")
            if column:
                wbuf_extend(out, 1)[0] = 44
            lines.add(out, column, p, size)
            p += max(size, 0)
        wbuf_extend(out, 1)[0] = 10
    return 0


def csv_lines(names, codecs, body, offset, count):
    """Return the rows of a page as lines of CSV (see the Python twin).

    :param names: the names of the columns.
    :param codecs: the codecs of the columns' types.
    :param body: the page.
    :param offset: the offset at which its rows begin.
    :param count: the number of rows.
    """
    cdef _Lines lines = _Lines.__new__(_Lines)
    cdef bytes page = exact_bytes(body, "a page")
    cdef Py_ssize_t start = offset
    cdef Py_ssize_t rows
    cdef wbuf out
    lines.codecs = tuple(codecs)
    lines.width = len(lines.codecs)
    if all([is_made(codec) for codec in lines.codecs]):
        wbuf_open(&out)
        try:
            rows = check_rows(page, start, count, lines.width)
            _add_rows(lines, &out, page, start, rows)
            return wbuf_bytes(&out)
        except Exception:
            pass  # the Python code below raises the error again, with its position
        finally:
            wbuf_close(&out)
    return _csv_lines(names, lines.codecs, page, start, count)
