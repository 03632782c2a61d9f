"""A driver for Apache Cassandra and ScyllaDB.

This package has the version, protocol versions, consistency levels and errors. Connect with
`cassandra.cluster`, or with `cassandra.aio` for asyncio.
"""

from __future__ import annotations

import logging
import sys
from logging import NullHandler
from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._public_names import set_public_module
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
    "AlreadyExists", "AuthenticationFailed", "CDCWriteFailure", "ConfigurationException",
    "ConsistencyLevel", "CoordinationFailure", "DependencyException", "DriverException",
    "FunctionFailure", "InvalidRequest", "NullHandler", "OperationTimedOut", "OperationType",
    "ProtocolVersion", "RateLimitReached", "ReadFailure", "ReadTimeout",
    "RequestExecutionException", "RequestValidationException", "SchemaChangeType",
    "SchemaTargetType", "SignatureDescriptor", "Timeout", "Unauthorized", "Unavailable",
    "UnresolvableContactPoints", "UnsupportedOperation", "UserAggregateDescriptor",
    "UserFunctionDescriptor", "WriteFailure", "WriteTimeout", "WriteType", "__version__",
    "__version_info__", "consistency_value_to_name", "fallback_reason", "implementation",
]  # fmt: skip

# Names that `__getattr__` reads from the module `_impl` when they are first used.
_OF_IMPL = frozenset({"implementation", "fallback_reason"})

# Set the `__module__` of each error class to this package, from which applications import it.
# Tracebacks and pickles contain that name.
# Leave out the names of `_impl`, because reading them would import `_impl`, which then chooses
# between the Python and the compiled modules.
set_public_module(__name__, set(__all__) - _OF_IMPL, "cassandra.errors")

# Modules that can be used as attributes of this package without importing them. Applications rely
# on that, because in cassandra-driver importing cassandra.cluster imports most of these modules.
_MODULES = frozenset(
    {
        "auth", "cluster", "concurrent", "connection", "cqltypes", "decoder", "encoder", "graph",
        "marshal", "metadata", "metrics", "murmur3", "policies", "pool", "protocol",
        "protocol_features", "query", "segment", "timestamps", "type_codes", "util",
    }
)  # fmt: skip


def __getattr__(name: str) -> object:
    # Import `_impl` only when one of its attributes is needed: its import chooses between the
    # Python and the compiled modules, which takes time that an application without a cluster need
    # not spend.
    if name in _OF_IMPL:
        __import__(f"{__name__}._impl")
        return getattr(sys.modules[f"{__name__}._impl"], name)
    if name not in _MODULES:
        if name.startswith("_") or name[0].islower():  # it may be a submodule that is not imported
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        __import__(f"{__name__}._wrong_imports")
        raise sys.modules[f"{__name__}._wrong_imports"].missing_name(__name__, name)
    # Return the module from `sys.modules`. The import usually also sets the attribute of the
    # package, but not yet if a tracing library's import hook accesses it during the import.
    __import__(f"{__name__}.{name}")
    return sys.modules[f"{__name__}.{name}"]
