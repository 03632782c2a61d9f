"""Settings of clusters, profiles, statements and policies: their defaults, and odd values.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import uuid
from unittest import mock

from cassandra import ConsistencyLevel, ProtocolVersion, WriteType, policies
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.connection import DefaultEndPoint, SniEndPointFactory
from cassandra.metadata import Metadata
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    HostDistance,
    HostFilterPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.pool import Host
from cassandra.query import BatchStatement, BatchType, SimpleStatement, Statement

STATEMENTS = False  # do not compare the requests that the node receives
ONE = uuid.UUID(int=1)
SETTINGS = [
    "allow_beta_protocol_version", "auth_provider", "cloud", "column_encryption_policy",
    "compression", "connect_timeout", "connection_class", "control_connection_timeout",
    "conviction_policy_factory", "cql_version", "endpoint_factory", "executor_threads",
    "idle_heartbeat_interval", "idle_heartbeat_timeout", "load_balancing_policy",
    "max_schema_agreement_wait", "metrics_enabled", "no_compact", "port", "prepare_on_all_hosts",
    "protocol_version", "reconnection_policy", "reprepare_on_up", "schema_event_refresh_window",
    "schema_metadata_enabled", "sockopts", "ssl_context", "ssl_options",
    "status_event_refresh_window", "timestamp_generator", "token_metadata_enabled",
    "topology_event_refresh_window", "address_translator", "default_retry_policy", "contact_points",
]  # fmt: skip
# Values that most settings do not accept, by label.
ODD = {
    "None": None,
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "text": "x",
    "True": True,
    "list": [],
    "class": object,
    "dict": {},
}
# The programs that run several times, each with its cases.
EACH = {"setting": SETTINGS, "wrong_kinds": SETTINGS}


def setting(context, name):
    """Record the default of a setting, and whether it can be passed and set later."""
    cluster = Cluster()
    context.record_call("default", getattr, cluster, name)
    value = getattr(cluster, name, None)
    context.record_call("given", lambda: getattr(Cluster(**{name: value}), name))
    context.record_call("set", setattr, cluster, name, value)


def wrong_kinds(context, name):
    """Pass values of wrong types for a setting."""
    for label, value in ODD.items():
        context.record_call(label, lambda value=value: type(Cluster(**{name: value})))


def used_settings(context):
    """Connect with settings, and record the protocol version and the schema."""
    for label, settings in {
        "timeouts": {"connect_timeout": 10, "control_connection_timeout": 5},
        "no timeouts": {"connect_timeout": None, "control_connection_timeout": None},
        "no heartbeat": {"idle_heartbeat_interval": 0},
        "no schema": {"schema_metadata_enabled": False, "token_metadata_enabled": False},
        "v4": {"protocol_version": 4},
        "v3": {"protocol_version": 3},
        "no agreement": {"max_schema_agreement_wait": 0},
        "sockopts": {"sockopts": [(6, 1, 1)]},
        "no compression": {"compression": False},
        "cql": {"cql_version": "3.4.5"},
        "wrong cql": {"cql_version": "9.9.9"},
        "no timestamps": {"timestamp_generator": lambda: 5},
        "compact": {"no_compact": True},
        "beta": {"allow_beta_protocol_version": True},
        "not ahead": {"prepare_on_all_hosts": False},
    }.items():
        cluster = context.new_cluster(**settings)
        keyspace = context.record_call(label, lambda cluster=cluster: cluster.connect().keyspace)
        context.record(f"{label} version", cluster.protocol_version)
        context.record(f"{label} keyspaces", "system" in cluster.metadata.keyspaces)
        assert keyspace is None  # the sessions are connected to no keyspace


def statements(context):
    """Record the attributes of statements, and which values they accept."""
    for kind in (Statement, SimpleStatement, BatchStatement):
        arguments = ("x",) if kind is SimpleStatement else ()
        statement = kind(*arguments)
        for name in (
            "retry_policy",
            "consistency_level",
            "serial_consistency_level",
            "fetch_size",
            "keyspace",
            "custom_payload",
            "is_idempotent",
            "routing_key",
            "table",
            "query_string",
            "batch_type",
        ):
            context.record_call(f"{kind.__name__} {name}", getattr, statement, name)
            for label, value in {
                "None": None,
                "1": 1,
                "text": "x",
                "list": [b"a", b"b"],
                "bytes": b"a",
                "dict": {"a": b"b"},
            }.items():
                context.record_call(
                    f"{kind.__name__} {name} {label}", setattr, statement, name, value
                )
                context.record_call(f"{kind.__name__} {name} {label} is", getattr, statement, name)
        context.record_call(
            f"{kind.__name__} text", lambda statement=statement: str(kind(*arguments))
        )
    context.record_call("no text", SimpleStatement)
    context.record_call("no str", lambda: SimpleStatement(5).query_string)
    context.record_call("key", lambda: SimpleStatement("x", routing_key=[b"a", b"b"]).routing_key)
    context.record_call("key bytes", lambda: SimpleStatement("x", routing_key=b"ab").routing_key)
    context.record_call("key wrong", lambda: SimpleStatement("x", routing_key=5).routing_key)
    context.record(
        "types",
        [
            (batch_type.name, batch_type.value, str(batch_type))
            for batch_type in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER)
        ],
    )


def profiles(context):
    """Create execution profiles with unusual values."""
    for label, settings in {
        "nothing": {},
        "timeout": {"request_timeout": -1},
        "timeout text": {"request_timeout": "x"},
        "no timeout": {"request_timeout": None},
        "factory": {"row_factory": 5},
        "level": {"consistency_level": "ONE"},
        "serial": {"serial_consistency_level": 1},
        "policy": {"load_balancing_policy": 5},
        "policy class": {"load_balancing_policy": RoundRobinPolicy},
        "retry": {"retry_policy": RetryPolicy},
        "speculative": {"speculative_execution_policy": 5},
        "unknown": {"nosuch": 1},
    }.items():
        context.record_call(label, lambda settings=settings: type(ExecutionProfile(**settings)))
        context.record_call(
            f"cluster {label}",
            lambda settings=settings: type(
                Cluster(execution_profiles={"x": ExecutionProfile(**settings)})
            ),
        )
    context.record_call("not a profile", lambda: Cluster(execution_profiles={"x": 5}))
    context.record_call("list", lambda: Cluster(execution_profiles=[]))


def _hosts(count=4):
    """Return hosts with the addresses 10.0.0.0, 10.0.0.1, and so on."""
    return [
        Host(
            DefaultEndPoint(f"10.0.0.{number}"),
            SimpleConvictionPolicy,
            host_id=uuid.UUID(int=number),
        )
        for number in range(count)
    ]


def balancing(context):
    """Record the query plans of policies while hosts come and go."""
    hosts = _hosts()
    for index, host in enumerate(hosts):
        host.set_location_info(f"dc{index % 2}", "r")
        host.set_up()
    policies = {
        "robin": lambda: RoundRobinPolicy(),
        "dc0": lambda: DCAwareRoundRobinPolicy("dc0"),
        "dc remote": lambda: DCAwareRoundRobinPolicy("dc0", used_hosts_per_remote_dc=1),
        "white": lambda: WhiteListRoundRobinPolicy(["10.0.0.1", "10.0.0.2"]),
        "filter": lambda: HostFilterPolicy(RoundRobinPolicy(), lambda h: h.address != "10.0.0.0"),
        "token": lambda: TokenAwarePolicy(RoundRobinPolicy()),
        "no dc": lambda: DCAwareRoundRobinPolicy(),
        "dc none": lambda: DCAwareRoundRobinPolicy(None),
        "dc empty": lambda: DCAwareRoundRobinPolicy(""),
    }
    for name, make in policies.items():
        policy = context.record_call(name, make)
        if policy is None:
            continue
        cluster = mock.Mock(spec=Cluster, contact_points=["10.0.0.0"], endpoints_resolved=[])
        cluster.metadata = mock.Mock(spec=Metadata)
        cluster.metadata.get_replicas.return_value = [hosts[2]]
        context.record_call(f"{name} populate", policy.populate, cluster, hosts)
        context.record_call(f"{name} distances", lambda p=policy: [p.distance(h) for h in hosts])
        plan = lambda p=policy: sorted(h.address for h in p.make_query_plan())  # noqa: E731
        context.record_call(f"{name} plan", plan)
        context.record_call(
            f"{name} first",
            lambda p=policy: (
                next(iter(p.make_query_plan("ks", Statement(routing_key=b"a", keyspace="ks"))))
                in hosts
            ),
        )
        context.record_call(f"{name} down", policy.on_down, hosts[1])
        context.record_call(f"{name} after down", plan)
        context.record_call(f"{name} up", policy.on_up, hosts[1])
        context.record_call(f"{name} removed", policy.on_remove, hosts[2])
        context.record_call(f"{name} after removed", plan)
        context.record_call(f"{name} added", policy.on_add, hosts[2])
        context.record_call(f"{name} after added", plan)
        context.record_call(f"{name} supported", policy.check_supported)
        context.record_call(
            f"{name} again",
            lambda p=policy: (
                len({tuple(h.address for h in p.make_query_plan()) for _ in range(8)}) > 1
            ),
        )


def retrying(context):
    """Record the decisions of retry policies."""
    for kind in (
        "RetryPolicy",
        "FallthroughRetryPolicy",
        "DowngradingConsistencyRetryPolicy",
        "NeverRetryPolicy",
    ):
        policy = context.record_call(kind, lambda kind=kind: getattr(policies, kind)())
        if policy is None:
            continue
        for number in range(2):
            for got, data in ((0, False), (1, False), (2, False), (2, True)):
                context.record_call(
                    f"{kind} read {number} {got} {data}",
                    policy.on_read_timeout,
                    None,
                    ConsistencyLevel.QUORUM,
                    2,
                    got,
                    data,
                    number,
                )
            for write in range(6):
                for got in (0, 1):
                    context.record_call(
                        f"{kind} write {number} {write} {got}",
                        policy.on_write_timeout,
                        None,
                        ConsistencyLevel.QUORUM,
                        write,
                        2,
                        got,
                        number,
                    )
            for alive in range(4):
                context.record_call(
                    f"{kind} unavailable {number} {alive}",
                    policy.on_unavailable,
                    None,
                    ConsistencyLevel.QUORUM,
                    3,
                    alive,
                    number,
                )
            context.record_call(
                f"{kind} error {number}",
                policy.on_request_error,
                None,
                ConsistencyLevel.ONE,
                ValueError(),
                number,
            )
    context.record(
        "numbers",
        [RetryPolicy.RETRY, RetryPolicy.RETHROW, RetryPolicy.IGNORE, RetryPolicy.RETRY_NEXT_HOST],
    )
    context.record(
        "kinds",
        [WriteType.SIMPLE, WriteType.BATCH, WriteType.name_to_value, WriteType.value_to_name],
    )


def reconnecting(context):
    """Record the schedules of reconnection policies."""
    for name, make in {
        "constant": lambda: ConstantReconnectionPolicy(1.5, 3),
        "endless": lambda: ConstantReconnectionPolicy(2.0, None),
        "negative": lambda: ConstantReconnectionPolicy(-1.0),
        "no attempts": lambda: ConstantReconnectionPolicy(1.0, 0),
        "negative attempts": lambda: ConstantReconnectionPolicy(1.0, -1),
        "exponential": lambda: ExponentialReconnectionPolicy(1.0, 8.0, 5),
        "exponential none": lambda: ExponentialReconnectionPolicy(1.0, 8.0, None),
        "exponential wrong": lambda: ExponentialReconnectionPolicy(9.0, 8.0),
        "exponential negative": lambda: ExponentialReconnectionPolicy(-1.0, 8.0),
        "exponential huge": lambda: ExponentialReconnectionPolicy(1.0, 8.0, 100),
    }.items():
        policy = context.record_call(name, make)
        if policy is not None:
            context.record_call(
                f"{name} schedule",
                # Exponential delays are random, within 15 % of their base. So record only whether
                # each delay is near its base. A constant delay is recorded as it is.
                lambda p=policy, name=name: [
                    0.8 <= delay / base <= 1.2 if name.startswith("exponential") else delay
                    for delay, base in zip(p.new_schedule(), (1, 2, 4, 8, 8), strict=False)
                ],
            )
            context.record_call(
                f"{name} length",
                lambda p=policy: sum(
                    1 for _, delay in zip(range(100), p.new_schedule(), strict=False)
                ),
            )


def speculating(context):
    """Record the plans of speculative execution policies."""
    policy = ConstantSpeculativeExecutionPolicy(0.5, 2)
    plan = policy.new_plan("ks", Statement())
    context.record("plan", [plan.next_execution(None) for _ in range(4)])
    context.record_call(
        "none",
        lambda: policies.NoSpeculativeExecutionPolicy().new_plan("ks", None).next_execution(None),
    )
    context.record_call(
        "base",
        lambda: policies.SpeculativeExecutionPolicy().new_plan("ks", None).next_execution(None),
    )


def hosts_and_endpoints(context):
    """Record the attributes of hosts and end points."""
    endpoint, same, other = (
        DefaultEndPoint("10.0.0.1", 9042),
        DefaultEndPoint("10.0.0.1", 9042),
        DefaultEndPoint("10.0.0.2", 9042),
    )
    context.record(
        "equal",
        [
            endpoint == same,
            endpoint == other,
            hash(endpoint) == hash(same),
            endpoint < other,
            str(endpoint),
            repr(endpoint),
            endpoint.address,
            endpoint.port,
            endpoint.resolve(),
            endpoint.socket_family,
        ],
    )
    host = Host(endpoint, SimpleConvictionPolicy, host_id=ONE)
    for name in (
        "address",
        "endpoint",
        "is_up",
        "datacenter",
        "rack",
        "host_id",
        "release_version",
        "broadcast_address",
        "listen_address",
        "dse_version",
        "dse_workload",
    ):
        context.record_call(name, getattr, host, name)
    context.record_call(
        "equal hosts",
        lambda: [
            host == Host(same, SimpleConvictionPolicy, host_id=ONE),
            host == Host(other, SimpleConvictionPolicy, host_id=ONE),
            host == endpoint,
        ],
    )
    context.record_call("text host", lambda: [str(host), repr(host)])
    context.record_call(
        "address text", lambda: Host("10.0.0.1", SimpleConvictionPolicy, host_id=ONE).address
    )
    context.record_call("no policy", lambda: Host(endpoint, None))
    context.record_call("no point", lambda: Host(None, SimpleConvictionPolicy))
    context.record_call("sni", lambda: str(SniEndPointFactory("proxy", 9999).create_from_sni("x")))
    for name in ("LOCAL", "REMOTE", "IGNORED"):
        context.record_call(name, lambda name=name: getattr(HostDistance, name) is not None)


def versions_of_the_protocol(context):
    """Record what `ProtocolVersion` says about each version."""
    context.record(
        "lower", [ProtocolVersion.get_lower_supported(version) for version in (66, 65, 6, 5, 4)]
    )
    for name in (
        "V3",
        "V4",
        "V5",
        "V6",
        "DSE_V1",
        "DSE_V2",
        "SUPPORTED_VERSIONS",
        "BETA_VERSIONS",
        "MIN_SUPPORTED",
        "MAX_SUPPORTED",
    ):
        context.record_call(name, getattr, ProtocolVersion, name)
    for name in (
        "uses_int_query_flags",
        "uses_prepare_flags",
        "uses_error_code_map",
        "has_continuous_paging_support",
        "uses_keyspace_flag",
        "uses_prepared_metadata",
        "has_checksumming_support",
    ):
        context.record_call(
            name,
            lambda name=name: [getattr(ProtocolVersion, name)(version) for version in (3, 4, 5)],
        )
    context.record_call("wrong", lambda: Cluster(protocol_version=2).protocol_version)
    context.record_call("wrong 99", lambda: Cluster(protocol_version=99).protocol_version)


def contact_points(context):
    """Pass contact points of several types."""
    for label, points in {
        "tuple with port": [("127.0.0.1", 9999)],
        "mixed": ["127.0.0.1", ("127.0.0.2", 1)],
        "endpoint": [DefaultEndPoint("127.0.0.1", 5)],
        "text": "127.0.0.1",
        "None": None,
        "number": [5],
        "unknown": ["nosuch.invalid"],
        "empty text": [""],
        "set": {"127.0.0.1"},
        "generator": (address for address in ["127.0.0.1"]),
        "ipv6": ["::1"],
        "none in it": [None],
    }.items():
        cluster = context.record_call(label, lambda points=points: Cluster(points))
        if cluster is not None:
            context.record_call(
                f"{label} resolved",
                lambda c=cluster: sorted(str(endpoint) for endpoint in c.endpoints_resolved),
            )
    for port in (0, 65535, 65536, -1, "9042", None):
        context.record_call(f"port {port!r}", lambda port=port: Cluster(port=port).port)


def authentication(context):
    """Record the responses of the plain text provider."""
    for credentials in (("a", "b"), ("", ""), (None, None), ("ä", "ö"), (5, 6)):
        provider = context.record_call(f"{credentials}", PlainTextAuthProvider, *credentials)
        context.record_call(
            f"{credentials} response",
            lambda p=provider: bytes(p.new_authenticator("h").initial_response()),
        )
        context.record_call(
            f"{credentials} challenge",
            lambda p=provider: bytes(p.new_authenticator("h").evaluate_challenge(b"PLAIN-START")),
        )
    context.record_call("no password", lambda: PlainTextAuthProvider("a"))
