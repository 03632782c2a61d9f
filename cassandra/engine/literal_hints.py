"""Gives advice about wrong literals, for the error messages of rejected statements.

A wrong literal usually comes from an f-string that formats a Python value into the statement. The
string form of a Python value is often not a CQL literal: ``None``, ``b'abc'``, ``UUID('...')``, or
a date or name without quotes. A literal or parameter may also not fit the type of its column.
`cassandra.engine.server_hints` uses this module.
"""

from __future__ import annotations

import re

_BETTER = "better, pass values as parameters"  # the end of several pieces of advice below
# A regular expression: the next word is not one of the constants of CQL.
_NOT_OF_CQL = r"(?!(?:true|false|null|nan|infinity)\b)"

# Pairs (pattern, advice). The pattern is searched in the statement after `without_strings` has
# emptied its strings. No correct statement matches any pattern. In the advice, \1 is the first
# group.
PYTHON_VALUE_ADVICE: tuple[tuple[str, str], ...] = (
    (r"\b(datetime\.\w+|UUID|Decimal|Timestamp|Timedelta|OrderedDict|OrderedMap\w*|"
     r"SortedSet|Date|Time|Duration|array|tensor|np\.\w+)\(\s*[\d'\[]",
     r"\1(...) is what Python shows of a value, and not CQL: pass the value as a parameter"),
    (r"[=,(\[{:]\s*None\b", f"None is null in CQL; {_BETTER}"),
    (r"[=,(\[{:]\s*b''", "a blob is written 0x0a1b in CQL; better, pass bytes as a parameter"),
    (r"[=,(]\s*(?:frozen)?set\(\s*\)", f"an empty set is {{}} in CQL; {_BETTER}"),
    (r"\bIN\s*\((?:[^()]|\([^()]*\))*,\s*\)|\bIN\s*\[",
     "IN takes values in parentheses, and no comma after the last one; better, prepare the "
     "statement with IN ?, and pass a list"),
    (r",\s*\)", "there is a comma too many before )"),
    (r"[=<>,(\[{:]\s*\d{4}-\d\d?-\d\d?(?![-\w])|[=<>,(\[{:]\s*\d{4}-\d\d-\d\dT\d",
     "dates have single quotes in CQL; better, pass a datetime as a parameter"),
    (r"\w@\w", f"strings have single quotes in CQL; {_BETTER}"),
)  # fmt: skip

# Pairs (pattern, advice) as above, for patterns that are less certain: a statement may match the
# pattern although the server has rejected it for another reason.
QUOTE_ADVICE: tuple[tuple[str, str], ...] = (
    (r"\bVALUES\s*\([^\"]*\"|\bIN\s*\(\s*\"|[={\[]\s*\"|''\s*:\s*\"|"
     r"\b(?:CONTAINS|CONTAINS\s+KEY|LIKE)\s+\"|\"[^\"]*\"\s*$",
     "text has single quotes in CQL; double quotes are for names"),
    (rf"\bVALUES\s*\((?:(?:[^()]|\(\))*,)?\s*{_NOT_OF_CQL}[a-z_]\w*(?:\s+\w+)*\s*[,)]|"
     rf"^\s*(?:SELECT|UPDATE|DELETE)\b.*=\s*{_NOT_OF_CQL}[a-z_]\w*(?:\s*,|\s*;?\s*$|\s+\w)|"
     rf"\bIN\s*\(\s*{_NOT_OF_CQL}[a-z_]\w*\s*[,)]|''\s*:\s*{_NOT_OF_CQL}[a-z_]\w*\s*[,}}]",
     f"strings have single quotes in CQL; {_BETTER}"),
)  # fmt: skip

# Pairs (pattern for type names, how to write a literal of such a type or pass it as a parameter).
_FORMS_OF_TYPES = (
    (r"(?:tiny|small|big|var)?int|counter",
     "a number has no single quotes; as a parameter, pass an int instead of a str"),
    (r"float|double|decimal",
     "a number has no single quotes; as a parameter, pass a float or a Decimal instead of a str"),
    (r"(?:time)?uuid",
     "a UUID has no single quotes; as a parameter, pass a uuid.UUID instead of a str"),
    (r"boolean",
     "true and false have no single quotes; as a parameter, pass True or False instead of a str"),
    (r"text|varchar|ascii",
     "text has single quotes; as a parameter, pass a str: json.dumps(value) of a dict or a list"),
    (r"inet", "an address has single quotes; as a parameter, pass a str"),
    (r"blob", "a blob is written 0x0a1b, without quotes; as a parameter, pass bytes: "
              "bytes.fromhex(text), or text.encode()"),
    (r"timestamp", "a timestamp is written '2026-11-23 12:30:00+0000'; as a parameter, pass a "
                   "datetime, or the milliseconds since 1970: int(seconds * 1000)"),
    (r"date", "a date is written '2026-11-23'; as a parameter, pass a datetime.date"),
    (r"time", "a time is written '12:30:00'; as a parameter, pass a datetime.time"),
    (r"duration", "a duration is written 1h30m; as a parameter, pass a cassandra.util.Duration"),
    (r"list|vector", "a list is written [value]; as a parameter, pass a list"),
    (r"set", "a set is written {value}; as a parameter, pass a set"),
    (r"map", "a map is written {key: value}; as a parameter, pass a dict"),
)  # fmt: skip
# Matches messages of Cassandra about a literal of a wrong type. The group `column` is the column,
# if the message names it. The type is group 2 or group 3, depending on the message.
_TYPE_OF_COLUMN = (
    r"Invalid [\w ]+ (?:constant|literal)\b.* for \"?(?P<column>[^\":]+)\"? of type "
    r"(?:frozen<)?(\w+)|"
    r"Unexpected receiver type '(?:frozen<)?(\w+)"
)


def advice_for_type(message: str, statement: str) -> str | None:
    """Return how to write or pass a value of the type that the message names, or None.

    :param message: the server's message. It names the type if a literal does not fit it.
    :param statement: the statement that the server has rejected.
    """
    match = re.search(_TYPE_OF_COLUMN, message, re.DOTALL)
    if match is None:
        return None
    type_name: str = match[2] or match[3]
    advice = next(
        (advice for names, advice in _FORMS_OF_TYPES if re.fullmatch(names, type_name)),
        # No pattern matches the name of a tuple type or a user-defined type, so this is the advice
        # for these types.
        "prepare the statement, or register a class by cluster.register_user_type",
    )
    # Check whether the rejected value is in the parentheses of IN. If the message names a column,
    # look only at the IN of that column.
    column = match["column"]
    before = "" if column is None else rf"(?<!\w){re.escape(column)}\"?\s+"
    if re.search(rf"{before}\bIN\s*\(", without_strings(statement), re.IGNORECASE):
        several = "for several values, write IN %s and pass ((1, 2),)"
        # Group 3 is set for the message "Unexpected receiver type". Then the parentheses of IN
        # contain a list or a tuple, so advise only how to pass several values.
        advice = several if match[3] is not None else f"{advice}; {several}"
    return advice


def without_strings(statement: str) -> str:
    """Empty the string literals of a statement, so that words in them do not look like CQL."""
    return re.sub(r"'[^']*'", "''", statement)
