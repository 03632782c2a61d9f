"""The settings of a cluster that say which metadata is read; they may be switched at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.errors import ConnectionException

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.metadata.cluster_metadata import Metadata

__all__ = ["MetadataSettings"]


class MetadataSettings:
    """Switches of the schema, of tokens, and of all reading."""

    metadata: Metadata

    _core: Core | None = None
    _schema_metadata_enabled = True
    _token_metadata_enabled = True

    @property
    def schema_metadata_enabled(self) -> bool:
        """True if the schema is read at connect and kept fresh, for `Cluster.metadata.keyspaces`.

        It may be switched at any time.
        """
        return self._schema_metadata_enabled

    @schema_metadata_enabled.setter
    def schema_metadata_enabled(self, enabled: bool) -> None:
        self._schema_metadata_enabled = bool(enabled)
        if self._core is not None:
            # The engine has settings of its own, made at connect.
            self._core.settings.schema_metadata_enabled = bool(enabled)

    @property
    def token_metadata_enabled(self) -> bool:
        """True if tokens and the replication of keyspaces are read, for token awareness.

        It may be switched at any time.
        """
        return self._token_metadata_enabled

    @token_metadata_enabled.setter
    def token_metadata_enabled(self, enabled: bool) -> None:
        self._token_metadata_enabled = bool(enabled)
        self.metadata.token_metadata_enabled = bool(enabled)
        if self._core is not None:
            self._core.settings.token_metadata_enabled = bool(enabled)

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Switch all reading of metadata off, or on again.

        That is reading the schema and, after events, the nodes. Use `schema_metadata_enabled` and
        `token_metadata_enabled` in new programs.

        :param enabled: False to read nothing any more, True to read again.
        """
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        self._core.schema.enabled = bool(enabled)
