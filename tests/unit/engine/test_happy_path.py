"""The code that a successful request runs ("the happy path"), in the Python and the compiled
implementation.

The tests cover streams, answers, attempts, and the encoding of requests.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cassandra import ConsistencyLevel, _impl
from cassandra.engine.call_options import CallOptions
from cassandra.engine.happy_path import METADATA_IDS
from cassandra.engine.request_bodies import ExecuteBody, QueryBody
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.policies import ConstantSpeculativeExecutionPolicy, NoSpeculativeExecutionPolicy
from cassandra.protocol.messages.results import VOID_BODY
from cassandra.protocol.opcodes import ERROR, EVENT, EXECUTE, RESULT, RESULT_KIND_VOID
from cassandra.protocol.streams import MAX_STREAMS
from cassandra.query.settings import FETCH_SIZE_UNSET, NOT_SET
from cassandra.query.statement import SimpleStatement
from tests.conftest import LANE, Implementation

IMPLEMENTATIONS = ["python", "c"] if LANE == "c" else ["python"]


class Writer:
    """A fake frame writer that records the frames."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, int, int, bytes]] = []
        self.pending = 0
        self.refuses = False

    def add(self, stream: int, opcode: int, flags: int, body: bytes) -> None:
        if self.refuses:
            raise ValueError("too long")
        self.frames.append((stream, opcode, flags, body))


class Responder:
    """A fake responder that records the responses it gets."""

    def __init__(self, fails: bool = False) -> None:
        self.answers: list[tuple[int, int, bytes]] = []
        self.fails = fails

    def on_response(self, connection: Any, opcode: int, flags: int, body: bytes) -> None:
        self.answers.append((opcode, flags, body))
        if self.fails:
            raise RuntimeError("cannot take it")


class Connection:
    """A fake connection with the attributes that streams and requests use."""

    def __init__(self, implementation: Implementation) -> None:
        self.version = self.peer_version = 4
        self.wire_format = 4
        self.endpoint = "here:9042"
        self.writer = Writer()
        self.flushes: list[Any] = []
        self.unsolicited: list[tuple[int, int, int, bytes]] = []
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
        self.streams.dispatch(self, [response(stream, opcode, flags, body)])


def response(
    stream: int, opcode: int = RESULT, flags: int = 0, body: bytes = b"", version: int = 4
) -> tuple[int, int, int, bytes, int]:
    """Return a response as the table of streams gets it.

    :param version: the protocol version of its frame.
    """
    return stream, opcode, flags, body, version


@pytest.fixture
def connection(implementation: Implementation) -> Connection:
    return Connection(implementation)


