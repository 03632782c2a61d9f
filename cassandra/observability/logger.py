"""An observer that logs slow and failed requests, and a sample of the other requests.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.observability.logger import RequestLogger

   cluster = Cluster(request_observers=[RequestLogger(slow=0.2, sample=0.001)])

A line has the CQL of the statement without values, its keyspace and consistency level, and each
attempt with its host, duration and error. Log handlers that write structured fields (JSON) find the
same data as a dict in ``record.request``.

In an outage, thousands of requests may fail, or be slow, in the same way each second. The first of
such requests is logged at once, and the following ones are only counted. At the end of each
`repeat_interval`, one line reports their number, and shows the slowest or the first failed request.
`Cluster.shutdown` logs the requests that were counted until then.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import warnings
from typing import Any, NamedTuple

from cassandra._clocks import monotonic
from cassandra._forks import renewed
from cassandra._habits import stack_level, warn_of_misspelt_setting
from cassandra._threads import RLock
from cassandra._unknown_options import advise_options
from cassandra.consistency import consistency_value_to_name
from cassandra.observability.texts import code_of, error_text, is_invalid
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies.encryption import ColDesc
from cassandra.query.bound import BoundStatement
from cassandra.query.statement import InterpolatedText
from cassandra.util.secret_texts import without_secrets, without_values

__all__ = ["RequestLogger"]

# If `slow` is this long or longer, it was probably meant in milliseconds: few requests take so
# long.
_LONG_TIME = 60.0  # seconds
_MAX_ATTEMPTS = 10  # maximum number of attempts in a line; the last attempts are shown
_MAX_STATEMENTS = 3  # maximum number of statements of a batch in a line
_MAX_ERROR_LENGTH = 500  # maximum number of characters of an error message
_ENCRYPTED = "<encrypted>"  # shown in place of a value of an encrypted column
# The parameters of `RequestLogger`. Each is also an attribute that may be set at any time.
_PARAMETERS = (
    "slow", "failed", "sample", "values", "structured", "longest_text", "longest_value",
    "most_values", "logger", "repeat_interval",
)  # fmt: skip
_MAX_HOSTS = 5  # maximum number of hosts in a line about several requests
_MAX_REPEATED = 1000  # maximum number of different reasons that are counted at the same time


class _Reason(NamedTuple):
    """Why requests are logged, and how lines about several requests are worded.

    :param name: "failed", "invalid", "slow" or "sampled".
    :param level: the level of the log lines.
    :param shown: which of the counted requests a line shows: "first" or "slowest".
    :param like: a phrase that says what the counted requests have in common, such as "were slow".
    """

    name: str
    level: int
    shown: str = ""
    like: str = ""


# The reasons to log a request. A request is logged for one of them at most.
_FAILED = _Reason("failed", logging.ERROR, "first", "failed like this")
_INVALID = _Reason("invalid", logging.WARNING, "first", "were invalid like this")
_SLOW = _Reason("slow", logging.WARNING, "slowest", "were slow")
_SAMPLED = _Reason("sampled", logging.INFO)


class _Repeated:
    """Counts the requests of one interval that are similar to a request that was logged.

    `fields` is the content of the next line, and `latency` the latency of the request that the line
    shows. We do not keep the request itself, because it refers to its values, its session and a
    page of rows, which would stay in memory. `hosts` has the number of requests by the host of
    their last attempt.

    :param reason: why the requests are logged.
    :param until: the end of the interval, by `time.monotonic`.
    """

    __slots__ = ("count", "fields", "hosts", "latency", "reason", "until")

    def __init__(self, reason: _Reason, until: float) -> None:
        self.reason = reason
        self.until = until
        self.count = 0
        self.latency = 0.0
        self.fields: dict[str, Any] | None = None
        self.hosts: dict[str, int] = {}

    def shows(self, latency: float) -> bool:
        """Return True if the next line has to show a request with this latency.

        A line shows the slowest of slow requests, but the first of failed requests. Later failures
        are similar, and collecting the fields of each failure would take time that the application
        needs in an outage.
        """
        return self.fields is None or (self.reason is _SLOW and latency > self.latency)

    def add(self, latency: float, host: str | None, fields: dict[str, Any] | None) -> None:
        """Count a request.

        :param latency: the latency of the request, in seconds.
        :param host: the host of the request's last attempt; None if there was no attempt.
        :param fields: the content of the request's line. None is allowed only if `shows` returns
            False.
        """
        self.count += 1
        if host is not None:
            self.hosts[host] = self.hosts.get(host, 0) + 1
        if self.shows(latency):
            self.latency, self.fields = latency, fields


class RequestLogger(RequestObserver):
    """Logs slow and failed requests, and a sample of the other requests.

    Failed requests are logged as an ERROR. If the request itself was invalid (wrong CQL or values,
    a missing table or permission), the line is a WARNING and begins with "invalid request".

    Each parameter is an attribute with the same name, which you may set at any time.

    :param slow: a request that takes at least this many seconds is slow, and is logged as a
        WARNING. None logs no slow requests, and 0 logs each request separately.
    :param failed: True to log failed and invalid requests. Requests that the caller has cancelled
        do not count as failed.
    :param repeat_interval: in each interval of this length, in seconds, similar requests are
        counted, and logged as one line. Requests are similar if they have the same CQL (without
        values), and either fail with the same error or are slow. 0 logs each request separately.
    :param sample: the share of all requests to log as INFO, from 0 to 1.
    :param values: True to log values, shortened. Values of encrypted columns are never logged. If
        False, literals in the CQL are replaced by ?, and server error messages are left out because
        they may repeat values.
    :param structured: True to write the message itself as JSON.
    :param longest_text: the maximum number of characters of a statement's CQL.
    :param longest_value: the maximum number of characters of a value.
    :param most_values: the maximum number of values that are logged for a statement.
    :param logger: the logger, or its name.
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
        self._renew_locks()
        renewed(self)
        self.slow = slow
        self.failed = failed
        self.sample = sample
        self.values = values
        self.structured = structured
        self.longest_text = longest_text
        self.longest_value = longest_value
        self.most_values = most_values
        self.repeat_interval = repeat_interval
        self.logger: logging.Logger = logger  # type: ignore[assignment]  # see `__setattr__`

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter, after checking its value."""
        # Check the value now: otherwise a wrong value would raise its error only when the first
        # request ends.
        if name == "slow" and value is not None:
            _check_number(name, value, maximum=None)
            _warn_of_long_time(value)  # type: ignore[arg-type]  # it is a number
        elif name == "sample":
            _check_number(name, value, maximum=1.0)
        elif name in ("longest_text", "longest_value", "most_values", "repeat_interval"):
            _check_number(name, value, maximum=None)
        elif name == "logger" and isinstance(value, str):
            value = logging.getLogger(value)
        elif name not in _PARAMETERS:
            warn_of_misspelt_setting(self, name, _PARAMETERS)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters for a copy.

        Counted requests stay with the original, which logs them.
        """
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("_repeated", "_due", "_lock")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the parameters of a copy, which has no counted requests."""
        self._renew_locks()
        renewed(self)
        vars(self).update(state)

    def _renew_locks(self) -> None:
        """Reset the counted requests and the lock, in a new object, a copy or a forked child.

        The original or the parent process logs the requests that it has counted. In a forked child,
        the thread that held the old lock does not exist.
        """
        self._repeated: dict[tuple[Any, ...], _Repeated] = {}
        # If no timer could be set for the end of an interval, `on_end` has to log the counted
        # requests after that time. `_due` is the earliest such time, by `monotonic`; infinity if
        # there is none.
        self._due = math.inf
        # This lock protects `_due` and `_repeated` with its groups: several event loops may count,
        # and any thread may call `flush`. Only slow and failed requests acquire it. It is
        # reentrant, because a signal handler or finalizer may interrupt a thread that holds it, and
        # may call `flush`. Lines are written without the lock, because writing may take long, or
        # run code of the application.
        self._lock = RLock()

    def on_end(self, request: ObservedRequest) -> None:
        """Log the request if it is slow, has failed, or is sampled.

        :param request: the request.
        """
        error = request.error
        latency = request.latency
        assert latency is not None
        # Log counted requests whose interval has ended, if `_call_later` could not set a timer for
        # it.
        if self._due is not math.inf and monotonic() >= self._due:
            self._log_due()
        if error is not None and self.failed and not isinstance(error, asyncio.CancelledError):
            self._log_or_count(_INVALID if is_invalid(error) else _FAILED, request)
        elif self.slow is not None and latency >= self.slow:
            self._log_or_count(_SLOW, request)
        elif self.sample and random.random() < self.sample:
            self._log(_SAMPLED, request)

    def on_shutdown(self) -> None:
        """Log the requests that were counted, but not logged yet."""
        self.flush()

    # -- requests that repeat ----------------------------------------------------------------------

    def flush(self) -> None:
        """Log the requests that were counted, without waiting for the end of `repeat_interval`.

        `Cluster.shutdown` calls this method. You may call it from any thread.
        """
        with self._lock:
            groups = self._take_groups()
        for repeated in groups:
            self._log_repeated(repeated)

    def _take_groups(self) -> list[_Repeated]:
        """Remove and return all groups of counted requests. The caller holds the lock."""
        groups, self._repeated = self._repeated, {}
        self._due = math.inf
        return list(groups.values())

    def _log_or_count(self, reason: _Reason, request: ObservedRequest) -> None:
        """Log a request. If a similar request was logged in this interval, only count it."""
        # With slow=0, the application wants a line for each request.
        if not self.repeat_interval or (reason is _SLOW and not self.slow):
            self._log(reason, request)
            return
        if not self.logger.isEnabledFor(reason.level):
            return
        key = _key_of(reason, request)
        latency = request.latency or 0.0
        host = None if request.host is None else str(request.host.endpoint)
        fields = None
        while True:
            with self._lock:
                now = monotonic()
                repeated = self._repeated.get(key)
                # This is the first request with this key in an interval. Log it below, and count
                # later requests.
                if repeated is None or now >= repeated.until:
                    finished = self._begin_group(key, reason, now)
                    break
                if fields is not None or not repeated.shows(latency):
                    repeated.add(latency, host, fields)
                    # This is the first repetition in this interval: schedule the report for the
                    # interval's end.
                    if repeated.count == 1:
                        self._call_later(repeated.until - now, key, repeated)
                    return
            # Collect the fields without holding the lock, because values may have a `__repr__` of
            # the application. Then look up the group again: another thread may have replaced it in
            # the meantime.
            fields = self._collect_fields(reason.name, request)
        for repeated in finished:
            self._log_repeated(repeated)
        self._log(reason, request)

    def _begin_group(self, key: tuple[Any, ...], reason: _Reason, now: float) -> list[_Repeated]:
        """Begin to count the requests with this key, in a new group. The caller holds the lock.

        :returns: the groups that the caller has to report. This is the previous group with this
            key, if any. If there were too many groups, it is all of them.
        """
        repeated = self._repeated.get(key)
        finished = [] if repeated is None else [repeated]
        if repeated is None and len(self._repeated) >= _MAX_REPEATED:
            # There are too many different groups: return all of them for the report, and forget
            # them.
            finished = self._take_groups()
        self._repeated[key] = _Repeated(reason, now + self.repeat_interval)
        return finished

    def _call_later(self, delay: float, key: tuple[Any, ...], group: _Repeated) -> None:
        """Call `_end_interval` for a group after `delay` seconds. The caller holds the lock.

        If there is no running event loop, set `_due` instead. The next request that ends after that
        time calls `_log_due`.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a slow observer is called in a separate thread, without a loop
            self._due = min(self._due, monotonic() + delay)
            return
        loop.call_later(delay, self._end_interval, key, group)

    def _log_due(self) -> None:
        """Log the groups whose interval is over, and set `_due` to the next end of an interval."""
        with self._lock:
            self._due = math.inf
            now = monotonic()
            counted = [(key, group) for key, group in self._repeated.items() if group.count]
            for _, repeated in counted:
                if repeated.until > now:
                    self._due = min(self._due, repeated.until)
        # Log without the lock, because writing a line may take long.
        for key, repeated in counted:
            if repeated.until <= now:
                self._end_interval(key, repeated)

    def _end_interval(self, key: tuple[Any, ...], group: _Repeated) -> None:
        """Log how many requests with this key were counted in the interval that ends now.

        Do nothing if `group` was logged already, by `flush` or by a request that ended after the
        interval. The group that has replaced it has its own timer.
        """
        with self._lock:
            repeated = self._repeated.get(key)
            if repeated is not group or not repeated.count:
                return
            # Begin the next interval, so that there is one line per interval during the whole
            # outage.
            self._begin_group(key, repeated.reason, monotonic())
        self._log_repeated(repeated)

    def _log_repeated(self, repeated: _Repeated) -> None:
        """Log a line about a group to which no thread adds requests any more."""
        fields = repeated.fields
        if fields is None:  # nothing was counted
            return
        fields["repeated"] = repeated.count
        if repeated.hosts:
            by_count = sorted(repeated.hosts.items(), key=lambda item: -item[1])
            fields["hosts"] = dict(by_count[:_MAX_HOSTS])
        self._write(repeated.reason, fields)

    # -- lines -------------------------------------------------------------------------------------

    def _log(self, reason: _Reason, request: ObservedRequest) -> None:
        """Log a line about a single request, unless the logger is disabled for the level."""
        if self.logger.isEnabledFor(reason.level):
            self._write(reason, self._collect_fields(reason.name, request))

    def _write(self, reason: _Reason, fields: dict[str, Any]) -> None:
        """Log one line. Handlers get the fields as ``record.request``."""
        text = json.dumps(fields, default=str) if self.structured else _format_line(fields, reason)
        # Pass the line as an argument and not as the format string, because CQL may contain a %.
        self.logger.log(reason.level, "%s", text, extra={"request": fields})

    # -- content of a line -------------------------------------------------------------------------

    def _collect_fields(self, reason: str, request: ObservedRequest) -> dict[str, Any]:
        """Return the content of a request's line as a dict.

        :param reason: the name of the reason for the line: "failed", "invalid", "slow" or
            "sampled".
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
            # If values must not be logged, use `error_text`. It leaves out the server's message,
            # which may repeat parts of the statement.
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
        """Return the CQL of a request. For a batch, return the CQL of its first statements."""
        texts = request.texts
        if request.batch_size is None:
            return self._shown_cql(*texts[0]) if texts else ""
        statements = "; ".join(self._shown_cql(*statement) for statement in texts[:_MAX_STATEMENTS])
        return f"batch of {request.batch_size}: {statements}" + (
            "; ..." if len(texts) > _MAX_STATEMENTS else ""
        )

    def _shown_cql(self, text: str, is_prepared: bool) -> str:
        """Return the CQL of one statement, shortened.

        If values must not be logged, literals are replaced by ?.
        """
        if is_prepared or self.values:
            summary = " ".join(without_secrets(text).split())
        else:
            template = text.template if isinstance(text, InterpolatedText) else text
            summary = without_values(template)
        return _shorten(summary, self.longest_text)

    def _shown_values(self, statement: Any) -> dict[str, str]:
        """Return the values of a bound statement by column name, as shortened strings."""
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


advise_options(RequestLogger)


def _key_of(reason: _Reason, request: ObservedRequest) -> tuple[Any, ...]:
    """Return the key of the group of requests that are counted together with this request.

    Requests that differ only in their values have the same key.
    """
    text, is_prepared = request.texts[0] if request.texts else ("", False)
    if not is_prepared:
        text = without_values(text.template if isinstance(text, InterpolatedText) else text)
    # Slow requests with the same CQL are counted together, even if some of them have failed.
    error = request.error if reason is not _SLOW else None
    error_key = (type(error), code_of(error)) if error is not None else None
    return reason.name, error_key, request.keyspace, request.batch_size is None, text


def _check_number(name: str, value: object, maximum: float | None) -> None:
    """Raise an error unless `value` is a number from 0 to `maximum`. None means no maximum."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, but is {value!r}")
    if not value >= 0 or (maximum is not None and value > maximum):
        limit = "not be negative" if maximum is None else f"be from 0 to {maximum:g}"
        raise ValueError(f"{name} must {limit}, but is {value!r}")


