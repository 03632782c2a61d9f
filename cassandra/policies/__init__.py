"""The policies for load balancing, retries, reconnection, conviction, speculation and addresses."""

from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra._public_names import set_public_module
from cassandra.errors import WriteType
from cassandra.policies.balancing import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    DSELoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    HostStateListener,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    WhiteListRoundRobinPolicy,
    WrapperPolicy,
)
from cassandra.policies.conviction import ConvictionPolicy, SimpleConvictionPolicy
from cassandra.policies.reconnection import (
    ConstantReconnectionPolicy,
    ExponentialReconnectionPolicy,
    ReconnectionPolicy,
)
from cassandra.policies.retry import (
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    LWTRetryPolicy,
    NeverRetryPolicy,
    RateLimitRetryPolicy,
    RetryPolicy,
)
from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPlan,
    NoSpeculativeExecutionPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from cassandra.policies.token_aware import TokenAwarePolicy
from cassandra.policies.translation import (
    AddressTranslator,
    EC2MultiRegionTranslator,
    IdentityTranslator,
)

if TYPE_CHECKING:
    from cassandra.policies.adaptive import AdaptivePolicy
    from cassandra.policies.encryption import ColDesc, ColumnEncryptionPolicy
    from cassandra.policies.percentile import LatencyTracker, PercentileSpeculativeExecutionPolicy

__all__ = [
    "AdaptivePolicy",
    "AddressTranslator",
    "ColDesc",
    "ColumnEncryptionPolicy",
    "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy",
    "ConvictionPolicy",
    "DCAwareRoundRobinPolicy",
    "DSELoadBalancingPolicy",
    "DefaultLoadBalancingPolicy",
    "DowngradingConsistencyRetryPolicy",
    "EC2MultiRegionTranslator",
    "ExponentialBackoffRetryPolicy",
    "ExponentialReconnectionPolicy",
    "FallthroughRetryPolicy",
    "HostDistance",
    "HostFilterPolicy",
    "HostStateListener",
    "IdentityTranslator",
    "LWTRetryPolicy",
    "LatencyTracker",
    "LoadBalancingPolicy",
    "NeverRetryPolicy",
    "NoSpeculativeExecutionPlan",
    "NoSpeculativeExecutionPolicy",
    "PercentileSpeculativeExecutionPolicy",
    "RackAwareRoundRobinPolicy",
    "RateLimitRetryPolicy",
    "ReconnectionPolicy",
    "RetryPolicy",
    "RoundRobinPolicy",
    "SimpleConvictionPolicy",
    "SpeculativeExecutionPlan",
    "SpeculativeExecutionPolicy",
    "TokenAwarePolicy",
    "WhiteListRoundRobinPolicy",
    "WrapperPolicy",
    "WriteType",
]

# Maps a name to the module that defines it. Most applications do not need these names, so each is
# imported when it is first used.
_LATER = {
    "AdaptivePolicy": "cassandra.policies.adaptive",
    "ColDesc": "cassandra.policies.encryption",
    "ColumnEncryptionPolicy": "cassandra.policies.encryption",
    "LatencyTracker": "cassandra.policies.percentile",
    "PercentileSpeculativeExecutionPolicy": "cassandra.policies.percentile",
    "WT": "cassandra.errors",  # cassandra-driver imports `WriteType` under this name
}

set_public_module(__name__, set(__all__) - set(_LATER), __name__)

__getattr__ = lazy_names(__name__, _LATER, {"WT": "WriteType"})
