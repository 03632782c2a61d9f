"""How results look in a shell and in a notebook, in the blocking and asyncio APIs.

Some tests are about `one(strict=True)`.
"""

from __future__ import annotations

import datetime
import decimal
import io
import struct
import sys
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.client import display
from cassandra.cluster import Cluster, MultipleRowsFound, ResultSet
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.messages.results import VOID_RESULT, rows_result
from cassandra.query import dict_factory, named_tuple_factory, tuple_factory
from cassandra.testing.fake import FakeNode, rows as answer
from cassandra.util import OrderedMap, SortedSet
from tests.unit.metadata.schema.rows import schema

COLUMNS = [ColumnMetadata("ks", "t", "id", Int32Type), ColumnMetadata("ks", "t", "name", UTF8Type)]


def message(*rows: tuple[int | None, str], damaged: bool = False) -> Any:
    """Return a result message with rows of an int column `id` and a text column `name`.

    :param rows: the values of each row.
    :param damaged: True to make the last name invalid UTF-8.
    """
    body = struct.pack(">i", len(rows))
    for row_id, name in rows:
        body += struct.pack(">i", -1) if row_id is None else struct.pack(">ii", 4, row_id)
        body += struct.pack(">i", len(name.encode())) + name.encode()
    if damaged:
        body = body[:-1] + b"\xff"
    return rows_result(ResultMetadata(COLUMNS), body, 0)


def blocking(
    response: Any, more: bool = False, row_factory: Any = named_tuple_factory
) -> ResultSet[Any]:
    """Return a blocking result of one page.

    :param response: the result message.
    :param more: True if further pages follow.
    :param row_factory: makes the rows.
    """
    future = SimpleNamespace(
        row_factory=row_factory, has_more_pages=more, paging_state=b"s" if more else None
    )
    return ResultSet(future, response)


def asynchronous(response: Any, more: bool = False, row_factory: Any = named_tuple_factory) -> Any:
    """Return an asyncio result of one page.

    :param response: the result message.
    :param more: True if further pages follow.
    :param row_factory: makes the rows.
    """
    if more:
        response.paging_state = b"s"
    request: Any = SimpleNamespace(response=response, attempts=[])
    session: Any = None
    return aio.ResultSet(session, request, row_factory)


BOTH_APIS = pytest.mark.parametrize("make_result", [blocking, asynchronous])


@BOTH_APIS
def test_str_of_a_result_is_a_table(make_result: Any) -> None:
    """`str` of a result shows its rows as a table, and does not consume them."""
    result = make_result(message((1, "ada"), (None, "bob\nline")))
    assert str(result).splitlines() == [
        "id   | name",
        "int  | text",
        "-----+---------",
        "1    | ada",
        "None | bob line",
        "(2 rows)",
    ]
    assert repr(result) == "<ResultSet: 2 rows of id, name>"
    assert result.one() == (1, "ada")


@BOTH_APIS
def test_long_results_are_truncated(make_result: Any) -> None:
    """For a long result, `str` and the HTML table show 20 rows, with shortened values."""
    result = make_result(message(*[(number, "x" * 1000) for number in range(50)]), more=True)
    lines = str(result).splitlines()
    # These are three lines of the head, 20 rows, and a last line.
    assert len(lines) == 3 + 20 + 1
    assert max(map(len, lines)) < 80
    assert lines[-1] == "(the first 20 of 50 rows, more pages)"
    assert repr(result) == "<ResultSet: 50 rows of id, name, more pages>"
    # The HTML table has a row for the head, and 20 rows.
    assert result._repr_html_().count("<tr>") == 21


@BOTH_APIS
def test_html_for_notebooks_is_escaped(make_result: Any) -> None:
    html = make_result(message((1, "<script>alert(1)</script> & more")))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.startswith("<table><thead><tr><th>id<br><small>int</small></th>")
    assert "<p>(1 row)</p>" in html


