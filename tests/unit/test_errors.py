"""Exceptions: their fields, messages, base classes, and pickling."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

from cassandra import errors
from cassandra.metadata.endpoint import DefaultEndPoint

HERE = DefaultEndPoint("10.0.0.1")
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, BaseException) and value.__name__[0] != "_"
]

MESSAGES: list[tuple[BaseException, str]] = [
    (errors.UnresolvableContactPoints(["a", "b"]), "no contact point could be resolved: a, b"),
    (errors.OperationTimedOut("too late"), "too late"),
    (errors.OperationTimedOut("too late", HERE, 2.5), "too late (timeout=2.5s)"),
    (errors.OperationTimedOut("late", HERE, 2.5, 7), "late (timeout=2.5s, in_flight=7)"),
    (errors.OperationTimedOut({"a": "b"}, "h"), "errors={'a': 'b'}, last_host=h"),
    (errors.NoHostAvailable("none", {}), "none"),
    (
        errors.NoHostAvailable("none", {"a": OSError("lost"), "b": "said no"}),
        "none: a: OSError: lost; b: said no",
    ),
    (errors.ConnectionException("broken", HERE), "broken"),
    (
        errors.ProtocolVersionUnsupported(HERE, 5),
        "10.0.0.1:9042 does not support native protocol version 5",
    ),
]


@pytest.mark.parametrize(
    ("error", "text"), MESSAGES, ids=[type(error).__name__ for error, _ in MESSAGES]
)
def test_the_message_of_each_error(error: BaseException, text: str) -> None:
    """Each error has the expected message."""
    assert str(error) == text


@pytest.mark.parametrize("kind", CLASSES)
def test_each_class_is_a_driver_exception_with_a_docstring(kind: type) -> None:
    assert issubclass(kind, errors.DriverException)
    assert kind.__module__.startswith("cassandra")
    assert inspect.getdoc(kind)


@pytest.mark.parametrize(
    "error", [errors.NoHostAvailable("none", {"a": OSError("lost")}), errors.LoginRefused("no", {})]
)
def test_errors_with_an_error_for_each_host_can_be_pickled(error: errors.NoHostAvailable) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied)) == (type(error), str(error))
    assert list(copied.errors) == list(error.errors)


def test_errors_of_the_server_have_its_fields() -> None:
    unavailable: Any = errors.Unavailable("few", 4, 2, 1)
    assert (unavailable.consistency, unavailable.required_replicas) == (4, 2)
    assert unavailable.alive_replicas == 1
    assert "consistency" in str(unavailable)
    # In the message, 4 is the number of QUORUM.
    assert "QUORUM" in str(unavailable)
    read_timeout: Any = errors.ReadTimeout("late", data_retrieved=True, required_responses=2)
    assert (read_timeout.data_retrieved, read_timeout.required_responses) == (True, 2)
    write_timeout: Any = errors.WriteTimeout("late", write_type=errors.WriteType.BATCH)
    assert write_timeout.write_type == errors.WriteType.BATCH


def test_base_classes_of_errors() -> None:
    """Each error has the base classes that the documentation names."""
    assert issubclass(errors.LoginRefused, errors.NoHostAvailable)
    assert issubclass(errors.LoginRefused, errors.AuthenticationFailed)
    assert issubclass(errors.DecodeError, ValueError)
    assert issubclass(errors.ConnectionShutdown, errors.ConnectionException)
    assert issubclass(errors.ReadTimeout, errors.RequestExecutionException)
    assert issubclass(errors.InvalidRequest, errors.RequestValidationException)


def test_connection_errors_have_the_host_s_address() -> None:
    assert errors.ConnectionException("lost", HERE).host == "10.0.0.1"
    assert errors.ConnectionException("lost", "10.0.0.2").host == "10.0.0.2"