class TestExchange:
    def test_the_lowest_free_stream_is_used(self, connection: Connection) -> None:
        streams = connection.streams
        assert [streams.send(Responder(), EXECUTE, 0, b"") for _ in range(70)] == list(range(70))
        for stream in (65, 3, 10):
            connection.answer(stream)
        # The three streams that have become free must be used before a stream that was never used.
        assert [streams.send(Responder(), EXECUTE, 0, b"") for _ in range(4)] == [3, 10, 65, 70]
        assert streams.in_flight == 71

    def test_all_streams_can_be_used(self, connection: Connection) -> None:
        streams = connection.streams
        responder = Responder()
        assert all(
            streams.send(responder, EXECUTE, 0, b"") == stream for stream in range(MAX_STREAMS)
        )
        assert streams.send(responder, EXECUTE, 0, b"") == -1
        assert not streams.has_room
        connection.answer(MAX_STREAMS - 1)
        assert streams.has_room
        assert streams.send(responder, EXECUTE, 0, b"") == MAX_STREAMS - 1

    @pytest.mark.parametrize("limit", [0, -1, MAX_STREAMS + 1])
    def test_a_limit_beyond_the_protocol_is_refused(
        self, connection: Connection, limit: int
    ) -> None:
        with pytest.raises(ValueError, match=str(limit)):
            connection.streams.limit = limit

    def test_no_more_streams_than_the_limit_are_used(self, connection: Connection) -> None:
        streams = connection.streams
        streams.limit = 2
        assert [streams.send(Responder(), EXECUTE, 0, b"") for _ in range(3)] == [0, 1, -1]
        assert streams.limit == 2

    def test_requests_of_one_turn_are_flushed_together(self, connection: Connection) -> None:
        streams = connection.streams
        streams.send(Responder(), EXECUTE, 0, b"a")
        streams.send(Responder(), EXECUTE, 0, b"b")
        assert len(connection.flushes) == 1
        # Setting `armed` to None says that the scheduled flush has run, so the next request has to
        # schedule another one.
        streams.armed = None
        streams.send(Responder(), EXECUTE, 0, b"c")
        assert len(connection.flushes) == 2
        assert [frame[3] for frame in connection.writer.frames] == [b"a", b"b", b"c"]

    def test_a_failed_write_uses_no_stream(self, connection: Connection) -> None:
        streams = connection.streams
        connection.writer.refuses = True
        with pytest.raises(ValueError, match="too long"):
            streams.send(Responder(), EXECUTE, 0, b"")
        connection.writer.refuses = False
        assert streams.in_flight == 0
        assert streams.send(Responder(), EXECUTE, 0, b"") == 0

    def test_has_room_if_open_and_not_paused_or_full(self, connection: Connection) -> None:
        streams = connection.streams
        assert streams.has_room
        streams.paused = True
        assert not streams.has_room
        streams.paused = False
        connection.writer.pending = 1 << 20
        assert not streams.has_room
        connection.writer.pending = 0
        streams.closed = True
        assert not streams.has_room

    def test_answers_reach_their_responders(self, connection: Connection) -> None:
        responders = [Responder() for _ in range(3)]
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
        # The table stores the version of the last frame in `peer_version`.
        assert connection.peer_version == 3
        assert connection.streams.in_flight == 1

    def test_a_responder_that_raises_does_not_affect_the_others(
        self, connection: Connection, caplog: pytest.LogCaptureFixture
    ) -> None:
        bad, good = Responder(fails=True), Responder()
        connection.streams.send(bad, EXECUTE, 0, b"")
        connection.streams.send(good, EXECUTE, 0, b"")
        with caplog.at_level(logging.ERROR, "cassandra.connection"):
            connection.streams.dispatch(connection, [response(0), response(1)])
        assert len(good.answers) == 1
        assert "could not be processed" in caplog.text

    def test_events_and_answers_on_unused_streams_are_unsolicited(
        self, connection: Connection
    ) -> None:
        connection.streams.dispatch(connection, [response(-1, EVENT, body=b"event"), response(7)])
        assert connection.unsolicited == [(-1, EVENT, 0, b"event"), (7, RESULT, 0, b"")]

    def test_no_answer_is_dispatched_after_close(self, connection: Connection) -> None:
        class Closing(Responder):
            def on_response(self, connection: Any, opcode: int, flags: int, body: bytes) -> None:
                connection.streams.closed = True

        late = Responder()
        connection.streams.send(Closing(), EXECUTE, 0, b"")
        connection.streams.send(late, EXECUTE, 0, b"")
        connection.streams.dispatch(connection, [response(0), response(1)])
        assert late.answers == []

    def test_an_orphan_keeps_its_stream_until_its_answer_comes(
        self, connection: Connection
    ) -> None:
        streams = connection.streams
        abandoned, other = Responder(), Responder()
        streams.send(abandoned, EXECUTE, 0, b"")
        # An abandon counts only if it comes from the responder that holds the stream, and only
        # once.
        assert not streams.abandon(0, other)
        assert streams.abandon(0, abandoned)
        assert not streams.abandon(0, abandoned)
        assert (streams.orphans, streams.in_flight) == (1, 1)
        assert streams.send(other, EXECUTE, 0, b"") == 1
        connection.answer(0)
        assert (streams.orphans, streams.in_flight) == (0, 1)
        assert abandoned.answers == []
        assert streams.send(Responder(), EXECUTE, 0, b"") == 0

    def test_take_all_returns_the_responders_in_flight(self, connection: Connection) -> None:
        streams = connection.streams
        responders = [Responder() for _ in range(3)]
        for responder in responders:
            streams.send(responder, EXECUTE, 0, b"")
        streams.abandon(1, responders[1])
        assert streams.take_all() == [responders[0], responders[2]]
        assert (streams.in_flight, streams.orphans) == (0, 0)
        assert streams.take_all() == []

    def test_the_least_busy_connection_is_chosen(self, implementation: Implementation) -> None:
        first, second, third = (Connection(implementation) for _ in range(3))
        first_with_room = implementation.happy_path.first_with_room
        assert first_with_room([]) is None
        assert first_with_room([first, second]) is first
        first.streams.send(Responder(), EXECUTE, 0, b"")
        assert first_with_room([first, second, third]) is second
        second.streams.closed = third.streams.paused = True
        assert first_with_room([first, second, third]) is first
        first.streams.limit = 1
        assert first_with_room([first, second, third]) is None


