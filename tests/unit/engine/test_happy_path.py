"""The happy path: the code for requests that need no retry, tracing or paging.

Each test runs with the pure Python and the compiled version. The tests cover streams, responses,
attempts, and the encoding of requests.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from cassandra import ConsistencyLevel, _impl
from cassandra.engine.call_options import CallOptions
from cassandra.engine.happy_path import METADATA_IDS
from cassandra.engine.request_bodies import ExecuteBody, QueryBody
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.policies import ConstantSpeculativeExecutionPolicy, NoSpeculativeExecutionPolicy
from cassandra.policies.plan_limit import LONGEST_PLAN
from cassandra.protocol.messages.results import VOID_BODY
from cassandra.protocol.opcodes import ERROR, EVENT, EXECUTE, RESULT, RESULT_KIND_VOID
from cassandra.protocol.streams import MAX_STREAMS
from cassandra.query.settings import FETCH_SIZE_UNSET, NOT_SET
from cassandra.query.statement import SimpleStatement
from tests.conftest import LANE, Implementation

IMPLEMENTATIONS = ["python", "c"] if LANE == "c" else ["python"]


class FakeWriter:
    """A fake frame writer that records frames, or raises ValueError if `refuses` is True."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, int, int, bytes]] = []
        self.pending = 0
        self.refuses = False

    def add(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        if self.refuses:
            raise ValueError("too long")
        self.frames.append((stream, opcode, flags, body))


class FakeResponder:
    """A fake responder that records its responses as (opcode, flags, body).

    :param fails: True to raise RuntimeError at each response.
    """

    def __init__(self, fails: bool = False) -> None:
        self.answers: list[tuple[int, int, bytes]] = []
        self.fails = fails

    def on_response(self, connection: Any, opcode: int, flags: int, body: bytes) -> None:
        self.answers.append((opcode, flags, body))
        if self.fails:
            raise RuntimeError("cannot take it")


class FakeConnection:
    """A fake connection with the attributes that streams and requests use.

    `flushes` lists the calls that the stream table has scheduled on the loop, to write its frames.
    `unsolicited` lists the frames that no request waits for.
    """

    def __init__(self, implementation: Implementation) -> None:
        # The stream table compares `version` with the version of each response, and stores another
        # version in `peer_version`. A request is encoded for `wire_format`, which is the protocol
        # version plus flags of extensions (here, no flags).
        self.version = self.peer_version = 4
        self.wire_format = 4
        self.endpoint = "here:9042"
        self.writer = FakeWriter()
        self.flushes: list[Any] = []
        self.unsolicited: list[tuple[int, int, int, bytes]] = []
        # The table passes its third argument, which would write all frames, to `_call_soon`. Here,
        # `_call_soon` only records it.
        self.streams = implementation.happy_path.StreamTable(
            self.writer, self._call_soon, lambda: None
        )

    def _call_soon(self, call: Any) -> Any:
        self.flushes.append(call)
        return call

    def on_unsolicited(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        self.unsolicited.append((stream, opcode, flags, body))

    def abandon(self, stream: int, responder: Any) -> None:
        self.streams.abandon(stream, responder)

    def refusal(self) -> Exception:
        return ConnectionShutdown("no stream is free")

    def answer(
        self, stream: int, body: bytes = VOID_BODY, opcode: int = RESULT, flags: int = 0
    ) -> None:
        """Let the stream table dispatch a response, by default a RESULT of kind Void."""
        self.streams.dispatch(self, [response(stream, opcode, flags, body)])


def response(
    stream: int, opcode: int = RESULT, flags: int = 0, body: bytes = b"", version: int = 4
) -> tuple[int, int, int, bytes, int]:
    """Return a response in the form that the stream table gets.

    The form is (stream, opcode, flags, body, version).

    :param version: the protocol version of the frame.
    """
    return stream, opcode, flags, body, version


@pytest.fixture
def connection(implementation: Implementation) -> FakeConnection:
    return FakeConnection(implementation)


def send_request(connection: FakeConnection, body: bytes = b"") -> int:
    """Send an EXECUTE without flags, and return its stream, or -1 if no stream is free."""
    stream: int = connection.streams.send(FakeResponder(), EXECUTE, 0, body)
    return stream


class TestExchange:
    """`StreamTable`, which assigns streams to requests and passes responses to their responders."""

    def test_the_lowest_free_stream_is_used(self, connection: FakeConnection) -> None:
        """The lowest free stream is used, even if streams that were never used are left."""
        streams = connection.streams
        assert [send_request(connection) for _ in range(70)] == list(range(70))
        for stream in (65, 3, 10):
            connection.answer(stream)
        assert [send_request(connection) for _ in range(4)] == [3, 10, 65, 70]
        assert streams.in_flight == 71

    def test_all_streams_can_be_used(self, connection: FakeConnection) -> None:
        """A connection has MAX_STREAMS streams. While all are in use, sending returns -1.

        A response makes its stream free again.
        """
        streams = connection.streams
        for stream in range(MAX_STREAMS):
            assert send_request(connection) == stream
        assert send_request(connection) == -1
        assert not streams.has_room
        connection.answer(MAX_STREAMS - 1)
        assert streams.has_room
        assert send_request(connection) == MAX_STREAMS - 1

    @pytest.mark.parametrize("limit", [0, -1, MAX_STREAMS + 1])
    def test_a_limit_beyond_the_protocol_is_refused(
        self, connection: FakeConnection, limit: int
    ) -> None:
        with pytest.raises(ValueError, match=str(limit)):
            connection.streams.limit = limit

    def test_no_more_streams_than_the_limit_are_used(self, connection: FakeConnection) -> None:
        streams = connection.streams
        streams.limit = 2
        assert [send_request(connection) for _ in range(3)] == [0, 1, -1]
        assert streams.limit == 2

    def test_requests_of_one_turn_are_flushed_together(self, connection: FakeConnection) -> None:
        """Only the first request of a loop iteration schedules a flush.

        The flush writes all requests of this iteration.
        """
        streams = connection.streams
        send_request(connection, b"a")
        send_request(connection, b"b")
        assert len(connection.flushes) == 1
        # None means that the scheduled flush has run, so the next request must schedule another
        # flush.
        streams.armed = None
        send_request(connection, b"c")
        assert len(connection.flushes) == 2
        sent_bodies = [body for _stream, _opcode, _flags, body in connection.writer.frames]
        assert sent_bodies == [b"a", b"b", b"c"]

    def test_a_failed_write_uses_no_stream(self, connection: FakeConnection) -> None:
        """If a message cannot be written, its stream is free for the next request."""
        streams = connection.streams
        connection.writer.refuses = True
        with pytest.raises(ValueError, match="too long"):
            send_request(connection)
        connection.writer.refuses = False
        assert streams.in_flight == 0
        assert send_request(connection) == 0

    def test_has_room_if_open_and_not_paused_or_full(self, connection: FakeConnection) -> None:
        """`has_room` is False while writing is paused or too many bytes are unsent.

        It is also False after closing.
        """
        streams = connection.streams
        assert streams.has_room
        streams.paused = True
        assert not streams.has_room
        streams.paused = False
        connection.writer.pending = 1 << 20  # 1 MiB of unsent bytes
        assert not streams.has_room
        connection.writer.pending = 0
        streams.closed = True
        assert not streams.has_room

    def test_answers_reach_their_responders(self, connection: FakeConnection) -> None:
        """Each response reaches the responder that uses its stream.

        The responses may arrive in any order.
        """
        responders = [FakeResponder() for _ in range(3)]
        for responder in responders:
            connection.streams.send(responder, EXECUTE, 0, b"")
        connection.streams.dispatch(
            connection,
            [response(2, flags=1, body=b"c"), response(0, ERROR, body=b"a", version=3)],
        )
        assert [responder.answers for responder in responders] == [
            [(ERROR, 0, b"a")],
            [],
            [(RESULT, 1, b"c")],
        ]
        # The stream table stores the version of the last frame in `peer_version`.
        assert connection.peer_version == 3
        assert connection.streams.in_flight == 1

    def test_a_responder_that_raises_does_not_affect_the_others(
        self, connection: FakeConnection, caplog: pytest.LogCaptureFixture
    ) -> None:
        """If a responder raises an exception, the next response is still processed.

        The exception is logged.
        """
        failing_responder, healthy_responder = FakeResponder(fails=True), FakeResponder()
        connection.streams.send(failing_responder, EXECUTE, 0, b"")
        connection.streams.send(healthy_responder, EXECUTE, 0, b"")
        with caplog.at_level(logging.ERROR, "cassandra.connection"):
            connection.streams.dispatch(connection, [response(0), response(1)])
        assert len(healthy_responder.answers) == 1
        assert "could not be processed" in caplog.text

    def test_events_and_answers_on_unused_streams_are_unsolicited(
        self, connection: FakeConnection
    ) -> None:
        """A frame that no request waits for is passed to the connection's `on_unsolicited`."""
        connection.streams.dispatch(connection, [response(-1, EVENT, body=b"event"), response(7)])
        assert connection.unsolicited == [(-1, EVENT, 0, b"event"), (7, RESULT, 0, b"")]

    def test_no_answer_is_dispatched_after_close(self, connection: FakeConnection) -> None:
        """If a responder closes the connection, later responses of the same read are dropped."""

        class ClosingResponder(FakeResponder):
            def on_response(self, connection: Any, opcode: int, flags: int, body: bytes) -> None:
                connection.streams.closed = True

        second_responder = FakeResponder()
        connection.streams.send(ClosingResponder(), EXECUTE, 0, b"")
        connection.streams.send(second_responder, EXECUTE, 0, b"")
        connection.streams.dispatch(connection, [response(0), response(1)])
        assert second_responder.answers == []

    def test_an_orphan_keeps_its_stream_until_its_answer_comes(
        self, connection: FakeConnection
    ) -> None:
        """The stream of an abandoned request is not used again until its response has come.

        Otherwise, this response would reach the wrong request.
        """
        streams = connection.streams
        abandoned, other = FakeResponder(), FakeResponder()
        streams.send(abandoned, EXECUTE, 0, b"")
        # `abandon` has an effect only for the responder that uses the stream, and only once.
        assert not streams.abandon(0, other)
        assert streams.abandon(0, abandoned)
        assert not streams.abandon(0, abandoned)
        assert streams.orphans == 1
        assert streams.in_flight == 1
        assert streams.send(other, EXECUTE, 0, b"") == 1
        connection.answer(0)
        assert streams.orphans == 0
        # Only the request of `other` is still in flight.
        assert streams.in_flight == 1
        assert abandoned.answers == []
        assert send_request(connection) == 0

    def test_take_all_returns_the_responders_in_flight(self, connection: FakeConnection) -> None:
        """`take_all` returns the responders in flight, and empties the table.

        Abandoned responders are left out.
        """
        streams = connection.streams
        responders = [FakeResponder() for _ in range(3)]
        for responder in responders:
            streams.send(responder, EXECUTE, 0, b"")
        streams.abandon(1, responders[1])
        assert streams.take_all() == [responders[0], responders[2]]
        assert streams.in_flight == 0
        assert streams.orphans == 0
        assert streams.take_all() == []

    def test_the_least_busy_connection_is_chosen(self, implementation: Implementation) -> None:
        """`first_with_room` returns the connection with the fewest requests in flight, or None.

        Among equals, it returns the first. Connections that are closed, paused or full do not
        count.
        """
        first, second, third = (FakeConnection(implementation) for _ in range(3))
        first_with_room = implementation.happy_path.first_with_room
        assert first_with_room([]) is None
        assert first_with_room([first, second]) is first
        send_request(first)
        assert first_with_room([first, second, third]) is second
        second.streams.closed = third.streams.paused = True
        assert first_with_room([first, second, third]) is first
        first.streams.limit = 1
        assert first_with_room([first, second, third]) is None


# These are the steps of a random test. "send" sends a request. "answer" sends the response to the
# request in flight with this number, and "abandon" abandons this request.
STEPS = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(["send", "answer", "abandon"]), strategies.integers(0, 200)
    ),
    max_size=100,
)