@BOTH_APIS
def test_str_of_a_result_without_rows(make_result: Any) -> None:
    """A void result is shown as "no rows", and an empty result as a table of 0 rows."""
    result = make_result(VOID_RESULT)
    assert repr(result) == "<ResultSet: no rows>"
    assert str(result) == "<ResultSet: no rows>"
    assert result._repr_html_() == "<p>&lt;ResultSet: no rows&gt;</p>"
    empty = make_result(message())
    assert str(empty).splitlines()[-1] == "(0 rows)"
    assert empty.one(strict=True) is None


@BOTH_APIS
def test_str_of_damaged_rows_has_the_error(make_result: Any) -> None:
    result = make_result(message((1, "ada"), damaged=True))
    assert repr(result) == "<ResultSet: 1 rows of id, name>"
    assert "which cannot be read: row 0, column &quot;name&quot;" in result._repr_html_()
    assert 'which cannot be read: row 0, column "name"' in str(result)


@BOTH_APIS
def test_str_does_not_consume_rows(make_result: Any) -> None:
    """Showing a result does not consume its rows, and it can be shown after it was read."""
    result = make_result(message((1, "ada"), (2, "bob")))
    str(result)
    result._repr_html_()
    assert list(result.current_rows) == [(1, "ada"), (2, "bob")]
    assert "ada" in str(result)


@pytest.mark.parametrize("row_factory", [named_tuple_factory, dict_factory, tuple_factory])
def test_str_of_a_result_that_was_indexed(row_factory: Any) -> None:
    """`str` also works if the rows were already converted by the row factory."""
    result = blocking(message((1, "ada")), row_factory=row_factory)
    assert result[0:1]  # this decodes the rows
    header, *_, row, row_count = str(result).splitlines()
    # Tuples have no column names, so their columns are numbered.
    if row_factory is tuple_factory:
        assert (header, row) == ("0 | 1", "1 | ada")
    else:
        assert header.split(" | ") == ["id", "name"]
        assert row == "1  | ada"
    assert row_count == "(1 row)"


@BOTH_APIS
def test_one_with_strict_refuses_several_rows(make_result: Any) -> None:
    assert make_result(message((1, "ada"))).one(strict=True) == (1, "ada")
    with pytest.raises(MultipleRowsFound, match="one row was expected, but there are more"):
        make_result(message((1, "ada"), (2, "bob"))).one(strict=True)
    assert make_result(message((1, "ada"), (2, "bob"))).one() == (1, "ada")


def test_one_with_strict_reads_over_short_pages() -> None:
    """`one(strict=True)` skips empty pages, which servers may return.

    The blocking `one` requests further pages. The asyncio `one` cannot, and raises an error
    instead.
    """
    pages = [message(), message((1, "ada")), message()]

    class Future:
        """A response future that yields the pages above and completes at once."""

        row_factory = staticmethod(named_tuple_factory)
        index = 0

        @property
        def has_more_pages(self) -> bool:
            return self.index + 1 < len(pages)

        def start_fetching_next_page(self) -> None:
            self.index += 1

        def result(self) -> ResultSet[Any]:
            return ResultSet(self, pages[self.index])

    # There is one row, between two empty pages.
    assert ResultSet(Future(), pages[0]).one(strict=True) == (1, "ada")
    # The third page has a second row.
    pages[2] = message((2, "bob"))
    with pytest.raises(MultipleRowsFound):
        ResultSet(Future(), pages[0]).one(strict=True)
    # An asyncio result cannot fetch the next page without `await`.
    with pytest.raises(RuntimeError, match="fetch_all"):
        asynchronous(message((1, "ada")), more=True).one(strict=True)


def test_rows_of_any_type_can_be_shown() -> None:
    """`str` and `_repr_html_` accept rows of any type.

    Rows may have different lengths, different keys, attributes that are not set, or no columns.
    """

    class Base:
        __slots__ = ("a", "b")

    class Derived(Base):
        __slots__ = ("c",)

    derived: Any = Derived()
    derived.a = 1
    for rows in ([(1, 2), (1,)], [{"a": 1}, {"a": 1, "b": 2}], [derived], ["\x1b[2J"], [()]):
        result: ResultSet[Any] = ResultSet(SimpleNamespace(has_more_pages=False), rows)
        # Control sequences in a value must not reach the terminal.
        assert "\x1b" not in str(result)
        assert result._repr_html_()
    assert "a" in str(ResultSet[Any](SimpleNamespace(has_more_pages=False), [derived]))


