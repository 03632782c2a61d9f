"""A log of slow, failed and sampled requests.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.observability.logger import RequestLogger

   cluster = Cluster(request_observers=[RequestLogger(slow=0.2, sample=0.001)])

A line has the CQL of the statement without values, its keyspace and consistency level, and each
attempt with its host, duration and error. Handlers that write structured fields (JSON) find the
same data as a dict in ``record.request``.

In an outage, thousands of requests may fail in the same way each second. The first one is logged at
once. The following ones are only counted, and one line per `repeat_interval` reports their number.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from typing import Any

from cassandra._clocks import monotonic
from cassandra.consistency import consistency_value_to_name
from cassandra.observability.texts import code_of, error_text, without_values
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies.encryption import ColDesc
from cassandra.query.bound import BoundStatement
from cassandra.query.statement import InterpolatedText

__all__ = ["RequestLogger"]

_MAX_ATTEMPTS = 10  # maximum number of attempts in a line: the last ones
_MAX_STATEMENTS = 3  # maximum number of statements of a batch in a line
_MAX_ERROR_LENGTH = 500  # maximum number of characters of an error message
_ENCRYPTED = "<encrypted>"
_MAX_REPEATED = 1000  # maximum number of different failures that are counted at the same time


class _Repeated:
    """Counts the failures that are like one that was logged, until the interval ends.

    `last` is the last request that failed in this way.

    :param until: the end of the interval, as `time.monotonic` returns it.
    """

    __slots__ = ("count", "last", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.count = 0
        self.last: ObservedRequest | None = None


class RequestLogger(RequestObserver):
    """Logs slow and failed requests, and a sample of the others.

    Each parameter is an attribute with the same name, which you may set at any time.

    :param slow: requests that take at least this many seconds are slow, and logged as a WARNING.
        None logs no slow requests.
    :param failed: True to log failed requests as an ERROR. Requests that the caller cancelled do
        not count as failed.
    :param repeat_interval: requests that fail with the same error and the same CQL (without values)
        within this many seconds are counted, and logged as one line. 0 logs each of them.
    :param sample: the share of all requests to log as INFO, from 0 to 1.
    :param values: True to log values, shortened. Values of encrypted columns are never logged. If
        False, literals in the CQL are replaced by ?, and server error messages are left out because
        they may repeat values.
    :param structured: True to write the message itself as JSON.
    :param longest_text: the maximum number of characters of a statement's CQL.
    :param longest_value: the maximum number of characters of a value.
    :param most_values: the maximum number of values of a statement.
    :param logger: the name of the logger, or the logger.
    :raises TypeError: if a limit is not a number.
    :raises ValueError: if a limit is out of range.
    """

    def __init__(
        self,
        slow: float | None = 0.5,
        failed: bool = True,
        sample: float = 0.0,
        values: bool = False,
        structured: bool = False,
        longest_text: int = 500,
        longest_value: int = 50,
        most_values: int = 50,
        logger: str | logging.Logger = "cassandra.requests",
        repeat_interval: float = 10.0,
    ) -> None:
        self._repeated: dict[tuple[Any, ...], _Repeated] = {}
        self.slow = slow
        self.failed = failed
        self.sample = sample
        self.values = values
        self.structured = structured
        self.longest_text = longest_text
        self.longest_value = longest_value
        self.most_values = most_values
        self.repeat_interval = repeat_interval
        self.logger: logging.Logger = (
            logging.getLogger(logger) if isinstance(logger, str) else logger
        )

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter, after checking its value."""
        # Check the value when it is set: otherwise a wrong one would only raise an error at the
        # first request.
        if name == "slow" and value is not None:
            _check_number(name, value, None)
        elif name == "sample":
            _check_number(name, value, 1.0)
        elif name in ("longest_text", "longest_value", "most_values", "repeat_interval"):
            _check_number(name, value, None)
        super().__setattr__(name, value)

    def on_end(self, request: ObservedRequest) -> None:
        """Log the request if it is slow, has failed, or is sampled.

        :param request: the request.
        """
        error = request.error
        latency = request.latency
        assert latency is not None
        if error is not None and self.failed and not isinstance(error, asyncio.CancelledError):
            if not (self.repeat_interval and self._count_if_repeated(error, request)):
                self._log(logging.ERROR, "failed", request)
        elif self.slow is not None and latency >= self.slow:
            self._log(logging.WARNING, "slow", request)
        elif self.sample and random.random() < self.sample:
            self._log(logging.INFO, "sampled", request)

    # -- failures that repeat ----------------------------------------------------------------------

    def _count_if_repeated(self, error: BaseException, request: ObservedRequest) -> bool:
        """Return True if a request that failed in the same way was logged in this interval.

        The request is then counted. Otherwise the caller has to log it, and an interval begins.
        """
        text, is_prepared = request.texts[0] if request.texts else ("", False)
        # Count requests that differ only in their values as the same: leave the values out of the
        # key.
        if not is_prepared:
            text = without_values(text.template if isinstance(text, InterpolatedText) else text)
        key = (type(error), code_of(error), request.keyspace, text)
        now = monotonic()
        repeated = self._repeated.get(key)
        if repeated is not None and now < repeated.until:
            repeated.count += 1
            repeated.last = request
            # This is the first repetition in this interval: schedule the report for the end of the
            # interval.
            if repeated.count == 1:
                self._call_later(repeated.until - now, key)
            return True
        # The interval is over, but its repetitions were not reported, because no event loop ran on
        # which `_end_interval` could be called. Report them now.
        if repeated is not None:
            self._log_repeated(repeated)
        elif len(self._repeated) >= _MAX_REPEATED:
            # There are too many different failures: report and forget all of them.
            for other in [*self._repeated.values()]:
                self._log_repeated(other)
            self._repeated.clear()
        self._repeated[key] = _Repeated(now + self.repeat_interval)
        return False

    def _call_later(self, delay: float, key: tuple[Any, ...]) -> None:
        """Call `_end_interval` after `delay` seconds, if there is a running event loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # the next failure of this kind logs the count, in `_count_if_repeated`
        loop.call_later(delay, self._end_interval, key)

    def _end_interval(self, key: tuple[Any, ...]) -> None:
        """Log how many requests have failed in this way since the last line."""
        repeated = self._repeated.get(key)
        if repeated is not None and repeated.count:
            self._log_repeated(repeated)
            # Begin the next interval, so that there is one line per interval as long as the outage
            # lasts.
            self._repeated[key] = _Repeated(monotonic() + self.repeat_interval)

    def _log_repeated(self, repeated: _Repeated) -> None:
        if repeated.last is not None:
            self._log(logging.ERROR, "failed", repeated.last, repeated.count)

    # -- lines -------------------------------------------------------------------------------------

    def _log(self, level: int, reason: str, request: ObservedRequest, repeated: int = 0) -> None:
        """Log one line with its fields, unless the logger is not enabled for `level`.

        :param reason: "failed", "slow" or "sampled".
        :param repeated: how many requests have failed in the same way since the last line.
        """
        if not self.logger.isEnabledFor(level):
            return
        fields = self._collect_fields(reason, request)
        if repeated:
            fields["repeated"] = repeated
        text = json.dumps(fields, default=str) if self.structured else _format_line(fields)
        # Pass the line as an argument and not as the format, because CQL may contain a %.
        self.logger.log(level, "%s", text, extra={"request": fields})

    # -- content of a line -------------------------------------------------------------------------

    def _collect_fields(self, reason: str, request: ObservedRequest) -> dict[str, Any]:
        """Return the content of a line as a dict.

        :param reason: the reason for the line: "failed", "slow" or "sampled".
        """
        fields: dict[str, Any] = {
            "reason": reason,
            "seconds": round(request.latency or 0.0, 6),
            "statement": self._shown_statements(request),
            "keyspace": request.keyspace,
            "consistency": consistency_value_to_name(request.consistency_level),
            "attempts": [_attempt_fields(attempt) for attempt in request.attempts[-_MAX_ATTEMPTS:]],
            "request_bytes": request.request_size,
            "response_bytes": request.response_size,
        }
        if request.batch_size is not None:
            fields["batch_size"] = request.batch_size
        if request.page_number > 1:
            fields["page"] = request.page_number
        if request.retries:
            fields["retries"] = request.retries
        if request.speculations:
            fields["speculations"] = request.speculations
        if request.error is not None:
            # Without `values`, `error_text` leaves out the server's message, which may repeat parts
            # of the statement.
            fields["error"] = (
                f"{type(request.error).__name__}: {_first_line(request.error)}"
                if self.values
                else error_text(request.error)
            )
        if self.values:
            values = self._shown_values(request.statement)
            if values:
                fields["values"] = values
        return fields

    def _shown_statements(self, request: ObservedRequest) -> str:
        """Return the CQL of a request, for a batch that of its first statements."""
        texts = request.texts
        if request.batch_size is None:
            return self._shown_cql(*texts[0]) if texts else ""
        statements = "; ".join(self._shown_cql(*statement) for statement in texts[:_MAX_STATEMENTS])
        return f"batch of {request.batch_size}: {statements}" + (
            "; ..." if len(texts) > _MAX_STATEMENTS else ""
        )

    def _shown_cql(self, text: str, is_prepared: bool) -> str:
        """Return the CQL of one statement, shortened, and without literals if necessary."""
        if is_prepared or self.values:
            summary = " ".join(text.split())
        else:
            template = text.template if isinstance(text, InterpolatedText) else text
            summary = without_values(template)
        return _shorten(summary, self.longest_text)

    def _shown_values(self, statement: Any) -> dict[str, str]:
        """Return the values of a bound statement by column, shortened, as strings."""
        if not isinstance(statement, BoundStatement):
            return {}
        policy = statement.prepared_statement.column_encryption_policy
        columns = statement.prepared_statement.column_metadata[: self.most_values]
        values: dict[str, str] = {}
        for column, value in zip(columns, statement.raw_values, strict=False):
            column_desc = ColDesc(column.keyspace_name, column.table_name, column.name)
            if policy is not None and policy.contains_column(column_desc):
                values[column.name] = _ENCRYPTED
            else:
                values[column.name] = _shorten(repr(value), self.longest_value)
        return values


def _check_number(name: str, value: object, maximum: float | None) -> None:
    """Raise an error unless `value` is a number from 0 to `maximum`; None for no maximum."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, but is {value!r}")
    if not value >= 0 or (maximum is not None and value > maximum):
        limit = "not be negative" if maximum is None else f"be from 0 to {maximum:g}"
        raise ValueError(f"{name} must {limit}, but is {value!r}")


