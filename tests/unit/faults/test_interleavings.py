"""Under random faults, each of many requests gets its own response or an error.

No request may get the response to another request.

The environment variable `CASS_DRIVER_INTERLEAVINGS` sets the number of requests for each protocol
version. The default is 50,000.

The nodes respond in random order, late or not at all. They also return errors, and break
connections. Clients time out or cancel their requests.

A seed decides the faults, in the order in which requests arrive. The checks must hold for every
order.
"""

from __future__ import annotations

import asyncio
import os
import random
import struct
from collections import Counter
from typing import Any

import pytest

from cassandra import aio
from cassandra.errors import (
    ConnectionException,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    Unavailable,
)
from cassandra.policies.retry import FallthroughRetryPolicy
from cassandra.testing.fake import Answer, ErrorCode, FakeCluster, Message, Opcode, Request, error
from tests.unit.engine.faults import WAIT, connected

REQUEST_COUNT = int(os.environ.get("CASS_DRIVER_INTERLEAVINGS", "50000"))
CLIENT_COUNT = 200
LATE_EVERY = 97  # the response to each request whose number is a multiple of this comes late
QUERY = "SELECT k FROM t WHERE k = ?"
COLUMNS = [("k", "int")]
# These are parts of a RESULT of kind Rows (native_protocol_v5.spec, section 4.2.5.2) with one row
# of one int. The first part describes the column. The second part has the flag No_metadata instead.
_WITH_METADATA = bytes.fromhex(
    "00000002 00000001 00000001 0002 6b73 0001 74 0001 6b 0009 00000001 00000004"
)
_WITHOUT_METADATA = bytes.fromhex("00000002 00000004 00000001 00000001 00000004")


def echo(request: Request) -> bytes:
    """Return the body of a result with one row, whose value is the value that the request binds."""
    value = request.values[0]
    assert isinstance(value, bytes)
    return (_WITHOUT_METADATA if request.skip_metadata else _WITH_METADATA) + value


class Chaos(Answer):
    """The random behaviour of one node, which is decided by a seed.

    :param break_every: break the connection of every n-th request, where n is this number.
    """

    def __init__(self, seed: int, break_every: int) -> None:
        self._random = random.Random(seed)
        self._echo = Message(Opcode.RESULT, echo)
        self._refusal = error(ErrorCode.UNAVAILABLE, "drawn")
        self._break_every = break_every
        self._waiting: list[Request] = []  # the responses follow soon, in random order
        self._late: list[Request] = []  # the responses follow after the client's short timeout
        self._has_timer = False
        self.counts: Counter[str] = Counter()

    def perform(self, request: Request) -> None:
        """Decide what happens with a request.

        The node sends a response or an error, holds the request for later, or breaks its
        connection.
        """
        draw = self._random.random
        self.counts["requests"] += 1
        number = struct.unpack(">i", request.values[0])[0]  # type: ignore[arg-type]
        if number % LATE_EVERY == 0:
            self._late.append(request)  # For these requests, the client sets a short timeout.
        elif draw() < 0.4:
            self._waiting.append(request)
        elif draw() < 0.02:
            self._refusal.perform(request)
        else:
            self._echo.perform(request)
        # Respond to some of the waiting requests in random order.
        if len(self._waiting) > 30 or (len(self._waiting) > 3 and draw() < 0.2):
            self._answer_some(self._waiting)
        if len(self._late) > 20:
            self.counts["late"] += self._answer_some(self._late)
        if self.counts["requests"] % self._break_every == 0:
            self.counts["broken"] += 1
            request.connection.end(reset=draw() < 0.5)
        if self._waiting and not self._has_timer:
            # Each client waits for its response before it sends another request. If the nodes hold
            # a request of every client, no further request arrives that could release them. So let
            # a timer release them.
            self._has_timer = True
            request.connection.loop.call_later(0.02, self._answer_all)

    def _answer_some(self, requests: list[Request]) -> int:
        """Respond to a random number of these requests, at least one, in random order.

        Return how many responses were sent.
        """
        self._random.shuffle(requests)
        count = self._random.randint(1, len(requests))
        for request in requests[:count]:
            self._echo.perform(request)
        del requests[:count]
        return count

    def _answer_all(self) -> None:
        """Respond to all requests that were held for a short time."""
        self._has_timer = False
        while self._waiting:
            self._answer_some(self._waiting)


