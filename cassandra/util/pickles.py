"""Restores objects from pickles of cassandra-driver.

Applications may have kept such pickles in caches and queues.
"""

from __future__ import annotations

from typing import Any


def restore(value: object, state: Any) -> None:
    """Set the attributes of an object that is unpickled.

    Classes use this as their ``__setstate__``.

    :param value: the object, which has no attributes yet.
    :param state: a dict of attributes; or a tuple of two dicts, of which the first may be None.
        Python pickles objects with ``__slots__`` as such a tuple: the attributes of ``__dict__``,
        and the attributes of the slots. Classes of cassandra-driver have no slots, so their pickles
        have a dict.
    """
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, attribute in (attributes or {}).items():
            setattr(value, name, attribute)
