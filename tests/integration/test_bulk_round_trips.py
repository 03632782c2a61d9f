"""Tables that are unloaded to files, emptied and loaded again have the same rows as before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import LoadError
from cassandra.cluster import Cluster, Session
from cassandra.policies import AES256ColumnEncryptionPolicy, ColDesc
from cassandra.testing import LocalCluster
from cassandra.util import Date

pytestmark = pytest.mark.integration

KEYSPACE = "round_trips"  # the keyspace of these tests


@pytest.fixture
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in the keyspace of these tests."""
    with Cluster(node.contact_points, port=node.port) as cluster:
        session = cluster.connect()
        session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace(KEYSPACE)
        yield session


def create_table(session: Session, name: str, columns: str) -> None:
    """Create an empty table, and replace an existing table of this name."""
    session.execute(f"DROP TABLE IF EXISTS {name}", timeout=60)
    session.execute(f"CREATE TABLE {name} ({columns})", timeout=60)


def rows_of(session: Session, name: str) -> list[Any]:
    """Return the rows of a table as tuples, in an order that depends only on the rows."""
    return sorted(map(tuple, session.execute(f"SELECT * FROM {name}")), key=repr)


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_partitions_with_only_a_static_column_and_empty_keys(
    session: Session, tmp_path: Path, file_format: str
) -> None:
    """A round trip keeps partitions that have no rows, and keys that are empty strings or blobs."""
    if file_format == "parquet":
        pytest.importorskip("pyarrow")
    create_table(
        session, "s", "p text, b blob, c text, s text static, v int, PRIMARY KEY ((p, b), c)"
    )
    create_table(session, "n", "p int, c int, s text static, v int, PRIMARY KEY (p, c)")
    for insert in (
        "INSERT INTO s (p, b, s) VALUES ('p', 0x00, 'alone')",
        "INSERT INTO s (p, b, c, v, s) VALUES ('', 0x, '', 1, 'one')",
        "INSERT INTO s (p, b, c, v) VALUES ('x', 0x01, 'c', 2)",
        "INSERT INTO n (p, s) VALUES (1, 'alone')",
        "INSERT INTO n (p, c) VALUES (2, 0)",
    ):
        session.execute(insert)
    for name in ("s", "n"):
        rows_before = rows_of(session, name)
        # CSV writes an empty string like a missing clustering column.
        is_ambiguous = (name, file_format) == ("s", "csv")
        with (
            pytest.warns(RuntimeWarning, match="column 'c' has empty texts")
            if is_ambiguous
            else contextlib.nullcontext()
        ):
            session.unload(name, tmp_path / name, format=file_format)
        session.execute(f"TRUNCATE {name}", timeout=60)
        report = session.load(name, tmp_path / name)
        assert (report.written, report.failed) == (len(rows_before), 0)
        assert rows_of(session, name) == rows_before


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_timestamps_and_dates_outside_of_the_range_of_datetime(
    session: Session, tmp_path: Path, file_format: str
) -> None:
    """Timestamps and dates outside the range of datetime are the same after a round trip."""
    create_table(session, "far", "id int PRIMARY KEY, t timestamp, d date")
    insert = session.prepare("INSERT INTO far (id, t, d) VALUES (?, ?, ?)")
    # datetime supports only the years 1 to 9999. Timestamps are in milliseconds, and dates in days,
    # since 1970.
    millis_and_days = (
        # the first millisecond and the first day of the year 10000
        (253_402_300_800_000, 2_932_897),
        (-62_135_596_800_001, -719_163),  # the last millisecond and the last day before the year 1
        (-1, -(2**31)),  # a millisecond before 1970, and the first day that CQL can express
    )
    for number, (millis, days) in enumerate(millis_and_days):
        session.execute(insert, (number, millis, Date(days)))
    rows_before = rows_of(session, "far")
    session.unload("far", tmp_path / "far", format=file_format)
    session.execute("TRUNCATE far", timeout=60)
    assert session.load("far", tmp_path / "far").written == 3
    assert rows_of(session, "far") == rows_before


def test_load_writes_rows_of_a_select_by_column_name(session: Session) -> None:
    """The columns of the rows may be in another order than in the table."""
    for name in ("one", "other"):
        create_table(session, name, "id int PRIMARY KEY, a text, b text")
    session.execute("INSERT INTO one (id, a, b) VALUES (1, 'a', 'b')")
    assert session.load("other", session.execute("SELECT b, id, a FROM one").all()).written == 1
    assert rows_of(session, "other") == [(1, "a", "b")]


def test_load_with_if_not_exists_counts_rows_that_exist(session: Session) -> None:
    """With IF NOT EXISTS, a load overwrites no existing rows, and counts them as not applied."""
    create_table(session, "once", "id int PRIMARY KEY, a text")
    insert = session.prepare("INSERT INTO once (id, a) VALUES (?, ?) IF NOT EXISTS")
    assert session.load(insert, [(1, "first")]).written == 1
    report = session.load(insert, [(n, "second") for n in range(5)])
    assert (report.written, report.not_applied, report.failed) == (4, 1, 0)
    assert session.execute("SELECT a FROM once WHERE id = 1").one().a == "first"


def test_encrypted_columns_are_loaded_from_files(
    session: Session, node: LocalCluster, tmp_path: Path
) -> None:
    """A load encrypts the values of encrypted columns, and no error message shows a value."""
    pytest.importorskip("cryptography")
    create_table(session, "secrets", "id int PRIMARY KEY, n blob")
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(ColDesc(KEYSPACE, "secrets", "n"), os.urandom(32), "int")
    (tmp_path / "a.csv").write_text("id,n\n1,5\n")
    (tmp_path / "a.jsonl").write_text('{"id": 2, "n": 6}\n')
    (tmp_path / "wrong.csv").write_text("id,n\n1,hunter2\n")
    with Cluster(node.contact_points, port=node.port, column_encryption_policy=policy) as cluster:
        encrypting_session = cluster.connect(KEYSPACE)
        for name in ("a.csv", "a.jsonl"):
            assert encrypting_session.load("secrets", tmp_path / name).written == 1
        with pytest.raises(LoadError, match="this str is not an integer") as caught:
            encrypting_session.load("secrets", tmp_path / "wrong.csv")
        # The error must not show the value, which is secret.
        assert "hunter2" not in f"{caught.value} {caught.value.report}"
        select = encrypting_session.prepare("SELECT id, n FROM secrets")
        assert sorted(map(tuple, encrypting_session.execute(select))) == [(1, 5), (2, 6)]
    # A session without the encryption policy reads the encrypted bytes, which are longer than the 4
    # bytes of a plain int.
    assert all(len(row.n) > 8 for row in session.execute("SELECT n FROM secrets"))
