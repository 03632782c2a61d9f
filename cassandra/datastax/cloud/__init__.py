"""cassandra-driver's module for secure connect bundles, which `Cluster(cloud=...)` reads."""

from cassandra._lazy import lazy_names

__getattr__ = lazy_names(__name__)
