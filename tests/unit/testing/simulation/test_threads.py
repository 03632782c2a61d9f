"""`SimulatedThreads` runs threads one at a time, in virtual time, also with the blocking API."""

from __future__ import annotations

import re
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cassandra import _threads
from cassandra.cluster import Cluster
from cassandra.errors import ConnectionShutdown, OperationTimedOut
from cassandra.policies import HostStateListener
from cassandra.testing import FakeCluster
from cassandra.testing.fake import rows, silence
from cassandra.testing.simulation import (
    Network,
    SimulatedLoop,
    SimulatedThread,
    SimulatedThreads,
    Stalled,
)

READ = "SELECT v FROM t"
NEVER = "SELECT never"


class SimulatedWorld:
    """A simulated network with three fake nodes, and threads for applications."""

    def __init__(self, seed: int) -> None:
        self.loop = SimulatedLoop(seed)
        self.network = Network(self.loop)
        self.threads = SimulatedThreads(self.loop)
        self.fake = FakeCluster(3, thread=SimulatedThread(self.loop))
        self.fake.start()
        self.fake.prime(READ, rows([("v", "int")], [(7,)]))
        self.fake.prime(NEVER, silence())

    def cluster(self, **settings: Any) -> Cluster:
        """Return a driver's cluster object for the fake nodes, which is not connected yet."""
        return Cluster(self.fake.contact_points, port=self.fake.port, **settings)

    def run(self, *programs: Any) -> list[Any]:
        """Run each program in a separate thread, and return their results.

        Afterwards, no thread and no unhandled error may be left.
        """
        results = self.threads.run(*programs, timeout=600)
        assert self.loop.faults == []
        assert self.threads.alive == []
        # The process is no longer in a simulation.
        assert _threads.simulation() is None
        return results


def run_with_seed(seed: int) -> tuple[float, int, list[Any]]:
    """Run three threads with one session, and return a summary of the run.

    The summary has the virtual time, the number of iterations, and what the threads read.
    """
    world = SimulatedWorld(seed)
    reads: list[Any] = []

    def user(session: Any, name: str) -> None:
        for _ in range(10):
            assert session.execute(READ).one().v == 7
            reads.append((name, world.loop.time()))
            world.threads.sleep(0.01)

    def program() -> str:
        with world.cluster() as cluster:
            session = cluster.connect("ks")
            threads = [world.threads.start(partial(user, session, name)) for name in ("a", "b")]
            user(session, "c")
            for thread in threads:
                thread.join()
        # Wait until the connections are closed.
        world.threads.sleep(1.0)
        return "done"

    assert world.run(program) == ["done"]
    assert not world.network.links
    return world.loop.time(), world.loop.turns, reads


def test_the_same_seed_gives_the_same_run() -> None:
    """A seed always gives the same run. Three threads read ten times each, which is 30 reads."""
    assert run_with_seed(1) == run_with_seed(1)
    assert run_with_seed(1) != run_with_seed(2)
    assert len(run_with_seed(3)[2]) == 30


def test_results_callbacks_and_errors_of_futures() -> None:
    """In virtual time, each future has its result, and its callback is called once.

    A request without a response fails after its timeout.
    """
    world = SimulatedWorld(4)
    outcomes: list[Any] = []

    def program() -> None:
        with world.cluster() as cluster:
            session = cluster.connect()
            futures = [session.execute_async(READ) for _ in range(20)]
            for future in futures:
                future.add_callbacks(outcomes.append, outcomes.append)
            assert [future.result().one().v for future in futures] == [7] * 20
            unanswered_request = session.execute_async(NEVER, timeout=3.0)
            unanswered_request.add_errback(outcomes.append)
            start = world.loop.time()
            with pytest.raises(OperationTimedOut):
                unanswered_request.result()
            assert 3.0 <= world.loop.time() - start < 3.5

    world.run(program)
    # There are 20 results and one error.
    assert len(outcomes) == 21
    assert isinstance(outcomes[-1], OperationTimedOut)


def read_for_ever(session: Any) -> None:
    """Execute READ until an error is raised."""
    while True:
        session.execute(READ)


def test_a_shutdown_ends_the_requests_of_other_threads() -> None:
    """If one thread shuts the cluster down, a thread that waits gets ConnectionShutdown."""
    for seed in range(10):
        world = SimulatedWorld(seed)

        def program(world: SimulatedWorld = world) -> None:
            cluster = world.cluster()
            session = cluster.connect()
            closing_thread = world.threads.start(cluster.shutdown)
            with pytest.raises(ConnectionShutdown):
                read_for_ever(session)
            closing_thread.join()
            assert cluster.is_shutdown

        world.run(program)


def test_locks_are_held_while_threads_wait() -> None:
    """A thread holds the cluster's lock while it connects, and the others wait for the lock.

    The first of five threads connects the cluster. Then all five get their sessions.
    """
    world = SimulatedWorld(5)

    def program() -> None:
        with world.cluster() as cluster:
            threads = [world.threads.start(cluster.connect) for _ in range(5)]
            for thread in threads:
                thread.join()
            assert {thread.result for thread in threads} == set(cluster.sessions)
            assert len(cluster.sessions) == 5

    world.run(program)


