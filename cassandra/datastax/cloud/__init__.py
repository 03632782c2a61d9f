"""The path of secure connect bundles, which `Cluster` reads itself (its setting `cloud`)."""

from cassandra._lazy import lazy_names

__getattr__ = lazy_names(__name__)
