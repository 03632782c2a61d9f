"""A fake node, and a client that is connected to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.testing.fake import FakeNode

from .client import RawClient


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a running node."""
    with FakeNode() as running_node:
        yield running_node


@pytest.fixture
def client(node: FakeNode) -> Iterator[RawClient]:
    """Yield a client of version 4, after its STARTUP."""
    with RawClient(node) as raw_client:
        raw_client.start(version=4)
        yield raw_client
