"""Converts values when they are written as CQL literals, if their class has a converter.

The driver writes CQL literals for the parameters of a statement with ``%s``.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.codecs.converter import to_native
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.codecs.registry import Converters
    from cassandra.encoder import Encoder


# Classes of converted values that contain no other values.
_SCALARS = frozenset({
    bool, bytes, datetime.date, datetime.datetime, decimal.Decimal, float, int, str, uuid.UUID,
})  # fmt: skip


class UserTypeLiteral:
    """An entry of `Encoder.mapping`: writes the literals of a user-defined type.

    :param current_encoder: returns the encoder that writes the fields. The application may replace
        the encoder of its session.
    :param fields: returns the names of the type's fields.
    """

    __slots__ = ("_current_encoder", "_fields")

    def __init__(
        self, current_encoder: Callable[[], Encoder], fields: Callable[[], Sequence[str]]
    ) -> None:
        self._current_encoder = current_encoder
        self._fields = fields

    def __call__(self, value: object) -> str:
        literal = self._current_encoder().cql_encode_all_types
        pairs = (
            f"{protect_name(field)} : {literal(getattr(value, field, None), as_text_type=True)}"
            for field in self._fields()
        )
        return "{" + " , ".join(pairs) + "}"

    def of(self, encoder: Encoder) -> UserTypeLiteral:
        """Return the entry for another encoder."""
        return UserTypeLiteral(lambda: encoder, self._fields)


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
        # `converted` is already a CQL value. Do not convert it again, nor the values in it, if
        # their classes have converters, too.
        if type(converted) in _SCALARS:  # the usual case, for which a copy would take too long
            write = _replaced(self.encoder.mapping.get(type(converted)))
            if write is not None:
                return write(converted)
        return _without_converters(self.encoder).cql_encode_all_types(converted)


def _replaced(write: Callable[[Any], str] | None) -> Callable[[Any], str] | None:
    """Return the function of `Encoder.mapping` that converters have replaced; others unchanged."""
    while isinstance(write, _ClassLiteral):
        write = write.previous
    return write


def _without_converters(encoder: Encoder) -> Encoder:
    """Return a copy of an encoder that converts no values, not even inside collections."""
    plain = copy.copy(encoder)
    plain.mapping = {}
    for cls, entry in encoder.mapping.items():
        write: Any = _replaced(entry)
        if getattr(write, "__self__", None) is encoder:
            write = write.__func__.__get__(plain)  # the same method of the copy
        elif isinstance(write, UserTypeLiteral):
            write = write.of(plain)
        if write is not None:
            plain.mapping[cls] = write
    return plain


def write_literals(encoder: Encoder, converters: Converters | None) -> None:
    """Make `encoder` convert values of the registered classes, and of no other classes.

    Functions that the application has put into `Encoder.mapping` are not removed.

    :param encoder: the encoder.
    :param converters: the registered converters; None if there are none. That of a class is also
        for the subclasses that the encoder itself writes in a way of their own, such as datetime
        for date.
    """
    # If the application uses an encoder of its own class, the encoder may have no mapping.
    mapping: Any = getattr(encoder, "mapping", None)
    if mapping is None:
        return
    classes: dict[type, Callable[[Any], Any]] = {}
    if converters is not None:
        classes = {
            cls: to_cql
            for cls, entry in mapping.items()
            if getattr(_replaced(entry), "__self__", None) is encoder
            and (to_cql := converters.of_class(cls)) is not None
        }
        classes.update(converters.classes)
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
