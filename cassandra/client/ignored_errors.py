"""Finds out whether a retry policy has replaced an error by an empty result."""

from __future__ import annotations


def ignored_error(result: object) -> BaseException | None:
    """Return the error that a retry policy of the application has replaced by this empty result;
    None if the server has answered.

    :param result: the result of a request, of either API.
    """
    if getattr(result, "_message", result) is not None:
        return None
    attempts = getattr(getattr(result, "response_future", result), "attempts", None)
    error: BaseException | None = attempts[-1].error if attempts else None
    return error
