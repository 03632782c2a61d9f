"""Execution profiles for graphs, and the options of continuous paging.

This driver supports neither graphs nor continuous paging. You can create these objects, but using
them raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._compat import graph
from cassandra.consistency import ConsistencyLevel
from cassandra.engine.profile import ExecutionProfile

if TYPE_CHECKING:
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.retry import RetryPolicy


class _ProfileKey:
    """The name of one of the driver's own profiles.

    It is not a string, so it differs from every name that an application chooses.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


# The names of the profiles that cassandra-driver adds to each cluster for graph queries.
EXEC_PROFILE_GRAPH_DEFAULT = _ProfileKey("EXEC_PROFILE_GRAPH_DEFAULT")
EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT = _ProfileKey("EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT")
EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT = _ProfileKey("EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT")


class GraphExecutionProfile(ExecutionProfile):
    """An `ExecutionProfile` with graph options, which `Session.execute_graph` rejects."""

    def __init__(
        self,
        load_balancing_policy: LoadBalancingPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int = ConsistencyLevel.LOCAL_ONE,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = 30.0,
        row_factory: Callable[..., Any] = graph.graph_object_row_factory,
        graph_options: graph.GraphOptions | None = None,
        continuous_paging_options: object = None,
    ) -> None:
        super().__init__(
            load_balancing_policy,
            retry_policy,
            consistency_level,
            serial_consistency_level,
            request_timeout,
            row_factory,
            continuous_paging_options=continuous_paging_options,
        )
        self.graph_options = graph_options or graph.GraphOptions()


class GraphAnalyticsExecutionProfile(GraphExecutionProfile):
    """A `GraphExecutionProfile` for analytics."""

    def __init__(
        self,
        load_balancing_policy: LoadBalancingPolicy | None = None,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int = ConsistencyLevel.LOCAL_ONE,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = 3600.0 * 24 * 7,
        row_factory: Callable[..., Any] = graph.graph_object_row_factory,
        graph_options: graph.GraphOptions | None = None,
    ) -> None:
        options = graph_options or graph.GraphOptions()
        options.set_source_analytics()
        super().__init__(
            load_balancing_policy,
            retry_policy,
            consistency_level,
            serial_consistency_level,
            request_timeout,
            row_factory,
            options,
        )


class ContinuousPagingOptions:
    """Options of continuous paging, which `ExecutionProfile` rejects.

    :param page_unit: the unit of `max_pages`.
    :param max_pages: the maximum number of pages to read; 0 for all.
    :param max_pages_per_second: 0 for no limit.
    :param max_queue_size: the maximum number of pages that wait to be read.
    """

    class PagingUnit:
        """The unit of the page size."""

        BYTES = 1
        ROWS = 2

    def __init__(
        self,
        page_unit: int = PagingUnit.ROWS,
        max_pages: int = 0,
        max_pages_per_second: int = 0,
        max_queue_size: int = 4,
    ) -> None:
        self.page_unit = page_unit
        self.max_pages = max_pages
        self.max_pages_per_second = max_pages_per_second
        self.max_queue_size = max_queue_size


for _class in (GraphExecutionProfile, GraphAnalyticsExecutionProfile, ContinuousPagingOptions):
    _class.__module__ = "cassandra.cluster"
del _class
