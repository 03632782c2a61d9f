"""The protocol extensions that a node offers, parsed from the options of its SUPPORTED message.

The names come from ScyllaDB's document "protocol extensions" and from Cassandra's CEP-59
(GRACEFUL_DISCONNECT). An option whose value cannot be parsed is ignored.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# The names of the protocol extensions that the driver knows. LWT_OPTIMIZATION_META_BIT_MASK is a
# setting of the first extension.
LWT_ADD_METADATA_MARK = "SCYLLA_LWT_ADD_METADATA_MARK"
LWT_OPTIMIZATION_META_BIT_MASK = "LWT_OPTIMIZATION_META_BIT_MASK"
RATE_LIMIT_ERROR_EXTENSION = "SCYLLA_RATE_LIMIT_ERROR"
TABLETS_ROUTING_V1 = "TABLETS_ROUTING_V1"
TABLETS_ROUTING_V2 = "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"  # experimental: it may still change
USE_METADATA_ID = "SCYLLA_USE_METADATA_ID"
GRACEFUL_DISCONNECT = "GRACEFUL_DISCONNECT"

# The names of ScyllaDB's own options begin with these prefixes.
_SCYLLA_PREFIXES = ("SCYLLA_", "TABLETS_ROUTING_")

# The options of SUPPORTED that describe the server's node and its shards.
_HOST_ID = "SCYLLA_HOST_ID"
_SHARD = "SCYLLA_SHARD"
_NR_SHARDS = "SCYLLA_NR_SHARDS"
_PARTITIONER = "SCYLLA_PARTITIONER"
_SHARDING_ALGORITHM = "SCYLLA_SHARDING_ALGORITHM"
_IGNORE_MSB = "SCYLLA_SHARDING_IGNORE_MSB"
_SHARD_AWARE_PORT = "SCYLLA_SHARD_AWARE_PORT"
_SHARD_AWARE_PORT_SSL = "SCYLLA_SHARD_AWARE_PORT_SSL"

Options = Mapping[str, Sequence[str]]


class ShardingInfo(NamedTuple):
    """How a ScyllaDB node distributes tokens over its shards.

    :param shards_count: the number of shards of the node.
    :param partitioner: the partitioner, as the name of the server's class.
    :param sharding_algorithm: the name of the algorithm.
    :param sharding_ignore_msb: the number of a token's most significant bits that the algorithm
        ignores.
    :param shard_aware_port: the port on which the client chooses the shard of a new connection;
        None if the node has no such port.
    :param shard_aware_port_ssl: the shard-aware port for TLS connections, or None.
    """

    shards_count: int
    partitioner: str
    sharding_algorithm: str
    sharding_ignore_msb: int
    shard_aware_port: int | None
    shard_aware_port_ssl: int | None

    def shard_id_from_token(self, token: Any) -> int:
        """Return the shard of a token, computed by ScyllaDB's algorithm "biased-token-round-robin".

        :param token: an int, or an object whose attribute `value` is the number.
        """
        number = int(getattr(token, "value", token))
        # Make the token unsigned, drop the ignored highest bits, and scale the result to the number
        # of shards.
        biased = (number + (1 << 63) << self.sharding_ignore_msb) & (1 << 64) - 1
        return biased * self.shards_count >> 64


class LwtInfo(NamedTuple):
    """How a server marks prepared statements that are lightweight transactions.

    :param meta_bit_mask: the server sets these bits in the flags of such a statement's metadata.
    """

    meta_bit_mask: int

    def get_lwt_flag(self, flags: int) -> bool:
        """Return True if a PREPARED message with these flags describes a lightweight transaction.

        :param flags: the flags of the metadata.
        """
        # All bits of the mask must be set: a server may choose a mask of more than one bit.
        return (flags & self.meta_bit_mask) == self.meta_bit_mask


class ProtocolFeatures:
    """The extensions that a server offers or, after the handshake, that both sides use.

    :param rate_limit_error: the ERROR code for an exceeded rate limit; None without the extension.
    :param shard_id: the shard that serves this connection.
    :param sharding_info: how the node distributes tokens over its shards; None if it has no shards.
    :param tablets_routing_v1: True if the server adds information about tablets to responses.
    :param tablets_routing_v2: True if every EXECUTE ends with a byte with the tablet's version.
    :param lwt_info: how prepared lightweight transactions are marked, or None.
    :param use_metadata_id: True if EXECUTE has a result metadata id even before version 5.
    :param host_id: the host id of the node, or None if SUPPORTED does not contain it.
    :param graceful_disconnect: True if the server sends an event before it closes the connection.
    :param is_scylla: True if the server is ScyllaDB. None derives it from `sharding_info`: a node
        with shards is a ScyllaDB node.
    """

    __slots__ = (
        "graceful_disconnect", "host_id", "is_scylla", "lwt_info", "rate_limit_error", "shard_id",
        "sharding_info", "tablets_routing_v1", "tablets_routing_v2", "use_metadata_id",
    )  # fmt: skip

    def __init__(
        self,
        rate_limit_error: int | None = None,
        shard_id: int = 0,
        sharding_info: ShardingInfo | None = None,
        tablets_routing_v1: bool = False,
        tablets_routing_v2: bool = False,
        lwt_info: LwtInfo | None = None,
        use_metadata_id: bool = False,
        host_id: uuid.UUID | None = None,
        graceful_disconnect: bool = False,
        is_scylla: bool | None = None,
    ) -> None:
        self.rate_limit_error = rate_limit_error
        self.shard_id = shard_id
        self.sharding_info = sharding_info
        self.tablets_routing_v1 = tablets_routing_v1
        self.tablets_routing_v2 = tablets_routing_v2
        self.lwt_info = lwt_info
        self.use_metadata_id = use_metadata_id
        self.host_id = host_id
        self.graceful_disconnect = graceful_disconnect
        # If the caller has not set `is_scylla`, a node with shards is a ScyllaDB node.
        self.is_scylla = sharding_info is not None if is_scylla is None else is_scylla

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in self.__slots__ if getattr(self, name)
        )
        return f"ProtocolFeatures({fields})"

    @staticmethod
    def parse_from_supported(supported: Options) -> ProtocolFeatures:
        """Return the extensions that a server offers in its SUPPORTED message.

        :param supported: the values of each option, by the option's name.
        """
        shard_id, sharding_info = _parse_sharding(supported)
        return ProtocolFeatures(
            rate_limit_error=_parse_int(
                _named_settings(supported, RATE_LIMIT_ERROR_EXTENSION).get("ERROR_CODE")
            ),
            shard_id=shard_id,
            sharding_info=sharding_info,
            tablets_routing_v1=TABLETS_ROUTING_V1 in supported,
            tablets_routing_v2=TABLETS_ROUTING_V2 in supported,
            lwt_info=_parse_lwt_info(supported),
            use_metadata_id=USE_METADATA_ID in supported,
            host_id=_parse_uuid(_first_value(supported, _HOST_ID)),
            graceful_disconnect=_first_value(supported, GRACEFUL_DISCONNECT) == "true",
            is_scylla=is_scylla(supported),
        )

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add to STARTUP the options that tell the server which extensions the client accepts.

        :param options: the options of STARTUP so far; they are changed in place.
        """
        if self.rate_limit_error is not None:
            options[RATE_LIMIT_ERROR_EXTENSION] = ""
        # If the server offers both versions, accept only version 2.
        if self.tablets_routing_v2:
            options[TABLETS_ROUTING_V2] = ""
        elif self.tablets_routing_v1:
            options[TABLETS_ROUTING_V1] = ""
        if self.use_metadata_id:
            options[USE_METADATA_ID] = ""
        if self.lwt_info is not None:
            # Send the mask as an unsigned number, even if it was negative in SUPPORTED.
            options[LWT_ADD_METADATA_MARK] = str(self.lwt_info.meta_bit_mask)


