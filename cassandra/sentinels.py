"""Special values that are compared by identity.

`UNSET_VALUE` is for a bound parameter that is not set. `EMPTY` is the empty value that old versions
of Cassandra allowed for scalar types. `NOT_SET` and `FETCH_SIZE_UNSET` stand for arguments and
settings that are not given.
"""

from __future__ import annotations

from typing import Any


class _NotSet:
    """The class of `UNSET_VALUE`. If you bind this value, the server does not change the column.

    See native_protocol_v4.spec, section 3.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET_VALUE"

    def __reduce__(self) -> str:
        return "UNSET_VALUE"

    # A copy must be the same object, because the value is compared by identity.
    def __copy__(self) -> _NotSet:
        return self

    def __deepcopy__(self, memo: object) -> _NotSet:
        return self


class EmptyValue:
    """The class of `EMPTY`, the result for a value of zero bytes.

    This only applies to types whose ``support_empty_values`` is True.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "EMPTY"

    __repr__ = __str__

    def __reduce__(self) -> str:
        return "EMPTY"

    def __copy__(self) -> EmptyValue:
        return self

    def __deepcopy__(self, memo: object) -> EmptyValue:
        return self


# pickle stores the singletons by name, and looks for these names in this module.
_NotSet.__module__ = "cassandra.sentinels"
EmptyValue.__module__ = "cassandra.sentinels"

UNSET_VALUE = _NotSet()
EMPTY = EmptyValue()


class _Sentinel:
    """A value that means "not given", for parameters in which None has another meaning."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    # Pickle by name, so that an unpickled statement has the same object, which is compared by `is`.
    def __reduce__(self) -> str:
        return self._name


FETCH_SIZE_UNSET: Any = _Sentinel("FETCH_SIZE_UNSET")
"""The value of `fetch_size` that means the session's `default_fetch_size`."""

NOT_SET: Any = _Sentinel("NOT_SET")
"""The default of parameters for which None has another meaning, such as "no time-out"."""
