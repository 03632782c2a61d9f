"""Consistency levels of the native protocol (native_protocol_v5.spec, section 3, [consistency])."""

from __future__ import annotations


class ConsistencyLevel:
    """How many replicas have to answer before a request succeeds.

    The serial levels are for lightweight transactions.
    """

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10

    # Filled below, from the levels themselves.
    value_to_name: dict[int, str]
    name_to_value: dict[str, int]

    @staticmethod
    def is_serial(cl: int | None) -> bool:
        """Return True if `cl` is a level of lightweight transactions.

        :param cl: a value of this class.
        """
        return cl in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL)


ConsistencyLevel.__module__ = "cassandra"
ConsistencyLevel.name_to_value = {
    name: value
    for name, value in vars(ConsistencyLevel).items()
    if name.isupper() and isinstance(value, int)
}
ConsistencyLevel.value_to_name = {
    value: name for name, value in ConsistencyLevel.name_to_value.items()
}


def consistency_value_to_name(value: int | None) -> str:
    """Return the name of a level, or "Not Set" for None.

    :param value: a value of `ConsistencyLevel`, or None.
    """
    return (
        "Not Set"
        if value is None
        else ConsistencyLevel.value_to_name.get(value, f"unknown ({value})")
    )
