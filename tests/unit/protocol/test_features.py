"""Test `ProtocolFeatures`, ScyllaDB's protocol extensions in SUPPORTED and STARTUP messages.

ScyllaDB's document "protocol-extensions" describes them.
"""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.metadata.placement.tokens import Murmur3Token
from cassandra.protocol.features import LwtInfo, ProtocolFeatures, ShardingInfo

# The options by which a node of ScyllaDB describes its extensions.
SUPPORTED: dict[str, list[str]] = {
    "SCYLLA_SHARD": ["3"],
    "SCYLLA_NR_SHARDS": ["12"],
    "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
    "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
    "SCYLLA_SHARDING_IGNORE_MSB": ["12"],
    "SCYLLA_SHARD_AWARE_PORT": ["19042"],
    "SCYLLA_LWT_ADD_METADATA_MARK": ["LWT_OPTIMIZATION_META_BIT_MASK=2147483648"],
    "SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=61440"],
    "TABLETS_ROUTING_V1": [""],
    "TABLETS_ROUTING_V2_EXPERIMENTAL_V2": [""],
    "SCYLLA_USE_METADATA_ID": [""],
    "SCYLLA_HOST_ID": ["d2f0c1a2-0000-4000-8000-000000000007"],
}


def parsed(**changed_options: Any) -> ProtocolFeatures:
    """Parse the options of SUPPORTED, with some options changed."""
    return ProtocolFeatures.parse_from_supported({**SUPPORTED, **changed_options})


def test_all_that_a_server_offers() -> None:
    """Every feature that a server offers is parsed from the options of SUPPORTED."""
    features = parsed()
    assert features.shard_id == 3
    assert features.sharding_info == ShardingInfo(
        12,
        "org.apache.cassandra.dht.Murmur3Partitioner",
        "biased-token-round-robin",
        sharding_ignore_msb=12,
        shard_aware_port=19042,
        shard_aware_port_ssl=None,
    )
    assert features.lwt_info == LwtInfo(0x80000000)
    assert features.rate_limit_error == 61440
    assert features.tablets_routing_v1
    assert features.tablets_routing_v2
    assert features.use_metadata_id
    assert features.host_id == uuid.UUID("d2f0c1a2-0000-4000-8000-000000000007")


def test_negotiated_options_go_into_startup() -> None:
    """STARTUP gets the extensions that the server offers and the client uses."""
    options: dict[str, str] = {}
    parsed().add_startup_options(options)
    assert options == {
        "SCYLLA_RATE_LIMIT_ERROR": "",
        # The client chooses version 2, although the server also offers version 1.
        "TABLETS_ROUTING_V2_EXPERIMENTAL_V2": "",
        "SCYLLA_USE_METADATA_ID": "",
        "SCYLLA_LWT_ADD_METADATA_MARK": "2147483648",
    }
    options.clear()
    ProtocolFeatures.parse_from_supported({"CQL_VERSION": ["3.4.7"]}).add_startup_options(options)
    assert options == {}


@pytest.mark.parametrize(
    "changed_options",
    [
        {"SCYLLA_SHARD": []},
        {"SCYLLA_SHARD": ["x"]},
        {"SCYLLA_SHARD": ["-1"]},
        {"SCYLLA_NR_SHARDS": ["0"]},
        {"SCYLLA_NR_SHARDS": ["-1"]},
        {"SCYLLA_SHARDING_ALGORITHM": []},
    ],
)
def test_incomplete_sharding_options_are_ignored(changed_options: Any) -> None:
    """If a sharding option is missing or wrong, the node counts as a node without shards."""
    features = parsed(**changed_options)
    assert features.shard_id == 0
    assert features.sharding_info is None


def test_options_that_cannot_be_read_are_absent() -> None:
    """Options with invalid values count as missing."""
    assert parsed(SCYLLA_RATE_LIMIT_ERROR=["ERROR_CODE=x"]).rate_limit_error is None
    assert parsed(SCYLLA_RATE_LIMIT_ERROR=["61440"]).rate_limit_error is None
    for mask in ("MASK=1", "LWT_OPTIMIZATION_META_BIT_MASK=0"):
        assert parsed(SCYLLA_LWT_ADD_METADATA_MARK=[mask]).lwt_info is None


def test_a_mask_is_unsigned_and_all_of_its_bits_count() -> None:
    """A negative mask is read as unsigned; the flag is set only if all bits of the mask are set."""
    signed_mask = "LWT_OPTIMIZATION_META_BIT_MASK=-2147483648"
    assert parsed(SCYLLA_LWT_ADD_METADATA_MARK=[signed_mask]).lwt_info == LwtInfo(0x80000000)
    two_bits = LwtInfo(0b101)
    assert two_bits.get_lwt_flag(0b111)
    assert two_bits.get_lwt_flag(0b101)
    assert not two_bits.get_lwt_flag(0b001)
    assert not two_bits.get_lwt_flag(0)


def test_shards_of_tokens() -> None:
    """The shard of a token is computed like in the server: here for four shards."""
    info = ShardingInfo(
        shards_count=4,
        partitioner="",
        sharding_algorithm="biased-token-round-robin",
        sharding_ignore_msb=0,
        shard_aware_port=None,
        shard_aware_port_ssl=None,
    )
    quarter_ring = 1 << 62
    # the first token, the tokens at which the other shards begin, and the last token
    tokens = [-(1 << 63), -(1 << 63) + quarter_ring, 0, quarter_ring, (1 << 63) - 1]
    assert [info.shard_id_from_token(token) for token in tokens] == [0, 1, 2, 3, 3]
    assert info.shard_id_from_token(Murmur3Token(0)) == 2
    # With 12 ignored bits, the shards repeat 4096 times around the ring. Each repetition has 2**52
    # tokens, and `1 << 50` is a quarter of that.
    repeated = info._replace(sharding_ignore_msb=12)
    tokens = [-(1 << 63) + (number << 50) for number in range(5)]
    assert [repeated.shard_id_from_token(token) for token in tokens] == [0, 1, 2, 3, 0]


def test_the_repr_of_features() -> None:
    """The repr of `ProtocolFeatures` shows only features that are set."""
    assert (
        repr(ProtocolFeatures(tablets_routing_v1=True))
        == "ProtocolFeatures(tablets_routing_v1=True)"
    )
