"""Tests of the name and version that applications can send to the server."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.application_info import ApplicationInfo, ApplicationInfoBase
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode, Opcode


def startups(**settings: Any) -> list[dict[str, str]]:
    """Connect a cluster with these settings, and return the options of each STARTUP."""
    with FakeNode() as node, Cluster([node.address], port=node.port, **settings) as cluster:
        cluster.connect(wait_for_all_pools=True)
        return [
            dict(request.options) for request in node.requests if request.opcode == Opcode.STARTUP
        ]


def test_startup_messages_have_the_applications_name_version_and_id() -> None:
    client_id = uuid.uuid4()
    names = {"APPLICATION_NAME": "shop", "APPLICATION_VERSION": "1.2", "CLIENT_ID": str(client_id)}
    for settings in (
        {"application_name": "shop", "application_version": "1.2", "client_id": client_id},
        {"application_info": ApplicationInfo("shop", "1.2", str(client_id))},
    ):
        options = startups(**settings)
        # These are from the control connection and the connection of the pool.
        assert len(options) == 2
        for startup_options in options:
            assert names.items() <= startup_options.items()
    (startup_options, _) = startups()
    assert not names.keys() & startup_options.keys()
    with pytest.raises(TypeError, match="application_version must be a str"):
        Cluster(application_version=2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="client_id must be a str"):
        ApplicationInfo(client_id=5)  # type: ignore[arg-type]
    assert issubclass(ApplicationInfo, ApplicationInfoBase)
