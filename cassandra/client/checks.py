"""Checks of a program's arguments, so that a mistake is an error of the call that makes it."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._imports import at_first_cluster
from cassandra.errors import DependencyException, NoHostAvailable, refused_everywhere

if TYPE_CHECKING:
    from cassandra.engine.happy_path import RequestBase
    from cassandra.protocol.records import is_lone_text, is_record
else:
    at_first_cluster(
        __name__,
        is_lone_text="cassandra.protocol.records",
        is_record="cassandra.protocol.records",
    )

__all__ = [
    "check_host",
    "check_keyspace",
    "check_parameters",
    "check_timeout",
    "check_vector_type",
    "check_vectors",
    "list_of_queries",
    "no_keyspace",
    "typed_factory",
]

VECTOR_TYPES = ("list", "array", "numpy")


def check_parameters(parameters: object, named: bool = True) -> None:
    """Raise TypeError unless `parameters` is a sequence or a mapping.

    :param named: an object with attributes will do as well, and a text of one character.
    """
    # A single text has a length, too, and would be taken apart into its characters.
    if named and is_lone_text(parameters, 1):
        return
    if isinstance(parameters, (str, bytes)) or not (
        hasattr(parameters, "__len__") or (named and is_record(parameters))
    ):
        raise TypeError(
            "parameters must be a sequence or a mapping, but are "
            f"{type(parameters).__name__}: {parameters!r}; "
            "a single one is written (value,)"
        )


def check_timeout(timeout: object) -> None:
    """Raise TypeError or ValueError unless `timeout` is a time in seconds, or None."""
    if timeout is None:
        return
    # A bool is an int: True would be one second.
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be seconds or None, but is {timeout!r}")
    # 0 and less are for programs that pass what is left of their time: the request is over at once.
    if math.isnan(timeout):
        raise ValueError(f"timeout must be a number of seconds, but is {timeout!r}")
    if timeout == math.inf:
        raise ValueError("timeout must be finite, but is inf: None is for no limit")


def typed_factory(row_type: type[Any]) -> Callable[..., Any]:
    """Return the row factory that makes instances of the class `row_type`.

    :raises TypeError: if rows cannot be made of the class.
    """
    from cassandra.query.typed_rows import typed_rows  # for those who use it

    return typed_rows(row_type)


def check_keyspace(keyspace: object) -> None:
    """Raise TypeError or ValueError unless `keyspace` is a name."""
    if not isinstance(keyspace, str):
        raise TypeError(f"a keyspace is a str, not {type(keyspace).__name__}: {keyspace!r}")
    if not keyspace:
        raise ValueError("a keyspace's name must not be empty")


def no_keyspace(keyspace: str, refusal: Exception) -> NoHostAvailable:
    """Return the error of `connect` if the server refuses to use the keyspace."""
    message = f"Unable to connect to any servers using keyspace {keyspace!r}"
    return refused_everywhere(message, {"(the server)": refusal}, refusal)


def check_vectors(request: RequestBase) -> None:
    """Check how a request wants vectors to be read.

    :raises ValueError: if there is no such way.
    :raises DependencyException: if the package that it needs is not installed.
    """
    if request.vectors != "list":
        check_vector_type("vectors", request.vectors)


def check_vector_type(what: str, wanted: object) -> None:
    """Check a way to read vectors.

    :param what: the setting, for the message.
    :raises ValueError: if there is no such way.
    :raises DependencyException: if the package that it needs is not installed.
    """
    if wanted not in VECTOR_TYPES:
        raise ValueError(
            f"{what}: vectors are read as one of {', '.join(map(repr, VECTOR_TYPES))}, "
            f"not as {wanted!r}"
        )
    # Only looked for: importing it takes longer than a call should.
    if wanted == "numpy" and importlib.util.find_spec("numpy") is None:
        raise DependencyException(
            "vectors as NumPy arrays need the package 'numpy': pip install turbocql[numpy]"
        )


def list_of_queries(queries: Sequence[str | bytes]) -> list[str]:
    """Return `queries` as a list of texts; bytes are UTF-8.

    :raises TypeError: if it is a single text, or one of them is not a text.
    """
    # A str is a sequence of texts, too: each character would be prepared.
    if isinstance(queries, str):
        raise TypeError(f"queries must be a list of texts, not a single text: {queries!r}")
    found: list[str] = [query.decode() if isinstance(query, bytes) else query for query in queries]
    for query in found:
        if not isinstance(query, str):
            raise TypeError(f"a query to prepare is a str, not {type(query).__name__}: {query!r}")
    return found


def check_host(host: object) -> None:
    """Raise TypeError unless `host` is a `Host`, or something with an end point like one."""
    if not hasattr(host, "endpoint"):
        raise TypeError(
            f"host must be a Host, as Cluster.metadata.all_hosts() gives them, but is {host!r}"
        )
