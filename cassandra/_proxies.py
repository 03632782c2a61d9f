"""Tells a proxy of a method, as tracers make with the package wrapt, from the method itself."""

from __future__ import annotations


def is_proxy(method: object) -> bool:
    """Return True for a proxy, which has the attributes of another object, such as `__func__`."""
    return method.__class__ is not type(method)


def is_own(method: object, function: object) -> bool:
    """Return True if `method` is `function`, or is bound to it, and is not a proxy of either.

    :param method: an attribute of a class or an object, which user code may have replaced.
    :param function: the package's own function.
    """
    return not is_proxy(method) and getattr(method, "__func__", method) is function