@pytest.mark.parametrize("implementation_name", IMPLEMENTATIONS)
@settings(deadline=None, max_examples=100)
@given(steps=STEPS, limit=strategies.integers(1, 130))
def test_the_stream_table_behaves_like_its_model(
    implementation_name: str, steps: list[tuple[str, int]], limit: int
) -> None:
    """For random steps, a stream table behaves like a simple model of sets and dicts.

    A request gets the lowest free stream, the counts are exact, and each response reaches its
    request.
    """
    connection = FakeConnection(Implementation(implementation_name))
    streams = connection.streams
    streams.limit = limit
    # The model maps each stream in use to its responder, or to None if the request was abandoned.
    responders_by_stream: dict[int, FakeResponder | None] = {}
    for step, number in steps:
        if step == "send":
            responder = FakeResponder()
            stream = streams.send(responder, EXECUTE, 0, b"")
            expected = next(
                (candidate for candidate in range(limit) if candidate not in responders_by_stream),
                -1,
            )
            assert stream == expected
            if stream >= 0:
                responders_by_stream[stream] = responder
        elif responders_by_stream:
            stream = sorted(responders_by_stream)[number % len(responders_by_stream)]
            waiting_responder = responders_by_stream[stream]
            if step == "abandon":
                if waiting_responder is not None:
                    assert streams.abandon(stream, waiting_responder)
                    responders_by_stream[stream] = None
            else:
                connection.answer(stream)
                if waiting_responder is not None:
                    assert len(waiting_responder.answers) == 1
                del responders_by_stream[stream]
        assert streams.in_flight == len(responders_by_stream)
        assert streams.orphans == sum(
            responder is None for responder in responders_by_stream.values()
        )
    assert connection.unsolicited == []


