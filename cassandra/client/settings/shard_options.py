"""`ShardAwareOptions`, the setting of a cluster for the shards of ScyllaDB nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra.engine.pools.shard_ports import (
    DEFAULT_LOCAL_PORT_HIGH,
    DEFAULT_LOCAL_PORT_LOW,
    ShardAwarePortGenerator,
)


class ShardAwareOptions:
    """Settings for connections to the shards of ScyllaDB nodes.

    :param opts: another `ShardAwareOptions` to copy, or a mapping of the settings below.
    :param disable: True to treat ScyllaDB nodes like nodes without shards.
    :param disable_shardaware_port: True to connect only to the ordinary port. False to use the
        shard-aware port, where the client's local port selects the shard.
    :param local_ports: the range of local ports to use for connections to the shard-aware port:
        the first and the last port.
    :raises ValueError: if `opts` has another setting, or the ports are out of range.
    """

    def __init__(
        self,
        opts: ShardAwareOptions | Mapping[str, Any] | None = None,
        disable: bool | None = None,
        disable_shardaware_port: bool = False,
        local_ports: tuple[int, int] = (DEFAULT_LOCAL_PORT_LOW, DEFAULT_LOCAL_PORT_HIGH),
    ) -> None:
        source = opts if isinstance(opts, ShardAwareOptions) else None
        settings = opts if isinstance(opts, Mapping) else {}
        unknown_names = sorted(
            set(settings) - {"disable", "disable_shardaware_port", "local_ports"}
        )
        if unknown_names:
            raise ValueError(
                f"shard_aware_options has no setting {', '.join(unknown_names)}; it has disable, "
                "disable_shardaware_port, local_ports"
            )

        def option(name: str, argument: Any) -> Any:
            """Return a setting of `opts`, or the constructor's argument if `opts` lacks it."""
            return settings.get(name, getattr(source, name, argument))

        self.disable = option("disable", disable)
        low, high = option("local_ports", local_ports)
        ShardAwarePortGenerator(low, high)  # raises ValueError if the ports are invalid
        self.local_ports = (int(low), int(high))
        self.disable_shardaware_port = bool(
            option("disable_shardaware_port", disable_shardaware_port)
        )

    def __repr__(self) -> str:
        return (
            f"ShardAwareOptions(disable={self.disable!r}, "
            f"disable_shardaware_port={self.disable_shardaware_port!r})"
        )


ShardAwareOptions.__module__ = "cassandra.cluster"
