"""A prepared statement is parsed once by the server, and then executed with different values."""

from __future__ import annotations

import copy
import hashlib
import itertools
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cassandra._forks import renew_in_child
from cassandra._habits import PREPARED, STATEMENT_SETTINGS, add_habits, warn_of_misspelt_setting
from cassandra._threads import RLock
from cassandra.consistency import ConsistencyLevel
from cassandra.cqltypes.scalars import BytesType
from cassandra.protocol.column_specs import ResultMetadata
from cassandra.protocol.converted import bound_columns as converted_columns, converting
from cassandra.protocol.encrypted import bound_columns, decrypting
from cassandra.query.named_markers import MarkersOfColumns, markers_of_columns
from cassandra.query.settings import SETTINGS, StatementSettings
from cassandra.query.write_times import bind_plan_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra import bases
    from cassandra.codecs.registry import CodecRegistry, Converters
    from cassandra.protocol.bind import BindPlan
    from cassandra.protocol.column_specs import ColumnMetadata
    from cassandra.protocol.encrypted import Encryption
    from cassandra.query.bound import BoundStatement
else:
    from cassandra._impl import bases, binding

_Object = TypeVar("_Object")
_Statement = TypeVar("_Statement", bound="PreparedStatement")

# Further settings, besides `SETTINGS`, that an application may change. Pickles and copies keep
# them.
_OWN_SETTINGS = ("serial_consistency_level", "strict_names", "table", "table_keyspace")

# The internal attributes that pickles and copies of a statement keep, in addition to its settings.
_STATE = ("_former_keys",)

# Held while a bind plan is built from the encryption policy and the codec registry. A thread that
# changes the policy or the registry at that time waits for this lock, and then builds a new plan.
_planning = RLock()


# All statements that exist: those that sessions have prepared, copies, and unpickled statements. A
# statement may be used with other clusters than the one that has prepared it, and with none of
# these for some time. When a type changes, all statements that use it must be prepared again.
# The keys are numbers, so that the statements are in the order in which they were made. There is no
# lock, because a signal handler may copy a statement at any moment: each step is atomic.
_statements: weakref.WeakValueDictionary[int, PreparedStatement] = weakref.WeakValueDictionary()
# Weak references to them, by the id that each statement had when it was made. If a statement gets
# another id and is prepared again, servers give it the first id in general.
_references: dict[bytes, set[weakref.ref[PreparedStatement]]] = {}
_next_number = itertools.count().__next__

_NO_NAMED_MARKERS = MarkersOfColumns({}, {})

# Some unpickled statements, by the ids that they had when they were pickled.
_unpickled_lately: dict[bytes, PreparedStatement] = {}
MOST_UNPICKLED = 128  # so many are kept at most


class SchemaReader(Protocol):
    """Knows the schema of a cluster: `cassandra.engine.prepare.statements.Preparer`."""

    def has_types_of(self, statement: PreparedStatement) -> bool | None:
        """Return True if the tables of the cluster are known to have the types of a statement.

        :param statement: the statement.
        :returns: None if the cluster is not open.
        """

    @property
    def home(self) -> object:
        """Identifies the cluster; see `PreparedStatement.claim`."""