class FakeHost:
    """A fake host that has only an endpoint."""

    def __init__(self, name: str) -> None:
        self.endpoint = name

    def __repr__(self) -> str:
        return self.endpoint


class FakeSession:
    """A fake `EngineSession` with the attributes that requests use."""

    def __init__(self, implementation: Implementation) -> None:
        self.timers: Any = implementation.happy_path.TimerWheel(
            SimpleNamespace(time=lambda: 0.0, call_at=lambda when, call: None)
        )
        self.core = SimpleNamespace(on_latency=None, user_types={}, wire_format=4, home=None)
        self.attends = False
        self.throttle = None
        self.keyspace = "ks"
        self.closed = False
        self.pools: dict[Any, Any] = {}
        self.pools_by_id: dict[int, Any] = {}

    def closed_error(self, was_sent: bool = False) -> Exception:
        return ConnectionShutdown("closed")


class FakePrepared:
    """A fake prepared statement with the attributes that its execution uses."""

    def __init__(self) -> None:
        self.query_id = b"id"
        self._home = None
        self.result_metadata_and_id: tuple[Any, bytes | None] = (None, None)
        self.query_string = "SELECT"


class FakeStatement:
    """A fake bound statement with the attributes that requests use."""

    is_idempotent = True
    consistency_level = None
    serial_consistency_level = None
    fetch_size = 100
    custom_payload = None
    retry_policy = None
    vector_type = None
    block = None

    def __init__(self) -> None:
        self.prepared_statement = FakePrepared()


