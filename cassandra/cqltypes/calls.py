"""Makes `serialize`, `deserialize`, `to_binary` and `from_binary` of type classes faster.

These four are class methods of `_CassandraType`, which look up the class's codec in each call. The
first call on a class replaces its four methods by the methods of a `TypeCalls` object, which holds
the codec (`install`). Later calls use these fast methods directly. In the compiled implementation
they are built-in functions.

A subclass has its own codec, so it must not inherit the fast methods. The fast methods must also be
removed after a change that the codec depends on. Therefore:

- A subclass that would inherit a fast method gets the class method of `_CassandraType` as its own
  attribute. This happens when the subclass is created (`protect`), or when its parent gets the fast
  methods.
- If a class attribute that codecs depend on is changed, the fast methods are removed from all
  classes (`withdraw`). Every class then has its original methods again.

A class gets no fast methods if it overrides one of the four methods, or if a type inside it does.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import cassandra._impl as implementations
from cassandra._forks import renew_in_child
from cassandra._proxies import is_own, is_proxy
from cassandra._threads import RLock

if TYPE_CHECKING:
    from collections.abc import Callable


# The methods of type classes that `install` replaces.
NAMES = ("serialize", "deserialize", "to_binary", "from_binary")

stock_methods: dict[str, Any] = {}
"""The four `classmethod` objects in the namespace of `_CassandraType`, by name."""

_NOT_DEFINED = object()  # stands for a missing attribute in `_replaced`
# Maps each class that we changed to its original attributes by method name. The value is
# _NOT_DEFINED if the class did not define the method itself.
_replaced: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
_lock = RLock()  # held while this module replaces or restores methods
# Do not use setattr and delattr: CassandraTypeType overrides both, and would call `withdraw`.
_set, _delete = type.__setattr__, type.__delattr__


@renew_in_child
def _renew_lock() -> None:
    global _lock
    _lock = RLock()


def _replace_method(cls: type[Any], name: str, method: object) -> None:
    """Set an attribute of `cls`, and remember the original in `_replaced`."""
    _replaced.setdefault(cls, {}).setdefault(name, cls.__dict__.get(name, _NOT_DEFINED))
    _set(cls, name, method)


def is_stock(cls: type[Any], method: object) -> bool:
    """Return True if `method` is a method of `_CassandraType` or a fast method of `cls`.

    Otherwise it is an application's method. A method that is bound to another type class also
    counts as an application's method, since only an application writes ``serialize =
    UTF8Type.serialize``.

    :param method: the attribute, either looked up on `cls` or taken from the namespace of `cls`.
    """
    if is_proxy(method):
        return False
    bound_to: Any = getattr(method, "__self__", None)
    if type(bound_to) is implementations.codecs.TypeCalls:
        return bound_to.owner is cls
    if not any(is_own(method, stock.__func__) for stock in stock_methods.values()):
        return False
    # A `classmethod` object from a namespace is not bound to a class.
    return bound_to is cls or isinstance(method, classmethod)


def _depends_on_version(cls: type[Any]) -> bool:
    """Return True if `cls` or a type inside it overrides how values are encoded or decoded.

    An overriding method gets the protocol version as an argument, so a codec for all versions would
    not be enough.
    """
    return cls._overridden() or any(
        isinstance(subtype, type) and _depends_on_version(subtype)
        for subtype in cls.subtypes
        if hasattr(subtype, "_overridden")
    )


def install(cls: type[Any], generation: Callable[[], int]) -> None:
    """Set the fast methods in `cls`, unless `cls` or a type inside it overrides one of the methods.

    :param generation: returns the number of changes so far (see `_CodecCache`).
    """
    with _lock:
        initial_generation = generation()
        if _depends_on_version(cls):
            return
        codec = cls._native_codec(5, "list")
        methods = implementations.codecs.TypeCalls(cls, codec, cls.empty_binary_ok, cls._empty())
        # Give subclasses their own attributes first. Otherwise they would inherit the fast methods,
        # which use the codec of `cls`.
        for child in cls.__subclasses__():
            _pin_stock_methods(child)
        for name in NAMES:
            _replace_method(cls, name, getattr(methods, name))
        # Another thread may have made a change after `initial_generation` was read. That thread
        # called `withdraw` before these methods were set, so remove them now.
        if generation() != initial_generation:
            withdraw()


def _pin_stock_methods(cls: type[Any]) -> None:
    """Set the class methods that `cls` inherits from `_CassandraType` in `cls` itself."""
    for name in NAMES:
        if name not in cls.__dict__ and is_stock(cls, getattr(cls, name)):
            _replace_method(cls, name, stock_methods[name])


def protect(cls: type[Any]) -> None:
    """Prevent the new class `cls` from inheriting the fast methods of its parents."""
    for name in NAMES:
        defining_class = next((base for base in cls.__mro__ if name in base.__dict__), None)
        if defining_class is None or defining_class is cls:
            continue
        fast_methods = getattr(defining_class.__dict__[name], "__self__", None)
        # Continue early if the attribute has no `__self__`, and so is not a fast method: while the
        # package's own types are created, `implementations.codecs` is not set yet.
        if fast_methods is None:
            continue
        if (
            type(fast_methods) is implementations.codecs.TypeCalls
            and fast_methods.owner is defining_class
        ):
            with _lock:
                _replace_method(cls, name, stock_methods[name])


def withdraw() -> None:
    """Restore the original methods of all classes that this module changed."""
    with _lock:
        for cls, originals in list(_replaced.items()):
            for name, method in originals.items():
                # If an application has set a method after we set the fast method, keep the
                # application's method.
                if name not in cls.__dict__ or not is_stock(cls, cls.__dict__[name]):
                    continue
                if method is _NOT_DEFINED:  # the class inherited the method
                    _delete(cls, name)
                else:
                    _set(cls, name, method)
        _replaced.clear()