# Steps of a random test: send a request, or answer or abandon the nth request in flight.
STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "answer", "abandon"]), st.integers(0, 200)), max_size=100
)


@pytest.mark.parametrize("lane", IMPLEMENTATIONS)
@settings(deadline=None, max_examples=100)
@given(steps=STEPS, limit=st.integers(1, 130))
def test_the_stream_table_behaves_like_its_model(
    lane: str, steps: list[tuple[str, int]], limit: int
) -> None:
    """Compare a stream table with a simple model of sets and dicts.

    A request gets the lowest free stream, the counts are exact, and each answer reaches its
    request.
    """
    connection = Connection(Implementation(lane))
    streams = connection.streams
    streams.limit = limit
    # The model: the responder of each stream in use; None if the request was abandoned.
    responders_by_stream: dict[int, Responder | None] = {}
    for step, number in steps:
        if step == "send":
            responder = Responder()
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


class Host:
    def __init__(self, name: str) -> None:
        self.endpoint = name

    def __repr__(self) -> str:
        return self.endpoint


class Session:
    """A fake `EngineSession` with the attributes that requests use."""

    def __init__(self, implementation: Implementation) -> None:
        self.timers: Any = implementation.happy_path.TimerWheel(
            SimpleNamespace(time=lambda: 0.0, call_at=lambda when, call: None)
        )
        self.core = SimpleNamespace(on_latency=None, user_types={}, wire_format=4)
        self.attends = False
        self.throttle = None
        self.keyspace = "ks"
        self.closed = False
        self.pools: dict[Any, Any] = {}
        self.pools_by_id: dict[int, Any] = {}

    def closed_error(self) -> Exception:
        return ConnectionShutdown("closed")


class Prepared:
    """A fake prepared statement with the attributes that its execution uses."""

    def __init__(self) -> None:
        self.query_id = b"id"
        self.result_metadata_and_id: tuple[Any, bytes | None] = (None, None)
        self.query_string = "SELECT"


class Statement:
    is_idempotent = True
    consistency_level = None
    serial_consistency_level = None
    fetch_size = 100
    custom_payload = None
    retry_policy = None
    vector_type = None
    block = None

    def __init__(self) -> None:
        self.prepared_statement = Prepared()


def execute_body(prepared: Any, **changes: Any) -> ExecuteBody:
    """Return the body of an EXECUTE without values, with these attributes changed."""
    body = ExecuteBody(prepared, None)
    body.consistency = ConsistencyLevel.ONE
    for name, value in changes.items():
        setattr(body, name, value)
    return body


class RequestParts:
    """A fake session with one connection to each host, and requests on it.

    The requests are of a subclass that records its calls of the methods which `RequestBase` leaves
    to subclasses. `done` lists the requests that have ended.
    """

    def __init__(self, implementation: Implementation, hosts: int = 1) -> None:
        base: Any = implementation.happy_path.RequestBase

        class Recorder(base):  # type: ignore[misc]
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
        self.request_class = Recorder
        self.session = Session(implementation)
        self.hosts = [Host(f"h{number}") for number in range(hosts)]
        self.connections = [Connection(implementation) for _ in self.hosts]
        for host, connection in zip(self.hosts, self.connections, strict=True):
            pool = SimpleNamespace(connections=[connection], shards=None)
            self.session.pools[host] = self.session.pools_by_id[id(host)] = pool
        self.done: list[Any] = []
        self.plans = 0

    def make_query_plan(self, keyspace: str | None, statement: Any) -> Iterator[Host]:
        # The request must pass the keyspace of its session to the policy.
        assert keyspace == "ks"
        self.plans += 1
        return iter(self.hosts)

    def request(self, **settings: Any) -> Any:
        """Return a request that is not started, with these attributes changed."""
        options = {"timeout": 5.0, "speculative_policy": None, "request_body": MESSAGE, **settings}
        request = self.request_class(
            self.session, Statement(), options.pop("request_body"), self.done.append
        )
        request.policy = self
        for name, value in options.items():
            setattr(request, name, value)
        request.calls = []
        return request


