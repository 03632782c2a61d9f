"""Ready-made observers of requests: OpenTelemetry, a request logger, Prometheus, StatsD.

Each is a `cassandra.observers.RequestObserver`, or reads one. They are imported from their own
modules, because some need a package of their own.
"""

from cassandra._foreign import check_files

check_files()
