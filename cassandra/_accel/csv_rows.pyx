"""Converts fields of CSV to the bytes of bound rows, compiled; see `cassandra.bulk.csv_rows`.

Lines are split in the same way as by the csv module in strict mode. Fields in a common format are
encoded directly, and all others by the Python function for their column. If this module does not
support something (a quote in the middle of a quoted field, bytes that are not UTF-8), the csv
module reads the file from that row on.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.math cimport isinf
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from cassandra._accel.bind cimport BindPlan, RowsBlock
from cassandra._accel.codecs cimport (
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
)
from cassandra._accel.wbuf cimport (
    put_be16,
    put_be32,
    put_be64,
    wbuf,
    wbuf_close,
    wbuf_extend,
    wbuf_open,
)

from cassandra.bulk.csv_fields import ReadRows as _ReadRows

__all__ = ["csv_reader"]

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    ctypedef struct PyObject
    double PyOS_string_to_double(const char*, char**, PyObject*) except? -1.0

cdef extern from "utf8.h" nogil:
    bint turbocql_is_ascii(const uint8_t*, size_t) noexcept
    bint turbocql_is_utf8(const uint8_t*, size_t) noexcept

cdef enum:
    NEWLINE = 10
    RETURN = 13
    MOST_DIGITS = 18     # any integer of this many digits fits 64 bits
    LONGEST_NUMBER = 48  # characters of a float; longer floats are left to the Python function

# How a field is converted to bytes.
cdef enum How:
    BY_READER
    INTEGER
    REAL
    BOOLEAN
    TEXT
    UUID
    TIMESTAMP
    DATE

cdef struct Span:
    Py_ssize_t start
    Py_ssize_t end
    bint is_doubled     # True if the field contains doubled quotes

cdef struct Column:
    Py_ssize_t field
    How how
    int width           # bytes of a number
    const char* null    # the first string that means null, or NULL
    Py_ssize_t null_size
    bint has_more       # True if further strings mean null

cdef double[23] POWERS  # the powers of ten that a double represents exactly
for _power in range(23):
    POWERS[_power] = 10.0 ** _power


# -- parsing of values. The functions return False for a format that they do not support
# ------------


cdef inline bint _digits(const uint8_t* p, Py_ssize_t count, int64_t* number) noexcept nogil:
    """Parse a number that consists of `count` digits."""
    cdef int64_t value = 0
    cdef Py_ssize_t i
    for i in range(count):
        if p[i] < 48 or p[i] > 57:
            return False
        value = value * 10 + (p[i] - 48)
    number[0] = value
    return True


cdef bint _integer(const uint8_t* p, Py_ssize_t size, int64_t* number) noexcept nogil:
    cdef bint is_negative = size > 0 and p[0] == 45
    if is_negative:
        p += 1
        size -= 1
    if size < 1 or size > MOST_DIGITS or not _digits(p, size, number):
        return False
    if is_negative:
        number[0] = -number[0]
    return True


cdef int _real(const uint8_t* p, Py_ssize_t size, double* number) except -1:
    """Parse a floating-point number; returns 0 if the format is not supported."""
    cdef char[LONGEST_NUMBER + 1] copy
    cdef uint64_t value = 0
    cdef int exponent = 0
    cdef int digits = 0
    cdef bint has_point = False
    cdef bint has_digit = False
    cdef bint is_negative = size > 0 and p[0] == 45
    cdef Py_ssize_t i
    if size < 1 or size > LONGEST_NUMBER:
        return 0
    for i in range(is_negative, size):
        if p[i] == 46 and not has_point:
            has_point = True
            continue
        if p[i] < 48 or p[i] > 57:
            break
        has_digit = True
        if value or p[i] != 48:
            digits += 1
        if digits < 19:
            value = value * 10 + (p[i] - 48)
            exponent -= has_point
    else:
        # A fast path: `value` and the power of ten are exact doubles, so the quotient is rounded
        # correctly.
        if has_digit and digits < 19 and value <= (<uint64_t> 1 << 53) and exponent >= -22:
            number[0] = <double> value / POWERS[-exponent]
            if is_negative:
                number[0] = -number[0]
            return 1
        i = size
    if not has_digit:
        return 0
    while i < size:
        if not (48 <= p[i] <= 57 or p[i] in b"eE+-."):
            return 0
        i += 1
    memcpy(copy, p, size)
    copy[size] = 0
    try:
        number[0] = PyOS_string_to_double(copy, NULL, NULL)
    except ValueError:
        return 0
    return not isinf(number[0])


cdef inline int _hex(uint8_t c) noexcept nogil:
    if 48 <= c <= 57:
        return c - 48
    c |= 32
    return c - 87 if 97 <= c <= 102 else -1


cdef bint _uuid(const uint8_t* p, Py_ssize_t size, uint8_t* to) noexcept nogil:
    """Parse a UUID: hex digits in groups of 8, 4, 4, 4 and 12."""
    cdef Py_ssize_t pos = 0
    cdef int i, high, low
    if size != 36:
        return False
    for i in range(16):
        if i == 4 or i == 6 or i == 8 or i == 10:
            if p[pos] != 45:
                return False
            pos += 1
        high = _hex(p[pos])
        low = _hex(p[pos + 1])
        if high < 0 or low < 0:
            return False
        to[i] = <uint8_t> (high << 4 | low)
        pos += 2
    return True


cdef int64_t _days(int64_t year, int64_t month, int64_t day) noexcept nogil:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar.

    The computation uses years that begin in March, so that a leap day is the last day of its year.
    """
    cdef int64_t era
    year -= month <= 2
    era = year // 400
    return (
        era * 146_097
        + (year - era * 400) * 365 + (year - era * 400) // 4 - (year - era * 400) // 100
        + (153 * ((month + 9) % 12) + 2) // 5 + day - 1
        - 719_468
    )


