"""The object mapper: models, querysets and schema management, blocking and awaitable.

``from cassandra.cqlengine import columns, connection`` and so on; see the guide on the mapper.
"""

from cassandra.cqlengine.errors import CQLEngineException, UnicodeMixin, ValidationError

__all__ = ["CQLEngineException", "UnicodeMixin", "ValidationError"]
