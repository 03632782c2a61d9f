"""`deciding_attempt`: which attempt has ended a request."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

from cassandra._attempts import deciding_attempt
from cassandra.errors import OperationTimedOut


class SentAttempt(NamedTuple):
    name: str
    started: float
    latency: float | None


UNANSWERED = SentAttempt("unanswered", 0.0, None)
QUICK = SentAttempt("quick", 1.0, 0.1)
SLOW = SentAttempt("slow", 0.0, 2.0)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([], None),
        ([UNANSWERED], UNANSWERED),
        ([QUICK], QUICK),
        ([UNANSWERED, QUICK], QUICK),
        ([QUICK, UNANSWERED], QUICK),
        # The slow attempt has failed or was answered after the quick one.
        ([SLOW, QUICK], SLOW),
        ([UNANSWERED, UNANSWERED._replace(name="last")], UNANSWERED._replace(name="last")),
    ],
)
@pytest.mark.parametrize("error", [None, OperationTimedOut("no answer")])
def test_the_attempt_that_ended_last_has_ended_the_request(
    attempts: list[SentAttempt], expected: SentAttempt | None, error: Exception | None
) -> None:
    assert deciding_attempt(attempts, error) == expected


def test_a_cancellation_belongs_to_the_last_attempt() -> None:
    assert deciding_attempt([SLOW, QUICK], asyncio.CancelledError()) is QUICK
