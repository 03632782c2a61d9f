"""Tests of loads of damaged files, which must bind each row or report its position.

The files have random damage. The expected rows come from oracles, which are readers that are
independent of the code under test: the csv module, json with decimals, pyarrow, and regular
expressions.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cassandra.bulk import binding, chunks, csv_files
from cassandra.bulk.binding import Binder
from cassandra.bulk.chunks import Column, Reading
from cassandra.bulk.groups import Keys
from cassandra.bulk.sources import chunks_of
from cassandra.bulk.texts import Formats
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.statements import prepared_insert

COLUMN_TYPES = {
    "id": "bigint",
    "name": "text",
    "amount": "decimal",
    "at": "timestamp",
    "flag": "boolean",
}
COLUMNS = [
    Column(name, lookup_cqltype(cql_type), name == "id") for name, cql_type in COLUMN_TYPES.items()
]
# This is the number of damaged files per test.
ROUNDS = 150


class Outcome(NamedTuple):
    """The outcome of loading a file.

    :param written: the encoded values of each row that could be bound, by its line or row number.
    :param failed: the line or row numbers of the rows that could not be bound.
    :param error: the error that ended the load, or None.
    """

    written: dict[int, bytes]
    failed: set[int]
    error: str | None


Load = Callable[[Path], Outcome]


@pytest.fixture
def load(implementation: Implementation, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Return a function that reads and binds a file as `Session.load` does, but sends nothing."""
    monkeypatch.setattr(binding, "bind", implementation.bind)
    monkeypatch.setattr(binding, "grouping", implementation.grouping)
    monkeypatch.setattr(csv_files, "csv_rows", implementation.csv_rows)
    prepared = prepared_insert(implementation, COLUMNS, [0])
    binder = Binder(
        prepared,
        COLUMNS,
        mapping={},
        order=range(len(COLUMNS)),
        keys=Keys((0,), ()),
        batch=None,
        owners=lambda: None,
    )
    binder.is_closed = True
    reading = Reading(
        format=None,
        columns=COLUMNS,
        mapping={},
        formats=Formats(),
        header=True,
        delimiter=None,
        quote='"',
        is_closed=True,
        # 5 is the version of the protocol.
        binding=(prepared.bind_plan, 5),
    )

    def load_file(path: Path) -> Outcome:
        """Read and bind the file, and return the outcome by line or row number."""
        outcome = Outcome({}, set(), None)
        source = chunks_of(path, reading)
        try:
            while (bound := binder.bind_next(source)) is not None:
                locations = [bound.chunk.location(index) for index in range(bound.chunk.size)]
                numbers = [location.line or location.row for location in locations]
                outcome.failed.update(numbers[index] for index, _ in bound.failures)
                # A wave is a group of requests that may be in flight together.
                for wave in bound.waves:
                    for group in wave.groups:
                        for index, row in enumerate(group.rows):
                            number = numbers[wave.row_numbers[row]]
                            outcome.written[number] = group.block.row(index).data
        except ValueError as error:
            return outcome._replace(error=str(error))
        return outcome

    return load_file


def bound_bytes(implementation: Implementation, values: list[Any]) -> bytes | None:
    """Return the encoded values of a row as they are sent, or None if it cannot be bound."""
    try:
        data: bytes = prepared_insert(implementation, COLUMNS, [0]).bind_plan.bind(values, 5).data
    except (ValueError, TypeError):
        return None
    return data


# -- oracles of values -----------------------------------------------------------------------------


class Refused(Exception):
    """Raised for a string that is not a value of the type."""


def value_of(cql_type: str, text: str) -> Any:
    """Return the value of the type `cql_type` that a string represents.

    :raises Refused: if the string is not a value of the type.
    """
    if cql_type == "text":
        return text
    text = text.strip(" \t")
    if cql_type == "bigint" and re.fullmatch("[+-]?[0-9]+", text):
        return int(text)
    if cql_type == "decimal" and re.fullmatch(
        r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text
    ):
        return Decimal(text)
    if cql_type == "boolean" and text.lower() in ("true", "t", "yes", "y", "1"):
        return True
    if cql_type == "boolean" and text.lower() in ("false", "f", "no", "n", "0"):
        return False
    if cql_type == "timestamp":
        return timestamp_of(text)
    raise Refused(text)