class Message:
    """A fake request body that is already encoded."""

    decodes = False
    depends = False

    def render(self, connection: Any) -> tuple[int, int, bytes]:
        return EXECUTE, 0, b"body"

    def cached_metadata(self) -> Any:
        return None


MESSAGE = Message()


@pytest.fixture
def parts(implementation: Implementation) -> RequestParts:
    return RequestParts(implementation)


class TestRequest:
    def test_a_request_is_sent_and_answered(self, parts: RequestParts) -> None:
        request = parts.request()
        request.start()
        (connection,) = parts.connections
        assert connection.writer.frames == [(0, EXECUTE, 0, b"body")]
        # The request has started its timeout.
        assert len(parts.session.timers) == 1
        assert "in flight" in repr(request.attempts[0])
        connection.answer(0)
        assert parts.done == [request]
        assert request.done
        assert request.error is None
        assert request.response.kind == RESULT_KIND_VOID
        assert len(parts.session.timers) == 0
        (attempt,) = request.attempts
        assert attempt.host is parts.hosts[0]
        assert attempt.latency >= 0
        # An attempt that has ended keeps neither the request nor the connection alive.
        assert (attempt.request, attempt.connection) == (None, None)
        assert "h0" in repr(attempt)
        # Once the request has ended, neither call does anything.
        request.start()
        request.fail(RuntimeError("too late"))
        assert parts.done == [request]
        assert parts.plans == 1

    def test_the_first_host_with_a_free_connection_is_used(
        self, implementation: Implementation
    ) -> None:
        parts = RequestParts(implementation, hosts=3)
        # with no pool cached by id, the request looks pools up in `pools`
        parts.session.pools_by_id.clear()
        del parts.session.pools[parts.hosts[0]]
        parts.connections[1].streams.paused = True
        request = parts.request()
        request.start()
        assert [call[:2] for call in request.calls] == [
            ("no connection", parts.hosts[0]),
            ("no connection", parts.hosts[1]),
        ]
        assert request.attempts[0].host is parts.hosts[2]

    def test_without_a_free_connection_the_plan_is_exhausted(self, parts: RequestParts) -> None:
        parts.connections[0].streams.closed = True
        request = parts.request()
        request.start()
        assert request.calls[-1] == ("exhausted",)

    def test_a_request_for_a_given_host_makes_no_plan(self, implementation: Implementation) -> None:
        parts = RequestParts(implementation, hosts=2)
        request = parts.request(target=parts.hosts[1])
        request.start()
        assert parts.plans == 0
        assert request.attempts[0].host is parts.hosts[1]

    def test_a_request_on_a_closed_session_fails(self, parts: RequestParts) -> None:
        parts.session.closed = True
        request = parts.request()
        request.start()
        assert isinstance(request.error, ConnectionShutdown)
        assert parts.done == [request]

    def test_a_policy_that_raises_fails_the_request(self, parts: RequestParts) -> None:
        fault = LookupError("no plan")

        def fail(*args: Any) -> Any:
            raise fault

        parts.make_query_plan = fail  # type: ignore[method-assign, assignment]
        request = parts.request()
        request.start()
        assert request.error is fault

    def test_a_body_that_cannot_be_rendered_fails_the_request(self, parts: RequestParts) -> None:
        class Broken(Message):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                raise ValueError("no body")

        request = parts.request(request_body=Broken())
        request.start()
        assert isinstance(request.error, ValueError)
        assert parts.connections[0].streams.in_flight == 0

    def test_a_connection_that_closes_during_send_fails_the_attempt(
        self, parts: RequestParts
    ) -> None:
        class Closing(Message):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                connection.streams.closed = True
                return EXECUTE, 0, b""

        request = parts.request(request_body=Closing())
        request.start()
        # The subclass decides whether another attempt follows.
        ((method, error),) = request.calls
        assert method == "failed"
        assert isinstance(error, ConnectionException)

    def test_other_answers_are_passed_to_the_subclass(self, parts: RequestParts) -> None:
        request = parts.request()
        request.start()
        rows_body = b"\x00\x00\x00\x02rows"
        parts.connections[0].answer(0, rows_body)
        # `RequestBase` handles a void result itself, unless it has flags. Here the flag is 2, for
        # tracing, so the subclass gets it.
        parts.connections[0].streams.send(request.attempts[0], EXECUTE, 0, b"")
        parts.connections[0].answer(0, VOID_BODY, flags=2)
        assert request.calls == [
            ("other answer", RESULT, 0, rows_body),
            ("other answer", RESULT, 2, VOID_BODY),
        ]

    def test_a_body_that_decodes_gets_every_answer(self, parts: RequestParts) -> None:
        class Decoding(Message):
            decodes = True

        request = parts.request(request_body=Decoding())
        request.start()
        parts.connections[0].answer(0)
        assert request.calls == [("other answer", RESULT, 0, VOID_BODY)]

    def test_cancelling_leaves_an_orphan(self, parts: RequestParts) -> None:
        request = parts.request()
        request.start()
        request.cancel()
        streams = parts.connections[0].streams
        assert (streams.orphans, streams.in_flight) == (1, 1)
        assert parts.done == [request]
        # The late answer frees the stream, but does not end the request a second time.
        parts.connections[0].answer(0)
        assert (streams.orphans, streams.in_flight) == (0, 0)
        assert parts.done == [request]

    def test_latencies_are_reported_to_listeners(self, parts: RequestParts) -> None:
        measures = []
        parts.session.core.on_latency = lambda host, latency: measures.append((host, latency))
        request = parts.request()
        request.start()
        parts.connections[0].answer(0)
        assert measures == [(parts.hosts[0], request.attempts[0].latency)]

    def test_the_latency_of_an_error_is_not_reported(self, parts: RequestParts) -> None:
        """The latency of an error is not reported: a quick error of an overloaded host must not
        count as a fast answer.

        Subclasses of the request decide which errors count.
        """
        measures = []
        parts.session.core.on_latency = lambda host, latency: measures.append((host, latency))
        request = parts.request()
        request.start()
        overloaded = b"\x00\x00\x10\x01\x00\x00"  # error code 0x1001 with an empty message
        parts.connections[0].answer(0, overloaded, opcode=ERROR)
        assert measures == []
        assert request.attempts[0].latency is not None

    def test_speculation_begins_after_sending(self, parts: RequestParts) -> None:
        request = parts.request(speculative_policy=object())
        request.start()
        assert request.calls == [("speculation",)]

    def test_without_a_timeout_there_is_no_timer(self, parts: RequestParts) -> None:
        parts.request(timeout=None).start()
        assert len(parts.session.timers) == 0

    def test_a_lost_connection_fails_the_attempt(self, parts: RequestParts) -> None:
        request = parts.request()
        request.start()
        error = ConnectionException("gone")
        (attempt,) = parts.connections[0].streams.take_all()
        attempt.on_connection_lost(parts.connections[0], error)
        assert request.calls == [("failed", error)]


