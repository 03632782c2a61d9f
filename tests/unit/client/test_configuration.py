"""A cluster checks each setting when it is set; the error names the setting and the value."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import ssl
import sys
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel, UnsupportedOperation, aio
from cassandra._impl import implementation
from cassandra._secrets import Secret
from cassandra.auth import PlainTextAuthProvider
from cassandra.client import configuration
from cassandra.client.configuration import ClusterBase, ConfigMode
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.connection import DefaultEndPoint, DefaultEndPointFactory, UnixSocketEndPoint
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.metrics import Metrics
from cassandra.policies import RetryPolicy, RoundRobinPolicy

CLUSTER_CLASSES = [Cluster, aio.Cluster]
CONTEXT = ssl.create_default_context()


@pytest.fixture(params=CLUSTER_CLASSES, ids=["blocking", "asyncio"])
def cluster_class(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_every_setting_is_a_class_attribute_and_its_default(cluster_class: Any) -> None:
    """A new cluster's settings are equal to the attributes of the class."""
    cluster = cluster_class()
    for name in (
        "port",
        "connect_timeout",
        "idle_heartbeat_interval",
        "protocol_version",
        "compression",
    ):
        assert getattr(cluster, name) == getattr(cluster_class, name)


def test_a_subclass_may_change_defaults() -> None:
    class Mine(Cluster):
        connect_timeout = 1.5
        port = 9999

    assert Mine().connect_timeout == 1.5
    assert Mine(["10.0.0.1"]).endpoints_resolved == [DefaultEndPoint("10.0.0.1", 9999)]


def test_contact_points(cluster_class: Any) -> None:
    """A contact point may be an address, an address with its port, or an end point."""
    cluster = cluster_class(
        ["10.0.0.1", ("10.0.0.2", 9043), "::1", UnixSocketEndPoint("/run/node")], port=19042
    )
    assert [str(endpoint) for endpoint in cluster.endpoints_resolved] == [
        "10.0.0.1:19042",
        "10.0.0.2:9043",
        "[::1]:19042",
        "/run/node",
    ]


def test_none_selects_the_default_contact_points(cluster_class: Any) -> None:
    assert cluster_class(None).contact_points == cluster_class().contact_points


@pytest.mark.parametrize(
    ("contact_points", "error", "message"),
    [
        ("127.0.0.1", TypeError, r"list of addresses, not a single '127\.0\.0\.1'"),
        (
            {"host": "10.0.0.1", "port": 9042},
            TypeError,
            "must be a list of addresses, but is a mapping of",
        ),
        ("db:9043", TypeError, r"single 'db:9043': write \['db'\], port=9043$"),
        ("a:9, b:9", TypeError, r": write \['a', 'b'\], port=9$"),
        ("a,::1", TypeError, r": write \['a', '::1'\]$"),
        (b"a", TypeError, r"single 'a': write \['a'\]$"),
        (
            "cassandra://ada:secret@db:9043/shop?x=1",
            TypeError,
            r"'cassandra://\*\*\*@db:9043/shop\?x=1': "
            r"write Cluster\(\['db'\], port=9043\)\.connect\('shop'\)$",
        ),
        (
            ["cassandra://ada:s/e@cret@[::1],b"],
            ValueError,
            r"a URL, but one is '.*': write Cluster\(\['::1', 'b'\], port=9042\)$",
        ),
        ("://", TypeError, r"write Cluster\(\['10\.0\.0\.1'\], port=9042\)$"),
        ([None], ValueError, "must not be None"),
        ([(None, 9042)], ValueError, "must not be None, but one is"),
        ([17], TypeError, "17"),
        ([b"127.0.0.1"], TypeError, "b'127.0.0.1'"),
        ([""], ValueError, "must not be empty"),
        (["127.0.0.1:9042"], ValueError, "without its port, but one is '127.0.0.1:9042'"),
        (["[::1]:9042"], ValueError, "without its port"),
        (["10.0.0.1,10.0.0.2"], ValueError, "each as an item of the list"),
        ([("127.0.0.1", 0)], ValueError, "1 to 65535"),
        ([("127.0.0.1", "x")], ValueError, "1 to 65535"),
    ],
)
def test_wrong_contact_points_are_refused(
    cluster_class: Any, contact_points: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        cluster_class(contact_points)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"port": 0}, ValueError, "port must be a number from 1 to 65535, but is 0"),
        ({"port": 70000}, ValueError, "70000"),
        ({"port": True}, ValueError, "port"),
        ({"port": "cql"}, ValueError, "port must be a number from 1 to 65535, but is 'cql'"),
        ({"port": ""}, ValueError, "port must be a number from 1 to 65535, but is ''"),
        ({"compression": "zip"}, ValueError, "'lz4' or 'snappy', but is 'zip'"),
        (
            {"compression": 7},
            TypeError,
            "compression is True, False or an algorithm's name, but is 7",
        ),
        (
            {"protocol_version": 9},
            UnsupportedOperation,
            "9 is not supported; this driver speaks 3, 4, 5, 6",
        ),
        ({"protocol_version": 0x41}, UnsupportedOperation, "DSE_V1"),
        ({"protocol_version": 6}, UnsupportedOperation, "allow_beta_protocol_version"),
        ({"auth_provider": ("user", "secret")}, TypeError, "auth_provider must be an AuthProvider"),
        (
            {"ssl_context": True},
            TypeError,
            "ssl_context must be an ssl.SSLContext, or a function that gives one, but is True",
        ),
        ({"connect_timeout": -1}, ValueError, "connect_timeout must not be negative, but is -1"),
        (
            {"connect_timeout": math.nan},
            ValueError,
            "connect_timeout must be a number of seconds, but is nan",
        ),
        ({"connect_timeout": math.inf}, ValueError, "but is inf; None is for no limit"),
        (
            {"connect_timeout": "5"},
            TypeError,
            "connect_timeout must be a number of seconds or None, but is '5'",
        ),
        ({"control_connection_timeout": True}, TypeError, "control_connection_timeout"),
        ({"idle_heartbeat_interval": math.nan}, ValueError, "idle_heartbeat_interval"),
        ({"max_schema_agreement_wait": math.nan}, ValueError, "max_schema_agreement_wait"),
        ({"schema_event_refresh_window": math.nan}, ValueError, "schema_event_refresh_window"),
        ({"ssl_options": {}}, ValueError, "ssl_options is empty, which would connect without TLS"),
        ({"ssl_options": True}, TypeError, "ssl_options must be a mapping, but is of type bool"),
        ({"unknown_setting": 1}, TypeError, "unknown_setting"),
        (
            {"execution_profiles": {"x": 1}},
            TypeError,
            "execution_profiles\\['x'\\] is not an ExecutionProfile",
        ),
    ],
)
def test_wrong_settings_are_refused(
    cluster_class: Any, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        cluster_class(["127.0.0.1"], **settings)


def test_the_repr_of_an_auth_provider_has_no_password() -> None:
    assert "secret" not in repr(PlainTextAuthProvider("ada", "secret"))


def test_policies_of_the_cluster_and_profiles_cannot_be_combined(cluster_class: Any) -> None:
    """A cluster has either execution profiles or policies of its own (old-style), but not both.

    If it has neither, its `config_mode` is UNCOMMITTED.
    """
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile()}
    with pytest.raises(ValueError, match="load_balancing_policy"):
        cluster_class(execution_profiles=profiles, load_balancing_policy=RoundRobinPolicy())
    with pytest.raises(ValueError, match="default_retry_policy"):
        cluster_class(execution_profiles=profiles, default_retry_policy=RetryPolicy())
    assert cluster_class(execution_profiles=profiles).config_mode is ConfigMode.PROFILES
    assert cluster_class(load_balancing_policy=RoundRobinPolicy()).config_mode is ConfigMode.LEGACY
    assert cluster_class().config_mode is ConfigMode.UNCOMMITTED


def test_profiles_clone_and_refuse_unknown_settings() -> None:
    """`clone` changes only the given settings; unknown or invalid settings raise ValueError."""
    profile = ExecutionProfile(request_timeout=3)
    clone = profile.clone(request_timeout=4)
    assert (profile.request_timeout, clone.request_timeout) == (3, 4)
    assert clone.load_balancing_policy is profile.load_balancing_policy
    with pytest.raises(ValueError, match="no setting 'timeout'"):
        profile.clone(timeout=1)
    with pytest.raises(ValueError, match="serial_consistency_level"):
        ExecutionProfile(serial_consistency_level=ConsistencyLevel.ONE)


def test_ssl_options_become_a_context() -> None:
    """`ssl_options` alone become a TLS context, which verifies certificates by default."""
    tls = Cluster(ssl_options={"check_hostname": False})._settings().tls
    assert tls is not None
    assert isinstance(tls.source, ssl.SSLContext)
    assert tls.source.verify_mode == ssl.CERT_REQUIRED
    options = {"cert_reqs": ssl.CERT_NONE}
    assert ClusterBase(ssl_options=options)._settings().tls is not None


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"ssl_options": {"cert_reqs": 0, "colour": 1}}, ValueError, r"'colour'\] is unknown"),
        ({"ssl_options": {"ca_certs": "/nowhere.pem"}}, OSError, "No such file"),
        (
            {"ssl_options": {"cert_reqs": 0, "ssl_version": ssl.PROTOCOL_TLS_SERVER}},
            ValueError,
            "for a client",
        ),
        ({"ssl_options": {"cert_reqs": 0, "server_side": True}}, ValueError, "only be False"),
        ({"ssl_options": {"server_hostname": 5}}, TypeError, "must be a name, but is 5"),
        (
            {"ssl_context": CONTEXT, "ssl_options": {"ca_certs": "ca.pem"}},
            ValueError,
            r"'ca_certs'\] cannot be given beside ssl_context: set it on the context",
        ),
        ({"ssl_context": CONTEXT, "ssl_session_cache": {}}, TypeError, "an SSLSessionCache"),
    ],
)
def test_bad_settings_of_tls(
    cluster_class: Any, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    """TLS settings that contradict each other or have a wrong type are refused."""
    with pytest.raises(error, match=message):
        cluster_class(["127.0.0.1"], **settings)


def test_server_hostname_can_be_set_with_a_context(cluster_class: Any) -> None:
    """With an `ssl_context`, `ssl_options` may have a `server_hostname`, or be empty."""
    cluster = cluster_class(ssl_context=CONTEXT, ssl_options={"server_hostname": "db"})
    assert cluster._settings().tls.source is CONTEXT
    assert cluster_class(ssl_context=lambda: CONTEXT, ssl_options={})._settings().tls is not None
    assert cluster_class()._settings().tls is None


def test_startup_options_name_the_driver() -> None:
    """STARTUP has the driver's name, and options that come from the cluster and the application."""

    class Application:
        def add_startup_options(self, options: dict[str, str]) -> None:
            options["APPLICATION_NAME"] = "shop"

    options = (
        ClusterBase(no_compact=True, application_info=Application())._settings().startup_options
    )
    assert options["DRIVER_NAME"] == "turbocql Python driver"
    assert options["NO_COMPACT"] == "true"
    assert options["APPLICATION_NAME"] == "shop"


def test_before_connect_and_after_shutdown_calls_raise() -> None:
    """Calls that need a connection raise before `connect`; `connect` raises after `shutdown`."""
    cluster = Cluster()
    assert cluster.get_control_connection_host() is None
    with pytest.raises(Exception, match="not connected"):
        cluster.refresh_nodes()
    # The second call of `shutdown` does nothing.
    cluster.shutdown()
    cluster.shutdown()
    with pytest.raises(Exception, match="shut down"):
        cluster.connect()


@pytest.mark.parametrize(
    "settings",
    [
        {"bogus": 1},
        {"contact_points": 5},
        {"port": "x"},
        {"auth_provider": {}},
        {"ssl_options": {"bogus": 1}},
        {"cloud": {"secure_connect_bundle": "nowhere.zip"}},
        {"execution_profiles": {"a": 1}},
        {"load_balancing_policy": RoundRobinPolicy},
        {"retry_policy": None, "compression": "none"},
        {"protocol_version": 99},
        {"endpoint_factory": 5},
        {"metrics_enabled": True, "connect_timeout": -1},
    ],
)
def test_a_cluster_whose_constructor_fails_has_a_repr(cluster_class: Any, settings: Any) -> None:
    """If the constructor of a cluster has failed, the cluster still has a repr.

    Debuggers show the repr of `self` for each frame in the traceback.
    """
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of whatever class
        cluster_class(**settings)
    reprs = [
        repr(frame.frame.f_locals["self"])
        for frame in caught.traceback
        if isinstance(frame.frame.f_locals.get("self"), ClusterBase)
    ]
    # If no frame had the cluster as `self`, the test would check nothing.
    assert reprs
    assert all(
        description.startswith("<Cluster: ") and "not connected" in description
        for description in reprs
    )


def test_a_cluster_without_its_constructor_has_a_repr(cluster_class: Any) -> None:
    assert "not made, not connected" in repr(cluster_class.__new__(cluster_class))


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_a_wrong_provider_is_refused_when_it_is_set(cluster_class: Any) -> None:
    cluster = cluster_class(["127.0.0.1"])
    with pytest.raises(TypeError, match="auth_provider must be an AuthProvider, but is of type tu"):
        cluster.auth_provider = ("user", "secret")
    assert cluster.auth_provider is None
    cluster.auth_provider = PlainTextAuthProvider("user", "secret")
    cluster.auth_provider = None


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_settings_of_a_copy_do_not_change_the_original(cluster_class: Any) -> None:
    """If a live setting of a copied cluster changes, the original cluster does not change."""
    cluster = cluster_class(reprepare_on_up=True)
    duplicate = copy.copy(cluster)
    assert duplicate._live["reprepare_on_up"]
    duplicate.reprepare_on_up = False
    assert (duplicate.reprepare_on_up, duplicate._live["reprepare_on_up"]) == (False, False)
    assert (cluster.reprepare_on_up, cluster._live["reprepare_on_up"]) == (True, True)


def test_a_profile_that_is_only_called_default_is_warned_of(cluster_class: Any) -> None:
    """A profile with the name "default" causes a warning if there is no default profile.

    The default profile has the key `EXEC_PROFILE_DEFAULT`. A profile "default" is used only by
    calls that name it, which was probably not meant.
    """
    profile = ExecutionProfile()
    message = "'default' serves only calls.*{EXEC_PROFILE_DEFAULT:"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        cluster_class(execution_profiles={"default": profile})
    assert caught[0].filename == __file__
    # There is no warning if the default profile is given, too, or if no profile has the name
    # "default".
    cluster_class(execution_profiles={"default": profile, EXEC_PROFILE_DEFAULT: profile})
    cluster_class(execution_profiles={"web": profile})


# A fake of a secure connect bundle that has been read.
BUNDLE = SimpleNamespace(
    context=CONTEXT,
    created_context=True,
    factory=DefaultEndPointFactory(),
    credentials=("ada", Secret("secret")),
    ask=lambda: [DefaultEndPoint("10.0.0.5")],
)


def test_a_bundle_sets_contact_points_tls_and_credentials(
    cluster_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secure connect bundle sets the end point factory, the TLS context and the credentials.

    An `auth_provider` that is passed replaces the credentials of the bundle.
    """
    arguments: list[Any] = []

    def read_bundle(*args: Any) -> Any:
        arguments.append(args)
        return BUNDLE

    monkeypatch.setattr("cassandra.client.cloud.cloud_of", read_bundle)
    bundle = {"secure_connect_bundle": "bundle.zip"}
    cluster = cluster_class(cloud=bundle)
    ((_, ssl_context),) = arguments
    assert ssl_context is None
    assert cluster.endpoint_factory is BUNDLE.factory
    assert cluster.ssl_context is CONTEXT
    # TLS sessions may be resumed: the driver has created this context, so nobody loads another
    # certificate into it.
    assert cluster._settings().tls._may_resume_any()
    assert (cluster.auth_provider.username, cluster.auth_provider.password) == ("ada", "secret")
    # The application's own provider takes precedence.
    provider = PlainTextAuthProvider("own", "secret")
    assert cluster_class(cloud=bundle, auth_provider=provider).auth_provider is provider


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contact_points": ["10.0.0.1"]}, "cannot be given beside cloud"),
        ({"endpoint_factory": DefaultEndPointFactory()}, "cannot be given beside cloud"),
        ({"ssl_options": {"check_hostname": False}}, "cannot be given beside cloud"),
        ({"ssl_context": lambda: CONTEXT}, "must be a context, not a function, beside cloud"),
    ],
)
def test_settings_that_a_bundle_replaces_are_refused(
    cluster_class: Any, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("cassandra.client.cloud.cloud_of", lambda *_: BUNDLE)
    with pytest.raises(ValueError, match=message):
        cluster_class(cloud={"secure_connect_bundle": "bundle.zip"}, **settings)


def test_a_cluster_cannot_be_pickled(cluster_class: Any) -> None:
    for copy_deeply in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled or copied deeply.*in each process"):
            copy_deeply(cluster_class())


class Rebuilt(Cluster):
    """A cluster whose pickle contains only its contact points."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Rebuilt, (["10.0.0.7"],)


def test_a_subclass_may_say_how_it_is_pickled() -> None:
    """A subclass of Cluster that defines `__reduce__` can be pickled."""
    duplicate = pickle.loads(pickle.dumps(Rebuilt(["10.0.0.7"])))
    assert type(duplicate) is Rebuilt
    assert duplicate.contact_points == ["10.0.0.7"]


def test_metrics_are_made_if_they_are_enabled(cluster_class: Any) -> None:
    """With `metrics_enabled`, a cluster has metrics, which do not keep the cluster alive."""
    assert cluster_class().metrics is None
    cluster = cluster_class(metrics_enabled=True)
    assert isinstance(cluster.metrics, Metrics)
    # The metrics must not keep the cluster alive.
    reference = weakref.ref(cluster)
    metrics = cluster.metrics
    del cluster
    gc.collect()
    assert reference() is None
    assert metrics is not None


def test_listeners_are_registered_once() -> None:
    """If a listener is registered twice, the cluster has it once.

    Two listeners are the same only if they are the same object, whatever their `__eq__` says.
    """

    class Listener:
        def on_up(self, host: Any) -> None:
            """Do nothing when a host is up."""

        def __eq__(self, other: object) -> bool:
            return True  # all listeners are equal, so only their identity differs

        __hash__ = None  # type: ignore[assignment]

    cluster: Any = Cluster()
    first, second = Listener(), Listener()
    listeners = cluster._listeners
    for listener in (first, second, first):
        cluster.register_listener(listener)
    assert [id(listener) for listener in listeners] == [id(first), id(second)]
    cluster.unregister_listener(first)
    assert [id(listener) for listener in listeners] == [id(second)]
    with pytest.raises(TypeError, match="listener must have the methods on_up"):
        cluster.register_listener(object())


def test_listeners_that_threads_remove_at_once() -> None:
    """Threads that remove listeners at once remove only these, and all of these."""

    class Listener:
        def on_up(self, host: Any) -> None:
            """Do nothing when a host is up."""

    cluster: Any = Cluster()
    # The list is long, so that one thread makes a new list while another one does.
    listeners = [Listener() for _ in range(3000)]
    cluster._listeners.extend(listeners)
    start = threading.Barrier(2)

    def remove(part: list[Listener]) -> None:
        start.wait()
        for listener in part:
            cluster.unregister_listener(listener)

    threads = [threading.Thread(target=remove, args=(listeners[part:40:2],)) for part in range(2)]
    interval_before = sys.getswitchinterval()
    # Python switches between the threads as often as possible.
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval_before)
    assert cluster._listeners == listeners[40:]


def test_the_profile_manager_cannot_be_replaced(cluster_class: Any) -> None:
    cluster = cluster_class()
    with pytest.raises(AttributeError, match=r"profile_manager cannot be replaced"):
        cluster.profile_manager = None
    assert cluster.profile_manager.profiles[EXEC_PROFILE_DEFAULT] is not None


def test_profiles_are_added_once_and_not_beside_old_settings() -> None:
    """A profile's name can be added once, and only if the cluster has no old-style policies.

    Old-style policies are set on the cluster itself, such as `load_balancing_policy`.
    """
    cluster, profile = Cluster(), ExecutionProfile()
    cluster.add_execution_profile("web", profile)
    assert cluster.profile_manager.profiles["web"] is profile
    assert cluster.config_mode is ConfigMode.PROFILES
    with pytest.raises(ValueError, match="there is an execution profile 'web' already"):
        cluster.add_execution_profile("web", profile)
    with pytest.raises(TypeError, match="profile must be an ExecutionProfile, but is 5"):
        cluster.add_execution_profile("other", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot be added if old-style settings are used"):
        Cluster(load_balancing_policy=RoundRobinPolicy()).add_execution_profile("web", profile)


def test_profiles_must_be_a_mapping(cluster_class: Any) -> None:
    with pytest.raises(TypeError, match=r"execution_profiles must be a mapping.* of type list"):
        cluster_class(execution_profiles=[ExecutionProfile()])


def test_the_default_profile_has_the_policies_of_the_cluster(cluster_class: Any) -> None:
    """Policies that are passed to the cluster become the policies of its default profile."""
    balancing, retry = RoundRobinPolicy(), RetryPolicy()
    cluster = cluster_class(load_balancing_policy=balancing, default_retry_policy=retry)
    profile = cluster.profile_manager.profiles[EXEC_PROFILE_DEFAULT]
    assert profile.load_balancing_policy is balancing
    assert profile.retry_policy is retry
    default = cluster_class().profile_manager.profiles[EXEC_PROFILE_DEFAULT]
    assert type(default.retry_policy) is RetryPolicy


def test_the_repr_says_which_modules_are_used(cluster_class: Any) -> None:
    modules = "compiled" if implementation == "c" else "pure Python"
    shown = repr(cluster_class(["10.0.0.1"]))
    assert shown == f"<Cluster: 10.0.0.1:9042, not connected, {modules}>"


@pytest.mark.parametrize("is_shutdown", [False, True])
def test_new_policies_are_not_passed_to_a_cluster_that_is_shut_down(is_shutdown: bool) -> None:
    """`_call_if_open` calls a cluster's method, unless the cluster was shut down or deleted.

    If another thread shuts the cluster down during the call, the `ConnectionShutdown` error is
    dropped. For example, a changed profile reaches its clusters by such a call.
    """
    calls: list[object] = []

    class Owner:
        is_shutdown: bool

        def adopt(self, argument: object) -> None:
            calls.append(argument)
            raise ConnectionShutdown("another thread has shut it down")

    # Call the method while its owner exists, and again after its owner was deleted.
    owner = Owner()
    owner.is_shutdown = is_shutdown
    reference: Any = weakref.WeakMethod(owner.adopt)
    configuration._call_if_open(reference, 1)
    del owner
    gc.collect()
    configuration._call_if_open(reference, 2)
    assert calls == ([] if is_shutdown else [1])


# -- switches for reading metadata --------------------------------------------------------------


def test_before_connect_the_switches_are_stored() -> None:
    """Before `connect`, the switches for metadata can be set as attributes.

    Calls that need a connection raise an error.
    """
    cluster: Any = Cluster()
    assert (cluster.schema_metadata_enabled, cluster.token_metadata_enabled) == (True, True)
    cluster.schema_metadata_enabled = 0
    cluster.token_metadata_enabled = 0
    assert (cluster.schema_metadata_enabled, cluster.token_metadata_enabled) == (False, False)
    assert cluster.metadata.token_metadata_enabled is False
    with pytest.raises(ConnectionException, match="not connected"):
        cluster.set_meta_refresh_enabled(False)


def test_token_metadata_can_be_disabled_in_the_constructor() -> None:
    assert Cluster(token_metadata_enabled=False).metadata.token_metadata_enabled is False


def test_the_settings_of_the_engine_follow_the_switches() -> None:
    """The engine's settings follow the cluster's switches for schema and token metadata."""
    cluster = Cluster()
    engine = cluster._settings()
    assert (engine.schema_metadata_enabled, engine.token_metadata_enabled) == (True, True)
    cluster.schema_metadata_enabled = False
    assert (engine.schema_metadata_enabled, engine.token_metadata_enabled) == (False, True)
    cluster.token_metadata_enabled = False
    assert engine.token_metadata_enabled is False


def test_schema_reading_can_be_switched_off() -> None:
    """On a connected cluster, `set_meta_refresh_enabled` switches its schema refreshes off."""
    cluster: Any = Cluster()
    # Pretend that the cluster is connected.
    cluster._core = SimpleNamespace(schema=SimpleNamespace(enabled=True))
    cluster.set_meta_refresh_enabled(False)
    assert cluster._core.schema.enabled is False
