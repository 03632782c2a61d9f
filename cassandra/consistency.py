"""Consistency levels of the native protocol (native_protocol_v5.spec, section 3, [consistency])."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


def _by_name(code: str, name: object) -> str:
    """Return the error for code that treats `ConsistencyLevel` as an enum, such as Level["ONE"].

    :param code: the code that the user has written.
    """
    key = name.upper() if isinstance(name, str) else name
    table = "value_to_name" if isinstance(name, int) else "name_to_value"
    return f"{code}: the levels are plain numbers; write ConsistencyLevel.{table}[{key!r}]"


class ConsistencyLevel:
    """The consistency levels: how many replicas must respond before a request succeeds.

    The values are the numbers of the levels in the protocol.
    """

    ANY = 0
    """For writes: one replica, or a hint that is stored for a replica."""
    ONE = 1
    """One replica."""
    TWO = 2
    """Two replicas."""
    THREE = 3
    """Three replicas."""
    QUORUM = 4
    """More than half of all replicas."""
    ALL = 5
    """All replicas."""
    LOCAL_QUORUM = 6
    """More than half of the replicas in the coordinator's data centre."""
    EACH_QUORUM = 7
    """More than half of the replicas in each data centre."""
    SERIAL = 8
    """For lightweight transactions: a majority of all replicas agrees on the order."""
    LOCAL_SERIAL = 9
    """For lightweight transactions: like SERIAL, within the coordinator's data centre."""
    LOCAL_ONE = 10
    """One replica in the coordinator's data centre."""

    # These two dicts are filled from the levels, below the class.
    value_to_name: dict[int, str]
    name_to_value: dict[str, int]

    if not TYPE_CHECKING:  # hidden from type checkers, which report such code themselves

        def __new__(cls, *_names):
            # The levels are plain numbers, not instances of this class.
            if _names:
                raise TypeError(_by_name(f"ConsistencyLevel({_names[0]!r})", _names[0]))
            return super().__new__(cls)

        def __class_getitem__(cls, name):
            raise TypeError(_by_name(f"ConsistencyLevel[{name!r}]", name))

    @staticmethod
    def is_serial(cl: int | None) -> bool:
        """Return True if `cl` is a level of lightweight transactions.

        :param cl: a value of this class.
        """
        return cl in SERIAL_LEVELS


ConsistencyLevel.__module__ = "cassandra"
ConsistencyLevel.name_to_value = {
    name: value
    for name, value in vars(ConsistencyLevel).items()
    if name.isupper() and isinstance(value, int)
}
ConsistencyLevel.value_to_name = {
    value: name for name, value in ConsistencyLevel.name_to_value.items()
}


# The levels of lightweight transactions, and their names.
SERIAL_LEVELS = (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL)
_SERIAL_NAMES = tuple(ConsistencyLevel.value_to_name[level] for level in SERIAL_LEVELS)


def constant_of(value: object) -> str:
    """Return the end of an error message for a level that was passed as a string.

    For "quorum", this is ``: write ConsistencyLevel.QUORUM``.
    """
    if not isinstance(value, str):
        return ""
    levels = ConsistencyLevel.name_to_value
    name = re.sub(r"\W", "_", value.upper())
    if name not in levels:
        return f": the levels are {', '.join(f'ConsistencyLevel.{name}' for name in levels)}"
    return f": write ConsistencyLevel.{name}"


def level_of(value: object) -> int | None:
    """Return the number of a consistency level that is given as a number or as a name.

    :param value: a value of `ConsistencyLevel`, or its name in upper or lower case. None is
        returned unchanged.
    :raises ValueError: if there is no such level.
    """
    if value is None:
        return None
    level: object = value
    if isinstance(value, str):
        level = ConsistencyLevel.name_to_value.get(value.upper())
    is_bool = isinstance(level, bool)  # True and False are ints, but are certainly a mistake
    if isinstance(level, int) and not is_bool and level in ConsistencyLevel.value_to_name:
        return level
    names = ", ".join(ConsistencyLevel.name_to_value)
    raise ValueError(f"there is no consistency level {value!r}, but {names}")


def checked_serial(name: str, level: int | None) -> int | None:
    """Check a serial consistency level and return it.

    :param name: the name of the setting, for the message.
    :param level: the value that user code passes; None if the level is not set.
    :raises ValueError: if `level` is not SERIAL or LOCAL_SERIAL.
    """
    if level is not None and not ConsistencyLevel.is_serial(level):
        is_known = isinstance(level, int) and level in ConsistencyLevel.value_to_name
        description = ConsistencyLevel.value_to_name[level] if is_known else repr(level)
        constant = constant_of(level) if str(level).upper() in _SERIAL_NAMES else ""
        raise ValueError(f"{name} must be SERIAL or LOCAL_SERIAL, but is {description}{constant}")
    return level


def consistency_value_to_name(value: int | None) -> str:
    """Return the name of a level, or "Not Set" for None.

    :param value: a value of `ConsistencyLevel`, or None.
    """
    return (
        "Not Set"
        if value is None
        else ConsistencyLevel.value_to_name.get(value, f"unknown ({value})")
    )
