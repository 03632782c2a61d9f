"""The switch of all reading of metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.errors import ConnectionException

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.metadata.cluster_metadata import Metadata

__all__ = ["MetadataSwitches"]


class MetadataSwitches:
    """The method of a cluster that switches all reading off and on."""

    metadata: Metadata

    _core: Core | None = None

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Switch all reading of metadata off, or on again.

        That is reading the schema and, after events, the nodes. Use `schema_metadata_enabled` and
        `token_metadata_enabled` in new programs.

        :param enabled: False to read nothing any more, True to read again.
        """
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        self._core.schema.enabled = bool(enabled)
