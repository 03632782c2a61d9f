"""The errors that DataStax Enterprise's own features raise here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["CONTINUOUS_PAGING", "GRAPHS", "INSIGHTS", "refuse", "refusing"]

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

    refused.__name__ = refused.__qualname__ = what.rpartition(".")[2]
    refused.__doc__ = f"Raise NotImplementedError: {why}."
    return refused
