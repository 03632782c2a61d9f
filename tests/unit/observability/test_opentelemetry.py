"""Test the spans and metrics that the exporters of OpenTelemetry's SDK get."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.errors import DriverException, InvalidRequest, OperationTimedOut, ReadTimeout
from cassandra.observability.opentelemetry import OpenTelemetryObserver
from cassandra.policies.speculation import ConstantSpeculativeExecutionPolicy
from cassandra.protocol.messages.errors import OverloadedErrorMessage
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    delay,
    error,
    hold,
    paged,
    rows,
    silence,
)
from tests.unit.engine.faults import AddressOrderPolicy
from tests.unit.observing import RetryOnce, observed_cluster
from tests.waiting import WAIT

# The answer of a node that never responds. Tests compare their answer with this object.
SILENCE = silence()
QUERY = "SELECT k FROM ks.t WHERE k = 1"
INSERT = "INSERT INTO t (k) VALUES (?)"
ONE_COLUMN = [("k", "int")]


class Telemetry:
    """An observer with its own tracer and meter providers.

    The attributes `spans`, `span` and `points` are what was exported.
    """

    def __init__(self, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader])
        self.observer = OpenTelemetryObserver(self.tracers, meters, **options)

    @property
    def spans(self) -> list[Any]:
        """Return all exported spans."""
        return list(self._exporter.get_finished_spans())

    @property
    def span(self) -> Any:
        """Return the only exported span."""
        (span,) = self.spans
        return span

    @property
    def points(self) -> list[Any]:
        """Return the data points of all exported metrics."""
        data = self._reader.get_metrics_data()
        if data is None:
            return []
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to QUERY and prepares INSERT."""
    with FakeNode() as running:
        running.prime(QUERY, rows(ONE_COLUMN, [(1,)]))
        running.prime_prepare(INSERT, ONE_COLUMN)
        yield running


def test_a_query_is_a_span(node: FakeNode, telemetry: Telemetry) -> None:
    """A request is a client span with the standard attributes, and an event for its attempt."""
    with observed_cluster(node, telemetry.observer) as cluster:
        cluster.connect().execute(QUERY)
        host = cluster.metadata.all_hosts()[0]
    span = telemetry.span
    assert span.name == "SELECT ks.t"
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    assert span.parent is None
    assert dict(span.attributes) == {
        "db.system.name": "cassandra",
        "db.operation.name": "SELECT",
        "db.query.summary": "SELECT ks.t",
        "db.query.text": "SELECT k FROM ks.t WHERE k = ?",
        "db.namespace": "ks",
        "db.collection.name": "t",
        "cassandra.consistency.level": "local_one",
        "cassandra.query.idempotent": False,
        "cassandra.page.size": 5000,
        "cassandra.speculative_execution.count": 0,
        "cassandra.coordinator.id": str(host.host_id),
        "cassandra.coordinator.dc": host.datacenter,
        "server.address": node.address,
        "server.port": node.port,
    }
    # Each attempt is recorded as an event of the span.
    assert [event.name for event in span.events] == ["attempt"]
    assert dict(span.events[0].attributes) == {
        "server.address": node.address,
        "server.port": node.port,
    }
    assert span.end_time > span.start_time


def test_a_prepared_statement_names_its_table(node: FakeNode, telemetry: Telemetry) -> None:
    """The span of a prepared statement has its table, and the statement's own settings."""
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT)
        prepared.consistency_level = ConsistencyLevel.LOCAL_QUORUM
        prepared.is_idempotent = True
        session.execute(prepared, (1,))
    attributes = telemetry.span.attributes
    assert telemetry.span.name == "INSERT t"
    assert attributes["db.query.text"] == INSERT
    assert attributes["db.namespace"] == "ks"
    assert attributes["cassandra.consistency.level"] == "local_quorum"
    assert attributes["cassandra.query.idempotent"] is True


