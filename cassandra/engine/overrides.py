"""Refuses overrides that the compiled twins would pass over."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["refuse_overrides"]


def refuse_overrides(cls: type, stock: type, names: Iterable[str]) -> None:
    """Raise TypeError if `cls` overrides a method that the compiled base class of `stock` does not
    call.

    :param names: the methods that it runs through without looking their names up.
    """
    # By what an instance would find: a base class beside `stock` may override them as well.
    passed_over = [name for name in sorted(names) if getattr(cls, name) is not getattr(stock, name)]
    if passed_over:
        raise TypeError(
            f"{cls.__name__} overrides {', '.join(passed_over)}, which the compiled base class "
            "does not call by name"
        )