class TestExecutePayload:
    """`ExecuteBody` inherits from the base class of the implementation in use, so most tests cover
    only that one.

    `test_both_bases_render_the_same` compares the Python and the compiled base.
    """

    def test_a_body_is_rendered_once_for_each_wire_format(self) -> None:
        prepared = Prepared()
        request_body = execute_body(prepared, page_size=10)
        request_body.prerender(4)
        body = request_body.body
        connection: Any = SimpleNamespace(wire_format=4, version=4)
        assert request_body.render(connection) == (EXECUTE, 0, body)
        assert request_body.render(connection)[2] is body
        assert request_body.size == len(body or b"")

    def test_a_changed_statement_renders_the_body_again(self) -> None:
        prepared = Prepared()
        request_body = execute_body(prepared)
        connection: Any = SimpleNamespace(wire_format=4, version=4)
        first = request_body.render(connection)[2]
        prepared.query_id = b"other"
        second = request_body.render(connection)[2]
        assert first != second
        # The body also refers to the current metadata of the statement.
        metadata = object()
        prepared.result_metadata_and_id = (metadata, None)
        request_body.render(connection)
        assert request_body.cached_metadata() is metadata

    def test_a_changed_consistency_level_renders_the_body_again(self) -> None:
        request_body = execute_body(Prepared())
        connection: Any = SimpleNamespace(wire_format=4, version=4)
        first = request_body.render(connection)[2]
        request_body.set_consistency(ConsistencyLevel.ONE)
        assert request_body.render(connection)[2] is first
        request_body.set_consistency(ConsistencyLevel.LOCAL_QUORUM)
        assert request_body.render(connection)[2] != first

    def test_metadata_is_skipped_if_its_id_is_sent(self) -> None:
        prepared = Prepared()
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
    bodies = []
    for lane in ("python", "c"):
        base: Any = _impl.twin("happy_path", lane).ExecuteBodyBase
        prepared = Prepared()
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
    def new_request(
        self, implementation: Implementation, statement: Statement, **changes: Any
    ) -> Any:
        """Return a request for a bound statement.

        :param changes: options of the call to `execute`; "session" is a dict of settings of the
            session.
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
            Session(implementation),
            statement,
            statement,
            CallOptions(**options),
            print,  # `on_done`, which these tests do not call
        )

    def test_unset_options_come_from_the_profile_and_the_session(
        self, implementation: Implementation
    ) -> None:
        statement = Statement()
        statement.fetch_size = FETCH_SIZE_UNSET
        request = self.new_request(implementation, statement)
        request_body = request.request_body
        # from the profile
        assert request_body.consistency == ConsistencyLevel.LOCAL_ONE
        assert request_body.serial_consistency == ConsistencyLevel.SERIAL
        assert request.policy == "policy"
        assert request.retry_policy == "retry"
        # A speculative policy that never speculates is stored as None.
        assert request.speculative_policy is None
        # from the session
        assert request_body.page_size == 5
        assert request_body.timestamp == 77
        assert request.vectors == "list"
        # from the call
        assert request.timeout == 3.0
        assert request.on_done is print
        assert request.target is None
        # The body is encoded when the request is created, before its first attempt.
        assert (request.attempts, request.errors, request.retries) == ([], {}, 0)
        assert not request.done
        assert request_body.body is not None

    def test_options_of_the_statement_override_the_defaults(
        self, implementation: Implementation
    ) -> None:
        statement: Any = Statement()
        statement.consistency_level = ConsistencyLevel.ONE
        statement.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
        statement.retry_policy = "own"
        statement.vector_type, statement.custom_payload = "array", {"k": b"v"}
        request = self.new_request(
            implementation, statement, paging_state=b"p", target="host", timeout=None
        )
        request_body = request.request_body
        assert request_body.consistency == ConsistencyLevel.ONE
        assert request_body.serial_consistency == ConsistencyLevel.LOCAL_SERIAL
        assert request_body.page_size == statement.fetch_size
        assert (request_body.custom_payload, request_body.paging_state) == ({"k": b"v"}, b"p")
        assert (request.retry_policy, request.vectors, request.target, request.timeout) == (
            "own", "array", "host", None,
        )  # fmt: skip

    def test_without_a_timeout_in_the_call_the_profiles_is_used(
        self, implementation: Implementation
    ) -> None:
        assert self.new_request(implementation, Statement(), timeout=NOT_SET).timeout == 12.5
        assert self.new_request(implementation, Statement(), timeout=None).timeout is None

    def test_simple_statements_are_resolved_in_the_same_way(
        self, implementation: Implementation
    ) -> None:
        """The settings of a simple statement come from the same sources as those of a bound one:
        call, statement, profile, session.
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
        assert (body.timestamp, body.tracing, body.paging_state) == (77, True, b"p")
        assert body.custom_payload == {"k": b"v"}
        request_class = implementation.happy_path.RequestBase
        request = implementation.happy_path.request_for(
            request_class, body, session, Session(implementation), statement, "seen", options, print
        )
        assert (request.statement, request.vectors, request.timeout) == ("seen", "array", 12.5)
        # The request for a further page must repeat the settings of the first one.
        next_request = request.clone(request_class, repr)
        for name in (
            "policy",
            "retry_policy",
            "timeout",
            "target",
            "vectors",
            "statement",
        ):
            assert getattr(next_request, name) == getattr(request, name)
        assert (next_request.request_body, next_request.on_done) == (body, repr)

    def test_client_timestamps_can_be_switched_off(self, implementation: Implementation) -> None:
        switches: list[dict[str, Any]] = [
            {"use_client_timestamp": False},
            {"timestamp_generator": None},
        ]
        for session_settings in switches:
            request = self.new_request(implementation, Statement(), session=session_settings)
            assert request.request_body.timestamp is None

    def test_a_request_has_the_speculative_policy_of_the_profile(
        self, implementation: Implementation
    ) -> None:
        policy = ConstantSpeculativeExecutionPolicy(0.1, 2)
        request = self.new_request(
            implementation, Statement(), profile=profile(speculative_execution_policy=policy)
        )
        assert request.speculative_policy is policy