def test_a_batch_has_its_size(node: FakeNode, telemetry: Telemetry) -> None:
    """The span of a batch has the number of its statements, but no query string."""
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()
        batch = BatchStatement()
        for key in range(3):
            batch.add(SimpleStatement("INSERT INTO t (k) VALUES (%s)"), (key,))
        session.execute(batch)
    attributes = telemetry.span.attributes
    assert telemetry.span.name == "BATCH"
    assert attributes["db.operation.name"] == "BATCH"
    assert attributes["db.operation.batch.size"] == 3
    assert "db.query.text" not in attributes
    assert "cassandra.page.size" not in attributes


def test_values_in_texts_are_never_shown(node: FakeNode, telemetry: Telemetry) -> None:
    with observed_cluster(node, telemetry.observer) as cluster:
        cluster.connect().execute("INSERT INTO t (k, s) VALUES (%s, %s)", (987654, "hidden"))
    span_json = str(telemetry.span.to_json())
    assert "hidden" not in span_json
    assert "987654" not in span_json


def test_query_text_false_omits_the_text(node: FakeNode) -> None:
    telemetry = Telemetry(query_text=False)
    with observed_cluster(node, telemetry.observer) as cluster:
        cluster.connect().execute(QUERY)
    assert "db.query.text" not in telemetry.span.attributes


