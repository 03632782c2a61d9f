"""Protocol versions, and constants that occur in schema changes and in errors."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from cassandra.errors import UnsupportedOperation


class ProtocolVersion:
    """The versions of the native protocol.

    This driver supports 3, 4 and 5, and 6 as a beta. The other constants exist for compatibility.
    """

    V1 = 1
    V2 = 2
    V3 = 3
    V4 = 4
    V5 = 5
    V6 = 6
    DSE_V1 = 0x41
    DSE_V2 = 0x42

    # From the highest to the lowest version: if a server refuses a version, the driver tries the
    # next version of this tuple.
    SUPPORTED_VERSIONS = (V6, V5, V4, V3)
    BETA_VERSIONS = (V6,)
    MIN_SUPPORTED = V3
    # The version that is tried first. Version 6 is a beta, which is only used if the application
    # requests this version.
    MAX_SUPPORTED = V5

    @classmethod
    def get_lower_supported(cls, previous_version: int) -> int:
        """Return the next lower version that is not a beta, or 0 if there is none.

        :param previous_version: the version that a server has refused.
        """
        for version in cls.SUPPORTED_VERSIONS:
            # Skip beta versions, which are only used if the application requests them.
            if version < previous_version and version not in cls.BETA_VERSIONS:
                return version
        return 0

    @classmethod
    def check_supported(cls, version: int, allow_beta: bool = False) -> None:
        """Raise `UnsupportedOperation` if this driver does not support `version`.

        :param version: the protocol version, a number.
        :param allow_beta: True to accept beta versions, too.
        """
        if isinstance(version, bool) or not isinstance(version, int):
            raise TypeError(
                f"protocol_version must be an int, but is {version!r} of type "
                f"{type(version).__name__}: write protocol_version=ProtocolVersion.V5, or leave it "
                "out to have the highest version that the servers speak"
            )
        if version in cls.BETA_VERSIONS and not allow_beta:
            raise UnsupportedOperation(
                f"native protocol version {version} is a beta; "
                "allow_beta_protocol_version=True admits it"
            )
        if version not in cls.SUPPORTED_VERSIONS:
            supported_text = ", ".join(
                str(supported_version) for supported_version in sorted(cls.SUPPORTED_VERSIONS)
            )
            # Add the name of a version of DataStax Enterprise, because a user would not understand
            # the number 65.
            name = {cls.DSE_V1: "DSE_V1 ", cls.DSE_V2: "DSE_V2 "}.get(version, "")
            raise UnsupportedOperation(
                f"native protocol version {name}{version} is not supported; "
                f"this driver speaks {supported_text}"
            )

    @classmethod
    def uses_segments(cls, version: int) -> bool:
        """Return True if frames are sent in checksummed segments (native_protocol_v5.spec 2).

        :param version: the protocol version, a number.
        """
        return version >= cls.V5

    @classmethod
    def uses_int_query_flags(cls, version: int) -> bool:
        """Return True if QUERY, EXECUTE and BATCH flags are [int] rather than [byte].

        :param version: the protocol version, a number.
        """
        return version >= cls.V5

    @classmethod
    def uses_prepare_flags(cls, version: int) -> bool:
        """Return True if PREPARE has flags (native_protocol_v5.spec 4.1.5).

        :param version: the protocol version, a number.
        """
        return version >= cls.V5 and version != cls.DSE_V1

    @classmethod
    def has_checksumming_support(cls, version: int) -> bool:
        """Return True if frames are checksummed (native_protocol_v5.spec 2).

        :param version: the protocol version, a number.
        """
        return cls.V5 <= version < cls.DSE_V1

    @classmethod
    def has_continuous_paging_support(cls, version: int) -> bool:
        """Return True for the versions of DataStax Enterprise, which this driver does not support.

        :param version: the protocol version, a number.
        """
        return version >= cls.DSE_V1

    @classmethod
    def has_continuous_paging_next_pages(cls, version: int) -> bool:
        """Return True for version 2 of DataStax Enterprise, which this driver does not support.

        :param version: the protocol version, a number.
        """
        return version >= cls.DSE_V2

    @classmethod
    def uses_prepared_metadata(cls, version: int) -> bool:
        """Return True if PREPARED and EXECUTE carry a result metadata id.

        :param version: the protocol version, a number.
        """
        return version >= cls.V5

    @classmethod
    def uses_keyspace_flag(cls, version: int) -> bool:
        """Return True if a QUERY, BATCH or PREPARE request may name a keyspace.

        :param version: the protocol version, a number.
        """
        return version >= cls.V5

    @classmethod
    def uses_error_code_map(cls, version: int) -> bool:
        """Return True if the errors for failed reads and writes have a code for each replica.

        :param version: the protocol version, a number.
        """
        return version >= cls.V5

    @classmethod
    def has_unset(cls, version: int) -> bool:
        """Return True if a bound value may be "not set".

        :param version: the protocol version, a number.
        """
        return version >= cls.V4


class SchemaChangeType:
    """How a schema object has changed, in the server's SCHEMA_CHANGE events and results."""

    DROPPED = "DROPPED"
    CREATED = "CREATED"
    UPDATED = "UPDATED"


class SchemaTargetType:
    """Which kind of schema object has changed, in the server's SCHEMA_CHANGE events and results."""

    KEYSPACE = "KEYSPACE"
    TABLE = "TABLE"
    TYPE = "TYPE"
    FUNCTION = "FUNCTION"
    AGGREGATE = "AGGREGATE"


SCHEMA_CHANGES, SCHEMA_TARGETS = (
    frozenset(value for name, value in vars(names).items() if not name.startswith("_"))
    for names in (SchemaChangeType, SchemaTargetType)
)
"""The changes and the kinds of schema objects that this driver knows."""


class OperationType(enum.Enum):
    """The type of operation that ScyllaDB's rate limit rejected."""

    Read = 0
    Write = 1


class SignatureDescriptor:
    """The signature of a function or aggregate: its name and the CQL types of its arguments.

    :param name: the name, without the keyspace.
    :param argument_types: the types as CQL strings, in order.
    """

    name: str
    argument_types: Sequence[str]

    def __init__(self, name: str, argument_types: Sequence[str]) -> None:
        self.name = name
        self.argument_types = argument_types

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.argument_types})"

    @property
    def signature(self) -> str:
        """``name(type,type)``, the key in `KeyspaceMetadata`."""
        return self.format_signature(self.name, self.argument_types)

    @staticmethod
    def format_signature(name: str, argument_types: Sequence[str]) -> str:
        """Return ``name(type,type)``.

        :param name: the name of the function or aggregate.
        :param argument_types: the CQL types of its arguments, as strings.
        """
        return f"{name}({','.join(argument_types)})"


class UserFunctionDescriptor(SignatureDescriptor):
    """The signature of a user-defined function."""


class UserAggregateDescriptor(SignatureDescriptor):
    """The signature of a user-defined aggregate."""


for _class in (
    ProtocolVersion,
    SchemaChangeType,
    SchemaTargetType,
    OperationType,
    SignatureDescriptor,
    UserFunctionDescriptor,
    UserAggregateDescriptor,
):
    _class.__module__ = "cassandra"
del _class
