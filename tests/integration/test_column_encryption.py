"""Encrypted columns on a real node: the guide's examples, and values shared with cassandra-driver.

pip installs cassandra-driver 3.30 from the network, in a separate environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.column_encryption.policies import (
    AES256ColumnEncryptionPolicy,
    AESGCMColumnEncryptionPolicy,
)
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqltypes import Int32Type, UserType, UTF8Type
from cassandra.policies import ColDesc
from cassandra.query import dict_factory
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace
from .test_docs import python_blocks, run_block

pytestmark = pytest.mark.integration

KEY = bytes(range(32))  # the encryption key, for AES-256
IV = bytes(range(16))  # the initialization vector: values encrypted with the same IV are equal
TIMEOUT = 600  # the most seconds for a command; pip may have to fetch packages

# For each column: its name, its type, and its values in the rows 0, 1 and 2. The values are such
# that JSON can encode them.
COLUMNS: list[tuple[str, str, list[Any]]] = [
    ("i", "int", [1, -(1 << 31), 0]),
    ("t", "text", ["ada", "", "é" * 40]),
    ("b", "bigint", [1 << 40, -1, 0]),
    ("d", "double", [1.5, -0.0, 1e300]),
    ("o", "boolean", [True, False, True]),
    ("a", "inet", ["127.0.0.1", "::1", "10.0.0.7"]),
]

# The script that runs with cassandra-driver. Its arguments are address, port, keyspace, task
# ("write", "read" or "find") and COLUMNS as JSON. `python -I` runs it: otherwise it might import
# this project's package, which has the same name.
PEER = """
import json, sys
from importlib.metadata import files
import cassandra
from cassandra.cluster import Cluster
assert any(file.locate().samefile(cassandra.__file__) for file in files("cassandra-driver"))
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.policies import ColDesc
from cassandra.query import dict_factory
address, port, keyspace, task, columns = sys.argv[1:]
columns = json.loads(columns)
policy = AES256ColumnEncryptionPolicy(iv=bytes(range(16)) if task == "find" else None)
for name, kind, _ in columns:
    policy.add_column(ColDesc(keyspace, "t", name), bytes(range(32)), kind)
policy.add_column(ColDesc(keyspace, "by_key", "name"), bytes(range(32)), "text")
cluster = Cluster([address], port=int(port), column_encryption_policy=policy)
session = cluster.connect(keyspace)
session.row_factory = dict_factory
names = [name for name, _, _ in columns]
if task == "write":
    marks = ", ".join("?" * (len(names) + 1))
    insert = session.prepare(f"INSERT INTO t (k, {', '.join(names)}) VALUES ({marks})")
    for k in range(3):
        session.execute(insert, (k, *[values[k] for _, _, values in columns]))
elif task == "read":
    prepared = session.prepare("SELECT * FROM t WHERE k = ?")
    print(json.dumps([session.execute(prepared, (k,)).one() for k in range(3)]))
