"""`Host`: what the driver knows about one node of the cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from cassandra._clocks import wall_time_ns
from cassandra._habits import HOST, add_habits
from cassandra.metadata.endpoint import DefaultEndPoint, EndPoint
from cassandra.sentinels import NOT_SET

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.protocol.features import ShardingInfo
else:
    from cassandra._impl import bases

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Host(bases.HostBase):
    """A node of the cluster: its end point, location and state.

    Hosts are compared, ordered and hashed by end point. A string is equal to a host with that
    address. `is_up` is True, False, or None if the state is not known yet. `state` is the same
    information as a word, with more detail. `last_failure` is the most recent error of a connection
    to the node since the node was up, or None. If the node is down, this error is the reason.

    :param endpoint: the end point of the node. A string is an address with the default port.
    :param conviction_policy_factory: called with the host; returns the `ConvictionPolicy` that
        decides after how many failures the host counts as down. Leave it out for a host to which
        the driver does not connect.
    :param datacenter: the node's data centre; None if it is not known yet.
    :param rack: the node's rack; None if it is not known yet.
    :param host_id: the id that the node generated; None if it is not known yet.
    :raises ValueError: if `endpoint` or `conviction_policy_factory` is None.
    """

    __slots__ = (
        "__weakref__", "_datacenter", "_down_since_ns", "_draining", "_failed_at_ns", "_given_up",
        "_hash", "_rack", "broadcast_address", "broadcast_port", "broadcast_rpc_address",
        "broadcast_rpc_port", "conviction_policy", "dse_version", "dse_workload", "dse_workloads",
        "endpoint", "host_id", "last_failure", "listen_address", "listen_port", "release_version",
        "schema_version", "sharding_info", "tokens",
    )  # fmt: skip

    def __init__(
        self,
        endpoint: EndPoint | str,
        conviction_policy_factory: Callable[[Host], Any] = NOT_SET,
        datacenter: str | None = None,
        rack: str | None = None,
        host_id: uuid.UUID | None = None,
    ) -> None:
        if endpoint is None:
            raise ValueError("endpoint must not be None")
        if conviction_policy_factory is None:
            raise ValueError("conviction_policy_factory must not be None")
        # Also accept an address as a string, because older applications pass strings.
        self.endpoint = DefaultEndPoint(endpoint) if isinstance(endpoint, str) else endpoint
        self._hash = hash(self.endpoint)  # cached, because each request needs it several times
        # `_given_up` and `_draining` distinguish the ways in which a host is down: see `state`.
        self._given_up = False
        self._draining = False
        # Wall time in nanoseconds at which `is_up` became False; 0 if it has never been False.
        self._down_since_ns = 0
        # The most recent error of a connection to the node since the node was up; None if there is
        # no such error.
        self.last_failure: Exception | None = None
        self._failed_at_ns = 0  # wall time of `last_failure` in nanoseconds
        self.conviction_policy = (
            conviction_policy_factory(self) if conviction_policy_factory is not NOT_SET else None
        )
        self.host_id = host_id
        self._datacenter = datacenter
        self._rack = rack
        # `is_up` is None until the driver has tried to connect.
        self.is_up: bool | None = None
        self.broadcast_address: str | None = None
        self.broadcast_port: int | None = None
        self.broadcast_rpc_address: str | None = None
        self.broadcast_rpc_port: int | None = None
        self.listen_address: str | None = None
        self.listen_port: int | None = None
        self.release_version: str | None = None
        self.schema_version: uuid.UUID | None = None
        self.tokens: tuple[str, ...] = ()
        # How a ScyllaDB node distributes tokens over its shards; None for other nodes.
        self.sharding_info: ShardingInfo | None = None
        self.dse_version: str | None = None
        self.dse_workload: str | None = None
        self.dse_workloads: frozenset[str] | None = None

    @property
    def address(self) -> str:
        """The address to which the driver connects."""
        return str(self.endpoint.address)

    @property
    def datacenter(self) -> str | None:
        """The node's data centre; None if it is not known yet."""
        return self._datacenter

    @property
    def rack(self) -> str | None:
        """The node's rack; None if it is not known yet."""
        return self._rack

    def set_location_info(self, datacenter: str | None, rack: str | None) -> None:
        """Set the node's data centre and rack.

        :param datacenter: the name of the data centre, or None.
        :param rack: the name of the rack, or None.
        """
        self._datacenter = datacenter
        self._rack = rack

    def set_up(self) -> None:
        """Set `is_up` to True: the node responds."""
        self._given_up = False
        self._draining = False
        self.last_failure = None
        self.is_up = True
        # Call the policy last, because an application's policy may raise an error.
        if self.conviction_policy is not None:
            self.conviction_policy.reset()

    def set_down(self) -> None:
        """Set `is_up` to False: the node does not respond. The driver keeps trying to reach it."""
        self._draining = False
        self._mark_down()

    def set_draining(self) -> None:
        """Set `is_up` to False and `state` to "draining": the node has announced that it will stop.

        The node accepts no new requests, but it still responds to requests in flight.

        .. versionadded:: 4.0
        """
        self._draining = True
        self._mark_down()

    def force_down(self) -> None:
        """Set `is_up` to False, and do not try the node until the cluster reports it as up."""
        self._draining = False
        self._mark_down()
        self._given_up = True

    def _mark_down(self) -> None:
        """Set `is_up` to False, and store the time unless it was already False."""
        if self.is_up is not False:
            self._down_since_ns = wall_time_ns()
        self.is_up = False

    def _remember_failure(self, error: Exception) -> None:
        """Set `last_failure` and its time."""
        self.last_failure = error
        self._failed_at_ns = wall_time_ns()

    @property
    def last_failure_at(self) -> datetime | None:
        """The time of `last_failure`, in UTC; None if there is no such error.

        .. versionadded:: 4.0
        """
        if self.last_failure is None:
            return None
        return _EPOCH + timedelta(microseconds=self._failed_at_ns // 1000)

    @property
    def down_since(self) -> datetime | None:
        """The time at which the driver noticed that the node is down, in UTC; None if it is up.

        .. versionadded:: 4.0
        """
        if self.is_up is not False or not self._down_since_ns:
            return None
        return _EPOCH + timedelta(microseconds=self._down_since_ns // 1000)

    @property
    def state(self) -> str:
        """The state as a word: "up", "down", "forced down", "draining" or "unknown".

        If a host is "down", the driver keeps trying to reach it; if it is "forced down", it does
        not. "draining" means that the node has announced that it will stop soon
        (GRACEFUL_DISCONNECT). Then `is_up` is False, but the node may respond to requests in
        flight.
        """
        if self.is_up is None:
            return "unknown"
        if self.is_up:
            return "up"
        if self._draining:
            return "draining"
        return "forced down" if self._given_up else "down"

    def signal_connection_failure(self, connection_exc: BaseException) -> bool:
        """Report a failure to the conviction policy; return True if the node now counts as down.

        :param connection_exc: the error of the connection.
        """
        return self.conviction_policy is None or bool(
            self.conviction_policy.add_failure(connection_exc)
        )

    def __eq__(self, other: object) -> bool:
        # In look-ups, most comparisons are of a host with itself, so first compare by identity.
        if self is other:
            return True
        if isinstance(other, Host):
            return bool(self.endpoint == other.endpoint)
        # Compare a string with the address, because applications compare hosts with addresses.
        return self.address == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Host) -> bool:
        return bool(self.endpoint < other.endpoint)

    def __le__(self, other: Host) -> bool:
        return not other < self

    def __gt__(self, other: Host) -> bool:
        return other < self

    def __ge__(self, other: Host) -> bool:
        return not self < other

    def __str__(self) -> str:
        return str(self.endpoint)

    def __repr__(self) -> str:
        datacenter = f" {self._datacenter}" if self._datacenter else ""
        return f"<Host: {self.endpoint}{datacenter}>"

    def _repr_html_(self) -> str:
        """Return a table with the row of this host as HTML, for notebooks."""
        # Import this module only here, because only notebooks need it.
        from cassandra.metadata.pictures import host_as_html

        return host_as_html(self)


# cassandra-driver has this class as `cassandra.pool.Host`.
Host.__module__ = "cassandra.pool"

add_habits(Host, HOST)
