"""Private base classes for classes whose attributes compiled code reads directly.

In the compiled version, ``cassandra._accel.bases``, the attributes are fields of a C struct. Here
they are ``__slots__``. Both versions behave in the same way: an attribute that was not set, or was
deleted, raises AttributeError. Copies and pickles have the attributes that were set.
"""

from __future__ import annotations

__all__ = [
    "BoundBase", "CallBase", "ColumnBase", "ColumnarBase", "ConnectionBase", "CoreBase", "DayBase",
    "DurationBase", "EngineBase", "FaultyBase", "HostBase", "KeyedMapBase", "MapBase",
    "MetadataBase", "PlanningBase", "PoolBase", "PreparedBase", "ProfileBase", "ResultBase",
    "SetBase", "SettingsBase", "StatementBase", "TableBase", "TimeBase",
]  # fmt: skip


# These classes have only the attributes that compiled code reads. Their subclasses define all other
# attributes, and user code may add further attributes to instances.
class ColumnBase:
    """The base of `cassandra.metadata.ColumnMetadata`, a column of a table."""

    __slots__ = ("cql_type", "is_reversed", "is_static", "mask", "name", "table")


class FaultyBase:
    """The base of the metadata of keyspaces, tables and views, which may be incomplete.

    `_error` is the error that was raised while the object was built, or None.
    """

    __slots__ = ("_error",)


class ColumnarBase(FaultyBase):
    """The common base of the classes for tables and for materialized views."""

    __slots__ = (
        "_names", "_options", "_row", "_scylladb", "clustering_key", "columns", "keyspace_name",
        "name", "partition_key",
    )  # fmt: skip


class TableBase(ColumnarBase):
    """The base of `cassandra.metadata.TableMetadata`."""

    __slots__ = (
        "dropped_columns", "indexes", "is_compact_storage", "is_cql_compatible", "triggers",
        "views", "virtual",
    )  # fmt: skip


# These settings are in a base class because the compiled module `happy_path` reads all six settings
# for each request. (This module handles requests that need no retry, tracing or paging.)
class SettingsBase:
    """The settings that a prepared statement passes on; see `cassandra.query.settings`."""

    __slots__ = (
        "consistency_level", "custom_payload", "fetch_size", "is_idempotent", "retry_policy",
        "vector_type",
    )  # fmt: skip


class StatementBase(SettingsBase):
    """The base of `cassandra.query.Statement`, from which all but prepared statements inherit."""

    __slots__ = ("_routing_key", "_serial_consistency_level", "keyspace", "table")


# `block` has the bound values as a single block of bytes, which is copied into the frame.
class BoundBase(StatementBase):
    """The base of `cassandra.query.BoundStatement`."""

    __slots__ = ("block", "prepared_statement")


class PreparedBase(SettingsBase):
    """The base of `cassandra.query.PreparedStatement`."""

    __slots__ = (
        "_home", "_is_lwt", "bind_plan", "needed_values", "protocol_version", "query_id",
        "result_metadata_and_id", "routing_key_indexes", "serial_consistency_level", "table",
        "table_keyspace",
    )  # fmt: skip


# All calls without options share one object of this class, so compiled code reads it for most
# requests.
class CallBase:
    """The base of `cassandra.engine.call_options.CallOptions`, the options of one call."""

    __slots__ = ("custom_payload", "paging_state", "profile", "target", "timeout", "trace")


class ProfileBase:
    """The base of `cassandra.engine.profile.ExecutionProfile`.

    `_settings_at_hand` is a cache of the profile's settings, which only compiled code uses.
    `_is_shown` disables this cache. The comments in `ExecutionProfile` explain both attributes.
    """

    __slots__ = ("_is_shown", "_settings_at_hand")


class EngineBase:
    """The base of `cassandra.engine.session.EngineSession`, the engine's part of a session."""

    __slots__ = ("attends", "closed", "core", "keyspace", "pools_by_id", "timers")


class CoreBase:
    """The base of `cassandra.engine.core.Core`, the engine of one cluster."""

    __slots__ = ("home", "on_latency", "wire_format")


class PoolBase:
    """The base of `cassandra.engine.pools.pool.HostPool`, a session's connections to one host."""

    __slots__ = ("connections", "shards")


class ConnectionBase:
    """The base of `cassandra.engine.connection.Connection`."""

    __slots__ = ("streams", "version", "wire_format")


class ResultBase:
    """The base of `cassandra.aio.ResultSet`."""

    __slots__ = (
        "_answer", "_begun", "_history", "_next", "_page", "_request", "_row_factory", "_session",
    )  # fmt: skip


# `is_up` is in a base class because each query plan reads this attribute of its hosts.
class HostBase:
    """The base of `cassandra.metadata.host.Host`, a node of the cluster."""

    __slots__ = ("is_up",)


# `placement_version` increases with each change of the ring, so that cached query plans of an older
# ring are discarded.
class MetadataBase:
    """The base of `cassandra.metadata.Metadata`."""

    __slots__ = ("placement_version",)


class PlanningBase:
    """The base of `cassandra.policies.TokenAwarePolicy`, which builds query plans from replicas."""

    __slots__ = ("_planner",)


# The following classes are the bases of column values. They have C structs because codecs create
# and read millions of values.
class TimeBase:
    """The base of `cassandra.util.Time`."""

    __slots__ = ("nanosecond_time",)


class DayBase:
    """The base of `cassandra.util.Date`."""

    __slots__ = ("days_from_epoch",)


class DurationBase:
    """The base of `cassandra.util.Duration`."""

    __slots__ = ("days", "months", "nanoseconds")


class SetBase:
    """The base of `cassandra.util.SortedSet`."""

    __slots__ = ("_items",)


class MapBase:
    """The base of `cassandra.util.OrderedMap`."""

    __slots__ = ("_index", "_keys", "_values")


class KeyedMapBase(MapBase):
    """The base of `cassandra.util.OrderedMapSerializedKey`."""

    __slots__ = ("_encode_key",)
