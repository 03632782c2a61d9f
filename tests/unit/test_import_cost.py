"""Tests that importing the package or one of its APIs imports only what is needed.

benchmarks/import_time.py measures how long it takes.
"""

from __future__ import annotations

import sys
import textwrap

import pytest

from cassandra.testing.fake import FakeNode, rows
from tests.conftest import Implementation
from tests.processes import run_python

# No import of the package may load these modules.
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
    # These modules have names for compatibility with other drivers, and are imported when such a
    # name is first used.
    "cassandra._compat", "cassandra.datastax", "cassandra.driver_config", "cassandra.graph",
    "cassandra.io", "cassandra.metrics", "cassandra.protocol.parsers", "cassandra.stats",
    "cassandra.client.cloud", "cassandra.client_routes", "cassandra.client.routes",
    "cassandra.engine.control.client_routes",
    # These modules are for connecting and executing, and are imported when the first cluster is
    # created.
    "asyncio", "ssl", "concurrent.futures", "subprocess", "inspect", "platform",
    "datetime", "decimal", "uuid", "urllib.parse", "ipaddress",
    "cassandra.clock", "cassandra.cqltypes", "cassandra.encoder", "cassandra.observers",
    "cassandra.protocol.bind", "cassandra.protocol.column_specs", "cassandra.protocol.messages",
    "cassandra.metadata.cluster_metadata", "cassandra.metadata.host", "cassandra.metadata.schema",
    "cassandra.policies.plans", "cassandra.query.batch", "cassandra.query.prepared",
    "cassandra.query.trace", "cassandra.util",
}  # fmt: skip

# These modules of the engine define settings of applications, so `import cassandra.cluster` may
# load them.
ENGINE = {
    "cassandra.engine", "cassandra.engine.call_options",
    "cassandra.engine.control", "cassandra.engine.control.query_fallback",
    "cassandra.engine.endpoint", "cassandra.engine.failures", "cassandra.engine.pools",
    "cassandra.engine.pools.shard_ports", "cassandra.engine.profile", "cassandra.engine.randomness",
    "cassandra.engine.schema", "cassandra.engine.schema.scope",
}  # fmt: skip

# These are the ways in which applications import the driver.
IMPORTS = {
    "cluster": "import cassandra.cluster",
    "usual": """
from cassandra.cluster import Cluster, Session, ExecutionProfile, ResultSet
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement
from cassandra.auth import PlainTextAuthProvider
""",
}


