"""Table extensions: classes that export data which server plug-ins have stored for a table.

Each table has a map of extensions, with a name and bytes for each extension. An application can
register a class that adds CQL statements for an extension to the export of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    class Extended(Protocol):
        """The attributes of a table that `after_table_cql` needs."""

        @property
        def extensions(self) -> Mapping[str, bytes]:
            """The extensions of the table, as bytes by name."""


# The subclasses of `RegisteredTableExtension`, by the names of their extensions.
_registered: dict[str, Any] = {}


class TableExtensionInterface:
    """Adds CQL statements to the export of a table with a certain extension."""

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str | None:
        """Return CQL statements, with semicolons, to add after the table's CQL, or None.

        :param table_meta: the `TableMetadata`.
        :param ext_key: the name of the extension.
        :param ext_blob: the bytes of the extension.
        """
        return None


class RegisteredTableExtension(TableExtensionInterface):
    """Base class of extensions that `TableMetadata.export_as_string` calls.

    A subclass is registered when it is defined, under the name in its attribute `name`.
    """

    name: str | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is not None:
            _registered[cls.name] = cls


class RLACTableExtension(RegisteredTableExtension):
    """Row-level access control of DataStax Enterprise, exported as a RESTRICT statement."""

    name = "DSE_RLACA"

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str | None:
        return (
            f"RESTRICT ROWS ON {table_meta.keyspace_name}.{table_meta.name} "
            f"USING {ext_blob.decode('utf8')};"
        )


def after_table_cql(table: Extended) -> list[str]:
    """Return the statements that registered extensions add to the export of `table`."""
    statements = [
        _registered[key].after_table_cql(table, key, blob)
        for key, blob in table.extensions.items()
        if key in _registered
    ]
    return [text for text in statements if text]


for _class in (TableExtensionInterface, RegisteredTableExtension, RLACTableExtension):
    _class.__module__ = "cassandra.metadata"
del _class
