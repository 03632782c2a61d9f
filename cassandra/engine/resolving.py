"""Decides which value of a setting applies to a request.

The value can come from the call, the statement, the profile or the session.

`cassandra.engine.happy_path` exports these functions: the compiled Cython versions if they are in
use, else these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._write_times import generated
from cassandra.engine.call_options import CallOptions
from cassandra.policies.speculation import NoSpeculativeExecutionPolicy
from cassandra.protocol.extras import check_payload
from cassandra.query.settings import FETCH_SIZE_UNSET, NOT_SET
from cassandra.timestamps import MonotonicTimestampGenerator

if TYPE_CHECKING:
    from cassandra.engine.happy_path import ExecuteBodyBase, RequestBase
    from cassandra.engine.interfaces import RequestSession

_Request = TypeVar("_Request", bound="RequestBase")


# The attributes of a request body that `resolve` sets.
_RESOLVED = (
    "consistency",
    "serial_consistency",
    "page_size",
    "paging_state",
    "timestamp",
    "tracing",
    "custom_payload",
)


def resolve(body: Any, session: Any, statement: Any, options: CallOptions) -> None:
    """Set a request body's parameters from the call, the statement, the profile and the session.

    Only this function and `request_for` decide whether the value of the call, of the statement, of
    the profile or of the session takes precedence.

    :param body: an `ExecuteBodyBase`, or another request body.
    :param session: the public session, not the engine's.
    """
    profile = options.profile
    level = statement.consistency_level
    body.consistency = profile.consistency_level if level is None else level
    serial_level = statement.serial_consistency_level
    body.serial_consistency = (
        profile.serial_consistency_level if serial_level is None else serial_level
    )
    fetch_size = statement.fetch_size
    body.page_size = session.default_fetch_size if fetch_size is FETCH_SIZE_UNSET else fetch_size
    body.paging_state = options.paging_state
    # Generate the timestamp once per request and not for each attempt: a retry is the same write,
    # so it must have the same timestamp.
    generator = session.timestamp_generator
    if generator is None or not session.use_client_timestamp:
        body.timestamp = None
    elif type(generator) is MonotonicTimestampGenerator:
        body.timestamp = generator()
    else:
        body.timestamp = generated(generator())
    body.tracing = options.trace
    payload, own_payload = options.custom_payload, statement.custom_payload
    if not payload:
        payload = own_payload
    elif own_payload:
        # Merge the two payloads; for a key in both, the value of the call takes precedence.
        check_payload(own_payload)
        check_payload(payload)
        payload = {**own_payload, **payload}
    if payload is not None:
        check_payload(payload)
        # Copy the payload: it is encoded at each attempt, and the application may change its own
        # mapping in the meantime.
        payload = dict(payload)
    body.custom_payload = payload


def copy_parameters(body: Any, resolved: Any) -> None:
    """Copy the parameters that `resolve` has set on one body to another body of the same execution.

    :param body: the body to which the parameters are copied.
    :param resolved: the body on which `resolve` was called.
    """
    for name in _RESOLVED:
        setattr(body, name, getattr(resolved, name))


def request_for(
    request_class: type[_Request],
    body: Any,
    session: Any,
    engine: RequestSession,
    statement: Any,
    target: object,
    options: CallOptions,
    on_done: Callable[[Any], None],
) -> _Request:
    """Create the request that sends `body`, with its policies and timeout.

    :param session: the public session.
    :param engine: the engine's part of the session, an `EngineSession`.
    :param statement: the statement whose settings apply.
    :param target: the statement that load balancing policies get; usually `statement` itself.
    """
    profile = options.profile
    # `target` is the statement for load balancing policies. `options.target` below is the host or
    # shard that the caller has chosen.
    request = request_class(engine, target, body, on_done)
    request.is_idempotent = statement.is_idempotent
    request.policy = profile.load_balancing_policy
    request.retry_policy = statement.retry_policy or profile.retry_policy
    speculation = profile.speculative_execution_policy
    if type(speculation) is not NoSpeculativeExecutionPolicy:
        request.speculative_policy = speculation
    timeout = options.timeout
    request.timeout = profile.request_timeout if timeout is NOT_SET else timeout
    request.target = options.target
    request.vectors = statement.vector_type or session._default_vector_type
    if profile.request_observers or engine.attends:
        engine.attend(request, profile.request_observers)
    return request


def bound_request(
    request_class: type[_Request],
    body_class: type[ExecuteBodyBase],
    session: Any,
    engine: RequestSession,
    statement: Any,
    target: object,
    options: CallOptions,
    on_done: Callable[[Any], None],
) -> _Request:
    """Create the request for a bound statement, and render it in the calling thread.

    This does the work of `resolve` and `request_for` in one call, which is faster in the compiled
    version.

    :param body_class: the class of the body. Neither it nor `request_class` may define
        ``__init__``, which the compiled version does not call.
    """
    prepared, core = statement.prepared_statement, engine.core
    if prepared._home is not core.home:
        prepared = core.preparer.own_statement(prepared)
    body = body_class(prepared, statement.block)
    resolve(body, session, statement, options)
    body.prerender(core.wire_format)
    return request_for(request_class, body, session, engine, statement, target, options, on_done)
