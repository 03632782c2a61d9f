"""Ready-made observers of requests: OpenTelemetry, a request logger, Prometheus and StatsD.

Each of them is a `cassandra.observers.RequestObserver`, or reports the counts of such an observer.
Import each of them from its own module, because some of these modules need another package.
"""

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names

# Define `__getattr__` through `globals()`, which type checkers do not see. If they saw it, they
# would accept every name as a name of this module.
globals()["__getattr__"] = lazy_names(__name__)
