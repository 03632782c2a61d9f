"""Test `FailedRows`, the file that keeps failed rows so that you can fix and load them again."""

from __future__ import annotations

import json
import os
import stat
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk import failed_rows
from cassandra.bulk.chunks import Chunk, Column, Position, RowLocation
from cassandra.bulk.failed_rows import FailedRows, check_failed_rows, rows_after, size_of
from cassandra.cqltypes import DateType, DoubleType, Int32Type, SimpleDateType, UTF8Type
from cassandra.query.tables.rows import rows_of
from cassandra.sentinels import UNSET_VALUE

COLUMNS = (Column("id", Int32Type, is_key=True), Column("name", UTF8Type))


def failed_row(
    path: Path,
    raw: Any = None,
    row: Any = None,
    names: Any = None,
    is_table: bool = False,
    **more: Any,
) -> Any:
    """Write a failed row to the file, and return the file's line as a string and as a dict.

    :param raw: the row's text or fields in the source file.
    :param row: the row of an application, if `raw` is None.
    :param names: the names in the source's header.
    :param is_table: True if `row` is a table or array with one row.
    :param more: parameters of `FailedRows` that differ from the usual values.
    """
    settings = {"columns": COLUMNS, "fields": ["id", "name"], "mapping": {}, "nulls": ("", "NULL")}
    path.unlink(missing_ok=True)
    file = FailedRows(path, **{**settings, **more})
    rows = row if is_table else [row]
    # Only rows of a file have a source.
    source = None if raw is None else "a"
    chunk = Chunk(
        rows,
        size=1,
        source=source,
        first=1,
        lines=None,
        position=Position(0, 1),
        raw=None if raw is None else [raw],
        names=names,
    )
    file.keep(chunk, 0, RowLocation("a", 1, 7), "is wrong")
    file.sync()
    file.close()
    (line,) = path.read_text(encoding="utf-8").splitlines()
    return line, json.loads(line)


# the fields ("notes") that a load adds to each failed row; here for the location and error that
# `failed_row` passes
NOTES = {"_source": "a", "_row": 1, "_line": 7, "_error": "is wrong"}


@pytest.mark.parametrize(
    ("raw", "names", "fields"),
    [
        (["x", "NULL"], ("id", "name"), {"id": "x", "name": None}),
        (["", ""], ("id", "name"), {"id": "", "name": None}),  # An empty key is not null.
        (["1", "a", "b"], ("id", "name"), {"_fields": ["1", "a", "b"]}),
        (["1"], ("id", "name"), {"_fields": ["1"]}),
        (["1", "2"], ("id", "id"), {"_fields": ["1", "2"]}),
        ('1,"a"b\n', ("id", "name"), {"_text": '1,"a"b\n'}),
        ('{"id": 1', None, {"_text": '{"id": 1'}),
        ("[1]", None, {"_text": "[1]"}),
        ("{}", None, {}),
        (["1", "\udce9"], ("id", "name"), {"id": "1", "name": "\udce9"}),
    ],
)
def test_rows_of_files_keep_their_fields_or_their_text(
    tmp_path: Path, raw: Any, names: Any, fields: dict[str, Any]
) -> None:
    """A CSV row is written with the header's names if it has as many fields as the header.

    Otherwise its fields are written as a list, or as text if the csv module could not split the
    row.
    """
    _, written_fields = failed_row(tmp_path / "f", raw, row=None, names=names)
    assert written_fields == {**fields, **NOTES}


def test_lines_of_json_keep_each_digit(tmp_path: Path) -> None:
    """A failed line of JSON is copied as text.

    Parsing its numbers as floats would lose digits.
    """
    line, fields = failed_row(tmp_path / "f", '{"d": 12345678901234567890.50, "e": 1e400}\n')
    assert line.startswith('{"d": 12345678901234567890.50, "e": 1e400, "_source": "a"')
    assert fields["_line"] == 7
    # A byte that is not UTF-8 is written unchanged, so the row fails again until it is corrected.
    _, fields = failed_row(tmp_path / "f", '{"d": "\udce9"}')
    assert fields == {"_text": '{"d": "\udce9"}', **NOTES}


