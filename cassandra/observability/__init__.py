"""Ready-made observers of requests: OpenTelemetry, a request logger, Prometheus, StatsD.

Each one is a `cassandra.observers.RequestObserver`, or reports what such an observer has counted.
Import each one from its own module, because some of them need another package.
"""

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names

# Define `__getattr__` in a way that type checkers do not see: they would allow every name.
globals()["__getattr__"] = lazy_names(__name__)
