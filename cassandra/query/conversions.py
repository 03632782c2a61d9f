"""Advice for error messages: the expression that converts a value of a wrong class.

The messages of codecs' errors are strings such as ``5 (int) is not text (str)``. Compiled code also
raises such errors, and only the message says the class of the value. So this module searches the
message.
"""

from __future__ import annotations

import re

# Each item is the pattern of an error message, and the expression to write instead of the value.
# The first pattern that matches is used.
_EXPRESSIONS = (
    # Servers name the markers of USING TIMESTAMP and USING TTL "[timestamp]" and "[ttl]".
    (
        r'column "\[timestamp\]".*\((?:datetime|Timestamp)\) is not an integer',
        "int(value.timestamp() * 1_000_000) for microseconds, of a datetime with a time zone",
    ),
    (
        r'column "\[ttl\]".* is out of the range',
        "a number of seconds, at most 630,720,000 (20 years)",
    ),
    (r"\(struct_time\) is not a datetime", "datetime.datetime(*value[:6])"),
    (r'column "\[ttl\]".*\(float\d*\) is not an integer', "a whole number of seconds"),
    (r"\((?:bytes|bytes_|bytearray)\) is not text ", "value.decode()"),
    (r"\((?:datetime|date|time|Timestamp)\) is not text ", "value.isoformat()"),
    (r"\((?:float|bool|Decimal|UUID|(?:u?int|float)\d*)\) is not text ", "str(value)"),
    (r"'[+-]?\d+' \(str_?\) is not an integer", "int(value)"),
    (
        r"\b\d+\.0?\)? \(float\d*\) is not an integer",
        "int(value); integers of a pandas frame become floats if some are missing, and "
        "session.load(table, frame) writes them as integers",
    ),
    (r"\(float\d*\) is not an integer", "round(value), or use a column of the type double"),
    (r"\bDecimal\('s?NaN'\)", "None for a missing value"),
    (r"'[+-]?[\d.]+(?:[eE][+-]?\d+)?' \(str_?\) is not a number", "float(value)"),
    (
        r"'(?:true|false|True|False|TRUE|FALSE)' \(str_?\) is not a boolean",
        "value.lower() == 'true'",
    ),
    (r"\b[01]\.0\)? \((?:float|float64)\) is not a boolean", "bool(value)"),
    (
        r"'[+-]?[\d.]+,\d+' \(str_?\) is not a (?:decimal )?number",
        "the number with a decimal point: a comma may separate decimals or thousands",
    ),
    (
        r"'\d+[./-]\d+[./-]\d+.*' \(str\) is not a (?:timestamp|date: .* a date) of the form",
        "datetime.datetime.strptime(value, '%d.%m.%Y'), with the format that the text has",
    ),
    (r"'0x[0-9a-fA-F.]*' \(str\) is not bytes", "bytes.fromhex(value[2:])"),
    (r"\(str\) is not bytes", "value.encode()"),
    (r"\(bytes\) is not a UUID", "uuid.UUID(bytes=value)"),
    (r"\(complex\d*\) is not a (?:real )?number", "value.real, or store both parts"),
    (r"\(float(?:16|32)\) is not a decimal", "Decimal(str(value))"),
    (r"\(Period\) is not ", "value.to_timestamp()"),
    (r"'NaT'.*\((?:datetime|timedelta)64\) is not ", "None for a missing value"),
    (r"\(datetime64\) is not a time ", "value.astype('datetime64[us]').item().time()"),
    (r"\(datetime64\) is not text ", "str(value)"),
    (
        r"\(Timedelta\) is not a cassandra.util.Duration",
        "Duration(0, value.days, value.seconds * 10**9 + value.microseconds * 1000 + "
        "value.nanoseconds)",
    ),
    (r"\(timedelta\) is not a time ", "(datetime.datetime.min + value).time()"),
    (r"\(Timedelta\) is not a time ", "value.value for nanoseconds"),
    (r"\((?:datetime|Timestamp)\) is not a time ", "value.time()"),
    # pandas reads a map as a list of pairs, and writes such a list to Parquet as a list of lists.
    (
        r": \[[\[(].*\(list\) is not a mapping",
        "dict(value) for a list of pairs; for Parquet, write frame.to_parquet(path, schema="
        "session.scan(table, limit=1).to_arrow().schema)",
    ),
    # The value is a string that begins like the JSON of a collection or a user-defined type.
    (r"'\{.*\(str\) is not a (?:mapping|value of)", "json.loads(value)"),
    (r"'\[.*\(str\) is not a collection of elements ", "json.loads(value)"),
)


def advice_on_conversion(message: str) -> str:
    """Return advice for a value of a wrong class, such as ``; write str(value)``; "" if unknown.

    :param message: the message of a codec's error.
    """
    if re.search(r"\(Series\) is not (?!a collection)", message):
        return (
            "; the rows of frame.iterrows() are pairs of a label and a Series: write "
            "session.load(table, frame), or frame.itertuples(index=False)"
        )
    # A NaN is a number in Python, but in the rows of a pandas frame it means a missing value.
    if re.search(r"\bnan\)? \(float\d*\) is not (?!a number(?! of)|a real number)", message):
        return (
            "; the rows of a pandas frame have NaN for values that are missing: write "
            "session.load(table, frame), or None in place of NaN"
        )
    for error, expression in _EXPRESSIONS:
        if re.search(error, message):
            return f"; write {expression}"
    return ""
