# Codecs of the scalar types except the numbers of a fixed size, and the functions that create the
# codecs of all scalar types.

# The names of these functions, for `__all__` of the module.
cdef tuple SCALARS = (
    "ascii_text", "blob", "boolean", "date", "decimal_number", "duration", "float32", "float64",
    "inet", "int8", "int16", "int32", "int64", "nothing", "text", "time", "timestamp", "uuid",
    "varint",
)

cdef object UUID = uuid_module.UUID
cdef object SAFE_UNKNOWN = uuid_module.SafeUUID.unknown
cdef object Decimal = decimal_module.Decimal
cdef object DecimalException = decimal_module.DecimalException
cdef object WIDE_CONTEXT = coerce.WIDE_CONTEXT
# Decimals of more bytes than this are converted by cqltypes/codecs/big_numbers.py, because Python's
# own conversion takes quadratic time.
cdef enum:
    SMALL_DECIMAL = 128

cdef object TIMEZONE_UTC = datetime_module.timezone.utc

# UUID.__setattr__ raises an error, so we set the attributes of a new UUID through the slots'
# members.
cdef object UUID_INT = vars(UUID).get("int")
cdef object UUID_SAFE = vars(UUID).get("is_safe")
cdef bint UUID_HAS_MEMBERS = isinstance(UUID_INT, MemberDescriptorType) and isinstance(
    UUID_SAFE, MemberDescriptorType
)

# If a class has the fields of its base, the variable is this class, and its objects are read and
# created directly. Otherwise the variable is a class that has no objects, so the constructor is
# always used.
cdef type DateKind = with_fields(Date, DayBase)
cdef type TimeKind = with_fields(Time, TimeBase)
cdef type DurationKind = with_fields(Duration, DurationBase)

cdef int64_t DAY_NANOS = 86_400_000_000_000
cdef int64_t DAY_MILLIS = 86_400_000
cdef int64_t MILLIS_MIN = -62_135_596_800_000
cdef int64_t MILLIS_MAX = 253_402_300_799_999


cdef int write_object(wbuf* out, object data) except -1:
    return wbuf_write(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


@cython.final
cdef class Boolean(Codec):
    """boolean."""

    cdef int write(self, wbuf* out, object value) except -1:
        if value is not True and value is not False:
            if value is EMPTY:
                return 0
            value = coerce.boolean(value)
        wbuf_extend(out, 1)[0] = 1 if value is True else 0
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        if size != 1:
            return wrong_width(self.cql_name, 1, size)
        return data[0] != 0


@cython.final
cdef class Text(Codec):
    """text, varchar and ascii."""

    cdef bint only_ascii

    cdef int write(self, wbuf* out, object value) except -1:
        if PyUnicode_Check(value):
            PyUnicode_READY(value)
            if PyUnicode_IS_ASCII(value):
                return wbuf_write(out, PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value))
            if not self.only_ascii:
                # We do not use PyUnicode_AsUTF8AndSize, which leaves a second copy in the caller's
                # string for as long as the string lives.
                try:
                    encoded = PyUnicode_AsUTF8String(value)
                except UnicodeEncodeError:
                    encoded = coerce.text_bytes(value, "text")
                return write_object(out, encoded)
        elif value is EMPTY:
            return 0
        name = self.cql_name if self.only_ascii else "text"
        return write_object(out, coerce.text_bytes(value, name))

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        # A fast path, because most strings are ASCII. Strings of up to one character are left to
        # CPython, which has shared objects for them.
        if size > 1 and turbocql_is_ascii(data, size):
            return turbocql_ascii_text(data, size)
        return self.read_other(data, size)

    cdef object read_other(self, const uint8_t* data, Py_ssize_t size):
        # A separate function, because the try statement would slow down `read`.
        try:
            if self.only_ascii:
                return PyUnicode_DecodeASCII(<char*> data, size, NULL)
            return PyUnicode_DecodeUTF8(<char*> data, size, NULL)
        except UnicodeDecodeError as error:
            reason = f"byte {error.start} is not valid {error.encoding.upper()} ({error.reason})"
        return malformed(self.cql_name, reason)