def test_notes_do_not_clash_with_fields(tmp_path: Path) -> None:
    """If the source has a field with the name of a note, all notes get an additional underscore."""
    notes_with_two_underscores = {f"_{name}": value for name, value in NOTES.items()}
    notes_with_three_underscores = {f"__{name}": value for name, value in NOTES.items()}
    _, fields = failed_row(tmp_path / "f", ["x", "y"], row=None, names=("_row", "__line"))
    assert fields == {"_row": "x", "__line": "y", **notes_with_three_underscores}
    _, fields = failed_row(tmp_path / "f", '{"_error": 5}')
    assert fields["_error"] == 5
    assert fields["__error"] == "is wrong"
    _, fields = failed_row(tmp_path / "f", ["x"], row=None, names=("id",), fields=["id", "_source"])
    assert fields == {"id": "x", **notes_with_two_underscores}


def test_rows_of_the_application(tmp_path: Path) -> None:
    """A failed row of the application is written by name, or as a list or string."""

    class ObjectWithFields:
        id, name = 5, "e"

    class ObjectWithoutRepr:
        def __repr__(self) -> str:
            raise ValueError("no repr")

    for row, fields in (
        (("1", "a"), {"id": "1", "name": "a"}),
        ((b"\1", "a"), {"id": "0x01", "name": "a"}),
        ([1], {"_fields": [1]}),
        ({"name": None, "id": 7}, {"name": None, "id": 7}),
        (ObjectWithFields(), {"id": 5, "name": "e"}),
    ):
        assert failed_row(tmp_path / "f", row=row)[1] == {**fields, **NOTES}, row
    assert "_text" in failed_row(tmp_path / "f", row=ObjectWithoutRepr())[1]


def test_fields_that_the_load_leaves_out_are_not_written(tmp_path: Path) -> None:
    """With `columns=` (not `is_closed`) or `ignore=`, the file only has the fields the load writes.

    So a load of the file without these options does not write the other fields. Notes of an earlier
    load stay. Without these options, a field without a column is the error that the file shows.
    """
    raw = ["1", "x", "y"]
    for more, names in (
        ({"is_closed": False}, {"id", "name"}),
        ({"ignored": {"more"}}, {"id", "name"}),
        ({}, {"id", "name", "more"}),
    ):
        settings: Any = more
        _, fields = failed_row(tmp_path / "f", raw, names=("id", "name", "more"), **settings)
        assert fields.keys() == {*names, *NOTES}
        row = dict(zip(("id", "name", "more"), raw, strict=True))
        assert failed_row(tmp_path / "f", row=row, **settings)[1].keys() == {*names, *NOTES}
    # The fields that are kept have the same text as in the source.
    text = '{ "more" : {"a": [1, "}"]}, "id":1.50 ,\t"\\u006eame": "\\"x" , "z": -0, "_row": 5}\n'
    line, fields = failed_row(tmp_path / "f", text, is_closed=False)
    kept = '{"id":1.50, "\\u006eame": "\\"x", "_row": 5, '
    assert line == kept + json.dumps({f"_{name}": value for name, value in NOTES.items()})[1:]
    assert fields["name"] == '"x'
    for text in ('{"more": 1}', "{}", " { } "):
        line, fields = failed_row(tmp_path / "f", text, is_closed=False)
        assert fields == NOTES
    long_number = "1" * 5000
    with pytest.raises(ValueError, match="digits"):  # json.loads refuses such numbers
        failed_row(tmp_path / "f", f'{{"id": {long_number}, "x": 1}}', is_closed=False)
    assert (tmp_path / "f").read_text().startswith(f'{{"id": {long_number}, "_source"')


def test_objects_have_all_of_their_fields(tmp_path: Path) -> None:
    """A field of an object that has no column is written, too, because it may be misspelt."""
    _, fields = failed_row(tmp_path / "f", row=SimpleNamespace(id=5, nmae="x", _private=1))
    assert fields == {"id": 5, "nmae": "x", **NOTES}


