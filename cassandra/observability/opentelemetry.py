"""Spans and metrics of requests for OpenTelemetry.

This module needs ``pip install turbocql[otel]``.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.observability.opentelemetry import OpenTelemetryObserver

   cluster = Cluster(request_observers=[OpenTelemetryObserver()])

Names and values follow the stable OpenTelemetry semantic conventions for databases and for
Cassandra (https://opentelemetry.io/docs/specs/semconv/database/cassandra/).
"""

from __future__ import annotations

import inspect
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

# The name of the instrumentation scope, the URL of the conventions' schema, and the name of the
# database system.
_SCOPE = "cassandra.observability.opentelemetry"
_SCHEMA = "https://opentelemetry.io/schemas/1.33.0"
_SYSTEM = "cassandra"
# The bucket bounds in seconds that the conventions recommend for db.client.operation.duration.
_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
# The name of the parameter for these bounds.
_ADVISORY = "explicit_bucket_boundaries_advisory"
# Keys in OpenTelemetry's context. If the value of one is true, instrumentations must not create
# spans. Its SDK sets the second key while it exports spans. Without that key, an exporter that
# writes spans with this driver would create a further span for each export, without end.
_SUPPRESS = tuple(
    key
    for key in (
        "suppress_instrumentation",
        getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", None),  # a private name
    )
    if key is not None
)
# Used as (span, common attributes) of a request for which `on_start` has created no span.
_NO_SPAN = (None, None)

# The names of consistency levels in lower case, by number.
_LEVELS = {
    level: name.lower()
    for level, name in ConsistencyLevel.value_to_name.items()
    if name is not None
}


