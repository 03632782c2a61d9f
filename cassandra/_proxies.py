"""Recognizes proxies of methods, which tracing libraries create with the package wrapt."""

from __future__ import annotations


def is_proxy(method: object) -> bool:
    """Return True if `method` is a proxy.

    A proxy also has the attributes of the method that it wraps, such as `__func__`, so these do not
    show whether it is a proxy.
    """
    return method.__class__ is not type(method)


def is_own(method: object, function: object) -> bool:
    """Return True if `method` is `function`, or is bound to it, and is not a proxy of either.

    :param method: an attribute of a class or an object, which user code may have replaced.
    :param function: the package's own function.
    """
    return not is_proxy(method) and getattr(method, "__func__", method) is function