# The readers of all clusters, for statements that are unpickled.
_schema_readers: weakref.WeakValueDictionary[int, SchemaReader] = weakref.WeakValueDictionary()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child, in which the thread that holds it does not exist."""
    global _planning
    _planning = RLock()


def existing_statements() -> list[PreparedStatement]:
    """Return all statements that were remembered, and that somebody still refers to."""
    return _living(_statements)


def statements_with(query_id: bytes) -> Iterator[PreparedStatement]:
    """Yield all statements that were made with an id and still have it.

    :param query_id: the id.
    """
    for statement in statements_made_with(query_id):
        if statement.query_id == query_id:
            yield statement


def statements_made_with(query_id: bytes) -> Iterator[PreparedStatement]:
    """Yield all statements that were made with an id, also those that have another id now.

    :param query_id: the id.
    """
    for reference in list(_references.get(query_id, ())):
        statement = reference()
        if statement is not None:
            yield statement


def index_by_id(statement: PreparedStatement) -> None:
    """Let `statements_with` return a statement for the id that it has now."""
    query_id = statement.query_id

    def forget(reference: weakref.ref[PreparedStatement]) -> None:
        references = _references.get(query_id)
        if references is not None:
            references.discard(reference)
            if not references:
                _references.pop(query_id, None)

    reference = weakref.ref(statement, forget)
    references = None
    # When the last statement with this id is freed, another thread removes the set.
    while references is None or _references.get(query_id) is not references:
        references = _references.setdefault(query_id, set())
        references.add(reference)


def is_unknown(statement: PreparedStatement) -> bool:
    """Return True if no server has the statement's id: the driver has replaced it.

    The next execution prepares such a statement again.
    """
    return weakref.ref(statement) not in _references.get(statement.query_id, ())


def _living(objects: weakref.WeakValueDictionary[int, _Object]) -> list[_Object]:
    return [value for reference in objects.valuerefs() if (value := reference()) is not None]


def add_schema_reader(reader: SchemaReader) -> None:
    """Ask `reader` about statements that are unpickled, as long as it exists.

    :param reader: knows the schema of a cluster.
    """
    # Before the cluster is open, nobody notices the changes of its schema.
    _unpickled_lately.clear()
    # Statements that belong to no cluster yet may be executed with this one, whose types nobody has
    # compared with theirs.
    for statement in existing_statements():
        if statement._home is None:
            statement.query_id = _id_of_no_server(statement.query_id)
    _schema_readers[_next_number()] = reader


def remember(statement: PreparedStatement) -> None:
    """Let `existing_statements` return a statement as long as somebody refers to it."""
    _statements[_next_number()] = statement
    index_by_id(statement)


def _copy_of(make: Callable[..., _Statement], *arguments: Any) -> _Statement:
    """Return a copy of a statement, and remember it."""
    duplicate = make(*arguments)
    remember(duplicate)
    return duplicate


def _unpickled(make: Callable[..., PreparedStatement], *arguments: Any) -> PreparedStatement:
    """Return a statement with the id that the server knows, if the statement is not outdated.

    Its table may have been created again with other types since it was pickled, and a server gives
    the same CQL the same id. So if neither another statement with this id nor the schema shows that
    the types are still the same, the statement gets an id that no server has, and is prepared again
    before it is executed. If several clusters are open, all must have these types; the statement
    belongs to the first that executes it.
    """
    statement = make(*arguments)
    query_id = statement.query_id
    other = next(statements_with(query_id), None)
    remember(statement)
    if other is None:
        # A worker may unpickle the same statement for each of its jobs. So keep one, for the next.
        if len(_unpickled_lately) >= MOST_UNPICKLED:
            _unpickled_lately.clear()
        _unpickled_lately[query_id] = statement
    answers = [
        (reader, answer)
        for reader in _living(_schema_readers)
        if (answer := reader.has_types_of(statement)) is not None
    ]
    # If several clusters are open, the statement may be executed with any of them.
    is_current = bool(answers) and all(answer for _, answer in answers)
    if not is_current and len(answers) == 1 and other is not None:
        # The other statements with this id follow the changes of the only cluster's schema.
        types = _types_of(statement)
        is_current = types is not None and types == _types_of(other)
    if is_current and len(answers) == 1:
        statement.claim(answers[0][0].home)
    elif not is_current:
        statement.query_id = _id_of_no_server(query_id)
    return statement


def _id_of_no_server(query_id: bytes) -> bytes:
    """Return an id that no server has, the same for equal ids."""
    return hashlib.sha256(b"unpickled " + query_id).digest()[: len(query_id)]


def _types_of(statement: PreparedStatement) -> list[tuple[str, str]] | None:
    """Return the names and types of a statement's bind markers, and of the columns of its result.

    :returns: None if the columns of the result are objects of an application's protocol handler.
    """
    columns = list(statement.column_metadata)
    metadata = statement.result_metadata
    if isinstance(metadata, ResultMetadata):
        columns += metadata.native
    elif metadata:
        return None
    return [(column.name, column.type.cass_parameterized_type(full=True)) for column in columns]


def _interned(name: str) -> str:
    """Return a name as an interned string.

    Any object that is not exactly a str is returned unchanged: tests pass None, mocks and instances
    of subclasses as names of tables.
    """
    return intern(name) if type(name) is str else name


class PreparedStatement(StatementSettings, bases.PreparedBase):
    """A statement that the servers know by its id.

    `Session.prepare` returns it. Bind values with `bind`, or pass them to `Session.execute`.
    Threads may share it. Bound statements copy the settings that you set on it.

    :param column_metadata: a `ColumnMetadata` for each bind marker.
    :param query_id: the server's id of the statement.
    :param routing_key_indexes: the positions of the partition key's columns among the markers; None
        or empty if a column of the key has no marker.
    :param query: the query string, stored as `query_string`.
    :param keyspace: the keyspace in which the statement was prepared; None for none.
    :param protocol_version: the protocol version for which values are serialized.
    :param result_metadata: the columns of the statement's result; None if they come with each
        response.
    :param result_metadata_id: the server's id of these columns; None on protocol versions without
        such an id.
    :param is_lwt: True if the server has marked it as a lightweight transaction.
    :param column_encryption_policy: the policy that encrypts values of the statement's columns;
        None for none.
    :param codecs: the registry of converters of the session that has prepared the statement; None
        for no converters. Later changes of the registry also apply to the statement. The registry
        is not pickled with the statement.
    """

    __slots__ = (
        "__dict__", "__weakref__", "_bytes_positions", "_decryption", "_encryption", "_former_keys",
        "_is_followed", "_key_names", "_plain_plan", "codecs", "column_metadata", "keyspace",
        "query_string", "when_changed",
    )  # fmt: skip

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
        codecs: CodecRegistry | None = None,
    ) -> None:
        self.column_metadata = column_metadata
        self.query_id = query_id
        self.routing_key_indexes = routing_key_indexes
        self.query_string = query
        self.keyspace = keyspace
        self.protocol_version = protocol_version
        # The policy that encrypts bound values, and the policy that decrypts rows. Only the first
        # may be replaced later, by `column_encryption_policy`.
        self._encryption = self._decryption = column_encryption_policy
        self._is_followed = False  # whether the policy reports its changes to this statement
        self.codecs = codecs
        self._plain_plan: BindPlan | None = None  # None until `plain_plan` builds it
        self._bytes_positions: Collection[int] = ()  # see `take_bytes`
        self._home: object = None  # see `claim`
        # The settings that the application may change later.
        self.reset_settings()
        self.serial_consistency_level: int | None = None
        self._is_lwt = is_lwt
        # The columns of the result and their id are in one attribute, so that another thread never
        # reads an old id together with new columns, or the other way round.
        self.result_metadata_and_id: tuple[Any, bytes | None] = (None, None)
        # The keyspace of the table, which may differ from the keyspace in which the statement was
        # prepared.
        #
        # `table` and `table_keyspace` are interned because each bound statement refers to them: in
        # Python without the GIL, references to an interned string are not counted.
        self.table: str | None = None
        self.table_keyspace: str | None = keyspace
        if column_metadata:
            self.table = _interned(column_metadata[0].table_name)
            self.table_keyspace = _interned(column_metadata[0].keyspace_name)
        # A row with at least this many values has the whole partition key. Compute the number once,
        # so that `bind` only needs one comparison for each row.
        self.needed_values = max(routing_key_indexes) + 1 if routing_key_indexes else 0
        # Earlier values of `routing_key_indexes`. Bound statements may have computed a routing key
        # by them: see `BoundStatement.routing_key`.
        self._former_keys: tuple[tuple[int, ...], ...] = ()
        # The names of the primary key's columns, as far as they are known: see `bound_columns`.
        self._key_names: frozenset[str] = frozenset(
            column_metadata[index].name for index in routing_key_indexes or ()
        )
        # A function that is called on the event loop if the server reports new types for the
        # statement's columns. A cache of prepared statements sets it to a function that drops the
        # statement.
        self.when_changed: Callable[[], object] | None = None
        self._make_bind_plan(result_metadata, result_metadata_id)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a setting or any other attribute; warn if the name looks like a misspelt setting."""
        if name not in _NAMES:
            warn_of_misspelt_setting(self, name, _SETTING_NAMES)
        super().__setattr__(name, value)

    @property
    def strict_names(self) -> bool:
        """True if a mapping must not have names without a bind marker; False by default.

        By default such names are ignored, so that you can bind one dict to several statements. But
        then a misspelled name leaves its column unset. The setting applies to `bind` and to rows of
        a batch.
        """
        return self.bind_plan.strict

    @strict_names.setter
    def strict_names(self, strict: bool) -> None:
        # Replace the bind plan instead of changing it, because other threads may be using it.
        with _planning:
            self.bind_plan = self._build_plan(bool(strict))

    @property
    def column_encryption_policy(self) -> Encryption | None:
        """The policy that encrypts values of the statement's columns; None for none.

        If you assign another policy, it applies to values that are bound from then on. Rows are
        still decrypted by the policy with which the statement was prepared.
        """
        return self._encryption

    @column_encryption_policy.setter
    def column_encryption_policy(self, policy: Encryption | None) -> None:
        with _planning:
            previous = self._encryption, self._is_followed
            self._encryption = policy
            try:
                self._follow_encryption()
                plan = self._build_plan(self.bind_plan.strict)
            except BaseException:  # raised by a policy of the application
                # Keep the old policy together with the old plan. With the new policy, the statement
                # would seem to encrypt, but the old plan would bind unencrypted values.
                self._encryption, self._is_followed = previous
                raise
            self._plain_plan = None  # it was built with the old policy
            self.bind_plan = plan

    def claim(self, home: object) -> bool:
        """Let the statement belong to a cluster, unless it already belongs to another cluster.

        The id of the statement is valid in this cluster only: in another cluster, the same CQL may
        have the same id, but other types. A new statement belongs to no cluster.

        :param home: an object that identifies the cluster.
        :returns: True if the statement belongs to the cluster now.
        """
        # Executions ask for a statement of another cluster, so they must not wait for the lock,
        # which is held while plans are built. Once set, the attribute does not change.
        if self._home is None:
            with _planning:
                if self._home is None:
                    self._home = home
        return self._home is home

    def _follow_encryption(self) -> None:
        """Ask the encryption policy to report its changes to this statement.

        A policy with a method `follow` then calls `renew_encryption` after each change. A policy
        without `follow` may change at any time without a notification. Then `_is_followed` is
        False, and the bind plan asks the policy for each value.
        """
        subscribe = getattr(self._encryption, "follow", None)  # also None without a policy
        self._is_followed = subscribe is not None and subscribe(self)

    def _make_bind_plan(self, metadata: ResultMetadata | None, metadata_id: bytes | None) -> None:
        """Set the bind plan and the result's columns.

        If the statement has converters or an encryption policy, follow their changes.
        """
        if self._encryption is None and self.codecs is None:
            self.bind_plan = bind_plan_of(self, self.column_metadata)
            self.result_metadata_and_id = (metadata, metadata_id)
            return
        with _planning:
            if self.codecs is not None:
                # Subscribe before reading the converters, so that no change is missed: the registry
                # calls `renew_codecs` after each change.
                self.codecs.follow(self)
            self._follow_encryption()
            self.bind_plan = self._build_plan(strict=False)
            self.update_result_metadata(metadata, metadata_id)

    def _build_plan(self, strict: bool, is_plain: bool = False) -> BindPlan:
        """Build a bind plan: the encoders of all bind markers.

        :param strict: True refuses a mapping with names that have no bind marker.
        :param is_plain: True leaves out the session's converters.
        """
        columns = self.column_metadata
        named = (
            markers_of_columns(self.query_string, [column.name for column in columns])
            if ":" in self.query_string
            else _NO_NAMED_MARKERS
        )
        # The type of a column in the plan encodes its values. Replace the types of encrypted
        # columns, and then the types of columns that have a converter.
        if self.column_encryption_policy is not None:
            columns = bound_columns(
                columns,
                self.column_encryption_policy,
                self._is_followed,
                self._key_names,
                *named,
            )
        converters = self.codecs.converters if self.codecs is not None else None
        if converters is not None and not is_plain:
            columns = converted_columns(columns, converters, named.columns)
        # For markers whose values are passed as encoded bytes (see `take_bytes`), send the bytes
        # unchanged.
        if self._bytes_positions:
            columns = [
                column._replace(type=BytesType) if index in self._bytes_positions else column
                for index, column in enumerate(columns)
            ]
        return bind_plan_of(self, columns, strict)

    @property
    def plain_plan(self) -> BindPlan:
        """The bind plan without converters, for values that already are plain CQL values."""
        if self.codecs is None or self.codecs.converters is None:
            return self.bind_plan
        plain_plan = self._plain_plan
        # The application may have changed `strict_names` after the plan was built.
        if plain_plan is None or plain_plan.strict != self.strict_names:
            with _planning:
                plain_plan = self._plain_plan = self._build_plan(
                    self.bind_plan.strict, is_plain=True
                )
        return plain_plan

    def exchange_plan(self, old: BindPlan, new: BindPlan) -> None:
        """Replace the plan `old` by `new`; do nothing if `old` is no longer the current plan.

        :param old: the plan that the caller has used.
        :param new: a plan with the encoders of `old`.
        """
        # Without the lock, `new` could overwrite a plan that another thread has just built for a
        # new encryption policy or for new converters. If another thread holds the lock, do nothing,
        # because that thread is about to replace `old`.
        lock = _planning
        try:
            if lock.acquire(blocking=False) and self.bind_plan is old:
                self.bind_plan = new
        finally:
            # See `new_reentrant_lock` for this way to release the lock.
            try:
                lock.release()
            except RuntimeError:
                pass

    def take_bytes(self, positions: Collection[int]) -> None:
        """From now on, expect values at these positions as bytes that are already encoded.

        :param positions: indexes of bind markers.
        """
        with _planning:
            self._bytes_positions = positions
            self._plain_plan = None
            self.bind_plan = self._build_plan(self.bind_plan.strict)

    def renew_codecs(self) -> None:
        """From now on, use the session's current converters to bind values and to read rows.

        The codec registry calls this after each change.
        """
        with _planning:
            self.bind_plan = self._build_plan(self.bind_plan.strict)
            self.update_result_metadata(*self.result_metadata_and_id)

    def renew_columns(self, columns: Sequence[ColumnMetadata]) -> None:
        """From now on, bind values for the server's current types.

        Values that are already bound stay valid: each type is either unchanged, or a user-defined
        type with additional fields.

        :param columns: the bind columns, with the names and order of `column_metadata`.
        """
        with _planning:
            old_columns = self.column_metadata
            self.column_metadata = columns
            try:
                self.bind_plan = self._build_plan(self.bind_plan.strict)
            except BaseException:  # raised by an encryption policy or converter of the application
                self.column_metadata = old_columns
                raise
            self._plain_plan = None  # the old plan was built for the old types

    def renew_key(self, indexes: Sequence[int] | None) -> None:
        """From now on, route by the server's current partition key.

        Statements that are already bound are routed by the new partition key, too.

        :param indexes: the new `routing_key_indexes`.
        """
        with _planning:
            old = self.routing_key_indexes, self.needed_values, self._key_names
            self.routing_key_indexes = indexes
            self.needed_values = max(indexes) + 1 if indexes else 0
            try:
                self._key_names = self._key_names.union(
                    self.column_metadata[index].name for index in indexes or ()
                )
                self.bind_plan = self._build_plan(self.bind_plan.strict)
            # An error means that an index has no column, or comes from an encryption policy of the
            # application.
            except BaseException:
                self.routing_key_indexes, self.needed_values, self._key_names = old
                raise
            self._plain_plan = None  # the old plan was built for the old key
            former_key = tuple(old[0] or ())
            if former_key and former_key not in self._former_keys:
                self._former_keys = (*self._former_keys, former_key)

    def renew_encryption(self, key_names: Iterable[str] = ()) -> None:
        """Ask the encryption policy again which columns are encrypted, and how.

        The policy calls this after each change.

        :param key_names: further columns of the table's primary key.
        """
        with _planning:
            self._key_names = self._key_names.union(key_names)
            self._plain_plan = None  # the old plan was built with the old encryption
            self.bind_plan = self._build_plan(self.bind_plan.strict)
            self.update_result_metadata(*self.result_metadata_and_id)

    @property
    def result_metadata(self) -> Any:
        """The columns of the statement's result, as the server last described them.

        None if the result has no columns. Iterate over it to get (keyspace, table, name, type) of
        each column.
        """
        metadata = self.result_metadata_and_id[0]
        # An application's protocol handler may have made metadata of any class, without `columns`.
        return None if isinstance(metadata, ResultMetadata) and not metadata.columns else metadata

    @property
    def result_metadata_id(self) -> bytes | None:
        """The server's id of the result's columns; None on protocol versions without such an id."""
        return self.result_metadata_and_id[1]

    def update_result_metadata(
        self, result_metadata: ResultMetadata | None, result_metadata_id: bytes | None
    ) -> None:
        """Use the server's latest description of the result's columns.

        :param result_metadata: the columns, or None.
        :param result_metadata_id: the server's id of the columns, or None.
        """
        codecs = self.codecs
        while True:
            converters = codecs.converters if codecs is not None else None
            metadata = result_metadata
            if metadata is not None:
                metadata = self._columns_as_read(metadata, converters)
            # Use a single assignment instead of a lock: other threads see the old or the new pair.
            self.result_metadata_and_id = (metadata, result_metadata_id)
            # If another thread has registered a converter in the meantime, repeat with the new
            # converters.
            if codecs is None or codecs.converters is converters:
                return

    def columns_as_read(self, metadata: ResultMetadata) -> ResultMetadata:
        """Return `metadata` with the types with which rows of this statement are read.

        These are the server's types, with decryption and the session's converters added.

        :param metadata: the columns as the server describes them, or an earlier result of this
            method.
        """
        codecs = self.codecs
        return self._columns_as_read(metadata, codecs.converters if codecs is not None else None)

    def _columns_as_read(
        self, metadata: ResultMetadata, converters: Converters | None
    ) -> ResultMetadata:
        """Return the same as `columns_as_read`, but with the converters in the argument."""
        if self._decryption is not None:
            metadata = decrypting(metadata, self._decryption)
        # An application's protocol handler may have made metadata of any class.
        return (
            converting(metadata, converters) if isinstance(metadata, ResultMetadata) else metadata
        )

    if TYPE_CHECKING:
        # The real function also accepts further arguments, but only to raise an error with advice.
        def bind(self, values: Any) -> BoundStatement: ...
    else:
        bind = binding.bind  # compiled if possible, because most requests begin with it

    def is_lwt(self) -> bool:
        """Return True if this is a lightweight transaction.

        ScyllaDB marks lightweight transactions when it prepares them. For other servers, the query
        string decides.
        """
        return self._is_lwt

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, *self._arguments_and_state())

    def _arguments_and_state(self) -> tuple[tuple[Any, ...], tuple[dict[str, Any], dict[str, Any]]]:
        """Return what pickles and copies of the statement are made from."""
        # Pickle the arguments of `__init__`, which builds a new bind plan, and then the settings
        # and other attributes. `when_changed` and the codec registry are not pickled.
        metadata, metadata_id = self.result_metadata_and_id
        settings = {name: getattr(self, name) for name in (*SETTINGS, *_OWN_SETTINGS, *_STATE)}
        return (
            (
                type(self),
                self.column_metadata,
                self.query_id,
                self.routing_key_indexes,
                self.query_string,
                self.keyspace,
                self.protocol_version,
                # Leave out the converters, which belong to a session.
                metadata.native if isinstance(metadata, ResultMetadata) else metadata,
                metadata_id,
                self._is_lwt,
                self.column_encryption_policy,
            ),
            (self.__dict__, settings),
        )

    def copy_for(self, home: object) -> PreparedStatement:
        """Return a copy that belongs to another cluster; see `claim`.

        The copy is no instance of an application's subclass, whose constructor may be any.

        :param home: an object that identifies the cluster.
        """
        (_, *arguments), (_, settings) = self._arguments_and_state()
        made: Any = _copy_of(PreparedStatement, *arguments)
        duplicate: PreparedStatement = self._with_state(made, ({}, settings))
        duplicate._home = home
        return duplicate

    def __copy__(self) -> Self:
        arguments, state = self._arguments_and_state()
        return self._with_state(_copy_of(*arguments), state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        arguments, state = self._arguments_and_state()
        policy = self.column_encryption_policy
        # Share the policy with the copy: it holds keys, and may refuse to be copied.
        memo[id(policy)] = policy
        duplicate = memo[id(self)] = _copy_of(*copy.deepcopy(arguments, memo))
        return self._with_state(duplicate, copy.deepcopy(state, memo))

    def _with_state(self, duplicate: Self, state: tuple[dict[str, Any], dict[str, Any]]) -> Self:
        """Give a copy its attributes, and this statement's codec registry if there is one."""
        attributes, settings = state
        duplicate.__dict__.update(attributes)
        for name, value in settings.items():
            setattr(duplicate, name, value)
        duplicate._decryption = self._decryption
        duplicate._home = self._home
        if self.codecs is not None:
            # Later changes of the session's converters must also reach the copy.
            duplicate.codecs = self.codecs
            self.codecs.follow(duplicate)
            duplicate.renew_codecs()
        return duplicate

    def __str__(self) -> str:
        level = ConsistencyLevel.value_to_name.get(
            self.consistency_level,  # type: ignore[arg-type]
            "Not Set",
        )
        return f'<PreparedStatement query="{self.query_string}", consistency={level}>'

    __repr__ = __str__


PreparedStatement.__module__ = "cassandra.query"

add_habits(PreparedStatement, PREPARED)

# The names of all slots and properties, whose spelling need not be checked.
_NAMES = frozenset(dir(PreparedStatement)) | frozenset(STATEMENT_SETTINGS)
_SETTING_NAMES = (*SETTINGS, *_OWN_SETTINGS)
