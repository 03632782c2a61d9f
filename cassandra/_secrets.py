"""Hides values that must not be shown: passwords, keys, and settings that contain them.

Tools for error reports show the reprs of local variables and attributes, sometimes including nested
objects. Code that stores a secret in a variable or attribute must therefore wrap it in a `Secret`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar, overload

T = TypeVar("T")
_MISSING: Any = object()  # stands for the default of a `HiddenAttribute` that has no default


class Secret(Generic[T]):
    """Holds a value and does not show it in its repr or in its attributes."""

    # Store a function that returns the value, and not the value itself, so that tools that read the
    # slots of objects do not find the value.
    __slots__ = ("_reveal",)

    def __init__(self, value: T) -> None:
        self._reveal: Callable[[], T] = lambda: value

    @classmethod
    def of(cls, value: Any) -> Secret[Any]:
        """Return `value` in a `Secret`. If it is a `Secret` already, return it unchanged."""
        return value if isinstance(value, Secret) else cls(value)

    def reveal(self) -> T:
        """Return the value. Do not store it in a variable: tracebacks may show variables."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling is allowed, because applications send auth providers to other processes.
        return type(self), (self._reveal(),)


class SecretKey(Secret["bytes | None"]):
    """The bytes of a key. The object refuses to be pickled, so no other process gets the key.

    :param data: the key as a bytes-like object. For any other value, `size` is -1.
    """

    __slots__ = ()

    def __init__(self, data: object) -> None:
        # For a wrong type, do not raise an error: its traceback would show `data`.
        super().__init__(bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else None)

    @property
    def size(self) -> int:
        """The size of the key in bytes; -1 if it was not created from bytes."""
        return len(self._reveal() or b"") if self._reveal() is not None else -1

    def reveal(self) -> bytes:
        """Return the bytes, to pass them to the encryption library."""
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
    """A descriptor for an attribute whose value the object stores as a `Secret`.

    User code reads and sets the attribute as usual.

    :param default: the value of the attribute on the class, and on objects that have not set it.
        Without a default, reading the attribute there raises AttributeError.
    """

    def __init__(self, default: T = _MISSING) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._attribute = f"_{name}"

    @overload
    def __get__(self, holder: None, owner: Any) -> T: ...

    @overload
    def __get__(self, holder: object, owner: Any) -> T: ...

    def __get__(self, holder: object, owner: Any) -> T:
        secret: Secret[T] | None = None if holder is None else vars(holder).get(self._attribute)
        if secret is not None:
            return secret.reveal()
        if self._default is _MISSING:
            raise AttributeError(
                f"{getattr(owner, '__name__', owner)!r} object has no attribute {self._name!r}"
            )
        return self._default

    def __set__(self, holder: object, value: T | Secret[T]) -> None:
        vars(holder)[self._attribute] = Secret.of(value)

    def secret_of(self, holder: object) -> Secret[T] | None:
        """Return the attribute as a `Secret`, or None if it is not set.

        :param holder: the object that has the attribute.
        """
        return vars(holder).get(self._attribute)
