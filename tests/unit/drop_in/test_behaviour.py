"""Test compatibility with cassandra-driver in details that no other test module covers.

The details are constants, compressions and settings.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import connection
from cassandra.cluster import Cluster, ShardAwareOptions
from cassandra.concurrent import execute_concurrent_async
from cassandra.errors import CrcException, InvalidRequest
from cassandra.query import PseudoNamedTupleRow, pseudo_namedtuple_factory
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Opcode, error, rows
from tests.processes import run_python
from tests.waiting import WAIT


def test_constants_of_the_wire() -> None:
    """The protocol constants that tools read from `cassandra.connection` have the right values."""
    assert connection.HEADER_DIRECTION_TO_CLIENT == 0x80
    assert connection.HEADER_DIRECTION_MASK == 0x80
    assert connection.PROTOCOL_VERSION_MASK == 0x7F
    assert connection.CrcMismatchException is CrcException
    assert connection.DRIVER_NAME == "turbocql Python driver"


def test_compressed_bytes_can_be_decompressed() -> None:
    for name, (compress, decompress) in connection.locally_supported_compressions.items():
        assert decompress(compress(b"some bytes " * 100)) == b"some bytes " * 100, name


def test_the_row_factory_for_many_columns() -> None:
    """`pseudo_namedtuple_factory` returns rows that you can read by attribute, index and iteration.

    cassandra-driver uses this row factory for results with many columns.
    """
    (row,) = pseudo_namedtuple_factory(["a", "b"], [(1, 2)])
    assert isinstance(row, PseudoNamedTupleRow)
    assert row.a == 1
    assert row[1] == 2
    assert list(row) == [1, 2]


def test_settings_of_scylla_driver() -> None:
    """`shard_aware_options` may be a dict or an object; `scylla_cloud` is not supported."""
    options = Cluster(shard_aware_options={"disable": True}).shard_aware_options
    assert options is not None
    assert options.disable is True
    cluster = Cluster(shard_aware_options=ShardAwareOptions(disable_shardaware_port=True))
    options = cluster.shard_aware_options
    assert options is not None
    assert options.disable_shardaware_port is True
    assert "disable_shardaware_port=True" in repr(options)
    with pytest.raises(NotImplementedError, match="scylla_cloud is not supported"):
        Cluster(scylla_cloud="bundle.zip")  # type: ignore[arg-type]
    for fallback in (True, False, "Fallback"):
        with pytest.raises(TypeError, match="allow_control_connection_query_fallback must be"):
            Cluster(allow_control_connection_query_fallback=fallback)  # type: ignore[arg-type]


def test_scylladb_gets_the_session_id_and_the_driver_config() -> None:
    for enabled in (True, False):
        with (
            FakeCluster(1, scylla=2) as nodes,
            Cluster(
                nodes.contact_points, port=nodes.port, driver_config_reporting_enabled=enabled
            ) as cluster,
        ):
            cluster.connect(wait_for_all_pools=True)
            assert isinstance(cluster.session_id, uuid.UUID)
            # The driver opens the control connection first.
            first_options, *other_options = [
                request.options for request in nodes.requests if request.opcode == Opcode.STARTUP
            ]
            assert other_options
            for options in (first_options, *other_options):
                assert options["SESSION_ID"] == str(cluster.session_id)
            # Only the control connection sends the cluster's settings, as DRIVER_CONFIG.
            assert ("DRIVER_CONFIG" in first_options) is enabled
            assert not any("DRIVER_CONFIG" in options for options in other_options)


def test_cassandra_gets_neither_session_id_nor_driver_config() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        cluster.connect(wait_for_all_pools=True)
        for request in node.requests:
            assert not {"SESSION_ID", "DRIVER_CONFIG"} & set(request.options)


def test_a_future_has_all_outcomes_in_order_or_the_first_error() -> None:
    """`execute_concurrent_async` returns a future of all outcomes in order, or the first error."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("SELECT 7", error(ErrorCode.INVALID))
        session = cluster.connect()
        pairs = [(f"SELECT {number}", None) for number in range(300)]
        outcomes = execute_concurrent_async(session, pairs, concurrency=20).result(timeout=30)
        assert [number for number, outcome in enumerate(outcomes) if not outcome.success] == [7]
        assert isinstance(outcomes[7].result_or_exc, InvalidRequest)
        assert outcomes[8].result_or_exc.all() == []
        failing = execute_concurrent_async(session, pairs, concurrency=2, raise_on_first_error=True)
        assert isinstance(failing.exception(timeout=30), InvalidRequest)
        assert execute_concurrent_async(session, []).result(timeout=1) == []
        with pytest.raises(ValueError, match="concurrency"):
            execute_concurrent_async(session, pairs, concurrency=0)


