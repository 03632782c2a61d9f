"""Primes: rules by which a test sets how a fake node responds to which requests."""

from __future__ import annotations

import difflib
import re
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra.testing.fake.answers import Answer, Answerable, as_answer
from cassandra.testing.fake.primitives import Opcode

if TYPE_CHECKING:
    from cassandra.testing.fake.requests import Request

Match = str | re.Pattern[str] | Opcode | Callable[["Request"], bool]

# The requests that execute CQL. Only these match a prime that is a string or a pattern.
_WITH_TEXT = frozenset({Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH})


def _by_text(text: str) -> Callable[[Request], bool]:
    """Return a function that checks if a request executes this CQL, or a batch that contains it."""

    def matches(request: Request) -> bool:
        """Return True if the request executes the CQL."""
        # A PREPARE has CQL too, but must not match: a prime for CQL answers only executions.
        if request.opcode not in _WITH_TEXT:
            return False
        if not request.statements:
            return request.query == text
        return text in request.queries and _is_prepared(request)

    return matches


def _is_prepared(request: Request) -> bool:
    """Return False if the node does not know a statement of the batch: it refuses such a batch."""
    return all(statement.query is not None for statement in request.statements)


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[Request], bool]:
    return lambda request: (
        request.opcode in _WITH_TEXT
        and any(map(pattern.search, request.queries))
        and _is_prepared(request)
    )


def _by_opcode(opcode: int) -> Callable[[Request], bool]:
    return lambda request: request.opcode == opcode


def matcher(match: Match) -> Callable[[Request], bool]:
    """Return a function that checks if a request matches; `FakeNode.prime` documents `match`."""
    if isinstance(match, str):
        return _by_text(match)
    if isinstance(match, re.Pattern):
        return _by_pattern(match)
    if isinstance(match, Opcode):
        return _by_opcode(match)
    if callable(match):
        return match
    raise _no_match(match)


def _no_match(match: object) -> TypeError:
    """Return the error for an object that cannot match requests."""
    if isinstance(match, Answer):
        return TypeError("the statement comes first: write prime(statement, answer)")
    return TypeError(f"{match!r} is not a text, pattern, Opcode or function of a request")


class Prime:
    """A rule: requests for which `matches` is true get `answer`.

    The attribute `used` counts the requests that this rule has answered.

    :param script: the rules of the node, which `remove` removes this rule from.
    :param times: how many requests the rule answers; None for all.
    :param text: the CQL of the requests that the rule matches, for error messages; None if the rule
        matches by a pattern, an opcode or a function.
    """

    __slots__ = ("_script", "answer", "matches", "text", "times", "used")

    def __init__(
        self,
        script: Script,
        matches: Callable[[Request], bool],
        answer: Answer,
        times: int | None,
        text: str | None = None,
    ) -> None:
        self._script = script
        self.text = text
        self.matches = matches
        self.answer = answer
        self.times = times
        self.used = 0

    @property
    def is_active(self) -> bool:
        """True until the prime is removed or used up."""
        return self in self._script

    def remove(self) -> None:
        """Remove the prime, so that it answers no further requests."""
        self._script.remove(self)


class Script:
    """The primes of a node. If several primes match a request, the latest prime answers."""

    __slots__ = ("_lock", "_primes")

    def __init__(self) -> None:
        # Held while primes are added or removed: a test adds primes in its own thread, and the
        # node's thread removes those that are used up.
        self._lock = threading.Lock()
        # The primes, with the latest one first. Each change creates a new tuple, because the node's
        # thread may be iterating over the old tuple.
        self._primes: tuple[Prime, ...] = ()

    def prime(self, match: Match, answer: Answerable, times: int | None) -> Prime:
        """Add a prime for the next `times` matching requests; None for all matching requests."""
        number: object = times
        if number is not None and not isinstance(number, int):
            raise TypeError(f"times is a number of requests, or None for all, but is {number!r}")
        if number is not None and number < 1:
            raise ValueError(f"times is a number of requests from 1 on, but is {number}")
        text = match if isinstance(match, str) else None
        # Outside of string literals, CQL never contains ".*", so the caller meant a regular
        # expression.
        if text is not None and ".*" in re.sub(r"'[^']*'", "", text):
            warnings.warn(
                f"{text!r} is compared as it is: for a pattern, write re.compile({text!r})",
                RuntimeWarning,
                stacklevel=3,
            )
        prime = Prime(self, matcher(match), as_answer(answer), times, text)
        with self._lock:
            self._primes = (prime, *self._primes)
        return prime

    def __contains__(self, prime: Prime) -> bool:
        return any(other is prime for other in self._primes)

    def remove(self, prime: Prime) -> None:
        """Remove a prime."""
        with self._lock:
            self._primes = tuple(other for other in self._primes if other is not prime)

    def clear(self) -> None:
        """Remove all primes."""
        with self._lock:
            self._primes = ()

    def nearest(self, text: str) -> str | None:
        """Return the most similar primed statement, or None if no primed statement is similar."""
        texts = [prime.text for prime in self._primes if prime.text is not None]
        return next(iter(difflib.get_close_matches(text, texts, 1)), None)

    def matching(self, request: Request) -> Prime | None:
        """Return the latest prime that matches a request, or None if no prime matches."""
        return next((prime for prime in self._primes if prime.matches(request)), None)

    def use(self, prime: Prime) -> Answer:
        """Return the answer of a prime, and count the request."""
        prime.used += 1
        # Remove a used-up prime, so that an older prime for the same CQL applies again.
        if prime.times is not None and prime.used >= prime.times:
            self.remove(prime)
        return prime.answer
