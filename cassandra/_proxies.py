"""Tells a proxy of a method, as tracers make with the package wrapt, from the method itself."""

from __future__ import annotations


def is_proxy(method: object) -> bool:
    """Return True for a proxy, which has the attributes of another object, such as `__func__`."""
    return method.__class__ is not type(method)
