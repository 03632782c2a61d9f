"""Tests of misspelt settings, whose errors must contain the nearest name.

These are settings of clusters, sessions and profiles.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from cassandra import _misspelt, aio
from cassandra._misspelt import class_attribute, nearest
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.testing.fake import FakeNode
from tests.processes import run_python


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_a_misspelt_attribute_is_an_error(cluster_class: Any) -> None:
    """Setting a misspelt setting must raise an error with the right name, and set nothing."""
    cluster = cluster_class()
    for misspelt_name, setting_name in (
        ("conect_timeout", "connect_timeout"),
        ("reprepare_on_ups", "reprepare_on_up"),
        ("compression_", "compression"),
    ):
        with pytest.raises(
            AttributeError, match=f"no setting '{misspelt_name}'; did you mean '{setting_name}'"
        ):
            setattr(cluster, misspelt_name, 3)
        assert not hasattr(cluster, misspelt_name)


def test_an_application_s_attributes_of_a_cluster_are_kept() -> None:
    class ClusterWithOwnAttribute(Cluster):
        conect_timeout = 3

    cluster: Any = ClusterWithOwnAttribute()
    cluster.tenant = "shop"
    cluster._conect_timeout = 1
    # The class has an attribute of this name, so it is not a misspelt setting.
    cluster.conect_timeout = 4
    assert cluster.tenant == "shop"
    assert cluster._conect_timeout == 1
    assert cluster.conect_timeout == 4


def test_class_attribute_returns_the_descriptor_or_none() -> None:
    assert class_attribute(Cluster, "port") is Cluster._table["port"]
    assert class_attribute(Cluster, "colour") is None


def test_the_nearest_name() -> None:
    """`nearest` must suggest a name only if it is similar enough.

    The last argument says how similar, from 0 to 1.
    """
    assert nearest("conect_timeout", ["connect_timeout", "port"], 0.85) == "connect_timeout"
    assert nearest("colour", ["connect", "port"], 0.85) is None


# These are the settings of both session classes, and those of each class.
BOTH_SESSIONS = {
    "batch_size_warn_threshold", "client_protocol_handler", "default_consistency_level",
    "default_fetch_size", "default_serial_consistency_level", "default_timeout",
    "default_vector_type", "encoder", "max_trace_wait", "row_factory", "timestamp_generator",
    "use_client_timestamp",
}  # fmt: skip
SESSIONS = {Session: {*BOTH_SESSIONS, "write_head_start"}, aio.Session: BOTH_SESSIONS}


@pytest.mark.parametrize("session_class", SESSIONS)
def test_the_settings_of_a_session(session_class: Any) -> None:
    """The settings of a session must be those of its class, even for subclasses."""
    assert session_class._setting_names == SESSIONS[session_class]

    class Subclass(session_class):  # type: ignore[misc]
        tenant: str

    assert Subclass._setting_names == SESSIONS[session_class]


@pytest.mark.parametrize(
    ("session_class", "right"),
    [(cls, name) for cls in SESSIONS for name in sorted(SESSIONS[cls])],
)
def test_misspelt_settings_of_a_session(session_class: Any, right: str) -> None:
    """Assigning a misspelt setting of a session must raise an error with the right name."""
    session = session_class.__new__(session_class)
    # One letter is missing, doubled, or has changed places with the next.
    for wrong in (right[:-1], right + right[-1], right[:2] + right[3] + right[2] + right[4:]):
        with pytest.raises(AttributeError, match=f"no setting '{wrong}'; did you mean '{right}'"):
            setattr(session, wrong, 0)


async def test_misspelt_settings_of_a_connected_session() -> None:
    """On a connected session, a misspelt setting must raise an error with the right name.

    Other attributes can be set.
    """

    def check_session(session: Any) -> None:
        with pytest.raises(AttributeError, match="no setting 'encoderr'; did you mean 'encoder'"):
            session.encoderr = None
        session.tenant = "shop"
        session.execute = None
        assert (session.tenant, session.execute) == ("shop", None)
        # All other public attributes of a session are created when it connects.
        other_attributes = {"cluster", "hosts", "is_shutdown", "loop_ident", "wake_queue", "tenant"}
        attributes = {name for name in vars(session) if not name.startswith("_")}
        assert attributes - other_attributes - {"execute"} <= type(session)._setting_names

    with FakeNode() as node:
        with Cluster([node.address], port=node.port) as cluster:
            check_session(cluster.connect())
        async with aio.Cluster([node.address], port=node.port) as aio_cluster:
            check_session(await aio_cluster.connect())


@pytest.mark.parametrize(
    "right",
    [
        "consistency_level", "continuous_paging_options", "load_balancing_policy",
        "request_observers", "request_timeout", "retry_policy", "row_factory",
        "serial_consistency_level", "speculative_execution_policy",
    ],
)  # fmt: skip
def test_misspelt_settings_of_a_profile(right: str) -> None:
    """A misspelt setting of a profile must raise an error with the right name."""
    profile: Any = ExecutionProfile()
    for wrong in (right[:-1], right + right[-1]):
        with pytest.raises(AttributeError, match=f"no setting '{wrong}'; did you mean '{right}'"):
            setattr(profile, wrong, 3)


def test_an_application_s_attributes_of_a_profile_are_kept() -> None:
    profile: Any = ExecutionProfile()
    profile.tenant = "shop"
    profile.request_timeout = 3
    assert (profile.tenant, profile.request_timeout) == ("shop", 3)


@pytest.mark.parametrize(
    ("base_class", "name", "near"),
    [
        (Cluster, "ports", "port"),
        (aio.Cluster, "contact_point", "contact_points"),
        (Session, "encoders", "encoder"),
        (aio.Session, "row_factorys", "row_factory"),
        (ExecutionProfile, "retry_policys", "retry_policy"),
    ],
)
def test_a_subclass_s_attribute_resembling_a_setting_warns_once(
    base_class: Any, name: str, near: str, caplog: pytest.LogCaptureFixture
) -> None:
    first_class: Any = type("Ours", (base_class,), {})
    second_class: Any = type("Others", (base_class,), {})
    for _ in range(2):
        instance = first_class.__new__(first_class)
        setattr(instance, name, [1])
        setattr(instance, name, [2])
        assert getattr(instance, name) == [2]
    # The class must warn only once, however many objects it has.
    assert [record.getMessage() for record in caplog.records] == [
        f"Ours.{name} is an attribute of the program's own, not a setting; "
        f"the nearest setting is {near!r}"
    ]
    setattr(second_class.__new__(second_class), name, 1)
    assert len(caplog.records) == 2


def test_names_are_compared_once_for_all_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's own attributes of a cluster or session are not compared with settings again.

    To compare them takes longer than to construct a cluster.
    """
    with FakeNode() as node:

        def connect() -> None:
            with Cluster([node.address], port=node.port) as cluster:
                cluster.connect()

        connect()
        compared = mock.Mock(return_value=0.0)
        monkeypatch.setattr(_misspelt, "_similarity_bound", compared)
        connect()
    compared.assert_not_called()


def test_correct_settings_cost_no_import() -> None:
    """Setting correct names must not import difflib, which only the search for near names needs."""
    process = run_python(
        "import sys; from cassandra.cluster import Cluster, ExecutionProfile; "
        "Cluster(['127.0.0.1']).tenant = ExecutionProfile(); print('difflib' in sys.modules)"
    )
    assert process.stdout.strip() == "False", process.stderr