def is_scylla(supported: Options) -> bool:
    """Return True if a SUPPORTED message comes from a ScyllaDB node.

    Any option with a ScyllaDB prefix shows that. SCYLLA_SHARD is not enough: a node does not send
    it if shard awareness is turned off.

    :param supported: the values of each option, by the option's name.
    """
    return any(name.startswith(_SCYLLA_PREFIXES) for name in supported)


ProtocolFeatures.__module__ = "cassandra.protocol_features"


def _first_value(supported: Options, name: str) -> str | None:
    values = supported.get(name)
    return values[0] if values else None


def _parse_int(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _parse_uuid(text: str | None) -> uuid.UUID | None:
    try:
        return None if text is None else uuid.UUID(text)
    except ValueError:
        return None


def _named_settings(supported: Options, name: str) -> dict[str, str]:
    """Return the NAME=value items of an option as a dict."""
    return dict(item.split("=", 1) for item in supported.get(name, ()) if "=" in item)


def _parse_lwt_info(supported: Options) -> LwtInfo | None:
    """Return how lightweight transactions are marked; None if the server does not mark them."""
    mask = _parse_int(
        _named_settings(supported, LWT_ADD_METADATA_MARK).get(LWT_OPTIMIZATION_META_BIT_MASK)
    )
    if mask is None:
        return None
    # The mask may be a negative number in SUPPORTED. Make it unsigned, because flags are unsigned.
    return LwtInfo(mask & 0xFFFFFFFF) if mask else None


def _parse_sharding(supported: Options) -> tuple[int, ShardingInfo | None]:
    """Return the shard of this connection and the node's sharding; (0, None) without shards."""
    shard = _parse_int(_first_value(supported, _SHARD))
    count = _parse_int(_first_value(supported, _NR_SHARDS))
    algorithm: Any = _first_value(supported, _SHARDING_ALGORITHM)
    # All three options are needed to compute the shard of a token. If one is missing, treat the
    # node as a node without shards.
    if shard is None or shard < 0 or not count or count < 0 or algorithm is None:
        return 0, None
    return shard, ShardingInfo(
        count,
        _first_value(supported, _PARTITIONER) or "",
        algorithm,
        _parse_int(_first_value(supported, _IGNORE_MSB)) or 0,
        _parse_int(_first_value(supported, _SHARD_AWARE_PORT)),
        _parse_int(_first_value(supported, _SHARD_AWARE_PORT_SSL)),
    )
