"""For a mistake in a setting, the error or warning says what to write, or where to look."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.observability.prometheus import ClusterCollector
from cassandra.observability.statsd import StatsReporter
from cassandra.policies import HostFilterPolicy, RoundRobinPolicy, WhiteListRoundRobinPolicy
from cassandra.testing.fake import FakeNode
from cassandra.throttling import RateLimitingThrottler

# The tests use these objects in wrong ways on purpose. Without `Any`, type checkers would report
# the wrong uses.
make_cluster: Any = Cluster
make_reporter: Any = StatsReporter
make_throttler: Any = RateLimitingThrottler


def refusal(port: int, **settings: Any) -> str:
    """Connect to 127.0.0.1, which must fail, and return the message of the error.

    :param settings: arguments for the cluster.
    """
    with (
        Cluster(["127.0.0.1"], port=port, **settings) as cluster,
        pytest.raises(NoHostAvailable) as caught,
    ):
        cluster.connect()
    return str(caught.value)


def test_a_web_server_on_the_port_is_recognised() -> None:
    """If a web server listens on the port, the error shows its response and asks about the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_as_web_server() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer_as_web_server)
        thread.start()
        message = refusal(server.getsockname()[1])
        thread.join()
    assert "b'HTTP/1.1 '" in message
    assert "is that the port of CQL (native_transport_port, usually 9042)?" in message


def test_the_error_says_if_connect_timeout_is_too_short(node: FakeNode) -> None:
    """If no node responds within a timeout of 1 ms, the error names `connect_timeout`."""
    node.accept_but_hang()
    message = refusal(node.port, connect_timeout=0.001)
    assert "did not answer within 0.001 s, in which few nodes can (Cluster.connect_t" in message


@pytest.mark.parametrize(
    "name",
    [
        "connect_timeout",
        "control_connection_timeout",
        "idle_heartbeat_interval",
        "idle_heartbeat_timeout",
    ],
)
def test_short_times_in_milliseconds_warn(name: str) -> None:
    """A value of 2000 seconds warns for these settings, because 2000 ms were probably meant."""
    with pytest.warns(RuntimeWarning, match=rf"{name}=2000 is in seconds.* write {name}=2 for"):
        make_cluster(**{name: 2000})


def test_a_password_that_is_none_is_explained(node: FakeNode) -> None:
    """If the password is None, the error asks whether an environment variable is set.

    Most such passwords come from an environment variable that is not set.
    """
    node.require_password("app", "right")
    message = refusal(node.port, auth_provider=PlainTextAuthProvider("app", None))  # type: ignore[arg-type]
    assert "the password must be a text, but is of type NoneType" in message
    assert "is the environment variable set" in message


def test_policies_that_ignore_all_hosts_are_named(node: FakeNode) -> None:
    """If a policy ignores all contact points, the error names the policy and a host."""
    for policy in (
        WhiteListRoundRobinPolicy(["10.9.9.9"]),
        HostFilterPolicy(RoundRobinPolicy(), lambda host: False),
    ):
        message = refusal(
            node.port, execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
        )
        assert f"{type(policy).__name__} must include one of {node.endpoint}" in message


# A context for TLS servers. Clients cannot connect with it.
SERVER_CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: make_cluster(ssl_context="ca.pem"),
            TypeError,
            "but is 'ca.pem': write ssl.create_default_context(cafile='ca.pem')",
        ),
        (lambda: make_cluster(ssl_context=5), TypeError, "write ssl.create_default_context()"),
        (
            lambda: make_cluster(ssl_context=SERVER_CONTEXT),
            ValueError,
            "write ssl.create_default_context()",
        ),
        (
            lambda: make_cluster("10.0.0.1, 10.0.0.2"),
            TypeError,
            "write ['10.0.0.1', '10.0.0.2']",
        ),
        (lambda: make_cluster(b"10.0.0.1"), TypeError, "write ['10.0.0.1']"),
        (
            lambda: make_cluster(auth_provider=("app", "pw")),
            TypeError,
            "write PlainTextAuthProvider(username, password)",
        ),
        (
            lambda: make_cluster(max_requests_per_connection=100),
            TypeError,
            "write request_throttler=ConcurrencyLimitingThrottler(n)",
        ),
        (
            lambda: make_throttler("100"),
            TypeError,
            "max_requests_per_second must be a number, but is '100'",
        ),
        (
            lambda: make_throttler(100, burst=True),
            TypeError,
            "burst must be a number, but is True",
        ),
        (lambda: make_reporter(Cluster(), object()), TypeError, "has no incr and no gauge and no"),
        (lambda: ClusterCollector(5), TypeError, "is for a cluster, but got an object of type int"),
    ],
)
def test_the_error_says_what_to_write(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    """Each of these calls has a wrong argument. The error names the argument and its right form."""
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_metrics_are_for_a_cluster_not_for_a_session(node: FakeNode) -> None:
    """Passing a session for a cluster raises TypeError, which says what to write."""
    with Cluster([node.address], port=node.port) as cluster:
        session: Any = cluster.connect()
        with pytest.raises(TypeError, match=r"write ClusterCollector\(session\.cluster\)"):
            ClusterCollector(session)
        statsd_client: Any = object()
        with pytest.raises(TypeError, match=r"write StatsReporter\(session\.cluster\)"):
            StatsReporter(session, statsd_client)
    ClusterCollector(aio.Cluster())


def test_an_interval_of_reports_in_milliseconds_warns() -> None:
    """An interval of 10,000 seconds causes a warning, because milliseconds were probably meant."""

    class StatsdClient:
        def incr(self, stat: str, count: int = 1) -> None: ...

        def gauge(self, stat: str, value: float) -> None: ...

        def timing(self, stat: str, delta: float) -> None: ...

    reporter = StatsReporter(Cluster(), StatsdClient())
    with pytest.warns(RuntimeWarning, match="interval=10000 is in seconds.*write interval=10 "):
        reporter.start(interval=10_000)
    reporter.stop()
