"""Tells a proxy of a method, as tracers make with the package wrapt, from the method itself."""

from __future__ import annotations


def is_proxy(method: object) -> bool:
    """Return True for a proxy, whose attributes, such as `__func__`, are those of another object."""
    return method.__class__ is not type(method)
