"""The asyncio API: `Cluster` and `Session` run on your own event loop.

They use the same engine as the blocking API.
"""

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.aio.cluster import Cluster
from cassandra.aio.concurrent import ExecutionResult, PlacedResult
from cassandra.aio.result import ResultSet
from cassandra.aio.session import Session

# Define `__getattr__` through `globals()`, which type checkers do not see. If they saw it, they
# would accept every name as a name of this module.
globals()["__getattr__"] = lazy_names(__name__)

__all__ = ["Cluster", "ExecutionResult", "PlacedResult", "ResultSet", "Session"]
