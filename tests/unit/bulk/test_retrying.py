"""The decision which errors of loads and scans are retried."""

from __future__ import annotations

import pytest

from cassandra.bulk.retrying import RETRIES, delay_before_retry, may_pass
from cassandra.errors import (
    AuthenticationFailed,
    FunctionFailure,
    InvalidRequest,
    LoginRefused,
    NoHostAvailable,
    OperationTimedOut,
    RateLimitReached,
    RequestThrottled,
    SessionShutdown,
    Unauthorized,
)
from cassandra.protocol.messages.errors import OverloadedErrorMessage, ServerError


def test_the_delay_before_a_retry_is_none_for_permanent_errors() -> None:
    assert delay_before_retry(OperationTimedOut(), 1) == 0.04
    assert delay_before_retry(NoHostAvailable("none", {}), RETRIES) == 5.0
    assert delay_before_retry(NoHostAvailable("none", {}), RETRIES + 1) is None
    for error in (InvalidRequest("no"), SessionShutdown("over"), AuthenticationFailed("no")):
        assert delay_before_retry(error, 1) is None
    assert delay_before_retry(FunctionFailure("f", "k", "f", []), 1) is None
    assert delay_before_retry(KeyError(), 1) is None


@pytest.mark.parametrize(
    ("error", "is_temporary"),
    [
        (RateLimitReached(), True),
        (RequestThrottled("full"), True),
        (ServerError(0, "bug", None), True),
        (OverloadedErrorMessage(0x1001, "busy", None), True),
        (LoginRefused("no", {}), False),
        (Unauthorized("no"), False),
        (ValueError(), False),
        (KeyboardInterrupt(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_overload_may_pass_and_refusals_do_not(error: BaseException, is_temporary: bool) -> None:
    assert may_pass(error) is is_temporary
