"""A client that is connected to a fake node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.testing.fake import FakeNode

from .client import RawClient


@pytest.fixture
def client(node: FakeNode) -> Iterator[RawClient]:
    """Yield a client of version 4, after its STARTUP."""
    with RawClient(node) as raw_client:
        raw_client.start(version=4)
        yield raw_client
