"""Test classes for timers, heartbeats and compressed bodies that cassandra-driver has, too."""

from __future__ import annotations

import pytest

from cassandra.connection import (
    ConnectionHeartbeat,
    HeartbeatFuture,
    ResponseWaiter,
    Timer,
    TimerManager,
    decompress,
    defunct_on_error,
    locally_supported_compressions,
    lz4_compress,
    lz4_decompress,
)


def test_due_timers_are_called_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """`service_timeouts` calls the timers that are due, in order, except for cancelled timers."""
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    called: list[str] = []
    timers = TimerManager()
    # Without a timer, `service_timeouts` has no time to return.
    assert timers.service_timeouts() is None
    late_timer = Timer(10, lambda: called.append("late"))
    cancelled_timer = Timer(1, lambda: called.append("cancelled"))
    for timer in (late_timer, Timer(2, lambda: called.append("early")), cancelled_timer):
        timers.add_timer(timer)
    cancelled_timer.cancel()
    now[0] = 1005.0
    # `service_timeouts` returns the time of the next timer.
    assert timers.service_timeouts() == timers.next_timeout == 1010.0
    assert called == ["early"]
    now[0] = 1010.0
    assert timers.service_timeouts() is None
    assert called == ["early", "late"]


def test_compressed_bodies_can_be_decompressed() -> None:
    body = b"some bytes " * 100
    assert lz4_decompress(lz4_compress(body)) == body
    assert decompress(locally_supported_compressions["snappy"][0](body)) == body


def test_a_failing_method_makes_its_connection_defunct() -> None:
    """An error of a method with `defunct_on_error` is passed to the connection's `defunct`."""

    class Connection:
        failed: BaseException | None = None

        def defunct(self, error: BaseException) -> None:
            self.failed = error

        @defunct_on_error  # type: ignore[untyped-decorator]
        def handle(self, number: int) -> float:
            return 1 / number

    connection = Connection()
    assert connection.handle(2) == 0.5
    assert connection.handle(0) is None
    assert isinstance(connection.failed, ZeroDivisionError)


def test_heartbeats_and_waiters_can_be_created_but_not_used() -> None:
    heartbeat = ConnectionHeartbeat(interval_sec=30, get_connection_holders=list, timeout=5)
    heartbeat.stop()
    for use in (
        heartbeat.start,
        lambda: HeartbeatFuture(None, None).wait(1),
        lambda: ResponseWaiter(None, 2, True).deliver(),
    ):
        with pytest.raises(NotImplementedError, match="event loop"):
            use()
