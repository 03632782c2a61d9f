"""The Python examples of docs/security.rst run unchanged, and configure what the guide says."""

from __future__ import annotations

import asyncio
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cassandra.auth import PlainTextAuthProvider
from cassandra.tls import ReloadingContext

from .astra import Astra
from .certificates import Authority

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "security.rst"


def python_blocks() -> list[str]:
    """Return the Python examples of the guide, in order."""
    sources = re.findall(r"\.\. code-block:: python\n\n((?:(?:   .*)?\n)+)", GUIDE.read_text())
    return [textwrap.dedent(block) for block in sources]


def test_the_examples_of_the_guide_run(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run all examples in one namespace, and check the clusters that they create.

    The examples find their certificates and bundle in the working directory.
    """
    monkeypatch.chdir(tmp_path)
    certificate, key = authority.issue("client")
    for source, name in (
        (authority.path, "ca.pem"),
        (certificate, "client.pem"),
        (key, "client.key"),
    ):
        shutil.copy(source, name)
    namespace: dict[str, Any] = {}
    clusters = []
    with Astra(authority, {"00000000-0000-0000-0000-000000000001": ("127.0.0.1", 1)}) as astra:
        astra.bundle(tmp_path / "secure-connect-shop.zip")
        for block in python_blocks():
            exec(compile(block, "<guide>", "exec"), namespace)
            clusters.append(namespace["cluster"])
    # The clusters of the examples, in the order of the guide. The eighth example creates no
    # cluster: it defines the class TokenAuthProvider.
    plain, named, named_by_node, with_port, reloading, resuming, login, _, cloud = clusters
    assert plain.ssl_context.check_hostname
    assert named.ssl_options == {"server_hostname": "db.example.com"}
    (contact_point,) = named_by_node.contact_points
    assert contact_point.ssl_options == {"server_hostname": "a.db.example.com"}
    row = {"rpc_address": "10.0.0.2", "native_port": 9042}
    assert with_port.endpoint_factory.create(row).port == with_port.port == 9142
    assert isinstance(reloading.ssl_context, ReloadingContext)
    assert resuming.ssl_session_cache.with_client_certificates
    assert isinstance(login.auth_provider, PlainTextAuthProvider)
    authenticator = asyncio.run(namespace["TokenAuthProvider"]().new_authenticator("10.0.0.1"))
    assert authenticator.initial_response() == b"\0ada\0secret"
    # The metadata service names one node.
    assert len(cloud.endpoints_resolved) == 1
