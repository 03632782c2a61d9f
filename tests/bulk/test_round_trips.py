"""Tests of unloading and loading tables, which must not change any value.

The tables have columns of every CQL type. The tests use each file format, the blocking and the
asyncio API, and sessions with unusual settings.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk.copy import acopy, copy
from cassandra.cluster import Cluster, Session
from cassandra.testing import LocalCluster
from tests.bulk.conftest import (
    FACTORIES,
    HANDLERS,
    FieldlessType,
    content_of,
    difference,
    set_unusual_settings,
    settings_of,
)
from tests.bulk.schemas import Schema

pytestmark = [
    pytest.mark.integration,
    # The tables also contain empty strings.
    pytest.mark.filterwarnings("ignore:column .* has empty texts, which CSV:RuntimeWarning"),
]

FIRST = int(os.environ.get("TURBOCQL_BULK_FIRST_SEED", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("TURBOCQL_BULK_SEEDS", "20")))
# The number of rows that are inserted into the table `source`.
ROWS = 40
# With these limits, an unload or a copy needs several pages and several token ranges.
PAGE_SIZE = 7  # rows
SPLITS = 3  # token ranges
# The options of `unload` for each file format that the tests use.
FORMS: list[dict[str, Any]] = [
    {"format": "csv"},
    {"format": "csv", "compression": "gzip"},
    {"format": "jsonl"},
    {"format": "jsonl", "compression": "gzip"},
    {"format": "parquet"},
    {"format": "parquet", "compression": "zstd"},
    {"format": "csv", "delimiter": ";", "quote": "'", "null": "a null", "encoding": "utf-16"},
    {"format": "csv", "delimiter": "\t", "null": "\\N", "compression": "gzip"},
    {"format": "jsonl", "encoding": "latin-1"},
]


def load_options(form: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which `load` reads the files that `unload` writes with `form`.

    These are the options in `form`, one of FORMS, without the compression, which `load` recognises
    by the file's name.
    """
    return {name: value for name, value in form.items() if name != "compression"}


def prepare(session: Session, seed: int) -> list[Any]:
    """Create the tables ``source`` and ``target`` of a seed, and fill ``source`` with rows.

    :returns: the rows of ``source``, as `content_of` returns them.
    """
    assert session.keyspace is not None
    schema = Schema(seed, session.keyspace)
    for statement in schema.statements():
        session.execute(statement)
    insert = session.prepare(schema.insert())
    rows = schema.rows(ROWS)
    # Some partitions have several rows, which share their static column.
    for row, other_row in zip(rows[::4], rows[1::4], strict=True):
        other_row[: len(schema.partition)] = row[: len(schema.partition)]
    for row in rows:
        session.execute(insert, row)
    # Add a partition that has no rows, only a value in its static column.
    names = ", ".join(f'"{column.name}"' for column in (*schema.partition, schema.static))
    insert_static = session.prepare(f"INSERT INTO source ({names}) VALUES (?, ?, ?)")
    key = [column.make(schema.rng) for column in schema.partition]
    session.execute(insert_static, [*key, ["alone"]])
    expected = content_of(session, "source")
    # Random keys may be equal, but not all of them.
    assert len(expected) > 1
    return expected


def table_names(session: Session) -> tuple[str, str]:
    """Return the names of the tables ``source`` and ``target`` with their keyspace."""
    return f"{session.keyspace}.source", f"{session.keyspace}.target"


def forms_with_settings(seed: int) -> Iterator[tuple[dict[str, Any], tuple[Any, Any]]]:
    """Yield (options, (protocol handler, row factory)) for each file format in FORMS.

    There are more combinations of handlers and factories than file formats, so each seed begins
    with another combination.
    """
    combinations = itertools.cycle(itertools.product(HANDLERS, FACTORIES))
    return zip(FORMS, itertools.islice(combinations, seed, None), strict=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_the_same_after_a_round_trip(
    session: Session, node: LocalCluster, tmp_path: Path, seed: int
) -> None:
    """A table that is unloaded to files and loaded again, or copied, must keep all its rows.

    This must hold for each file format in FORMS, and for each protocol handler, row factory and
    registered class that the application's session may have.
    """
    expected = prepare(session, seed)
    source, target = table_names(session)
    for number, (form, (handler, factory)) in enumerate(forms_with_settings(seed)):
        with Cluster(**settings_of(node, factory)) as cluster, cluster.connect() as other_session:
            set_unusual_settings(other_session, handler)
            for name in ("inner", "Outer type"):
                cluster.register_user_type(session.keyspace or "", name, FieldlessType)
            folder = tmp_path / str(number)
            report = other_session.unload(
                source, folder, page_size=PAGE_SIZE, splits=SPLITS, **form
            )
            # Each way to read or copy the table must see or write the same rows.
            assert report.rows == len(expected)
            assert other_session.count(source, splits=SPLITS) == len(expected)
            other_session.load(target, folder, progress=False, **load_options(form))
            assert not difference(session, expected, content_of(session, "target")), (form, handler)
            session.execute("TRUNCATE target")
            copy(other_session, source, other_session, target, page_size=PAGE_SIZE, splits=SPLITS)
            assert not difference(session, expected, content_of(session, "target")), (
                "copy",
                handler,
            )
            session.execute("TRUNCATE target")


@pytest.mark.parametrize("seed", SEEDS[::4])
async def test_tables_are_the_same_after_a_round_trip_of_asyncio(
    session: Session, node: LocalCluster, tmp_path: Path, seed: int
) -> None:
    """The asyncio API must unload, load and copy tables with the same results."""
    expected = prepare(session, seed)
    source, target = table_names(session)
    for number, (form, (handler, factory)) in enumerate(forms_with_settings(seed)):
        async with (
            aio.Cluster(**settings_of(node, factory)) as cluster,
            await cluster.connect() as other_session,
        ):
            set_unusual_settings(other_session, handler)
            for name in ("inner", "Outer type"):
                await cluster.register_user_type(session.keyspace or "", name, FieldlessType)
            folder = tmp_path / str(number)
            report = await other_session.unload(
                source, folder, page_size=PAGE_SIZE, splits=SPLITS, **form
            )
            # Each way to read or copy the table must see or write the same rows.
            assert report.rows == len(expected)
            assert await other_session.count(source, splits=SPLITS) == len(expected)
            await other_session.load(target, folder, progress=False, **load_options(form))
            assert not difference(session, expected, content_of(session, "target")), (form, handler)
            session.execute("TRUNCATE target")
            await acopy(
                other_session, source, other_session, target, page_size=PAGE_SIZE, splits=SPLITS
            )
            assert not difference(session, expected, content_of(session, "target")), (
                "copy",
                handler,
            )
            session.execute("TRUNCATE target")


def test_every_virtual_table_can_be_counted_scanned_and_unloaded(
    session: Session, tmp_path: Path
) -> None:
    """Virtual tables must be read without token ranges.

    Their rows are not on the token ring.
    """
    for table in ("system_views.settings", "system_virtual_schema.columns"):
        count = session.count(table)
        assert count > 10
        assert len(list(session.scan(table))) == count
        for form in ("csv", "jsonl", "parquet"):
            assert session.unload(table, tmp_path / table / form, format=form).rows == count