def timestamp_of(text: str) -> Any:
    """Return the timestamp that a string represents, as milliseconds or a datetime.

    :raises Refused: if the string is not a timestamp.
    """
    if re.fullmatch("[+-]?[0-9]+", text):
        # The number is in milliseconds.
        return int(text)
    match = re.fullmatch(
        r"([0-9]{4}-[0-9]{2}-[0-9]{2})([Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(\.[0-9]{1,9})?)?"
        r"([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?)?",
        text,
    )
    if match is None:
        raise Refused(text)
    day, _, clock, seconds, _, zone, _ = match.groups()
    seconds = (
        seconds[:10] if seconds else ":00"
        # The string is at most ":SS.ffffff", because strptime reads only microseconds.
    )
    if zone in (None, "z", "Z"):
        zone = "+00:00"
    # "+01" and "+0100" become "+01:00".
    elif ":" not in zone:
        hours, minutes = zone[:3], zone[3:] or "00"
        zone = f"{hours}:{minutes}"
    date_format = "%Y-%m-%d %H:%M:%S.%f%z"
    fraction = "" if "." in seconds else ".0"
    try:
        return datetime.datetime.strptime(
            f"{day} {clock or '00:00'}{seconds}{fraction}{zone}", date_format
        )
    except ValueError:
        raise Refused(text) from None


# -- files -----------------------------------------------------------------------------------------


def values(rng: random.Random) -> dict[str, Any]:
    """Return a random valid row."""
    moment = datetime.datetime(2001, 1, 1) + datetime.timedelta(milliseconds=rng.randrange(10**12))
    millis = str(rng.randrange(10**12, 2 * 10**12))
    return {
        "id": rng.randrange(-(10**12), 10**12),
        "name": rng.choice(
            ("plain", "", "a,b", 'a "b" c', "two\nlines", "é\N{GRINNING FACE}", " ")
        ),
        "amount": Decimal(rng.randrange(10**30)).scaleb(-rng.randrange(20)),
        "at": rng.choice((moment.isoformat(" "), millis, "2026-11-23")),
        "flag": rng.choice(("true", "False", "1", "n")),
    }


def damaged(rng: random.Random, data: bytes, kept_bytes: int) -> bytes:
    """Return `data` with up to three random changes after the first `kept_bytes` bytes.

    Each change inserts, deletes or replaces some bytes.
    """
    content = bytearray(data)
    for _ in range(rng.randrange(4)):
        position = rng.randrange(kept_bytes, len(content) + 1)
        change = rng.randrange(3)
        # The last piece has more open brackets than a JSON reader accepts.
        piece = rng.choice((b'"', b",", b"\n", b"\r", b"\xff", b"5", b"x", b"-", b"[" * 2000))
        if change == 0:
            content[position:position] = piece
        elif change == 1:
            del content[position : position + rng.randrange(5)]
        else:
            content[position : position + 1] = piece
    return bytes(content)


class Unclosed(Exception):
    """Raised if a file ends inside quotes, which ends the load."""


def csv_oracle(data: bytes) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the number of the first line and the fields of each row, as the csv module reads them.

    The fields are None if the row is not valid CSV.

    :raises Unclosed: at the end, if a quote is not closed.
    """
    lines = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    reader = csv.reader(lines, strict=True)
    next(reader)
    while True:
        begin = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise Unclosed from None
            yield begin, None
            continue
        if row is None:
            return
        if row:
            yield begin, row


def bytes_of_csv_row(implementation: Implementation, fields: list[str]) -> bytes | None:
    """Return the encoded values of a row of CSV, or None if the row cannot be bound.

    An empty field is null.
    """
    if len(fields) != len(COLUMN_TYPES):
        return None
    try:
        values = [
            None if field == "" else value_of(cql_type, field)
            for cql_type, field in zip(COLUMN_TYPES.values(), fields, strict=True)
        ]
    except Refused:
        return None
    return bound_bytes(implementation, values)


@pytest.mark.parametrize("seed", range(4))
def test_csv(
    implementation: Implementation,
    load: Load,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """For a damaged CSV file, the good rows and failed lines must be those of the oracle."""
    rng = random.Random(seed)
    path = tmp_path / "a.csv"
    for _ in range(ROUNDS):
        # The buffers and chunks are often small, so that they end at many different places of the
        # file.
        monkeypatch.setattr(csv_files, "MORE_BYTES", rng.choice((7, 300, 1 << 20)))
        monkeypatch.setattr(chunks, "CHUNK_BYTES", rng.choice((100, 1000, 1 << 20)))
        file = io.StringIO(newline="")
        writer = csv.writer(file, lineterminator=rng.choice(("\n", "\r\n")))
        writer.writerow(COLUMN_TYPES)
        header_size = len(file.getvalue())
        for _ in range(rng.randrange(1, 30)):
            writer.writerow(values(rng).values())
        data = damaged(rng, file.getvalue().encode(), header_size)
        path.write_bytes(data)
        # Compute the expected outcome by binding the rows that the csv module reads.
        written: dict[int, bytes] = {}
        failed: set[int] = set()
        is_closed = True

        def oracle_rows(data: bytes) -> Iterator[tuple[int, list[str] | None]]:
            """Yield the rows of `csv_oracle`, and record whether the last quote is closed."""
            nonlocal is_closed
            try:
                yield from csv_oracle(data)
            except Unclosed:
                is_closed = False

        for line, row in oracle_rows(data):
            row_bytes = None if row is None else bytes_of_csv_row(implementation, row)
            if row_bytes is None:
                failed.add(line)
            else:
                written[line] = row_bytes
        outcome = load(path)
        assert outcome[:2] == (written, failed), data
        if is_closed:
            assert outcome.error is None, data
        else:
            assert "the quote that opens here is never closed" in str(outcome.error), data


def json_value(cql_type: str, value: Any) -> Any:
    """Return the value of the type `cql_type` that a JSON value represents.

    :raises Refused: if the JSON value is not a value of the type.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return value_of(cql_type, value)
    accepting_types = {
        bool: ("boolean",),
        int: ("bigint", "decimal", "timestamp"),
        Decimal: ("decimal",),
    }
    if cql_type in accepting_types.get(type(value), ()):
        return value
    raise Refused(value)


