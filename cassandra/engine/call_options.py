"""The options of one call of `execute`: each is named here, and nowhere copied by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import bases

__all__ = ["CallOptions"]


class CallOptions(bases.CallBase):
    """The options of one call of `execute`, beside the statement and its parameters.

    :param profile: the execution profile, found by its name already.
    :param timeout: seconds, None for no limit, or NOT_SET for the profile's.
    :param trace: if the servers trace the request.
    :param custom_payload: in place of the statement's.
    :param paging_state: the page to begin with, or None for the first one.
    :param host: the one host to send it to, or None to follow the query plan.
    """

    __slots__ = ()

    def __init__(
        self,
        profile: ExecutionProfile,
        timeout: Any = NOT_SET,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        paging_state: bytes | None = None,
        host: Host | None = None,
    ) -> None:
        self.profile = profile
        self.timeout = timeout
        self.trace = trace
        self.custom_payload = custom_payload
        self.paging_state = paging_state
        self.host = host
