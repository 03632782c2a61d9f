"""The options that an application passes to one call of `execute`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.targets import Target
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import bases


class CallOptions(bases.CallBase):
    """The options of a call of `execute`, apart from the statement and its parameters.

    :param profile: the execution profile, already looked up by its name.
    :param timeout: seconds; None for no limit; NOT_SET for the profile's timeout.
    :param trace: True if the servers should trace the request.
    :param custom_payload: added to the statement's payload; if a key is in both, this payload's
        value is used. None sends only the statement's payload.
    :param paging_state: the paging state of an earlier result, to continue behind its page; None
        for the first page.
    :param target: the only host to send to, or a `Target` with a shard or token; None for the hosts
        of the policy's query plan.
    """

    __slots__ = ()

    def __init__(
        self,
        profile: ExecutionProfile,
        timeout: Any = NOT_SET,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        paging_state: bytes | None = None,
        target: Host | Target | None = None,
    ) -> None:
        self.profile = profile
        self.timeout = timeout
        self.trace = trace
        self.custom_payload = custom_payload
        self.paging_state = paging_state
        self.target = target
