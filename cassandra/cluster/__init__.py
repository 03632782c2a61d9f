"""The blocking API: clusters, sessions, results, futures of `execute_async`, and profiles."""

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.client.pool_sizes import (
    DEFAULT_MAX_CONNECTIONS_PER_LOCAL_HOST,
    DEFAULT_MAX_CONNECTIONS_PER_REMOTE_HOST,
    DEFAULT_MAX_REQUESTS,
    DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST,
    DEFAULT_MIN_CONNECTIONS_PER_REMOTE_HOST,
    DEFAULT_MIN_REQUESTS,
)
from cassandra.client.settings.shard_options import ShardAwareOptions
from cassandra.cluster.cluster import Cluster
from cassandra.cluster.response_future import ResponseFuture
from cassandra.cluster.result_set import ResultSet
from cassandra.cluster.session import Session
from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.engine.profile import (
    EXEC_PROFILE_DEFAULT,
    ExecutionProfile,
    ProfileManager,
    default_lbp_factory,
)
from cassandra.engine.schema.scope import SchemaAgreementScope
from cassandra.errors import (
    LoginRefused,
    MultipleRowsFound,
    NoHostAvailable,
    QueryExhausted,
    UserTypeDoesNotExist,
)

__all__ = [
    "DEFAULT_MAX_CONNECTIONS_PER_LOCAL_HOST", "DEFAULT_MAX_CONNECTIONS_PER_REMOTE_HOST",
    "DEFAULT_MAX_REQUESTS", "DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST",
    "DEFAULT_MIN_CONNECTIONS_PER_REMOTE_HOST", "DEFAULT_MIN_REQUESTS", "EXEC_PROFILE_DEFAULT",
    "Cluster", "ControlConnectionQueryFallback", "ExecutionProfile", "LoginRefused",
    "MultipleRowsFound", "NoHostAvailable", "ProfileManager", "QueryExhausted", "ResponseFuture",
    "ResultSet", "SchemaAgreementScope", "Session", "ShardAwareOptions", "UserTypeDoesNotExist",
    "default_lbp_factory",
]  # fmt: skip

# Maps a name to the module that defines it. Few applications need these names, so each is imported
# when it is first used.
_HOME = {
    **dict.fromkeys(
        (
            "EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT",
            "EXEC_PROFILE_GRAPH_DEFAULT",
            "EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT",
            "ContinuousPagingOptions",
            "GraphAnalyticsExecutionProfile",
            "GraphExecutionProfile",
        ),
        "cassandra._compat.profiles",
    ),
    **dict.fromkeys(
        (
            "ControlConnectionQueryFallback",
            "_NOT_SET",
            "conn_fns",
            "excs",
            "int64_pack",
            "random",
            "refresh_schema_and_set_result",
            "run_in_executor",
        ),
        "cassandra._compat.cluster_parts",
    ),
    "ControlConnection": "cassandra._compat.control_connection",
    # The next two names are cassandra-driver's names for its default connection class.
    "DefaultConnection": "cassandra.io.libevreactor",
    "conn_class": "cassandra.io.libevreactor",
}
# Names of `_HOME` that their module defines under another name: both are `LibevConnection`.
_RENAMED = dict.fromkeys(("DefaultConnection", "conn_class"), "LibevConnection")

__getattr__ = lazy_names(__name__, _HOME, _RENAMED)
