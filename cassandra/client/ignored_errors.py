"""Finds out whether a result is empty because a retry policy has ignored the server's error."""

from __future__ import annotations


def ignored_error(result: object) -> BaseException | None:
    """Return the error that a retry policy has ignored, which has made the result empty.

    Return None if the result is the server's response.

    :param result: the result of a request, from the blocking or the asyncio API.
    """
    # `_message` is None only if the result has no response of a server. A failed attempt of the
    # request then has the ignored error.
    if getattr(result, "_message", result) is not None:
        return None
    attempts = getattr(getattr(result, "response_future", result), "attempts", None) or ()
    # Look for the decision of the retry policy. The last attempt may not have the error, because it
    # may be a speculative attempt that was still in flight when the error was ignored.
    errors = [attempt.error for attempt in attempts if attempt.decision == "ignore"]
    error: BaseException | None = errors[-1] if errors else None
    return error
