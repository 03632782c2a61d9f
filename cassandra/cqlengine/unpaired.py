"""Warns if a model overrides a blocking method, such as `save`, but not its awaitable version.

`asave` cannot call a `save` that the application has written, because `save` blocks. So if a model
overrides only `save`, its code does not run in `await instance.asave()`.
"""

from __future__ import annotations

import warnings
from typing import Any

from cassandra._habits import stack_level
from cassandra.cqlengine.query.dml import DMLQuery

# The blocking methods of models. The name of the awaitable version is the same with an "a" in
# front.
_METHODS = ("create", "delete", "get", "save", "update")
# Those of the methods that use the model's `__dmlquery__`, which an application may replace.
_OF_DMLQUERY = frozenset({"delete", "save", "update"})


def unpaired_methods(model: type[Any], driver_module: str) -> frozenset[str]:
    """Return the methods that an application's class overrides without their awaitable versions.

    :param model: the model.
    :param driver_module: the module that defines the mapper's own model classes. A method of any
        other module belongs to the application.
    """
    return frozenset(
        method
        for method in _METHODS
        if _is_of_application(model, method, driver_module)
        and not _is_of_application(model, f"a{method}", driver_module)
    )


def _is_of_application(model: type[Any], name: str, driver_module: str) -> bool:
    """Return True if the model's attribute `name` is defined by a class of the application."""
    return next(cls.__module__ != driver_module for cls in model.__mro__ if name in vars(cls))


def warn_of_unpaired(model: Any, method: str, call: str) -> None:
    """Warn if the model overrides a blocking method whose code the awaitable call does not run.

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
