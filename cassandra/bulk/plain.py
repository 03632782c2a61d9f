"""Decodes pages of rows regardless of the settings with which a session decodes values.

A session may have a row factory, a protocol handler, converters (`Session.codecs`), and classes for
user-defined types and vectors. These settings are for rows that the application itself reads. A
file or another table must get the values as they are stored, so bulk code avoids the settings:

* `plain_session` returns a session whose results keep the bytes of their rows.
* `PlainRows` decodes these bytes: user-defined types as dicts by field name, vectors as lists.

Encrypted columns are still decrypted, because the key is needed to write them elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.client.columnar import rows_message
from cassandra.client.session import SessionBase
from cassandra.cqltypes.containers import ListType, SetType
from cassandra.cqltypes.scalars import BytesType
from cassandra.cqltypes.udt import with_subtypes
from cassandra.protocol.encrypted import is_encrypted
from cassandra.protocol.handler import ProtocolHandler, encrypting_handler

if TYPE_CHECKING:
    from cassandra.bulk.sessions import Page
    from cassandra.cqltypes.base import _CassandraType
    from cassandra.cqltypes.codecs.base import Codec
    from cassandra.protocol import rows
    from cassandra.protocol.column_specs import ResultMetadata
else:
    from cassandra._impl import rows

_Session = TypeVar("_Session")


def plain_session(session: _Session) -> _Session:
    """Return a session whose results are decoded by the driver's default protocol handler.

    An application's handler may return rows in another form, without their bytes. If the session
    has no such handler, the session itself is returned. Otherwise this is a copy of the session,
    which shares the engine, the profiles and the listeners.

    :param session: a blocking or an asyncio session.
    """
    if not isinstance(session, SessionBase) or session.client_protocol_handler is ProtocolHandler:
        return session
    # Keep the column encryption policy of the handler: the cluster may have no such policy.
    policy = getattr(session.client_protocol_handler, "column_encryption_policy", None)
    # Make a shallow copy that only differs in its handler, because the application's session must
    # keep its handler.
    view = copy.copy(session)
    view.client_protocol_handler = encrypting_handler(ProtocolHandler, policy)
    return view


class _SameForEachName:
    """A dict-like object that returns the same value for each name.

    :param value: the value of every name.
    """

    def __init__(self, value: object) -> None:
        self._value = value

    def get(self, name: str, default: object = None) -> object:
        """Return the value.

        :param name: any name.
        :param default: not used.
        """
        return self._value


# A replacement for the dict {keyspace: {type name: class}}, which maps each user-defined type to
# the class of its decoded values. Here each class is dict: a value becomes a dict of its fields.
_AS_DICTS: Any = _SameForEachName(_SameForEachName(dict))


class PlainRows:
    """Decodes the pages of one statement without the settings of the session.

    A value of a user-defined type becomes a dict by field name, also in collections. A set becomes
    a list, because elements that are equal in Python, such as -0.0 and 0.0, may differ for a
    server.

    :param keeps_bytes: takes the index and the type of a column, and returns True if its values
        stay bytes. None decodes all columns.
    """

    def __init__(
        self, keeps_bytes: Callable[[int, type[_CassandraType]], bool] | None = None
    ) -> None:
        self._keeps_bytes = keeps_bytes
        # The indexes of the columns whose values stay bytes in the latest page.
        self.bytes_positions: frozenset[int] = frozenset()
        # The metadata of the latest page, and the codecs and the plan that decode its rows.
        self._metadata: ResultMetadata | None = None
        self._codecs: list[Any] = []
        self._row_plan: rows.RowPlan | None = None

    def codecs(self, page: Page) -> Sequence[Any]:
        """Return the codec of each column of a page.

        :param page: a result set; its current page is used.
        """
        self._row_plan_for(rows_message(page._message).metadata)
        return self._codecs

    def tuples(self, page: Page) -> list[tuple[Any, ...]]:
        """Return the rows of a page.

        :param page: a result set; its current page is used.
        :raises DecodeError: if a value cannot be decoded. The message names the row and the column.
        """
        message = rows_message(page._message)
        row_plan = self._row_plan_for(message.metadata)
        return row_plan.tuples(*message.rows_body)

    def _row_plan_for(self, metadata: ResultMetadata) -> rows.RowPlan:
        """Return the plan that decodes rows with this metadata, and set the codecs."""
        # All pages of a statement have the same metadata object, unless the table is altered.
        if self._row_plan is None or metadata is not self._metadata:
            # Decode user-defined types as dicts. Sets become lists, because a dict as the element
            # of a set would not be hashable.
            columns = metadata.native.for_user_types(_AS_DICTS).columns
            if self._keeps_bytes is not None:
                self.bytes_positions = frozenset(
                    index
                    for index, column in enumerate(columns)
                    if self._keeps_bytes(index, column.type)
                )
            self._codecs = [
                BytesType.codec()
                if index in self.bytes_positions
                else _faithful(column.type).codec(vectors="list")
                for index, column in enumerate(columns)
            ]
            self._row_plan = rows.RowPlan(metadata.names, self._codecs)
            self._metadata = metadata
        return self._row_plan


def _faithful(cql_type: type[_CassandraType]) -> type[_CassandraType]:
    """Return `cql_type` with sets replaced by lists, which have the same encoding."""
    if is_encrypted(cql_type):
        return cql_type  # keep the codec of the type, which decrypts values
    subtypes = tuple(map(_faithful, cql_type.subtypes or ()))
    if issubclass(cql_type, SetType):
        return ListType.apply_parameters(subtypes)
    if all(new is old for new, old in zip(subtypes, cql_type.subtypes or (), strict=True)):
        return cql_type
    return with_subtypes(cql_type, subtypes, getattr(cql_type, "mapped_class", None))


def plain_codec(cql_type: type[_CassandraType]) -> Codec:
    """Return a codec that decodes the values of a column like `PlainRows`.

    :param cql_type: the type of a bind marker.
    """
    return _faithful(_with_dicts(cql_type)).codec(vectors="list")


def _with_dicts(cql_type: type[_CassandraType]) -> type[_CassandraType]:
    """Return `cql_type` with user-defined types whose values are decoded as dicts."""
    if is_encrypted(cql_type) or not cql_type.subtypes:
        return cql_type
    return with_subtypes(cql_type, tuple(map(_with_dicts, cql_type.subtypes)), dict)
