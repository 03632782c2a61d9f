"""Errors for names that users import from the wrong module, or misspell in an import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from opcode import opmap
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from cassandra._misspelt import nearest

if TYPE_CHECKING:
    from types import FrameType

# For each error class of this driver: its names in the DB-API and in drivers for other languages.
_ERRORS = {
    "DriverException": (
        "Error DatabaseError OperationalError InterfaceError CassandraError CassandraException "
        "DriverError"
    ),
    "InvalidRequest": (
        "ProgrammingError InvalidQueryException InvalidQueryError InvalidRequestException"
    ),
    "OperationTimedOut": "OperationTimedOutException OperationTimeout",
    "ReadTimeout": "ReadTimeoutException",
    "WriteTimeout": "WriteTimeoutException",
    "Unavailable": "UnavailableException",
    "AlreadyExists": "AlreadyExistsException",
    "Unauthorized": "UnauthorizedException",
    "AuthenticationFailed": "AuthenticationException AuthenticationError",
}
# For each module: its classes and functions that users often try to import from other modules.
_HOMES = {
    "cassandra": (
        "ConsistencyLevel OperationTimedOut ReadTimeout WriteTimeout Unavailable InvalidRequest "
        f"AlreadyExists Unauthorized AuthenticationFailed {' '.join(_ERRORS.values())}"
    ),
    "cassandra.aio": ("AsyncCluster AioCluster AsyncioCluster AsyncSession"),
    "cassandra.auth": ("PlainTextAuthProvider AuthProvider BasicAuthProvider PasswordAuthProvider"),
    "cassandra.bulk": "LoadReport LoadOptions",
    "cassandra.bulk.copy": "acopy copy_table",
    "cassandra.codecs": "Converter",
    "cassandra.cluster": (
        "Cluster Session ExecutionProfile EXEC_PROFILE_DEFAULT NoHostAvailable ResultSet "
        "NoHostAvailableException"
    ),
    "cassandra.connection": "ConnectionShutdown ConnectionException DefaultEndPoint",
    "cassandra.concurrent": "execute_concurrent execute_concurrent_with_args",
    "cassandra.cqlengine.models": "Model",
    "cassandra.cqlengine.management": "sync_table sync_type drop_table",
    "cassandra.cqlengine.query": "BatchQuery",
    "cassandra.cqlengine.usertype": "UserType",
    "cassandra.observability.logger": "RequestLogger",
    "cassandra.observability.opentelemetry": "OpenTelemetryObserver",
    "cassandra.observability.prometheus": "ClusterCollector PrometheusCollector",
    "cassandra.observability.statsd": "StatsReporter",
    "cassandra.observers": "RequestObserver",
    "cassandra.policies": (
        "DCAwareRoundRobinPolicy RoundRobinPolicy TokenAwarePolicy RetryPolicy HostDistance "
        "WhiteListRoundRobinPolicy ConstantReconnectionPolicy ExponentialReconnectionPolicy"
    ),
    "cassandra.query": (
        "SimpleStatement BatchStatement BatchType PreparedStatement BoundStatement dict_factory "
        "named_tuple_factory tuple_factory UNSET_VALUE"
    ),
    "cassandra.protocol": "SyntaxException InvalidPagingState SyntaxError CqlSyntaxError",
    "cassandra.testing": "LocalCluster FakeNode FakeCluster FakeSession MockSession MockCluster",
    "cassandra.testing.fake": "ErrorCode",
    "cassandra.tls": "ReloadingContext",
    "cassandra.util": "uuid_from_time datetime_from_uuid1 min_uuid_from_time max_uuid_from_time",
}
# For names that no module has: the name that is probably meant.
_MEANT = {
    **{wrong: name for name, names in _ERRORS.items() for wrong in names.split()},
    **dict.fromkeys(("SyntaxError", "CqlSyntaxError"), "SyntaxException"),
    "NoHostAvailableException": "NoHostAvailable",
    **dict.fromkeys(("AsyncCluster", "AioCluster", "AsyncioCluster"), "Cluster"),
    "AsyncSession": "Session",
    **dict.fromkeys(("BasicAuthProvider", "PasswordAuthProvider"), "PlainTextAuthProvider"),
    **dict.fromkeys(("FakeSession", "MockSession", "MockCluster"), "FakeNode"),
    "PrometheusCollector": "ClusterCollector",
    "copy_table": "copy",
}

# The function of Python's import system that looks up a name for ``from package import name``.
_IMPORTING = "_handle_fromlist"
_IMPORT_FROM = opmap["IMPORT_FROM"]  # the number of the instruction that reads the name


def missing_name(
    module: str, name: str, advice_by_name: Mapping[str, str] = MappingProxyType({})
) -> Exception:
    """Return the error for a name that a module does not have.

    :param module: the name of the module. Its ``__getattr__``, which was called for `name`, calls
        this function.
    :param name: the name.
    :param advice_by_name: what to write in place of names of other libraries.
    :returns: an AttributeError; if ``from module import name`` looks for a name for which there is
        advice, an ImportError, because Python drops the message of an AttributeError.
    """
    if name in advice_by_name:
        advice = f": {advice_by_name[name]}"
    else:
        advice = "" if name.startswith("_") else _advice(module, name)
    # Frame 0 is this function, frame 1 the module's `__getattr__`, and frame 2 the code that looks
    # for the name.
    if advice and _is_import(sys._getframe(2)):
        return ImportError(f"cannot import name {name!r} from {module!r}{advice}", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}{advice}")


def refuse_names(module: str, advice_by_name: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module, which raises the errors of `missing_name`.

    :param module: the name of the module.
    :param advice_by_name: what to write in place of names of other libraries.
    """

    def __getattr__(name: str) -> NoReturn:
        raise missing_name(module, name, advice_by_name)

    return __getattr__


def _is_import(frame: FrameType) -> bool:
    """Return True if a frame executes ``from module import name``."""
    code = frame.f_code
    # Python looks up a name of a package by a function, and a name of a plain module by a bytecode
    # instruction.
    return code.co_name == _IMPORTING or (
        frame.f_lasti >= 0 and code.co_code[frame.f_lasti] == _IMPORT_FROM
    )


def _advice(module: str, name: str) -> str:
    """Return the end of an error message: what to write instead of the import; "" if unknown."""
    for home, names in _HOMES.items():
        if name in names.split():
            return f": write from {home} import {_MEANT.get(name, name)}"
    public_names = [each for each in dir(sys.modules[module]) if not each.startswith("_")]
    similar_name = nearest(name, public_names, alike=0.8)
    return f": did you mean {similar_name!r}?" if similar_name else ""