def execute_body(prepared: Any, **changes: Any) -> ExecuteBody:
    """Return the body of an EXECUTE without values, with these attributes changed."""
    body = ExecuteBody(prepared, None)
    body.consistency = ConsistencyLevel.ONE
    for name, value in changes.items():
        setattr(body, name, value)
    return body


class RequestHarness:
    """A fake session with one connection to each host, and a factory of requests in this session.

    The requests are of a subclass that records in `calls` the methods which `RequestBase` leaves to
    subclasses. `ended` lists the requests that have ended, and `plan_count` counts the query plans.
    The harness is also the load-balancing policy of its requests.

    :param hosts: the number of hosts.
    """

    def __init__(self, implementation: Implementation, hosts: int = 1) -> None:
        base: Any = implementation.happy_path.RequestBase

        class RecordingRequest(base):  # type: ignore[misc]
            """A request that only records in `calls` what a real subclass would handle."""

            calls: list[tuple[Any, ...]]

            def on_other_answer(self, *args: Any) -> None:
                self.calls.append(("other answer", *args[2:]))

            def on_attempt_failed(self, attempt: Any, error: Exception) -> None:
                self.calls.append(("failed", error))

            def on_no_connection(self, host: Any, pool: Any) -> None:
                self.calls.append(("no connection", host, pool))

            def on_plan_exhausted(self) -> None:
                self.calls.append(("exhausted",))

            def start_speculation(self) -> None:
                self.calls.append(("speculation",))

        self.implementation = implementation
        self.request_class = RecordingRequest
        self.session = FakeSession(implementation)
        self.hosts = [FakeHost(f"h{number}") for number in range(hosts)]
        self.connections = [FakeConnection(implementation) for _ in self.hosts]
        for host, connection in zip(self.hosts, self.connections, strict=True):
            pool = SimpleNamespace(connections=[connection], shards=None)
            self.session.pools[host] = self.session.pools_by_id[id(host)] = pool
        self.ended: list[Any] = []
        self.plan_count = 0

    def make_query_plan(self, keyspace: str | None, statement: Any) -> Iterator[FakeHost]:
        # The request must pass the keyspace of its session to the policy.
        assert keyspace == "ks"
        self.plan_count += 1
        return iter(self.hosts)

    def request(self, **settings: Any) -> Any:
        """Return a request that is not started, with these attributes changed."""
        options = {
            "timeout": 5.0,
            "speculative_policy": None,
            "request_body": ENCODED_BODY,
            **settings,
        }
        request = self.request_class(
            self.session, FakeStatement(), options.pop("request_body"), self.ended.append
        )
        request.policy = self
        for name, value in options.items():
            setattr(request, name, value)
        request.calls = []
        return request


class EncodedBody:
    """A fake request body, which is already encoded."""

    decodes = False
    depends = False

    def render(self, connection: Any) -> tuple[int, int, bytes]:
        return EXECUTE, 0, b"body"

    def cached_metadata(self) -> Any:
        return None


ENCODED_BODY = EncodedBody()


@pytest.fixture
def harness(implementation: Implementation) -> RequestHarness:
    return RequestHarness(implementation)


