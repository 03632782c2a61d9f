"""Policies: load balancing, retry, reconnection, conviction, speculation and address translation."""

import os

from cassandra._foreign import refuse_foreign_files

refuse_foreign_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cassandra.errors import WriteType  # noqa: E402
from cassandra.policies.balancing import (  # noqa: E402
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    HostStateListener,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
    WrapperPolicy,
)
from cassandra.policies.reconnection import (  # noqa: E402
    AddressTranslator,
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    ConvictionPolicy,
    EC2MultiRegionTranslator,
    ExponentialReconnectionPolicy,
    IdentityTranslator,
    NoSpeculativeExecutionPlan,
    NoSpeculativeExecutionPolicy,
    ReconnectionPolicy,
    SimpleConvictionPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from cassandra.policies.retry import (  # noqa: E402
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    NeverRetryPolicy,
    RetryPolicy,
)

__all__ = [
    "AddressTranslator",
    "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy",
    "ConvictionPolicy",
    "DCAwareRoundRobinPolicy",
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
    "LoadBalancingPolicy",
    "NeverRetryPolicy",
    "NoSpeculativeExecutionPlan",
    "NoSpeculativeExecutionPolicy",
    "RackAwareRoundRobinPolicy",
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

for _name in set(__all__) - {"WriteType"}:
    globals()[_name].__module__ = "cassandra.policies"
del _name
