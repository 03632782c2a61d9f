"""Table extensions: classes of the application that export what server plug-ins store with a table.

Each table has a map of extensions: bytes by name, which a plug-in of the server has stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    class Extended(Protocol):
        """The part of a table that `after_table_cql` needs."""

        @property
        def extensions(self) -> Mapping[str, bytes]:
            """The extensions of the table, as bytes by name."""


_registered: dict[str, Any] = {}


class TableExtensionInterface:
    """Adds CQL statements to the export of a table that has the extension."""

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str | None:
        """Return CQL statements, with semicolons, to append to the table's; None for no statement.

        :param table_meta: the `TableMetadata`.
        :param ext_key: the extension's name.
        :param ext_blob: its bytes.
        """
        return None


class RegisteredTableExtension(TableExtensionInterface):
    """Base class of extensions that take part in `TableMetadata.export_as_string`.

    A subclass is registered when it is defined, under its attribute `name`.
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
