"""Tests of exceptions: their fields, messages, base classes, and pickling."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

from cassandra import errors
from cassandra.metadata.endpoint import DefaultEndPoint
from cassandra.versions import OperationType

HERE = DefaultEndPoint("10.0.0.1")
CAUSE = OSError("lost")
# These are all classes of errors.
CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, BaseException) and value.__name__[0] != "_"
]

# Each entry has an error, and its message.
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
    (
        errors.OperationTimedOut("late", timeout=1, statement="SELECT x"),
        "late (timeout=1s), executing SELECT x",
    ),
    (errors.OperationTimedOut("late", in_flight=7), "late"),
    (errors.UnresolvableContactPoints(["a"], "not today"), "not today"),
    (errors.SessionShutdown("over", {"a": OSError("lost")}), "over"),
    (errors.MissingParameter("no value for 'k'"), "no value for 'k'"),
    (errors.AlreadyExists("ks", "t"), "Table 'ks.t' already exists"),
    (errors.AlreadyExists("ks", ""), "Keyspace 'ks' already exists"),
    (errors.AlreadyExists("ks"), "Keyspace 'ks' already exists"),
    (
        errors.RateLimitReached(OperationType.Write, True),
        "[request_error_rate_limit_reached OpType=Write RejectedByCoordinator=True]",
    ),
    (
        errors.RateLimitReached(9),
        "[request_error_rate_limit_reached OpType=9 RejectedByCoordinator=False]",
    ),
    (errors.Unavailable("few"), "few info={'consistency': 'Not Set'}"),
    (
        errors.Unavailable("few", 4, 2, 0),
        "few info={'consistency': 'QUORUM', 'required_replicas': 2, 'alive_replicas': 0}",
    ),
    (
        errors.ReadTimeout("late", True, consistency=1, required_responses=1, received_responses=0),
        "late info={'consistency': 'ONE', 'required_responses': 1, 'received_responses': 0, "
        "'data_retrieved': True}",
    ),
    (
        errors.WriteTimeout("late", errors.WriteType.CAS, consistency=1),
        "late info={'consistency': 'ONE', 'write_type': 'CAS'}",
    ),
    # This is a write type that the driver does not know.
    (
        errors.WriteTimeout("late", 99, consistency=1),
        "late info={'consistency': 'ONE', 'write_type': 99}",
    ),
    (
        errors.WriteFailure("broken", errors.WriteType.BATCH, consistency=1, failures=2),
        "broken info={'consistency': 'ONE', 'failures': 2, 'write_type': 'BATCH'}",
    ),
    (
        errors.ReadFailure("broken", False, consistency=1, error_code_map={"10.0.0.1": 1}),
        "broken info={'consistency': 'ONE', 'error_code_map': {'10.0.0.1': '0x0001'}, "
        "'data_retrieved': False}",
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
    """Each error must have the expected message."""
    assert str(error) == text


@pytest.mark.parametrize("error_class", CLASSES)
def test_each_class_is_a_driver_exception_with_a_docstring(error_class: type) -> None:
    assert issubclass(error_class, errors.DriverException)
    assert error_class.__module__.startswith("cassandra")
    assert inspect.getdoc(error_class)


@pytest.mark.parametrize(
    "error", [errors.NoHostAvailable("none", {"a": OSError("lost")}), errors.LoginRefused("no", {})]
)
def test_errors_with_an_error_for_each_host_can_be_pickled(error: errors.NoHostAvailable) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied)) == (type(error), str(error))
    assert list(copied.errors) == list(error.errors)


# Each entry has an error, and the values of its attributes.
FIELDS: list[tuple[BaseException, dict[str, Any]]] = [
    (errors.UnresolvableContactPoints(("a", "b")), {"contact_points": ["a", "b"]}),
    (errors.DependencyException("no lz4", (CAUSE,)), {"excs": [CAUSE]}),
    (errors.DependencyException("no lz4"), {"excs": []}),
    (
        errors.Unavailable("few", 4, 2, 1),
        {"consistency": 4, "required_replicas": 2, "alive_replicas": 1},
    ),
    (
        errors.ReadTimeout("late", True, consistency=1, required_responses=3, received_responses=2),
        {
            "consistency": 1,
            "required_responses": 3,
            "received_responses": 2,
            "data_retrieved": True,
        },
    ),
    (
        errors.WriteTimeout("late", 4, consistency=1, required_responses=3, received_responses=2),
        {"consistency": 1, "required_responses": 3, "received_responses": 2, "write_type": 4},
    ),
    (
        errors.ReadFailure("broken", True, failures=1, error_code_map={"a": 2}),
        {"data_retrieved": True, "failures": 1, "error_code_map": {"a": 2}},
    ),
    (
        errors.WriteFailure(
            "broken", 1, consistency=1, required_responses=3, received_responses=2, failures=1
        ),
        {
            "consistency": 1,
            "required_responses": 3,
            "received_responses": 2,
            "failures": 1,
            "error_code_map": None,
            "write_type": 1,
        },
    ),
    (
        errors.FunctionFailure("broken", "ks", "f", ["int"]),
        {"keyspace": "ks", "function": "f", "arg_types": ["int"]},
    ),
    (
        errors.RateLimitReached(OperationType.Read, True),
        {"op_type": OperationType.Read, "rejected_by_coordinator": True},
    ),
    (errors.RateLimitReached(), {"op_type": None, "rejected_by_coordinator": False}),
    (errors.AlreadyExists("ks", "t"), {"keyspace": "ks", "table": "t"}),
    (errors.AlreadyExists("ks"), {"keyspace": "ks", "table": ""}),
    (
        errors.OperationTimedOut({"a": CAUSE}, HERE, 2.5, 7, "SELECT x"),
        {
            "errors": {"a": CAUSE},
            "last_host": HERE,
            "timeout": 2.5,
            "in_flight": 7,
            "statement": "SELECT x",
        },
    ),
    (errors.OperationTimedOut("late"), {"errors": None}),
    (errors.NoHostAvailable("none", {"a": CAUSE}), {"errors": {"a": CAUSE}}),
    (errors.SessionShutdown("over"), {"errors": {}, "endpoint": None}),
    (errors.SessionShutdown("over", {"a": CAUSE}), {"errors": {"a": CAUSE}}),
    (errors.ConnectionException("broken", HERE), {"endpoint": HERE, "host": "10.0.0.1"}),
    (errors.ConnectionException("broken"), {"endpoint": None, "host": None}),
    (
        errors.ProtocolVersionUnsupported(HERE, 5),
        {"endpoint": HERE, "host": "10.0.0.1", "startup_version": 5},
    ),
]


@pytest.mark.parametrize(("error", "fields"), FIELDS)
def test_errors_have_their_fields_also_after_pickling(
    error: BaseException, fields: dict[str, Any]
) -> None:
    assert {name: getattr(error, name) for name in fields} == fields
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert repr(copied) == repr(error)
    for name, value in fields.items():
        # Two errors are never equal, so compare their repr.
        assert repr(getattr(copied, name)) == repr(value)


def test_write_types_have_the_numbers_of_other_drivers() -> None:
    names = ["SIMPLE", "BATCH", "UNLOGGED_BATCH", "COUNTER", "BATCH_LOG", "CAS", "VIEW", "CDC"]
    assert errors.WriteType.name_to_value == {name: number for number, name in enumerate(names)}
    assert errors.WriteType.value_to_name == dict(enumerate(names))
    assert [getattr(errors.WriteType, name) for name in names] == list(range(8))


def test_an_error_of_all_hosts_is_also_the_server_s_error() -> None:
    unavailable = errors.Unavailable("few", 4, 2, 1)
    by_host = {"a": unavailable}
    error: Any = errors.refused_everywhere("none left", by_host, unavailable)
    assert isinstance(error, errors.NoHostAvailable)
    assert isinstance(error, errors.Unavailable)
    assert (error.errors, error.required_replicas) == (by_host, 2)
    assert str(error) == f"none left: a: Unavailable: {unavailable}"
    assert (type(error).__name__, type(error).__module__) == ("Unavailable", "cassandra")
    # The class must be created once, and found again when the error is unpickled.
    assert type(errors.refused_everywhere("none", {}, unavailable)) is type(error)
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied)) == (type(error), str(error))
    assert copied.alive_replicas == 1


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("NoHostAvailable", "cassandra.cluster"),
        ("LoginRefused", "cassandra.cluster"),
        ("ConnectionShutdown", "cassandra.connection"),
        ("NoConnectionsAvailable", "cassandra.pool"),
        ("CrcException", "cassandra.segment"),
        ("OperationTimedOut", "cassandra"),
    ],
)
def test_classes_are_named_after_the_module_of_their_import(name: str, module: str) -> None:
    assert getattr(errors, name).__module__ == module


def test_errors_of_the_server_have_its_fields() -> None:
    unavailable: Any = errors.Unavailable("few", 4, 2, 1)
    assert (unavailable.consistency, unavailable.required_replicas) == (4, 2)
    assert unavailable.alive_replicas == 1
    assert "consistency" in str(unavailable)
    # The message must have the name of level 4.
    assert "QUORUM" in str(unavailable)
    read_timeout: Any = errors.ReadTimeout("late", data_retrieved=True, required_responses=2)
    assert (read_timeout.data_retrieved, read_timeout.required_responses) == (True, 2)
    write_timeout: Any = errors.WriteTimeout("late", write_type=errors.WriteType.BATCH)
    assert write_timeout.write_type == errors.WriteType.BATCH


def test_base_classes_of_errors() -> None:
    """Each error must have the base classes in the documentation."""
    assert issubclass(errors.LoginRefused, errors.NoHostAvailable)
    assert issubclass(errors.LoginRefused, errors.AuthenticationFailed)
    assert issubclass(errors.DecodeError, ValueError)
    assert issubclass(errors.ConnectionShutdown, errors.ConnectionException)
    assert issubclass(errors.ReadTimeout, errors.RequestExecutionException)
    assert issubclass(errors.InvalidRequest, errors.RequestValidationException)


def test_connection_errors_have_the_host_s_address() -> None:
    assert errors.ConnectionException("lost", HERE).host == "10.0.0.1"
    assert errors.ConnectionException("lost", "10.0.0.2").host == "10.0.0.2"
