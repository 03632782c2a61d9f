"""The file of failed rows: nothing of a row is lost there."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk.chunks import Chunk, Column, Place, Position
from cassandra.bulk.failed_rows import FailedRows
from cassandra.cqltypes import Int32Type, UTF8Type

COLUMNS = (Column("id", Int32Type, is_key=True), Column("name", UTF8Type))


def kept(path: Path, raw: Any = None, row: Any = None, names: Any = None, **more: Any) -> Any:
    """Return the text and the fields of a line of a row that failed."""
    made = {"columns": COLUMNS, "fields": ["id", "name"], "mapping": {}, "nulls": ("", "NULL")}
    file = FailedRows(path, **{**made, "is_continued": False, **more})
    chunk = Chunk([row], 1, "a", 1, None, Position(0, 1), None if raw is None else [raw], names)
    file.keep(chunk, 0, Place("a", 1, 7), "is wrong")
    file.sync()
    file.close()
    (line,) = path.read_text(encoding="utf-8").splitlines()
    return line, json.loads(line)


NOTES = {"_source": "a", "_row": 1, "_line": 7, "_error": "is wrong"}


@pytest.mark.parametrize(
    ("raw", "names", "fields"),
    [
        (["x", "NULL"], ("id", "name"), {"id": "x", "name": None}),
        (["", ""], ("id", "name"), {"id": "", "name": None}),  # an empty key is no null
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
def test_rows_of_files(tmp_path: Path, raw: Any, names: Any, fields: dict[str, Any]) -> None:
    assert kept(tmp_path / "f", raw, None, names)[1] == {**fields, **NOTES}


def test_lines_of_json_keep_each_digit(tmp_path: Path) -> None:
    line, fields = kept(tmp_path / "f", '{"d": 12345678901234567890.50, "e": 1e400}\n')
    assert line.startswith('{"d": 12345678901234567890.50, "e": 1e400, "_source": "a"')
    assert fields["_line"] == 7
    # A byte that is no UTF-8 stays what it was, and stays wrong.
    _, fields = kept(tmp_path / "f", '{"d": "\udce9"}')
    assert fields == {"_text": '{"d": "\udce9"}', **NOTES}


def test_notes_do_not_clash_with_fields(tmp_path: Path) -> None:
    _, fields = kept(tmp_path / "f", ["x", "y"], None, ("_row", "__line"))
    assert fields == {"_row": "x", "__line": "y", **{f"__{k}": v for k, v in NOTES.items()}}
    _, fields = kept(tmp_path / "f", '{"_error": 5}')
    assert (fields["_error"], fields["__error"]) == (5, "is wrong")
    _, fields = kept(tmp_path / "f", ["x"], None, ("id",), fields=["id", "_source"])
    assert fields == {"id": "x", **{f"_{k}": v for k, v in NOTES.items()}}


def test_rows_of_the_program(tmp_path: Path) -> None:
    class Plain:
        id, name = 5, "e"

    class Silent:
        def __repr__(self) -> str:
            raise ValueError("no repr")

    for row, fields in (
        ((1, b"\1"), {"id": 1, "name": "0x01"}),
        ([1], {"_fields": [1]}),
        ({"name": None, "id": 7}, {"name": None, "id": 7}),
        (Plain(), {"id": 5, "name": "e"}),
    ):
        assert kept(tmp_path / "f", row=row)[1] == {**fields, **NOTES}, row
    assert "_text" in kept(tmp_path / "f", row=Silent())[1]
    # By the names that the fields have in the source: it is loaded by the same columns= again.
    _, fields = kept(tmp_path / "f", row={"id": 1}, mapping={"id": "number"})
    assert fields["number"] == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_clear_values_of_encrypted_columns_are_for_the_owner(tmp_path: Path) -> None:
    hidden = (COLUMNS[0], COLUMNS[1]._replace(is_hidden=True))
    kept(tmp_path / "f", ["x", "y"], None, ("id", "name"), columns=hidden)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


def test_a_load_that_goes_on_appends(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("before\n")
    file = FailedRows(path, COLUMNS, ["id"], {}, (), True)
    file.keep(Chunk([(1,)], 1, None, 0, None, Position(0, 1), None), 0, Place(None, 0, None), "x")
    file.close()
    assert len(path.read_text().splitlines()) == 2