def _warn_of_long_time(slow: float) -> None:
    """Warn if a time in seconds was probably meant in milliseconds."""
    if _LONG_TIME <= slow < math.inf:
        warnings.warn(
            f"slow={slow} is in seconds, so that hardly any request is slow: write "
            f"slow={slow / 1000:g} for {slow:g} milliseconds",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _shorten(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else text[: max(max_length - 3, 0)] + "..."[:max_length]


def _first_line(error: BaseException) -> str:
    return _shorten(str(error).split("\n", 1)[0], _MAX_ERROR_LENGTH)


def _attempt_fields(attempt: Any) -> dict[str, Any]:
    """Return the fields of one attempt, for the list of attempts in a line."""
    fields: dict[str, Any] = {"host": str(attempt.host.endpoint)}
    if attempt.latency is not None:
        fields["seconds"] = round(attempt.latency, 6)
    if attempt.error is not None:
        fields["error"] = type(attempt.error).__name__
        if attempt.decision is not None:
            fields["decision"] = attempt.decision
    return fields


def _format_line(fields: dict[str, Any], reason: _Reason) -> str:
    """Return the fields as a line for people to read."""
    parts = [f"{fields['reason']} request, {fields['seconds']:.3f} s: {fields['statement']}"]
    if "repeated" in fields:
        count = fields["repeated"]
        if count == 1:
            parts.append("one more since the previous line")
        else:
            parts.append(
                f"the {reason.shown} of {count} that {reason.like} since the previous line"
            )
    # Append the error, keyspace, page and consistency level of the request.
    if "error" in fields:
        parts.append(fields["error"])
    details = [f"keyspace {fields['keyspace']}"] if fields["keyspace"] else []
    if "page" in fields:
        details.append(f"page {fields['page']}")
    parts.append(", ".join([*details, fields["consistency"]]))
    # Describe each attempt: its host, duration and error, and the decision of the retry policy.
    attempts = []
    for attempt in fields["attempts"]:
        seconds = f" {attempt['seconds']:.3f} s" if "seconds" in attempt else " no answer"
        error = f" {attempt['error']}" if "error" in attempt else ""
        decision = f" ({attempt['decision']})" if "decision" in attempt else ""
        attempts.append(f"{attempt['host']}{seconds}{error}{decision}")
    parts.append("attempts: " + (", ".join(attempts) or "none, it was not sent"))
    # Append the optional fields: the hosts of similar requests, and the values of the statement.
    if "hosts" in fields:
        parts.append(
            "hosts: " + ", ".join(f"{host} {count}" for host, count in fields["hosts"].items())
        )
    if "values" in fields:
        parts.append(
            "values: " + ", ".join(f"{name}={value}" for name, value in fields["values"].items())
        )
    return " | ".join(parts)
