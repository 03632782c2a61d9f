"""`SentValues`: the list of a bound statement's values, which updates the statement."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, SupportsIndex

from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.protocol import bind
    from cassandra.protocol.bind import ValuesBlock
    from cassandra.query.bound import BoundStatement
else:
    from cassandra._impl import bind

_pack_length = struct.Struct(">i").pack
# In the protocol, a null or unset value has no bytes: it consists only of a negative length.
_NULL, _UNSET = _pack_length(-1), _pack_length(-2)


def block_of(values: Iterable[Any]) -> ValuesBlock:
    """Return one block with values that the caller has already serialized.

    The block has the form that `BindPlan.bind` returns.

    :param values: the bytes of each value, None for null, or `UNSET_VALUE`.
    :raises TypeError: if a value is something else. The message has the position of the value.
    """
    parts: list[bytes] = []
    count = 0
    has_unset = False
    # In the protocol, each value is its length in 4 bytes, then its bytes. Null and unset values
    # have negative lengths.
    for value in values:
        if value is None:
            parts.append(_NULL)
        elif value is UNSET_VALUE:
            parts.append(_UNSET)
            has_unset = True
        elif isinstance(value, (bytes, bytearray, memoryview)):
            body = bytes(value)
            parts += (_pack_length(len(body)), body)
        else:
            raise TypeError(
                f"values[{count}] is {value!r} ({type(value).__name__}): a serialized value is "
                "bytes, None or UNSET_VALUE; `bind` serializes others"
            )
        count += 1
    return bind.ValuesBlock(count, b"".join(parts), has_unset)


def _method_with_update(name: str) -> Callable[..., Any]:
    """Return a method that changes the list as `list.<name>` does, and then the statement."""
    list_method = getattr(list, name)

    @wraps(list_method)
    def change_and_write(self: SentValues, *arguments: Any, **named: Any) -> object:
        # Read the statement's current values first: another `SentValues` of the same statement may
        # have changed them.
        list.__setitem__(self, slice(None), self._statement._block_values())
        result = list_method(self, *arguments, **named)
        self._statement.values = self
        return result

    return change_and_write


class SentValues(list[Any]):
    """The serialized values of a bound statement. Changing the list changes the statement.

    `BoundStatement.values` creates it, and sets `_statement`, because an `__init__` of this class
    would make each creation slower.
    """

    __slots__ = ("_statement",)
    _statement: BoundStatement

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (list(self),)  # a copy is a plain list, which changes no statement

    __setitem__ = _method_with_update("__setitem__")
    __delitem__ = _method_with_update("__delitem__")
    __iadd__ = _method_with_update("__iadd__")
    __imul__ = _method_with_update("__imul__")
    append = _method_with_update("append")
    clear = _method_with_update("clear")
    extend = _method_with_update("extend")
    insert = _method_with_update("insert")
    pop = _method_with_update("pop")
    remove = _method_with_update("remove")
    reverse = _method_with_update("reverse")
    sort = _method_with_update("sort")