def test_the_parent_of_a_span_is_the_current_span_of_the_calling_thread(
    node: FakeNode, telemetry: Telemetry
) -> None:
    """A request's span is a child of the span that is current in the thread of the call."""
    tracer = telemetry.tracers.get_tracer("program")
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()

        def execute_in_span(name: str) -> None:
            with tracer.start_as_current_span(name):
                session.execute(QUERY)
                session.execute_async(QUERY).result()

        threads = [
            threading.Thread(target=execute_in_span, args=(f"work {number}",))
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    program_spans = {
        span.name: span.context.span_id for span in telemetry.spans if span.parent is None
    }
    parents = [span.parent.span_id for span in telemetry.spans if span.parent is not None]
    assert len(program_spans) == 4
    # The span of each thread is the parent of the spans of its two requests.
    assert sorted(parents) == sorted([*program_spans.values()] * 2)


async def test_the_parent_of_a_span_is_the_current_span_of_the_task(
    node: FakeNode, telemetry: Telemetry
) -> None:
    """A request's span is a child of the span that is current in the asyncio task of the call."""
    tracer = telemetry.tracers.get_tracer("program")
    async with aio.Cluster(
        [node.address], port=node.port, request_observers=[telemetry.observer]
    ) as cluster:
        session = await cluster.connect()

        async def execute_in_span(name: str) -> None:
            with tracer.start_as_current_span(name):
                await session.execute(QUERY)

        await asyncio.gather(*(execute_in_span(f"task {number}") for number in range(5)))
    program_spans = [span.context.span_id for span in telemetry.spans if span.parent is None]
    parents = [span.parent.span_id for span in telemetry.spans if span.parent is not None]
    assert len(program_spans) == 5
    assert sorted(parents) == sorted(program_spans)
    assert trace.get_current_span() is trace.INVALID_SPAN  # after its request, no span is current


def test_each_page_is_a_span(node: FakeNode, telemetry: Telemetry) -> None:
    """The span of the first page has no page number, and that of the second has the number 2."""
    node.prime(QUERY, paged(ONE_COLUMN, [(number,) for number in range(3)]))
    with observed_cluster(node, telemetry.observer) as cluster:
        list(cluster.connect().execute(SimpleStatement(QUERY, fetch_size=2)))
    pages = [span.attributes.get("turbocql.page.number") for span in telemetry.spans]
    assert pages == [None, 2]


@pytest.mark.parametrize(
    ("answer", "error_class", "error_type", "status_code"),
    [
        (error(ErrorCode.INVALID), InvalidRequest, "cassandra.InvalidRequest", "0x2200"),
        (
            error(ErrorCode.OVERLOADED),
            OverloadedErrorMessage,
            "cassandra.protocol.OverloadedErrorMessage",
            "0x1001",
        ),
        (SILENCE, OperationTimedOut, "cassandra.OperationTimedOut", None),
    ],
)
def test_an_error_sets_status_and_error_type(
    node: FakeNode,
    telemetry: Telemetry,
    answer: Any,
    error_class: type,
    error_type: str,
    status_code: str | None,
) -> None:
    """An error sets the span's status and the attributes for its class and the server's code.

    A request that times out has no code of the server.
    """
    node.prime(QUERY, answer)
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()
        with pytest.raises(error_class):
            # Wait long for a response that does come, because the machine may be busy.
            session.execute(QUERY, timeout=0.05 if answer is SILENCE else WAIT)
    span = telemetry.span
    assert span.status.status_code is StatusCode.ERROR
    assert error_class.__name__ in span.status.description
    assert span.attributes["error.type"] == error_type
    assert span.attributes.get("db.response.status_code") == status_code
    (point,) = telemetry.points
    assert point.attributes["error.type"] == error_type
    assert point.attributes.get("db.response.status_code") == status_code


def test_a_status_does_not_contain_the_server_s_message(
    node: FakeNode, telemetry: Telemetry
) -> None:
    """The span has the error's code, but not the server's message, which quotes the password."""
    statement = "CREATE ROLE bob WITH PASSWORD = 'hunter2' AND LOGIN = truee"
    server_message = "line 1:56 no viable alternative at input 'AND' (...= 'hunter2' AND ...)"
    node.prime(statement, error(ErrorCode.SYNTAX_ERROR, server_message))
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()
        with pytest.raises(DriverException, match="hunter2"):
            session.execute(statement)
    span = telemetry.span
    assert "code=0x2000" in span.status.description
    assert "hunter2" not in span.to_json()


def test_retries_and_speculation_are_events(telemetry: Telemetry) -> None:
    """A retry is an event between the two attempts, with the error and the policy's decision."""
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(), retry_policy=RetryOnce()
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        with observed_cluster(nodes, telemetry.observer, execution_profiles=profiles) as cluster:
            session = cluster.connect()
            with pytest.raises(ReadTimeout):
                session.execute(QUERY)
            assert [event.name for event in telemetry.span.events] == [
                "attempt",
                "retry",
                "attempt",
            ]
            retry_attributes = dict(telemetry.span.events[1].attributes)
            assert retry_attributes == {
                "error.type": "cassandra.ReadTimeout",
                "turbocql.decision": "retry next host",
            }
            assert telemetry.span.attributes["db.response.status_code"] == "0x1200"
            assert telemetry.span.attributes["server.address"] == nodes[1].address


def test_speculative_executions_are_counted(telemetry: Telemetry) -> None:
    """A speculative execution is an event of the span, and is counted in an attribute.

    The first node does not respond, so the request is also sent to the second node.
    """
    with FakeCluster(2) as nodes:
        held_answer = hold(rows(ONE_COLUMN, []))
        nodes[0].prime(QUERY, held_answer)
        nodes[1].prime(QUERY, rows(ONE_COLUMN, []))
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(),
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.01, 1),
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        with observed_cluster(nodes, telemetry.observer, execution_profiles=profiles) as cluster:
            cluster.connect().execute(SimpleStatement(QUERY, is_idempotent=True))
            held_answer.release()
    assert telemetry.span.attributes["cassandra.speculative_execution.count"] == 1
    names = [event.name for event in telemetry.span.events]
    assert names == ["attempt", "speculative execution", "attempt"]


