"""Finds nulls inside the collections of a request after the server has rejected the request.

The driver sends nulls inside collections, because servers accept some of them. If a server rejects
a null, its error usually names neither the column nor the position. For example, Cassandra 5.0
rejects a null in a list that is not frozen with a ``Server error`` that mentions
``NullPointerException``. After such an error the driver searches the values that were sent for
nulls, and adds a note to the error. The values of successful requests are not searched.

The search runs on the event loop, so its length is limited, and it never calls user code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.containers import (
    FrozenType,
    ListType,
    MapType,
    ReversedType,
    SetType,
    TupleType,
    VectorType,
)
from cassandra.cqltypes.failures import shown
from cassandra.cqltypes.udt import UserType
from cassandra.errors import InvalidRequest
from cassandra.marshal import uvint_unpack
from cassandra.protocol.messages.errors import ProtocolException, ServerError
from cassandra.protocol.primitives import NULL_VALUE

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody

# The errors with which servers reject a null in a collection.
_NULL_REJECTIONS = (ServerError, InvalidRequest, ProtocolException)

_MAX_COLUMNS = 5  # the maximum number of columns in a note
# The search stops after this many elements, keys, values and fields, which takes about 50 ms.
_MAX_ITEMS = 100_000

# The types that wrap another type, and the types whose values contain other values.
WRAPPERS = (FrozenType, ReversedType)
CONTAINERS = (ListType, SetType, MapType, TupleType, VectorType)


class _TooLong(Exception):
    """Raised when the search has reached _MAX_ITEMS."""


def null_positions(error: Exception, request_body: AnyBody) -> str | None:
    """Return a note with the columns and positions of nulls inside the request's collections.

    The note names the first null of each column, and at most five columns. Nulls in tuples and
    user-defined types are not reported, because these types allow them.

    :param error: the server's error, as it is raised to the caller of the request.
    :param request_body: the request that was sent.
    :returns: None if there is no such null, if no null was found within the limit, or if servers do
        not reject nulls with errors of this class.
    """
    if not isinstance(error, _NULL_REJECTIONS):
        return None
    columns: list[str] = []
    search = _Search()
    try:
        for prefix, prepared, values in request_body.bound_rows():
            for column, data in zip(prepared.column_metadata, values, strict=False):
                if isinstance(data, bytes) and (position := search.first_null(column.type, data)):
                    type_name = column.type.cql_parameterized_type()
                    columns.append(f'{prefix}column "{column.name}" ({type_name}): {position}')
                    if len(columns) == _MAX_COLUMNS:
                        # The note has enough columns: leave the other columns out.
                        return _note(columns)
    except _TooLong:
        pass
    except Exception:  # a user's protocol handler may have bound objects that are not bytes
        return None
    return _note(columns) if columns else None


def first_null(cqltype: Any, data: bytes) -> str | None:
    """Return the position of the first null inside a collection, for a message.

    :param cqltype: the CQL type of the value.
    :param data: the encoded value. If it has more than _MAX_ITEMS elements, only the first are
        searched.
    :returns: a description such as "element 3", or "value 0, of the key 'a': element 2" for a null
        in a list inside a map; None if there is no null.
    """
    try:
        return _Search().first_null(cqltype, data)
    except _TooLong:
        return None


def _note(columns: list[str]) -> str:
    return f"(nulls inside collections: {'; '.join(columns)})"


class _Search:
    """Looks for nulls in the bytes of values, up to a limit."""

    __slots__ = ("_items_left",)

    def __init__(self) -> None:
        self._items_left = _MAX_ITEMS

    def first_null(self, cqltype: Any, data: bytes) -> str | None:
        """Describe the position of the first null inside a collection; see `first_null`."""
        # First search for the bytes of a null, which is fast: most values do not contain them at
        # all.
        if NULL_VALUE not in data:
            return None
        while issubclass(cqltype, WRAPPERS):
            cqltype = cqltype.subtypes[0]
        # A user's subclass of the type may have encoded the value in another format, which we
        # cannot search.
        if cqltype._overridden():
            return None
        for container in CONTAINERS:
            if issubclass(cqltype, container):
                return _SEARCH_METHODS[container](self, cqltype, data)
        return None

    def _read_values(self, data: bytes, offset: int) -> Iterator[bytes | None]:
        """Yield the content of each [bytes] value in `data` from `offset` on; None for a null."""
        while offset < len(data):
            self._items_left -= 1
            if self._items_left < 0:
                raise _TooLong
            # A [bytes] value is an [int] with the size, which is negative for a null, followed by
            # the content.
            size = int.from_bytes(data[offset : offset + 4], "big", signed=True)
            offset += 4
            if size < 0:
                yield None
            else:
                yield data[offset : offset + size]
                offset += size

    def search_elements(self, cqltype: Any, data: bytes) -> str | None:
        """Describe the position of the first null in an encoded list or set; None without nulls."""
        element_type = cqltype.subtypes[0]
        # The elements follow the count, an [int] of 4 bytes.
        for index, body in enumerate(self._read_values(data, 4)):
            if body is None:
                return f"element {index}"
            if inner := self.first_null(element_type, body):
                return f"element {index}: {inner}"
        return None

    def search_pairs(self, cqltype: Any, data: bytes) -> str | None:
        """Describe the position of the first null in an encoded map; None without nulls."""
        key_type, value_type = cqltype.subtypes
        bodies = self._read_values(data, 4)
        # After the count of 4 bytes, keys and values alternate. `zip` takes both from the same
        # iterator, so it yields pairs of a key and its value.
        for index, (key, value) in enumerate(zip(bodies, bodies, strict=True)):
            if key is None:
                return f"key {index}"
            if inner := self.first_null(key_type, key):
                return f"key {index}: {inner}"
            if value is None:
                return f"value {index}, of the key {_shown_key(key_type, key)}"
            if inner := self.first_null(value_type, value):
                return f"value {index}, of the key {_shown_key(key_type, key)}: {inner}"
        return None

    def search_fields(self, cqltype: Any, data: bytes) -> str | None:
        """Describe the position of the first null inside a field of a tuple or user-defined type.

        The fields themselves may be null. Return None if there are no nulls inside the fields.
        """
        names = cqltype.fieldnames if issubclass(cqltype, UserType) else None
        for index, body in enumerate(self._read_values(data, 0)):
            if body is not None and (inner := self.first_null(cqltype.subtypes[index], body)):
                return f'field "{names[index]}": {inner}' if names else f"item {index}: {inner}"
        return None

    def search_vector(self, cqltype: Any, data: bytes) -> str | None:
        """Describe the position of the first null inside an element of an encoded vector.

        Elements of a type with variable size have a prefix with their size. Elements of a fixed
        size cannot contain nulls. Returns None without nulls.
        """
        element_type = cqltype.subtype
        if element_type.serial_size() is not None:
            return None
        offset = 0
        for index in range(cqltype.vector_size):
            # The prefix is a variable-length integer of at most 9 bytes.
            size, prefix_size = uvint_unpack(data[offset : offset + 9])
            offset += prefix_size
            if inner := self.first_null(element_type, data[offset : offset + size]):
                return f"element {index}: {inner}"
            offset += size
        return None


def _shown_key(cqltype: Any, data: bytes) -> str:
    """Return a description of a map's key, for the note that is added to the error."""
    while issubclass(cqltype, WRAPPERS):
        cqltype = cqltype.subtypes[0]
    # If the key is a container, or was encoded by a user's type, show only its size, because
    # decoding it might call user code.
    if cqltype._overridden() or issubclass(cqltype, CONTAINERS):
        return f"of {len(data)} bytes"
    return shown(cqltype.codec().decode_nullable(data))


# The method that searches the values inside a value, by the base class of the value's type.
_SEARCH_METHODS: dict[Any, Callable[[_Search, Any, bytes], str | None]] = {
    ListType: _Search.search_elements,
    SetType: _Search.search_elements,
    MapType: _Search.search_pairs,
    TupleType: _Search.search_fields,
    VectorType: _Search.search_vector,
}
