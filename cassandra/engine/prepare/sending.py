"""Sends a PREPARE to one host of a query plan. It is retried like any other request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from cassandra.engine.request import Request
from cassandra.errors import DriverException
from cassandra.protocol.opcodes import RESULT_KIND_PREPARED

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import PrepareBody
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.retry import RetryPolicy

# The type of `send_to_one`, and of its replacement in tests.
Send = Callable[
    ["EngineSession", "PrepareBody", "LoadBalancingPolicy", "RetryPolicy", "float | None"],
    Awaitable["tuple[Any, Host]"],
]


async def send_to_one(
    session: EngineSession,
    request_body: PrepareBody,
    policy: LoadBalancingPolicy,
    retry_policy: RetryPolicy,
    timeout: float | None,
) -> tuple[Any, Host]:
    """Send the PREPARE to the hosts of the query plan until a host has prepared the statement.

    :param timeout: seconds for all attempts together; None for no limit.
    :returns: the host's response, and the host.
    :raises DriverException: if no host succeeds, or if the retry policy ignores the error.
    """
    done: asyncio.Future[Request] = asyncio.get_running_loop().create_future()

    def on_done(request: Request) -> None:
        # The caller may have been cancelled, which has cancelled the future.
        if not done.done():
            done.set_result(request)

    request = Request(session, _PREPARE, request_body, on_done)
    request.policy = policy
    request.retry_policy = retry_policy
    request.timeout = timeout
    request.start()
    try:
        await done
    except asyncio.CancelledError:
        request.cancel()
        raise
    if request.error is not None:
        raise request.error
    host = request.attempts[-1].host
    # A retry policy that ignores an error makes the request succeed without a response.
    if getattr(request.response, "kind", None) != RESULT_KIND_PREPARED:
        raise DriverException(
            f"the statement was not prepared on {host}: the retry policy ignored the error"
        )
    return request.response, host


class _Prepare:
    """The statement that is passed to policies for a PREPARE.

    Its attributes say that the PREPARE may be sent to any host and is idempotent.
    """

    is_idempotent = True
    routing_key = None
    keyspace = None


_PREPARE = _Prepare()
