"""Values that must not show: passwords, keys, and settings that hold them.

Reports of errors show local variables and attributes by their reprs, some of them those of objects
inside objects. So whatever holds a secret for longer than an expression holds a `Secret`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar, overload

__all__ = ["HiddenAttribute", "Secret", "SecretKey"]

T = TypeVar("T")
_MISSING: Any = object()


class Secret(Generic[T]):
    """Holds a value, and shows it nowhere.

    :param value: the value.
    """

    # A function, not the value: tools that look into the slots of objects find nothing there.
    __slots__ = ("_reveal",)

    def __init__(self, value: T) -> None:
        self._reveal: Callable[[], T] = lambda: value

    @classmethod
    def of(cls, value: Any) -> Secret[Any]:
        """Return `value` as a secret, or itself if it is one.

        :param value: the value.
        """
        return value if isinstance(value, Secret) else cls(value)

    def reveal(self) -> T:
        """Return the value. Do not keep it in a variable: a traceback would show that."""
        return self._reveal()

    @property
    def kind(self) -> str:
        """The name of the value's type, for messages."""
        return type(self._reveal()).__name__

    def __repr__(self) -> str:
        return "<secret>"

    def __copy__(self) -> Secret[T]:
        return self

    def __deepcopy__(self, memo: object) -> Secret[T]:
        return self

    def __reduce__(self) -> Any:
        # Programs send providers to their other processes.
        return type(self), (self._reveal(),)


class SecretKey(Secret["bytes | None"]):
    """The bytes of a key, which cannot be copied to other processes.

    :param data: the bytes. Anything else is a key of the size -1.
    """

    __slots__ = ()

    def __init__(self, data: object) -> None:
        # Never an error here: a traceback shows this function's variables.
        super().__init__(bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else None)

    @property
    def size(self) -> int:
        """Bytes of the key; -1 if it was not made of bytes."""
        return len(self._reveal() or b"") if self._reveal() is not None else -1

    def reveal(self) -> bytes:
        """Return the bytes, for the library that encrypts."""
        return self._reveal() or b""

    def __repr__(self) -> str:
        return "<secret key>"

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret key cannot be pickled or copied")


class HiddenAttribute(Generic[T]):
    """An attribute that programs read and set as any other; the object keeps it as a `Secret`.

    :param default: its value for the class, and for an object that has none. Without it, there is
        no such attribute.
    """

    def __init__(self, default: T = _MISSING) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._kept = f"_{name}"

    @overload
    def __get__(self, holder: None, owner: Any) -> T: ...

    @overload
    def __get__(self, holder: object, owner: Any) -> T: ...

    def __get__(self, holder: object, owner: Any) -> T:
        kept: Secret[T] | None = None if holder is None else vars(holder).get(self._kept)
        if kept is not None:
            return kept.reveal()
        if self._default is _MISSING:
            raise AttributeError(
                f"{getattr(owner, '__name__', owner)!r} object has no attribute {self._name!r}"
            )
        return self._default

    def __set__(self, holder: object, value: T | Secret[T]) -> None:
        vars(holder)[self._kept] = Secret.of(value)

    def secret_of(self, holder: object) -> Secret[T] | None:
        """Return the attribute without revealing it; None if it was not set.

        :param holder: the object that has the attribute.
        """
        found: Secret[T] | None = vars(holder).get(self._kept)
        return found
