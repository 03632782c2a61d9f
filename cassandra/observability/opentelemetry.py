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
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry import context, metrics, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from cassandra._bounded import Bounded
from cassandra._version import __version__
from cassandra.consistency import ConsistencyLevel
from cassandra.observability.texts import Shape, code_of, error_text, shape_of
from cassandra.observers import ObservedRequest, RequestObserver

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from cassandra.engine.happy_path import Attempt
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
        replaced by ``?``, except in texts of prepared statements, which the program wrote. Nor are
        they in the status of a span: it has an error's class, code and fields, without the server's
        own words, which may repeat them.
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
        self._hosts = _Hosts()
        self._duration = _histogram(meter_provider) if metrics else None

    # -- events ------------------------------------------------------------------------------------

    def on_start(self, request: ObservedRequest) -> None:
        """Begin the span.

        :param request: the request.
        """
        if self._tracer is None or context.get_value(_SUPPRESS):
            return
        begun = _at_start(request.traits, self._has_text)
        span = self._tracer.start_span(
            begun.name, kind=SpanKind.CLIENT, attributes=begun.attributes
        )
        request.storage[self] = (span, begun.common)

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Add an event to the span.

        :param request: the request.
        :param attempt: the attempt.
        """
        span = self._span(request)
        if span is not None:
            span.add_event("attempt", self._hosts.known(attempt.host).address)

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
            span.add_event("speculative execution", self._hosts.known(attempt.host).address)

    def on_end(self, request: ObservedRequest) -> None:
        """End the span, and record the duration.

        :param request: the request.
        """
        span, common = request.storage.pop(self, _NOT_BEGUN)
        host = request.host
        known = self._hosts.known(host) if host is not None else None
        if span is not None:
            if span.is_recording():
                _finish(span, request, known)
            span.end()
        if self._duration is not None:
            if common is None:
                common = _at_start(request.traits, self._has_text).common
            assert request.latency is not None
            self._duration.record(request.latency, _of_metric(common, known, request.error))

    # -- attributes --------------------------------------------------------------------------------

    def _span(self, request: ObservedRequest) -> Span | None:
        span: Span | None = request.storage.get(self, _NOT_BEGUN)[0]
        return span if span is not None and span.is_recording() else None


def _finish(span: Span, request: ObservedRequest, known: _KnownHost | None) -> None:
    if known is not None:
        span.set_attributes(known.coordinator)
        if request.shard is not None:
            span.set_attribute("turbocql.shard", request.shard)
    if request.speculations:
        span.set_attribute("cassandra.speculative_execution.count", request.speculations)
    if request.retries:  # the policy may have chosen another level
        span.set_attribute("cassandra.consistency.level", _level(request.consistency_level))
    error = request.error
    if error is not None:
        span.set_attribute("error.type", _kind(error))
        code = code_of(error)
        if code is not None:
            span.set_attribute("db.response.status_code", code)
        span.set_status(StatusCode.ERROR, error_text(error))


def _of_metric(
    common: Mapping[str, Any], known: _KnownHost | None, error: BaseException | None
) -> dict[str, Any]:
    attributes: dict[str, Any] = {**common, **known.address} if known is not None else {**common}
    if error is not None:
        attributes["error.type"] = _kind(error)
        code = code_of(error)
        if code is not None:
            attributes["db.response.status_code"] = code
    return attributes


def _histogram(provider: MeterProvider | None) -> metrics.Histogram:
    meter = metrics.get_meter(_SCOPE, __version__, provider, _SCHEMA)
    return meter.create_histogram(
        "db.client.operation.duration",
        unit="s",
        description="Duration of database client operations.",
        explicit_bucket_boundaries_advisory=_BUCKETS,
    )


class _Start(NamedTuple):
    """The name and the attributes that spans of one kind begin with; not to be changed.

    :param name: of the span.
    :param attributes: of the span.
    :param common: those of them that durations have, too.
    """

    name: str
    attributes: dict[str, Any]
    common: dict[str, Any]


_starts: Bounded[tuple[tuple[Any, ...], bool], _Start] = Bounded(1000, 1 << 23)


def _at_start(traits: tuple[Any, ...], has_text: bool) -> _Start:
    start = _starts.get((traits, has_text))
    if start is None:
        start = _make_start(traits, has_text)
        # Texts of statements may be megabytes.
        _starts.keep((traits, has_text), start, 2000 + 3 * len(traits[0] or ""))
    return start


def _make_start(traits: tuple[Any, ...], has_text: bool) -> _Start:
    text, is_prepared, keyspace, level, is_idempotent, batch_size, page_size, page_number = traits
    shape = _BATCH if text is None else shape_of(text, is_prepared)
    common = _of_shape(shape, keyspace)
    attributes: dict[str, Any] = {
        **common,
        "db.query.summary": shape.summary,
        "cassandra.consistency.level": _level(level),
        "cassandra.query.idempotent": is_idempotent,
        "cassandra.speculative_execution.count": 0,
    }
    if has_text and shape.text:
        attributes["db.query.text"] = shape.text
    if batch_size is not None and batch_size > 1:
        # A batch of one is not a batch, say the conventions.
        attributes["db.operation.batch.size"] = batch_size
    if page_size is not None:
        attributes["cassandra.page.size"] = page_size
    if page_number > 1:
        attributes["turbocql.page.number"] = page_number
    return _Start(shape.summary, attributes, common)


_BATCH = Shape("BATCH", None, None, "")


def _level(level: int) -> str:
    return _LEVELS.get(level, str(level))


def _of_shape(shape: Shape, keyspace: str | None) -> dict[str, Any]:
    """Return a statement's attributes of spans and durations; not to be changed."""
    found = {"db.system.name": _SYSTEM, "db.operation.name": shape.operation}
    if keyspace is None:
        keyspace = shape.keyspace
    if keyspace is not None:
        found["db.namespace"] = keyspace
    if shape.table is not None:
        found["db.collection.name"] = shape.table
    return found


class _Hosts:
    """The attributes of hosts, for events, durations and spans.

    By the ids of the hosts, which the values hold: hosts and their ids are slow to hash.
    """

    def __init__(self) -> None:
        self._known: dict[int, _KnownHost] = {}

    def known(self, host: Host) -> _KnownHost:
        """Return the attributes of a host, which are not to be changed."""
        found = self._known.get(id(host))
        if found is None or found.host_id is not host.host_id or found.dc is not host.datacenter:
            if len(self._known) >= _MOST_HOSTS:  # hosts that are gone are forgotten
                self._known.clear()
            found = self._known[id(host)] = _known_host(host)
        return found


_MOST_HOSTS = 1000


class _KnownHost(NamedTuple):
    """A host's attributes.

    :param host: the host.
    :param host_id: of the host when they were made.
    :param dc: its data centre then.
    :param address: of events and durations.
    :param coordinator: of spans.
    """

    host: Host
    host_id: object
    dc: str | None
    address: dict[str, Any]
    coordinator: dict[str, Any]


def _known_host(host: Host) -> _KnownHost:
    endpoint = host.endpoint
    address: dict[str, Any] = {"server.address": str(endpoint.address)}
    port = getattr(endpoint, "port", None)
    if port is not None:
        address["server.port"] = port
    coordinator = {**address}
    if host.host_id is not None:
        coordinator["cassandra.coordinator.id"] = str(host.host_id)
    if host.datacenter is not None:
        coordinator["cassandra.coordinator.dc"] = host.datacenter
    return _KnownHost(host, host.host_id, host.datacenter, address, coordinator)


def _kind(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
