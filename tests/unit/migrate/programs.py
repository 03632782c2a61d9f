"""Example programs for ``python -m cassandra.migrate``.

There is a program for each difference between the drivers that source code can show, and a program
without any difference.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from cassandra.migrate.check import Report, check

CONNECTED = """\
from cassandra.cluster import Cluster

cluster = Cluster()
session = cluster.connect()
"""

# For each program: the name of the difference that it shows, its source, and the severity and code
# of each expected finding. If a source begins with a dot, CONNECTED, which creates a session,
# replaces the dot.
CASES: list[tuple[str, str, list[str]]] = [
    (
        "missing-names",
        "from cassandra.cluster import Nothing",
        ["breaks cassandra.cluster.Nothing"],
    ),
    ("missing-names", "import cassandra.nothing", ["breaks cassandra.nothing"]),
    ("missing-names", "from cassandra.nothing import a, b", ["breaks cassandra.nothing"]),
    (
        "missing-names",
        "import cassandra.cluster as cc\ncc.Nothing()",
        ["breaks cassandra.cluster.Nothing"],
    ),
    (
        "missing-names",
        "from cassandra import ConsistencyLevel as CL\nCL.MOST",
        ["breaks cassandra.ConsistencyLevel.MOST"],
    ),
    (
        "missing-names",
        "from unittest.mock import patch\n\n@patch('cassandra.cluster.Nothing')\ndef f(x): ...",
        ["breaks cassandra.cluster.Nothing"],
    ),
    (
        "missing-names",
        "import importlib\nimportlib.import_module('cassandra.nothing')",
        ["breaks cassandra.nothing"],
    ),
    (
        "missing-names",
        "try:\n    import cassandra.nothing\nexcept ImportError:\n    pass",
        ["note cassandra.nothing"],
    ),
    (
        "missing-names",
        "try:\n    import cassandra.nothing\nexcept ImportError:\n    raise SystemExit(1)",
        ["breaks cassandra.nothing"],
    ),
    (
        "missing-names",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cassandra.nothing",
        ["note cassandra.nothing"],
    ),
    (
        "private-names",
        """
        import wrapt
        from unittest import mock
        from cassandra.cluster import Session

        def test(monkeypatch):
            monkeypatch.setattr(Session, "_pools", {})
            monkeypatch.setattr("cassandra.cluster.Session._more", {})
            with mock.patch.object(Session, "_others"):
                wrapt.wrap_function_wrapper("cassandra.cluster", "Session._sent", print)
        """,
        [
            f"breaks cassandra.cluster.Session.{name}"
            for name in ("_pools", "_more", "_others", "_sent")
        ],
    ),
    ("compiled-parts", "from cassandra import parsing", ["breaks cassandra.parsing"]),
    ("compiled-parts", "import cassandra.bytesio as b", ["breaks cassandra.bytesio"]),
    (
        "compiled-parts",
        "from cassandra.io.libevwrapper import Loop",
        ["breaks cassandra.io.libevwrapper"],
    ),
    (
        "private-names",
        "from cassandra.cluster import _Nothing",
        ["breaks cassandra.cluster._Nothing"],
    ),
    ("private-names", ".print(session._pools)", ["breaks Session._pools"]),
    (
        "private-names",
        ".def f():\n    future = session.execute_async('a')\n    return future._query",
        ["breaks ResponseFuture._query"],
    ),
    (
        "private-names",
        """
        from cassandra.cluster import Cluster

        class Store:
            def __init__(self):
                self.cluster = Cluster()
                self.session = self.cluster.connect()

            def look(self):
                return self.session._pools
        """,
        ["breaks Session._pools"],
    ),
    (
        "private-names",
        """
        from cassandra.cqlengine.query import DMLQuery

        class Base(DMLQuery):
            _given = 1

            def execute(self):
                self._set = self._given, self.execute, self.batch
                return self._nothing, self._set

        class Derived(Base):
            def more(self):
                return self._more, self._given, self.more

        class Mixed(Unknown, DMLQuery):
            def more(self):
                return self._more
        """,
        ["breaks DMLQuery._nothing", "breaks DMLQuery._more"],
    ),
    (
        "private-names",
        "from cassandra.cluster import Session\n\ndef f(s: Session | None):\n    s._pools",
        ["breaks Session._pools"],
    ),
    (
        "private-names",
        "import cassandra.cluster\n\nwith cassandra.cluster.Cluster() as c:\n"
        "    with c.connect() as s:\n        s._pools",
        ["breaks Session._pools"],
    ),
    (
        "private-names",
        "from cassandra.cluster import Cluster\n\ndef made():\n    return Cluster().connect()\n\n"
        "made()._pools",
        ["breaks Session._pools"],
    ),
    (
        "private-names",
        """
        from cassandra.cluster import Cluster

        class Mine(Cluster):
            def look(self):
                return self.connect()._pools

        class Other(Mine): ...

        Other().connect()._pools
        with Mine() as mine, mine.connect() as session:
            session._pools
        """,
        ["breaks Session._pools"] * 3,
    ),
    (
        "unknown-arguments",
        "from cassandra.cluster import Cluster as C\nC(contact_point='a', port=9042)",
        ["breaks Cluster(contact_point=...)"],
    ),
    (
        "unknown-arguments",
        ".session.execute('a', params=(1,))",
        ["breaks execute(params=...)"],
    ),
    (
        "unknown-arguments",
        """
        from cassandra.cluster import Cluster, ExecutionProfile

        profile = ExecutionProfile()
        profile.request_timout = 3
        with Cluster() as cluster:
            cluster.protocl_version = 4
            session = cluster.connect()
            a, session.default_timout = 1, 3
            setattr(session, "defalt_fetch_size", 100)
        """,
        [
            "breaks ExecutionProfile.request_timout = ...",
            "breaks Cluster.protocl_version = ...",
            "breaks Session.default_timout = ...",
            "breaks Session.defalt_fetch_size = ...",
        ],
    ),
    (
        "unknown-arguments",
        """
        from cassandra.cluster import Cluster

        class Mine(Cluster):
            def __init__(self, name, **settings):
                super().__init__(**settings)

        Mine("a", contact_point="b", port=1)
        """,
        ["breaks Mine(contact_point=...)"],
    ),
    (
        "missing-names",
        """
        from cassandra.cluster import Cluster

        cluster = Cluster()
        session = cluster.connect()
        print(cluster.scheduler, session.remove_pool, session.prepare_on_all_hosts)
        print(session.execute_async("a").query_plan, cluster.metadata.get_host("a").lock)
        for host in cluster.metadata.all_hosts():
            print(host.lock)
        print([host.monitor for host in sorted(cluster.metadata.all_hosts())])
        print(list(cluster.metadata.all_hosts())[0].libevloop)
        """,
        [
            "breaks Cluster.scheduler",
            "breaks Session.remove_pool",
            "breaks Session.prepare_on_all_hosts",
            "breaks ResponseFuture.query_plan",
            "breaks Host.lock",
            "breaks Host.lock",
            "breaks Host.monitor",
            "breaks Host.libevloop",
        ],
    ),
    (
        "missing-names",
        ".try:\n    print(session.remove_pool)\nexcept AttributeError:\n    pass",
        ["note Session.remove_pool"],
    ),
    (
        "protocol-versions",
        "from cassandra.cluster import Cluster\nCluster(protocol_version=2)",
        ["breaks Cluster(protocol_version=2)"],
    ),
    (
        "protocol-versions",
        "from cassandra import ProtocolVersion\nfrom cassandra.cqlengine import connection\n"
        "connection.setup([], 'ks', protocol_version=ProtocolVersion.DSE_V1)",
        ["breaks setup(protocol_version=ProtocolVersion.DSE_V1)"],
    ),
    (
        "protocol-versions",
        """
        import functools
        from cassandra.cluster import Cluster

        class Mine(Cluster):
            def __init__(self):
                super().__init__(["a"], protocol_version=2)

        class Other(Cluster):
            def __init__(self):
                Cluster.__init__(self, ["a"], protocol_version=2)

        class Third(Cluster): ...

        Third(protocol_version=2)
        Cluster(**{"protocol_version": 1})
        settings = {"port": 9042, "protocol_version": 1}
        Cluster(**settings)
        Cluster(**dict(protocol_version=1))
        make = functools.partial(Cluster, protocol_version=1)
        Cluster([], 9042, None, None, None, None, None, None, False, None, None, None, None, 2)
        VERSION = 2
        Cluster(protocol_version=VERSION)
        """,
        [
            "breaks Cluster(protocol_version=2)",
            "breaks Cluster(protocol_version=2)",
            "breaks Third(protocol_version=2)",
            *["breaks Cluster(protocol_version=1)"] * 4,
            *["breaks Cluster(protocol_version=2)"] * 2,
        ],
    ),
    (
        "distribution-name",
        "from importlib.metadata import version\nversion('cassandra-driver')",
        ["breaks 'cassandra-driver'"],
    ),
    (
        "distribution-name",
        "from importlib import metadata\ntry:\n    metadata.version('scylla-driver')\n"
        "except metadata.PackageNotFoundError:\n    pass",
        ["note 'scylla-driver'"],
    ),
    (
        "distribution-name",
        "from setuptools import setup\nsetup(install_requires=['six', 'cassandra-driver'])",
        ["differs 'cassandra-driver'"],
    ),
    (
        "distribution-name",
        "WANTED = ('cassandra-driver ~= 3.25',)",
        ["differs 'cassandra-driver ~= 3.25'"],
    ),
    (
        "build-switches",
        "import os\nos.environ['CASS_DRIVER_NO_CYTHON'] = '1'",
        ["note 'CASS_DRIVER_NO_CYTHON'"],
    ),
    (
        "eventlet",
        "import eventlet\neventlet.monkey_patch()\nimport cassandra",
        ["differs eventlet.monkey_patch()"],
    ),
    ("other-drivers", "import acsylla", ["note acsylla"]),
    ("other-drivers", "from aiocassandra import aiosession", ["note aiocassandra.aiosession"]),
    (
        "wrong-types",
        ".import struct\ntry:\n    session.execute('a', (1,))\nexcept struct.error:\n    pass",
        ["differs except struct.error"],
    ),
    (
        "list-remove",
        """
        from cassandra.cqlengine import columns
        from cassandra.cqlengine.models import Model

        class Event(Model):
            id = columns.Integer(primary_key=True)
            steps = columns.List(columns.Integer)
            tags = columns.Set(columns.Text)

        Event.objects(id=1).update(steps__remove=[1], tags__remove={"a"})
        """,
        ["differs update(steps__remove=...)"],
    ),
    (
        "list-remove",
        """
        from cassandra.cqlengine import columns
        from cassandra.cqlengine.models import Model

        class Event(Model):
            steps: list[int] = columns.List(columns.Integer)
            tags: set[str] = columns.Set(columns.Text)

        Event.objects(id=1).update(steps__remove=[1], tags__remove={"a"})
        Event.objects(id=1).update(**{"steps__remove": [1], "tags__remove": {"a"}})
        """,
        ["differs update(steps__remove=...)"] * 2,
    ),
    (
        "default-ttl",
        """
        from cassandra.cqlengine.models import Model

        class Base(Model):
            __abstract__ = True

        class Event(Base):
            __default_ttl__ = 60
        """,
        ["note __default_ttl__"],
    ),
    (
        "callbacks",
        ".def done(rows):\n    session.execute('b')\n\n"
        "session.execute_async('a').add_callback(done)",
        ["breaks add_callback(done): session.execute()"],
    ),
    (
        "callbacks",
        ".session.execute_async('a').add_callbacks("
        "callback=lambda rows: session.prepare('b'), errback=print)",
        ["breaks add_callbacks(lambda rows: session.prepare('b')): session.prepare()"],
    ),
    (
        "callbacks",
        ".def done(rows):\n    future = session.execute_async('b')\n    future.result()\n\n"
        "session.execute_async('a').add_errback(done)",
        ["breaks add_errback(done): future.result()"],
    ),
    (
        "forks",
        ".from multiprocessing import Process\n\ndef work():\n    session.execute('a')\n\n"
        "Process(target=work).start()",
        ["differs Process(target=work), which uses session"],
    ),
    (
        "forks",
        """
        import multiprocessing as mp
        from concurrent.futures import ProcessPoolExecutor
        from cassandra.cluster import Cluster

        cluster = Cluster()
        session = cluster.connect()

        def work(number=0):
            session.execute("a")

        with mp.Pool() as pool:
            pool.map(work, range(9))
            pool.apply_async(func=work)
        with ProcessPoolExecutor(4) as executor:
            executor.map(work, range(9))
            executor.submit(work)
        mp.Pool(4, initializer=work)
        mp.Process(None, work)
        mp.get_context("fork").Process(target=lambda query="a": session.execute(query))
        mp.Process(target=print, args=(cluster, 1))
        """,
        [
            "differs map(work), which uses session",
            "differs apply_async(work), which uses session",
            "differs map(work), which uses session",
            "differs submit(work), which uses session",
            "differs Pool(work), which uses session",
            "differs Process(target=work), which uses session",
            "differs Process(target=lambda query='a': session.execute(query)), which uses session",
            "differs Process(args=(cluster, 1))",
        ],
    ),
    (
        "forks",
        ".from multiprocessing import Process\n\nclass Worker(Process):\n    def run(self):\n"
        "        session.execute('a')",
        ["differs class Worker(Process), which uses session"],
    ),
    (
        "forks",
        """
        from multiprocessing import Process
        from cassandra.cluster import Cluster

        class Worker(Process):
            def __init__(self):
                super().__init__()
                self.session = Cluster().connect()

            def run(self):
                self.session.execute("a")
        """,
        ["differs class Worker(Process), which uses self.session"],
    ),
    (
        "forks",
        """
        import os
        from cassandra.cluster import Cluster

        cluster = Cluster()
        session = cluster.connect()

        if os.fork() == 0:
            session.execute("a")
        if (pid := os.fork()) > 0:
            os.wait()
        else:
            cluster.connect()
        child = os.fork()
        if not child:
            session.execute("a")
        """,
        [
            "differs os.fork(), whose child uses session",
            "differs os.fork(), whose child uses cluster",
            "differs os.fork(), whose child uses session",
        ],
    ),
    (
        "connection-class",
        ".from cassandra.io.geventreactor import GeventConnection\n"
        "cluster.connection_class = GeventConnection",
        ["note Cluster.connection_class = GeventConnection"],
    ),
    (
        "connection-class",
        "from cassandra.cluster import Cluster\n"
        "from cassandra.io.geventreactor import GeventConnection\n"
        "Cluster(connection_class=GeventConnection)",
        ["note Cluster(connection_class=GeventConnection)"],
    ),
    (
        "connection-class",
        "from cassandra.io.asyncorereactor import AsyncoreConnection\n\n"
        "class Counted(AsyncoreConnection): ...",
        ["differs class Counted(AsyncoreConnection)"],
    ),
    (
        "metadata-read-only",
        ".cluster.metadata.keyspaces['ks'].tables['t'] = None",
        ["breaks cluster.metadata.keyspaces['ks'].tables['t'] = ..."],
    ),
    (
        "metadata-read-only",
        ".del session.cluster.metadata.keyspaces['ks']",
        ["breaks del session.cluster.metadata.keyspaces['ks']"],
    ),
    (
        "metadata-read-only",
        ".keyspaces = cluster.metadata.keyspaces\nkeyspaces.pop('system')",
        ["breaks keyspaces.pop()"],
    ),
    (
        "metadata-read-only",
        """
        from cassandra.cluster import Cluster

        cluster = Cluster()
        for keyspace in cluster.metadata.keyspaces.values():
            keyspace.tables.clear()
        for name, keyspace_too in cluster.metadata.keyspaces.items():
            del keyspace_too.tables["a"]
        for number, table in enumerate(keyspace.tables.values()):
            table.columns["a"] = number
        [one.user_types.pop("a") for one in list(cluster.metadata.keyspaces.values())]
        first = next(iter(cluster.metadata.keyspaces.values()))
        first.views.clear()
        """,
        [
            "breaks keyspace.tables.clear()",
            "breaks del keyspace_too.tables['a']",
            "breaks table.columns['a'] = ...",
            "breaks one.user_types.pop()",
            "breaks first.views.clear()",
        ],
    ),
    (
        "connection-counts",
        ".from cassandra.policies import HostDistance\n"
        "cluster.set_core_connections_per_host(HostDistance.LOCAL, 8)",
        ["note set_core_connections_per_host()"],
    ),
    (
        "metrics",
        "from cassandra.cluster import Cluster\nCluster(metrics_enabled=True)",
        ["note Cluster(metrics_enabled=True)"],
    ),
    ("metrics", "from greplin import scales\nimport cassandra", ["differs greplin.scales"]),
    (
        "no-time",
        ".session.execute_async('a', timeout=0)\nsession.execute('a', (), 0.0)\n"
        "session.execute('a', timeout=None)",
        ["differs execute_async(timeout=0)", "differs execute(timeout=0.0)"],
    ),
    (
        "scylla-cloud",
        "from cassandra.cluster import Cluster\nCluster(scylla_cloud=PATH)",
        ["breaks Cluster(scylla_cloud=PATH)"],
    ),
    (
        "scylla-cloud",
        ".cluster.scylla_cloud = PATH\ncluster.scylla_cloud: str = 'a'",
        ["breaks Cluster.scylla_cloud = PATH", "breaks Cluster.scylla_cloud = 'a'"],
    ),
    (
        "enterprise",
        ".cluster.monitor_reporting_enabled = True",
        ["breaks Cluster.monitor_reporting_enabled = True"],
    ),
    ("enterprise", ".session.execute_graph('g.V()')", ["breaks execute_graph()"]),
    (
        "enterprise",
        "import cassandra\n\ndef f(s):\n    s.execute_graph('g.V()')",
        ["breaks execute_graph()"],
    ),
    (
        "enterprise",
        "from cassandra.cluster import Cluster\nCluster(monitor_reporting_enabled=True)",
        ["breaks Cluster(monitor_reporting_enabled=True)"],
    ),
    (
        "enterprise",
        "from cassandra.cluster import ContinuousPagingOptions as O, ExecutionProfile\n"
        "ExecutionProfile(continuous_paging_options=O())",
        ["breaks ExecutionProfile(continuous_paging_options=O())"],
    ),
    (
        "enterprise",
        ".session.execute('a', None, 1, False, None, p, None, None, 'ada')",
        ["breaks execute(execute_as='ada')"],
    ),
    (
        "enterprise",
        "from cassandra.datastax.graph import GraphOptions",
        ["note cassandra.datastax.graph.GraphOptions"],
    ),
    (
        "blocking-parts",
        "from cassandra.metadata import SchemaParserV3 as P\nP(c, 1).get_all_keyspaces()",
        ["breaks get_all_keyspaces()"],
    ),
    (
        "blocking-parts",
        "import cassandra\n\ndef f(pool):\n    return pool.borrow_connection(1)",
        ["breaks borrow_connection()"],
    ),
]

# No line of this program may cause a finding, although each line resembles a line that does.
CLEAN = '''
"""A program with cassandra-driver>=3.29, CASS_DRIVER_NO_CYTHON and 'import cassandra.nothing'."""

import importlib.metadata
import logging
import multiprocessing
import struct
from typing import Optional
from unittest.mock import Mock, patch

import cassandra
import cassandra.cluster as cc
from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster as C, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.metadata import TableMetadata
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.query import BatchStatement, SimpleStatement, dict_factory

from .cassandra import nothing
from .acsylla import other

log = logging.getLogger("cassandra-driver")
VERSION = importlib.metadata.version("cassio")


class Event(Model):
    __table_name__ = "events"
    id = columns.Integer(primary_key=True)
    tags = columns.Set(columns.Text)


class Graph:
    __default_ttl__ = 5

    def execute_graph(self, text):
        return self.execute_graph(text)


class Store:
    def __init__(self, session: Optional[Session] = None):
        self.session = session
        self._pools = {}
        self._cluster = None

    def connect(self):
        self._cluster = cc.Cluster(
            ["127.0.0.1"],
            port=9042,
            protocol_version=4,
            scylla_cloud=None,
            metrics_enabled=False,
            monitor_reporting_enabled=False,
            connection_class=None,
            auth_provider=PlainTextAuthProvider("a", "b"),
            execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(
                TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")), row_factory=dict_factory,
                consistency_level=ConsistencyLevel.LOCAL_QUORUM)},
        )
        self.session = self._cluster.connect()
        self.session.owner = self
        self.session._mine = 1
        print(self.session._mine, self.session.owner, self._pools)

    def write(self, rows):
        insert = self.session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        try:
            self.session.execute(insert, (1, None), timeout=5.0)
        except (struct.error, TypeError):
            raise
        execute_concurrent_with_args(self.session, insert, rows, concurrency=50)
        batch = BatchStatement()
        batch.add(insert, (1, (2, None)))
        future = self.session.execute_async(batch, execute_as=None)
        future.add_callbacks(self.done, log.error)
        future.add_callback(lambda rows: rows.execute("b"))
        return future.result()

    def done(self, rows):
        self.session.execute_async(SimpleStatement("SELECT 1"))


def columns_of(name, session: Session):
    cluster = C()
    cluster = Mock()
    cluster._pools = cluster.metadata.keyspaces.pop("a")
    table = TableMetadata("ks", name)
    table.columns["a"] = 1
    Event.objects(id=1).update(tags__remove={"a"})
    if hasattr(session, "_pools"):
        return session._pools, importlib.import_module("cassandra")
    with patch.object(C, "connect"), patch.object(C, "_nothing", create=True):
        wrap("cassandra.cluster", "cassandra.nothing")
    with patch("cassandra.cluster.Session"), patch("cassandra.cluster.Nothing", create=True):
        cassandra.mine = 1
        return cassandra.mine


def work(session):
    session.execute("a")


multiprocessing.Process(target=work)
connection.setup(["127.0.0.1"], "ks", lazy_connect=True, retry_connect=True, idle_heartbeat_timeout=5)
'''  # noqa: E501


def source_of(text: str) -> str:
    """Return the source of an example program.

    If `text` begins with a dot, CONNECTED replaces the dot.
    """
    return CONNECTED + text[1:] if text.startswith(".") else textwrap.dedent(text)


def checked(folder: Path, text: str) -> Report:
    """Write a program to a file, check the file, and return the report."""
    (folder / "program.py").write_text(source_of(text))
    return check([folder])