@pytest.mark.parametrize("imports", IMPORTS)
def test_import_pulls_in_nothing_optional(imports: str) -> None:
    """An import must load none of `UNWANTED`, no third-party package, and little of the engine."""
    code = (
        # Import these modules before the count begins, because what they import from the standard
        # library depends on the version of Python.
        "import importlib.util, logging, random, socket, sys, typing\n"
        f"before = set(sys.modules)\n{IMPORTS[imports]}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    process = run_python(code, is_bare=True)
    assert process.returncode == 0, process.stderr
    loaded = set(process.stdout.split())
    assert "cassandra.cluster.cluster" in loaded
    # Modules for compression must be imported when the first connection is opened.
    assert not loaded & UNWANTED
    assert {name for name in loaded if name.startswith("cassandra.engine")} <= ENGINE
    assert {name for name in loaded if name.startswith("cassandra._accel.")} <= {
        "cassandra._accel.bases"
    }
    packages = {name.partition(".")[0] for name in loaded}
    third_party_packages = {
        name
        for name in packages - sys.stdlib_module_names
        if not name.startswith(("cassandra", "_cython_", "cython_"))
    }
    assert third_party_packages == set()


def test_the_python_twins_of_codecs_and_rows_are_not_imported_beside_the_compiled_ones(
    compiled: Implementation,
) -> None:
    """If compiled codecs are used, neither API may import the Python codecs and rows."""
    process = run_python("import sys; import cassandra.cluster, cassandra.aio; print(*sys.modules)")
    assert process.returncode == 0, process.stderr
    loaded = set(process.stdout.split())
    assert compiled.codecs.__name__ in loaded
    assert not loaded & {
        "cassandra.cqltypes.codecs.containers",
        "cassandra.cqltypes.codecs.scalars",
        "cassandra.protocol.rows",
    }


@pytest.mark.slow
def test_creating_a_cluster_imports_the_engine() -> None:
    # The thread that creates the cluster must import the engine, so that the thread of the engine
    # has to import nothing.
    for api_module in ("cluster", "aio"):
        process = run_python(
            f"import sys; from cassandra.{api_module} import Cluster; Cluster(['127.0.0.1']); "
            "print('cassandra.engine.core' in sys.modules)"
        )
        assert process.stdout.strip() == "True", process.stderr


# Keep the fake node in the process of the test, because it imports more modules than the driver.
EXECUTING = {
    "cluster": """
def execute():
    with cluster, cluster.connect() as session:
        session.execute("SELECT 1").one()
        session.execute_async("SELECT 1").result().all()
        session.execute(session.prepare("SELECT 1"))
""",
    "aio": """
async def main():
    async with cluster:
        session = await cluster.connect()
        (await session.execute("SELECT 1")).one()
        await session.execute(await session.prepare("SELECT 1"))
def execute():
    asyncio.run(main())
""",
}


@pytest.mark.parametrize("api_module", EXECUTING)
def test_executing_imports_nothing_after_a_cluster_is_created(api_module: str) -> None:
    with FakeNode() as node:
        node.prime("SELECT 1", rows([("v", "int")], [(1,)]))
        process = run_python(
            "import asyncio, sys\n"
            f"from cassandra.{api_module} import Cluster\n"
            f"cluster = Cluster([{node.address!r}], port={node.port})\n"
            f"{EXECUTING[api_module]}"
            "before = set(sys.modules)\n"
            "execute()\n"
            "print(*set(sys.modules) - before)"
        )
    assert process.returncode == 0, process.stderr
    # Ignore optional packages such as uvloop, which are imported with the loop or a connection. The
    # codecs of the Python implementation are imported when a codec of their kind is first needed.
    imported_late = {
        name
        for name in process.stdout.split()
        if name.startswith("cassandra") or name.partition(".")[0] in sys.stdlib_module_names
    }
    # uvloop imports gc.
    assert not {
        name for name in imported_late if not name.startswith("cassandra.cqltypes.codecs.")
    } - {"gc"}


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


@pytest.mark.parametrize("api_module", PROGRAMS)
def test_compatibility_modules_are_not_imported_unless_used(api_module: str) -> None:
    """A program that uses no names of other drivers must not import `cassandra._compat`."""
    process = run_python(
        "import asyncio, sys\n"
        f"from cassandra.{api_module} import Cluster\n"
        "from cassandra.testing.fake import FakeNode, rows\n"
        "with FakeNode() as node:\n"
        "    node.prime('SELECT 1', rows([('v', 'int')], [(1,)]))\n"
        f"{textwrap.indent(PROGRAMS[api_module], '    ')}"
        "print(*[name for name in sys.modules if name.startswith('cassandra._compat')])"
    )
    assert (process.stdout.split(), process.stderr) == ([], "")


@pytest.mark.slow
def test_importing_one_api_does_not_import_the_other() -> None:
    for api_module, other in (("aio", "cluster"), ("cluster", "aio")):
        process = run_python(f"import sys; import cassandra.{api_module}; print(*sys.modules)")
        assert process.returncode == 0, process.stderr
        assert not [
            name for name in process.stdout.split() if name.startswith(f"cassandra.{other}")
        ]


def test_importing_only_the_package_loads_little() -> None:
    code = (
        # Import logging before the count begins, because from Python 3.14 on it imports inspect.
        "import logging, sys; before = set(sys.modules); import cassandra; "
        "print(*sorted(set(sys.modules) - before))"
    )
    process = run_python(code)
    assert process.returncode == 0, process.stderr
    loaded = set(process.stdout.split())
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
        "cassandra._public_names",
        "cassandra._version",
        "cassandra.consistency",
        "cassandra.errors",
        "cassandra.versions",
    }
