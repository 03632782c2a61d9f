"""Prepared statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._forks import renew_in_child
from cassandra._habits import PREPARED, add_habits
from cassandra._threads import Lock
from cassandra.consistency import ConsistencyLevel
from cassandra.protocol.column_specs import ResultMetadata
from cassandra.protocol.encrypted import bound_columns, decrypting
from cassandra.query.settings import SETTINGS, StatementSettings

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.protocol import bind as bind_plans
    from cassandra.protocol.bind import BindPlan
    from cassandra.protocol.column_specs import ColumnMetadata
    from cassandra.protocol.encrypted import Encryption
    from cassandra.query import binding
else:
    from cassandra._impl import bases, bind as bind_plans, binding

__all__ = ["PreparedStatement"]

# What a program may set, beside the settings that statements bound of it take over.
_OWN_SETTINGS = ("serial_consistency_level", "strict_names", "table", "table_keyspace")

# Held while bind plans are made by what a policy says: what is added to it meanwhile makes them
# once more afterwards.
_planning = Lock()


@renew_in_child
def _renew_lock() -> None:
    global _planning
    _planning = Lock()


class PreparedStatement(StatementSettings, bases.PreparedBase):
    """A statement that the servers know by its id.

    `Session.prepare` makes it. Bind values with `bind`, or by executing it with parameters. It is
    safe to share between threads. Statements bound from it take over the settings that are set on
    it.

    :param column_metadata: a `ColumnMetadata` for each bind marker.
    :param query_id: the server's id of the statement.
    :param routing_key_indexes: the places of the partition key's columns among the markers; None or
        none if not all of them are markers.
    :param query: the text, kept as `query_string`.
    :param keyspace: the keyspace that it was prepared in; None for none.
    :param protocol_version: the version that values are bound for.
    :param result_metadata: the columns of its result; None if they come with each answer.
    :param result_metadata_id: the server's id of those columns; None on protocol versions without
        one.
    :param is_lwt: True if the server has marked it as a lightweight transaction.
    :param column_encryption_policy: encrypts values of its columns; None for none.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_is_followed",
        "_key_names",
        "column_encryption_policy",
        "column_metadata",
        "keyspace",
        "query_string",
        "when_changed",
    )

    def __init__(
        self,
        column_metadata: Sequence[ColumnMetadata],
        query_id: bytes,
        routing_key_indexes: Sequence[int] | None,
        query: str,
        keyspace: str | None,
        protocol_version: int,
        result_metadata: ResultMetadata | None,
        result_metadata_id: bytes | None,
        is_lwt: bool = False,
        column_encryption_policy: Encryption | None = None,
    ) -> None:
        self.column_metadata = column_metadata
        self.query_id = query_id
        self.routing_key_indexes = routing_key_indexes
        self.query_string = query
        self.keyspace = keyspace
        self.protocol_version = protocol_version
        self.column_encryption_policy = column_encryption_policy
        # The settings that a program may change.
        self.reset_settings()
        self.serial_consistency_level: int | None = None
        self._is_lwt = is_lwt
        # One attribute for both, so that a reader never sees the id of one version with the columns
        # of another.
        self.result_metadata_and_id: tuple[Any, bytes | None] = (None, None)
        # The table's own keyspace, which may differ from the one it was prepared in.
        self.table: str | None = column_metadata[0].table_name if column_metadata else None
        self.table_keyspace: str | None = (
            column_metadata[0].keyspace_name if column_metadata else keyspace
        )
        # Counted once here, so that each `bind` needs one comparison for the usual complete row.
        self.needed_values = max(routing_key_indexes) + 1 if routing_key_indexes else 0
        self._key_names: frozenset[str] = frozenset(
            column_metadata[index].name for index in routing_key_indexes or ()
        )
        # Called on the event loop if its columns turn out to have other types by now: who keeps it
        # by its text forgets it.
        self.when_changed: Callable[[], object] | None = None
        self._make_bind_plan(result_metadata, result_metadata_id)

    @property
    def strict_names(self) -> bool:
        """True if a mapping must not have names without a bind marker; False by default.

        By default such names are ignored, so that one dict can be bound to several statements. A
        misspelled name then leaves its column unset. It holds for `bind` and for rows of a batch.
        """
        strict: bool = self.bind_plan.strict
        return strict

    @strict_names.setter
    def strict_names(self, strict: bool) -> None:
        # A bind plan never changes, because threads may be binding by it.
        with _planning:
            self.bind_plan = self._made_plan(bool(strict))

    def _make_bind_plan(self, metadata: ResultMetadata | None, metadata_id: bytes | None) -> None:
        policy = self.column_encryption_policy
        if policy is None:
            self.bind_plan = bind_plans.BindPlan(self.column_metadata, self.routing_key_indexes)
            self.result_metadata_and_id = (metadata, metadata_id)
            return
        with _planning:
            # A policy that does not follow may encrypt further columns at any time.
            follow = getattr(policy, "follow", None)
            self._is_followed = follow is not None and follow(self)
            self.bind_plan = self._made_plan(False)
            self.update_result_metadata(metadata, metadata_id)

    def _made_plan(self, strict: bool) -> BindPlan:
        columns = self.column_metadata
        if self.column_encryption_policy is not None:
            columns = bound_columns(
                columns, self.column_encryption_policy, self._is_followed, self._key_names
            )
        return bind_plans.BindPlan(columns, self.routing_key_indexes, strict)

    def renew_encryption(self, key_names: Iterable[str] = ()) -> None:
        """Encrypt and decrypt from now on by the present policy of column encryption.

        :param key_names: further columns of the table's primary key.
        """
        with _planning:
            self._key_names = self._key_names.union(key_names)
            self.bind_plan = self._made_plan(self.bind_plan.strict)
            self.update_result_metadata(*self.result_metadata_and_id)

    @property
    def result_metadata(self) -> Any:
        """The columns of its result, as the server last described them; None if it has none.

        An iteration gives (keyspace, table, name, type) of each.
        """
        metadata = self.result_metadata_and_id[0]
        # Those that a program's own handler has read may be of any class.
        return None if isinstance(metadata, ResultMetadata) and not metadata.columns else metadata

    @property
    def result_metadata_id(self) -> bytes | None:
        """The id of the result's columns (protocol v5)."""
        return self.result_metadata_and_id[1]

    def update_result_metadata(
        self, result_metadata: ResultMetadata | None, result_metadata_id: bytes | None
    ) -> None:
        """Take over the server's latest description of the result's columns.

        :param result_metadata: the columns, or None.
        :param result_metadata_id: the bytes of their id, or None.
        """
        policy = self.column_encryption_policy
        if policy is not None and result_metadata is not None:
            result_metadata = decrypting(result_metadata, policy)
        # One assignment, without a lock: other threads see the old pair or the new one.
        self.result_metadata_and_id = (result_metadata, result_metadata_id)

    bind = binding.bind  # from the pair of twin modules: most requests begin with it

    def is_lwt(self) -> bool:
        """Return True if this is a lightweight transaction.

        ScyllaDB says so when it prepares the statement. For other servers the text decides.
        """
        return self._is_lwt

    def __reduce__(self) -> tuple[Any, ...]:
        # The plan for its values is made anew, and who keeps it by its text does not come along.
        metadata, metadata_id = self.result_metadata_and_id
        settings = {name: getattr(self, name) for name in (*SETTINGS, *_OWN_SETTINGS)}
        return (
            type(self),
            (
                self.column_metadata,
                self.query_id,
                self.routing_key_indexes,
                self.query_string,
                self.keyspace,
                self.protocol_version,
                metadata,
                metadata_id,
                self._is_lwt,
                self.column_encryption_policy,
            ),
            (self.__dict__, settings),
        )

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(
            self.consistency_level,  # type: ignore[arg-type]
            "Not Set",
        )
        return f'<PreparedStatement query="{self.query_string}", consistency={level}>'

    __repr__ = __str__


PreparedStatement.__module__ = "cassandra.query"

add_habits(PreparedStatement, PREPARED)
