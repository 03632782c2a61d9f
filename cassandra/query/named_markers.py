"""Finds the columns whose values are bound to named markers: ``ssn`` in ``SET ssn = :other``.

Servers describe such a marker by the marker's name (``other``), not by the column's name (``ssn``).
To encrypt the value, the driver must know the column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from cassandra._patterns import pattern
from cassandra.query.markers import tokens_of
from cassandra.util.cql_text import unquoted

# A column, or the columns of a tuple.
_Columns: TypeAlias = "str | list[str]"

_OPERATORS = frozenset("=<>!")
_ARITHMETIC = frozenset("+-*/%")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
# These words may be in front of a bracket. Other names in front of a bracket are those of functions
# (and of tables, before their columns).
_NOT_FUNCTIONS = frozenset(
    {"and", "between", "by", "distinct", "if", "in", "not", "select", "set", "values", "where"}
)
# After these words, a value is an element of a collection, or is compared with a vector or text.
_BEFORE_OTHER_VALUES = frozenset({"contains", "key", "like", "of"})
# After these words, a value belongs to no column.
_CLAUSES = frozenset({"limit", "timeout", "timestamp", "ttl"})
# The name of a value that is a part of a column's value, or an argument of a function.
_PART = "value(...)"
# The name of a marker. A word of `tokens_of` may continue with a sign or a dot, as in ``:x+1``.
_NAME = pattern(r"\w+")


class _List(NamedTuple):
    """An opening bracket whose closing bracket has not come yet.

    :param columns: the column or columns with which the values in the brackets are compared, or to
        which the values are assigned. None if there are no such columns, for example for the
        arguments of a function.
    :param has_rows: True for ``IN (...)``: each value in the brackets is for all of the columns.
    :param start: the index of the bracket among the tokens.
    :param has_parts: True if the values are known to be no whole values of a column: they are the
        arguments of a function, or parts of a collection or tuple.
    """

    columns: _Columns | None
    has_rows: bool
    start: int
    has_parts: bool


class MarkersOfColumns(NamedTuple):
    """What a query string says about its named markers.

    :param columns: for each marker, the names that servers give to a ``?`` in the same positions:
        those of `columns_of_named_markers`, and the names of parts, such as ``value(m)`` in
        ``m['a'] = :x``. Parts of other values are called ``value(...)``.
    :param unknown: the markers of which at least one value may be that of a column, but it is not
        known of which one. For each, it has all names in the statement that may be the column's.
    """

    columns: dict[str, set[str]]
    unknown: dict[str, set[str]]


def columns_of_named_markers(query: str) -> dict[str, set[str]]:
    """Return, for each named marker of a statement, the columns of its values.

    A column is written as servers name a ``?`` in the same position: the name of the column,
    ``(a,b)`` for a tuple, and ``in(a)`` or ``in(a,b)`` for a list. So are values that belong to no
    column: ``[limit]``, ``[ttl]``, ``[timestamp]``, ``partition key token``. Other markers are left
    out.

    :param query: the query string.
    """
    return _Scan(query).columns


def markers_of_columns(query: str, names: Sequence[str]) -> MarkersOfColumns:
    """Return the columns of named markers, and the markers whose column is not known.

    :param query: the query string.
    :param names: the names that the server has given to all markers, in order.
    """
    scan = _Scan(query)
    if "?" in scan.tokens:
        # The server gives a ``?`` the name of its column, which may be the name of another marker.
        # ScyllaDB describes a named marker once, however often it is in the statement.
        described = Counter(names)
        for name, count in scan.counts.items():
            if described[name] > count or (described[name] and count > 1):
                scan.columns.setdefault(name, set()).add(name)
    candidates: set[str] = set()
    if scan.unknown:
        for token in scan.tokens:
            if _is_name(token):
                candidates.update((unquoted(token), *token.split(".")))
    columns = {
        marker: scan.columns.get(marker, set()) | scan.parts.get(marker, set())
        for marker in scan.columns.keys() | scan.parts.keys()
    }
    return MarkersOfColumns(columns, dict.fromkeys(scan.unknown, candidates))


class _Scan:
    """Reads a query string.

    :param query: the query string.
    """

    def __init__(self, query: str) -> None:
        # Servers convert names without quotes to lower case.
        self.tokens = [
            text if text.startswith('"') else text.lower() for _, text in tokens_of(query)
        ]
        self.columns: dict[str, set[str]] = {}
        # For each named marker whose value is no whole value of a column, or is added to one: what
        # servers call a ``?`` in this position.
        self.parts: dict[str, set[str]] = {}
        self.unknown: set[str] = set()
        # How often each named marker is in the statement.
        self.counts: Counter[str] = Counter()
        # Maps the index of a closing bracket to the index of its opening bracket.
        self._starts: dict[int, int] = {}
        # Maps the index of the "and" of ``a BETWEEN 1 AND 2`` to the index of the "between".
        self._betweens: dict[int, int] = {}
        # The rows of a transaction: ``x`` in ``LET x = (SELECT ...)``.
        self._rows = {
            row for let, row in zip(self.tokens, self.tokens[1:], strict=False) if let == "let"
        }
        self._read()

    def _read(self) -> None:
        """Find the columns of all markers."""
        tokens = self.tokens
        lists: list[_List] = []  # the open brackets
        # The number of values before the current token in the innermost open bracket.
        value_number = 0
        numbers: list[int] = []  # `value_number` of each outer bracket, outermost first
        between: dict[int, int] = {}  # number of open brackets -> index of the latest "between"
        for index, token in enumerate(tokens):
            if token in _OPENING:
                lists.append(self._list_at(index, lists))
                numbers.append(value_number)
                value_number = 0
            elif token in _CLOSING and lists:
                between.pop(len(lists), None)
                self._starts[index] = lists.pop().start
                value_number = numbers.pop()
            elif token == ",":
                value_number += 1
            elif token == "between":
                between[len(lists)] = index
            elif token == "and" and len(lists) in between:
                self._betweens[index] = between.pop(len(lists))
            elif token == ":" and 0 < index < len(tokens) - 1 and _is_name(tokens[index + 1]):
                self._read_marker(index, lists[-1] if lists else None, value_number)

    def _read_marker(self, index: int, brackets: _List | None, value_number: int) -> None:
        """Find the column of the marker whose colon is at `index`.

        :param brackets: the innermost open brackets.
        :param value_number: the number of values before the marker in these brackets.
        """
        tokens = self.tokens
        word = tokens[index + 1]
        is_quoted = word.startswith('"')
        name_match = None if is_quoted else _NAME.match(word)
        marker = name_match[0] if name_match is not None else unquoted(word)
        self.counts[marker] += 1
        last = self._before_casts(index - 1)
        before = tokens[last] if last >= 0 else ""
        after = tokens[index + 2] if index + 2 < len(tokens) else ""
        # A marker in an expression, as in ``(:x + 1)``, is not the column's value. An encrypted
        # column is a blob, and there are no expressions of blobs.
        if (brackets is not None and brackets.has_parts) or (
            before in _ARITHMETIC or (marker != word and not is_quoted)
        ):
            self._add_part(marker, self._added_to(last) or self._key_of(brackets))
            return
        name: _Columns | None = None
        if before not in ("(", ","):  # the operand of an operator: ``a = :x``, ``a IN :x``
            if before in _BEFORE_OTHER_VALUES:
                self._add_part(marker, self._searched(last))
                return
            if self._has_part_on_left(last):
                self._add_part(marker, self._part_on_left(last))
                return
            name = f"[{before}]" if before in _CLAUSES else self._compared(last)
            if name is not None and before == "in":
                name = f"in({name if isinstance(name, str) else ','.join(name)})"
        elif brackets is not None:  # a value in brackets: ``VALUES (:x, :y)``, ``a IN (:x, :y)``
            if after in _ARITHMETIC or (
                brackets.columns is None and self._has_part_on_left(brackets.start - 1)
            ):
                self._add_part(marker, self._part_on_left(brackets.start - 1))
                return
            if after in (",", ")"):
                name = brackets.columns
                # In a bracket of ``IN``, each value is for all columns. In other brackets, each
                # column has a separate value.
                if isinstance(name, list) and not brackets.has_rows:
                    name = name[value_number] if value_number < len(name) else None
        if name is None:
            self.unknown.add(marker)
            if before == "json":  # ``INSERT INTO t JSON :x``
                self._add_part(marker, "[json]")
        else:
            text = name if isinstance(name, str) else f"({','.join(name)})"
            self.columns.setdefault(marker, set()).add(text)

    def _add_part(self, marker: str, name: str | None) -> None:
        """Note a marker in `parts`.

        :param name: what servers call a ``?`` in its position; None for `_PART`.
        """
        self.parts.setdefault(marker, set()).add(name or _PART)

    def _added_to(self, last: int) -> str | None:
        """Return ``c`` for the value in ``c = c + :x``.

        :param last: the index of the last token before the value.
        :returns: None if the statement has another form.
        """
        tokens = self.tokens
        if last < 3 or tokens[last] not in ("+", "-"):
            return None
        left = self._left_of(last - 2)
        is_same = left >= 0 and tokens[left] == tokens[last - 1] and _is_name(tokens[left])
        return unquoted(tokens[left]) if is_same else None

    def _key_of(self, brackets: _List | None) -> str | None:
        """Return ``key(m)`` for the value in ``m[:x]``; None if the brackets have another form."""
        if brackets is None or self.tokens[brackets.start] != "[":
            return None
        name = self._name_at(brackets.start - 1)
        return None if name is None else f"key({name})"

    def _searched(self, last: int) -> str | None:
        """Return the name of the value after ``CONTAINS``, ``LIKE`` or ``ANN OF``.

        :param last: the index of this word.
        """
        word = self.tokens[last]
        # The column is before the word, or before both words of ``CONTAINS KEY`` and ``ANN OF``.
        name = self._name_at(last - (2 if word in ("key", "of") else 1))
        if name is None:
            return None
        return {"contains": f"value({name})", "key": f"key({name})"}.get(word, name)

    def _part_on_left(self, last: int) -> str | None:
        """Return ``value(m)`` for ``m[?] = :x``, and ``n`` for ``n += :x``.

        :param last: the index at which the operator ends.
        """
        left = self._left_of(last)
        if self.tokens[left] != "]":
            return self._name_at(left - 1)
        name = self._name_at(self._starts.get(left, 0) - 1)
        return None if name is None else f"value({name})"

    def _name_at(self, index: int) -> str | None:
        """Return the name at `index`, without quotes; None if there is no name."""
        token = self.tokens[index] if index >= 0 else ""
        return unquoted(token) if token and _is_name(token) else None

    def _list_at(self, index: int, lists: Sequence[_List]) -> _List:
        """Return the `_List` of the bracket that opens at `index`.

        :param lists: the open brackets around this bracket.
        """
        tokens = self.tokens
        outer = lists[-1] if lists else None
        if tokens[index] != "(" or (outer is not None and outer.has_parts):
            return _List(None, False, index, has_parts=True)
        last = self._before_casts(index - 1)
        if last < 0:
            return _List(None, False, index, has_parts=False)
        before = tokens[last]
        if before in ("(", ","):
            if outer is None:
                return _List(None, False, index, has_parts=False)
            # This is one of the tuples of ``(a, b) IN ((:x, :y), ...)``, or the value of a column
            # is a tuple. But the brackets of ``(:x)`` may just enclose the value.
            has_one_value = tokens[index + 1 : index + 2] == [":"] and (
                tokens[index + 3 : index + 4] == [")"]
            )
            columns = outer.columns if outer.has_rows else None
            has_parts = columns is None and not has_one_value and tokens[index + 1] != "("
            return _List(columns, False, index, has_parts)
        if _is_name(before) and before not in _NOT_FUNCTIONS and last == index - 1:
            return _List(None, False, index, has_parts=True)
        return _List(self._compared(last), before == "in", index, has_parts=False)

    def _before_casts(self, last: int) -> int:
        """Return the index of the last token before the type casts that end at `last`.

        A value follows, so a closing bracket in front of it can only be that of a cast, as in
        ``(blob) :x``.
        """
        while last >= 0 and self.tokens[last] == ")" and last in self._starts:
            last = self._starts[last] - 1
        return last

    def _has_part_on_left(self, last: int) -> bool:
        """Return True if the operator that ends at `last` has a part of a collection on its left.

        In ``m[?] = :x`` and ``n += :x``, the value is not the value of a whole column.
        """
        left = self._left_of(last)
        return left >= 0 and self.tokens[left] in ("]", "+", "-")

    def _left_of(self, last: int) -> int:
        """Return the index of the last token on the left side of the operator that ends at `last`.

        :returns: -1 if no operator ends at `last`.
        """
        tokens = self.tokens
        last = self._betweens.get(last, last)
        if last < 0:
            return -1
        # ``(a, b) VALUES (:x, :y)`` has the same form as ``(a, b) = (:x, :y)``, so treat VALUES as
        # an operator.
        if tokens[last] == "values":
            return last - 1
        if tokens[last] in ("in", "between"):
            return last - 2 if tokens[last - 1 : last] == ["not"] else last - 1
        end = last
        while last > 0 and tokens[last] in _OPERATORS:
            last -= 1
        return -1 if last == end else last

    def _compared(self, last: int) -> _Columns | None:
        """Return the columns that the operator ending at `last` compares with or assigns to.

        :returns: None if no operator ends at `last`, or if its left side is not a column.
        """
        tokens = self.tokens
        left = self._left_of(last)
        if left < 0:
            return None
        token = tokens[left]
        if token == ")" and left in self._starts:
            start = self._starts[left]
            if tokens[start - 1 : start] == ["token"]:
                return "partition key token"
            names = tokens[start + 1 : left]
            return [self._column_of(name) for name in names if name != ","]
        return self._column_of(token) if _is_name(token) else None

    def _column_of(self, token: str) -> str:
        """Return the name of a column. In a transaction, ``x.a`` may be column ``a`` of a row."""
        row, dot, name = token.partition(".")
        return name if dot and row in self._rows else unquoted(token)


def _is_name(token: str) -> bool:
    """Return True if a token is a name, a keyword or a number."""
    return token.startswith('"') or token.replace("_", "a")[0].isalnum()
