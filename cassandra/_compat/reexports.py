"""Names that applications import from a module other than the one that defines them.

In cassandra-driver and scylla-driver you can import many classes from modules that only use them
(``from cassandra.cluster import ConsistencyLevel``), and applications rely on that. The table below
is only read when an application asks a module for a name that the module does not have, so imports
do not become slower. Each name is the same object as in the module that defines it.
"""

from __future__ import annotations

# Maps each module to a dict, which maps the defining module to the names that the first module
# re-exports, separated by spaces.
REEXPORTS: dict[str, dict[str, str]] = {
    "cassandra.cluster": {
        "cassandra": (
            "AuthenticationFailed ConsistencyLevel DependencyException DriverException "
            "InvalidRequest OperationTimedOut ProtocolVersion SchemaTargetType "
            "UnresolvableContactPoints UnsupportedOperation"
        ),
        "cassandra.protocol": (
            "BatchMessage ErrorMessage ExecuteMessage IsBootstrappingErrorMessage "
            "OverloadedErrorMessage PrepareMessage PreparedQueryNotFound ProtocolException "
            "ProtocolHandler QueryMessage RESULT_KIND_PREPARED RESULT_KIND_ROWS "
            "RESULT_KIND_SCHEMA_CHANGE RESULT_KIND_SET_KEYSPACE RESULT_KIND_VOID "
            "ReadTimeoutErrorMessage ResultMessage ServerError TruncateError "
            "UnavailableErrorMessage WriteTimeoutErrorMessage"
        ),
        "cassandra.query": (
            "BatchStatement BoundStatement FETCH_SIZE_UNSET HostTargetingStatement "
            "PreparedStatement QueryTrace SimpleStatement TraceUnavailable bind_params "
            "dict_factory named_tuple_factory tuple_factory"
        ),
        "cassandra.connection": (
            "ClientRoutesEndPointFactory ConnectionBusy ConnectionException ConnectionHeartbeat "
            "ConnectionShutdown ContinuousPagingState DefaultEndPoint DefaultEndPointFactory "
            "EndPoint ProtocolVersionUnsupported SniEndPointFactory UnixSocketEndPoint "
            "locally_supported_compressions"
        ),
        "cassandra.policies": (
            "DCAwareRoundRobinPolicy DefaultLoadBalancingPolicy ExponentialReconnectionPolicy "
            "HostDistance IdentityTranslator NeverRetryPolicy NoSpeculativeExecutionPlan "
            "NoSpeculativeExecutionPolicy RetryPolicy SimpleConvictionPolicy TokenAwarePolicy"
        ),
        "cassandra.encoder": "Encoder",
        "cassandra.pool": "Host HostConnection HostConnectionPool NoConnectionsAvailable",
        "cassandra.metadata": "Metadata Token protect_name",
        "cassandra.timestamps": "MonotonicTimestampGenerator",
        "cassandra.auth": "PlainTextAuthProvider",
        "cassandra.cqltypes": "UserType",
        "cassandra.util": "Version maybe_add_timeout_to_query",
        "cassandra.application_info": "ApplicationInfoBase",
        "cassandra.driver_config": "DriverConfigReporter",
        "cassandra.ssl_session_cache": "SSLSessionCache",
        "cassandra.cmurmur3": "murmur3",
        "cassandra.io.eventletreactor": "EventletConnection",
        "cassandra.io.twistedreactor": "TwistedConnection",
        "cassandra.datastax.graph.query": (
            "GraphOptions GraphProtocol GraphStatement SimpleGraphStatement "
            "graph_graphson2_row_factory graph_graphson3_row_factory graph_object_row_factory"
        ),
        "cassandra.datastax.graph.graphson": (
            "GraphSON1Serializer GraphSON2Serializer GraphSON3Serializer"
        ),
        "cassandra.datastax.insights.reporter": "MonitorReporter",
        "cassandra.datastax.insights.util": "version_supports_insights",
        "cassandra.client_routes": "ClientRoutesChangeType ClientRoutesConfig",
        "cassandra.tablets": "Tablet choose_tablet_version_block random_tablet_version_block",
    },
    "cassandra.client_routes": {
        "cassandra": "ConsistencyLevel",
        "cassandra.protocol": "QueryMessage",
        "cassandra.query": "dict_factory",
    },
    "cassandra.concurrent": {
        "cassandra.cluster": "EXEC_PROFILE_DEFAULT ResultSet",
    },
    "cassandra.connection": {
        "cassandra.protocol": (
            "AuthChallengeMessage AuthResponseMessage AuthSuccessMessage AuthenticateMessage "
            "CredentialsMessage ErrorMessage InvalidRequestException OptionsMessage "
            "ProtocolException ProtocolHandler QueryMessage ReadyMessage RegisterMessage "
            "ResultMessage ReviseRequestMessage StartupMessage SupportedMessage"
        ),
        "cassandra": "AuthenticationFailed ConsistencyLevel OperationTimedOut ProtocolVersion",
        "cassandra.segment": "CrcException SegmentCodec",
        "cassandra.protocol_features": "ProtocolFeatures",
        "cassandra.application_info": "ApplicationInfoBase",
        "cassandra.driver_config": "DRIVER_CONFIG_OPTION DriverConfigReporter SESSION_ID_OPTION",
        "cassandra.shard_info": "ShardingInfo",
    },
    "cassandra.cqltypes": {
        "cassandra.marshal": (
            "double_unpack float_unpack int16_unpack int32_unpack int64_unpack int8_unpack "
            "uint16_unpack uint32_unpack uvint_pack uvint_unpack varint_pack varint_unpack "
            "vints_pack vints_unpack"
        ),
    },
    "cassandra.cython_deps": {
        "cassandra.protocol.parsers": "make_recv_results_rows",
    },
    "cassandra.datastax.cloud": {
        "cassandra": "DriverException",
    },
    "cassandra.driver_config": {
        "cassandra": "ConsistencyLevel",
        "cassandra.policies": (
            "ConstantReconnectionPolicy ConstantSpeculativeExecutionPolicy "
            "DCAwareRoundRobinPolicy DefaultLoadBalancingPolicy DowngradingConsistencyRetryPolicy "
            "ExponentialBackoffRetryPolicy ExponentialReconnectionPolicy FallthroughRetryPolicy "
            "NeverRetryPolicy NoSpeculativeExecutionPolicy RackAwareRoundRobinPolicy RetryPolicy "
            "RoundRobinPolicy TokenAwarePolicy"
        ),
        "cassandra.timestamps": "MonotonicTimestampGenerator",
    },
    "cassandra.encoder": {
        "cassandra.util": (
            "Date LineString OrderedMap OrderedMapSerializedKey Point Polygon Time sortedset"
        ),
    },
    "cassandra.metadata": {
        "cassandra": "ConsistencyLevel InvalidRequest SignatureDescriptor Unauthorized",
        "cassandra.encoder": "Encoder",
        "cassandra.connection": "EndPoint",
        "cassandra.policies": "HostDistance",
        "cassandra.protocol": "QueryMessage",
        "cassandra.util": "Version maybe_add_timeout_to_query",
        "cassandra.query": "bind_params dict_factory",
        "cassandra.marshal": "varint_unpack",
        "cassandra.cmurmur3": "murmur3",
        "cassandra.tablets": "Tablets",
    },
    "cassandra.policies": {
        "cassandra": "ConsistencyLevel OperationTimedOut WriteType",
        # The documentation of some releases of cassandra-driver imports these two names from
        # cassandra.policies.
        "cassandra.column_encryption.policies": (
            "AES256ColumnEncryptionPolicy AES256_KEY_SIZE_BYTES"
        ),
    },
    "cassandra.pool": {
        "cassandra": "AuthenticationFailed",
        "cassandra.connection": ("ConnectionException DefaultEndPoint EndPoint UnixSocketEndPoint"),
        "cassandra.policies": "HostDistance",
    },
    "cassandra.protocol": {
        "cassandra": (
            "AlreadyExists DriverException FunctionFailure InvalidRequest OperationType "
            "ProtocolVersion RateLimitReached ReadFailure ReadTimeout SchemaTargetType "
            "Unauthorized Unavailable UnsupportedOperation UserAggregateDescriptor "
            "UserFunctionDescriptor WriteFailure WriteTimeout WriteType"
        ),
        "cassandra.cqltypes": (
            "AsciiType BooleanType ByteType BytesType CounterColumnType DateType DecimalType "
            "DoubleType DurationType FloatType InetAddressType Int32Type IntegerType ListType "
            "LongType MapType SetType ShortType SimpleDateType TimeType TimeUUIDType TupleType "
            "UTF8Type UUIDType UserType VarcharType lookup_casstype"
        ),
        "cassandra.cython_deps": "HAVE_CYTHON HAVE_NUMPY",
        "cassandra.policies": "ColDesc",
        "cassandra.protocol.parsers": "LazyParser ListParser NumpyParser",
        "cassandra.marshal": "int32_unpack int8_unpack uint16_unpack uint32_le_unpack",
    },
    "cassandra.query": {
        "cassandra": "ConsistencyLevel OperationTimedOut",
        "cassandra.encoder": "Encoder ValueSequence",
        "collections": "OrderedDict",
        "cassandra.policies": "ColDesc",
        "cassandra.util": "maybe_add_timeout_to_query unix_time_from_uuid1",
    },
    "cassandra.segment": {
        "cassandra": "DriverException",
        "cassandra.protocol": "read_uint_le write_uint_le",
    },
    "cassandra.shard_info": {
        "cassandra.murmur3": "INT64_MIN",
    },
    "cassandra.util": {
        "cassandra": "DriverException",
        "collections": "OrderedDict",
    },
}
