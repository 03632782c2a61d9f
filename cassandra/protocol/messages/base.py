"""The base of all messages, and the registry of their classes by opcode.

Messages are plain mutable objects: programs read and set their attributes, so they have no slots.
Attributes that most messages lack (a trace id, warnings, a payload) are class attributes, which
cost an instance nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar
from uuid import UUID

from cassandra.protocol.opcodes import ERROR
from cassandra.protocol.primitives import Cursor

if TYPE_CHECKING:
    from cassandra.protocol.features import ProtocolFeatures

_Class = TypeVar("_Class", bound=type)

message_types_by_opcode: dict[int, type[MessageType]] = {}


def public(cls: _Class) -> _Class:
    """Give `cls` the module path that users import it from."""
    cls.__module__ = "cassandra.protocol"
    return cls


def register_class(cls: type[MessageType]) -> type[MessageType]:
    """Make `cls` the message of its opcode.

    :param cls: a class with an `opcode`.
    """
    message_types_by_opcode[cls.opcode] = cls
    return cls


def get_registered_classes() -> dict[int, type[MessageType]]:
    """Return a copy of the message classes by opcode."""
    return message_types_by_opcode.copy()


class MessageType:
    """Base of all messages.

    `stream_id`, `trace_id`, `warnings` and `custom_payload` are those of a response's envelope. On
    requests, `tracing` and `custom_payload` may be set.
    """

    opcode: ClassVar[int]
    name: ClassVar[str]

    tracing: bool = False
    custom_payload: dict[str, Any] | None = None
    warnings: list[str] | None = None
    trace_id: UUID | None = None
    stream_id: int = 0

    def update_custom_payload(self, other: dict[str, Any] | None) -> None:
        """Add `other` to the payload, without changing a mapping that others may hold.

        :param other: a mapping of texts to bytes.
        """
        if other:
            self.custom_payload = {**(self.custom_payload or {}), **other}

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        """Return the body of this request, without header, tracing and custom payload.

        :param protocol_version: the version of the connection.
        :param protocol_features: the extensions of the connection; None for none.
        """
        raise TypeError(f"{type(self).__name__} is not a request; it has no body to send")

    def send_body(
        self, f: BinaryIO, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> None:
        """Write the body of this request to the file-like `f`, in one write.

        :param f: the file-like object to write to.
        :param protocol_version: the version of the connection.
        :param protocol_features: the extensions of the connection; None for none.
        """
        f.write(self.body(protocol_version, protocol_features))

    @classmethod
    def recv_body(cls, f: BinaryIO, protocol_version: int, *rest: object) -> Any:
        """Return the message of a response whose body begins at `f`.

        A class of a program, in the `message_types_by_opcode` of its handler, may override it.

        :param f: a file-like reader of the body.
        :param protocol_version: the version of the connection.
        :param rest: further arguments of the handler; not looked at here.
        """
        decode = getattr(cls, "decode", None)
        if decode is None:
            raise TypeError(f"{cls.__name__} is not a response; it has no body to read")
        cursor = Cursor(f.read())
        return decode(cursor, protocol_version) if cls.opcode == ERROR else decode(cursor)

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in sorted(vars(self).items()))
        return f"<{type(self).__name__}({fields})>"


MessageType.__name__ = MessageType.__qualname__ = "_MessageType"
public(MessageType)
