"""One simulation: creates the cluster of a plan, runs the plan, and judges the result."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import random
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ControlConnectionQueryFallback, ExecutionProfile
from cassandra.errors import DriverException
from cassandra.policies import (
    AdaptivePolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    PercentileSpeculativeExecutionPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.testing import FakeCluster
from cassandra.testing.fake import Scylla
from cassandra.testing.simulation import (
    Livelocked,
    Network,
    SimulatedLoop,
    SimulatedThread,
    SimulatedThreads,
    Stalled,
)
from cassandra.testing.simulation.loop import SimulatedEnvironment
from cassandra.throttling import (
    AdaptiveThrottler,
    ConcurrencyLimitingThrottler,
    RateLimitingThrottler,
)
from tests.simulation import judge
from tests.simulation.blocking import BlockingCluster
from tests.simulation.certificates import contexts
from tests.simulation.changing_schema import ChangingSchema
from tests.simulation.clients import HANG_SECONDS, Clients
from tests.simulation.elsewhere import Elsewhere
from tests.simulation.faults import Faults
from tests.simulation.gossip import LONGEST as LONGEST_GOSSIP, Gossip
from tests.simulation.mapped_table import TABLE
from tests.simulation.plan import LENGTH, Plan
from tests.simulation.store import KEYSPACES, ScyllaStoreNode, Store, StoreNode
from tests.simulation.typed_table import TypedTable

_CONNECT_TRIES = 20  # how often the first session of a simulation may try to connect
# Virtual seconds after which a simulation counts as hanging. Other simulations need at most half of
# this time.
_LONGEST = 3_600.0


@dataclass
class Outcome:
    """The outcome of a simulation: the rules that were violated, and its log.

    `digest` is a hash of the log. `seconds` is the virtual time that passed, and `turns` the number
    of iterations of the simulated loop.
    """

    seed: int
    violations: list[str] = field(default_factory=list)
    digest: str = ""
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    turns: int = 0
    operations: int = 0


class _Loop(SimulatedLoop):
    """A simulated loop that can limit the streams of connections.

    Each connection then has at most `stream_limit` requests in flight. None sets no limit.
    """

    stream_limit: int | None = None

    def share(self, parent: SimulatedLoop) -> None:
        super().share(parent)
        assert isinstance(parent, _Loop)
        self.stream_limit = parent.stream_limit

    def cassandra_environment(self) -> SimulatedEnvironment:
        """Return the environment of the driver, whose `connect` limits streams if needed."""
        environment = super().cassandra_environment()
        limit = self.stream_limit
        if limit is None:
            return environment
        connect = environment.connect

        async def connect_limited(
            make_connection: Callable[[], Any], *arguments: Any, **options: Any
        ) -> None:
            """Connect as usual, but limit the streams of the new connection."""

            def make_limited() -> Any:
                connection = make_connection()
                # The control connection has no limit, because it sends more requests at once than
                # the limit allows.
                if not connection.is_control_connection:
                    connection.set_stream_limit(limit)
                return connection

            await connect(make_limited, *arguments, **options)

        vars(environment)["connect"] = connect_limited
        return environment


class _Errors(logging.Handler):
    """A log handler that records a violation for each message of level ERROR from the driver."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(logging.ERROR)
        self._simulation = simulation

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._simulation.report_violation(f"logged at ERROR: {record.getMessage()[:300]}", error)


