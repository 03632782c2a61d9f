"""Ready-made observers of requests: OpenTelemetry, a request logger, Prometheus, StatsD.

Each one is a `cassandra.observers.RequestObserver`, or reports what such an observer has counted.
Import each one from its own module, because some of them need another package.
"""

from cassandra._foreign import check_files

check_files()
