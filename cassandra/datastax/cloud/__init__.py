"""cassandra-driver's module for secure connect bundles. `Cluster` reads them (setting `cloud`)."""

from cassandra._lazy import lazy_names

__getattr__ = lazy_names(__name__)