class Client:
    """A client that sends one request after the other, and counts how many had each outcome."""

    def __init__(self, session: aio.Session, statement: Any, seed: int) -> None:
        self._session = session
        self._statement = statement
        self._random = random.Random(seed)

    async def run(self, numbers: range, outcomes: Counter[str]) -> None:
        """Execute the statement with each number, and count the outcomes."""
        for number in numbers:
            outcomes[await self._request(number)] += 1

    async def _request(self, number: int) -> str:
        """Execute the statement with one number, and return the name of the outcome."""
        # For these numbers, the nodes respond only after the short timeout.
        is_late = number % LATE_EVERY == 0
        future = self._session.execute(
            self._statement, (number,), timeout=0.02 if is_late else WAIT
        )
        # Cancel about 1 % of the requests in the next iteration of the event loop.
        if self._random.random() < 0.01:
            asyncio.get_running_loop().call_soon(asyncio.ensure_future(future).cancel)
        try:
            result = await future
        except OperationTimedOut:
            return "timed out" if is_late else "timed out too late"
        except (Unavailable, ConnectionException, NoHostAvailable) as error:
            return type(error).__name__
        except asyncio.CancelledError:
            return "cancelled"
        except DriverException as error:
            return f"unexpected {error!r}"
        rows = [tuple(row) for row in result.all()]
        return "own answer" if rows == [(number,)] else f"{number} got {rows}"


ALLOWED_OUTCOMES = {
    "own answer",
    "timed out",
    "cancelled",
    "Unavailable",
    "NoHostAvailable",
    "ConnectionException",
    "ConnectionShutdown",
}


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("count", [20_000, pytest.param(REQUEST_COUNT, marks=pytest.mark.long)])
@pytest.mark.slow
async def test_each_request_gets_its_own_answer_or_an_error(version: int, count: int) -> None:
    """Each of many concurrent requests gets its own row or one of the expected errors."""
    requests_per_client = count // CLIENT_COUNT
    total = requests_per_client * CLIENT_COUNT
    outcomes: Counter[str] = Counter()
    with FakeCluster(2, max_version=version) as nodes:
        chaos = []
        for seed, node in enumerate(nodes.nodes):
            node.prime_prepare(QUERY, COLUMNS, COLUMNS)
            chaos.append(Chaos(seed, break_every=4000))
            node.prime(QUERY, chaos[-1])
        async with connected(
            nodes, {"retry_policy": FallthroughRetryPolicy()}, compression=False
        ) as (_, session):
            statement = await session.prepare(QUERY)
            runs = []
            for index in range(CLIENT_COUNT):
                first = index * requests_per_client
                numbers = range(first, first + requests_per_client)
                runs.append(Client(session, statement, seed=index).run(numbers, outcomes))
            await asyncio.gather(*runs)
            pools = list(session._engine.pools.values())
            for pool in pools:
                for connection in pool.connections:
                    # The only streams in use are the streams of abandoned requests whose responses
                    # have not arrived yet.
                    assert connection.in_flight == connection.orphans
        # Most requests succeed, but some time out, and the nodes did send late responses.
        assert sum(outcomes.values()) == total
        assert set(outcomes) <= ALLOWED_OUTCOMES, outcomes
        assert outcomes["own answer"] > total * 0.7, outcomes
        assert outcomes["timed out"] > 0, outcomes
        assert sum(answers.counts["late"] for answers in chaos) > 0
        # A connection breaks at every 4000th request of a node, so about count / 4000 breaks are
        # expected. Fewer than count / 10,000 breaks would be too few for this test.
        assert sum(answers.counts["broken"] for answers in chaos) > count // 10_000
        assert [node.malformed for node in nodes.nodes] == [[], []]