def test_nodes_are_waited_for_in_virtual_time() -> None:
    """If a program waits 60 seconds for a node, 60 seconds of virtual time pass."""
    world = SimulatedWorld(6)

    def program() -> None:
        with world.cluster() as cluster:
            future = cluster.connect().execute_async(NEVER, timeout=1.0)
            world.threads.sleep(0.1)
            node = next(node for node in world.fake.nodes if node.queries(NEVER))
            assert node.wait_for(lambda node: node.queries(NEVER), timeout=60.0)
            with pytest.raises(AssertionError, match=r"within 60\.0 s"):
                node.wait_for(lambda node: False, timeout=60.0)
            # While the thread waited for the node, the request's timeout of one second has expired.
            assert future.is_over

    world.run(program)


def test_threads_that_wait_for_ever_are_an_error() -> None:
    """If no thread can continue, the simulation raises Stalled, and `alive` names the threads."""
    loop = SimulatedLoop(7)
    # The network attaches itself to the loop when it is created.
    Network(loop)
    threads = SimulatedThreads(loop)

    with pytest.raises(Stalled):
        # Nobody will ever notify this waiter.
        threads.run(threads.new_waiter().acquire)
    assert threads.alive == ["program 0"]


def test_the_threads_of_a_cluster_that_is_not_shut_down_are_alive() -> None:
    """If a program ends without a shutdown, the simulation ends, and `alive` lists its threads."""
    world = SimulatedWorld(8)

    def program() -> Cluster:
        cluster = world.cluster()
        cluster.connect()
        return cluster

    world.threads.run(program, timeout=600)
    assert world.threads.alive != []


def test_an_error_of_a_program_is_raised() -> None:
    """If one of two programs raises an error, `run` raises it."""
    loop = SimulatedLoop(9)
    # The network attaches itself to the loop.
    Network(loop)

    def program() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError, match="k"):
        SimulatedThreads(loop).run(lambda: 5, program)


def test_an_error_of_a_started_thread_is_raised() -> None:
    """If a thread of `start` fails, `run` raises its error although the programs have returned."""
    loop = SimulatedLoop(9)
    Network(loop)
    threads = SimulatedThreads(loop)

    def fail() -> None:
        raise KeyError("k")

    def program() -> int:
        threads.start(fail).join()
        return 5

    with pytest.raises(KeyError, match="k"):
        threads.run(program)


def test_a_simulation_of_threads_cannot_begin_again() -> None:
    """A second call of `run_beside` is refused: it would wait for threads that never run."""
    loop = SimulatedLoop(9)
    Network(loop)
    threads = SimulatedThreads(loop)

    async def main() -> None:
        assert await threads.run_beside(lambda: 5) == [5]
        await threads.run_beside(lambda: 6)

    with pytest.raises(RuntimeError, match="has ended: pass all programs to one call"):
        loop.run(main())


def test_there_is_one_simulation_at_a_time() -> None:
    """A program in a simulation cannot start another simulation."""
    world = SimulatedWorld(10)
    other_loop = SimulatedLoop(11)
    Network(other_loop)
    other_threads = SimulatedThreads(other_loop)
    with pytest.raises(RuntimeError, match="another simulation"):
        world.run(lambda: other_threads.run(lambda: None))


def test_the_programs_in_the_guide_run() -> None:
    """The two examples in docs/testing.rst that use a SimulatedLoop run without an error."""
    page = Path(__file__).parents[4] / "docs" / "testing.rst"
    blocks = re.findall(
        r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", page.read_text(encoding="utf-8")
    )
    programs = [textwrap.dedent(block) for block in blocks if "SimulatedLoop" in block]
    assert len(programs) == 2
    for program in programs:
        exec(compile(program, "testing.rst", "exec"), {})


def test_listeners_of_hosts_may_sleep_and_execute() -> None:
    """Listeners run in a simulated thread, while other threads execute statements."""
    world = SimulatedWorld(12)
    events: list[Any] = []

    class Listener(HostStateListener):
        session: Any = None

        def on_add(self, host: Any) -> None:
            events.append("add")

        def on_down(self, host: Any) -> None:
            world.threads.sleep(6.0)
            events.append(("down", self.session.execute(READ).one().v))

        def on_up(self, host: Any) -> None:
            events.append("up")

    def program() -> None:
        listener = Listener()
        with world.cluster() as cluster:
            cluster.register_listener(listener)
            session = listener.session = cluster.connect(wait_for_all_pools=True)
            assert events == ["add"] * 3
            world.fake.stop_node(world.fake[2])
            started = world.loop.time()
            while len(events) == 3:
                before = world.loop.time()
                assert session.execute(READ).one().v == 7
                assert world.loop.time() - before < 1.0
                world.threads.sleep(0.1)
            assert world.loop.time() - started > 6.0
            world.fake.start_node(world.fake[2])
            while len(events) == 4:
                world.threads.sleep(0.1)
        world.threads.sleep(1.0)

    world.run(program)
    assert events[3:] == [("down", 7), "up"]