cdef bint _date(const uint8_t* p, int64_t* days) noexcept nogil:
    """Parse a date of ten characters, YYYY-MM-DD."""
    cdef int64_t year = 0
    cdef int64_t month = 0
    cdef int64_t day = 0
    cdef int64_t last
    if (
        p[4] != 45 or p[7] != 45
        or not _digits(p, 4, &year) or not _digits(p + 5, 2, &month) or not _digits(p + 8, 2, &day)
        or year < 1 or month < 1 or month > 12 or day < 1
    ):
        return False
    last = 30 + ((month + (month >> 3)) & 1)
    if month == 2:
        last = 28 + (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    days[0] = _days(year, month, day)
    return day <= last


cdef bint _timestamp(const uint8_t* p, Py_ssize_t size, int64_t* millis) noexcept nogil:
    """Parse a timestamp in ISO 8601, with or without fractions of a second and a UTC offset."""
    cdef int64_t days = 0
    cdef int64_t hour = 0
    cdef int64_t minute = 0
    cdef int64_t second = 0
    cdef int64_t fraction = 0
    cdef int64_t zone_hour = 0
    cdef int64_t zone_minute = 0
    cdef Py_ssize_t pos = 19
    cdef Py_ssize_t begin
    if size < 19 or not _date(p, &days) or (p[10] != 32 and p[10] != 84):
        return False
    if (
        p[13] != 58 or p[16] != 58
        or not _digits(p + 11, 2, &hour) or not _digits(p + 14, 2, &minute)
        or not _digits(p + 17, 2, &second) or hour > 23 or minute > 59 or second > 59
    ):
        return False
    millis[0] = ((days * 24 + hour) * 60 + minute) * 60 + second
    if pos < size and p[pos] == 46:
        begin = pos = pos + 1
        while pos < size and pos - begin < 7 and 48 <= p[pos] <= 57:
            pos += 1
        # Use the first three digits, the milliseconds, and ignore the others.
        if (
            pos == begin
            or pos - begin > 6
            or not _digits(p + begin, min(pos - begin, 3), &fraction)
        ):
            return False
        if pos - begin < 3:
            fraction *= 100 if pos - begin == 1 else 10
    if pos < size:
        if size - pos == 1 and p[pos] == 90:
            pass
        elif (
            (size - pos == 6 or size - pos == 5)
            and (p[pos] == 43 or p[pos] == 45)
            and (size - pos == 5 or p[pos + 3] == 58)
            and _digits(p + pos + 1, 2, &zone_hour)
            and _digits(p + size - 2, 2, &zone_minute)
            and zone_hour < 24
            and zone_minute < 60
        ):
            zone_minute = (zone_hour * 60 + zone_minute) * 60
            millis[0] += zone_minute if p[pos] == 45 else -zone_minute
        else:
            return False
    millis[0] = millis[0] * 1000 + fraction
    return True


cdef bint _is_word(
    const uint8_t* p, Py_ssize_t size, const char* word, Py_ssize_t length
) noexcept nogil:
    cdef Py_ssize_t i
    if size != length:
        return False
    for i in range(size):
        if (p[i] | 32) != <uint8_t> word[i]:
            return False
    return True


# -- lines -----------------------------------------------------------------------------------------


cdef class _CsvReader:
    """Reads the rows of a file in parts."""

    cdef BindPlan plan
    cdef int version
    cdef tuple readers
    cdef list nulls      # for each column, the strings that mean null, in UTF-8
    cdef uint8_t delimiter
    cdef uint8_t quote
    cdef Py_ssize_t width
    cdef Py_ssize_t count
    cdef Column* columns

    def __dealloc__(self):
        PyMem_Free(self.columns)

    cdef int take(self, Py_ssize_t number, object field, Codec codec) except -1:
        """Set up the conversion of the field for bind marker `number`."""
        cdef Column* column = &self.columns[number]
        column.field = field.position
        if not 0 <= column.field < self.width:
            raise ValueError(f"field {column.field} of {self.width}")
        column.how = BY_READER
        column.width = 8
        # `self.nulls` keeps the bytes alive to which `column.null` points.
        nulls = [text.encode() for text in field.nulls]
        self.nulls.append(nulls)
        column.null = PyBytes_AS_STRING(nulls[0]) if nulls else NULL
        column.null_size = PyBytes_GET_SIZE(nulls[0]) if nulls else 0
        column.has_more = len(nulls) > 1
        if field.kind == "int" and KIND_INT8 <= codec.kind <= KIND_INT64:
            column.how = INTEGER
            if codec.kind == KIND_INT32:
                column.width = 4
            elif codec.kind != KIND_INT64:
                column.width = 2 if codec.kind == KIND_INT16 else 1
        elif field.kind == "float" and (
            codec.kind == KIND_FLOAT32 or codec.kind == KIND_FLOAT64
        ):
            column.how = REAL
            column.width = 4 if codec.kind == KIND_FLOAT32 else 8
        elif field.kind == "boolean" and codec.kind == KIND_BOOLEAN:
            column.how = BOOLEAN
        elif field.kind == "text" and codec.kind == KIND_TEXT:
            column.how = TEXT
        elif field.kind == "uuid" and codec.kind == KIND_UUID:
            column.how = UUID
        elif field.kind == "timestamp" and codec.kind == KIND_TIMESTAMP:
            column.how = TIMESTAMP
        elif field.kind == "date" and type(codec).__name__ == "DateCodec":
            column.how = DATE
        return 0

    def read(self, data, start, is_last, limit):
        """Read rows (see the Python module).

        Returns None if the rows contain something that only the csv module can read.

        :param data: a part of the file.
        :param start: the offset in `data` at which the first row begins.
        :param is_last: True if `data` is the end of the file.
        :param limit: the maximum number of rows.
        """
        cdef _Lines lines = _Lines.__new__(_Lines)
        cdef RowsBlock block = None
        cdef wbuf out, scratch
        cdef bint is_bound = True
        cdef Py_ssize_t row_limit = limit
        cdef Py_ssize_t row
        if not isinstance(data, bytes) or not 0 <= start <= PyBytes_GET_SIZE(data):
            raise ValueError(f"bytes are read from a place in them, not from {start!r}")
        lines.data = <const uint8_t*> PyBytes_AS_STRING(data)
        lines.size = PyBytes_GET_SIZE(data)
        lines.pos = start
        lines.is_last = is_last
        lines.delimiter = self.delimiter
        lines.quote = self.quote
        lines.width = self.width
        lines.spans = <Span*> PyMem_Malloc(max(self.width, 1) * sizeof(Span))
        if lines.spans == NULL:
            raise MemoryError()
        wbuf_open(&out)
        wbuf_open(&scratch)
        try:
            while lines.count < row_limit and lines.next_row():
                row = out.size
                if is_bound:
                    is_bound = lines.fields == self.width and self.bind(
                        &out, &scratch, lines.data, lines.spans
                    )
                    if is_bound:
                        put_be32(out.data + row, <uint32_t> (out.size - row - 4))
            if not lines.are_usual(start):
                return None
            if is_bound:
                block = RowsBlock.__new__(RowsBlock)
                block.width = self.count
                block._count = lines.count
                block._take(&out)
        finally:
            wbuf_close(&out)
            wbuf_close(&scratch)
        return _ReadRows(
            block, lines.count, lines.pos, lines.numbers() if lines.is_uneven else None, lines.line
        )

    cdef bint bind(self, wbuf* out, wbuf* scratch, const uint8_t* data, Span* spans) except -1:
        """Append a row; returns False if a value is invalid."""
        cdef Py_ssize_t i, size, start
        cdef const uint8_t* p
        cdef Span* span
        wbuf_extend(out, 4)
        for i in range(self.count):
            span = &spans[self.columns[i].field]
            p = data + span.start
            size = span.end - span.start
            if span.is_doubled:
                scratch.size = 0
                wbuf_extend(scratch, size)
                size = _undoubled(p, size, self.quote, scratch.data)
                p = scratch.data
            if self.columns[i].null != NULL and (
                (
                    size == self.columns[i].null_size
                    and not memcmp(p, self.columns[i].null, size)
                )
                or (self.columns[i].has_more and p[:size] in <list> self.nulls[i])
            ):
                put_be32(wbuf_extend(out, 4), 0xFFFFFFFF)
                continue
            start = out.size
            if self.write(out, &self.columns[i], p, size):
                continue
            out.size = start
            try:
                text = PyUnicode_DecodeUTF8(<const char*> p, size, NULL)
                self.plan._add(out, i, self.readers[i](text))
            except (ValueError, TypeError, ArithmeticError, RecursionError):
                return False  # the slow path will raise the error again, with the row's position
        return True

    cdef bint write(
        self, wbuf* out, const Column* column, const uint8_t* p, Py_ssize_t size
    ) except -1:
        """Append a value with its length; returns False if its format is not supported here."""
        cdef int64_t number = 0
        cdef double real = 0
        cdef float small
        cdef uint32_t few
        cdef uint64_t bits
        cdef uint8_t* to
        if column.how == TEXT:
            to = wbuf_extend(out, 4 + size)
            put_be32(to, <uint32_t> size)
            memcpy(to + 4, p, size)
            return True
        if column.how == INTEGER:
            return _integer(p, size, &number) and _put_integer(out, number, column.width)
        if column.how == REAL:
            if not _real(p, size, &real):
                return False
            to = wbuf_extend(out, 4 + column.width)
            put_be32(to, <uint32_t> column.width)
            if column.width == 8:
                memcpy(&bits, &real, 8)
                put_be64(to + 4, bits)
                return True
            small = <float> real
            memcpy(&few, &small, 4)
            put_be32(to + 4, few)
            return not isinf(small)
        if column.how == TIMESTAMP:
            return _timestamp(p, size, &number) and _put_integer(out, number, 8)
        if column.how == UUID:
            to = wbuf_extend(out, 20)
            put_be32(to, 16)
            return _uuid(p, size, to + 4)
        if column.how == DATE:
            if size != 10 or not _date(p, &number):
                return False
            to = wbuf_extend(out, 8)
            put_be32(to, 4)
            put_be32(to + 4, <uint32_t> (number + (<int64_t> 1 << 31)))
            return True
        if column.how == BOOLEAN:
            to = wbuf_extend(out, 5)
            put_be32(to, 1)
            to[4] = _is_word(p, size, b"true", 4)
            return to[4] or _is_word(p, size, b"false", 5)
        return False


cdef bint _put_integer(wbuf* out, int64_t number, int width) except -1:
    """Append an integer with its length; returns False if it is out of range."""
    cdef int64_t high = INT64_MAX >> (64 - 8 * width)
    cdef uint8_t* to
    if number > high or number < -high - 1:
        return False
    to = wbuf_extend(out, 4 + width)
    put_be32(to, <uint32_t> width)
    to += 4
    if width == 8:
        put_be64(to, <uint64_t> number)
    elif width == 4:
        put_be32(to, <uint32_t> number)
    elif width == 2:
        put_be16(to, <uint16_t> number)
    else:
        to[0] = <uint8_t> number
    return True


cdef Py_ssize_t _undoubled(
    const uint8_t* p, Py_ssize_t size, uint8_t quote, uint8_t* to
) noexcept nogil:
    """Copy a field and replace doubled quotes by single quotes; return the size."""
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t length = 0
    while i < size:
        to[length] = p[i]
        length += 1
        i += 2 if p[i] == quote else 1
    return length


cdef class _Lines:
    """Splits bytes into rows and fields."""

    cdef const uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t pos          # where the next row begins
    cdef bint is_last
    cdef uint8_t delimiter
    cdef uint8_t quote
    cdef Py_ssize_t count        # number of rows so far
    cdef Py_ssize_t fields       # number of fields of the last row
    cdef Py_ssize_t line         # the line on which the next row begins, counted from 0
    cdef bint is_uneven          # True if the line of a row differs from the number of the row
    cdef Py_ssize_t* starts      # the line on which each row begins
    cdef Py_ssize_t room         # the capacity of `starts`, in rows
    cdef Py_ssize_t width        # the capacity of `spans`, in fields
    cdef Span* spans

    def __dealloc__(self):
        PyMem_Free(self.starts)
        PyMem_Free(self.spans)

    cdef list numbers(self):
        cdef Py_ssize_t i
        return [self.starts[i] for i in range(self.count)]

    cdef bint are_usual(self, Py_ssize_t start) noexcept:
        """Return False if the rows contain bytes that only the csv module can handle."""
        cdef const uint8_t* p = self.data + start
        cdef Py_ssize_t size = self.pos - start
        # Zero bytes are left to the csv module, which rejects them up to Python 3.10.
        if memchr(p, 0, size) != NULL:
            return False
        return turbocql_is_ascii(p, size) or turbocql_is_utf8(p, size)

    cdef Py_ssize_t after_line(self, Py_ssize_t pos) noexcept:
        """Return where the next line begins if there is a line break at `pos`.

        Returns -1 if we need more data to know it: after a carriage return, a newline may follow.
        """
        if self.data[pos] == RETURN:
            if pos + 1 == self.size:
                return pos + 1 if self.is_last else -1
            if self.data[pos + 1] == NEWLINE:
                return pos + 2
        return pos + 1

    cdef bint next_row(self) except -1:
        """Find the fields of the next row.

        Returns False if the row is incomplete or needs the csv module.
        """
        cdef Py_ssize_t pos = self.pos
        cdef Py_ssize_t inside = 0    # line breaks inside the row's fields
        cdef Py_ssize_t fields = 0
        cdef Span span
        cdef uint8_t end
        while pos < self.size and (self.data[pos] == NEWLINE or self.data[pos] == RETURN):
            pos = self.after_line(pos)
            if pos < 0:
                return False
            self.line += 1
            self.pos = pos
        if pos == self.size:
            return False
        while True:
            pos = self.next_field(pos, &span, &inside)
            if pos < 0:
                return False
            if fields < self.width:
                self.spans[fields] = span
            fields += 1
            if pos == self.size:
                break
            end = self.data[pos]
            if end == self.delimiter:
                pos += 1
                if pos == self.size and not self.is_last:
                    return False
                continue
            pos = self.after_line(pos)
            if pos < 0:
                return False
            break
        self.note_line()
        self.line += inside + 1
        self.fields = fields
        self.pos = pos
        return True

    cdef Py_ssize_t next_field(self, Py_ssize_t pos, Span* span, Py_ssize_t* inside) noexcept:
        """Find the end of the field at `pos`; returns the offset after it.

        Returns -1 if the field is incomplete or needs the csv module.
        """
        cdef const uint8_t* closing
        cdef Py_ssize_t i
        cdef uint8_t byte
        span.is_doubled = False
        if pos == self.size or self.data[pos] != self.quote:
            span.start = pos
            while pos < self.size:
                byte = self.data[pos]
                if byte == self.delimiter or byte == NEWLINE or byte == RETURN:
                    break
                pos += 1
            span.end = pos
            return pos if pos < self.size or self.is_last else -1
        pos += 1
        span.start = pos
        while True:
            closing = <const uint8_t*> memchr(self.data + pos, self.quote, self.size - pos)
            if closing == NULL:
                return -1
            for i in range(pos, closing - self.data):
                byte = self.data[i]
                # A carriage return and a newline are one line break.
                if byte == NEWLINE or (byte == RETURN and self.data[i + 1] != NEWLINE):
                    inside[0] += 1
            pos = closing - self.data
            span.end = pos
            pos += 1
            if pos == self.size:
                return pos if self.is_last else -1
            byte = self.data[pos]
            if byte != self.quote:
                break
            span.is_doubled = True
            pos += 1
        if byte == self.delimiter or byte == NEWLINE or byte == RETURN:
            return pos
        return -1

    cdef int note_line(self) except -1:
        """Count a row, and store the line on which it begins."""
        cdef Py_ssize_t* grown
        if self.count == self.room:
            self.room = max(self.room * 2, 1024)
            grown = <Py_ssize_t*> PyMem_Realloc(self.starts, self.room * sizeof(Py_ssize_t))
            if grown == NULL:
                raise MemoryError()
            self.starts = grown
        self.starts[self.count] = self.line
        if self.line != self.count:
            self.is_uneven = True
        self.count += 1
        return 0


def csv_reader(plan, version, fields, width, delimiter, quote):
    """Return a reader of CSV; None if it does not support the delimiter, the quote or the plan.

    :param plan: the `BindPlan` of the statement.
    :param version: the protocol version.
    :param fields: the field of each bind marker.
    :param width: the number of fields of a line.
    :param delimiter: the character between fields.
    :param quote: the character around quoted fields.
    """
    cdef _CsvReader reader = _CsvReader.__new__(_CsvReader)
    cdef Py_ssize_t number
    reader.plan = <BindPlan?> plan
    reader.version = version
    if not reader.plan._native or not reader.plan._count or len(fields) != reader.plan._count:
        return None
    for mark in (delimiter, quote):
        if not isinstance(mark, str) or len(mark) != 1 or not mark.isascii() or mark in "\r\n\0":
            return None
    if delimiter == quote:
        return None
    reader.delimiter = ord(delimiter)
    reader.quote = ord(quote)
    reader.nulls = []
    reader.width = width
    reader.count = reader.plan._count
    reader.readers = tuple([(<object> field).read for field in fields])
    reader.columns = <Column*> PyMem_Malloc(reader.count * sizeof(Column))
    if reader.columns == NULL:
        raise MemoryError()
    for number in range(reader.count):
        reader.take(number, fields[number], <Codec?> reader.plan._codecs[number])
    return reader
