"""Test the loggers of the driver, on which filters and handlers of applications may raise."""

from __future__ import annotations

import copy
import logging
import pickle
import signal
import sys
from typing import Any
from unittest import mock

import pytest

from cassandra._logs import Log


class Raising(logging.Handler):
    """A handler that raises an exception, as handlers with a bug do."""

    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("the disk is full")


@pytest.fixture
def raising_log() -> Any:
    log = Log("cassandra.test_logs")
    handler = Raising()
    log.logger.addHandler(handler)
    yield log
    log.logger.removeHandler(handler)


def test_the_caller_is_the_one_in_the_record(caplog: pytest.LogCaptureFixture) -> None:
    log = Log("cassandra.test_logs")
    log.logger.setLevel(logging.DEBUG)
    try:
        assert log.isEnabledFor(logging.DEBUG)
        log.debug("a %s", 1)
        log.info("b")
        log.warning("c", stacklevel=1)
        log.error("d", exc_info=KeyError(2))
        log.log(logging.INFO, "e %r", "x")
        try:
            raise ValueError("wrong")
        except ValueError:
            log.exception("f")
    finally:
        log.logger.setLevel(logging.NOTSET)
    assert [record.getMessage() for record in caplog.records] == [
        "a 1",
        "b",
        "c",
        "d",
        "e 'x'",
        "f",
    ]
    assert {record.funcName for record in caplog.records} == {
        "test_the_caller_is_the_one_in_the_record"
    }
    assert [record.levelname for record in caplog.records] == [
        "DEBUG", "INFO", "WARNING", "ERROR", "INFO", "ERROR",
    ]  # fmt: skip
    assert [record.exc_info and record.exc_info[0] for record in caplog.records[3:]] == [
        KeyError, None, ValueError,
    ]  # fmt: skip


def test_it_can_be_used_like_the_logger(monkeypatch: pytest.MonkeyPatch) -> None:
    log: Any = Log("cassandra.test_logs")
    for same in (copy.copy(log), copy.deepcopy(log), pickle.loads(pickle.dumps(log))):
        assert same.logger is log.logger
    with mock.patch.object(log, "disabled", True):
        assert log.logger.disabled
    assert not log.logger.disabled
    with mock.patch.object(log, "warning") as warning:
        log.warning("a host is down")
    warning.assert_called_once_with("a host is down")
    assert log.warning != warning
    assert (log.name, log.propagate) == ("cassandra.test_logs", True)


def test_exceptions_of_handlers_are_printed(
    raising_log: Log, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising_log.warning("a host is down")
    assert "OSError: the disk is full" in capsys.readouterr().err
    monkeypatch.setattr(logging, "raiseExceptions", False)
    raising_log.warning("a host is down")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(logging, "raiseExceptions", True)
    monkeypatch.setattr(sys, "stderr", None)
    raising_log.warning("a host is down")


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="Windows has no such signal")
def test_the_exception_of_a_signal_handler_is_raised(raising_log: Log) -> None:
    class TimeLimit(Exception):
        pass

    def raise_limit(number: int, frame: Any) -> None:
        raise TimeLimit

    class Interrupted(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            signal.raise_signal(signal.SIGUSR1)
            return True

    earlier = signal.signal(signal.SIGUSR1, raise_limit)
    interrupted = Interrupted()
    raising_log.logger.addFilter(interrupted)
    try:
        with pytest.raises(TimeLimit):
            raising_log.warning("a host is down")
    finally:
        raising_log.logger.removeFilter(interrupted)
        signal.signal(signal.SIGUSR1, earlier)
