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

    A class may be registered before `connect`, and before its type or keyspace exists.
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
        """Ask for the fields of the types that are registered and exist.

        :param fields_of: reads the names of the fields of a keyspace's type.
        """
        for keyspace, types in self.classes.items():
            for name in types:
                try:
                    fields = await fields_of(keyspace, name)
                except UserTypeDoesNotExist:
                    continue
                self.take_fields(keyspace, name, fields)

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
