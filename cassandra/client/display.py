"""Shows a result set as a table, in a shell or in a notebook.

Only the first rows of the current page are shown. Showing a result fetches no page, and does not
affect an iteration over the result. If rows cannot be decoded, the table shows the error instead.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Any

from cassandra._imports import at_first_cluster
from cassandra.errors import DriverException
from cassandra.protocol.opcodes import RESULT_KIND_ROWS

if TYPE_CHECKING:
    import datetime
    from decimal import Decimal
    from uuid import UUID

    from cassandra.protocol.messages.results import ResultMessage
    from cassandra.util.sortedset import SortedSet
    from cassandra.util.temporal import Date, Duration, Time
else:
    at_first_cluster(
        __name__,
        Date="cassandra.util.temporal",
        Decimal="decimal",
        Duration="cassandra.util.temporal",
        ResultMessage="cassandra.protocol.messages.results",
        SortedSet="cassandra.util.sortedset",
        Time="cassandra.util.temporal",
        UUID="uuid",
        datetime="datetime",
    )

MOST_ROWS = 20  # the maximum number of rows that are shown
MOST_CHARACTERS = 60  # the maximum number of characters that are shown of a value
MOST_WIDTH = 120  # the width of a line if the terminal's width is not known
# The minimum width of a column, in characters. If the columns of a table would have to be narrower,
# each row is shown with one line per column instead.
LEAST_WIDTH = 8


class DisplayedResult:
    """Shows a result as a table. This is a base class of the `ResultSet` classes of both APIs.

    The subclasses define `_message` and `_page`. `_message` is the response of the server with the
    current page. `_page` has the rows of this page if they were decoded already.
    """

    __slots__ = ()

    _page: Any

    @property
    def _message(self) -> object:
        raise NotImplementedError

    @property
    def has_more_pages(self) -> bool:
        """True if there is a page after the current page."""
        raise NotImplementedError

    def __repr__(self) -> str:
        message = self._message
        # Take the count and names from the response. If a user's handler has decoded the response
        # to another object, count the rows of the page.
        if isinstance(message, ResultMessage):
            if message.kind != RESULT_KIND_ROWS:
                return "<ResultSet: no rows>"
            count, names = message.row_count, list(message.metadata.names)
        else:
            page = self._page
            count, names = (len(page) if isinstance(page, Sequence) else 0), []
        more = ", more pages" if self.has_more_pages else ""
        return f"<ResultSet: {count} rows{' of ' if names else ''}{', '.join(names)}{more}>"

    def __str__(self) -> str:
        return self._table(_terminal_width())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table in IPython, in the width of the terminal."""
        printer.text(self._table(_terminal_width() or MOST_WIDTH))

    def _table(self, width: int | None) -> str:
        """Return the table in lines of at most `width` characters; None for no limit.

        Columns that do not fit are narrowed. If that is not enough, each row is shown with one line
        per column.
        """
        names, types, rows, note = self._display_parts()
        if not names:
            return repr(self)
        # Make each column as wide as its widest cell. `_narrow_columns` then narrows the columns
        # until the lines fit.
        cells = [[_short_text(value) for value in row] for row in rows]
        header_rows = [[*names], [*types]]
        widths = [
            max(len(row[index]) for row in [*header_rows, *cells]) for index in range(len(names))
        ]
        if width is not None and not _narrow_columns(widths, width):
            return "\n".join([*_lines_by_column(names, cells, width), note])
        lines = [_format_line(row, widths) for row in header_rows]
        lines.append("-+-".join("-" * width_of_column for width_of_column in widths))
        return "\n".join([*lines, *(_format_line(row, widths) for row in cells), note])

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        # Import `html` only here, because the import takes milliseconds, and only notebooks need
        # it.
        import html

        names, types, rows, note = self._display_parts()
        if not names:
            return f"<p>{html.escape(repr(self))}</p>"
        head = "".join(
            f"<th>{html.escape(name)}<br><small>{html.escape(type_name)}</small></th>"
            for name, type_name in zip(names, types, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(_short_text(value))}</td>" for value in row)
            + "</tr>"
            for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(note)}</p>"

    def _display_parts(self) -> tuple[list[str], list[str], list[Sequence[Any]], str]:
        """Return (column names, CQL types, values of the first rows, note below the table).

        The names are empty if the result has no rows.
        """
        message = self._message
        if isinstance(message, ResultMessage) and message.kind == RESULT_KIND_ROWS:
            metadata = message.metadata
            types = [_cql_name(column.type) for column in metadata.columns]
            count = message.row_count
            # Decode the rows without the row factory, because a user's row factory may be slow.
            first_rows = _first_rows(message)
            if isinstance(first_rows, DriverException):
                return (
                    list(metadata.names),
                    types,
                    [],
                    f"({count} rows, which cannot be read: {first_rows})",
                )
            return list(metadata.names), types, first_rows, self._note_below(count)
        page = self._page if isinstance(self._page, list) else []
        rows: list[Any] = [list(_values_of_row(row)) for row in islice(page, MOST_ROWS)]
        width = max(map(len, rows), default=0)
        if not width:
            return [], [], [], ""
        # Rows from a user's row factory may differ in length: add names and empty values up to the
        # longest row.
        names = _names_of_row(page[0], len(rows[0]))
        names += [str(index) for index in range(len(names), width)]
        for row in rows:
            row += [""] * (width - len(row))
        return names, [""] * len(names), rows, self._note_below(len(page))

    def _note_below(self, count: int) -> str:
        row_count = (
            f"the first {MOST_ROWS} of {count} rows"
            if count > MOST_ROWS
            else f"{count} row{'s' * (count != 1)}"
        )
        return f"({row_count}{', more pages' if self.has_more_pages else ''})"


