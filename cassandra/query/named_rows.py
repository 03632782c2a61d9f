"""Batch entries that consist of a prepared statement's id and serialized values.

Some applications assign a list of (is prepared, id or query string, values) to
``batch._statements_and_parameters``, to save the work of `BatchStatement.add`. The prepared
statement of an id is looked up when the batch is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.protocol import bind
    from cassandra.protocol.bind import RowsBlock
    from cassandra.query.prepared import PreparedStatement
else:
    from cassandra._impl import bind

_int32 = struct.Struct(">i")
# In the protocol, a null or unset value has no bytes: it consists only of a negative length.
_NULL, _UNSET = _int32.pack(-1), _int32.pack(-2)


class NamedRow:
    """A row for a prepared statement of which only the id is known.

    :param query_id: the server's id of the statement.
    :param values: the serialized values: bytes, None or UNSET_VALUE.
    """

    __slots__ = ("query_id", "values")

    def __init__(self, query_id: bytes, values: Sequence[Any]) -> None:
        self.query_id = query_id
        self.values = list(values)

    def __repr__(self) -> str:
        return f"<a row of the prepared statement {self.query_id.hex()}>"

    def bound(
        self, prepared_by_id: Callable[[bytes], PreparedStatement | None]
    ) -> tuple[PreparedStatement, RowsBlock]:
        """Return the prepared statement and a block with this row.

        :param prepared_by_id: returns the prepared statement of an id, or None.
        :raises ValueError: if no prepared statement has the id.
        """
        prepared = prepared_by_id(self.query_id)
        if prepared is None:
            raise ValueError(
                f"a batch names a prepared statement by the id {self.query_id.hex()}, "
                "which this cluster has not prepared, or not any more"
            )
        row = b"".join(map(_with_length, self.values))
        has_unset = any(value is UNSET_VALUE for value in self.values)
        return prepared, bind.RowsBlock(len(self.values), [row], has_unset)


def _with_length(value: Any) -> bytes:
    """Return a serialized value preceded by its length: a [value] of the protocol."""
    # See native_protocol_v5.spec, section 3, for the format.
    if value is None:
        return _NULL
    return _UNSET if value is UNSET_VALUE else _int32.pack(len(value)) + value