@cython.final
cdef class Blob(Codec):
    """blob."""

    cdef int write(self, wbuf* out, object value) except -1:
        if not PyBytes_CheckExact(value):
            if value is EMPTY:
                return 0
            value = coerce.blob_bytes(value)
        return write_object(out, value)

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        return PyBytes_FromStringAndSize(<char*> data, size)


@cython.final
cdef class Uuid(Codec):
    """uuid and timeuuid."""

    cdef int write(self, wbuf* out, object value) except -1:
        if type(value) is UUID and UUID_HAS_MEMBERS:
            number = turbocql_member(UUID_INT, value)
            if PyLong_Check(number):
                turbocql_uuid_bytes(number, wbuf_extend(out, 16))
                return 0
        elif value is EMPTY:
            return 0
        return write_object(out, coerce.uuid_bytes(value))

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        if size != 16:
            return wrong_width(self.cql_name, 16, size)
        if not UUID_HAS_MEMBERS:
            return UUID(bytes=PyBytes_FromStringAndSize(<char*> data, 16))
        uuid = turbocql_new(UUID)
        turbocql_set_member(UUID_INT, uuid, turbocql_int_of(data, 16, 0))
        turbocql_set_member(UUID_SAFE, uuid, SAFE_UNKNOWN)
        return uuid


# -- time ------------------------------------------------------------------------------------------

# Returns the days from 1970-01-01 to a date of the Gregorian calendar. The computation uses years
# that begin in March, so that a leap day is the last day of its year.
cdef inline int64_t days_of(int year, int month, int day) noexcept:
    cdef int64_t y = year - (1 if month <= 2 else 0)
    cdef int64_t shifted = month - 3 if month > 2 else month + 9
    return y * 365 + y // 4 - y // 100 + y // 400 + (153 * shifted + 2) // 5 + day - 719469