# -- in a terminal ---------------------------------------------------------------------------------


class Printer:
    """A fake of the printer that IPython passes to `_repr_pretty_`."""

    def __init__(self) -> None:
        self.shown = ""

    def text(self, text: str) -> None:
        self.shown += text


def pretty(thing: Any) -> str:
    """Return what IPython shows for an object."""
    printer = Printer()
    thing._repr_pretty_(printer, cycle=False)
    return printer.shown


WIDE = [("k", "int"), ("note", "text"), ("other", "text")]
VALUES = [(1, "x" * 50, "y" * 50), (2, "short", "z")]


@pytest.fixture
def wide_result() -> Iterator[Any]:
    """Yield a result with two text columns of up to 50 characters."""
    with FakeNode() as node:
        node.prime("SELECT", answer(WIDE, VALUES))
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect().execute("SELECT")


@pytest.mark.parametrize("columns", [40, 60, 100, 200])
def test_tables_fit_into_the_terminal(
    wide_result: Any, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is not wider than the terminal; its values are shortened if necessary."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    for text in (pretty(wide_result), str(wide_result)):
        assert max(map(len, text.splitlines())) <= columns
        assert text.splitlines()[0].split() == ["k", "|", "note", "|", "other"]
        # The whole table is about 110 characters wide.
        assert ("..." in text) == (columns < 110)
    # Types are shown by their CQL names.
    assert "text" in pretty(wide_result)
    assert "varchar" not in pretty(wide_result)


def test_if_columns_do_not_fit_each_row_is_shown_vertically(
    wide_result: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the terminal is too narrow for a table, each row is shown with one line per column."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "24")
    lines = pretty(wide_result).splitlines()
    assert lines[:3] == ["-- row 0 --", "k     | 1", "note  | " + "x" * 13 + "..."]
    assert lines[-1] == "(2 rows)"


def test_without_a_terminal_nothing_is_truncated(wide_result: Any) -> None:
    """If the standard output is no terminal, values are not truncated."""
    assert "y" * 50 in str(wide_result)


class Terminal(io.StringIO):
    """A fake standard output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_values_are_shown_in_a_readable_form() -> None:
    """UUIDs and the driver's collections are shown as plain values, without their class names."""
    for value, expected in (
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (SortedSet([2, 1]), "{1, 2}"),
        (OrderedMap([("a", 1)]), "{'a': 1}"),
        (datetime.date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
    ):
        assert display._short_text(value) == expected


def test_metadata_has_a_repr_and_is_shown_as_cql() -> None:
    """IPython shows keyspaces and tables as CQL, and `repr` of the metadata lists the keyspaces."""
    with FakeNode() as node:
        node.schema = schema("shop", "other", tables=1)
        with Cluster([node.address], port=node.port) as cluster, cluster.connect():
            metadata = cluster.metadata
            assert repr(metadata) == (
                f"<Metadata: cluster {metadata.cluster_name!r}, 1 host, 2 keyspaces: other, shop>"
            )
            keyspace = metadata.keyspaces["shop"]
            assert pretty(keyspace) == keyspace.export_as_string()
            assert pretty(keyspace.tables["t0"]).startswith("CREATE TABLE shop.t0 (")
    assert "not connected" not in repr(Cluster().metadata)


def test_times_and_decimals_are_shown_without_their_types() -> None:
    moment = datetime.datetime(2026, 11, 23, 9, 55, 28, 358000)
    assert display._short_text(moment) == "2026-11-23 09:55:28.358000"
    assert display._short_text(decimal.Decimal("1.75")) == "1.75"
