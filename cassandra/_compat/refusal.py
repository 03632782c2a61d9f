"""Stand-ins for unsupported classes and functions, which raise NotImplementedError when used."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NoReturn

# Reasons why a feature is not supported, for error messages.
GRAPHS = "graphs are DataStax Enterprise's own, and this driver does not speak to them"
CONTINUOUS_PAGING = (
    "continuous paging is DataStax Enterprise's own, and this driver does not speak it; "
    "leave it out, and results are read page by page"
)
INSIGHTS = "Insights are DataStax Enterprise's own, and this driver does not report to them"


def refuse(subject: str, why: str = GRAPHS) -> NoReturn:
    """Raise NotImplementedError.

    :param subject: the name of the unsupported feature, with which the message begins.
    :param why: the reason.
    """
    raise NotImplementedError(f"{subject} is not supported: {why}")


def refusing(subject: str, why: str = GRAPHS) -> Callable[..., Any]:
    """Return a function that accepts any arguments and raises NotImplementedError.

    :param subject: the function's name, with the class and ``()`` if it is a method.
    :param why: the reason.
    """

    def refused(*args: object, **kwargs: object) -> NoReturn:
        refuse(subject, why)

    refused.__name__ = refused.__qualname__ = subject.rpartition(".")[2].rstrip("()")
    refused.__doc__ = (
        f"Raise NotImplementedError: {why}.\n\n"
        ":param args: without effect.\n:param kwargs: without effect.\n"
    )
    return refused


def holder(
    name: str, attributes: str, refused: str = "", why: str = GRAPHS, base: type = object
) -> type[Any]:
    """Return a class whose objects store parameters, and whose methods raise NotImplementedError.

    :param attributes: the names of the parameters, separated by spaces. Objects have their
        parameters as attributes. A "=" after a name means that its default is None.
    :param refused: the names of the methods, separated by spaces.
    """
    body: dict[str, Any] = {
        method: staticmethod(refusing(f"{name}.{method}()", why)) for method in refused.split()
    }
    body["__doc__"] = "Stores its parameters. Its methods, if any, raise NotImplementedError."
    if attributes:
        by_position_or_name = Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            Parameter(
                attribute.rstrip("="),
                by_position_or_name,
                default=None if attribute[-1] == "=" else Parameter.empty,
            )
            for attribute in attributes.split()
        ]
        signature = Signature(parameters)

        def __init__(self: object, *args: Any, **kwargs: Any) -> None:
            # `bind` raises TypeError for wrong arguments, as an ordinary constructor would.
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            vars(self).update(bound.arguments)

        # Set the signature, so that `inspect` and editors show the parameters.
        __init__.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter("self", by_position_or_name), *parameters]
        )
        body["__init__"] = __init__
        body["__annotations__"] = dict.fromkeys(signature.parameters, Any)
    return type(name, (base,), body)
