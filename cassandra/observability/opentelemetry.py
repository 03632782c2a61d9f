"""Spans and metrics of requests for OpenTelemetry; needs ``pip install turbocql[otel]``.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.observability.opentelemetry import OpenTelemetryObserver

   cluster = Cluster(request_observers=[OpenTelemetryObserver()])

Names and values are those of the stable semantic conventions for databases, and of those for
Cassandra (https://opentelemetry.io/docs/specs/semconv/database/cassandra/).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
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
    from cassandra.metadata.endpoint import EndPoint
    from cassandra.metadata.host import Host

__all__ = ["OpenTelemetryObserver"]

_SCOPE = "cassandra.observability.opentelemetry"
_SCHEMA = "https://opentelemetry.io/schemas/1.33.0"
_SYSTEM = "cassandra"
# Seconds, as the conventions advise for db.client.operation.duration.
_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
# With this key set in the context, instrumentations leave a call alone; they know it by its name.
_SUPPRESS = "suppress_instrumentation"
# A request without a span: no span, and its attributes are not known.
_NOT_BEGUN = (None, None)

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
        common = _of_shape(shape, request.keyspace)
        attributes: dict[str, Any] = {
            **common,
            "db.query.summary": shape.summary,
            "cassandra.consistency.level": _level(request.consistency_level),
            "cassandra.query.idempotent": request.is_idempotent,
        }
        if self._has_text and shape.text:
            attributes["db.query.text"] = shape.text
        size = request.batch_size
        if size is not None and size > 1:  # a batch of one is not a batch, say the conventions
            attributes["db.operation.batch.size"] = size
        if request.page_size is not None:
            attributes["cassandra.page.size"] = request.page_size
        if request.page_number > 1:
            attributes["turbocql.page.number"] = request.page_number
        span = self._tracer.start_span(shape.summary, kind=SpanKind.CLIENT, attributes=attributes)
        request.storage[self] = (span, common)

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
        span, common = request.storage.pop(self, _NOT_BEGUN)
        if span is not None:
            if span.is_recording():
                self._finish(span, request)
            span.end()
        if self._duration is not None:
            if common is None:
                common = _of_shape(_shape(request), request.keyspace)
            assert request.latency is not None
            self._duration.record(request.latency, _of_metric(common, request))

    # -- attributes --------------------------------------------------------------------------------

    def _span(self, request: ObservedRequest) -> Span | None:
        span: Span | None = request.storage.get(self, _NOT_BEGUN)[0]
        return span if span is not None and span.is_recording() else None

    def _finish(self, span: Span, request: ObservedRequest) -> None:
        host = request.host
        if host is not None:
            attributes: dict[str, Any] = {**_coordinator(host)}
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


def _of_metric(common: Mapping[str, Any], request: ObservedRequest) -> dict[str, Any]:
    attributes: dict[str, Any] = {**common}
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


@lru_cache(maxsize=1000)
def _of_shape(shape: Shape, keyspace: str | None) -> dict[str, Any]:
    """Return what spans and durations have of a statement; not to be changed."""
    found = {"db.system.name": _SYSTEM, "db.operation.name": shape.operation}
    if keyspace is None:
        keyspace = shape.keyspace
    if keyspace is not None:
        found["db.namespace"] = keyspace
    if shape.table is not None:
        found["db.collection.name"] = shape.table
    return found


def _address(host: Host) -> dict[str, Any]:
    return _of_endpoint(host.endpoint)


@lru_cache(maxsize=1000)
def _of_endpoint(endpoint: EndPoint) -> dict[str, Any]:
    """Return what events and durations have of a host; not to be changed."""
    found: dict[str, Any] = {"server.address": str(endpoint.address)}
    port = getattr(endpoint, "port", None)
    if port is not None:
        found["server.port"] = port
    return found


def _coordinator(host: Host) -> dict[str, Any]:
    return _of_host(host.endpoint, host.host_id, host.datacenter)


@lru_cache(maxsize=1000)
def _of_host(endpoint: EndPoint, host_id: object, datacenter: str | None) -> dict[str, Any]:
    """Return what spans have of a host; not to be changed."""
    found = {**_of_endpoint(endpoint)}
    if host_id is not None:
        found["cassandra.coordinator.id"] = str(host_id)
    if datacenter is not None:
        found["cassandra.coordinator.dc"] = datacenter
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
