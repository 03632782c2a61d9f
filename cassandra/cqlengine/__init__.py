"""The object mapper: models, querysets and schema management, blocking and awaitable.

``from cassandra.cqlengine import columns, connection`` and so on; see the guide on the mapper.
"""

from cassandra._lazy import lazy_names
from cassandra.cqlengine.errors import CQLEngineException, UnicodeMixin, ValidationError

# Set `__getattr__` through globals(), so that type checkers do not see it: with a plain function,
# they would accept any name.
globals()["__getattr__"] = lazy_names(__name__)

__all__ = ["CQLEngineException", "UnicodeMixin", "ValidationError"]
