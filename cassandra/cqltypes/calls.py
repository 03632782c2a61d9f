"""The fast way of `serialize`, `deserialize`, `to_binary` and `from_binary` of type classes.

The four are class methods of `_CassandraType`, which find the class's codec at each call. The first
call of a class puts the methods of a `TypeCalls` into the class itself, which hold its codec; the
calls that follow find them there. Compiled, they are built-in functions.

What is put into a class must not be seen by classes below it, which have other codecs, and must not
outlive a change that it depends on. So:

- a class that would inherit such a method gets the class method of `_CassandraType` in its place,
  when it is made (`protect`) or when its parent's methods are installed;
- a change of any class attribute that codecs depend on takes all of them out again (`withdraw`):
  then every class has what its author wrote, and nothing else.

A class whose coding, or that of a type inside it, is a program's own keeps the class methods.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import cassandra._impl as implementations
from cassandra._forks import renew_in_child
from cassandra._threads import RLock

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["NAMES", "install", "is_stock", "protect", "stock_methods", "withdraw"]

NAMES = ("serialize", "deserialize", "to_binary", "from_binary")

stock_methods: dict[str, Any] = {}
"""The class methods of `_CassandraType` by name, as they stand in its namespace."""

_NOTHING = object()
# What stood in a class, by name, where something was put.
_replaced: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
_lock = RLock()
# Not CassandraTypeType's own, which withdraws at each change.
_set, _delete = type.__setattr__, type.__delattr__


@renew_in_child
def _renew_lock() -> None:
    global _lock
    _lock = RLock()


def _put(cls: type[Any], name: str, method: object) -> None:
    _replaced.setdefault(cls, {}).setdefault(name, cls.__dict__.get(name, _NOTHING))
    _set(cls, name, method)


def is_stock(cls: type[Any], method: object) -> bool:
    """Return True if `method`, as `cls` gives or holds it, is its own and not a program's.

    A method of another type class is a program's choice: ``serialize = UTF8Type.serialize``.
    """
    bound_to: Any = getattr(method, "__self__", None)
    if type(bound_to) is implementations.codecs.TypeCalls:
        return bound_to.owner is cls
    function = getattr(method, "__func__", None)
    if not any(function is stock.__func__ for stock in stock_methods.values()):
        return False
    # A class method as it stands in a namespace is bound to nothing.
    return bound_to is cls or isinstance(method, classmethod)


def _versions_matter(cls: type[Any]) -> bool:
    """Return True if the coding is a program's own: it is called with the protocol version."""
    return cls._overridden() or any(
        isinstance(part, type) and _versions_matter(part)
        for part in cls.subtypes
        if hasattr(part, "_overridden")
    )


def install(cls: type[Any], generation: Callable[[], int]) -> None:
    """Put the fast methods into `cls`, if its coding allows it.

    :param generation: returns the number of changes so far (see `_KnownCodecs`).
    """
    with _lock:
        began = generation()
        if _versions_matter(cls):
            return
        codec = cls._native_codec(5, "list")
        methods = implementations.codecs.TypeCalls(cls, codec, cls.empty_binary_ok, cls._empty())
        for child in cls.__subclasses__():
            _keep_stock(child)
        for name in NAMES:
            _put(cls, name, getattr(methods, name))
        # A change that came meanwhile has not seen these.
        if generation() != began:
            withdraw()


def _keep_stock(cls: type[Any]) -> None:
    """Let `cls` have the class methods itself wherever it inherits them."""
    for name in NAMES:
        if name not in cls.__dict__ and is_stock(cls, getattr(cls, name)):
            _put(cls, name, stock_methods[name])


def protect(cls: type[Any]) -> None:
    """Take the fast methods of its parents away from the new class `cls`."""
    for name in NAMES:
        holder = next((base for base in cls.__mro__ if name in base.__dict__), None)
        if holder is None or holder is cls:
            continue
        calls = getattr(holder.__dict__[name], "__self__", None)
        # None while the package's own types are made, before an implementation is chosen.
        if calls is None:
            continue
        if type(calls) is implementations.codecs.TypeCalls and calls.owner is holder:
            with _lock:
                _put(cls, name, stock_methods[name])


def withdraw() -> None:
    """Take out of all classes what was put into them, and put back what stood there."""
    with _lock:
        for cls, before in list(_replaced.items()):
            for name, method in before.items():
                if name not in cls.__dict__ or not is_stock(cls, cls.__dict__[name]):
                    continue
                if method is _NOTHING:
                    _delete(cls, name)
                else:
                    _set(cls, name, method)
        _replaced.clear()
