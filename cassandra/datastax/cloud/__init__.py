"""The path of secure connect bundles, which `Cluster` refuses by the name of its setting."""

from cassandra._lazy import lazy_names

__getattr__ = lazy_names(__name__)
