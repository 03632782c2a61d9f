"""Warns of awaitable methods that skip what a model overrides in their blocking twins.

`asave` does not call a `save` that the application overrides, which blocks. If the model overrides
`save` alone, what it does there is lost in coroutines.
"""

from __future__ import annotations

import warnings
from typing import Any

from cassandra._habits import stack_level
from cassandra.cqlengine.query.dml import DMLQuery

# The blocking methods of models; the name of the awaitable one has an "a" in front.
_METHODS = ("create", "delete", "get", "save", "update")
# Those of them that a `__dmlquery__` of the application replaces.
_OF_DMLQUERY = frozenset({"delete", "save", "update"})


def unpaired_methods(model: type[Any], driver_module: str) -> frozenset[str]:
    """Return the methods that an application's class overrides without their awaitable twins.

    :param model: the model.
    :param driver_module: the module of the mapper's own classes of models.
    """
    return frozenset(
        method
        for method in _METHODS
        if _is_of_application(model, method, driver_module)
        and not _is_of_application(model, f"a{method}", driver_module)
    )


def _is_of_application(model: type[Any], name: str, driver_module: str) -> bool:
    """Return True if an attribute of a model comes from a class of the application."""
    return next(cls.__module__ != driver_module for cls in model.__mro__ if name in vars(cls))


def warn_of_unpaired(model: Any, method: str, call: str) -> None:
    """Warn if an awaitable call skips what a model overrides in a blocking method.

    :param model: the model.
    :param method: the blocking method, such as "save".
    :param call: the awaitable method, such as "acreate".
    """
    if method in model.__mapping__.unpaired_methods:
        advice = f".{method}(), which the model overrides: override a{method}() as well"
    elif method in _OF_DMLQUERY and model.__dmlquery__ is not DMLQuery:
        advice = f".__dmlquery__, which blocks: write await asyncio.to_thread(instance.{method})"
    else:
        return
    warnings.warn(
        f"{call}() does not call {model.__name__}{advice}",
        RuntimeWarning,
        stacklevel=stack_level(),
    )
