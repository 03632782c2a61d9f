"""Finds out whether an empty result replaces an error that a retry policy has ignored."""

from __future__ import annotations


def ignored_error(result: object) -> BaseException | None:
    """Return the error that a retry policy has ignored, so that the result is empty.

    Returns None if the result is the server's response.

    :param result: the result of a request, from the blocking or the asyncio API.
    """
    if getattr(result, "_message", result) is not None:
        return None
    attempts = getattr(getattr(result, "response_future", result), "attempts", None)
    error: BaseException | None = attempts[-1].error if attempts else None
    return error
