"""Finds out whether a result is empty because a retry policy has ignored the server's error."""

from __future__ import annotations


def ignored_error(result: object) -> BaseException | None:
    """Return the error that a retry policy has ignored, so that the result is empty.

    Returns None if the result is the server's response.

    :param result: the result of a request, from the blocking or the asyncio API.
    """
    # A result without the server's response has no message. One of its request's attempts failed.
    if getattr(result, "_message", result) is not None:
        return None
    attempts = getattr(getattr(result, "response_future", result), "attempts", None) or ()
    # The last attempt may be a speculative one, which was in flight when the error was ignored.
    errors = [attempt.error for attempt in attempts if attempt.decision == "ignore"]
    error: BaseException | None = errors[-1] if errors else None
    return error