def test_the_host_that_answers_is_the_coordinator_of_a_span(telemetry: Telemetry) -> None:
    """A speculative execution that is abandoned must not be the coordinator."""
    with FakeCluster(2) as nodes:
        never = hold(rows(ONE_COLUMN, []))
        nodes[0].prime(QUERY, delay(0.1, rows(ONE_COLUMN, [])))
        nodes[1].prime(QUERY, never)
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(),
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.01, 1),
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        with observed_cluster(nodes, telemetry.observer, execution_profiles=profiles) as cluster:
            cluster.connect().execute(SimpleStatement(QUERY, is_idempotent=True))
            never.release()
        assert telemetry.span.attributes["cassandra.speculative_execution.count"] == 1
        assert telemetry.span.attributes["server.address"] == nodes[0].address
        (point,) = telemetry.points
        assert point.attributes["server.address"] == nodes[0].address


def test_durations_are_a_histogram(node: FakeNode, telemetry: Telemetry) -> None:
    """The durations of requests (seconds) are exported as a histogram with fixed bounds."""
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()
        for _ in range(3):
            session.execute(QUERY)
    (point,) = telemetry.points
    assert point.count == 3
    assert point.sum > 0
    # Before version 1.30, the bounds are the SDK's.
    if "explicit_bucket_boundaries_advisory" in signature(Meter.create_histogram).parameters:
        assert point.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
    assert dict(point.attributes) == {
        "db.system.name": "cassandra",
        "db.operation.name": "SELECT",
        "db.namespace": "ks",
        "db.collection.name": "t",
        "server.address": node.address,
        "server.port": node.port,
    }


def test_spans_or_metrics_may_be_disabled(node: FakeNode) -> None:
    spans, meters = Telemetry(metrics=False), Telemetry(spans=False)
    with observed_cluster(node, spans.observer, meters.observer) as cluster:
        cluster.connect().execute(QUERY)
    assert (len(spans.spans), spans.points) == (1, [])
    assert (meters.spans, len(meters.points)) == ([], 1)


def test_two_observers_have_a_span_each(node: FakeNode) -> None:
    first, second = Telemetry(), Telemetry()
    with observed_cluster(node, first.observer, second.observer) as cluster:
        cluster.connect().execute(QUERY)
    assert (len(first.spans), len(second.spans)) == (1, 1)


def test_a_suppressed_call_has_no_span(node: FakeNode, telemetry: Telemetry) -> None:
    """If the application suppresses instrumentation in its context, a request has no span."""
    with observed_cluster(node, telemetry.observer) as cluster:
        session = cluster.connect()
        token = context.attach(context.set_value("suppress_instrumentation", True))
        try:
            session.execute(QUERY)
        finally:
            context.detach(token)
    assert telemetry.spans == []


def test_requests_of_an_exporter_have_no_spans(node: FakeNode) -> None:
    """If an exporter executes requests, these must not be exported in turn."""
    exported: list[str] = []
    sessions: list[Any] = []

    class ExporterToTable(InMemorySpanExporter):
        def export(self, spans: Any) -> Any:
            exported.extend(span.name for span in spans)
            if len(exported) < 5:  # otherwise a failing test would never end
                sessions[0].execute("INSERT INTO spans (k) VALUES (1)")
            return super().export(spans)

    provider = TracerProvider()
    processor = BatchSpanProcessor(ExporterToTable())
    provider.add_span_processor(processor)
    observer = OpenTelemetryObserver(provider, metrics=False)
    with observed_cluster(node, observer) as cluster:
        sessions.append(cluster.connect())
        sessions[0].execute(QUERY)
        for _ in range(3):
            processor.force_flush()
        provider.shutdown()
    assert len(exported) == 1


def test_without_a_provider_nothing_is_recorded(node: FakeNode) -> None:
    with observed_cluster(node, OpenTelemetryObserver()) as cluster:
        assert cluster.connect().execute(QUERY).one().k == 1


def test_the_observer_is_not_made_for_a_cluster() -> None:
    cluster: Any = Cluster()
    with pytest.raises(TypeError, match=r"write cluster\.add_request_observer\(OpenTelemetryObs"):
        OpenTelemetryObserver(cluster)
    cluster.shutdown()