def test_fields_of_objects_that_are_left_out_are_not_read(tmp_path: Path) -> None:
    """If the load leaves a field out, it is not read, so it need not be readable.

    The file has the other fields.
    """

    class Detached:
        __slots__ = ("big", "id", "name")

        def __getattribute__(self, name: str) -> Any:
            if name == "big":
                raise RuntimeError("not bound to a Session")
            return super().__getattribute__(name)

    row: Any = Detached()
    row.id, row.name = 5, "x"
    settings: list[Any] = [{"is_closed": False}, {"ignored": {"big"}}]
    for more in settings:
        _, fields = failed_row(tmp_path / "f", row=row, **more)
        assert fields == {"id": 5, "name": "x", **NOTES}


def test_rows_with_two_values_for_a_column_are_lists(tmp_path: Path) -> None:
    """If a statement binds a column twice, a row without names is written with all its values."""
    name, key = Column("name", UTF8Type), Column("id", Int32Type, is_key=True)
    twice: dict[str, Any] = {"columns": [name, key, name], "fields": ["name", "id", "name"]}
    _, fields = failed_row(tmp_path / "f", row=("new", 2, "old"), **twice)
    assert fields == {"_fields": ["new", 2, "old"], **NOTES}
    numpy = pytest.importorskip("numpy")
    array = numpy.array([["new", "2", "old"]], dtype=object)
    _, fields = failed_row(tmp_path / "f", row=array, is_table=True, **twice)
    assert fields == {"_fields": ["new", "2", "old"], **NOTES}
    # With names, both values are from one field.
    _, fields = failed_row(tmp_path / "f", row={"name": "x", "id": 2}, **twice)
    assert fields == {"name": "x", "id": 2, **NOTES}