def _first_rows(message: ResultMessage) -> list[Sequence[Any]] | DriverException:
    """Return the first rows of a result, or the error if they cannot be decoded."""
    if message.has_own_rows:
        return [list(_values_of_row(row)) for row in islice(message.parsed_rows or (), MOST_ROWS)]
    body, offset, count = message.rows_body
    try:
        return list(islice(message.metadata.row_plan.iterate(body, offset, count), MOST_ROWS))
    except DriverException as error:
        return error


def _terminal_width() -> int | None:
    """Return the width of the terminal; None if standard output is not a terminal."""
    if not (hasattr(sys.stdout, "isatty") and sys.stdout.isatty()):
        return None
    columns = os.environ.get("COLUMNS", "")
    if not columns.isdecimal():
        try:
            columns = str(os.get_terminal_size(sys.stdout.fileno()).columns)
        except (OSError, ValueError):
            return MOST_WIDTH
    return max(int(columns), 20)  # at least 20 characters per line


def _narrow_columns(widths: list[int], line_width: int) -> bool:
    """Narrow the widest columns until a line fits; return False if that is impossible."""
    width_of_cells = line_width - 3 * (len(widths) - 1)  # " | " between two columns
    if width_of_cells < LEAST_WIDTH * len(widths):
        return False
    while sum(widths) > width_of_cells:
        index = widths.index(max(widths))
        second_widest = sorted(widths)[-2:-1]  # a list with one item, or empty for a single column
        # Make the widest column one character narrower than the second widest column. Stop earlier
        # if the line fits before that.
        widths[index] = max(
            widths[index] - (sum(widths) - width_of_cells),
            *(width - 1 for width in second_widest),
            1,
        )
    return True


def _format_line(row: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(map(_padded, row, widths)).rstrip()


def _padded(cell: str, width: int) -> str:
    return cell.ljust(width) if len(cell) <= width else cell[: width - 3] + "..."


def _lines_by_column(
    names: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> Iterator[str]:
    """Yield the lines of a table that shows each value on its own line, after its column's name."""
    widest = min(max(map(len, names)), width // 2)
    for number, row in enumerate(rows):
        yield f"-- row {number} --"
        for name, cell in zip(names, row, strict=True):
            yield f"{_padded(name, widest)} | {_padded(cell, max(width - widest - 3, 4))}".rstrip()


def _cql_name(cql_type: Any) -> str:
    """Return the CQL name of a type; the name varchar is replaced by its synonym text."""
    return re.sub(r"\bvarchar\b", "text", cql_type.cql_parameterized_type())


def _as_text(value: object) -> str:
    """Return the string that shows a value in a table.

    The driver's own set and map classes are shown in braces, like Python's sets and dicts.
    """
    if isinstance(value, (str, UUID, Date, Time, Duration, datetime.datetime, Decimal)):
        return str(value)
    if isinstance(value, Mapping):
        items = islice(value.items(), MOST_CHARACTERS)
        return "{" + ", ".join(f"{key!r}: {item!r}" for key, item in items) + "}"
    if isinstance(value, (Set, SortedSet)):
        return "{" + ", ".join(map(repr, islice(value, MOST_CHARACTERS))) + "}"
    return repr(value)


def _short_text(value: object) -> str:
    """Return the string for a value in a table, cut to `MOST_CHARACTERS` characters."""
    if isinstance(value, (str, bytes)) and len(value) > MOST_CHARACTERS:
        value = value[: MOST_CHARACTERS - 3]  # cut first, so that less must be formatted
        text = value if isinstance(value, str) else repr(value)
        return _printable(text, MOST_CHARACTERS - 3) + "..."
    if isinstance(value, (list, tuple)) and len(value) > MOST_CHARACTERS:
        value = value[:MOST_CHARACTERS]
    return _printable(_as_text(value), MOST_CHARACTERS)


def _printable(text: str, limit: int) -> str:
    """Return `text` on one line, without control characters."""
    text = " ".join(text.split())
    if not text.isprintable():
        # Escape control characters, because sequences of them could change the terminal's state.
        text = "".join(
            character if character.isprintable() else repr(character)[1:-1] for character in text
        )
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _values_of_row(row: object) -> Sequence[Any]:
    """Return the values of a row of any kind: mapping, sequence, object or single value."""
    if isinstance(row, Mapping):
        return list(row.values())
    if isinstance(row, (tuple, list)):
        return row
    if isinstance(row, (str, bytes, int, float)) or row is None:
        return (row,)
    return [getattr(row, name, "") for name in _attributes(row)]


def _names_of_row(row: object, width: int) -> list[str]:
    """Return the names of the values in a row of any kind; numbers if they have no names."""
    if isinstance(row, Mapping):
        return [str(name) for name in row]
    fields: Iterable[str] | None = getattr(row, "_fields", None)
    if fields is None:
        is_object = not isinstance(row, (tuple, list, str, bytes, int, float)) and row is not None
        fields = _attributes(row) if is_object else [str(index) for index in range(width)]
    return list(fields)


def _attributes(row: object) -> list[str]:
    slots = [name for cls in reversed(type(row).__mro__) for name in getattr(cls, "__slots__", ())]
    return [name for name in (*slots, *getattr(row, "__dict__", ())) if not name.startswith("_")]
