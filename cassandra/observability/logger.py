"""A log of slow, failed and sampled requests.

.. code-block:: python

   from cassandra.cluster import Cluster
   from cassandra.observability.logger import RequestLogger

   cluster = Cluster(request_observers=[RequestLogger(slow=0.2, sample=0.001)])

A line has the statement's text without values, its keyspace and consistency level, and each attempt
with its host, its time and its error. Handlers that write fields (JSON) find the same as a dict in
``record.request``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from typing import Any

from cassandra.consistency import consistency_value_to_name
from cassandra.observability.texts import error_text, without_values
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies.encryption import ColDesc
from cassandra.query.bound import BoundStatement
from cassandra.query.statement import InterpolatedText

__all__ = ["RequestLogger"]

_MOST_ATTEMPTS = 10
_MOST_STATEMENTS = 3  # of a batch
_ENCRYPTED = "<encrypted>"


class RequestLogger(RequestObserver):
    """Logs requests that took long or failed, and some of the others.

    Each parameter is an attribute of the same name, which may be set at any time.

    :param slow: seconds from which a request is slow, and logged as a WARNING; None to log no slow
        requests.
    :param failed: True to log requests that failed, as an ERROR. Those that their caller gave up
        are not failed.
    :param sample: the share of all requests that is logged as INFO, from 0 to 1.
    :param values: True to log values, shortened. Those of encrypted columns never are. The values
        in a text count too: without this it is logged with ? in their place, and errors without
        the server's own words, which may repeat them.
    :param structured: True makes the message itself JSON.
    :param longest_text: characters of a statement's text.
    :param longest_value: characters of a value.
    :param most_values: values of a statement.
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
    ) -> None:
        self.slow = slow
        self.failed = failed
        self.sample = sample
        self.values = values
        self.structured = structured
        self.longest_text = longest_text
        self.longest_value = longest_value
        self.most_values = most_values
        self.logger: logging.Logger = (
            logging.getLogger(logger) if isinstance(logger, str) else logger
        )

    def __setattr__(self, name: str, value: object) -> None:
        # At once, and not at the first request, which is not to blame.
        if name == "slow" and value is not None:
            _check(name, value, None)
        elif name == "sample":
            _check(name, value, 1.0)
        elif name in ("longest_text", "longest_value", "most_values"):
            _check(name, value, None)
        super().__setattr__(name, value)

    def on_end(self, request: ObservedRequest) -> None:
        """Log the request if it is slow or has failed, or is drawn.

        :param request: the request.
        """
        error = request.error
        latency = request.latency
        assert latency is not None
        if error is not None and self.failed and not isinstance(error, asyncio.CancelledError):
            self._log(logging.ERROR, "failed", request)
        elif self.slow is not None and latency >= self.slow:
            self._log(logging.WARNING, "slow", request)
        elif self.sample and random.random() < self.sample:
            self._log(logging.INFO, "sampled", request)

    def _log(self, level: int, why: str, request: ObservedRequest) -> None:
        if not self.logger.isEnabledFor(level):
            return
        fields = self._fields(why, request)
        text = json.dumps(fields, default=str) if self.structured else _line(fields)
        # As an argument: a text of a program may have a % in it.
        self.logger.log(level, "%s", text, extra={"request": fields})

    # -- what is told ------------------------------------------------------------------------------

    def _fields(self, why: str, request: ObservedRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "reason": why,
            "seconds": round(request.latency or 0.0, 6),
            "statement": self._texts(request),
            "keyspace": request.keyspace,
            "consistency": consistency_value_to_name(request.consistency_level),
            "attempts": [_attempt(one) for one in request.attempts[-_MOST_ATTEMPTS:]],
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
            # Servers repeat parts of statements in their texts.
            fields["error"] = (
                f"{type(request.error).__name__}: {_first_line(request.error)}"
                if self.values
                else error_text(request.error)
            )
        if self.values:
            found = self._values(request.statement)
            if found:
                fields["values"] = found
        return fields

    def _texts(self, request: ObservedRequest) -> str:
        texts = request.texts
        if request.batch_size is None:
            return self._text(*texts[0]) if texts else ""
        shown = "; ".join(self._text(*one) for one in texts[:_MOST_STATEMENTS])
        return f"batch of {request.batch_size}: {shown}" + (
            "; ..." if len(texts) > _MOST_STATEMENTS else ""
        )

    def _text(self, text: str, is_prepared: bool) -> str:
        if is_prepared or self.values:
            shown = " ".join(text.split())
        else:
            template = text.template if isinstance(text, InterpolatedText) else text
            shown = without_values(template)
        return _short(shown, self.longest_text)

    def _values(self, statement: Any) -> dict[str, str]:
        if not isinstance(statement, BoundStatement):
            return {}
        policy = statement.prepared_statement.column_encryption_policy
        columns = statement.prepared_statement.column_metadata[: self.most_values]
        shown: dict[str, str] = {}
        for column, value in zip(columns, statement.raw_values, strict=False):
            place = ColDesc(column.keyspace_name, column.table_name, column.name)
            if policy is not None and policy.contains_column(place):
                shown[column.name] = _ENCRYPTED
            else:
                shown[column.name] = _short(repr(value), self.longest_value)
        return shown


def _check(name: str, value: object, most: float | None) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, but is {value!r}")
    if not value >= 0 or (most is not None and value > most):
        limit = "not be negative" if most is None else f"be from 0 to {most:g}"
        raise ValueError(f"{name} must {limit}, but is {value!r}")


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(longest - 3, 0)] + "..."


def _first_line(error: BaseException) -> str:
    return _short(str(error).split("\n", 1)[0], 500)


def _attempt(attempt: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"host": str(attempt.host.endpoint)}
    if attempt.latency is not None:
        found["seconds"] = round(attempt.latency, 6)
    if attempt.error is not None:
        found["error"] = type(attempt.error).__name__
        if attempt.decision is not None:
            found["decision"] = attempt.decision
    return found


def _line(fields: dict[str, Any]) -> str:
    """Return the fields as a line that people read."""
    parts = [f"{fields['reason']} request, {fields['seconds']:.3f} s: {fields['statement']}"]
    if "error" in fields:
        parts.append(fields["error"])
    where = [f"keyspace {fields['keyspace']}"] if fields["keyspace"] else []
    if "page" in fields:
        where.append(f"page {fields['page']}")
    parts.append(", ".join([*where, fields["consistency"]]))
    attempts = []
    for one in fields["attempts"]:
        seconds = f" {one['seconds']:.3f} s" if "seconds" in one else " no answer"
        failed = f" {one['error']}" if "error" in one else ""
        decided = f" ({one['decision']})" if "decision" in one else ""
        attempts.append(f"{one['host']}{seconds}{failed}{decided}")
    parts.append("attempts: " + (", ".join(attempts) or "none"))
    if "values" in fields:
        parts.append(
            "values: " + ", ".join(f"{name}={value}" for name, value in fields["values"].items())
        )
    return " | ".join(parts)
