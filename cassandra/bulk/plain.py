"""Pages as the servers sent them, whatever the application has set on its session.

Bulk code decodes by itself. A session has a row factory, a protocol handler, classes of
user-defined types and a class of vectors, which are what the application wants its own rows to be.
A file or another table must get the values as they are stored, so that nothing here goes through
them:

* `plain_session` gives a session whose answers keep the bytes of their rows.
* `PlainRows` decodes these bytes: fields of user-defined types by their names, vectors as lists.

Column encryption stays: values are decrypted, since the key is needed to write them elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra.client.columnar import rows_message
from cassandra.client.session import SessionBase
from cassandra.cqltypes.containers import ListType, SetType
from cassandra.cqltypes.udt import with_subtypes
from cassandra.protocol.encrypted import is_encrypted
from cassandra.protocol.handler import ProtocolHandler, encrypting_handler

if TYPE_CHECKING:
    from cassandra.bulk.scan import Page
    from cassandra.protocol import rows
    from cassandra.protocol.column_specs import ResultMetadata
else:
    from cassandra._impl import rows

__all__ = ["PlainRows", "plain_session"]


def plain_session(session: Any) -> Any:
    """Return `session`, or a view of it whose answers are read by the stock protocol handler.

    Another handler may give rows another form, and drop their bytes. The engine, the profiles and
    the listeners of the view are those of the session.

    :param session: a session of either API.
    """
    if not isinstance(session, SessionBase) or session.client_protocol_handler is ProtocolHandler:
        return session
    # A handler may decrypt by a policy that the cluster does not have.
    policy = getattr(session.client_protocol_handler, "column_encryption_policy", None)
    view = copy.copy(session)
    view.client_protocol_handler = encrypting_handler(ProtocolHandler, policy)
    return view


class _DictForEachType:
    """Stands for the classes of user-defined types: each value is read as a dict of its fields."""

    def get(self, name: str, default: object = None) -> Any:
        """Return the class of a type, or the classes of a keyspace.

        :param name: the keyspace, or the type.
        :param default: not used.
        """
        return _types_of_keyspace if self is _AS_DICTS else dict


_AS_DICTS: Any = _DictForEachType()
_types_of_keyspace: Any = _DictForEachType()


class PlainRows:
    """Decodes pages of one statement without the settings of the session.

    A value of a user-defined type is a dict by the names of its fields, also in collections. A set
    is a list: elements that are equal in Python, as -0.0 and 0.0 are, are not for a server.
    """

    def __init__(self) -> None:
        self._metadata: ResultMetadata | None = None
        self._codecs: list[Any] = []
        self._row_plan: rows.RowPlan | None = None

    def codecs(self, page: Page) -> Sequence[Any]:
        """Return the codec of each column of a page.

        :param page: a result whose page at hand is read.
        """
        self._follow(rows_message(page._message).metadata)
        return self._codecs

    def tuples(self, page: Page) -> list[tuple[Any, ...]]:
        """Return the rows of a page.

        :param page: a result whose page at hand is read.
        :raises DecodeError: if a value cannot be decoded; it names the row and the column.
        """
        message = rows_message(page._message)
        row_plan = self._follow(message.metadata)
        found: list[tuple[Any, ...]] = row_plan.tuples(*message.rows_body)
        return found

    def _follow(self, metadata: ResultMetadata) -> rows.RowPlan:
        # Pages of one statement share their metadata until the table is altered.
        if self._row_plan is None or metadata is not self._metadata:
            columns = metadata.for_user_types(_AS_DICTS).columns
            self._codecs = [_faithful(column.type).codec(vectors="list") for column in columns]
            self._row_plan = rows.RowPlan(metadata.names, self._codecs)
            self._metadata = metadata
        return self._row_plan


def _faithful(cql_type: Any) -> Any:
    """Return a type that is read as lists wherever `cql_type` has sets: both are coded alike."""
    if is_encrypted(cql_type):
        return cql_type  # it has a codec of its own
    subtypes = tuple(map(_faithful, cql_type.subtypes or ()))
    if issubclass(cql_type, SetType):
        return ListType.apply_parameters(subtypes)
    if all(new is old for new, old in zip(subtypes, cql_type.subtypes or (), strict=True)):
        return cql_type
    return with_subtypes(cql_type, subtypes, getattr(cql_type, "mapped_class", None))
