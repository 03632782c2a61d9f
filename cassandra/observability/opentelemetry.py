"""Spans and metrics of requests for OpenTelemetry; needs ``pip install turbocql[otel]``.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.observability.opentelemetry import OpenTelemetryObserver

   cluster = Cluster(request_observers=[OpenTelemetryObserver()])

Names and values are those of the stable semantic conventions for databases, and of those for
Cassandra (https://opentelemetry.io/docs/specs/semconv/database/cassandra/).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context, metrics, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from cassandra._version import __version__
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import (
    AlreadyExists,
    ConfigurationException,
    FunctionFailure,
    InvalidRequest,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.observability.texts import Shape, shape_of
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.query.batch import BatchStatement
from cassandra.query.bound import BoundStatement

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from cassandra.engine.flight import Attempt
    from cassandra.metadata.host import Host

__all__ = ["OpenTelemetryObserver"]

_SCOPE = "cassandra.observability.opentelemetry"
_SCHEMA = "https://opentelemetry.io/schemas/1.33.0"
_SYSTEM = "cassandra"
# Seconds, as the conventions advise for db.client.operation.duration.
_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
# With this key set in the context, instrumentations leave a call alone; they know it by its name.
_SUPPRESS = "suppress_instrumentation"

_LEVELS = {
    level: name.lower()
    for level, name in ConsistencyLevel.value_to_name.items()
    if name is not None
}


class OpenTelemetryObserver(RequestObserver):
    """Makes a client span of each request, with an event for each attempt, and a histogram.

    The parent of a span is the caller's current span: in threads, tasks and callbacks alike.

    :param tracer_provider: makes the tracer; None for the global one.
    :param meter_provider: makes the meter; None for the global one.
    :param spans: False for metrics alone.
    :param metrics: False for spans alone.
    :param query_text: False leaves ``db.query.text`` out. Values are never in it: literals are
        replaced by ``?``, except in texts of prepared statements, which the program wrote.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        spans: bool = True,
        metrics: bool = True,
        query_text: bool = True,
    ) -> None:
        self._tracer = (
            trace.get_tracer(_SCOPE, __version__, tracer_provider, _SCHEMA) if spans else None
        )
        self._has_text = query_text
        self._duration = _histogram(meter_provider) if metrics else None

    # -- events ------------------------------------------------------------------------------------

    def on_start(self, request: ObservedRequest) -> None:
        """Begin the span.

        :param request: the request.
        """
        if self._tracer is None or context.get_value(_SUPPRESS):
            return
        shape = _shape(request)
        attributes: dict[str, Any] = {
            "db.system.name": _SYSTEM,
            "db.operation.name": shape.operation,
            "db.query.summary": shape.summary,
            "cassandra.consistency.level": _level(request.consistency_level),
            "cassandra.query.idempotent": request.is_idempotent,
        }
        keyspace = request.keyspace or shape.keyspace
        if keyspace is not None:
            attributes["db.namespace"] = keyspace
        if shape.table is not None:
            attributes["db.collection.name"] = shape.table
        if self._has_text and shape.text:
            attributes["db.query.text"] = shape.text
        size = request.batch_size
        if size is not None and size > 1:  # a batch of one is not a batch, say the conventions
            attributes["db.operation.batch.size"] = size
        if request.page_size is not None:
            attributes["cassandra.page.size"] = request.page_size
        if request.page_number > 1:
            attributes["turbocql.page.number"] = request.page_number
        request.storage[self] = self._tracer.start_span(
            shape.summary, kind=SpanKind.CLIENT, attributes=attributes
        )

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Add an event to the span.

        :param request: the request.
        :param attempt: the attempt.
        """
        span = self._span(request)
        if span is not None:
            span.add_event("attempt", _address(attempt.host))

    def on_retry(
        self, request: ObservedRequest, attempt: Attempt, error: BaseException, decision: str
    ) -> None:
        """Add an event to the span.

        :param request: the request.
        :param attempt: the attempt that failed.
        :param error: the error.
        :param decision: the retry policy's.
        """
        span = self._span(request)
        if span is not None:
            span.add_event("retry", {"error.type": _kind(error), "turbocql.decision": decision})

    def on_speculation(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Add an event to the span.

        :param request: the request.
        :param attempt: the new attempt.
        """
        span = self._span(request)
        if span is not None:
            span.add_event("speculative execution", _address(attempt.host))

    def on_end(self, request: ObservedRequest) -> None:
        """End the span, and record the duration.

        :param request: the request.
        """
        span = request.storage.pop(self, None)
        if span is not None:
            if span.is_recording():
                self._finish(span, request)
            span.end()
        if self._duration is not None:
            assert request.latency is not None
            self._duration.record(request.latency, _of_metric(request))

    # -- attributes --------------------------------------------------------------------------------

    def _span(self, request: ObservedRequest) -> Span | None:
        span: Span | None = request.storage.get(self)
        return span if span is not None and span.is_recording() else None

    def _finish(self, span: Span, request: ObservedRequest) -> None:
        host = request.host
        if host is not None:
            attributes: dict[str, Any] = _address(host)
            if host.host_id is not None:
                attributes["cassandra.coordinator.id"] = str(host.host_id)
            if host.datacenter is not None:
                attributes["cassandra.coordinator.dc"] = host.datacenter
            if request.shard is not None:
                attributes["turbocql.shard"] = request.shard
            attributes["cassandra.speculative_execution.count"] = request.speculations
            # The policy of a retry may have chosen another one.
            attributes["cassandra.consistency.level"] = _level(request.consistency_level)
            span.set_attributes(attributes)
        error = request.error
        if error is not None:
            span.set_attribute("error.type", _kind(error))
            code = _code(error)
            if code is not None:
                span.set_attribute("db.response.status_code", code)
            span.set_status(StatusCode.ERROR, f"{type(error).__name__}: {error}")


