"""The table of a cluster's settings is the only list of them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from cassandra import aio
from cassandra.client.configuration import ClusterBase
from cassandra.client.settings.setting import ConstructorOnly
from cassandra.client.settings.table import ClusterSettings
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode

FACES = [Cluster, aio.Cluster]
TABLE = ClusterSettings._table


@pytest.mark.parametrize("face", FACES)
def test_the_constructor_has_all_settings_in_their_order(face: Any) -> None:
    parameters = inspect.signature(face).parameters
    assert list(parameters) == [*TABLE, "settings"]
    assert list(inspect.signature(face.__init__).parameters) == ["self", *TABLE, "settings"]
    by_position = [name for name, setting in TABLE.items() if not setting.kw_only]
    assert by_position[:3] == ["contact_points", "port", "compression"]
    later = [name for name, setting in TABLE.items() if setting.kw_only]
    assert [*TABLE] == by_position + later
    assert later == sorted(later)


@pytest.mark.parametrize("face", FACES)
def test_the_signature_shows_the_defaults(face: Any) -> None:
    parameters = inspect.signature(face).parameters
    for name, setting in TABLE.items():
        assert parameters[name].default is setting.default, name
    assert "port: 'int | str | None' = 9042" in str(inspect.signature(face))
    assert inspect.signature(type("Ours", (face,), {})) == inspect.signature(face)

    class Own(face):  # type: ignore[misc]
        def __init__(self, tenant: str) -> None:
            """A constructor as an application's subclass may define it."""

    assert list(inspect.signature(Own).parameters) == ["tenant"]


@pytest.mark.parametrize("face", FACES)
def test_none_means_the_default_or_is_a_value(face: Any) -> None:
    optional_names = {
        name for name, setting in TABLE.items() if not isinstance(setting, ConstructorOnly)
    }
    cluster = face(**dict.fromkeys(optional_names - {"request_observers"}))
    for name in optional_names:
        if TABLE[name].none_is_default:
            assert getattr(cluster, name) is not None, name


async def value(outcome: Any) -> Any:
    return await outcome if inspect.isawaitable(outcome) else outcome


@pytest.mark.parametrize("face", FACES)
async def test_only_live_settings_reach_the_engine_after_connect(face: Any) -> None:
    with FakeNode() as node:
        cluster = face([node.address], port=node.port)
        try:
            await value(cluster.connect())
            engine = cluster._core.settings
            for name, setting in TABLE.items():
                if not isinstance(setting, ConstructorOnly) and name != "ssl_options":
                    assert getattr(engine, name) is getattr(cluster, name), name
            cluster.reprepare_on_up = False
            with pytest.warns(RuntimeWarning, match="idle_heartbeat_timeout has no effect"):
                cluster.idle_heartbeat_timeout = 77
            assert engine.reprepare_on_up is False
            assert engine.idle_heartbeat_timeout == 30
        finally:
            await value(cluster.shutdown())


@pytest.mark.parametrize("face", FACES)
async def test_a_subclass_with_defaults_of_its_own_follows_changes(face: Any) -> None:
    kind = type("Ours", (face,), {"max_schema_agreement_wait": 3, "connect_timeout": 2})
    with FakeNode() as node:
        cluster = kind([node.address], port=node.port)
        try:
            await value(cluster.connect())
            engine = cluster._core.settings
            assert (engine.max_schema_agreement_wait, engine.connect_timeout) == (3, 2)
            cluster.max_schema_agreement_wait = 4
            assert engine.max_schema_agreement_wait == cluster.max_schema_agreement_wait == 4
        finally:
            await value(cluster.shutdown())


def test_a_subclass_may_have_a_property_in_the_place_of_a_setting() -> None:
    class Ours(Cluster):
        @property
        def connect_timeout(self) -> float:  # type: ignore[override]
            return 1.25

    assert Ours()._settings().connect_timeout == 1.25


def test_an_instance_may_be_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(max_schema_agreement_wait=5)
    monkeypatch.setattr(cluster, "max_schema_agreement_wait", 1)
    monkeypatch.setattr(cluster, "port", 1)
    assert cluster._settings().max_schema_agreement_wait == 1
    monkeypatch.undo()
    assert (cluster._settings().max_schema_agreement_wait, cluster.port) == (5, 9042)


def test_each_has_its_text_where_python_shows_it() -> None:
    for name, setting in TABLE.items():
        assert setting.__doc__, name
    assert "One setting" not in str(TABLE["port"].__doc__)
    assert (type(TABLE["port"]).__doc__ or "").startswith("A setting")


@pytest.mark.parametrize("face", FACES)
def test_an_unknown_setting_is_an_error(face: Any) -> None:
    with pytest.raises(TypeError, match="Cluster has no setting 'contact_pionts'"):
        face(contact_pionts=["10.0.0.1"])


@pytest.mark.parametrize("face", FACES)
def test_settings_that_are_not_given_keep_their_defaults(face: Any) -> None:
    cluster = face()
    for name in TABLE.keys() - {"execution_profiles"}:
        if name not in ("timestamp_generator", "endpoint_factory", "ssl_session_cache"):
            value, default = getattr(cluster, name), getattr(ClusterBase(), name)
            # Policies compare by identity.
            assert value == default or type(value) is type(default), name
    assert face(compression=False).compression is False
