"""Replication settings of keyspaces."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ReplicationStrategy"]

_PACKAGE = "org.apache.cassandra.locator."


class ReplicationStrategy:
    """A keyspace's strategy: its class without the usual package, and its options."""

    def __init__(self, name: str, options_map: Mapping[str, str]) -> None:
        self.name = name
        self._options = dict(options_map)

    @classmethod
    def create(cls, strategy_class: str, options_map: Mapping[str, str]) -> ReplicationStrategy | None:
        """The strategy of a keyspace; None where there is no class."""
        if not strategy_class:
            return None
        return cls(strategy_class.removeprefix(_PACKAGE), options_map)

    def export_for_schema(self) -> str:
        """The CQL map."""
        items = {"class": self.name, **self._options}
        return "{" + ", ".join(f"'{key}': '{value}'" for key, value in items.items()) + "}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicationStrategy):
            return False
        return (self.name, self._options) == (other.name, other._options)

    __hash__ = None  # type: ignore[assignment]
