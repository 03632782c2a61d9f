"""Restarts three nodes one after the other under load, with real sockets: no request may fail.

python -m tests.stress.rolling_restart [--rate 20000] [--rounds 2] [--hard]

The fake nodes run in another process. A node announces that it will stop (GRACEFUL_DISCONNECT),
waits for the requests in flight, stops, and starts again. The statement is not idempotent, so the
driver may not send a request twice. With ``--hard``, nodes stop without an announcement, to show
how many requests would fail then. The program exits with 1 if a request failed, or if the nodes
executed more or fewer requests than were sent.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import subprocess
import sys
import time
from typing import Any

from cassandra import aio
from cassandra.policies import ExponentialReconnectionPolicy
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode

INSERT = "INSERT INTO t (k) VALUES (?)"
VOID = b"\0\0\0\1"  # the body of a RESULT of the kind Void
# Requests are sent in groups at this interval, in seconds.
TICK = 0.005
# A stopping node waits this many seconds for its clients to close their connections.
GRACE = 20.0


class QuickNode(FakeNode):
    """A node that responds to every EXECUTE with a void result, without parsing the request."""

    executed = 0

    def on_request(
        self, connection: Any, version: int, flags: int, stream: int, opcode: int, body: bytes
    ) -> None:
        """Respond to EXECUTE with the void result, and to all other requests as `FakeNode` does."""
        # A restarted node has no prepared statements, so it must first respond that the statement
        # is unprepared.
        if opcode == Opcode.EXECUTE and self._prepared:
            QuickNode.executed += 1
            connection.send(stream, Opcode.RESULT, 0, VOID)
            return
        super().on_request(connection, version, flags, stream, opcode, body)


def serve(hard: bool) -> None:
    """Run the nodes in this process until standard input is closed.

    First, the function prints their port and addresses. Each line of standard input contains a
    command (stop, start or count) and the index of a node. After each command, the function prints
    the number of requests that all nodes have executed.

    :param hard: True if nodes stop without an announcement.
    """
    with FakeCluster(3, node_class=QuickNode, graceful_disconnect=not hard) as nodes:
        print(nodes.port, *nodes.contact_points, flush=True)
        for line in sys.stdin:
            command, index = line.split()
            node = nodes[int(index)]
            if command == "stop":
                if not hard:
                    node.drain(GRACE)
                    node.wait_for(lambda node: not node.connections, GRACE + 5.0)
                nodes.stop_node(node)
            elif command == "start":
                nodes.start_node(node)
            print(QuickNode.executed, flush=True)


class Load:
    """Sends requests at a steady rate, without waiting for responses."""

    def __init__(self, session: aio.Session, rate: int) -> None:
        self.session = session
        self.rate = rate
        self.sent_count = 0
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.slowest = 0.0
        self.is_over = False

    async def run(self, prepared: Any) -> None:
        """Send requests until `is_over` is set, and wait for the last responses."""
        start_time = time.monotonic()
        pending: set[asyncio.Future[Any]] = set()
        while not self.is_over:
            due_count = int((time.monotonic() - start_time) * self.rate)
            for _ in range(due_count - self.sent_count):
                self.sent_count += 1
                future = asyncio.ensure_future(self.session.execute(prepared, (self.sent_count,)))
                pending.add(future)
                future.add_done_callback(self.outcome_counter(time.monotonic(), pending))
            await asyncio.sleep(TICK)
        self.seconds = time.monotonic() - start_time
        while pending:
            await asyncio.wait(pending)

    def outcome_counter(self, start_time: float, pending: set[asyncio.Future[Any]]) -> Any:
        """Return a done callback that counts the outcome of a request.

        :param start_time: the time of `time.monotonic` at which the request was sent.
        :param pending: the futures without an outcome, from which the callback removes the request.
        """

        def count_outcome(future: asyncio.Future[Any]) -> None:
            pending.discard(future)
            error = future.exception()
            self.outcomes["ok" if error is None else type(error).__name__] += 1
            self.slowest = max(self.slowest, time.monotonic() - start_time)

        return count_outcome


async def drive(nodes: subprocess.Popen[str], options: argparse.Namespace) -> int:
    """Restart the nodes one after the other under load, and return the exit status.

    :param nodes: the process that runs the nodes.
    :param options: the rate in requests per second, and the number of restarts of each node.
    """
    assert nodes.stdin is not None
    assert nodes.stdout is not None
    port, *addresses = nodes.stdout.readline().split()

    async def send_command(command: str) -> int:
        """Send a command to the nodes' process, and return how many requests they have executed."""
        assert nodes.stdin is not None
        assert nodes.stdout is not None
        nodes.stdin.write(command + "\n")
        nodes.stdin.flush()
        return int(await asyncio.to_thread(nodes.stdout.readline))

    async with aio.Cluster(
        addresses,
        port=int(port),
        reconnection_policy=ExponentialReconnectionPolicy(0.5, 5.0),
        status_event_refresh_window=0.5,
    ) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        prepared = await session.prepare(INSERT)
        load = Load(session, options.rate)
        task = asyncio.ensure_future(load.run(prepared))
        for number in range(3 * options.rounds):
            node_index = number % 3
            await asyncio.sleep(1.0)
            host = cluster.metadata.get_host(addresses[node_index], int(port))
            await send_command(f"stop {node_index}")
            await asyncio.sleep(1.0)
            await send_command(f"start {node_index}")
            while not host or not host.is_up:  # noqa: ASYNC110 (no event to wait for here)
                await asyncio.sleep(0.05)
        load.is_over = True
        await task
        # The index of the node has no effect on this command.
        executed = await send_command("count 0")
    print(
        f"{load.sent_count:,} requests in {load.seconds:.1f} s "
        f"({load.sent_count / load.seconds:,.0f}/s), "
        f"{3 * options.rounds} restarts: {dict(load.outcomes)}, the nodes executed {executed:,}; "
        f"the slowest took {load.slowest * 1000:.0f} ms"
    )
    # Each request must have succeeded, and must have been executed once.
    all_succeeded = load.outcomes["ok"] == load.sent_count
    return 0 if all_succeeded and executed == load.sent_count else 1


def main() -> int:
    """Start the nodes' process, run the load, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=20_000, help="requests a second")
    parser.add_argument("--rounds", type=int, default=2, help="restarts of each node")
    parser.add_argument("--hard", action="store_true", help="nodes stop without an announcement")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.hard)
        return 0
    command = [sys.executable, "-m", "tests.stress.rolling_restart", "--serve"]
    if options.hard:
        command.append("--hard")
    nodes = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        return asyncio.run(drive(nodes, options))
    finally:
        assert nodes.stdin is not None
        nodes.stdin.close()
        nodes.wait(30.0)


if __name__ == "__main__":
    sys.exit(main())