def json_oracle(line: str) -> list[Any]:
    """Return the values of a line of JSON, one for each column; UNSET_VALUE for missing columns.

    :raises Refused: if the line is not an object with columns of the table, each at most once.
    """

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return a JSON object as a dictionary; raise Refused if it has a name twice."""
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refused(pairs)
        return dict(pairs)

    try:
        row = json.loads(line, parse_float=Decimal, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError):
        raise Refused(line) from None
    if not isinstance(row, dict) or not row.keys() <= COLUMN_TYPES.keys():
        raise Refused(line)
    return [
        json_value(cql_type, row[name]) if name in row else UNSET_VALUE
        for name, cql_type in COLUMN_TYPES.items()
    ]


@pytest.mark.parametrize("seed", range(4))
def test_json_lines(implementation: Implementation, load: Load, tmp_path: Path, seed: int) -> None:
    """For damaged JSON lines, the good rows and failed lines must be those of the oracle."""
    rng = random.Random(seed)
    path = tmp_path / "a.jsonl"
    for _ in range(ROUNDS):
        lines = []
        for _ in range(rng.randrange(1, 30)):
            row = values(rng)
            # The json module cannot encode a Decimal. So encode 0, and replace it with the
            # Decimal's digits.
            encoded = json.dumps({**row, "amount": 0}, ensure_ascii=rng.random() < 0.5)
            lines.append(encoded.replace('"amount": 0', f'"amount": {row["amount"]:f}'))
        data = damaged(rng, "\n".join(lines).encode(), 0)
        path.write_bytes(data)
        written: dict[int, bytes] = {}
        failed: set[int] = set()
        file = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row_bytes = bound_bytes(implementation, json_oracle(line))
            except Refused:
                row_bytes = None
            if row_bytes is None:
                failed.add(number)
            else:
                written[number] = row_bytes
        assert load(path) == Outcome(written, failed, None), data


@pytest.mark.parametrize("seed", range(4))
def test_parquet(implementation: Implementation, load: Load, tmp_path: Path, seed: int) -> None:
    """A damaged Parquet file must be refused, or give exactly the rows that pyarrow reads."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = random.Random(seed)
    path = tmp_path / "a.parquet"
    for _ in range(ROUNDS):
        count = rng.randrange(1, 200)
        timestamps = [rng.randrange(10**12) for _ in range(count)]
        table = pyarrow.table(
            {
                "id": [rng.randrange(10**12) for _ in range(count)],
                "name": [rng.choice(("x", None, "é")) for _ in range(count)],
                "amount": [Decimal(rng.randrange(10**9)).scaleb(-2) for _ in range(count)],
                "at": pyarrow.array(timestamps, pyarrow.timestamp("ms")),
                "flag": [rng.random() < 0.5 for _ in range(count)],
            }
        )
        parquet.write_table(
            table, path, row_group_size=rng.choice((10, 1000)), write_page_checksum=True
        )
        data = bytearray(path.read_bytes())
        # Damage one bit in most of the files; leave the others as they are.
        if rng.random() < 0.7:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(data)
        try:
            with parquet.ParquetFile(path, page_checksum_verification=True) as file:
                rows = file.read().to_pylist()
        except (OSError, ValueError, NotImplementedError):
            rows = None
        except OverflowError:
            # pyarrow has read a damaged timestamp that does not fit into a datetime. So there is no
            # expected value.
            continue
        outcome = load(path)
        if outcome.error is not None:
            assert path.name in outcome.error
            continue
        assert rows is not None
        assert not outcome.written.keys() & outcome.failed
        # A damaged value may be invalid for its column. But each row of the file must be either
        # written or reported as failed.
        assert outcome.written.keys() | outcome.failed == set(range(1, len(rows) + 1))
        for number, data_of_row in outcome.written.items():
            row = rows[number - 1]
            assert data_of_row == bound_bytes(implementation, [row[name] for name in COLUMN_TYPES])
