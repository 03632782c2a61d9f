"""Names of parts that are not here: they refuse use, and so do objects of such classes."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NoReturn

__all__ = ["CONTINUOUS_PAGING", "GRAPHS", "INSIGHTS", "holder", "refuse", "refusing"]

GRAPHS = "graphs are DataStax Enterprise's own, and this driver does not speak to them"
CONTINUOUS_PAGING = (
    "continuous paging is DataStax Enterprise's own, and this driver does not speak it; "
    "leave it out, and results are read page by page"
)
INSIGHTS = "Insights are DataStax Enterprise's own, and this driver does not report to them"


def refuse(what: str, why: str = GRAPHS) -> NoReturn:
    """Raise NotImplementedError for the use of `what`, with the reason."""
    raise NotImplementedError(f"{what} is not supported: {why}")


def refusing(what: str, why: str = GRAPHS) -> Callable[..., Any]:
    """Return a function of any arguments that refuses its use."""

    def refused(*args: object, **kwargs: object) -> NoReturn:
        refuse(what, why)

    refused.__name__ = refused.__qualname__ = what.rpartition(".")[2].rstrip("()")
    refused.__doc__ = (
        f"Raise NotImplementedError: {why}.\n\n"
        ":param args: without effect.\n:param kwargs: without effect.\n"
    )
    return refused


def holder(name: str, kept: str, refused: str = "", why: str = GRAPHS, base: type = object) -> Any:
    """Return a class whose objects keep what they are given, and refuse use.

    :param kept: the parameters that its objects have as attributes; "=" stands after those that
        are None by default.
    :param refused: its methods.
    """
    body: dict[str, Any] = {
        one: staticmethod(refusing(f"{name}.{one}()", why)) for one in refused.split()
    }
    body["__doc__"] = "It keeps its parameters; its methods, if it has any, refuse use."
    if kept:
        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            Parameter(one.rstrip("="), kind, default=None if one[-1] == "=" else Parameter.empty)
            for one in kept.split()
        ]
        signature = Signature(parameters)

        def __init__(self: object, *args: Any, **kwargs: Any) -> None:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            vars(self).update(given.arguments)

        # For `inspect` and editors.
        __init__.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter("self", kind), *parameters]
        )
        body["__init__"] = __init__
        body["__annotations__"] = dict.fromkeys(signature.parameters, Any)
    return type(name, (base,), body)