else:
    found = session.prepare("SELECT v FROM by_key WHERE name = ?")
    print(json.dumps(session.execute(found, ("ada",)).one()))
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a Python interpreter whose environment has cassandra-driver.

    If TURBOCQL_PEER_PYTHON is set, it is this path. Otherwise the fixture creates an environment.
    """
    interpreter = os.environ.get("TURBOCQL_PEER_PYTHON")
    if interpreter:
        return Path(interpreter)
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / ("python.exe" if sys.platform == "win32" else "python")
    run(python, "-m", "pip", "install", "-q", "cassandra-driver==3.30.0", "cryptography>=42")
    return python


def run(*command: object) -> str:
    """Run a command, check that it succeeds, and return its standard output."""
    process = subprocess.run(
        [str(argument) for argument in command],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert process.returncode == 0, f"{command}\n{process.stdout}\n{process.stderr}"
    return process.stdout


@pytest.fixture
def tables(node: LocalCluster, keyspace: str) -> Iterator[Session]:
    """Yield a session with an encryption policy, in a keyspace with the tables t and by_key."""
    with connect_with_policy(node, keyspace) as cluster, cluster.connect(keyspace) as session:
        column_definitions = ", ".join(f"{name} blob" for name, _, _ in COLUMNS)
        session.execute(f"CREATE TABLE t (k int PRIMARY KEY, {column_definitions})")
        session.execute("CREATE TABLE by_key (name blob PRIMARY KEY, v int)")
        session.row_factory = dict_factory
        yield session


def connect_with_policy(node: LocalCluster, keyspace: str, **settings: Any) -> Cluster:
    """Return a cluster that encrypts the columns of `t`, and the column `name` of `by_key`.

    :param settings: keyword arguments of the encryption policy, such as `iv`.
    """
    policy = AES256ColumnEncryptionPolicy(**settings)
    for name, kind, _ in COLUMNS:
        policy.add_column(ColDesc(keyspace, "t", name), KEY, kind)
    policy.add_column(ColDesc(keyspace, "by_key", "name"), KEY, "text")
    return connect(node, column_encryption_policy=policy)


def task(peer: Path, node: LocalCluster, keyspace: str, name: str) -> Any:
    """Run a task of PEER with cassandra-driver, and return the JSON that it prints.

    :param peer: the Python interpreter with cassandra-driver.
    :param name: "write", "read" or "find".
    :returns: None if the task prints nothing.
    """
    arguments = (node.contact_points[0], node.port, keyspace, name, json.dumps(COLUMNS))
    out = run(peer, "-I", "-c", PEER, *arguments)
    return json.loads(out) if out else None


# The rows of `t`.
EXPECTED = [{"k": k, **{name: values[k] for name, _, values in COLUMNS}} for k in range(3)]


@pytest.mark.long
def test_values_written_by_another_driver_are_read(
    peer: Path, node: LocalCluster, tables: Session, keyspace: str
) -> None:
    """Values that cassandra-driver has encrypted are read as rows and as an Arrow table."""
    task(peer, node, keyspace, "write")
    prepared = tables.prepare("SELECT * FROM t WHERE k = ?")
    assert [tables.execute(prepared, (k,)).one() for k in range(3)] == EXPECTED
    rows = tables.execute("SELECT * FROM t").to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: int(row["k"])) == EXPECTED


@pytest.mark.long
def test_another_driver_reads_values_that_we_write(
    peer: Path, node: LocalCluster, tables: Session, keyspace: str
) -> None:
    """cassandra-driver decrypts the values that this driver has encrypted."""
    names = [name for name, _, _ in COLUMNS]
    marks = ", ".join(f":{name}" for name in ["k", *names])
    insert = tables.prepare(f"INSERT INTO t (k, {', '.join(names)}) VALUES ({marks})")
    for row in EXPECTED:
        tables.execute(insert, row)
    assert task(peer, node, keyspace, "read") == EXPECTED


@pytest.mark.long
def test_another_driver_finds_rows_by_an_encrypted_key(
    peer: Path, node: LocalCluster, tables: Session, keyspace: str
) -> None:
    """With the same IV, both drivers encrypt a key to the same bytes, so both find the row."""
    with (
        connect_with_policy(node, keyspace, iv=IV) as cluster,
        cluster.connect(keyspace) as session,
    ):
        insert = session.prepare("INSERT INTO by_key (name, v) VALUES (?, ?)")
        session.execute(insert, ("ada", 7))
        select = session.prepare("SELECT name, v FROM by_key WHERE name IN ?")
        assert list(session.execute(select, (["ada", "bob"],))) == [("ada", 7)]
    assert task(peer, node, keyspace, "find") == {"v": 7}


def test_columns_of_the_primary_key_are_refused(node: LocalCluster, keyspace: str) -> None:
    """Binding a value to an encrypted partition key or clustering column raises TypeError.

    The metadata of a prepared statement names only the columns of the partition key. The driver
    knows the clustering column from the schema.
    """
    policy = AESGCMColumnEncryptionPolicy()
    for name in "pcv":
        policy.add_column(ColDesc(keyspace, "t", name), KEY, "int")
    settings: Any = {"column_encryption_policy": policy}
    with connect(node, **settings) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE t (p blob, c blob, v blob, w int, PRIMARY KEY (p, c))")
        prepared = session.prepare("INSERT INTO t (p, c, v) VALUES (?, ?, ?)")
        # The values of p, c and v, and the column whose value must be refused.
        for values, name in (((1, None, 1), "p"), ((None, 1, 1), "c")):
            with pytest.raises(TypeError, match=rf"t\.{name} is a column of the primary key"):
                prepared.bind(values)
        assert prepared.bind((None, None, 1)).values[2] is not None


class Person(Model):
    """A model of a table in which the column `name` is encrypted."""

    id: Any = columns.Integer(primary_key=True)
    name: Any = columns.Text()


def test_a_model_reads_and_writes_an_encrypted_column(node: LocalCluster, keyspace: str) -> None:
    """The mapper writes and reads the plain value of an encrypted column.

    The node stores the encrypted value.
    """
    policy = AESGCMColumnEncryptionPolicy()
    policy.add_column(ColDesc(keyspace, "person", "name"), KEY, "text")
    settings: Any = {"column_encryption_policy": policy}
    with connect(node, **settings) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE person (id int PRIMARY KEY, name blob)")
        connection.register_connection("encrypted", session=session)
        try:
            model = Person.objects.using(connection="encrypted", keyspace=keyspace)
            model.create(id=1, name="ada")
            assert model.get(id=1).name == "ada"
            model.filter(id=1).update(name="bob")
            assert model.get(id=1).name == "bob"
        finally:
            connection.unregister_connection("encrypted")
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        stored = session.execute("SELECT name FROM person").one().name
        assert policy.decrypt(ColDesc(keyspace, "person", "name"), stored) == b"bob"


def test_each_place_of_a_marker_is_encrypted(node: LocalCluster, keyspace: str) -> None:
    """The driver encrypts the value of a bind marker in each form of WHERE and IF.

    The marker may have another name than its column.
    """
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(ColDesc(keyspace, "f", "c"), KEY, "text")
    with connect(node, column_encryption_policy=policy) as cluster:
        session = cluster.connect(keyspace)
        session.execute("CREATE TABLE f (k int, c blob, v int, PRIMARY KEY (k, c))")
        session.execute("CREATE TABLE g (k int PRIMARY KEY, c blob)")
        policy.add_column(ColDesc(keyspace, "g", "c"), KEY, "text")
        insert = session.prepare("INSERT INTO f (k, c, v) VALUES (1, :secret, :number)")
        session.execute(insert, {"secret": "x", "number": 5})
        for where, value in [
            ("c = ?", "x"), ("c = :other", "x"), ("c IN ?", ["x"]), ("c IN :others", ["x"]),
            ("c IN (?)", "x"), ("c IN (:other)", "x"), ("(c) = ?", ("x",)), ("(c) IN ?", [("x",)]),
            ("(c) IN :others", [("x",)]), ("(c) IN (?)", ("x",)), ("c >= :low", "x"),
            ("(c) >= (?)", "x"), ("(c) >= (:low)", "x"),
        ]:  # fmt: skip
            select = session.prepare(f"SELECT v FROM f WHERE k = 1 AND {where}")
            assert [row.v for row in session.execute(select, [value])] == [5], where
        session.execute(session.prepare("UPDATE g SET c = :other WHERE k = :key"), ["x", 1])
        swap = session.prepare("UPDATE g SET c = :new WHERE k = 1 IF c = :old")
        assert session.execute(swap, {"new": "y", "old": "x"}).was_applied
        assert session.execute(swap, {"new": "y", "old": "x"}).one().c == "y"
        by_list = session.prepare("UPDATE g SET c = :new WHERE k = 1 IF c IN :old")
        assert session.execute(by_list, {"new": "z", "old": ["y"]}).was_applied
        assert session.execute("SELECT c FROM g").one().c == "z"


def test_a_user_defined_type_can_be_encrypted(node: LocalCluster, keyspace: str) -> None:
    """A value of a user-defined type is stored in an encrypted blob, and read as that type."""
    user_type = UserType.make_udt_class(keyspace, "place", ("street", "no"), (UTF8Type, Int32Type))
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(ColDesc(keyspace, "t", "c"), KEY, user_type)
    with connect(node, column_encryption_policy=policy) as cluster:
        session = cluster.connect(keyspace)
        session.execute("CREATE TABLE t (k int PRIMARY KEY, c blob)")
        insert = session.prepare("INSERT INTO t (k, c) VALUES (?, ?)")
        session.execute(insert, (1, {"street": "x", "no": 5}))
        assert session.execute("SELECT c FROM t").one().c == ("x", 5)
        assert session.execute("SELECT c FROM t").to_arrow().to_pylist() == [
            {"c": {"street": "x", "no": 5}}
        ]


@pytest.fixture
def shop(node: LocalCluster) -> Iterator[None]:
    """Create the keyspace that the guide uses, and drop it after the test."""
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, "shop")
        yield
        session.execute("DROP KEYSPACE shop")


def test_examples_of_the_guide_run(
    node: LocalCluster, shop: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of the encryption guide print the expected values, and its custom policy works."""
    first_block, block_of_texts, block_of_sealed_keys, block_of_keys, block_of_custom_policy = (
        python_blocks("docs/column-encryption.rst")
    )
    names: dict[str, Any] = {}
    try:
        run_block(first_block, node, names)
        run_block(block_of_texts, node, names)
    finally:
        names["cluster"].shutdown()
    run_block(block_of_sealed_keys, node, names)
    run_block(block_of_keys, node, names)
    assert capsys.readouterr().out.splitlines() == [
        "078-05-1120",
        "219-09-9999",
        "['2025', '2026']",
        "2026",
    ]
    run_block(block_of_custom_policy, node, names)
    with connect(node, column_encryption_policy=names["Vault"]()) as cluster:
        session = cluster.connect("shop")
        insert = session.prepare("INSERT INTO people (id, ssn) VALUES (?, ?)")
        session.execute(insert, (3, "abc"))
        assert session.execute("SELECT ssn FROM people WHERE id = 3").one().ssn == "abc"
    with connect(node) as cluster, cluster.connect("shop") as session:
        # The custom policy of the guide "encrypts" a string by reversing it. Without the policy,
        # you read the stored bytes: "abc" is stored as "cba".
        assert session.execute("SELECT ssn FROM people WHERE id = 3").one().ssn == b"cba"