class Future:
    """A fake response future.

    If `session.at_once` is set, the future completes as soon as a callback is added, otherwise when
    `finish` is called.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.callback: Callable[[], None] | None = None

    def add_callbacks(
        self, callback: Any, errback: Any, callback_args: Any, errback_args: Any
    ) -> None:
        self.callback = lambda: callback([], *callback_args)
        if self.session.at_once:
            self.finish()

    def finish(self) -> None:
        """Complete the future: call its callback with an empty result."""
        assert self.callback is not None
        self.session.open += 1
        self.session.deepest = max(self.session.deepest, self.session.open)
        self.callback()
        self.session.open -= 1

    def clear_callbacks(self) -> None:
        pass

    def result(self) -> list[Any]:
        return []


class Session:
    """A fake session, whose futures complete at once or later.

    It refuses the statement "bad". `open` is the number of callbacks that have not returned.
    `deepest` is the value of `open` in the most deeply nested callback.
    """

    def __init__(self, at_once: bool) -> None:
        self.at_once = at_once
        self.open = self.deepest = 0
        self.futures: list[Future] = []

    def execute_async(self, statement: Any, parameters: Any) -> Future:
        """Return a new future, or fail if the statement is "bad"."""
        if statement == "bad":
            raise TypeError("bad")
        self.futures.append(Future(self))
        return self.futures[-1]


def test_callbacks_that_run_at_once_do_not_recurse() -> None:
    session = Session(at_once=True)
    pairs: list[tuple[str, Any]] = [("good", None)] * 5000
    pairs[10] = ("bad", None)
    outcomes = execute_concurrent_async(session, pairs, concurrency=3).result(timeout=WAIT)
    assert len(outcomes) == 5000
    # No callback was called while another one was running.
    assert session.deepest == 1
    assert [index for index, outcome in enumerate(outcomes) if not outcome.success] == [10]


def test_requests_are_limited_by_the_concurrency_and_stop_after_cancelling() -> None:
    session = Session(at_once=False)
    future = execute_concurrent_async(session, [("good", None)] * 10, concurrency=4)
    assert len(session.futures) == 4
    session.futures[0].finish()
    assert len(session.futures) == 5
    assert future.cancel()
    for pending in session.futures[1:]:
        # Let each response arrive in a different thread.
        thread = threading.Thread(target=pending.finish)
        thread.start()
        thread.join()
    # After the cancellation, the function sends no further request.
    assert len(session.futures) == 5
    assert future.cancelled()


# A program with an import hook, like those of tracers, that patches `cassandra.cluster`.
TRACERS_HOOK = """
import importlib.abc, importlib.util, sys

class Hook(importlib.abc.MetaPathFinder):
    # As wrapt's hooks: called before the import makes the module an attribute of the package.
    def find_spec(self, name, path, target=None):
        if name != "cassandra.cluster":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            import cassandra.cluster as found
            assert found is module
            print("patched", found.Cluster.__name__)
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Hook())
import cassandra
import cassandra.cluster
assert cassandra.cluster is sys.modules["cassandra.cluster"]
"""


def test_an_import_hook_of_a_tracer_can_patch_a_module() -> None:
    """A tracer's import hook can patch `cassandra.cluster` while the module is imported."""
    assert run_python(TRACERS_HOOK).stdout == "patched Cluster\n"


def test_the_class_of_a_timestamp_column_is_named_date_type() -> None:
    # The SQL client Harlequin shows the names of the type classes above its columns, so this name
    # must be the same as in cassandra-driver.
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("SELECT at FROM t", rows([("at", "timestamp"), ("all_", "list<timestamp>")]))
        types = cluster.connect().execute("SELECT at FROM t").column_types
        assert types is not None
        assert [cqltype.__name__ for cqltype in types] == ["DateType", "ListType(DateType)"]
        assert [cqltype.typename for cqltype in types] == ["timestamp", "list"]
