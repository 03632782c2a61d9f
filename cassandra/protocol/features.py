"""A node's extensions of the protocol, parsed from its SUPPORTED options.

The names are those of ScyllaDB's protocol-extensions document, and of Cassandra's CEP-59. An option
that cannot be read is taken as absent.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

LWT_ADD_METADATA_MARK = "SCYLLA_LWT_ADD_METADATA_MARK"
LWT_OPTIMIZATION_META_BIT_MASK = "LWT_OPTIMIZATION_META_BIT_MASK"
RATE_LIMIT_ERROR_EXTENSION = "SCYLLA_RATE_LIMIT_ERROR"
TABLETS_ROUTING_V1 = "TABLETS_ROUTING_V1"
TABLETS_ROUTING_V2 = "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"  # its form may still change
USE_METADATA_ID = "SCYLLA_USE_METADATA_ID"
GRACEFUL_DISCONNECT = "GRACEFUL_DISCONNECT"

# The names of options that no other server has begin so.
_OF_SCYLLA = ("SCYLLA_", "TABLETS_ROUTING_")

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
    """How a node spreads tokens over its shards.

    :param shards_count: how many shards the node has.
    :param partitioner: the server's class of the partitioner.
    :param sharding_algorithm: the algorithm's name.
    :param sharding_ignore_msb: how many of a token's highest bits do not count.
    :param shard_aware_port: the port that chooses a shard; None if the node does not have one.
    :param shard_aware_port_ssl: that port for TLS; None if the node does not have one.
    """

    shards_count: int
    partitioner: str
    sharding_algorithm: str
    sharding_ignore_msb: int
    shard_aware_port: int | None
    shard_aware_port_ssl: int | None

    def shard_id_from_token(self, token: Any) -> int:
        """Return the shard of a token, a number or an object with a `value`.

        The algorithm is ScyllaDB's "biased-token-round-robin".

        :param token: the token.
        """
        number = int(getattr(token, "value", token))
        biased = (number + (1 << 63) << self.sharding_ignore_msb) & (1 << 64) - 1
        return biased * self.shards_count >> 64


class LwtInfo(NamedTuple):
    """How a server marks prepared lightweight transactions.

    :param meta_bit_mask: the bits that are then set in the flags of the metadata.
    """

    meta_bit_mask: int

    def get_lwt_flag(self, flags: int) -> bool:
        """Return True if PREPARED metadata with these flags is of a lightweight transaction.

        :param flags: the flags of the metadata.
        """
        # All bits of the mask: its form lets a server choose a mask of more than one bit.
        return (flags & self.meta_bit_mask) == self.meta_bit_mask


class ProtocolFeatures:
    """The extensions that both sides of one connection have agreed on.

    :param rate_limit_error: the code of that ERROR, or None if the server does not have it.
    :param shard_id: the shard that serves this connection.
    :param sharding_info: how the node spreads tokens over its shards.
    :param tablets_routing_v1: the server sends tablet routing with responses.
    :param tablets_routing_v2: every EXECUTE ends with a byte of the tablet's version.
    :param lwt_info: how prepared lightweight transactions are marked.
    :param use_metadata_id: result metadata ids are used before version 5 too.
    :param host_id: the id of the node that answers; None if it does not say it.
    :param graceful_disconnect: the server says by an event that it will close the connection soon.
    :param is_scylla: the server is ScyllaDB, also if it does not tell of its shards.
    """

    __slots__ = (
        "graceful_disconnect",
        "host_id",
        "is_scylla",
        "lwt_info",
        "rate_limit_error",
        "shard_id",
        "sharding_info",
        "tablets_routing_v1",
        "tablets_routing_v2",
        "use_metadata_id",
    )

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
        self.is_scylla = sharding_info is not None if is_scylla is None else is_scylla

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in self.__slots__ if getattr(self, name)
        )
        return f"ProtocolFeatures({fields})"

    @staticmethod
    def parse_from_supported(supported: Options) -> ProtocolFeatures:
        """Return the features that a SUPPORTED message's options offer.

        :param supported: the values of each option, by its name.
        """
        shard_id, sharding_info = _sharding(supported)
        return ProtocolFeatures(
            rate_limit_error=_number(
                _settings(supported, RATE_LIMIT_ERROR_EXTENSION).get("ERROR_CODE")
            ),
            shard_id=shard_id,
            sharding_info=sharding_info,
            tablets_routing_v1=TABLETS_ROUTING_V1 in supported,
            tablets_routing_v2=TABLETS_ROUTING_V2 in supported,
            lwt_info=_lwt(supported),
            use_metadata_id=USE_METADATA_ID in supported,
            host_id=_uuid(_first(supported, _HOST_ID)),
            graceful_disconnect=_first(supported, GRACEFUL_DISCONNECT) == "true",
            is_scylla=is_scylla(supported),
        )

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add the options to STARTUP that tell the server which extensions the client takes.

        :param options: those of STARTUP so far.
        """
        if self.rate_limit_error is not None:
            options[RATE_LIMIT_ERROR_EXTENSION] = ""
        # The newer one alone, if the server offers both.
        if self.tablets_routing_v2:
            options[TABLETS_ROUTING_V2] = ""
        elif self.tablets_routing_v1:
            options[TABLETS_ROUTING_V1] = ""
        if self.use_metadata_id:
            options[USE_METADATA_ID] = ""
        if self.lwt_info is not None:
            # The mask goes back in decimal as it is kept, unsigned, whatever its form in SUPPORTED
            # was.
            options[LWT_ADD_METADATA_MARK] = str(self.lwt_info.meta_bit_mask)


def is_scylla(supported: Options) -> bool:
    """Return True if a SUPPORTED message's options are those of a ScyllaDB node.

    With shard awareness off it has no SCYLLA_SHARD and its like, but its other extensions.

    :param supported: the values of each option, by its name.
    """
    return any(name.startswith(_OF_SCYLLA) for name in supported)


ProtocolFeatures.__module__ = "cassandra.protocol_features"


def _first(supported: Options, name: str) -> str | None:
    values = supported.get(name)
    return values[0] if values else None


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _uuid(text: str | None) -> uuid.UUID | None:
    try:
        return None if text is None else uuid.UUID(text)
    except ValueError:
        return None


def _settings(supported: Options, name: str) -> dict[str, str]:
    """Return the NAME=value items of an option."""
    return dict(item.split("=", 1) for item in supported.get(name, ()) if "=" in item)


def _lwt(supported: Options) -> LwtInfo | None:
    mask = _number(_settings(supported, LWT_ADD_METADATA_MARK).get(LWT_OPTIMIZATION_META_BIT_MASK))
    if mask is None:
        return None
    # The mask may be written as a signed number; flags are compared as the unsigned 32 bits that
    # they are.
    return LwtInfo(mask & 0xFFFFFFFF) if mask else None


def _sharding(supported: Options) -> tuple[int, ShardingInfo | None]:
    shard = _number(_first(supported, _SHARD))
    count = _number(_first(supported, _NR_SHARDS))
    algorithm: Any = _first(supported, _SHARDING_ALGORITHM)
    # Without all of these a token's shard cannot be computed: the node counts as one without.
    if shard is None or not count or count < 0 or algorithm is None:
        return 0, None
    return shard, ShardingInfo(
        count,
        _first(supported, _PARTITIONER) or "",
        algorithm,
        _number(_first(supported, _IGNORE_MSB)) or 0,
        _number(_first(supported, _SHARD_AWARE_PORT)),
        _number(_first(supported, _SHARD_AWARE_PORT_SSL)),
    )
