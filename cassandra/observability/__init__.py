"""Ready-made observers of requests: OpenTelemetry, a request logger, Prometheus, StatsD.

Each is a `cassandra.observers.RequestObserver`, or reads the counts of an observer. Import each
from its own module, because some of them need an extra package.
"""

from cassandra._foreign import check_files

check_files()
