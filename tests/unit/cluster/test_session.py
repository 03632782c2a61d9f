"""The blocking `Session`: its methods, the options of a call, and its shutdown."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from cassandra import ConsistencyLevel
from cassandra.bulk import LoadError
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.errors import ConnectionShutdown, InvalidRequest, NoHostAvailable, OperationTimedOut
from cassandra.query import dict_factory
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, paged, set_keyspace, silence
from tests.unit.cluster.conftest import READ

PREPARED = "SELECT v FROM t WHERE k = ?"
TABLE = "ks.t0"
NUMBERS = [("k", "int")]


class Row(NamedTuple):
    k: int
    v: str


def test_rows_as_instances_of_a_class(blocking_session: Session) -> None:
    """With `row_type`, rows are instances of this class.

    Objects that are not classes are refused.
    """
    assert blocking_session.execute(READ, row_type=Row).all() == [Row(1, "a"), Row(2, "b")]
    future = blocking_session.execute_async(READ, row_type=Row)
    assert future.result().all() == [Row(1, "a"), Row(2, "b")]
    wrong: Any = 5
    with pytest.raises(TypeError):
        blocking_session.execute(READ, row_type=wrong)


def test_set_keyspace_changes_the_keyspace_unless_the_server_refuses(
    shop: FakeNode, blocking_session: Session
) -> None:
    """`set_keyspace` changes the session's keyspace, but not if the server returns an error."""
    shop.prime('USE "Shop"', set_keyspace("Shop"))
    shop.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    blocking_session.set_keyspace("Shop")
    assert blocking_session.keyspace == "Shop"
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        blocking_session.set_keyspace("none")
    assert blocking_session.keyspace == "Shop"


def test_preparing_one_and_many(shop: FakeNode, blocking_session: Session) -> None:
    """`prepare_all` returns a statement for each query of a list; a single string is refused."""
    prepared = blocking_session.prepare(PREPARED)
    others = blocking_session.prepare_all([READ, PREPARED])
    assert [statement.query_string for statement in (prepared, *others)] == [
        PREPARED,
        READ,
        PREPARED,
    ]
    # One PREPARE was sent for each of the three statements.
    assert shop.count(Opcode.PREPARE) == 3
    with pytest.raises(TypeError, match="not a single text"):
        blocking_session.prepare_all(READ)


def test_a_blocking_call_in_a_callback_is_refused(
    shop: FakeNode, blocking_session: Session
) -> None:
    """Blocking calls in a callback on the event loop raise RuntimeError."""
    outcomes: list[Any] = []

    def make_blocking_calls(rows: Any) -> None:
        """Make three blocking calls, which must all be refused.

        Each would wait for a response, which the loop cannot read while it runs this callback.
        """
        for blocking_call in (
            lambda: blocking_session.execute(READ),
            lambda: blocking_session.prepare(PREPARED),
            lambda: blocking_session.execute_async(READ).result(),
        ):
            try:
                outcomes.append(blocking_call())
            except RuntimeError as refusal:
                outcomes.append(str(refusal))

    # The response must come after the callback was added. Otherwise, this thread would run the
    # callback, not the event loop.
    shop.pause()
    future = blocking_session.execute_async(READ)
    future.add_callback(make_blocking_calls)
    shop.resume()
    future.result()
    # The callback may still be running. It has ended when the loop has handled another request.
    blocking_session.execute(READ)
    assert len(outcomes) == 3
    assert all("in the driver's own event loop thread" in outcome for outcome in outcomes)


def test_listeners_see_each_request_before_it_is_sent(
    shop: FakeNode, blocking_session: Session
) -> None:
    """A request listener is called before each request is sent, with its extra arguments."""

    def add_payload(future: Any, mark: bytes) -> None:
        future.message.update_custom_payload({"mark": mark})

    blocking_session.add_request_init_listener(add_payload, b"1")
    blocking_session.execute(READ)
    (request,) = shop.queries(READ)
    assert request.custom_payload == {"mark": b"1"}
    blocking_session.remove_request_init_listener(add_payload, b"1")
    blocking_session.execute(READ)
    assert not shop.queries(READ)[-1].custom_payload