class TestRequest:
    """`RequestBase`, the part of a request that is the same in the blocking and the asyncio API."""

    def test_an_endless_plan_ends(self, harness: RequestHarness) -> None:
        """If no host of an endless query plan has a free stream, the plan counts as exhausted.

        LONGEST_PLAN hosts are tried. Otherwise, the loop could do nothing else.
        """
        host = FakeHost("unknown")
        request = harness.request()
        request._plan = itertools.repeat(host)
        request.start()
        assert request.calls.pop() == ("exhausted",)
        assert request.calls == [("no connection", host, None)] * LONGEST_PLAN

    def test_a_request_is_sent_and_answered(self, harness: RequestHarness) -> None:
        """A request starts its timeout, sends its body on stream 0, and ends once.

        It ends with the response.
        """
        request = harness.request()
        request.start()
        (connection,) = harness.connections
        assert connection.writer.frames == [(0, EXECUTE, 0, b"body")]
        # The request has started its timeout.
        assert len(harness.session.timers) == 1
        assert "in flight" in repr(request.attempts[0])
        connection.answer(0)
        assert harness.ended == [request]
        assert request.done
        assert request.error is None
        assert request.response.kind == RESULT_KIND_VOID
        assert len(harness.session.timers) == 0
        (attempt,) = request.attempts
        assert attempt.host is harness.hosts[0]
        assert attempt.latency >= 0
        # An attempt that has ended must keep neither the request nor the connection alive.
        assert attempt.request is None
        assert attempt.connection is None
        assert "h0" in repr(attempt)
        # After the end of the request, these two calls do nothing.
        request.start()
        request.fail(RuntimeError("too late"))
        assert harness.ended == [request]
        assert harness.plan_count == 1

    def test_the_first_host_with_a_free_connection_is_used(
        self, implementation: Implementation
    ) -> None:
        """Hosts without a pool, or whose connections are all paused, are skipped."""
        harness = RequestHarness(implementation, hosts=3)
        # If no pool is cached by the host's id, the request looks the pool up in `pools`.
        harness.session.pools_by_id.clear()
        del harness.session.pools[harness.hosts[0]]
        harness.connections[1].streams.paused = True
        request = harness.request()
        request.start()
        assert [call[:2] for call in request.calls] == [
            ("no connection", harness.hosts[0]),
            ("no connection", harness.hosts[1]),
        ]
        assert request.attempts[0].host is harness.hosts[2]

    def test_without_a_free_connection_the_plan_is_exhausted(self, harness: RequestHarness) -> None:
        harness.connections[0].streams.closed = True
        request = harness.request()
        request.start()
        assert request.calls[-1] == ("exhausted",)

    def test_a_request_for_a_given_host_makes_no_plan(self, implementation: Implementation) -> None:
        """A request with a target host goes to this host, without a query plan."""
        harness = RequestHarness(implementation, hosts=2)
        request = harness.request(target=harness.hosts[1])
        request.start()
        assert harness.plan_count == 0
        assert request.attempts[0].host is harness.hosts[1]

    def test_a_request_on_a_closed_session_fails(self, harness: RequestHarness) -> None:
        """In a closed session, a request fails at once with ConnectionShutdown."""
        harness.session.closed = True
        request = harness.request()
        request.start()
        assert isinstance(request.error, ConnectionShutdown)
        assert harness.ended == [request]

    def test_a_policy_that_raises_fails_the_request(self, harness: RequestHarness) -> None:
        """If the load-balancing policy raises an exception, the request fails with it."""
        fault = LookupError("no plan")

        def raise_fault(*args: Any) -> Any:
            raise fault

        harness.make_query_plan = raise_fault  # type: ignore[method-assign, assignment]
        request = harness.request()
        request.start()
        assert request.error is fault

    def test_a_body_that_cannot_be_rendered_fails_the_request(
        self, harness: RequestHarness
    ) -> None:
        """If the body cannot be encoded, the request fails with this error and uses no stream."""

        class BrokenBody(EncodedBody):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                raise ValueError("no body")

        request = harness.request(request_body=BrokenBody())
        request.start()
        assert isinstance(request.error, ValueError)
        assert harness.connections[0].streams.in_flight == 0

    def test_a_connection_that_closes_during_send_fails_the_attempt(
        self, harness: RequestHarness
    ) -> None:
        """If the connection closes while the body is encoded, the attempt fails.

        The error is a connection error. The subclass decides whether another attempt follows.
        """

        class ClosingBody(EncodedBody):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                connection.streams.closed = True
                return EXECUTE, 0, b""

        request = harness.request(request_body=ClosingBody())
        request.start()
        ((method, error),) = request.calls
        assert method == "failed"
        assert isinstance(error, ConnectionException)

    def test_other_answers_are_passed_to_the_subclass(self, harness: RequestHarness) -> None:
        """`RequestBase` passes all responses to the subclass, except void results without flags."""
        request = harness.request()
        request.start()
        rows_body = b"\x00\x00\x00\x02rows"
        harness.connections[0].answer(0, rows_body)
        tracing = 0x02
        # Send the same attempt a second time, so that a second response can come for it.
        harness.connections[0].streams.send(request.attempts[0], EXECUTE, 0, b"")
        harness.connections[0].answer(0, VOID_BODY, flags=tracing)
        assert request.calls == [
            ("other answer", RESULT, 0, rows_body),
            ("other answer", RESULT, tracing, VOID_BODY),
        ]

    def test_with_decodes_every_answer_is_passed_to_the_subclass(
        self, harness: RequestHarness
    ) -> None:
        """If the body has `decodes`, even a void result is passed to the subclass.

        The subclass, which is written in Python, decodes and checks the response.
        """

        class DecodingBody(EncodedBody):
            decodes = True

        request = harness.request(request_body=DecodingBody())
        request.start()
        harness.connections[0].answer(0)
        assert request.calls == [("other answer", RESULT, 0, VOID_BODY)]

    def test_cancelling_leaves_an_orphan(self, harness: RequestHarness) -> None:
        """Cancelling a request ends it at once.

        Its stream stays in use until the late response comes.
        """
        request = harness.request()
        request.start()
        request.cancel()
        streams = harness.connections[0].streams
        assert streams.orphans == 1
        assert streams.in_flight == 1
        assert harness.ended == [request]
        # The late response frees the stream, but does not end the request a second time.
        harness.connections[0].answer(0)
        assert streams.orphans == 0
        assert streams.in_flight == 0
        assert harness.ended == [request]

    def test_latencies_are_reported_to_listeners(self, harness: RequestHarness) -> None:
        """When a response comes, `on_latency` is called once with the host and the latency."""
        reports = []
        harness.session.core.on_latency = lambda host, latency: reports.append((host, latency))
        request = harness.request()
        request.start()
        harness.connections[0].answer(0)
        assert reports == [(harness.hosts[0], request.attempts[0].latency)]

    def test_the_latency_of_an_error_is_not_reported(self, harness: RequestHarness) -> None:
        """The latency of an ERROR response is not reported by `RequestBase`.

        A quick error of an overloaded host must not count as a fast response. Subclasses decide
        which errors count.
        """
        reports = []
        harness.session.core.on_latency = lambda host, latency: reports.append((host, latency))
        request = harness.request()
        request.start()
        # An [int] with the error code 0x1001 (Overloaded), and an empty [string].
        overloaded = b"\x00\x00\x10\x01\x00\x00"
        harness.connections[0].answer(0, overloaded, opcode=ERROR)
        assert reports == []
        assert request.attempts[0].latency is not None

    def test_speculation_begins_after_sending(self, harness: RequestHarness) -> None:
        """Sending a request with a speculative policy starts a timer.

        When the timer expires, the first speculative execution begins.
        """
        request = harness.request(speculative_policy=object())
        request.start()
        assert request.calls == [("speculation",)]

    def test_without_a_timeout_there_is_no_timer(self, harness: RequestHarness) -> None:
        harness.request(timeout=None).start()
        assert len(harness.session.timers) == 0

    def test_a_lost_connection_fails_the_attempt(self, harness: RequestHarness) -> None:
        """If the connection is lost before the response, the attempt reports the error.

        The request gets the error.
        """
        request = harness.request()
        request.start()
        error = ConnectionException("gone")
        (attempt,) = harness.connections[0].streams.take_all()
        attempt.on_connection_lost(harness.connections[0], error)
        assert request.calls == [("failed", error)]