class Simulation:
    """The simulated cluster of a plan, with its clients and faults."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.loop = _Loop(plan.seed)
        self.loop.stream_limit = plan.settings["streams"]
        settings = plan.settings
        self.network = Network(
            self.loop,
            latency=settings["latency"],
            fragments=settings["fragments"],
            slowest=min(settings["latency"] * 100, 0.4),
        )
        self.outcome = Outcome(plan.seed)
        self.threads = SimulatedThreads(self.loop) if settings.get("blocking") else None
        self.stalled = 0.0
        """How long the loops were blocked by `Faults.do_stall` so far, in virtual seconds."""
        self.stalled_until = 0.0
        """The virtual time until which the loops are blocked."""
        self.store = Store(self.loop.time, self.log)
        if any(event.kind == "create_again" for event in plan.faults):
            names_differ = random.Random(f"{plan.seed}/markers").random() < 0.3
            markers = ("key", "value") if names_differ else ("k", "v")
            self.store.typed = TypedTable(markers)
        if settings.get("schema"):
            self.store.changing = ChangingSchema(self.loop, plan.seed)
        if settings.get("gossip"):
            self.store.gossip = Gossip(self.loop, plan.seed)
        if settings.get("jitter"):
            self.store.jitter = random.Random(f"{plan.seed}/store")
        self._tls = contexts() if settings.get("tls") else None
        self.clock_steps: list[tuple[int, int]] = []
        """Each change of the machine's clock: the logical time, and the clock's new time."""
        self.fake = self._make_nodes()
        self.elsewhere: Elsewhere | None = None
        """The second cluster; None if the plan has none."""
        if settings.get("elsewhere") and self.store.typed is not None:
            self.elsewhere = Elsewhere(
                self,
                self.store.typed.markers,
                max_version=settings["server_version"],
                ssl_context=self._tls[1] if self._tls is not None else None,
            )
        self.clients = Clients(self)
        self.faults = Faults(self)

    # -- notes -------------------------------------------------------------------------------------

    def log(self, text: str) -> None:
        """Add a line with the virtual time to the log.

        Two simulations of the same seed must have the same log.
        """
        self.outcome.lines.append(f"{self.loop.time():.6f} {text}")

    def report_violation(self, what: str, error: BaseException | None = None) -> None:
        """Record that a rule was violated.

        :param what: describes the violation.
        :param error: the exception that shows the violation. The report then has the file and line
            that raised it.
        """
        if error is not None:
            last_frame = traceback.extract_tb(error.__traceback__)[-1:]
            what = (
                f"{what} ({', '.join(f'{frame.filename}:{frame.lineno}' for frame in last_frame)})"
            )
        self.outcome.violations.append(what)
        self.log(f"VIOLATION {what}")

    def note_clock(self) -> None:
        """Record the new time of the machine's clock, which a fault has just set."""
        now = self.loop.wall_time_ns() // 1000
        self.clock_steps.append((self.clients.next_logical_time(), now))
        self.log(f"the clock says {now}")

    # -- the cluster -------------------------------------------------------------------------------

    def _make_nodes(self) -> FakeCluster:
        """Start the fake nodes of the plan."""
        settings = self.plan.settings
        thread = SimulatedThread(self.loop)
        scylla = Scylla(settings["scylla"], seed=self.plan.seed) if settings["scylla"] else None
        node_class: Callable[..., Any] = StoreNode if scylla is None else ScyllaStoreNode
        fake = FakeCluster(
            settings["nodes"],
            scylla=scylla,
            thread=thread,
            node_class=node_class,
            store=self.store,
            max_version=settings["server_version"],
            ssl_context=self._tls[1] if self._tls is not None else None,
            graceful_disconnect=settings.get("graceful", False),
        )
        fake.start()
        # Simulated ScyllaDB nodes have to know the tables, because the tables have tablets.
        if scylla is not None:
            for keyspace in KEYSPACES:
                scylla.keyspace(keyspace, replication_factor=2, tablets=settings["tablets"])
                tablets = 4 if settings["tablets"] else None
                columns = {"k": "int", "op": "int"}
                scylla.table(keyspace, "w", columns, tablets=tablets)
                scylla.table(keyspace, TABLE, {**columns, "v": "int"}, tablets=tablets)
        for node in fake.nodes:
            node.keyspaces = {*KEYSPACES, "big"}
        return fake

    def _profile(self) -> ExecutionProfile:
        """Return the execution profile with the plan's policies."""
        settings = self.plan.settings
        child_policy = DCAwareRoundRobinPolicy("datacenter1")
        balancing_factories: dict[str, Callable[[], Any]] = {
            "round_robin": RoundRobinPolicy,
            "dc_aware": lambda: child_policy,
            "token_aware": lambda: TokenAwarePolicy(child_policy),
            "adaptive": lambda: AdaptivePolicy(child_policy),
        }
        retry_factories: dict[str, Callable[[], Any]] = {
            "default": RetryPolicy,
            "fallthrough": FallthroughRetryPolicy,
            "backoff": lambda: ExponentialBackoffRetryPolicy(3, 0.05, 1.0),
            "downgrading": DowngradingConsistencyRetryPolicy,
        }
        # `speculation` is (delay in seconds, attempts), ("percentile", percentile), or None.
        speculation = settings["speculation"]
        speculation_policy: Any = None
        if speculation and speculation[0] == "percentile":
            speculation_policy = PercentileSpeculativeExecutionPolicy(speculation[1], 2)
        elif speculation:
            speculation_policy = ConstantSpeculativeExecutionPolicy(*speculation)
        return ExecutionProfile(
            load_balancing_policy=balancing_factories[settings["balancing"]](),
            retry_policy=retry_factories[settings["retry"]](),
            request_timeout=settings["request_timeout"],
            speculative_execution_policy=speculation_policy,
        )

    def _throttler(self) -> Any:
        """Return a new throttler for the plan's setting; None if the plan has no throttler."""
        longest_queue = 1000  # requests
        match self.plan.settings["throttler"]:
            case "concurrency":
                return ConcurrencyLimitingThrottler(5, longest_queue)
            case "rate":
                return RateLimitingThrottler(40, longest_queue)
            case "slow_rate":
                return RateLimitingThrottler(3, longest_queue)
            case "adaptive":
                return AdaptiveThrottler(10, 2, 100, longest_queue)
        return None

    def make_cluster(
        self, throttler: Any = None, contact_points: Sequence[str] = ()
    ) -> aio.Cluster | BlockingCluster:
        """Return a new cluster object of the driver with the settings of the plan.

        :param throttler: the throttler of another cluster. None creates a new throttler.
        :param contact_points: the addresses of nodes; empty for nodes of the plan's cluster.
        """
        settings = self.plan.settings
        interval, timeout = settings["heartbeat"]
        window = settings["windows"]
        options: dict[str, Any] = {}
        if settings["protocol"] is not None:
            options["protocol_version"] = min(settings["protocol"], settings["server_version"])
        # Plans with protocol version 3 test the default number of connections.
        if options.get("protocol_version") != 3:
            options["connections_per_host"] = settings["connections"]
        if self._tls is not None:
            client_context, _ = self._tls
            options["ssl_context"] = client_context
        arguments: dict[str, Any] = dict(
            # Pass only three contact points, so that the driver has to discover the other nodes.
            contact_points=contact_points or self.fake.contact_points[:3],
            port=self.fake.port,
            execution_profiles={EXEC_PROFILE_DEFAULT: self._profile()},
            compression="lz4" if settings["compression"] else False,
            reconnection_policy=ExponentialReconnectionPolicy(*settings["reconnection"]),
            connect_timeout=settings["connect_timeout"],
            control_connection_timeout=settings["connect_timeout"],
            idle_heartbeat_interval=interval,
            idle_heartbeat_timeout=timeout,
            schema_event_refresh_window=window,
            topology_event_refresh_window=window,
            status_event_refresh_window=window,
            max_schema_agreement_wait=2.0,
            max_waiting_requests=settings["waiting"],
            prepare_on_all_hosts=settings["prepare_on_all"],
            reprepare_on_up=settings["reprepare_on_up"],
            request_throttler=throttler if throttler is not None else self._throttler(),
            metrics_enabled=settings["metrics"],
            monitor_reporting_enabled=False,
            # Plans of earlier versions lack this setting.
            allow_control_connection_query_fallback=(
                ControlConnectionQueryFallback.Fallback
                if settings.get("fallback")
                else ControlConnectionQueryFallback.Disabled
            ),
            **options,
        )
        if self.threads is None:
            return aio.Cluster(**arguments)
        # A throttler limits the requests of a single event loop, so the driver refuses a throttler
        # together with several loops.
        if arguments["request_throttler"] is None:
            arguments["loops"] = settings.get("loops", 1)
        return BlockingCluster(self, arguments)

    @property
    def longest_delay(self) -> float:
        """Seconds within which the driver must use every host again after the last fault."""
        settings = self.plan.settings
        # The sum of the longest pause between attempts to connect, two attempts, two heartbeats
        # without a response, and the window in which events are collected, plus a margin. With late
        # gossip, also the last event or row, and the delay until the driver reads the rows again.
        gossip = 3 * LONGEST_GOSSIP if settings.get("gossip") else 0.0
        # A reading of the schema that has failed several times is repeated after many seconds.
        schema = 30.0 if settings.get("schema") else 0.0
        return float(
            gossip
            + schema
            + settings["reconnection"][1] * 1.2
            + 2 * settings["connect_timeout"]
            + 2 * sum(settings["heartbeat"])
            + settings["windows"]
            + 5.0
        )

    # -- the simulation ----------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Run the simulation, and return its outcome."""
        handler = _Errors(self)
        logger = logging.getLogger("cassandra")
        propagates, level = logger.propagate, logger.level
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        # Disable the garbage collector during the simulation, because the seed alone does not
        # decide when finalizers run.
        gc.disable()
        try:
            self.loop.run(self._run_bounded())
        except (Stalled, Livelocked) as error:
            self.report_violation(f"the loop did not end: {error}")
        except asyncio.CancelledError:
            self.report_violation(f"the simulation did not end in {_LONGEST} virtual seconds")
        except Exception as error:
            self.report_violation(f"the simulation failed: {error!r}", error)
        finally:
            gc.enable()
            self.clients.mapped.close()
            logger.removeHandler(handler)
            logger.propagate = propagates
            logger.setLevel(level)
        outcome = self.outcome
        outcome.digest = hashlib.sha256("\n".join(outcome.lines).encode()).hexdigest()[:16]
        outcome.turns = self.loop.turns
        outcome.operations = len(self.clients.operations)
        return outcome

    async def _run_bounded(self) -> None:
        """Run the plan; cancel it if it hangs."""
        # `asyncio.wait_for` may run the simulation in another task, which `check_leftovers` would
        # report. So use a timer as the limit.
        task = asyncio.current_task()
        assert task is not None
        timer = self.loop.call_later(_LONGEST, self._give_up, task)
        try:
            if self.threads is None:
                await self._run_plan()
            else:
                async with self.threads:
                    await self._run_plan()
        finally:
            timer.cancel()

    @staticmethod
    def _give_up(task: asyncio.Task[None]) -> None:
        task.cancel()

    async def _run_plan(self) -> None:
        """Connect, run all events at their times, end all faults, and check the final rules."""
        plan, clients = self.plan, self.clients
        cluster = self.make_cluster()
        clients.clusters.append(cluster)
        if self.store.changing is not None:
            self.store.changing.begin()
        for number in range(plan.settings["sessions"]):
            await self._connect(cluster, KEYSPACES[number])
        if self.elsewhere is not None:
            await self.elsewhere.connect()
        if self.store.gossip is not None:
            self.store.gossip.begin()
        # Start each step and each fault at its time.
        began = self.loop.time()
        events = sorted(
            [(event, clients.start) for event in plan.steps]
            + [(event, self.faults.start) for event in plan.faults],
            key=lambda pair: pair[0].start,
        )
        for event, start in events:
            await asyncio.sleep(max(began + event.start - self.loop.time(), 0.0))
            start(event)
            judge.check_pools(self)
            judge.check_retries(self)
        await asyncio.sleep(max(began + LENGTH - self.loop.time(), 0.0))
        self.log("all faults end")
        self.faults.heal()
        await asyncio.sleep(0)
        # once more, because the cancelled tasks of the faults may have changed nodes
        self.faults.heal()
        if plan.settings["abrupt"]:
            # Shut the clusters down while requests are in flight. The requests must then end soon.
            await asyncio.sleep(self.loop.random.random() * 0.2)
            await self._end(is_abrupt=True)
            return
        # Let the requests end and the driver recover. Then check that the driver uses every host
        # again.
        if clients.tasks:
            await asyncio.wait(clients.tasks)
        await asyncio.sleep(self.longest_delay)
        await judge.check_hosts(self)
        await judge.check_types(self)
        judge.check_schema(self)
        judge.check_workers(self)
        judge.check_deadlines(self)
        await self._end(is_abrupt=False)

    async def _connect(self, cluster: Any, keyspace: str) -> None:
        """Open the first session, with several attempts, because a slow network may need them."""
        for tries_left in range(_CONNECT_TRIES, 0, -1):
            try:
                await asyncio.wait_for(self.clients.connect(cluster, keyspace), HANG_SECONDS)
                return
            except asyncio.TimeoutError:
                self.report_violation("the first connect never ends")
                return
            except DriverException:
                if tries_left == 1:
                    raise

    async def _end(self, *, is_abrupt: bool) -> None:
        """Shut down the clusters, and check the rules that hold afterwards.

        :param is_abrupt: True if steps may still run; these steps must end with their cluster.
        """
        for cluster in self.clients.clusters:
            await cluster.shutdown()
        if self.elsewhere is not None:
            await self.elsewhere.shutdown()
        judge.check_timers(self)
        # Give everything that the shutdown has stopped one second of virtual time to end.
        await asyncio.sleep(1.0)
        open_steps = [task for task in self.clients.tasks if not task.done()]
        if is_abrupt and open_steps:
            _, pending = await asyncio.wait(open_steps, timeout=10.0)
            if pending:
                self.report_violation(f"{len(pending)} steps did not end with their cluster")
        judge.check_operations(self)
        judge.check_timestamps(self)
        judge.check_drains(self)
        await judge.check_leftovers(self)
        self.fake.stop()
        for node in self.faults.lingering:
            node.stop()
        if self.elsewhere is not None:
            self.elsewhere.node.stop()


def run_plan(plan: Plan) -> Outcome:
    """Run a plan, and return the outcome of its simulation."""
    # Free what is left of earlier simulations: the driver knows prepared statements as long as they
    # exist. Modules need not be searched each time.
    if not gc.get_freeze_count():
        gc.freeze()
    gc.collect()
    return Simulation(plan).run()
