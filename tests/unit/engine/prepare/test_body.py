"""The body of a PREPARE: native_protocol_v5.spec, section 4.1.5."""

from __future__ import annotations

import pytest

from cassandra.engine.prepare.body import prepare_body
from tests.unit.protocol.wire import int32, string

TEXT = int32(8) + b"SELECT 1"


@pytest.mark.parametrize("version", [3, 4])
def test_before_version_5_there_is_no_keyspace(version: int) -> None:
    assert prepare_body("SELECT 1", "ks", version) == TEXT


def test_version_5() -> None:
    assert prepare_body("SELECT 1", "ks", 5) == TEXT + int32(1) + string("ks")
    assert prepare_body("SELECT 1", keyspace=None, version=5) == TEXT + int32(0)
