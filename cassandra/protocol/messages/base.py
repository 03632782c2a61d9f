"""The base class of all messages, and the registry of message classes by opcode.

Messages are plain mutable objects without slots, because applications read and set their
attributes. Most messages have no trace id, warnings or payload, so the defaults of these are class
attributes, which need no memory in each instance.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar
from uuid import UUID

from cassandra.protocol.opcodes import ERROR
from cassandra.protocol.primitives import Cursor

if TYPE_CHECKING:
    from cassandra.protocol.features import ProtocolFeatures

_Class = TypeVar("_Class", bound=type)

# The class of each message, by opcode.
message_types_by_opcode: dict[int, type[MessageType]] = {}


def public(cls: _Class) -> _Class:
    """Set the module of `cls` to `cassandra.protocol`, from which users import it (a decorator)."""
    cls.__module__ = "cassandra.protocol"
    return cls


def register_class(cls: type[MessageType]) -> type[MessageType]:
    """Register `cls` as the message class of its opcode.

    :param cls: a class with the attribute `opcode`.
    """
    message_types_by_opcode[cls.opcode] = cls
    return cls


def get_registered_classes() -> dict[int, type[MessageType]]:
    """Return a new dict with the registered message class of each opcode."""
    return message_types_by_opcode.copy()


def messages_of(module: ModuleType) -> list[Any]:
    """Return the classes of messages that have an opcode, among the names of `module`."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, MessageType) and hasattr(value, "opcode")
    ]


class MessageType:
    """Base class of all messages.

    On a response, `stream_id`, `trace_id`, `warnings` and `custom_payload` have what the envelope
    had. On a request, you may set `tracing` and `custom_payload`.
    """

    opcode: ClassVar[int]
    name: ClassVar[str]

    # For a request: the opcodes of the responses to it. `cassandra.protocol.expected` has the
    # responses that depend on the kind of a RESULT.
    answers: ClassVar[tuple[int, ...]] = ()

    tracing: bool = False
    custom_payload: dict[str, Any] | None = None
    warnings: list[str] | None = None
    trace_id: UUID | None = None
    stream_id: int = 0

    def update_custom_payload(self, other: dict[str, Any] | None) -> None:
        """Replace the payload by a new dict that also has the items of `other`.

        The old dict is not changed, because the application may still use it.

        :param other: a mapping of strings to bytes.
        """
        if other:
            self.custom_payload = {**(self.custom_payload or {}), **other}

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        """Return the body of this request, without the header and the custom payload.

        :param protocol_version: the version of the connection.
        :param protocol_features: the extensions of the connection, or None.
        """
        raise TypeError(f"{type(self).__name__} is not a request; it has no body to send")

    def send_body(
        self, f: BinaryIO, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> None:
        """Write the body of this request to `f`, with a single call of its `write` method.

        :param f: the file-like object to write to.
        :param protocol_version: the version of the connection.
        :param protocol_features: the extensions of the connection, or None.
        """
        f.write(self.body(protocol_version, protocol_features))

    @classmethod
    def recv_body(cls, f: BinaryIO, protocol_version: int, *rest: object) -> Any:
        """Read the body of a response from `f`; return the message.

        An application may override this method in a message class that it has put into the
        `message_types_by_opcode` of its handler.

        :param f: a file-like object, positioned at the beginning of the body.
        :param protocol_version: the version of the connection.
        :param rest: further arguments that a handler passes; this implementation ignores them.
        """
        decode = getattr(cls, "decode", None)
        if decode is None:
            raise TypeError(f"{cls.__name__} is not a response; it has no body to read")
        cursor = Cursor(f.read())
        # Only `ErrorMessage.decode` takes the version: the fields of errors depend on it.
        return decode(cursor, protocol_version) if cls.opcode == ERROR else decode(cursor)

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in sorted(vars(self).items()))
        return f"<{type(self).__name__}({fields})>"


MessageType.__name__ = MessageType.__qualname__ = "_MessageType"
public(MessageType)
