"""Literals of classes with a converter, for parameters that are interpolated into CQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra.codecs.converter import to_native

if TYPE_CHECKING:
    from cassandra.encoder import Encoder

__all__ = ["write_literals"]


class _ClassLiteral:
    """Writes the literals of one class. It is an entry of `Encoder.mapping`.

    :param encoder: writes the converted value.
    :param cls: the class.
    :param to_cql: the function of the converter.
    """

    __slots__ = ("cls", "encoder", "previous", "to_cql")

    def __init__(self, encoder: Encoder, cls: type, to_cql: Callable[[Any], Any]) -> None:
        self.encoder = encoder
        self.cls = cls
        self.to_cql = to_cql
        # The entry that it replaces, or None.
        self.previous: Callable[[Any], str] | None = encoder.mapping.get(cls)

    def __call__(self, value: object) -> str:
        converted = to_native(self.to_cql, value, "a value of CQL")
        write = self.encoder._method(type(converted))
        # A converter returns a CQL value, which must not be converted again.
        while isinstance(write, _ClassLiteral):
            write = write.previous or self.encoder.cql_encode_object
        return write(converted)


def write_literals(encoder: Encoder, classes: Mapping[type, Callable[[Any], Any]]) -> None:
    """Let `encoder` convert values of exactly these classes.

    If the application has replaced one of our entries in the meantime, its entry stays.

    :param encoder: the encoder.
    :param classes: the functions by class.
    """
    mapping: Any = getattr(encoder, "mapping", None)
    if mapping is None:
        return
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