class TestExecutePayload:
    """`ExecuteBody`, which encodes EXECUTE requests.

    Its base class is pure Python or compiled, depending on the installation. The tests of this
    class use the installed base class. `test_both_bases_render_the_same` compares both.
    """

    def test_a_body_is_rendered_once_for_each_wire_format(self) -> None:
        """`render` returns the bytes that `prerender` has encoded for the same wire format."""
        prepared = FakePrepared()
        request_body = execute_body(prepared, page_size=10)
        request_body.prerender(4)
        prerendered = request_body.body
        connection: Any = SimpleNamespace(wire_format=4, version=4)
        assert request_body.render(connection) == (EXECUTE, 0, prerendered)
        # For the same wire format, `render` returns the same object again.
        assert request_body.render(connection)[2] is prerendered
        assert request_body.size == len(prerendered or b"")

    def test_a_changed_statement_renders_the_body_again(self) -> None:
        """If the statement was prepared again with another id, `render` encodes the new id.

        A retry must send this id.
        """
        prepared = FakePrepared()
        request_body = execute_body(prepared)
        connection: Any = SimpleNamespace(wire_format=4, version=4)
        first_rendering = request_body.render(connection)[2]
        prepared.query_id = b"other"
        second_rendering = request_body.render(connection)[2]
        assert first_rendering != second_rendering
        # `cached_metadata` must be the current metadata of the statement, too.
        metadata = object()
        prepared.result_metadata_and_id = (metadata, None)
        request_body.render(connection)
        assert request_body.cached_metadata() is metadata

    def test_a_changed_consistency_level_renders_the_body_again(self) -> None:
        """`render` encodes the body again only if the consistency level has changed.

        This happens if a retry uses another consistency level.
        """
        request_body = execute_body(FakePrepared())
        connection: Any = SimpleNamespace(wire_format=4, version=4)
        first_rendering = request_body.render(connection)[2]
        request_body.set_consistency(ConsistencyLevel.ONE)
        assert request_body.render(connection)[2] is first_rendering
        request_body.set_consistency(ConsistencyLevel.LOCAL_QUORUM)
        assert request_body.render(connection)[2] != first_rendering

    def test_metadata_is_skipped_if_its_id_is_sent(self) -> None:
        """With result metadata ids (version 5), the request lets the server leave out the metadata.

        Version 4 has no such ids, so the request asks for the metadata.
        """
        prepared = FakePrepared()
        # The tuple replaces the metadata of the columns, which this test does not read.
        prepared.result_metadata_and_id = ((1, 2), b"metadata id")
        request_body = execute_body(prepared)
        v5: Any = SimpleNamespace(wire_format=5 | METADATA_IDS, version=5)
        assert b"metadata id" in request_body.render(v5)[2]
        assert request_body.skip_metadata
        v4: Any = SimpleNamespace(wire_format=4, version=4)
        assert b"metadata id" not in request_body.render(v4)[2]
        assert not request_body.skip_metadata


