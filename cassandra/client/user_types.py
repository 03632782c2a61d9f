"""Classes that applications register for user-defined types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cassandra._forks import renew_in_child
from cassandra._imports import at_first_cluster
from cassandra._misspelt import nearest
from cassandra._threads import Lock
from cassandra.errors import UserTypeDoesNotExist

if TYPE_CHECKING:
    from cassandra.cqltypes.udt import mapped_classes
    from cassandra.engine.core import Core
    from cassandra.metadata.cluster_metadata import Metadata
else:
    at_first_cluster(__name__, mapped_classes="cassandra.cqltypes.udt")

# Held while a class is registered, so that none is lost if two threads do that at the same time.
_changing = Lock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child, where the thread that held it does not exist."""
    global _changing
    _changing = Lock()


class UserTypes:
    """The classes that are registered for a cluster's user-defined types, by keyspace and type.
    If a class is registered before `connect`, then `connect` checks that the type exists.
    """

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        # Each registration replaces the whole mapping. A cached row plan remembers the mapping with
        # which it was built, and is rebuilt when the mapping has been replaced.
        self.classes: Mapping[str, Mapping[str, type]] = {}
        # The field names of types that are not in the schema metadata, by (keyspace, type name).
        self._fields: dict[tuple[str, str], Sequence[str]] = {}

    def add(self, keyspace: str, name: str, klass: type, core: Core | None = None) -> None:
        """Decode values of a user-defined type as `klass` from now on.

        :param core: the engine that decodes the values; None if the cluster is not connected.
        """
        with _changing:
            types = {**self.classes.get(keyspace, {}), name: klass}
            self.classes = {**self.classes, keyspace: types}
            if core is not None:
                core.user_types = self.classes
            if isinstance(klass, type):
                mapped_classes.add(klass)

    def pass_to(self, core: Core) -> None:
        """Let an engine decode values as the registered classes."""
        # Use the lock: another thread may have replaced the mapping since it was read here, and
        # may have passed the new one on already.
        with _changing:
            core.user_types = self.classes

    def take_fields(self, keyspace: str, name: str, fields: Sequence[str]) -> None:
        """Store the field names of a type, for clusters whose schema is not read."""
        self._fields[keyspace, name] = fields

    async def read_fields(self, fields_of: Callable[[str, str], Awaitable[Sequence[str]]]) -> None:
        """Read the field names of the registered types.

        :param fields_of: reads the field names of a type; called with the keyspace and the type's
            name.
        :raises UserTypeDoesNotExist: if the cluster does not have one of the types.
        """
        for keyspace, types in self.classes.items():
            schema = self._metadata.keyspaces.get(keyspace)
            for name in types:
                # Read only types that are not in the schema metadata, where `fields` looks first.
                if schema is None or name not in schema.user_types:
                    self.take_fields(keyspace, name, await fields_of(keyspace, name))

    def fields(self, keyspace: str, name: str) -> Sequence[str]:
        """Return the field names of a type.

        :raises UserTypeDoesNotExist: if neither the schema nor `read_fields` has the type.
        """
        # Look into the schema first, because the type may have been altered since its class was
        # registered.
        schema = self._metadata.keyspaces.get(keyspace)
        user_type = schema.user_types.get(name) if schema is not None else None
        if user_type is not None:
            names: Sequence[str] = user_type.field_names
            return names
        try:
            return self._fields[keyspace, name]
        except KeyError:
            # Name the existing types in the error, because the application may have misspelled the
            # name.
            if schema is None:
                advice = f": there is no keyspace {keyspace!r}"
            else:
                suggestion = nearest(name, schema.user_types)
                if suggestion:
                    advice = f"; did you mean {suggestion!r}?"
                else:
                    advice = f": the keyspace has {', '.join(schema.user_types) or 'none'}"
            raise UserTypeDoesNotExist(
                f"there is no user-defined type {keyspace}.{name}{advice}"
            ) from None
