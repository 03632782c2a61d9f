"""Refuses overrides that the compiled twins would ignore."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["refuse_overrides"]


def refuse_overrides(cls: type, stock: type, names: Iterable[str]) -> None:
    """Raise TypeError if `cls` overrides a method that the compiled base class calls directly.

    :param stock: the class whose methods must stay.
    :param names: methods that the compiled base class calls without an attribute look-up.
    """
    # Compare by getattr: a second base class of `cls` may override them as well.
    passed_over = [name for name in sorted(names) if getattr(cls, name) is not getattr(stock, name)]
    if passed_over:
        raise TypeError(
            f"{cls.__name__} overrides {', '.join(passed_over)}, which the compiled base class "
            "does not call by name"
        )