@pytest.mark.parametrize("wire_format", [3, 4, 5 | METADATA_IDS])
@pytest.mark.parametrize("page_size", [None, 0, 5000])
@pytest.mark.parametrize("timestamp", [None, -1, 2**62])
@pytest.mark.parametrize("paging_state", [None, b"state"])
def test_both_bases_render_the_same(
    wire_format: int,
    page_size: int | None,
    timestamp: int | None,
    paging_state: bytes | None,
    compiled: Implementation,
) -> None:
    """The pure Python and the compiled base class encode an EXECUTE to the same bytes."""
    bodies = []
    for implementation_name in ("python", "c"):
        base: Any = _impl.twin("happy_path", implementation_name).ExecuteBodyBase
        prepared = FakePrepared()
        # The tuple replaces the metadata of the columns. The metadata's id has 16 bytes.
        prepared.result_metadata_and_id = ((1,), b"m" * 16)
        request_body = base(prepared, [b"value", None])
        request_body.consistency = ConsistencyLevel.LOCAL_ONE
        request_body.serial_consistency = ConsistencyLevel.SERIAL
        request_body.page_size = page_size
        request_body.paging_state = paging_state
        request_body.timestamp = timestamp
        request_body.prerender(wire_format)
        bodies.append((request_body.body, bool(request_body.skip_metadata)))
    assert bodies[0] == bodies[1]


def profile(**changes: Any) -> Any:
    """Return a fake execution profile with these settings changed."""
    return SimpleNamespace(
        **{
            "consistency_level": ConsistencyLevel.LOCAL_ONE, "serial_consistency_level": ConsistencyLevel.SERIAL,  # noqa: E501
            "load_balancing_policy": "policy", "retry_policy": "retry",
            "speculative_execution_policy": NoSpeculativeExecutionPolicy(), "request_timeout": 12.5,
            "row_factory": "factory", "request_observers": (), **changes,
        }
    )  # fmt: skip


