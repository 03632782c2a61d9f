"""Rejects subclasses that override methods which the compiled classes call directly.

The compiled classes would ignore such an override without any notice.
"""

from __future__ import annotations

from collections.abc import Iterable


def refuse_overrides(cls: type, stock: type, names: Iterable[str]) -> None:
    """Raise TypeError if `cls` overrides a method that the compiled base class calls directly.

    :param stock: the class whose methods must not be overridden.
    :param names: the methods that the compiled base class calls without looking them up.
    """
    # Compare the results of `getattr`, because `cls` may also inherit the override from another
    # base class.
    overridden = [name for name in sorted(names) if getattr(cls, name) is not getattr(stock, name)]
    if overridden:
        raise TypeError(
            f"{cls.__name__} overrides {', '.join(overridden)}, which the compiled base class "
            "does not call by name"
        )
