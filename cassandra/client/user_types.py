"""Classes that programs register for user-defined types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cassandra.errors import UserTypeDoesNotExist

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata

__all__ = ["UserTypes"]


class UserTypes:
    """The classes of one cluster, by keyspace and type.

    A class may be registered before `connect`, which then looks for its type.
    """

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        # Replaced, never changed: row plans remember which mapping they were made with.
        self.classes: Mapping[str, Mapping[str, type]] = {}
        self._fields: dict[tuple[str, str], Sequence[str]] = {}

    def add(self, keyspace: str, name: str, klass: type) -> None:
        """Read values of the type as `klass` from now on."""
        self.classes = {**self.classes, keyspace: {**self.classes.get(keyspace, {}), name: klass}}

    def take_fields(self, keyspace: str, name: str, fields: Sequence[str]) -> None:
        """Note the names of a type's fields, for clusters that do not read the schema."""
        self._fields[keyspace, name] = fields

    async def read_fields(self, fields_of: Callable[[str, str], Awaitable[Sequence[str]]]) -> None:
        """Look for the types that are registered, and note their fields.

        :param fields_of: reads the names of the fields of a keyspace's type.
        :raises UserTypeDoesNotExist: for the first one that the cluster does not have.
        """
        for keyspace, types in self.classes.items():
            schema = self._metadata.keyspaces.get(keyspace)
            for name in types:
                # Those that are in the schema keep their fields there, where they may change.
                if schema is None or name not in schema.user_types:
                    self.take_fields(keyspace, name, await fields_of(keyspace, name))

    def fields(self, keyspace: str, name: str) -> Sequence[str]:
        """Return the names of a type's fields.

        :raises UserTypeDoesNotExist: if the cluster has no such type, as far as is known.
        """
        # The schema first: a type may have been altered since its class was registered.
        schema = self._metadata.keyspaces.get(keyspace)
        known = schema.user_types.get(name) if schema is not None else None
        if known is not None:
            names: Sequence[str] = known.field_names
            return names
        try:
            return self._fields[keyspace, name]
        except KeyError:
            raise UserTypeDoesNotExist(f"there is no user-defined type {keyspace}.{name}") from None
