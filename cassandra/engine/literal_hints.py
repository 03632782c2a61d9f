"""Advice for values that an application has formatted into a statement, usually by an f-string.

What Python shows of a value is often not a literal of CQL: ``None``, ``b'abc'``, ``UUID('...')``, a
date or a name without quotes. `cassandra.engine.server_hints` looks here.
"""

from __future__ import annotations

import re

_BETTER = "better, pass values as parameters"
_NOT_OF_CQL = r"(?!(?:true|false|null|nan|infinity)\b)"

# Pairs of a pattern to look for in the statement, without the contents of its strings, and the
# advice. No correct statement matches one of them. In the advice, \1 stands for the first group.
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

# Patterns of the same form that are less certain: the server has found an error, but maybe another.
QUOTE_ADVICE: tuple[tuple[str, str], ...] = (
    (r"\bVALUES\s*\([^\"]*\"|\bIN\s*\(\s*\"|[={\[]\s*\"|''\s*:\s*\"|"
     r"\b(?:CONTAINS|CONTAINS\s+KEY|LIKE)\s+\"|\"[^\"]*\"\s*$",
     "text has single quotes in CQL; double quotes are for names"),
    (rf"\bVALUES\s*\((?:(?:[^()]|\(\))*,)?\s*{_NOT_OF_CQL}[a-z_]\w*(?:\s+\w+)*\s*[,)]|"
     rf"^\s*(?:SELECT|UPDATE|DELETE)\b.*=\s*{_NOT_OF_CQL}[a-z_]\w*(?:\s*,|\s*;?\s*$|\s+\w)|"
     rf"\bIN\s*\(\s*{_NOT_OF_CQL}[a-z_]\w*\s*[,)]|''\s*:\s*{_NOT_OF_CQL}[a-z_]\w*\s*[,}}]",
     f"strings have single quotes in CQL; {_BETTER}"),
)  # fmt: skip


def without_strings(statement: str) -> str:
    """Return a statement whose strings are empty, so that their words do not look like CQL."""
    return re.sub(r"'[^']*'", "''", statement)
