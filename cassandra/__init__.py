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

# Pickle, repr and logs show the path from which applications import them.
for _name in __all__:
    if getattr(globals().get(_name), "__module__", None) == "cassandra.errors":
        globals()[_name].__module__ = __name__
del _name

# Applications use these as attributes after importing another module, because in cassandra-driver
# importing cassandra.cluster imports most of them.
_MODULES = frozenset(
    {
        "auth", "cluster", "concurrent", "connection", "cqltypes", "decoder", "encoder", "graph",
        "marshal", "metadata", "metrics", "murmur3", "policies", "pool", "protocol",
        "protocol_features", "query", "segment", "timestamps", "type_codes", "util",
    }
)  # fmt: skip


def __getattr__(name: str) -> object:
    # The implementation in use, "c" or "python", and why the compiled one is not used. Applications
    # that only import errors need not choose an implementation.
    if name in ("implementation", "fallback_reason"):
        __import__(f"{__name__}._impl")
        return getattr(sys.modules[f"{__name__}._impl"], name)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The import sets the module as an attribute of the package. The attribute may be missing if a
    # tracing library's import hook for this module asks for it.
    __import__(f"{__name__}.{name}")
    return sys.modules[f"{__name__}.{name}"]