def test_fields_have_the_names_of_the_source(tmp_path: Path) -> None:
    """A failed row has the names of the source's fields, not the names of the columns.

    So the file can be loaded with the same argument `columns`, even if `columns` exchanges two
    names.
    """
    exchanged_names: dict[str, Any] = {
        "mapping": {"id": "name", "name": "id"},
        "fields": ["name", "id"],
    }
    _, fields = failed_row(tmp_path / "f", row={"id": "x", "name": 1, "more": 5}, **exchanged_names)
    assert fields == {"id": "x", "name": 1, "more": 5, **NOTES}
    _, fields = failed_row(tmp_path / "g", row=(1, "x"), **exchanged_names)
    assert fields == {"id": "x", "name": 1, **NOTES}
    numpy = pytest.importorskip("numpy")
    array = numpy.array([(1, "x")], dtype=[("id", "i4"), ("name", "U1")])
    _, fields = failed_row(tmp_path / "h", row=array, is_table=True, **exchanged_names)
    assert fields == {"id": "x", "name": 1, **NOTES}
    # The values of an array without names are in the order of `fields`.
    array = numpy.array([["x", 1]], dtype=object)
    _, fields = failed_row(tmp_path / "i", row=array, is_table=True, fields=["name", "id"])
    assert fields == {"id": 1, "name": "x", **NOTES}


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "numpy"])
def test_many_rows_of_a_table_are_kept(
    tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed rows of a table are converted a few at a time, in whatever order they fail.

    If one row cannot be converted, the other failed rows are still kept.
    """
    module = pytest.importorskip(library)
    monkeypatch.setattr(failed_rows, "_ROWS_AT_A_TIME", 4)
    size = 11
    bad_id = 106
    row_counts = []

    def counting_rows_of(table: Any, columns: Any) -> Any:
        """Record how many rows are converted together, and fail if the bad one is among them."""
        rows = rows_of(table, columns)
        row_counts.append(len(list(rows)))
        if any(row[0] == bad_id for row in rows):
            raise OverflowError("a value of this row cannot be converted")
        return rows

    monkeypatch.setattr(failed_rows, "rows_of", counting_rows_of)

    def table_from(first_id: int) -> Any:
        """Return a table of `size` rows with ascending ids, of the library's class."""
        pairs = [(number, f"name {number}") for number in range(first_id, first_id + size)]
        if library == "numpy":
            return module.array(pairs, dtype=[("id", "i4"), ("name", "U9")])
        names = {"id": [number for number, _ in pairs], "name": [name for _, name in pairs]}
        return module.DataFrame(names) if library == "pandas" else module.table(names)

    file = FailedRows(tmp_path / "f", COLUMNS, ["id", "name"], mapping={}, nulls=())
    position = Position(0, size)
    expected = []
    for first_id in (0, 100):
        table = table_from(first_id)
        chunk = Chunk(table, size, source=None, first=0, lines=None, position=position, raw=None)
        for index in (0, 3, 4, 1, 5, 7, 10, 9):
            file.keep(chunk, index, RowLocation("a", index, None), "is wrong")
            expected.append(first_id + index)
    file.close()
    lines = [json.loads(line) for line in (tmp_path / "f").read_text().splitlines()]
    assert [(line["id"], line["name"]) for line in lines] == [
        (number, f"name {number}") for number in expected
    ]
    # The rows 0, 3 | 4 | 1 | 5, 7 | 10, 9 were converted in blocks of four: the blocks of rows 0 to
    # 3, 4 to 7, 0 to 3, 4 to 7, and 8 to 10. In the second table, the block from row 4 on has the
    # bad row, so its conversion fails, and the rows 4, 5 and 7 are converted one by one.
    assert row_counts == [4, 4, 4, 4, 3, 4, 4, 1, 4, 4, 1, 1, 3]


def test_missing_and_unset_values_are_left_out_or_null(tmp_path: Path) -> None:
    """Unset values and missing attributes are left out; pandas' missing values become null."""

    class ObjectWithoutName:
        id = 5

    for row in ((5, UNSET_VALUE), {"id": 5, "name": UNSET_VALUE}, ObjectWithoutName()):
        assert failed_row(tmp_path / "f", row=row)[1] == {"id": 5, **NOTES}
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    for missing in (pandas.NA, pandas.NaT, None):
        assert failed_row(tmp_path / "f", row=(5, missing))[1] == {"id": 5, "name": None, **NOTES}
    # In a data frame, NaN also means a missing value.
    for missing in (pandas.NA, pandas.NaT, None, float("nan"), numpy.float64("nan")):
        frame = pandas.DataFrame({"id": [70000], "name": pandas.Series([missing], dtype=object)})
        _, fields = failed_row(tmp_path / "f", row=frame, is_table=True)
        assert fields == {"id": 70000, "name": None, **NOTES}


def test_rows_of_files_without_lines_are_in_the_order_of_the_columns(tmp_path: Path) -> None:
    """A failed row of a Parquet file has the order of the file's columns, not of `fields`."""
    file = FailedRows(tmp_path / "f", COLUMNS, ["name", "id"], mapping={}, nulls=())
    chunk = Chunk(
        [(5, UNSET_VALUE)],
        size=1,
        source="a.parquet",
        first=1,
        lines=None,
        position=Position(0, 1),
        raw=None,
    )
    file.keep(chunk, 0, RowLocation("a", 1, 7), "is wrong")
    file.close()
    assert json.loads((tmp_path / "f").read_text()) == {"id": 5, **NOTES}


@pytest.mark.filterwarnings("ignore:.* milliseconds are a moment after the year 9999")
def test_values_are_converted_as_for_the_column(tmp_path: Path) -> None:
    """A value of numpy or Arrow is written as a string that a load reads as the same CQL value."""
    numpy = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    for cql_type, array, expected in (
        (
            DateType,
            numpy.array([1577836800], "M8[s]").astype("M8[ns]"),
            "2020-01-01 00:00:00+00:00",
        ),
        (DateType, pyarrow.array([1 << 60], pyarrow.timestamp("ms")), 1 << 60),
        (SimpleDateType, pyarrow.array([10**7], "int32").cast("date32"), "+29349-01-26"),
        (DoubleType, numpy.array([float("nan")]), "nan"),
    ):
        table: Any = pyarrow.table({"id": [5], "name": array})
        # Use a NumPy array as a field of a structured array, not of an Arrow table.
        if isinstance(array, numpy.ndarray):
            table = numpy.zeros(1, dtype=[("id", "i4"), ("name", array.dtype)])
            table["id"], table["name"] = 5, array
        columns = (COLUMNS[0], COLUMNS[1]._replace(type=cql_type))
        _, fields = failed_row(tmp_path / "f", row=table, is_table=True, columns=columns)
        assert fields == {"id": 5, "name": expected, **NOTES}


def test_values_that_json_cannot_represent_are_not_ordinary_fields(tmp_path: Path) -> None:
    """A value that JSON cannot represent is written under "_fields", and the row's error says so.

    For example, JSON has only one NaN, so a NaN with other bits would be loaded as a different
    value. The row fails until it is corrected.
    """
    columns = (COLUMNS[0], COLUMNS[1]._replace(type=DoubleType))
    nan_with_payload = struct.unpack(">d", b"\x7f\xf8\0\0\0\0\0\1")[0]
    _, fields = failed_row(tmp_path / "f", row=(5, nan_with_payload), columns=columns)
    assert fields["_fields"] == {"name": "nan"}
    assert fields["id"] == 5
    assert "name" not in fields
    # Here the column is a text. Bytes and a class do not fit the column, so they go into "_fields".
    for value in (b"\1", object):
        _, fields = failed_row(tmp_path / "f", row=(5, value))
        assert fields["id"] == 5
        assert list(fields["_fields"]) == ["name"]
    assert (
        fields["_error"] == "is wrong (JSON cannot have the value of 'name', which is in '_fields')"
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_only_the_owner_can_read_clear_values_of_encrypted_columns(tmp_path: Path) -> None:
    """The file of failed rows gets the mode 0600 if a column is encrypted."""
    hidden = (COLUMNS[0], COLUMNS[1]._replace(is_hidden=True))
    failed_row(tmp_path / "f", ["x", "y"], row=None, names=("id", "name"), columns=hidden)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_an_existing_file_is_made_private_for_values_of_encrypted_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If others may read an existing file, only its owner may after the first such value.

    If the permissions cannot be changed, the row is not written to the file.
    """
    path = tmp_path / "f"
    for columns, mode in ((COLUMNS, 0o644), ([Column("id", Int32Type, is_hidden=True)], 0o600)):
        path.write_text("")
        path.chmod(0o644)
        file = FailedRows(path, columns, ["id"], {}, ())
        chunk = Chunk([{"id": 5}], 1, "a", 1, None, Position(0, 1), None)
        file.keep(chunk, 0, RowLocation("a", 1, 7), "is wrong")
        file.close()
        assert stat.S_IMODE(path.stat().st_mode) == mode

    def refuse(*args: Any) -> None:
        raise PermissionError("not your file")

    monkeypatch.setattr(os, "chmod", refuse)
    path.write_text("")
    file = FailedRows(path, columns, ["id"], {}, ())
    file.keep(chunk, 0, RowLocation("a", 1, 7), "is wrong")  # The file is private already.
    file.close()
    path.write_text("")
    monkeypatch.undo()
    path.chmod(0o640)
    monkeypatch.setattr(os, "chmod", refuse)
    file = FailedRows(path, columns, ["id"], {}, ())
    with pytest.raises(PermissionError, match="a file of another user that others may read"):
        file.keep(chunk, 0, RowLocation("a", 1, 7), "is wrong")
    file.close()
    assert path.read_text() == ""


def test_rows_of_an_earlier_load_are_kept(tmp_path: Path) -> None:
    """Failed rows are appended to the file, even if its last line is incomplete."""
    path = tmp_path / "f"
    # A load was interrupted while it wrote this line.
    path.write_text('{"id": 5, "_error": "is wr')
    for row in ((1,), (2,)):
        file = FailedRows(path, COLUMNS, ["id"], mapping={}, nulls=())
        chunk = Chunk(
            [row], size=1, source=None, first=0, lines=None, position=Position(0, 1), raw=None
        )
        file.keep(chunk, 0, RowLocation(source=None, row=0, line=None), "x")
        file.close()
    lines = path.read_text().splitlines()
    # The incomplete line stays, and new rows begin on a new line.
    assert lines[0] == '{"id": 5, "_error": "is wr'
    assert [json.loads(line)["id"] for line in lines[1:]] == [1, 2]


def test_a_file_without_failed_rows_is_refused(tmp_path: Path) -> None:
    """A load refuses to append failed rows to a file that has no failed rows.

    The user may have named the file by mistake.
    """
    path = tmp_path / "f"
    # A file that does not exist yet is accepted.
    check_failed_rows(path)
    # An empty file is accepted, and so are files whose lines have the notes of a load.
    for text in ("", '{"id": 5, "__error": "is wrong"}\n', '{"id": 5, "_row": 1}'):
        path.write_text(text)
        check_failed_rows(path)
    for text in ("id,name\n1,a\n", '{"id": 5}\n', "[]", '{"id'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"'.*f' has something else than failed rows"):
            check_failed_rows(path)


def test_rows_that_an_interrupted_load_has_written_are_not_written_again(tmp_path: Path) -> None:
    """A resumed load does not write failed rows again that the interrupted load has written.

    The checkpoint has the size of the file. Rows after this size are identified by source and row
    number, and by the name of the load.
    """
    path = tmp_path / "f"
    assert size_of(path) == 0
    assert rows_after(path, 0, "a") == set()
    chunk = Chunk(
        [("x", "a")],
        size=1,
        source="a.csv",
        first=1,
        lines=None,
        position=Position(0, 1),
        raw=[["x", "a"]],
        names=("_row", "id"),
    )

    def keep(
        source: str | None, row: int, size_at_checkpoint: int | None = None, load: str = "a"
    ) -> None:
        """Write a failed row of a load to the file.

        With `size_at_checkpoint` (bytes), a row that is already in the file after this size is not
        written again.
        """
        file = FailedRows(path, COLUMNS, ["id", "name"], mapping={}, nulls=("",))
        file.name_load(load)
        if size_at_checkpoint is not None:
            file.skip_rows_after(size_at_checkpoint)
        file.keep(chunk, 0, RowLocation(source, row, 7), "is wrong")
        file.close()

    keep("a.csv", 1)
    size = size_of(path)
    keep("a.csv", 5)
    keep(source=None, row=6)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"id": 1}\n{"_source": 5, "_row": 5, "_line": 5, "_error": "", "_load": "a"}\n')
        file.write('{"_source": null, "_row": 8, "_line": 5, "_error": ""}\n')
        file.write('{"_source": "a.csv", "_row": 7}\n[]\n\xff\n{"id": 2, "_sou')
    # Only complete rows with notes count, and only rows that begin after `size`.
    existing = rows_after(path, size, "a")
    assert existing == {(os.path.abspath("a.csv"), 5), (None, 6)}
    content_before = path.read_bytes()
    # The file has these two rows already, so `keep` does not write them again. The first path is
    # another way to write the path of a.csv.
    keep(str(tmp_path / ".." / os.path.abspath("a.csv")), row=5, size_at_checkpoint=size)
    keep(source=None, row=6, size_at_checkpoint=size)
    assert path.read_bytes() == content_before
    keep("b.csv", row=5, size_at_checkpoint=size)
    assert rows_after(path, size, "a") - existing == {(os.path.abspath("b.csv"), 5)}
    # A row of another load is no row of this load, even with the same source and number.
    keep("b.csv", row=5, size_at_checkpoint=size, load="b")
    assert rows_after(path, size, "b") == {(os.path.abspath("b.csv"), 5)}
    # If the file has no line end at the checkpoint's size, or is shorter, it was replaced since the
    # checkpoint. So no rows count as written.
    assert rows_after(path, size - 1, "a") == set()
    assert rows_after(path, size_of(path) + 1, "a") == set()
