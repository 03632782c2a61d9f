"""Checks of arguments that the application passes.

Without these checks, a wrong argument would cause an error later, in unrelated code.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._habits import stack_level, warn_of_milliseconds
from cassandra._imports import Deferred, at_first_cluster
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import DependencyException, NoHostAvailable, refused_everywhere

if TYPE_CHECKING:
    from cassandra.client import misplaced_levels
    from cassandra.engine.happy_path import RequestBase
    from cassandra.protocol.records import is_lone_text, is_record
    from cassandra.query.statement import query_head, shown_argument
else:
    misplaced_levels = Deferred("cassandra.client.misplaced_levels")
    at_first_cluster(
        __name__,
        is_lone_text="cassandra.protocol.records",
        is_record="cassandra.protocol.records",
        query_head="cassandra.query.statement",
        shown_argument="cassandra.query.statement",
    )

# The largest number of a consistency level. A timeout up to this number may be a level by mistake.
_HIGHEST_LEVEL = max(ConsistencyLevel.value_to_name)
# The values of settings that choose the Python type in which vectors are returned.
VECTOR_TYPES = ("list", "array", "numpy")


def checked_parameters(parameters: object) -> object:
    """Return the parameters of a statement, or raise TypeError; see `check_parameters`.

    The values of an iterator are returned as a tuple, because an iterator can be read only once.
    """
    if isinstance(parameters, Iterator):
        return tuple(parameters)
    check_parameters(parameters)
    return parameters


def check_parameters(parameters: object, named: bool = True) -> None:
    """Raise TypeError unless `parameters` is a sequence or a mapping.

    :param named: True to also accept an object whose attributes are the values, and a string of one
        character, which is the value of a single bind marker.
    """
    # Longer strings are rejected below: as sequences, they would be lists of characters.
    if named and is_lone_text(parameters, 1):
        return
    if isinstance(parameters, (str, bytes)) or not (
        hasattr(parameters, "__len__") or (named and is_record(parameters))
    ):
        advice = "a single one is written (value,), several are written (first, second)"
        if isinstance(parameters, bytes):
            advice += "; a paging state is paging_state=..."
        elif isinstance(parameters, (int, float)) and not isinstance(parameters, bool):
            advice += "; a time limit is timeout=..."
        raise TypeError(
            "parameters must be a sequence or a mapping, but are "
            f"{type(parameters).__name__}; {advice}"
        )
    # Reject a set of several values: it has no order, so the values would be stored in arbitrary
    # columns.
    if isinstance(parameters, (set, frozenset)) and len(parameters) > 1:
        raise TypeError(
            f"parameters are the set {parameters!r}, which has no order: write a tuple, "
            "(first, second), or a mapping"
        )


def checked_concurrency(concurrency: Any) -> int:
    """Return the greatest number of requests that a concurrency allows, at least 1.

    A fraction, for example of ``len(hosts) * 2.5``, is rounded down.

    :raises TypeError: if the concurrency is no number. A string of digits, for example from a
        command line, is refused, too.
    :raises ValueError: if the concurrency is not greater than 0.
    """
    if not hasattr(concurrency, "__float__"):
        raise TypeError(
            f"concurrency must be a number of requests, but is {concurrency!r} of type "
            f"{type(concurrency).__name__}{_instead_of_concurrency(concurrency)}"
        )
    if not concurrency > 0:  # or it is NaN
        raise ValueError(f"concurrency must be greater than 0, but is {concurrency}")
    return max(1, int(min(concurrency, sys.maxsize)))  # infinity is no integer


def _instead_of_concurrency(value: object) -> str:
    """Return what to write instead of passing `value` as concurrency, for an error message."""
    if isinstance(value, str):
        return f": write int({value!r})"
    if isinstance(value, Iterable):
        return (
            ": one statement with many rows is execute_concurrent_with_args(session, statement, "
            "rows)"
        )
    return ""


def check_pairs(pairs: object) -> None:
    """Raise TypeError if statements for concurrent execution are not pairs with parameters.

    Only the first item of a list or tuple is checked, because there may be many items.
    """
    # Reject an asynchronous iterable, a common mistake: a `for` loop cannot read it.
    if hasattr(type(pairs), "__aiter__"):
        raise TypeError(
            f"execute_concurrent takes an iterable, and not {type(pairs).__name__}, which is "
            "asynchronous: await session.load(prepared, rows) of cassandra.aio takes it, with its "
            "rows alone; or collect some pairs at a time in a list"
        )
    # Python can also iterate over objects that have only `__getitem__`.
    if not hasattr(type(pairs), "__iter__") and not hasattr(type(pairs), "__getitem__"):
        raise TypeError(
            "execute_concurrent takes (statement, parameters) pairs, but got an object of type "
            f"{type(pairs).__name__}: write ((statement, row) for row in rows) for one statement "
            "with many rows"
        )
    if not isinstance(pairs, (list, tuple)) or not pairs:
        return
    # Check only the first item: if the application has made a mistake, all items usually have it.
    first_item = pairs[0]
    if (
        isinstance(first_item, (str, bytes))
        or not hasattr(first_item, "__len__")
        or len(first_item) != 2
    ):
        raise TypeError(
            f"execute_concurrent takes (statement, parameters) pairs, but the first item is "
            f"{shown_argument(first_item)} of type {type(first_item).__name__}: write "
            "(statement, None) for a statement without parameters; one statement with many rows is "
            "execute_concurrent_with_args(session, statement, rows)"
        )


def check_timeout(timeout: object) -> None:
    """Raise TypeError or ValueError unless `timeout` is a number of seconds, or None."""
    if timeout is None:
        return
    # Reject True and False, which Python would accept as 1 and 0, because they are surely a
    # mistake.
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(
            f"timeout must be seconds or None, but is {timeout!r} of type "
            f"{type(timeout).__name__}{_instead_of_timeout(timeout)}"
        )
    # Accept 0 and negative numbers: applications pass their remaining time, which may be used up.
    # With such a timeout, the request times out at once.
    if math.isnan(timeout):
        raise ValueError(f"timeout must be a number of seconds, but is {timeout!r}")
    if timeout == math.inf:
        raise ValueError("timeout must be finite, but is inf: None is for no limit")
    # `warn_of_milliseconds` warns if the number was probably meant in milliseconds. It never warns
    # of numbers below 5000, which are most timeouts, so save the call for these.
    if timeout >= 5000:
        warn_of_milliseconds("timeout", timeout)
    elif type(timeout) is int and timeout <= _HIGHEST_LEVEL:
        misplaced_levels.warn_of_level(timeout)


def check_trace(trace: object) -> None:
    """Warn if `trace` is a number: it is probably a timeout at the position of `trace`."""
    if isinstance(trace, (int, float)) and trace not in (0, 1):
        # The number may also be a consistency level that was passed at the wrong position.
        level = ConsistencyLevel.value_to_name.get(trace) if isinstance(trace, int) else None
        for_level = (
            f", SimpleStatement(text, consistency_level=ConsistencyLevel.{level}) for a level"
            if level
            else ""
        )
        warnings.warn(
            f"trace={trace} asks the servers to trace the request, which is slow: write "
            f"timeout={trace} for a timeout{for_level}, and trace=True for a trace",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _instead_of_timeout(value: object) -> str:
    if hasattr(value, "total_seconds"):
        return ": write timeout.total_seconds()"
    if hasattr(value, "load_balancing_policy"):
        return ": write execution_profile=profile"
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        return ": parameters are passed together, execute(query, (first, second)); timeout follows"
    return ""


def typed_factory(row_type: type[Any]) -> Callable[..., Any]:
    """Return the row factory that creates instances of the class `row_type`.

    :raises TypeError: if rows cannot be instances of that class.
    """
    from cassandra.query.typed_rows import typed_rows  # few applications need it

    return typed_rows(row_type)


def check_cluster(cluster: object) -> None:
    """Raise TypeError if an application has called ``Cluster.connect(address)`` on the class.

    :param cluster: the `self` of the method, which is then the address.
    """
    if isinstance(cluster, (str, list, tuple)):
        points = [cluster] if isinstance(cluster, str) else list(cluster)
        raise TypeError(
            f"connect is a method of a cluster, not of the class: write "
            f"Cluster({points!r}).connect(keyspace)"
        )


def check_keyspace(keyspace: object) -> None:
    """Raise TypeError or ValueError unless `keyspace` is a non-empty string."""
    if not isinstance(keyspace, str):
        raise TypeError(f"a keyspace is a str, not {type(keyspace).__name__}: {keyspace!r}")
    if not keyspace:
        raise ValueError("a keyspace's name must not be empty")


def check_user_type(keyspace: object, user_type: object) -> None:
    """Raise TypeError unless the two names for `Cluster.register_user_type` are strings."""
    for name in (keyspace, user_type):
        if not isinstance(name, str):
            raise TypeError(
                f"the keyspace and the type are names, but one is {name!r} of type "
                f"{type(name).__name__}: write cluster.register_user_type('keyspace', 'type', "
                "SomeClass)"
            )


def no_keyspace(keyspace: str, refusal: Exception) -> NoHostAvailable:
    """Return the error that `connect` raises if the server has rejected ``USE keyspace``.

    :param refusal: the error of the server.
    """
    message = f"Unable to connect to any servers using keyspace {keyspace!r}"
    return refused_everywhere(message, {"(the server)": refusal}, refusal)


def check_vectors(request: RequestBase) -> None:
    """Check the Python type in which a request should return vectors.

    :raises ValueError: if the type is unknown.
    :raises DependencyException: if the required package is not installed.
    """
    if request.vectors != "list":
        check_vector_type("vectors", request.vectors)


def check_vector_type(setting: str, vector_type: object) -> None:
    """Check the name of a Python type in which vectors should be returned.

    :param setting: the name of the setting, for the message.
    :raises ValueError: if the type is unknown.
    :raises DependencyException: if the required package is not installed.
    """
    if vector_type not in VECTOR_TYPES:
        raise ValueError(
            f"{setting}: vectors are read as one of {', '.join(map(repr, VECTOR_TYPES))}, "
            f"not as {vector_type!r}"
        )
    # Only check whether NumPy is installed, because importing it here would take too long.
    if vector_type == "numpy" and importlib.util.find_spec("numpy") is None:
        raise DependencyException(
            "vectors as NumPy arrays need the package 'numpy': pip install turbocql[numpy]"
        )


def list_of_queries(queries: Sequence[str | bytes]) -> list[str]:
    """Return `queries` as a list of strings; bytes are decoded as UTF-8.

    :raises TypeError: if `queries` is a single string, or an item is not a string.
    """
    # Reject a single string: it is also a sequence, and each character would be prepared.
    if isinstance(queries, str):
        raise TypeError(
            f"queries must be a list of texts, not a single text: {query_head(queries)}"
        )
    texts: list[str] = [query.decode() if isinstance(query, bytes) else query for query in queries]
    for query in texts:
        if not isinstance(query, str):
            raise TypeError(_not_to_prepare(query))
    return texts


def _not_to_prepare(value: object) -> str:
    advice = "; write prepare(statement.query_string)" if hasattr(value, "query_string") else ""
    shown_value = shown_argument(value)
    return f"a query to prepare is a str, not {type(value).__name__}: {shown_value}{advice}"


def check_host(host: object) -> None:
    """Raise TypeError unless `host` is a `Host`, or at least has an end point."""
    if not hasattr(host, "endpoint"):
        raise TypeError(
            f"host must be a Host, as Cluster.metadata.all_hosts() gives them, but is {host!r}"
        )
