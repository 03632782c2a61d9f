"""Reads pickles of cassandra-driver, which applications keep in caches and queues."""

from __future__ import annotations

from typing import Any


def restore(value: object, state: Any) -> None:
    """Set the attributes of an object that is unpickled; classes have it as ``__setstate__``.

    :param value: the object, without attributes.
    :param state: a tuple of two dicts, of which the first one may be None. This is how Python
        pickles objects with ``__slots__``: the attributes of ``__dict__``, and those of the slots.
        Classes of cassandra-driver have no slots, so their pickles have a dict.
    """
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, attribute in (attributes or {}).items():
            setattr(value, name, attribute)
