"""`prepare_body`, which encodes the body of a PREPARE request.

See native_protocol_v5.spec, section 4.1.5.
"""

from __future__ import annotations

import pytest

from cassandra.engine.prepare.body import prepare_body
from tests.unit.protocol.wire import int32, string

QUERY_BYTES = int32(8) + b"SELECT 1"  # a [long string]


@pytest.mark.parametrize("version", [3, 4])
def test_before_version_5_there_is_no_keyspace(version: int) -> None:
    """In versions 3 and 4, the body has only the query: the keyspace is left out."""
    assert prepare_body("SELECT 1", keyspace="ks", version=version) == QUERY_BYTES


def test_in_version_5_flags_say_whether_a_keyspace_follows() -> None:
    """In version 5, flags follow the query. A keyspace follows only if its flag is set."""
    with_keyspace, no_flags = int32(1), int32(0)
    body = prepare_body("SELECT 1", keyspace="ks", version=5)
    assert body == QUERY_BYTES + with_keyspace + string("ks")
    assert prepare_body("SELECT 1", keyspace=None, version=5) == QUERY_BYTES + no_flags
