"""Finds the attempt that has ended a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Sent(Protocol):
    """The attributes of an attempt that matter here."""

    @property
    def started(self) -> float:
        """When the attempt was sent, in seconds by a monotonic clock."""

    @property
    def latency(self) -> float | None:
        """Seconds until its response, error or timeout came; None if nobody waited for that."""


A = TypeVar("A", bound=Sent)


def deciding_attempt(attempts: Sequence[A], error: BaseException | None = None) -> A | None:
    """Return the attempt that ended a request that is over; None if nothing was sent.

    This is the attempt whose response, error or timeout came last. With speculative executions it
    may be any of the attempts, because those that nobody waits for any more have no latency. If no
    attempt ended the request, for example because the caller has cancelled it, this is the last
    attempt.

    :param attempts: the attempts of the request.
    :param error: the error of the request; None if it has succeeded.
    """
    if not attempts:
        return None
    deciding = attempts[-1]
    # CancelledError is not an Exception. It comes from the caller, and not from an attempt.
    if len(attempts) == 1 or not (error is None or isinstance(error, Exception)):
        return deciding
    latest_end = None
    for attempt in attempts:
        if attempt.latency is not None:
            end = attempt.started + attempt.latency
            if latest_end is None or end >= latest_end:
                deciding, latest_end = attempt, end
    return deciding