def _shorten(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else text[: max(max_length - 3, 0)] + "..."


def _first_line(error: BaseException) -> str:
    return _shorten(str(error).split("\n", 1)[0], _MAX_ERROR_LENGTH)


def _attempt_fields(attempt: Any) -> dict[str, Any]:
    """Return the fields of one attempt."""
    fields: dict[str, Any] = {"host": str(attempt.host.endpoint)}
    if attempt.latency is not None:
        fields["seconds"] = round(attempt.latency, 6)
    if attempt.error is not None:
        fields["error"] = type(attempt.error).__name__
        if attempt.decision is not None:
            fields["decision"] = attempt.decision
    return fields


def _format_line(fields: dict[str, Any]) -> str:
    """Return the fields as a human-readable line."""
    parts = [f"{fields['reason']} request, {fields['seconds']:.3f} s: {fields['statement']}"]
    if "repeated" in fields:
        count = fields["repeated"]
        parts.append(f"the last of {count} that failed like this since the line before")
    if "error" in fields:
        parts.append(fields["error"])
    details = [f"keyspace {fields['keyspace']}"] if fields["keyspace"] else []
    if "page" in fields:
        details.append(f"page {fields['page']}")
    parts.append(", ".join([*details, fields["consistency"]]))
    attempts = []
    for attempt in fields["attempts"]:
        seconds = f" {attempt['seconds']:.3f} s" if "seconds" in attempt else " no answer"
        error = f" {attempt['error']}" if "error" in attempt else ""
        decision = f" ({attempt['decision']})" if "decision" in attempt else ""
        attempts.append(f"{attempt['host']}{seconds}{error}{decision}")
    parts.append("attempts: " + (", ".join(attempts) or "none"))
    if "values" in fields:
        parts.append(
            "values: " + ", ".join(f"{name}={value}" for name, value in fields["values"].items())
        )
    return " | ".join(parts)