class TestBoundRequest:
    """`bound_request` and `resolve`, which collect the options of a request from their sources."""

    def new_request(
        self, implementation: Implementation, statement: FakeStatement, **changes: Any
    ) -> Any:
        """Return a request for a bound statement.

        :param changes: options of the call to `execute`. The option "session" is a dict of
            attributes of the session.
        """
        session = SimpleNamespace(
            timestamp_generator=lambda: 77,
            use_client_timestamp=True,
            default_fetch_size=5,
            _default_vector_type="list",
        )
        options = {
            "profile": profile(),
            "custom_payload": None,
            "timeout": 3.0,
            "paging_state": None,
            "target": None,
            **changes,
        }
        vars(session).update(options.pop("session", {}))
        body_class: Any = type(
            "RequestBody",
            (implementation.happy_path.ExecuteBodyBase,),
            {"decodes": False, "depends": False},
        )
        return implementation.happy_path.bound_request(
            implementation.happy_path.RequestBase,
            body_class,
            session,
            FakeSession(implementation),
            statement,
            statement,
            CallOptions(**options),
            print,  # replaces `on_done`, which these tests do not call
        )

    def test_unset_options_come_from_the_profile_and_the_session(
        self, implementation: Implementation
    ) -> None:
        """Options that are not set come from the profile or the session.

        Neither the call nor the statement sets these options. `new_request` defines the values that
        the test expects.
        """
        statement = FakeStatement()
        statement.fetch_size = FETCH_SIZE_UNSET
        request = self.new_request(implementation, statement)
        request_body = request.request_body
        # These values come from the profile.
        assert request_body.consistency == ConsistencyLevel.LOCAL_ONE
        assert request_body.serial_consistency == ConsistencyLevel.SERIAL
        assert request.policy == "policy"
        assert request.retry_policy == "retry"
        # A speculative policy that never speculates is stored as None.
        assert request.speculative_policy is None
        # These values come from the session.
        assert request_body.page_size == 5
        assert request_body.timestamp == 77
        assert request.vectors == "list"
        # These values come from the call.
        assert request.timeout == 3.0
        assert request.on_done is print
        assert request.target is None
        # The body is already encoded, although there was no attempt yet.
        assert request.attempts == []
        assert request.errors == {}
        assert request.retries == 0
        assert not request.done
        assert request_body.body is not None

    def test_options_of_the_statement_override_the_defaults(
        self, implementation: Implementation
    ) -> None:
        """Options of the statement take precedence over the profile.

        Options of the call take precedence over the statement and the profile.
        """
        # Set options on the statement that would otherwise come from the profile or the session.
        statement: Any = FakeStatement()
        statement.consistency_level = ConsistencyLevel.ONE
        statement.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
        statement.retry_policy = "statement's policy"
        statement.vector_type = "array"
        statement.custom_payload = {"k": b"v"}
        # The paging state, the target and the timeout are options of the call.
        request = self.new_request(
            implementation, statement, paging_state=b"p", target="host", timeout=None
        )
        request_body = request.request_body
        assert request_body.consistency == ConsistencyLevel.ONE
        assert request_body.serial_consistency == ConsistencyLevel.LOCAL_SERIAL
        assert request_body.page_size == statement.fetch_size
        assert request_body.custom_payload == {"k": b"v"}
        assert request_body.paging_state == b"p"
        assert request.retry_policy == "statement's policy"
        assert request.vectors == "array"
        assert request.target == "host"
        assert request.timeout is None

    def test_without_a_timeout_in_the_call_the_profiles_is_used(
        self, implementation: Implementation
    ) -> None:
        """NOT_SET means the timeout of the profile (12.5 s here), and None means no timeout."""
        assert self.new_request(implementation, FakeStatement(), timeout=NOT_SET).timeout == 12.5
        assert self.new_request(implementation, FakeStatement(), timeout=None).timeout is None

    def test_simple_statements_are_resolved_in_the_same_way(
        self, implementation: Implementation
    ) -> None:
        """Options of a simple statement come from the same sources as those of a bound statement.

        These are, in this order: call, statement, profile, session.
        """
        statement: Any = SimpleStatement("SELECT 1", fetch_size=7, custom_payload={"k": b"v"})
        statement.vector_type = "array"
        session: Any = SimpleNamespace(
            timestamp_generator=lambda: 77, use_client_timestamp=True, default_fetch_size=5,
            _default_vector_type="list",
        )  # fmt: skip
        options = CallOptions(profile(), trace=True, paging_state=b"p")
        body = QueryBody("SELECT 1")
        implementation.happy_path.resolve(body, session, statement, options)
        assert body.consistency == ConsistencyLevel.LOCAL_ONE
        assert body.serial_consistency == ConsistencyLevel.SERIAL
        assert body.page_size == 7
        assert body.timestamp == 77
        assert body.tracing
        assert body.paging_state == b"p"
        assert body.custom_payload == {"k": b"v"}
        request_class = implementation.happy_path.RequestBase
        request = implementation.happy_path.request_for(
            request_class,
            body,
            session,
            FakeSession(implementation),
            statement,
            "the caller's statement",
            options,
            print,  # replaces `on_done`
        )
        assert request.statement == "the caller's statement"
        assert request.vectors == "array"
        assert request.timeout == 12.5
        # The request for the next page must repeat the settings of the first request.
        next_request = request.clone(request_class, repr)  # `repr` replaces `on_done`
        for name in (
            "policy",
            "retry_policy",
            "timeout",
            "target",
            "vectors",
            "statement",
        ):
            assert getattr(next_request, name) == getattr(request, name)
        assert next_request.request_body is body
        assert next_request.on_done is repr

    def test_client_timestamps_can_be_switched_off(self, implementation: Implementation) -> None:
        """Without client timestamps or a timestamp generator, the request has no timestamp.

        The server then sets it.
        """
        settings_without_timestamps: list[dict[str, Any]] = [
            {"use_client_timestamp": False},
            {"timestamp_generator": None},
        ]
        for session_settings in settings_without_timestamps:
            request = self.new_request(implementation, FakeStatement(), session=session_settings)
            assert request.request_body.timestamp is None

    def test_a_request_has_the_speculative_policy_of_the_profile(
        self, implementation: Implementation
    ) -> None:
        """An idempotent request takes its speculative policy from its profile."""
        policy = ConstantSpeculativeExecutionPolicy(delay=0.1, max_attempts=2)
        request = self.new_request(
            implementation, FakeStatement(), profile=profile(speculative_execution_policy=policy)
        )
        assert request.speculative_policy is policy