def _histogram(provider: MeterProvider | None) -> metrics.Histogram:
    meter = metrics.get_meter(_SCOPE, __version__, provider, _SCHEMA)
    return meter.create_histogram(
        "db.client.operation.duration",
        unit="s",
        description="Duration of database client operations.",
        explicit_bucket_boundaries_advisory=_BUCKETS,
    )


def _of_metric(request: ObservedRequest) -> dict[str, Any]:
    shape = _shape(request)
    attributes: dict[str, Any] = {"db.system.name": _SYSTEM, "db.operation.name": shape.operation}
    keyspace = request.keyspace or shape.keyspace
    if keyspace is not None:
        attributes["db.namespace"] = keyspace
    if shape.table is not None:
        attributes["db.collection.name"] = shape.table
    host = request.host
    if host is not None:
        attributes.update(_address(host))
    error = request.error
    if error is not None:
        attributes["error.type"] = _kind(error)
        code = _code(error)
        if code is not None:
            attributes["db.response.status_code"] = code
    return attributes


def _shape(request: ObservedRequest) -> Shape:
    statement = request.statement
    if isinstance(statement, BatchStatement) or request.batch_size is not None:
        return _BATCH
    text = request.query_string
    return _BATCH if text is None else shape_of(text, isinstance(statement, BoundStatement))


_BATCH = Shape("BATCH", None, None, "")

# Errors that are not messages of the protocol: native_protocol_v5.spec, section 9.
_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (Unavailable, "0x1000"),
    (WriteTimeout, "0x1100"),
    (ReadTimeout, "0x1200"),
    (ReadFailure, "0x1300"),
    (FunctionFailure, "0x1400"),
    (WriteFailure, "0x1500"),
    (Unauthorized, "0x2100"),
    (AlreadyExists, "0x2400"),
    (ConfigurationException, "0x2300"),
    (InvalidRequest, "0x2200"),
)


def _level(level: int) -> str:
    return _LEVELS.get(level, str(level))


def _address(host: Host) -> dict[str, Any]:
    endpoint = host.endpoint
    found: dict[str, Any] = {"server.address": str(endpoint.address)}
    port = getattr(endpoint, "port", None)
    if port is not None:
        found["server.port"] = port
    return found


def _kind(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _code(error: BaseException) -> str | None:
    """Return the server's error code, as the protocol's specification writes it."""
    if isinstance(error, ErrorMessage):
        return f"0x{error.code:04x}"
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)