class OpenTelemetryObserver(RequestObserver):
    """Creates a span for each request, and records the durations of requests in a histogram.

    The span is a client span, with an event for each attempt.

    The parent of a span is the current span of the code that executes the statement. This code may
    run in a thread, a task or a callback.

    :param tracer_provider: creates the tracer; None for OpenTelemetry's global provider.
    :param meter_provider: creates the meter; None for OpenTelemetry's global provider.
    :param spans: False to record only metrics.
    :param metrics: False to record only spans.
    :param query_text: False to leave out the attribute ``db.query.text``. It contains no values:
        literals are replaced by ``?``. Only the CQL of a prepared statement is shown as your code
        wrote it. The status of a span contains no values either: it has an error's class, code and
        fields, and not the server's message, which might repeat values.
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
        argument: object = tracer_provider
        if hasattr(argument, "add_request_observer"):
            raise TypeError(
                f"OpenTelemetryObserver is not made for a {type(argument).__name__}: write "
                "cluster.add_request_observer(OpenTelemetryObserver())"
            )
        # `_tracer` creates spans, and `_duration` is the histogram. Each is None if the application
        # does not want spans or metrics.
        self._tracer = (
            trace.get_tracer(_SCOPE, __version__, tracer_provider, _SCHEMA) if spans else None
        )
        self._includes_text = query_text
        self._hosts = _Hosts()
        self._duration = _create_histogram(meter_provider) if metrics else None

    # -- events ------------------------------------------------------------------------------------

    def on_start(self, request: ObservedRequest) -> None:
        """Start the span of a request.

        :param request: the request.
        """
        if self._tracer is None or any(map(context.get_value, _SUPPRESS)):
            return
        start = _cached_start(request.traits, self._includes_text)
        span = self._tracer.start_span(
            start.name, kind=SpanKind.CLIENT, attributes=start.attributes
        )
        request.storage[self] = (span, start.common)  # for `on_end`

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Add an event for an attempt to the span.

        :param request: the request.
        :param attempt: the attempt.
        """
        span = self._span(request)
        if span is not None:
            span.add_event("attempt", self._hosts.attributes_of(attempt.host).address)

    def on_retry(
        self, request: ObservedRequest, attempt: Attempt, error: BaseException, decision: str
    ) -> None:
        """Add an event for a retry to the span.

        :param request: the request.
        :param attempt: the attempt that failed.
        :param error: the error of that attempt.
        :param decision: the decision of the retry policy.
        """
        span = self._span(request)
        if span is not None:
            span.add_event(
                "retry", {"error.type": _type_name(error), "turbocql.decision": decision}
            )

    def on_speculation(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Add an event for a speculative execution to the span.

        :param request: the request.
        :param attempt: the new attempt.
        """
        span = self._span(request)
        if span is not None:
            span.add_event("speculative execution", self._hosts.attributes_of(attempt.host).address)

    def on_end(self, request: ObservedRequest) -> None:
        """End the span of a request, and record the request's duration.

        :param request: the request.
        """
        span, common = request.storage.pop(self, _NO_SPAN)
        host = request.host
        attributes = self._hosts.attributes_of(host) if host is not None else None
        if span is not None:
            if span.is_recording():
                _set_final_attributes(span, request, attributes)
            span.end()
        if self._duration is not None:
            # If `on_start` has created no span, it has not computed the common attributes either.
            # So compute them here.
            if common is None:
                common = _cached_start(request.traits, self._includes_text).common
            assert request.latency is not None
            self._duration.record(
                request.latency, _metric_attributes(common, attributes, request.error)
            )

    # -- attributes --------------------------------------------------------------------------------

    def _span(self, request: ObservedRequest) -> Span | None:
        """Return the request's span; None if there is no span, or if it is not recorded."""
        span: Span | None = request.storage.get(self, _NO_SPAN)[0]
        return span if span is not None and span.is_recording() else None


def _set_final_attributes(
    span: Span, request: ObservedRequest, host_attributes: _HostAttributes | None
) -> None:
    """Set the attributes that are only known at the end of the request."""
    if host_attributes is not None:
        span.set_attributes(host_attributes.coordinator)
        if request.shard is not None:
            span.set_attribute("turbocql.shard", request.shard)
    if request.speculations:
        span.set_attribute("cassandra.speculative_execution.count", request.speculations)
    # A retry may have used another consistency level than the level that `on_start` has set.
    if request.retries:
        span.set_attribute("cassandra.consistency.level", _level_name(request.consistency_level))
    error = request.error
    if error is not None:
        span.set_attribute("error.type", _type_name(error))
        code = code_of(error)
        if code is not None:
            span.set_attribute("db.response.status_code", code)
        span.set_status(StatusCode.ERROR, error_text(error))


def _metric_attributes(
    common: Mapping[str, Any], host_attributes: _HostAttributes | None, error: BaseException | None
) -> dict[str, Any]:
    """Return the attributes for recording the duration of a request."""
    attributes: dict[str, Any] = (
        {**common, **host_attributes.address} if host_attributes is not None else {**common}
    )
    if error is not None:
        attributes["error.type"] = _type_name(error)
        code = code_of(error)
        if code is not None:
            attributes["db.response.status_code"] = code
    return attributes


def _create_histogram(provider: MeterProvider | None) -> metrics.Histogram:
    """Create the histogram of request durations, with the provider's meter."""
    meter = metrics.get_meter(_SCOPE, __version__, provider, _SCHEMA)
    # Before version 1.30, the API has no parameter for the bounds.
    options: dict[str, Any] = {}
    if _ADVISORY in inspect.signature(metrics.Meter.create_histogram).parameters:
        options[_ADVISORY] = _BUCKETS
    return meter.create_histogram(
        "db.client.operation.duration",
        unit="s",
        description="Duration of database client operations.",
        **options,
    )


class _Start(NamedTuple):
    """The name and the attributes of a span when it starts.

    All requests with the same `traits` (see `_cached_start`) share these dicts, so do not change
    them.

    :param name: the name of the span.
    :param attributes: the attributes of the span.
    :param common: the attributes of the span that are also recorded with the duration.
    """

    name: str
    attributes: dict[str, Any]
    common: dict[str, Any]


# The cache takes 8 MiB at most.
_starts: Bounded[tuple[tuple[Any, ...], bool], _Start] = Bounded(1000, 1 << 23)


def _cached_start(traits: tuple[Any, ...], has_text: bool) -> _Start:
    """Return the name and the attributes of a request's span, from a cache.

    :param traits: the properties of the request that the result depends on.
    :param has_text: True to include the CQL.
    """
    start = _starts.get((traits, has_text))
    if start is None:
        start = _make_start(traits, has_text)
        # Pass an estimate of the memory in bytes, because the CQL of a statement may have
        # megabytes.
        _starts.keep((traits, has_text), start, 2000 + 3 * len(traits[0] or ""))
    return start


def _make_start(traits: tuple[Any, ...], has_text: bool) -> _Start:
    """Make the name and the attributes that `_cached_start` returns and caches."""
    text, is_prepared, keyspace, level, is_idempotent, batch_size, page_size, page_number = traits
    shape = _BATCH if text is None else shape_of(text, is_prepared)
    common = _common_attributes(shape, keyspace)
    attributes: dict[str, Any] = {
        **common,
        "db.query.summary": shape.summary,
        "cassandra.consistency.level": _level_name(level),
        "cassandra.query.idempotent": is_idempotent,
        "cassandra.speculative_execution.count": 0,
    }
    if has_text and shape.text:
        attributes["db.query.text"] = shape.text
    if batch_size is not None and batch_size > 1:
        # By the conventions, a batch of one statement does not count as a batch.
        attributes["db.operation.batch.size"] = batch_size
    if page_size is not None:
        attributes["cassandra.page.size"] = page_size
    if page_number > 1:
        attributes["turbocql.page.number"] = page_number
    return _Start(shape.summary, attributes, common)


_BATCH = Shape("BATCH", None, None, "")  # the description of all batches, which have no single CQL


def _level_name(level: int) -> str:
    return _LEVELS.get(level, str(level))


def _common_attributes(shape: Shape, keyspace: str | None) -> dict[str, Any]:
    """Return the attributes that are recorded with both the span and the duration of a request."""
    attributes = {"db.system.name": _SYSTEM, "db.operation.name": shape.operation}
    if keyspace is None:
        keyspace = shape.keyspace
    if keyspace is not None:
        attributes["db.namespace"] = keyspace
    if shape.table is not None:
        attributes["db.collection.name"] = shape.table
    return attributes


class _Hosts:
    """A cache of the attributes of hosts, for events, durations and spans.

    The keys are the ``id()`` of `Host` objects, because hosts and their UUIDs are slow to hash.
    Each value refers to its host, which keeps the host alive: no other object can get its ``id()``.
    """

    def __init__(self) -> None:
        self._attributes: dict[int, _HostAttributes] = {}

    def attributes_of(self, host: Host) -> _HostAttributes:
        """Return the attributes of a host. Callers must not change them."""
        attributes = self._attributes.get(id(host))
        # Build the attributes again if the host has got another id or data centre.
        if (
            attributes is None
            or attributes.host_id is not host.host_id
            or attributes.dc is not host.datacenter
        ):
            # So many hosts mean that most of them have left their cluster. Empty the cache.
            if len(self._attributes) >= _MAX_HOSTS:
                self._attributes.clear()
            attributes = self._attributes[id(host)] = _host_attributes(host)
        return attributes


_MAX_HOSTS = 1000  # maximum number of hosts in a `_Hosts` cache


class _HostAttributes(NamedTuple):
    """The attributes of a host.

    :param host: the host.
    :param host_id: the host's UUID when the attributes were built.
    :param dc: the host's data centre when the attributes were built.
    :param address: the attributes for events and durations.
    :param coordinator: the attributes for spans.
    """

    host: Host
    host_id: object
    dc: str | None
    address: dict[str, Any]
    coordinator: dict[str, Any]


def _host_attributes(host: Host) -> _HostAttributes:
    """Build the attributes of a host."""
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
    return _HostAttributes(host, host.host_id, host.datacenter, address, coordinator)


def _type_name(error: BaseException) -> str:
    """Return the name of an error's class, with its module unless the module is builtins."""
    cls = type(error)
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )
