"""A cluster checks each setting when it is set. The error names the setting and the value."""

from __future__ import annotations

import copy
import math
import ssl
from typing import Any

import pytest

from cassandra import ConsistencyLevel, UnsupportedOperation, aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.client.configuration import ClusterBase, ConfigMode
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.connection import DefaultEndPoint, UnixSocketEndPoint
from cassandra.policies import RetryPolicy, RoundRobinPolicy

CLUSTER_CLASSES = [Cluster, aio.Cluster]
CONTEXT = ssl.create_default_context()


@pytest.fixture(params=CLUSTER_CLASSES, ids=["blocking", "asyncio"])
def cluster_class(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_every_setting_is_a_class_attribute_and_its_default(cluster_class: Any) -> None:
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
        ({"host": "10.0.0.1", "port": 9042}, TypeError, "must be a list of addresses, but is {"),
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
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile()}
    with pytest.raises(ValueError, match="load_balancing_policy"):
        cluster_class(execution_profiles=profiles, load_balancing_policy=RoundRobinPolicy())
    with pytest.raises(ValueError, match="default_retry_policy"):
        cluster_class(execution_profiles=profiles, default_retry_policy=RetryPolicy())
    assert cluster_class(execution_profiles=profiles).config_mode is ConfigMode.PROFILES
    assert cluster_class(load_balancing_policy=RoundRobinPolicy()).config_mode is ConfigMode.LEGACY
    assert cluster_class().config_mode is ConfigMode.UNCOMMITTED


def test_profiles_clone_and_refuse_unknown_settings() -> None:
    profile = ExecutionProfile(request_timeout=3)
    clone = profile.clone(request_timeout=4)
    assert (profile.request_timeout, clone.request_timeout) == (3, 4)
    assert clone.load_balancing_policy is profile.load_balancing_policy
    with pytest.raises(ValueError, match="no setting 'timeout'"):
        profile.clone(timeout=1)
    with pytest.raises(ValueError, match="serial_consistency_level"):
        ExecutionProfile(serial_consistency_level=ConsistencyLevel.ONE)


def test_ssl_options_become_a_context() -> None:
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
    with pytest.raises(error, match=message):
        cluster_class(["127.0.0.1"], **settings)


def test_server_hostname_can_be_set_with_a_context(cluster_class: Any) -> None:
    assert (
        cluster_class(ssl_context=CONTEXT, ssl_options={"server_hostname": "db"})
        ._settings()
        .tls.source
        is CONTEXT
    )
    assert cluster_class(ssl_context=lambda: CONTEXT, ssl_options={})._settings().tls is not None
    assert cluster_class()._settings().tls is None


def test_startup_options_name_the_driver() -> None:
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
    cluster = Cluster()
    assert cluster.get_control_connection_host() is None
    with pytest.raises(Exception, match="not connected"):
        cluster.refresh_nodes()
    # The second call does nothing.
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
    """A cluster whose constructor failed still has a repr, because debuggers show `self` of each
    frame in the traceback.
    """
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of whatever class
        cluster_class(**settings)
    reprs = [
        repr(frame.frame.f_locals["self"])
        for frame in caught.traceback
        if isinstance(frame.frame.f_locals.get("self"), ClusterBase)
    ]
    # At least one frame must have the cluster as `self`, or nothing would be checked.
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
    cluster = cluster_class(reprepare_on_up=True)
    duplicate = copy.copy(cluster)
    assert duplicate._live["reprepare_on_up"]
    duplicate.reprepare_on_up = False
    assert (duplicate.reprepare_on_up, duplicate._live["reprepare_on_up"]) == (False, False)
    assert (cluster.reprepare_on_up, cluster._live["reprepare_on_up"]) == (True, True)


def test_a_profile_that_is_only_called_default_is_warned_of(cluster_class: Any) -> None:
    profile = ExecutionProfile()
    text = "'default' serves only calls.*{EXEC_PROFILE_DEFAULT:"
    with pytest.warns(RuntimeWarning, match=text) as caught:
        cluster_class(execution_profiles={"default": profile})
    assert caught[0].filename == __file__
    # There is no warning if both profiles are given, or if no profile has this name.
    cluster_class(execution_profiles={"default": profile, EXEC_PROFILE_DEFAULT: profile})
    cluster_class(execution_profiles={"web": profile})
