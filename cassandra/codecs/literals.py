"""Converts values when they are written as CQL literals, if their class has a converter.

The driver writes CQL literals for the parameters of a statement with ``%s``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra.codecs.converter import to_native

if TYPE_CHECKING:
    from cassandra.encoder import Encoder


class _ClassLiteral:
    """An entry of `Encoder.mapping`: a function that writes the literals of one class.

    :param encoder: the encoder, which also writes the literal of the converted value.
    :param cls: the class.
    :param to_cql: converts a value of the class to a CQL value.
    """

    __slots__ = ("cls", "encoder", "previous", "to_cql")

    def __init__(self, encoder: Encoder, cls: type, to_cql: Callable[[Any], Any]) -> None:
        self.encoder = encoder
        self.cls = cls
        self.to_cql = to_cql
        # The function in the mapping that this object replaces; None if the class had no entry.
        self.previous: Callable[[Any], str] | None = encoder.mapping.get(cls)

    def __call__(self, value: object) -> str:
        converted = to_native(self.to_cql, value, "a value of CQL")
        write = self.encoder._method(type(converted))
        # `converted` is already a CQL value. Do not convert it again if its class has a converter,
        # too: use the function that the converter's entry has replaced.
        while isinstance(write, _ClassLiteral):
            write = write.previous or self.encoder._method_for_unknown()
        return write(converted)


def write_literals(encoder: Encoder, classes: Mapping[type, Callable[[Any], Any]]) -> None:
    """Make `encoder` convert values of the classes in `classes`, and of no other classes.

    Functions that the application has put into `Encoder.mapping` are not removed.

    :param encoder: the encoder.
    :param classes: the functions of the converters, by class.
    """
    # If the application uses an encoder of its own class, the encoder may have no mapping.
    mapping: Any = getattr(encoder, "mapping", None)
    if mapping is None:
        return
    # Remove our entries for other classes, and restore the entries that they have replaced.
    for cls, entry in list(mapping.items()):
        if isinstance(entry, _ClassLiteral) and classes.get(cls) is not entry.to_cql:
            if entry.previous is None:
                del mapping[cls]
            else:
                mapping[cls] = entry.previous
    for cls, to_cql in classes.items():
        entry = mapping.get(cls)
        if not isinstance(entry, _ClassLiteral):
            mapping[cls] = _ClassLiteral(encoder, cls, to_cql)