def test_after_shutdown_a_session_refuses_requests(blocking_cluster: Cluster) -> None:
    """After `Session.shutdown`, `execute` raises ConnectionShutdown."""
    with blocking_cluster.connect() as session:
        assert repr(session).startswith("<Session: keyspace=None")
    session.shutdown()
    assert session.is_shutdown
    with pytest.raises(ConnectionShutdown):
        session.execute(READ)
    # The shutdown of a session does not affect the cluster's other sessions.
    assert blocking_cluster.connect().execute(READ).one() == (1, "a")


# -- options of a call -----------------------------------------------------------------------------


def test_the_options_of_a_call_are_sent(shop: FakeNode, blocking_session: Session) -> None:
    """`execute` sends the options of its call, and the next call does not have them."""
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.TWO, row_factory=dict_factory)
    result = blocking_session.execute(
        READ, trace=True, custom_payload={"mark": b"1"}, execution_profile=profile
    )
    assert result.one() == {"k": 1, "v": "a"}
    (request,) = shop.queries(READ)
    assert request.traced
    assert request.custom_payload == {"mark": b"1"}
    assert request.consistency == ConsistencyLevel.TWO
    blocking_session.execute(READ)
    plain = shop.queries(READ)[-1]
    assert not plain.traced
    assert not plain.custom_payload
    assert plain.consistency != ConsistencyLevel.TWO


def test_paging_state_continues_an_earlier_read(shop: FakeNode, blocking_session: Session) -> None:
    """With the paging state of an earlier result, `execute` returns the next page."""
    shop.prime(READ, paged(NUMBERS, [(1,), (2,), (3,)]))
    blocking_session.default_fetch_size = 2
    first_page = blocking_session.execute(READ)
    assert first_page.has_more_pages
    second_page = blocking_session.execute(READ, paging_state=first_page.paging_state)
    assert [row[0] for row in second_page.current_rows] == [3]
    assert shop.queries(READ)[-1].paging_state == first_page.paging_state


def test_the_timeout_of_a_call_limits_it(shop: FakeNode, blocking_session: Session) -> None:
    """The timeout of a call applies to `execute`, and to the future of `execute_async`."""
    shop.prime(READ, silence())
    with pytest.raises(OperationTimedOut):
        blocking_session.execute(READ, timeout=0.01)
    with pytest.raises(OperationTimedOut):
        blocking_session.execute_async(READ, timeout=0.01).result()


def test_a_host_or_a_token_choose_the_target(shop: FakeNode, blocking_session: Session) -> None:
    """`host` or `token` choose the node; `shard` is refused, because the node has no shards."""
    (host,) = blocking_session.hosts
    assert blocking_session.execute(READ, host=host).one() == (1, "a")
    assert blocking_session.execute(READ, token=0).one() == (1, "a")
    with pytest.raises(ValueError, match="shard"):
        blocking_session.execute(READ, host=host, shard=1)
    with pytest.raises((ValueError, NoHostAvailable)):
        blocking_session.execute(READ, shard=1)


@pytest.mark.parametrize("call", ["execute", "execute_async", "prepare"])
def test_misspelt_options_are_refused(shop: FakeNode, blocking_session: Session, call: str) -> None:
    method: Any = getattr(blocking_session, call)
    with pytest.raises(TypeError, match="time_out"):
        method(READ, time_out=5)
    assert shop.queries(READ) == []


def test_proxy_execution_is_refused(shop: FakeNode, blocking_session: Session) -> None:
    with pytest.raises(NotImplementedError, match="execute_as is DataStax Enterprise's"):
        blocking_session.execute(READ, execute_as="ann")
    assert shop.queries(READ) == []


def test_values_that_do_not_fit_are_refused_at_once(
    shop: FakeNode, blocking_session: Session
) -> None:
    """A value that cannot be bound raises an error in `execute_async` itself, not in its future."""
    prepared = blocking_session.prepare(PREPARED)
    with pytest.raises(TypeError, match=r"'ann' \(str\) is not an integer"):
        blocking_session.execute_async(prepared, ["ann"])


# -- keyspaces and schema --------------------------------------------------------------------------


def test_setting_the_attribute_changes_the_keyspace(
    shop: FakeNode, blocking_session: Session
) -> None:
    """Assigning `Session.keyspace` changes the keyspace as `set_keyspace` does."""
    shop.prime('USE "Shop"', set_keyspace("Shop"))
    blocking_session.keyspace = "Shop"
    assert blocking_session.keyspace == "Shop"
    assert repr(blocking_session) == "<Session: keyspace=Shop, 1 hosts>"
    wrong: Any = 5
    with pytest.raises(TypeError, match="a keyspace is a str"):
        blocking_session.set_keyspace(wrong)


