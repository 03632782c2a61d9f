"""The methods of a cluster that switch the reading of metadata off and on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.client.settings.table import ClusterSettings
from cassandra.errors import ConnectionException

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.metadata.cluster_metadata import Metadata


class MetadataSwitches(ClusterSettings):
    """The base of both `Cluster` classes that switches the reading of metadata off and on."""

    metadata: Metadata

    _core: Core | None = None

    def _follow_tokens(self) -> None:
        metadata: Metadata | None = vars(self).get("metadata")
        # `metadata` does not exist yet if a subclass sets `token_metadata_enabled` before it calls
        # the constructor.
        if metadata is not None:
            metadata.token_metadata_enabled = self.token_metadata_enabled

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Switch the reading of all metadata off or on: of the schema, and of the node list after
        events. In new applications use `schema_metadata_enabled` and `token_metadata_enabled`.

        :param enabled: False to stop reading, True to read again.
        """
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        self._core.schema.enabled = bool(enabled)
