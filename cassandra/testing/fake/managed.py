"""Fake nodes that imitate the managed services Amazon Keyspaces and Azure Cosmos DB.

The nodes differ from Cassandra as the vendors document it: Amazon Keyspaces ("Functional
differences", "Supported Cassandra consistency levels", "Creating tables") and Azure Cosmos DB for
Apache Cassandra ("Wire protocol", "Rate-limiting errors"). In all other respects they behave like
`FakeNode`.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from cassandra.testing.fake.answers import Message, error, message, paged, schema_change
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.primitives import Opcode, long_bytes
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.system_tables import names_system_table

# The consistency levels of the service (native_protocol_v5.spec, section 3), and the type of a
# logged batch (section 4.1.7).
_ONE, _LOCAL_QUORUM, _LOCAL_ONE = 0x01, 0x06, 0x0A
_READ_LEVELS = {_ONE: "ONE", _LOCAL_QUORUM: "LOCAL_QUORUM", _LOCAL_ONE: "LOCAL_ONE"}
_LOGGED = 0
_SIGV4 = b"SigV4\0\0"  # the first AUTH_RESPONSE that AWS's authentication plugin sends
# Patterns of statements that Amazon Keyspaces treats differently: writes, CREATE TABLE, and queries
# of the statuses of tables.
_WRITE = re.compile(r"^\s*(insert|update|delete)\b", re.IGNORECASE)
_CREATE_TABLE = re.compile(
    r"^\s*create\s+table\s+(?:if\s+not\s+exists\s+)?(\w+)\.(\w+)\b", re.IGNORECASE
)
_STATUS = re.compile(r"\bfrom\s+system_schema_mcs\.tables\b", re.IGNORECASE)


class KeyspacesNode(FakeNode):
    """A node that rejects what Amazon Keyspaces rejects, and creates tables in the background.

    The node reports a partitioner that clients do not know, so they build no token ring. Writes
    are accepted only with LOCAL_QUORUM; reads are also accepted with ONE and LOCAL_ONE. Batches
    must be unlogged, with at most 30 statements. After a CREATE TABLE with a full name, the first
    SELECT from ``system_schema_mcs.tables`` returns the status ``CREATING`` for the table. After
    that SELECT, the table is ``ACTIVE``, and is listed in ``system_schema``. After a call of
    `exceed_capacity`, requests get a time-out error. All of this applies to primed requests, too,
    unless the prime is an error or another fault.

    :param address: the address to listen on.
    :param port: the port; 0 chooses a free port.
    :param region: the name of the node's data centre.
    :param sigv4: True requires a login by signature, such as AWS's authentication plugin makes. The
        node accepts any signature.
    :param settings: further settings of `FakeNode`.
    """

    most_in_a_batch = 30

    def __init__(
        self,
        address: str = "127.0.0.1",
        port: int = 0,
        *,
        region: str = "us-east-1",
        sigv4: bool = False,
        **settings: Any,
    ) -> None:
        if sigv4:
            # Set any user name: the base class requires a login if it is not None.
            settings |= {"username": "", "password": ""}
        settings = {"max_version": 4, "release_version": "3.11.2", **settings}
        super().__init__(
            address, port, datacenter=region, cluster_name="Amazon Keyspaces", **settings
        )
        self.partitioner = "com.amazonaws.cassandra.DefaultPartitioner"
        self._sigv4 = sigv4
        self._status_by_table: dict[tuple[str, str], str] = {}  # status by (keyspace, table)
        self._refusals = 0  # how many further requests get a time-out error

    def exceed_capacity(self, requests: int) -> None:
        """Answer the next requests with a time-out, as if they exceeded the table's capacity.

        The requests are not executed. Requests to system tables, and those that are primed with an
        error or another fault, are not affected.

        :param requests: the number of requests.
        """
        self._refusals = requests

    def _on_auth_response(self, request: Request) -> Message:
        """Answer AUTH_RESPONSE. With `sigv4`, any well-formed signature is accepted."""
        token = request.token or b""
        if not self._sigv4:
            return super()._on_auth_response(request)
        # The client first sends the name of the mechanism, and then signs the nonce of our
        # challenge.
        if token == _SIGV4:
            return message(Opcode.AUTH_CHALLENGE, long_bytes(b"nonce=" + b"0" * 32))
        if not all(part in token for part in (b"signature=", b"access_key=", b"amzdate=")):
            return error(ErrorCode.BAD_CREDENTIALS, "The signature is malformed")
        request.connection.ready = True
        return message(Opcode.AUTH_SUCCESS, long_bytes(None))

    def _on_query(self, request: Request) -> Message:
        """Answer as Amazon Keyspaces, which creates tables in the background."""
        text = request.query or ""
        if _STATUS.search(text):
            return self._statuses()
        create_match = _CREATE_TABLE.match(text)
        # Send the response before the table can be used, as the service does.
        if create_match is not None:
            self._status_by_table[create_match[1], create_match[2]] = "CREATING"
            return schema_change("CREATED", "TABLE", create_match[1], create_match[2])
        return super()._on_query(request)

    def _refusal(self, request: Request) -> Message | None:
        """Reject logged and large batches, unsupported levels, and requests beyond the capacity."""
        if not _is_executed(request) or _STATUS.search(request.query or ""):
            return None
        if request.opcode == Opcode.BATCH and request.batch_type == _LOGGED:
            return _invalid("Logged batches are not supported")
        if len(request.statements) > self.most_in_a_batch:
            return _invalid(
                f"A batch has {self.most_in_a_batch} statements at most, "
                f"this one has {len(request.statements)}"
            )
        is_write = any(map(_WRITE.match, request.queries))
        refusal = self._refused_level(request, is_write)
        if refusal is not None or not self._refusals:
            return refusal
        # The capacity limits only requests to the application's tables, not requests to system
        # tables.
        if any(map(names_system_table, request.queries)):
            return None
        self._refusals -= 1
        return error(
            ErrorCode.WRITE_TIMEOUT if is_write else ErrorCode.READ_TIMEOUT,
            "Operation timed out - received only 0 responses.",
            received=0,
            blockfor=2,
        )

    def _refused_level(self, request: Request, is_write: bool) -> Message | None:
        """Return an error if the service does not support the request's consistency level.

        Return None if the service supports the level.
        """
        levels = {_LOCAL_QUORUM: "LOCAL_QUORUM"} if is_write else _READ_LEVELS
        if request.consistency in levels:
            return None
        return _invalid(
            "This consistency level is not supported for this operation. "
            f"Supported consistency levels are: {', '.join(levels.values())}"
        )

    def _statuses(self) -> Message:
        """Return the status of each created table, as ``system_schema_mcs.tables`` does."""
        columns = [("keyspace_name", "text"), ("table_name", "text"), ("status", "text")]
        rows = [[*name, status] for name, status in self._status_by_table.items()]
        # The query that runs now gets CREATING for a new table. The next query gets ACTIVE.
        for (keyspace, table), status in self._status_by_table.items():
            if status == "CREATING":
                self._add_to_schema(keyspace, table)
                self._status_by_table[keyspace, table] = "ACTIVE"
        return paged(columns, rows, keyspace="system_schema_mcs", table="tables")

    def _add_to_schema(self, keyspace: str, table: str) -> None:
        """Add a table to system_schema, with a single column: the partition key `id`."""
        name = {"keyspace_name": keyspace, "table_name": table}
        if not any(
            row["keyspace_name"] == keyspace
            for row in self.schema.setdefault("system_schema.keyspaces", [])
        ):
            self.schema["system_schema.keyspaces"].append(
                {
                    "keyspace_name": keyspace,
                    "durable_writes": True,
                    "replication": {"class": "SingleRegionStrategy"},
                }
            )
        self.schema.setdefault("system_schema.tables", []).append({**name, "id": uuid.uuid4()})
        self.schema.setdefault("system_schema.columns", []).append(
            {**name, "column_name": "id", "clustering_order": "none", "column_name_bytes": b"id",
             "kind": "partition_key", "position": 0, "type": "int"}
        )  # fmt: skip


class CosmosNode(FakeNode):
    """A node with a rate limit, like Azure Cosmos DB for Apache Cassandra.

    After a call of `exceed_throughput`, requests are not executed, and get an OVERLOADED error
    whose message has ``RetryAfterMs=``. This applies to primed requests, too, unless the prime is
    an error or another fault.

    :param address: the address to listen on.
    :param port: the port; 0 chooses a free port. The real service uses 10350.
    :param settings: further settings of `FakeNode`.
    """

    def __init__(self, address: str = "127.0.0.1", port: int = 0, **settings: Any) -> None:
        super().__init__(
            address, port, **{"max_version": 4, "release_version": "3.11.0", **settings}
        )
        self._refusals = 0  # how many further requests to reject
        self._retry_after_ms = 0  # the wait that the errors for these requests ask for

    def exceed_throughput(self, requests: int, retry_after_ms: int = 10) -> None:
        """Reject the next requests, as if they exceeded the purchased throughput.

        Requests to system tables, and those that are primed with an error or another fault, are not
        rejected.

        :param requests: the number of requests to reject.
        :param retry_after_ms: how long the error message asks clients to wait, in milliseconds.
        """
        self._refusals, self._retry_after_ms = requests, retry_after_ms

    def _refusal(self, request: Request) -> Message | None:
        """Reject the request if it exceeds the throughput."""
        if not self._refusals or not _is_executed(request):
            return None
        if any(map(names_system_table, request.queries)):
            return None
        self._refusals -= 1
        return error(
            ErrorCode.OVERLOADED,
            f"Request rate is large: ActivityID={uuid.UUID(int=request.number)}, "
            f"RetryAfterMs={self._retry_after_ms}, Additional details='Response status code does "
            "not indicate success: TooManyRequests (429)'",
        )


def _is_executed(request: Request) -> bool:
    """Return True for QUERY, EXECUTE and BATCH, unless the node does not know the statement."""
    is_known = request.opcode != Opcode.EXECUTE or request.query is not None
    return is_known and request.opcode in (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH)


def _invalid(text: str) -> Message:
    return error(ErrorCode.INVALID, text)


for _kind in (KeyspacesNode, CosmosNode):
    _kind.__module__ = "cassandra.testing.fake"