def test_request_listeners_do_not_see_set_keyspace(
    shop: FakeNode, blocking_session: Session
) -> None:
    """The USE that `set_keyspace` sends is not passed to request listeners."""
    futures: list[Any] = []
    blocking_session.add_request_init_listener(futures.append)
    blocking_session.set_keyspace("Shop")
    assert futures == []


def test_prepare_passes_its_keyspace_and_payload(shop: FakeNode, blocking_session: Session) -> None:
    """PREPARE has the keyspace and the custom payload that were passed to `prepare`."""
    prepared = blocking_session.prepare(PREPARED, custom_payload={"mark": b"1"}, keyspace="other")
    (request,) = [request for request in shop.requests if request.opcode == Opcode.PREPARE]
    assert (request.keyspace, request.custom_payload) == ("other", {"mark": b"1"})
    assert prepared.query_string == PREPARED
    wrong: Any = 5
    with pytest.raises(TypeError):
        blocking_session.prepare(wrong)


def test_a_single_node_agrees_on_the_schema(blocking_session: Session) -> None:
    """A single node agrees with itself in every scope. An unknown scope is refused."""
    assert blocking_session.wait_for_schema_agreement() is True
    assert blocking_session.wait_for_schema_agreement(wait_time=1, scope="rack") is True
    with pytest.raises(ValueError, match="planet"):
        blocking_session.wait_for_schema_agreement(scope="planet")


# -- whole tables ----------------------------------------------------------------------------------


class Calls:
    """A fake function that records the arguments of its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **options: Any) -> str:
        self.calls.append((args, options))
        return "done"


@pytest.mark.parametrize(
    ("method", "target", "arguments"),
    [
        ("scan", "cassandra.bulk.scan.Scan", ("k", "k > 1")),
        ("count", "cassandra.bulk.scan.count", ("k > 1",)),
    ],
)
def test_reads_of_whole_tables_pass_their_arguments(
    blocking_session: Session,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    target: str,
    arguments: tuple[str, ...],
) -> None:
    """`Session.scan` and `count` pass their arguments on.

    `Scan` gets the options as one mapping, and `count` gets them as keyword arguments.
    """
    calls = Calls()
    monkeypatch.setattr(target, calls)
    assert getattr(blocking_session, method)(TABLE, *arguments, concurrency=3) == "done"
    options = {"concurrency": 3}
    if method == "scan":
        assert calls.calls == [((blocking_session, TABLE, *arguments, options), {})]
    else:
        assert calls.calls == [((blocking_session, TABLE, *arguments), options)]


def test_an_unload_passes_its_arguments(
    blocking_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Session.unload` passes its arguments to `cassandra.bulk`.

    The default format is "parquet".
    """
    calls: Any = Calls()
    monkeypatch.setattr("cassandra.bulk.unload.unload", calls)
    options: dict[str, Any] = {
        "format": "csv",
        "columns": "k",
        "where": "k > 1",
        "compression": None,
    }
    report: Any = blocking_session.unload(TABLE, "out", **options, null="")
    assert report == "done"
    assert calls.calls == [((blocking_session, TABLE, "out"), {**options, "null": ""})]
    blocking_session.unload(TABLE, "out")
    _, default_options = calls.calls[1]
    assert default_options["format"] == "parquet"


def test_a_load_without_a_source_is_refused(blocking_session: Session) -> None:
    with pytest.raises((TypeError, ValueError, LoadError)):
        blocking_session.load(TABLE, 5)


# -- the end ---------------------------------------------------------------------------------------


def test_shutdown_closes_the_sessions_connections_only(
    shop: FakeNode, blocking_cluster: Cluster, blocking_session: Session
) -> None:
    """`Session.shutdown` closes the connections of this session only.

    Another session still works.
    """
    count_before = len(shop.connections)
    other = blocking_cluster.connect()
    assert len(shop.connections) == count_before + 1
    # A second call does nothing.
    other.shutdown()
    other.shutdown()
    assert repr(other) == "<Session: keyspace=None, shut down>"
    shop.wait_for(lambda node: len(node.connections) == count_before)
    assert not blocking_session.is_shutdown
    assert blocking_session.execute(READ).one() == (1, "a")