# Returns the datetime of milliseconds since 1970, which must be within the years 1 to 9999.
cdef object datetime_of(int64_t millis):
    cdef int64_t days = millis // DAY_MILLIS
    cdef int64_t rest = millis - days * DAY_MILLIS
    cdef int64_t era, in_era, year, in_year, shifted
    if rest < 0:
        days -= 1
        rest += DAY_MILLIS
    days += 719468  # now counted from 0000-03-01, as in `days_of`
    era = days // 146097
    in_era = days - era * 146097
    year = (in_era - in_era // 1460 + in_era // 36524 - in_era // 146096) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * in_year + 2) // 153
    year += era * 400
    return cdatetime.datetime_new(
        <int> (year + (1 if shifted >= 10 else 0)),
        <int> (shifted + 3 if shifted < 10 else shifted - 9),
        <int> (in_year - (153 * shifted + 2) // 5 + 1),
        <int> (rest // 3_600_000),
        <int> (rest // 60_000 % 60),
        <int> (rest // 1000 % 60),
        <int> (rest % 1000 * 1000),
        None,
    )


cdef inline int64_t days_of_date(object value) noexcept:
    return days_of(
        cdatetime.PyDateTime_GET_YEAR(value),
        cdatetime.PyDateTime_GET_MONTH(value),
        cdatetime.PyDateTime_GET_DAY(value),
    )


@cython.final
cdef class Timestamp(Codec):
    """timestamp."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef int64_t millis
        if cdatetime.PyDateTime_CheckExact(value):
            zone = cdatetime.datetime_tzinfo(value)
            if zone is None or zone is TIMEZONE_UTC:
                millis = days_of_date(value) * DAY_MILLIS
                millis += cdatetime.PyDateTime_DATE_GET_HOUR(value) * <int64_t> 3_600_000
                millis += cdatetime.PyDateTime_DATE_GET_MINUTE(value) * 60_000
                millis += cdatetime.PyDateTime_DATE_GET_SECOND(value) * 1000
                millis += cdatetime.PyDateTime_DATE_GET_MICROSECOND(value) // 1000
                put_be64(wbuf_extend(out, 8), <uint64_t> millis)
                return 0
        elif value is EMPTY:
            return 0
        millis = coerce.timestamp_millis(value)
        put_be64(wbuf_extend(out, 8), <uint64_t> millis)
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef int64_t millis
        if size != 8:
            return wrong_width(self.cql_name, 8, size)
        millis = <int64_t> get_be64(data)
        if MILLIS_MIN <= millis <= MILLIS_MAX:
            return datetime_of(millis)
        return MillisTimestamp(millis)


@cython.final
cdef class DateCodec(Codec):
    """date."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef int64_t days
        if type(value) is DateKind:
            held = field_or_none(&(<DayBase> value).days_from_epoch, value)
            if (
                type(held) is int
                and int64_of(held, &days) == FITS
                and -(<int64_t> 1 << 31) <= days < (<int64_t> 1 << 31)
            ):
                put_be32(wbuf_extend(out, 4), <uint32_t> (days + (<int64_t> 1 << 31)))
                return 0
        elif cdatetime.PyDate_CheckExact(value) or cdatetime.PyDateTime_CheckExact(value):
            put_be32(wbuf_extend(out, 4), <uint32_t> (days_of_date(value) + (<int64_t> 1 << 31)))
            return 0
        elif value is EMPTY:
            return 0
        days = coerce.date_number(value)
        put_be32(wbuf_extend(out, 4), <uint32_t> days)
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef int64_t days
        if size != 4:
            return wrong_width(self.cql_name, 4, size)
        days = <int64_t> get_be32(data) - (<int64_t> 1 << 31)
        if DateKind is not Date:
            return Date(days)
        date = turbocql_new(Date)
        turbocql_put(&(<DayBase> date).days_from_epoch, PyLong_FromLongLong(days))
        return date


@cython.final
cdef class TimeCodec(Codec):
    """time."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef int64_t nanos
        if type(value) is TimeKind:
            held = field_or_none(&(<TimeBase> value).nanosecond_time, value)
            if type(held) is int and int64_of(held, &nanos) == FITS and 0 <= nanos < DAY_NANOS:
                put_be64(wbuf_extend(out, 8), <uint64_t> nanos)
                return 0
        elif cdatetime.PyTime_CheckExact(value):
            nanos = cdatetime.PyDateTime_TIME_GET_HOUR(value) * <int64_t> 3600
            nanos += cdatetime.PyDateTime_TIME_GET_MINUTE(value) * 60
            nanos += cdatetime.PyDateTime_TIME_GET_SECOND(value)
            nanos = nanos * 1_000_000 + cdatetime.PyDateTime_TIME_GET_MICROSECOND(value)
            put_be64(wbuf_extend(out, 8), <uint64_t> (nanos * 1000))
            return 0
        elif value is EMPTY:
            return 0
        nanos = coerce.time_nanos(value)
        put_be64(wbuf_extend(out, 8), <uint64_t> nanos)
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef int64_t nanos
        if size != 8:
            return wrong_width(self.cql_name, 8, size)
        nanos = <int64_t> get_be64(data)
        if not 0 <= nanos < DAY_NANOS:
            return malformed(self.cql_name, f"{nanos} nanoseconds do not lie within one day")
        if TimeKind is not Time:
            return Time(nanos)
        time = turbocql_new(Time)
        turbocql_put(&(<TimeBase> time).nanosecond_time, PyLong_FromLongLong(nanos))
        return time


# -- variable-length integers (native_protocol_v5.spec 3: [unsigned vint], [vint]) -----------------

cdef Py_ssize_t put_uvint(uint8_t* p, uint64_t number) noexcept:
    cdef int bits = 0
    cdef int extra
    cdef int i
    cdef uint64_t left = number
    while left:
        bits += 1
        left >>= 1
    extra = (bits - 1) // 7 if bits > 7 else 0
    if extra > 8:
        extra = 8
    for i in range(extra, 0, -1):
        p[i] = <uint8_t> number
        number >>= 8
    p[0] = <uint8_t> (number | ((<uint64_t> 0xFF00 >> extra) & 0xFF))
    return extra + 1


# Returns the size of the number in bytes, or 0 if it is truncated.
cdef Py_ssize_t get_uvint(const uint8_t* p, Py_ssize_t size, uint64_t* number) noexcept:
    cdef int extra = 0
    cdef int i
    cdef uint8_t first
    cdef uint64_t value
    if size < 1:
        return 0
    first = p[0]
    while extra < 8 and first & (0x80 >> extra):
        extra += 1
    if size <= extra:
        return 0
    value = first & (0x7F >> extra) if extra < 7 else 0
    for i in range(1, extra + 1):
        value = (value << 8) | p[i]
    number[0] = value
    return extra + 1


cdef inline uint64_t zigzag(int64_t n) noexcept:
    return (<uint64_t> n << 1) ^ <uint64_t> (n >> 63)


cdef inline int64_t unzigzag(uint64_t n) noexcept:
    return <int64_t> ((n >> 1) ^ (~(n & 1) + 1))


cdef inline bint within_int32(int64_t n) noexcept:
    return -2147483648 <= n <= 2147483647


@cython.final
cdef class DurationCodec(Codec):
    """duration."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef int64_t months = 0
        cdef int64_t days = 0
        cdef int64_t nanos = 0
        cdef uint8_t[27] encoded
        cdef Py_ssize_t size
        if not self.fast_parts(value, &months, &days, &nanos):
            if value is EMPTY:
                return 0
            months, days, nanos = coerce.duration_parts(value)
        size = put_uvint(encoded, zigzag(months))
        size += put_uvint(encoded + size, zigzag(days))
        size += put_uvint(encoded + size, zigzag(nanos))
        return wbuf_write(out, encoded, size)

    # Reads the parts of a Duration. Returns True for three ints that are in range and have the same
    # sign, and False if `coerce` must check the parts.
    cdef bint fast_parts(
        self, object value, int64_t* months, int64_t* days, int64_t* nanos
    ) except -1:
        if type(value) is not DurationKind:
            return False
        m = field_or_none(&(<DurationBase> value).months, value)
        d = field_or_none(&(<DurationBase> value).days, value)
        n = field_or_none(&(<DurationBase> value).nanoseconds, value)
        if not (type(m) is int and type(d) is int and type(n) is int):
            return False
        if (
            int64_of(m, months) != FITS
            or int64_of(d, days) != FITS
            or int64_of(n, nanos) != FITS
        ):
            return False
        if not within_int32(months[0]) or not within_int32(days[0]):
            return False
        return (
            (months[0] >= 0 and days[0] >= 0 and nanos[0] >= 0)
            or (months[0] <= 0 and days[0] <= 0 and nanos[0] <= 0)
        )

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef int64_t[3] parts
        cdef uint64_t number = 0
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t taken
        while size > 0:
            taken = get_uvint(data, size, &number)
            if taken == 0:
                return malformed(
                    self.cql_name, "truncated: a variable-length integer goes beyond the end"
                )
            if count < 3:
                parts[count] = unzigzag(number)
            count += 1
            data += taken
            size -= taken
        if count != 3:
            return malformed(self.cql_name, f"takes 3 variable-length integers, got {count}")
        if not within_int32(parts[0]) or not within_int32(parts[1]):
            return malformed(self.cql_name, "months or days do not fit 32 bits")
        if DurationKind is not Duration:
            return Duration(parts[0], parts[1], parts[2])
        duration = turbocql_new(Duration)
        turbocql_put(&(<DurationBase> duration).months, PyLong_FromLongLong(parts[0]))
        turbocql_put(&(<DurationBase> duration).days, PyLong_FromLongLong(parts[1]))
        turbocql_put(&(<DurationBase> duration).nanoseconds, PyLong_FromLongLong(parts[2]))
        return duration


# Parses an IPv4 address without leading zeros, such as 127.0.0.1. Returns False for any other
# string, which inet_pton then parses or rejects.
cdef bint parse_ipv4(object text, uint8_t* address) noexcept:
    cdef const char* p = <const char*> PyUnicode_DATA(text)
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t i = 0
    cdef int part
    cdef int digits
    cdef int number
    for part in range(4):
        digits = 0
        number = 0
        while i < size and c"0" <= p[i] <= c"9" and digits < 3:
            number = number * 10 + (p[i] - c"0")
            digits += 1
            i += 1
        if digits == 0 or number > 255 or (digits > 1 and number < (10 if digits == 2 else 100)):
            return False
        address[part] = <uint8_t> number
        if part < 3:
            if i >= size or p[i] != c".":
                return False
            i += 1
    return i == size


@cython.final
cdef class Inet(Codec):
    """inet."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef uint8_t[4] address
        if (
            PyUnicode_CheckExact(value)
            and PyUnicode_IS_COMPACT_ASCII(value)
            and parse_ipv4(value, address)
        ):
            return wbuf_write(out, address, 4)
        if value is EMPTY:
            return 0
        return write_object(out, coerce.inet_bytes(value))

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef char[16] text
        cdef Py_ssize_t length = 0
        cdef Py_ssize_t part
        cdef int number
        if size == 4:
            for part in range(4):
                number = data[part]
                if number >= 100:
                    text[length] = <char> (c"0" + number // 100)
                    length += 1
                if number >= 10:
                    text[length] = <char> (c"0" + number // 10 % 10)
                    length += 1
                text[length] = <char> (c"0" + number % 10)
                text[length + 1] = c"."
                length += 2
            return PyUnicode_DecodeASCII(text, length - 1, NULL)
        return coerce.inet_text(PyBytes_FromStringAndSize(<char*> data, size))


# -- numbers of any size ---------------------------------------------------------------------------

cdef int put_varint(wbuf* out, int64_t value) except -1:
    cdef Py_ssize_t size = 1
    cdef Py_ssize_t i
    cdef uint8_t* p
    cdef uint64_t left = <uint64_t> (value if value >= 0 else ~value) >> 7
    while left:
        size += 1
        left >>= 8
    p = wbuf_extend(out, size)
    for i in range(size - 1, -1, -1):
        p[i] = <uint8_t> value
        value >>= 8
    return 0


# Appends an int of any size, as a varint.
cdef int write_int(wbuf* out, object number) except -1:
    cdef int overflow = 0
    cdef int64_t small = PyLong_AsLongLongAndOverflow(number, &overflow)
    cdef Py_ssize_t room
    cdef Py_ssize_t extra = 0
    cdef uint8_t* p
    if overflow == 0:
        return put_varint(out, small)
    room = turbocql_int_room(number)
    if room == 0:
        return write_object(out, coerce.varint_bytes(number))
    p = wbuf_extend(out, room)
    turbocql_int_to_signed(number, p, room)
    # Remove bytes at the beginning that only repeat the sign: a varint must be as short as
    # possible.
    while (p[extra] == 0 and p[extra + 1] < 0x80) or (p[extra] == 0xFF and p[extra + 1] >= 0x80):
        extra += 1
    memmove(p, p + extra, room - extra)
    out.size -= extra
    return 0


cdef object get_varint(const uint8_t* data, Py_ssize_t size):
    cdef uint64_t value
    cdef Py_ssize_t i
    if size > 8:
        return turbocql_int_of(data, size, 1)
    value = <uint64_t> <int64_t> <int8_t> data[0]
    for i in range(1, size):
        value = (value << 8) | data[i]
    return PyLong_FromLongLong(<int64_t> value)


@cython.final
cdef class Varint(Codec):
    """varint."""

    cdef int write(self, wbuf* out, object value) except -1:
        if PyLong_Check(value):
            return write_int(out, value)
        if value is EMPTY:
            return 0
        return write_object(out, coerce.varint_bytes(value))

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        if size < 1:
            return malformed(self.cql_name, "takes at least 1 byte, got 0")
        return get_varint(data, size)


# Decimals of more digits than this are converted by cqltypes/codecs/big_numbers.py. This many are
# always allowed, because sys.set_int_max_str_digits accepts no limit below 640.
cdef enum:
    MOST_DIGITS = 512


# Parses the text of a Decimal, which shows its coefficient and exponent exactly. Sets `digits` to
# the sign and digits of the coefficient, and `unscaled` to its value if it has up to 18 digits.
# Returns the number of digits. Returns 0 if there are more than MOST_DIGITS, or if the value is not
# finite.
cdef int parse_decimal(object text, char* digits, int64_t* unscaled, int64_t* scale) except -1:
    cdef const char* p
    cdef Py_ssize_t size
    cdef Py_ssize_t i = 0
    cdef int count = 0
    cdef int64_t coefficient = 0
    cdef int64_t exponent = 0
    cdef int64_t fraction = 0
    cdef bint negative = False
    cdef bint after_point = False
    cdef bint exponent_negative = False
    if not PyUnicode_IS_ASCII(text):
        return 0
    p = <const char*> PyUnicode_DATA(text)
    size = PyUnicode_GET_LENGTH(text)
    if i < size and p[i] == c"-":
        negative = True
        digits[0] = c"-"
        digits += 1
        i += 1
    while i < size and (c"0" <= p[i] <= c"9" or p[i] == c"."):
        if p[i] == c".":
            after_point = True
        else:
            if count == MOST_DIGITS:
                return 0
            digits[count] = p[i]
            count += 1
            if count <= 18:
                coefficient = coefficient * 10 + (p[i] - c"0")
            if after_point:
                fraction += 1
        i += 1
    digits[count] = 0
    if count == 0:
        return 0
    if i < size:
        if p[i] != c"E" and p[i] != c"e":
            return 0
        i += 1
        if i < size and (p[i] == c"-" or p[i] == c"+"):
            exponent_negative = p[i] == c"-"
            i += 1
        if i == size or size - i > 10:
            return 0
        while i < size:
            if not c"0" <= p[i] <= c"9":
                return 0
            exponent = exponent * 10 + (p[i] - c"0")
            i += 1
    unscaled[0] = -coefficient if negative else coefficient
    scale[0] = fraction - (-exponent if exponent_negative else exponent)
    return count


@cython.final
cdef class DecimalCodec(Codec):
    """decimal."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef int64_t unscaled = 0
        cdef int64_t scale = 0
        cdef char[MOST_DIGITS + 2] digits
        cdef int count
        if type(value) is Decimal:
            count = parse_decimal(str(value), digits, &unscaled, &scale)
            if count and within_int32(scale):
                if count <= 18:
                    wbuf_int32(out, <int32_t> scale)
                    return put_varint(out, unscaled)
                # If the limit is so low that this number may exceed it, `coerce` checks it below.
                if limits.decimal_bytes >= MOST_DIGITS:
                    wbuf_int32(out, <int32_t> scale)
                    return write_int(out, PyLong_FromString(digits, NULL, 10))
        elif PyLong_Check(value):
            wbuf_int32(out, 0)
            return write_int(out, value)
        if value is EMPTY:
            return 0
        big, scale_digits = coerce.decimal_parts(value)
        wbuf_int32(out, scale_digits)
        return write_object(out, coerce.varint_bytes(big))

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        cdef int32_t scale
        if size < 5:
            return malformed(self.cql_name, f"takes at least 5 bytes, got {size}")
        scale = <int32_t> get_be32(data)
        unscaled = get_varint(data + 4, size - 4)
        try:
            if size > SMALL_DECIMAL:
                return coerce.decimal_of(unscaled, scale)
            if scale == 0:
                return Decimal(unscaled)
            return Decimal(unscaled).scaleb(-<int64_t> scale, WIDE_CONTEXT)
        except DecimalException:
            reason = f"the scale {scale} goes beyond what decimal.Decimal can hold"
        return malformed(self.cql_name, reason)


@cython.final
cdef class Nothing(Codec):
    """empty: the type whose only value has no bytes."""

    cdef int write(self, wbuf* out, object value) except -1:
        empty_or_refuse(value, EMPTY, "EMPTY, the only value of the type empty")
        return 0

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        if size:
            return malformed(self.cql_name, f"takes 0 bytes, got {size}")
        return None


@cython.final
cdef class FunctionCodec(Codec):
    """A type that is encoded and decoded by Python code."""

    cdef object _encode
    cdef object _decode

    cdef int write(self, wbuf* out, object value) except -1:
        if turbocql_maybe_missing(value):
            coerce.refuse_missing(value, f"a value of {self.cql_name}")
        data = self._encode(value)
        if not PyBytes_CheckExact(data):
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(
                    f"{self.cql_name}: the type's encoding returned {type(data).__name__}, "
                    "not bytes"
                )
            data = bytes(data)
        return write_object(out, data)

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        return self._decode(PyBytes_FromStringAndSize(<char*> data, size))


# -- functions that create codecs, as in the pure Python version -----------------------------------

def int8(name="tinyint", empty=None):
    """Return the codec of tinyint."""
    return number(KIND_INT8, "b", 1, False, name, empty)


def int16(name="smallint", empty=None):
    """Return the codec of smallint."""
    return number(KIND_INT16, "h", 2, False, name, empty)


def int32(name="int", empty=None):
    """Return the codec of int."""
    return number(KIND_INT32, "i", 4, True, name, empty)


def int64(name="bigint", empty=None):
    """Return the codec of bigint and counter."""
    return number(KIND_INT64, "q", 8, True, name, empty)


def float32(name="float", empty=None):
    """Return the codec of float."""
    return number(KIND_FLOAT32, "f", 4, True, name, empty)


def float64(name="double", empty=None):
    """Return the codec of double."""
    return number(KIND_FLOAT64, "d", 8, True, name, empty)


def boolean(name="boolean", empty=None):
    """Return the codec of boolean."""
    return describe(Boolean.__new__(Boolean), KIND_BOOLEAN, name, 1, 1, False, empty)


def text(name="text", empty=None):
    """Return the codec of text and varchar. Zero bytes are a value, the empty string."""
    return describe(Text.__new__(Text), KIND_TEXT, name, -1, -1, True, None)


def ascii_text(name="ascii", empty=None):
    """Return the codec of ascii. Zero bytes are a value, the empty string."""
    cdef Text codec = Text.__new__(Text)
    codec.only_ascii = True
    return describe(codec, KIND_OTHER, name, -1, -1, True, None)


def blob(name="blob", empty=None):
    """Return the codec of blob and of types without their own codec. Zero bytes are a value."""
    return describe(Blob.__new__(Blob), KIND_BLOB, name, -1, -1, True, None)


def uuid(name="uuid", empty=None):
    """Return the codec of uuid and timeuuid."""
    return describe(Uuid.__new__(Uuid), KIND_UUID, name, 16, 16, False, empty)


def timestamp(name="timestamp", empty=None):
    """Return the codec of timestamp."""
    return describe(Timestamp.__new__(Timestamp), KIND_TIMESTAMP, name, 8, 8, False, empty)


def date(name="date", empty=None):
    """Return the codec of date."""
    return describe(DateCodec.__new__(DateCodec), KIND_OTHER, name, -1, 4, False, empty)


def time(name="time", empty=None):
    """Return the codec of time."""
    return describe(TimeCodec.__new__(TimeCodec), KIND_OTHER, name, -1, 8, False, empty)


def duration(name="duration", empty=None):
    """Return the codec of duration."""
    return describe(DurationCodec.__new__(DurationCodec), KIND_OTHER, name, -1, -1, False, empty)


def inet(name="inet", empty=None):
    """Return the codec of inet."""
    return describe(Inet.__new__(Inet), KIND_OTHER, name, -1, -1, False, empty)


def varint(name="varint", empty=None):
    """Return the codec of varint."""
    return describe(Varint.__new__(Varint), KIND_OTHER, name, -1, -1, False, empty)


def decimal_number(name="decimal", empty=None):
    """Return the codec of decimal."""
    return describe(DecimalCodec.__new__(DecimalCodec), KIND_OTHER, name, -1, -1, False, empty)


def nothing(name="empty", empty=None):
    """Return the codec of the type "empty"."""
    return describe(Nothing.__new__(Nothing), KIND_OTHER, name, -1, -1, True, None)


def from_functions(name, encode, decode, *, fixed_size=-1, empty_is_value=False, empty=None):
    """Return a codec that calls the functions `encode` and `decode`."""
    cdef FunctionCodec codec = FunctionCodec.__new__(FunctionCodec)
    codec._encode = encode
    codec._decode = decode
    return describe(codec, KIND_OTHER, name, fixed_size, -1, empty_is_value, empty)


def from_class(cls, protocol_version, *, name="", fixed_size=-1):
    """Return a codec that calls `to_binary` and `from_binary` of an application's type class."""
    to_binary = cls.to_binary
    from_binary = cls.from_binary
    return from_functions(
        name or cls.__name__,
        lambda value: to_binary(value, protocol_version),
        lambda data: from_binary(data, protocol_version),
        fixed_size=fixed_size,
        empty_is_value=True,
    )
