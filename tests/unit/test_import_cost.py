"""`import cassandra.cluster` pulls in what it needs and nothing else (its time is measured by
benchmarks/import_time.py).
"""

from __future__ import annotations

import sys
import textwrap

import pytest

from tests.conftest import Twins
from tests.processes import run_python

UNWANTED = {
    "numpy", "pandas", "polars", "pyarrow", "cassandra.protocol.columnar.pages",
    "cassandra.protocol.columnar.layouts", "cassandra.protocol.columnar.arrow_capsules",
    "cassandra.protocol.columnar.column_buffers", "cassandra._accel.arrow_capsules",
    "cassandra._accel.column_buffers",
    "geomet", "lz4", "snappy", "uvloop", "cryptography", "requests", "http.client",
    "urllib.request",
    "email", "sqlite3", "xml", "csv", "tkinter", "ctypes", "http", "cProfile", "pstats",
    "setuptools", "multiprocessing", "unittest", "cassandra.cqlengine", "cassandra.testing",
    "cassandra.aio", "doctest", "pydoc",
    # Names for programs of other drivers come at their first use.
    "cassandra._compat", "cassandra.datastax", "cassandra.driver_config", "cassandra.graph",
    "cassandra.io", "cassandra.metrics", "cassandra.protocol.parsers", "cassandra.stats",
    "cassandra.client.cloud", "cassandra.client_routes", "cassandra.client.routes",
    "cassandra.engine.control.client_routes",
    # Most of the engine comes when a cluster is made.
    "cassandra.engine.core", "cassandra.engine.hosts", "cassandra.engine.handshake",
    "cassandra.engine.control.connection", "cassandra.engine.schema.refreshing",
    "cassandra.metadata.schema.pages",
}  # fmt: skip


def test_import_pulls_in_nothing_optional() -> None:
    code = (
        "import sys; before = set(sys.modules); import cassandra.cluster; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "cassandra.cluster.cluster" in loaded
    # The compressions are looked for when the first connection is made.
    assert not loaded & UNWANTED
    packages = {name.partition(".")[0] for name in loaded}
    strangers = {
        name
        for name in packages - sys.stdlib_module_names
        if not name.startswith(("cassandra", "_cython_", "cython_"))
    }
    assert strangers == set()


def test_the_python_twins_of_codecs_and_rows_stay_out_where_the_compiled_ones_serve(
    compiled: Twins,
) -> None:
    done = run_python("import sys; import cassandra.cluster, cassandra.aio; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert compiled.codecs.__name__ in loaded
    assert not loaded & {
        "cassandra.cqltypes.codecs.containers",
        "cassandra.cqltypes.codecs.scalars",
        "cassandra.protocol.rows",
    }


@pytest.mark.slow
def test_a_cluster_that_is_made_has_imported_its_engine() -> None:
    # In the caller's thread and before it connects: the engine's own thread imports nothing.
    for face in ("cluster", "aio"):
        done = run_python(
            f"import sys; from cassandra.{face} import Cluster; Cluster(['127.0.0.1']); "
            "print('cassandra.engine.core' in sys.modules)"
        )
        assert done.stdout.strip() == "True", done.stderr


PROGRAMS = {
    "cluster": """
with Cluster([node.address], port=node.port) as cluster:
    session = cluster.connect()
    session.execute("SELECT 1")
    session.execute_async("SELECT 1").result()
""",
    "aio": """
async def main():
    async with Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        await session.execute("SELECT 1")
asyncio.run(main())
""",
}


@pytest.mark.parametrize("face", PROGRAMS)
def test_names_for_programs_of_other_drivers_come_if_one_asks(face: str) -> None:
    done = run_python(
        "import asyncio, sys\n"
        f"from cassandra.{face} import Cluster\n"
        "from cassandra.testing.fake import FakeNode, rows\n"
        "with FakeNode() as node:\n"
        "    node.prime('SELECT 1', rows([('v', 'int')], [(1,)]))\n"
        f"{textwrap.indent(PROGRAMS[face], '    ')}"
        "print(*[name for name in sys.modules if name.startswith('cassandra._compat')])"
    )
    assert (done.stdout.split(), done.stderr) == ([], "")


@pytest.mark.slow
def test_each_face_goes_without_the_other() -> None:
    for face, other in (("aio", "cluster"), ("cluster", "aio")):
        done = run_python(f"import sys; import cassandra.{face}; print(*sys.modules)")
        assert done.returncode == 0, done.stderr
        assert not [name for name in done.stdout.split() if name.startswith(f"cassandra.{other}")]


def test_import_of_the_package_alone_is_small() -> None:
    code = (
        # From Python 3.14 on, logging itself imports inspect.
        "import logging, sys; before = set(sys.modules); import cassandra; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert not loaded & {
        *UNWANTED,
        "asyncio",
        "ssl",
        "socket",
        "subprocess",
        "inspect",
        "decimal",
        "datetime",
    }
    assert {name for name in loaded if name.startswith("cassandra")} == {
        "cassandra",
        "cassandra._foreign",
        "cassandra._version",
        "cassandra.consistency",
        "cassandra.errors",
        "cassandra.versions",
    }
