"""A driver for Apache Cassandra and ScyllaDB: its version, protocol versions, levels, errors."""

from __future__ import annotations

import logging
import sys
from logging import NullHandler
from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._version import __version__, __version_info__
from cassandra.consistency import ConsistencyLevel, consistency_value_to_name
from cassandra.errors import (
    AlreadyExists,
    AuthenticationFailed,
    CDCWriteFailure,
    ConfigurationException,
    CoordinationFailure,
    DependencyException,
    DriverException,
    FunctionFailure,
    InvalidRequest,
    OperationTimedOut,
    RateLimitReached,
    ReadFailure,
    ReadTimeout,
    RequestExecutionException,
    RequestValidationException,
    Timeout,
    Unauthorized,
    Unavailable,
    UnresolvableContactPoints,
    UnsupportedOperation,
    WriteFailure,
    WriteTimeout,
    WriteType,
)
from cassandra.versions import (
    OperationType,
    ProtocolVersion,
    SchemaChangeType,
    SchemaTargetType,
    SignatureDescriptor,
    UserAggregateDescriptor,
    UserFunctionDescriptor,
)

if TYPE_CHECKING:
    from cassandra._impl import fallback_reason, implementation

logging.getLogger("cassandra").addHandler(NullHandler())

__all__ = [
    "AlreadyExists",
    "AuthenticationFailed",
    "CDCWriteFailure",
    "ConfigurationException",
    "ConsistencyLevel",
    "CoordinationFailure",
    "DependencyException",
    "DriverException",
    "FunctionFailure",
    "InvalidRequest",
    "NullHandler",
    "OperationTimedOut",
    "OperationType",
    "ProtocolVersion",
    "RateLimitReached",
    "ReadFailure",
    "ReadTimeout",
    "RequestExecutionException",
    "RequestValidationException",
    "SchemaChangeType",
    "SchemaTargetType",
    "SignatureDescriptor",
    "Timeout",
    "Unauthorized",
    "Unavailable",
    "UnresolvableContactPoints",
    "UnsupportedOperation",
    "UserAggregateDescriptor",
    "UserFunctionDescriptor",
    "WriteFailure",
    "WriteTimeout",
    "WriteType",
    "__version__",
    "__version_info__",
    "consistency_value_to_name",
    "fallback_reason",
    "implementation",
]

# Pickle, repr and logs show the path by which programs know them.
for _name in __all__:
    if getattr(globals().get(_name), "__module__", None) == "cassandra.errors":
        globals()[_name].__module__ = __name__
del _name

# Programs use these as attributes after an import of another one: with other drivers, importing
# cassandra.cluster imports most of them.
_MODULES = frozenset(
    {
        "auth", "cluster", "concurrent", "connection", "cqltypes", "decoder", "encoder", "graph",
        "marshal", "metadata", "metrics", "murmur3", "policies", "pool", "protocol",
        "protocol_features", "query", "segment", "timestamps", "type_codes", "util",
    }
)  # fmt: skip


def __getattr__(name: str) -> object:
    # Which of the two implementations runs, "c" or "python", and why it is not the compiled one.
    # Programs that import errors alone need not choose.
    if name in ("implementation", "fallback_reason"):
        __import__(f"{__name__}._impl")
        return getattr(sys.modules[f"{__name__}._impl"], name)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The import makes the module an attribute of the package, but not yet if a hook that tracers
    # have on this very import asks.
    __import__(f"{__name__}.{name}")
    return sys.modules[f"{__name__}.{name}"]
